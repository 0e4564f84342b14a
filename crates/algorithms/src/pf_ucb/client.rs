//! Algorithm 1: a client of pf-ucb.

use cahoots_core::plan::Schedule;
use cahoots_core::policy::pick;
use cahoots_core::{
    ArmIndex, ArmSet, ArmStats, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, Seat, Stream,
    Unprotected, UserId,
};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use super::rules::{Rules, max};
use super::waiting::Waiting;
use super::{ASK, READY, Upload};
use crate::kit::arms::{ActiveArms, ArmMsg, ArmValues, Explorer, Pull};

/// Explores, reports, eliminates, and plays its best arm while it waits.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    rules: Rules,
    server: NodeId,
    /// p.
    phase: u64,
    /// F(p), and what of it was explored to its end.
    total_length: f64,
    explored_length: f64,
    stage: Stage,
    stats: ArmStats,
    /// A(p).
    global_active: Vec<ArmIndex>,
    /// A_m(p).
    active: Vec<ArmIndex>,
    /// O_m.
    fixed: Option<ArmIndex>,
    /// What is to be pulled, and what is played while waiting, unless that changes with every reward.
    explorer: Explorer,
    /// What is played then.
    waiting: Option<Waiting>,
    /// Own means as last reported.
    reported: Vec<f64>,
    /// Means over all clients, as last heard.
    global: Vec<f64>,
    /// Mixed means, as last computed; empty in the first phase.
    mixed: Vec<f64>,
    /// Enhancement: own gaps, and the average over clients of the roots of theirs.
    gaps: Vec<f64>,
    roots: Option<ArmValues>,
}

/// Where in a phase a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// Lines 3 to 12.
    Exploring,
    /// The authors' code alone: done exploring, means still grow.
    Ready,
    /// Means are sent, those of all are awaited (line 18).
    Reported,
    /// The active set is sent, the global one is awaited (line 27).
    Reduced,
    /// Line 30: everyone has found an arm.
    Settled,
}

impl Client {
    pub(super) fn new(valid: &Valid, seat: &Seat) -> Self {
        let rules = valid.rules.clone();
        let (arms, all) = (rules.arms as usize, rules.all_arms());
        let mut client = Client {
            server: seat.server,
            phase: 1,
            total_length: 0.0,
            explored_length: 0.0,
            stage: Stage::Exploring,
            stats: ArmStats::empty(arms),
            global_active: all.clone(),
            active: all,
            fixed: None,
            explorer: Explorer::default(),
            waiting: None,
            reported: vec![0.0; arms],
            global: vec![0.0; arms],
            mixed: Vec::new(),
            gaps: Vec::new(),
            roots: None,
            rules,
        };
        client.open_phase();
        client
    }

    /// The phase it is in.
    pub fn phase(&self) -> u64 {
        self.phase
    }

    /// A_m(p).
    pub fn active(&self) -> &[ArmIndex] {
        &self.active
    }

    /// O_m: the arm it has settled on.
    pub fn fixed(&self) -> Option<ArmIndex> {
        self.fixed
    }

    /// Lines 3 and 8: what is to be pulled in this phase.
    fn open_phase(&mut self) {
        let length = self.rules.lengths.at(self.phase);
        self.total_length = self.explored_length + length;
        self.stage = Stage::Exploring;
        let roots = self.roots.take();
        let pulls = |arm: ArmIndex| {
            let root = roots.as_ref().and_then(|roots| roots.of(arm));
            let factor = root.map_or(1.0, |root| self.rules.factor(self.gaps[arm.index()], root));
            self.rules.exploration(length, factor)
        };
        // Global exploration, then local exploration, each of them round-robin or arm by arm.
        let global = self.global_active.iter().map(|arm| (*arm, pulls(*arm).0.max(self.first_pull(*arm))));
        let local = self.active.iter().map(|arm| (*arm, pulls(*arm).1));
        let next = if self.rules.authors {
            let others = self.rules.all_arms().into_iter();
            let others = others.filter(|arm| self.global_active.binary_search(arm).is_err());
            let unseen = others.map(|arm| (arm, self.first_pull(arm)));
            Explorer::new(global.chain(local).chain(unseen).map(|pulls| Schedule::new([pulls])))
        } else {
            Explorer::new([Schedule::new(global), Schedule::new(local)])
        };
        self.explorer.go_on_with(next);
        self.waiting = None;
        self.explorer.exploit(self.waiting_arm());
    }

    /// One pull of an arm that it has to report on and has never pulled, not having explored the first phase to
    /// its end.
    fn first_pull(&self, arm: ArmIndex) -> u64 {
        u64::from(self.phase > 1 && self.stats.mean(arm).is_none())
    }

    /// Lines 15 to 17: the arm to play while waiting, where it is known beforehand.
    fn waiting_arm(&self) -> Option<ArmIndex> {
        match self.fixed {
            None if self.rules.authors || self.mixed.is_empty() => None,
            None => Some(self.rules.waiting_arm(&self.active, &self.mixed)),
            fixed => fixed,
        }
    }

    /// The arm to play now if there is nothing to explore and none is fixed.
    fn best(&self) -> ArmIndex {
        match &self.waiting {
            Some(waiting) => waiting.best(),
            None => pick((0..self.rules.arms).map(|arm| self.newest(ArmIndex(arm)))),
        }
    }

    /// Ranks the arms by their newest means, where none is fixed to be played.
    fn rank(&mut self) {
        self.waiting = (!self.explorer.exploits()).then(|| {
            let newest = (0..self.rules.arms).map(|arm| self.newest(ArmIndex(arm)));
            Waiting::new(newest.collect())
        });
    }

    /// The newest mixed mean of an arm; in the first phase only own means are known.
    fn newest(&self, arm: ArmIndex) -> f64 {
        let own = self.stats.mean(arm).unwrap_or(0.0);
        if self.mixed.is_empty() { own } else { self.rules.mix(own, self.global[arm.index()]) }
    }

    /// Line 13, once every pull has been made and rewarded.
    fn finish_if_explored(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        if self.stage != Stage::Exploring || !self.explorer.is_done() {
            return;
        }
        self.explored_length = self.total_length;
        self.rank();
        if self.rules.authors {
            self.stage = Stage::Ready;
            cx.send(self.server, ArmMsg::Signal { signal: READY, phase: self.phase });
        } else {
            self.report(cx);
        }
    }

    /// Lines 13 and 14.
    fn report(&mut self, cx: &mut Cx<'_, ArmMsg>) {
        self.stage = Stage::Reported;
        let arms = self.reported_arms();
        for arm in &arms {
            let mean = self.stats.mean(*arm).expect("the first phase explores every arm");
            self.reported[arm.index()] = mean;
        }
        let means = self.listed(&arms, &self.reported);
        self.upload(Upload::Means, ArmValues::new(self.phase, arms, means), cx);
    }

    /// Whose means are exchanged: A(p), or all arms in the authors' code.
    fn reported_arms(&self) -> Vec<ArmIndex> {
        if self.rules.authors { self.rules.all_arms() } else { self.global_active.clone() }
    }

    fn listed(&self, arms: &[ArmIndex], values: &[f64]) -> Vec<f64> {
        arms.iter().map(|arm| values[arm.index()]).collect()
    }

    fn upload(&self, what: Upload, values: ArmValues, cx: &mut Cx<'_, ArmMsg>) {
        let values = cx.release(&mut Unprotected, values);
        let number = what.number(self.phase, self.rules.enhanced);
        cx.send(self.server, ArmMsg::Upload { number, values });
    }

    /// Lines 19 to 26.
    fn reduce(&mut self, means: &ArmValues, cx: &mut Cx<'_, ArmMsg>) {
        self.mixed.resize(self.rules.arms as usize, 0.0);
        for (arm, mean) in means.arms.iter().zip(&means.values) {
            self.global[arm.index()] = *mean;
            self.mixed[arm.index()] = self.rules.mix(self.reported[arm.index()], *mean);
        }
        let bound = self.rules.bound(self.total_length);
        self.active = self.rules.keep(&self.active, &self.mixed, bound);
        if let [only] = self.active[..] {
            self.fixed = Some(only);
            self.active.clear();
            self.explorer.exploit(Some(only));
        }
        self.rank();
        if self.rules.enhanced {
            let best = max(self.mixed.iter().copied());
            self.gaps = self.mixed.iter().map(|mixed| self.rules.gap(best, *mixed, bound)).collect();
            let arms = self.global_active.clone();
            let gaps = self.listed(&arms, &self.gaps);
            self.upload(Upload::Gaps, ArmValues::new(self.phase + 1, arms, gaps), cx);
        }
        self.stage = Stage::Reduced;
        let active = ActiveArms { phase: self.phase + 1, arms: self.active.clone() };
        let active = cx.release(&mut Unprotected, active);
        let number = Upload::Active.number(self.phase, self.rules.enhanced);
        cx.send(self.server, ArmMsg::UploadActive { number, active });
    }

    fn check_active(&self, next: &ActiveArms) -> Result<(), Misbehaviour> {
        next.check(self.phase + 1, &self.global_active)?;
        if self.rules.patient {
            return Ok(());
        }
        if !self.active.iter().all(|arm| next.arms.binary_search(arm).is_ok()) {
            return Err(Misbehaviour::Unexpected("a global active set without this client's arms".into()));
        }
        let roots = self.roots.as_ref().map_or(&[][..], |roots| &roots.arms);
        if self.rules.enhanced && roots != next.arms {
            return Err(Misbehaviour::Unexpected("an active set without its gaps".into()));
        }
        Ok(())
    }

    /// Lines 27 to 30.
    fn next_phase(&mut self, next: &ActiveArms, cx: &mut Cx<'_, ArmMsg>) {
        self.global_active.clone_from(&next.arms);
        if next.arms.is_empty() {
            self.stage = Stage::Settled;
            self.waiting = None;
            // A set that the authors' rule has emptied leaves no arm behind.
            let arm = *self.fixed.get_or_insert_with(|| match self.mixed.is_empty() {
                true => pick((0..self.rules.arms).map(|arm| self.stats.mean(ArmIndex(arm)).unwrap_or(0.0))),
                false => pick(self.mixed.iter().copied()),
            });
            self.explorer.exploit(Some(arm));
            return;
        }
        self.phase += 1;
        self.open_phase();
        self.finish_if_explored(cx);
    }

    /// Whether the others may have gone on without this client: they were not to wait any longer, or it has
    /// come back to them under its old number.
    fn may_be_behind(&self) -> bool {
        let early = matches!(self.stage, Stage::Exploring | Stage::Ready | Stage::Reported);
        self.stage != Stage::Settled && (self.rules.patient || self.phase == 1 && early)
    }

    /// Its own active arms are among those that are left: what others gave up without it is given up here too.
    fn narrow(&mut self, left: &[ArmIndex]) {
        let before = self.active.clone();
        self.active.retain(|arm| left.binary_search(arm).is_ok());
        if self.active.is_empty() && self.fixed.is_none() && !before.is_empty() {
            self.fixed = Some(before[pick(before.iter().map(|arm| self.newest(*arm))).index()]);
        }
    }

    /// On to where the others are. What was explored is kept; phases that were not explored to their end do not
    /// count for the bound.
    fn catch_up(&mut self, next: &ActiveArms, cx: &mut Cx<'_, ArmMsg>) {
        self.roots = None;
        self.narrow(&next.arms);
        self.explorer.go_on_with(Explorer::default());
        self.phase = next.phase - 1;
        self.next_phase(next, cx);
    }

    fn check_roots(&self, roots: &ArmValues) -> Result<(), Misbehaviour> {
        ActiveArms { phase: roots.phase, arms: roots.arms.clone() }
            .check(self.phase + 1, &self.global_active)?;
        if !roots.values.iter().all(|root| *root > 0.0) {
            return Err(Misbehaviour::Unexpected("gaps that are not above 0".into()));
        }
        Ok(())
    }
}

impl Machine for Client {
    type Msg = ArmMsg;

    fn on_message(
        &mut self,
        from: NodeId,
        message: ArmMsg,
        cx: &mut Cx<'_, ArmMsg>,
    ) -> Result<(), Misbehaviour> {
        if from != self.server {
            return Err(Misbehaviour::Unexpected(format!("{from} is not the server")));
        }
        match (self.stage, &message) {
            (Stage::Ready, ArmMsg::Signal { signal: ASK, phase }) if *phase == self.phase => self.report(cx),
            (Stage::Reported, ArmMsg::Download(means)) => {
                means.check(self.phase, &self.reported_arms())?;
                self.rules.check_means(&means.values)?;
                self.reduce(means, cx);
            }
            (Stage::Reduced, ArmMsg::Download(roots)) if self.rules.enhanced && self.roots.is_none() => {
                self.check_roots(roots)?;
                self.roots = Some((**roots).clone());
            }
            (Stage::Reduced, ArmMsg::DownloadActive(next))
                if next.phase == self.phase + 1 || !self.rules.patient =>
            {
                self.check_active(next)?;
                if self.rules.patient {
                    self.narrow(&next.arms);
                }
                self.next_phase(next, cx);
            }
            (_, ArmMsg::DownloadActive(next)) if self.may_be_behind() && next.phase > self.phase => {
                next.check(next.phase, &self.global_active)?;
                self.catch_up(next, cx);
            }
            _ => return Err(message.unexpected()),
        }
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
            self.finish_if_explored(cx);
        } else if self.rules.authors {
            self.stats.observe(arm, reward);
            let newest = self.newest(arm);
            if let Some(waiting) = &mut self.waiting {
                waiting.update(arm, newest);
            }
        }
    }

    fn abandon(&mut self, pull: Pull, _cx: &mut Cx<'_, ArmMsg>) {
        self.explorer.abandon(&pull);
    }

    fn plan(&self) -> Option<&[(ArmIndex, u64)]> {
        self.explorer.plan()
    }

    fn observe_block(&mut self, sums: &[(ArmIndex, u64, f64)], cx: &mut Cx<'_, ArmMsg>) {
        let exploring = self.explorer.is_exploring();
        for &(arm, pulls, sum) in sums {
            if exploring || self.rules.authors {
                self.stats.observe_block(arm, pulls, sum);
            }
        }
        if exploring {
            self.explorer.take(sums.iter().map(|(_, pulls, _)| pulls).sum());
            self.finish_if_explored(cx);
        }
    }
}
