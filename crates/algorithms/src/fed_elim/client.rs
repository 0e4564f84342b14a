//! A client of fed-elim: one pull of each arm that is still in question, for itself or for all, step by step.

use cahoots_core::plan::Schedule;
use cahoots_core::policy::pick;
use cahoots_core::{
    ArmIndex, ArmSet, ArmStats, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Seat, Stream,
    Unprotected, UserId,
};
use serde::{Deserialize, Serialize};

use super::FOUND;
use super::params::{Play, Valid};
use super::rules::Rules;
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues, Explorer, Pull};

/// Clients up to this number say which arm is theirs under a name of their own; a run of more has no column for each.
pub(super) const NAMED: u32 = 64;

/// Pulls that were made to find something out, over all clients.
const PULLS: &str = "exploration_pulls";

/// Explores step by step, eliminates for itself, reports at set times, and plays its best arm otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    rules: Rules,
    server: NodeId,
    /// n: steps that are explored to their end. Every arm in question has been pulled as often.
    steps: u64,
    /// Which round of communication comes next, counting from 1.
    round: u64,
    /// The means of that round are sent, and what they left is awaited.
    reported: bool,
    stats: ArmStats,
    /// S_l: arms that may be this client's best.
    local: Vec<ArmIndex>,
    /// S_g: arms that may be the best on average.
    global: Vec<ArmIndex>,
    explorer: Explorer,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        let rules = valid.rules.clone();
        let all = rules.all_arms();
        let mut client = Client {
            server: seat.server,
            steps: 0,
            round: 1,
            reported: false,
            stats: ArmStats::empty(all.len()),
            local: all.clone(),
            global: all,
            explorer: Explorer::default(),
            rules,
        };
        client.plan_step();
        client
    }

    /// n.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Its own best arm, once that is found.
    pub fn local_best(&self) -> Option<ArmIndex> {
        only(&self.local)
    }

    /// The arm that is best on average, once it was told.
    pub fn global_best(&self) -> Option<ArmIndex> {
        only(&self.global)
    }

    /// The arms of a step: all that are in question. An arm that is found is in question no more.
    fn in_question(&self) -> Vec<ArmIndex> {
        let open = |arms: &[ArmIndex]| if arms.len() > 1 { arms.to_vec() } else { Vec::new() };
        let mut arms = open(&self.local);
        arms.extend(open(&self.global));
        arms.sort_unstable();
        arms.dedup();
        arms
    }

    /// The next step, unless an answer is awaited; and what is played when there is none.
    fn plan_step(&mut self) {
        let arms = if self.reported { Vec::new() } else { self.in_question() };
        self.explorer.go_on_with(Explorer::new([Schedule::new(arms.into_iter().map(|arm| (arm, 1)))]));
        self.explorer.exploit(Some(self.best()));
    }

    /// The best arm by its own means among those that may be what it is after.
    fn best(&self) -> ArmIndex {
        let among = match self.rules.play {
            Play::Local => &self.local,
            Play::Global => &self.global,
        };
        among[pick(among.iter().map(|arm| self.stats.mean(*arm).unwrap_or(0.0))).index()]
    }

    fn means(&self, arms: &[ArmIndex]) -> Vec<f64> {
        arms.iter().map(|arm| self.stats.mean(*arm).expect("a step pulls every arm in question")).collect()
    }

    /// A step is over once every pull of it has been made and rewarded.
    fn finish_step(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        if self.reported || !self.explorer.is_done() || self.in_question().is_empty() {
            return;
        }
        self.steps += 1;
        if self.local.len() > 1 {
            let bound = self.rules.local_bound(self.steps);
            self.local = Rules::keep(&self.local, &self.means(&self.local), bound);
            self.say_found(cx);
        }
        if self.global.len() > 1 && self.steps == self.rules.pulls_at(self.round) {
            self.report(cx);
        }
        self.plan_step();
    }

    /// One arm is left: the server is told that there is an answer, and not which.
    fn say_found(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        let Some(arm) = self.local_best() else { return };
        cx.count("local_found", 1.0);
        if self.rules.clients <= NAMED {
            cx.level(format!("local_best_{}", cx.me().0), f64::from(arm.0));
        }
        cx.send(self.server, ArmMsg::Signal { signal: FOUND, phase: self.steps });
    }

    /// The means of all arms that may be the best on average.
    fn report(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        self.reported = true;
        let values = ArmValues::new(self.round, self.global.clone(), self.means(&self.global));
        let values = cx.release(&mut Unprotected, values);
        cx.send(self.server, ArmMsg::Upload { number: self.round, values });
    }

    /// Whether the others may have gone on without this client: they were not to wait any longer, or it has come back
    /// to them under its old number.
    fn may_be_behind(&self) -> bool {
        self.rules.patient || self.round == 1
    }

    fn check_active(&self, next: &ActiveArms) -> Result<(), Misbehaviour> {
        let in_turn = self.reported && next.phase == self.round + 1;
        let ahead = next.phase > self.round && self.may_be_behind();
        if self.global.len() < 2 || next.arms.is_empty() || !(in_turn || ahead) {
            return Err(Misbehaviour::Unexpected(format!("the active arms of round {}", next.phase)));
        }
        next.check(next.phase, &self.global)
    }

    /// Goes on with the arms that are left. A step that is not over yet goes on with them too: pulls of arms that are
    /// in question no more are not made, and what was pulled stays.
    fn go_on(&mut self, next: &ActiveArms, cx: &mut Cx<'_, ArmMsg>) {
        let waited = std::mem::replace(&mut self.reported, false);
        self.round = next.phase;
        self.global.clone_from(&next.arms);
        if waited {
            return self.plan_step();
        }
        let open = self.in_question();
        self.explorer.retain(|arm| open.binary_search(&arm).is_ok());
        self.explorer.exploit(Some(self.best()));
        self.finish_step(cx);
    }
}

fn only(arms: &[ArmIndex]) -> Option<ArmIndex> {
    match arms {
        [arm] => Some(*arm),
        _ => None,
    }
}

impl Machine for Client {
    type Msg = ArmMsg;

    fn on_start(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        // Of one arm there is nothing to find out.
        self.say_found(cx);
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: ArmMsg,
        cx: &mut Cx<'_, ArmMsg>,
    ) -> Result<(), Misbehaviour> {
        if from != self.server {
            return Err(Misbehaviour::Unexpected(format!("{from} is not the server")));
        }
        let ArmMsg::DownloadActive(next) = &message else { return Err(message.unexpected()) };
        self.check_active(next)?;
        self.go_on(next, cx);
        Ok(())
    }
}

impl Learner for Client {
    type Pending = Pull;

    fn choose(&mut self, _user: UserId, _arms: ArmSet<'_>, _rng: &mut Stream) -> Choice<Pull> {
        self.explorer.choose(|| self.best())
    }

    fn commit(&mut self, pull: &Pull, _cx: &mut Cx<'_, ArmMsg>) {
        self.explorer.commit(pull);
    }

    fn observe(&mut self, Pull { arm, exploring }: Pull, reward: f64, cx: &mut Cx<'_, ArmMsg>) {
        if exploring {
            self.explorer.rewarded();
            self.stats.observe(arm, reward);
            cx.count(PULLS, 1.0);
            self.finish_step(cx);
        }
    }

    fn abandon(&mut self, pull: Pull, _cx: &mut Cx<'_, ArmMsg>) {
        self.explorer.abandon(&pull);
    }

    fn plan(&self) -> Option<&[(ArmIndex, u64)]> {
        self.explorer.plan()
    }

    fn waits(&self) -> bool {
        self.reported
    }

    fn observe_block(&mut self, sums: &[(ArmIndex, u64, f64)], cx: &mut Cx<'_, ArmMsg>) {
        if !self.explorer.is_exploring() {
            return;
        }
        let pulls = sums.iter().map(|(_, pulls, _)| pulls).sum();
        sums.iter().for_each(|&(arm, pulls, sum)| self.stats.observe_block(arm, pulls, sum));
        cx.count(PULLS, pulls as f64);
        self.explorer.take(pulls);
        self.finish_step(cx);
    }
}
