//! A client of fed2-ucb: plays the arms in the running in turn until it is admitted, then explores phase by phase.

use cahoots_core::plan::Schedule;
use cahoots_core::policy::pick;
use cahoots_core::{
    ArmIndex, ArmSet, ArmStats, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Picked, Seat, Stream,
    Unprotected, UserId,
};
use serde::{Deserialize, Serialize};

use super::ADMIT;
use super::params::Valid;
use super::rules::Rules;
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues, Explorer, Pull};

/// Pulls that were made to find something out, over all clients.
const PULLS: &str = "exploration_pulls";

/// Explores what it is asked for, reports its means, and plays the arm that is left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    rules: Rules,
    server: NodeId,
    /// p: the phase that it was told last.
    phase: u64,
    /// The arms in the running.
    active: Vec<ArmIndex>,
    /// It takes part.
    admitted: bool,
    /// The means of this phase are sent, and what they left is awaited.
    reported: bool,
    /// Of pulls since it was admitted that were asked for, and of nothing else.
    stats: ArmStats,
    explorer: Explorer,
    /// What is played by one that takes no part: the arms in the running, in turn.
    turns: Schedule,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        let rules = valid.rules.clone();
        let all = rules.all_arms();
        Client {
            server: seat.server,
            phase: 1,
            admitted: false,
            reported: false,
            stats: ArmStats::empty(all.len()),
            explorer: Explorer::default(),
            turns: in_turn(&all),
            active: all,
            rules,
        }
    }

    /// p.
    pub fn phase(&self) -> u64 {
        self.phase
    }

    /// Whether it takes part.
    pub fn admitted(&self) -> bool {
        self.admitted
    }

    /// The arms in the running.
    pub fn active(&self) -> &[ArmIndex] {
        &self.active
    }

    fn is_open(&self) -> bool {
        self.active.len() > 1
    }

    /// The best arm in the running by its own means: what is played while rewards or others are waited for.
    fn best(&self) -> ArmIndex {
        self.active[pick(self.active.iter().map(|arm| self.stats.mean(*arm).unwrap_or(0.0))).index()]
    }

    /// f(p) pulls of every arm in the running, and those that are owed from before.
    fn plan_phase(&mut self) {
        let owed: Vec<(ArmIndex, u64)> = if self.explorer.is_exploring() {
            self.explorer.plan().unwrap_or_default().to_vec()
        } else {
            Vec::new()
        };
        let of = |arm: ArmIndex| owed.iter().find(|(owed, _)| *owed == arm).map_or(0, |(_, pulls)| *pulls);
        let fresh = self.rules.pulls(self.phase);
        let pulls = self.active.iter().map(|arm| (*arm, of(*arm).saturating_add(fresh)));
        self.explorer.go_on_with(Explorer::new([Schedule::new(pulls)]));
    }

    /// The phase is explored once every pull that was asked for has been made and rewarded.
    fn report_if_done(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        if !self.admitted || self.reported || !self.is_open() || !self.explorer.is_done() {
            return;
        }
        self.reported = true;
        self.explorer.exploit(Some(self.best()));
        let mean = |arm: &ArmIndex| self.stats.mean(*arm).expect("every arm in the running was pulled");
        let means = self.active.iter().map(mean).collect();
        let values = cx.release(&mut Unprotected, ArmValues::new(self.phase, self.active.clone(), means));
        cx.send(self.server, ArmMsg::Upload { number: self.phase, values });
    }

    fn admit(&mut self, phase: u64) -> Result<(), Misbehaviour> {
        if self.admitted || !self.is_open() || phase != self.phase {
            return Err(Misbehaviour::Unexpected(format!("admitted to phase {phase}")));
        }
        self.admitted = true;
        self.plan_phase();
        Ok(())
    }

    fn check_active(&self, next: &ActiveArms) -> Result<(), Misbehaviour> {
        // One that has come back is told where the others are; one that is late, and all others, phase by phase.
        let follows =
            next.phase == self.phase + 1 || next.phase > self.phase && self.phase == 1 && !self.admitted;
        let may = !self.admitted || self.reported || self.rules.patient;
        if !self.is_open() || next.arms.is_empty() || !(follows && may) {
            return Err(Misbehaviour::Unexpected(format!("the active arms of phase {}", next.phase)));
        }
        next.check(next.phase, &self.active)
    }

    fn go_on(&mut self, next: &ActiveArms) {
        self.phase = next.phase;
        self.active.clone_from(&next.arms);
        self.turns = in_turn(&self.active);
        self.reported = false;
        match (&self.active[..], self.admitted) {
            ([best], _) => {
                let best = *best;
                self.explorer.go_on_with(Explorer::default());
                self.explorer.exploit(Some(best));
            }
            (_, true) => self.plan_phase(),
            (_, false) => {}
        }
    }
}

fn in_turn(arms: &[ArmIndex]) -> Schedule {
    Schedule::new(arms.iter().map(|arm| (*arm, u64::MAX)))
}

impl Machine for Client {
    type Msg = ArmMsg;

    fn on_message(
        &mut self,
        from: NodeId,
        message: ArmMsg,
        _cx: &mut Cx<'_, ArmMsg>,
    ) -> Result<(), Misbehaviour> {
        if from != self.server {
            return Err(Misbehaviour::Unexpected(format!("{from} is not the server")));
        }
        match &message {
            ArmMsg::Signal { signal: ADMIT, phase } => self.admit(*phase),
            ArmMsg::DownloadActive(next) => {
                self.check_active(next)?;
                self.go_on(next);
                Ok(())
            }
            other => Err(other.unexpected()),
        }
    }
}

impl Learner for Client {
    type Pending = Pull;

    fn choose(&mut self, _user: UserId, _arms: ArmSet<'_>, _rng: &mut Stream) -> Choice<Pull> {
        match self.turns.next() {
            Some(arm) if !self.admitted => Picked::certain(arm).keeping(Pull { arm, exploring: false }),
            _ => self.explorer.choose(|| self.best()),
        }
    }

    fn commit(&mut self, pull: &Pull, _cx: &mut Cx<'_, ArmMsg>) {
        if self.admitted {
            self.explorer.commit(pull);
        } else {
            self.turns.take(1);
        }
    }

    fn observe(&mut self, Pull { arm, exploring }: Pull, reward: f64, cx: &mut Cx<'_, ArmMsg>) {
        if exploring {
            self.explorer.rewarded();
            self.stats.observe(arm, reward);
            cx.count(PULLS, 1.0);
            self.report_if_done(cx);
        }
    }

    /// The pull is made again, unless its arm is not in the running any more.
    fn abandon(&mut self, pull: Pull, cx: &mut Cx<'_, ArmMsg>) {
        if self.explorer.abandon(&pull) {
            let active = &self.active;
            self.explorer.retain(|arm| active.len() > 1 && active.binary_search(&arm).is_ok());
            self.report_if_done(cx);
        }
    }

    fn plan(&self) -> Option<&[(ArmIndex, u64)]> {
        if self.admitted { self.explorer.plan() } else { Some(self.turns.plan()) }
    }

    /// One that takes no part waits too, to the end: the paper knows nothing of its pulls.
    fn waits(&self) -> bool {
        !self.admitted || self.is_open() && !self.explorer.is_exploring()
    }

    fn observe_block(&mut self, sums: &[(ArmIndex, u64, f64)], cx: &mut Cx<'_, ArmMsg>) {
        let pulls = sums.iter().map(|(_, pulls, _)| pulls).sum();
        if !self.admitted {
            return self.turns.take(pulls);
        }
        if self.explorer.is_exploring() {
            sums.iter().for_each(|&(arm, pulls, sum)| self.stats.observe_block(arm, pulls, sum));
            cx.count(PULLS, pulls as f64);
            self.explorer.take(pulls);
            self.report_if_done(cx);
        }
    }
}
