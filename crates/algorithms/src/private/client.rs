//! A client of the private family: it releases sums at public times, and decides with those of all who are alike.

use cahoots_core::policy::Distribution;
use cahoots_core::{
    ArmSet, Choice, Custom, Cx, Fact, Factor, Learner, LinearStats, Machine, Misbehaviour, NodeId, Seat,
    Stream, UserId,
};
use cahoots_privacy::Clip;
use serde::{Deserialize, Serialize};

use super::message::{Body, PrivateMsg, Shared};
use super::params::Decide;
use super::rules::{Noising, Rewards, Rules, Valid, Weighing};
use super::stream::Sum;
use crate::kit::clusters::{ChosenFor, Knowledge};

/// How often a ridge is doubled that noise has turned out to be larger than.
const MOST_DOUBLINGS: i32 = 24;

/// Users, their sums, and what is known about all who are like them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Silo {
    me: NodeId,
    server: NodeId,
    rules: Rules,
    users: Vec<User>,
    sums: Vec<Sum>,
    /// What each sum's users are decided for with: a place in `models`.
    places: Vec<u32>,
    models: Vec<Knowledge>,
    version: u64,
    clip: Clip,
    left_out: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct User {
    id: UserId,
    /// Observations that were used.
    used: u64,
}

impl Silo {
    pub(crate) fn new(valid: &Valid, seat: &Seat) -> Silo {
        let rules = valid.rules.clone();
        let ids = valid.users.get(seat.me.index()).cloned().unwrap_or_default();
        let nothing = Knowledge::of(LinearStats::empty(rules.dim), rules.ridge);
        let mut silo = Silo {
            me: seat.me,
            server: seat.server,
            users: Vec::new(),
            sums: Vec::new(),
            places: Vec::new(),
            models: Vec::new(),
            version: 0,
            clip: Clip::default(),
            left_out: 0,
            rules,
        };
        if silo.rules.apart.is_none() {
            silo.sums.push(Sum::new(&silo.rules, seat.me));
            silo.places.push(0);
            silo.models.push(nothing);
        }
        ids.into_iter().for_each(|id| _ = silo.position(id));
        silo
    }

    /// A user's place; new ones get one, and, where users are told apart, a sum and a model of their own.
    fn position(&mut self, user: UserId) -> usize {
        if let Some(known) = self.users.iter().position(|known| known.id == user) {
            return known;
        }
        self.users.push(User { id: user, used: 0 });
        if self.rules.apart.is_some() {
            self.sums.push(Sum::new(&self.rules, self.me));
            self.places.push(self.models.len() as u32);
            self.models.push(Knowledge::of(LinearStats::empty(self.rules.dim), self.rules.ridge));
        }
        self.users.len() - 1
    }

    /// The sum that a user's observations go to.
    fn stream(&self, position: usize) -> usize {
        if self.rules.apart.is_some() { position } else { 0 }
    }

    /// What is known about those who are like a user.
    pub fn knowledge(&self, user: UserId) -> Option<&Knowledge> {
        let position = self.users.iter().position(|known| known.id == user)?;
        self.models.get(self.places[self.stream(position)] as usize)
    }

    /// Variance of the noise in a release of a user's.
    #[cfg(test)]
    pub(super) fn variance(&self, user: UserId, number: u32) -> Option<f64> {
        let position = self.users.iter().position(|known| known.id == user)?;
        self.sums[self.stream(position)].released(number, &self.rules).map(|(_, variance)| variance)
    }

    /// Everything this client has is released, and the next time is waited for.
    fn release(&mut self, cx: &mut Cx<'_, PrivateMsg>) {
        let mut parts = Vec::new();
        for (stream, sum) in (0..).zip(&mut self.sums) {
            parts.extend(sum.release(stream, &self.rules, cx));
        }
        if !parts.is_empty() {
            cx.send(self.server, Custom(Body::Release(parts)));
        }
    }

    fn nothing(&self) -> Knowledge {
        Knowledge::of(LinearStats::empty(self.rules.dim), self.rules.ridge)
    }

    fn wake(&self, cx: &mut Cx<'_, PrivateMsg>) {
        if matches!(self.rules.noise, Noising::Group(_)) {
            // Rounds of many are begun by the server's clock.
            return;
        }
        if let Some(tick) = self.rules.times.next(cx.now()) {
            cx.wake_at(tick);
        }
    }

    /// What others have released: the sum without what it holds of one's own.
    fn others(&self, group: &Shared) -> Result<LinearStats, Misbehaviour> {
        let mut others = group.sum.stats.clone();
        for &(stream, number) in &group.mine {
            let sum = self.sums.get(stream as usize).and_then(|sum| sum.released(number, &self.rules));
            let (own, _) = sum.ok_or_else(never_released)?;
            let values = others.gram.packed_mut().iter_mut().zip(own.gram.packed());
            values.for_each(|(to, value)| *to -= value);
            others.moment.iter_mut().zip(&own.moment).for_each(|(to, value)| *to -= value);
            others.count = others.count.saturating_sub(own.count);
        }
        Ok(others)
    }

    /// What all have released and, where decisions use it, one's own exact data since then.
    fn synchronised(&self, group: &Shared) -> Result<LinearStats, Misbehaviour> {
        let mut known = group.sum.stats.clone();
        for &(stream, number) in &group.mine {
            let since = self.sums.get(stream as usize).and_then(|sum| sum.since(number));
            let since = since.ok_or_else(never_released)?;
            if self.rules.decide == Decide::Own {
                known.merge(&since);
            }
        }
        Ok(known)
    }

    /// What noisy sums are worth, by what decisions use.
    fn weighed(&self, group: &Shared, weighing: &Weighing) -> Result<LinearStats, Misbehaviour> {
        let others = self.others(group)?;
        if self.rules.decide == Decide::Released {
            return Ok(weighing.effective(&group.sum.stats, group.sum.variance));
        }
        let mine = group.mine.iter().filter_map(|&(stream, number)| {
            let (_, variance) = self.sums[stream as usize].released(number, &self.rules)?;
            Some(variance)
        });
        // What is left when everybody else's noise is taken away may be rounding.
        let variance = (group.sum.variance - mine.sum::<f64>()).max(0.0);
        let nobody_else = variance <= 1e-9 * group.sum.variance;
        let mut known = if nobody_else && group.sum.variance > 0.0 {
            LinearStats::empty(self.rules.dim)
        } else {
            weighing.effective(&others, variance)
        };
        for &(stream, _) in &group.mine {
            self.sums[stream as usize].exact().into_iter().for_each(|exact| known.merge(exact));
        }
        Ok(known)
    }

    /// A model of a group: what is released, or what others released and one's own exact data.
    fn model(&self, group: &Shared) -> Result<Knowledge, Misbehaviour> {
        let Rules { weighing, ridge, .. } = &self.rules;
        self.rules.check_shared(&group.sum)?;
        // A ridge is larger than noise but for a small probability; then it is doubled. What is weighed has no
        // negative eigenvalues.
        let (known, doublings) = match weighing {
            Some(weighing) => (self.weighed(group, weighing)?, 0),
            None => (self.synchronised(group)?, MOST_DOUBLINGS),
        };
        let factor =
            |doublings| Factor::of(known.gram.packed(), &known.moment, libm::ldexp(*ridge, doublings));
        let mut model = factor(0);
        for doublings in 1..=doublings {
            if model.is_ok() {
                break;
            }
            model = factor(doublings);
        }
        let factor = model.map_err(|error| Misbehaviour::Indefinite(error.to_string()))?;
        Ok(Knowledge { stats: known, factor })
    }

    fn shared(&mut self, version: u64, groups: &[Shared]) -> Result<(), Misbehaviour> {
        if version <= self.version {
            return Ok(());
        }
        let mut places = self.places.clone();
        let mut models = Vec::with_capacity(groups.len());
        let mut named = vec![false; self.sums.len()];
        for (index, group) in (0..).zip(groups) {
            for &(stream, _) in &group.mine {
                let known = named.get_mut(stream as usize).filter(|named| !**named);
                *known.ok_or_else(|| Misbehaviour::Unexpected("a sum in two groups, or in none".into()))? =
                    true;
                places[stream as usize] = index;
            }
            models.push(self.model(group)?);
        }
        // Those of whom nothing was heard yet go on as they are.
        for stream in (0..self.sums.len()).filter(|&stream| !named[stream]) {
            models.push(self.models[self.places[stream] as usize].clone());
            places[stream] = models.len() as u32 - 1;
        }
        for &(stream, number) in groups.iter().flat_map(|group| &group.mine) {
            self.sums[stream as usize].merged_up_to(number);
        }
        (self.version, self.places, self.models) = (version, places, models);
        Ok(())
    }
}

fn never_released() -> Misbehaviour {
    Misbehaviour::Unexpected("a sum with what was never released".into())
}

impl Machine for Silo {
    type Msg = PrivateMsg;

    fn on_start(&mut self, cx: &mut Cx<'_, PrivateMsg>) {
        self.wake(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_, PrivateMsg>) {
        self.release(cx);
        self.wake(cx);
    }

    fn on_new_secrets(&mut self) {
        // A copy of this machine may have hidden a vector with the masks of a round that is under way.
        self.sums.iter_mut().filter_map(Sum::grouped).for_each(|grouped| grouped.leave());
    }

    fn on_message(
        &mut self,
        _from: NodeId,
        message: PrivateMsg,
        cx: &mut Cx<'_, PrivateMsg>,
    ) -> Result<(), Misbehaviour> {
        match message.0 {
            Body::Shared { version, groups } => self.shared(version, &groups),
            Body::Down(message) => {
                let Silo { rules, server, sums, .. } = self;
                match sums.first_mut().and_then(Sum::grouped) {
                    Some(grouped) => grouped.on(&message, rules, *server, cx),
                    None => Err(Body::Down(message).unexpected()),
                }
            }
            Body::Summed { round, through, sum } => {
                if round > self.rules.releases() {
                    return Err(Misbehaviour::Unexpected(format!(
                        "round {round} of {}",
                        self.rules.releases()
                    )));
                }
                self.rules.check_shared(&sum)?;
                match self.sums.first_mut().and_then(Sum::grouped) {
                    Some(grouped) if u64::from(round) > self.version => grouped.came_through(&through),
                    Some(_) => return Ok(()),
                    None => return Err(Misbehaviour::Unexpected("a sum over groups".into())),
                }
                self.shared(round.into(), &[Shared { mine: vec![(0, round)], sum }])
            }
            Body::Refused { reason } => {
                // The next release says all that this one did.
                cx.report(Fact::Refused { observations: 0, reason });
                Ok(())
            }
            other => Err(other.unexpected()),
        }
    }
}

impl Learner for Silo {
    type Pending = ChosenFor;

    fn choose(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<ChosenFor> {
        let picked = match self.knowledge(user) {
            Some(known) => known.choose(&self.rules.policy, arms, rng),
            None => self.nothing().choose(&self.rules.policy, arms, rng),
        };
        let picked = picked.shifted(self.rules.rewards.middle);
        picked.keeping(ChosenFor { user, context: arms.context(picked.arm) })
    }

    fn odds(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        match self.knowledge(user) {
            Some(known) => known.odds(&self.rules.policy, arms, rng),
            None => self.nothing().odds(&self.rules.policy, arms, rng),
        }
    }

    fn commit(&mut self, pending: &ChosenFor, _cx: &mut Cx<'_, PrivateMsg>) {
        self.position(pending.user);
    }

    fn observe(&mut self, pending: ChosenFor, mut reward: f64, cx: &mut Cx<'_, PrivateMsg>) {
        let ChosenFor { user, mut context } = pending;
        let Rewards { range, middle } = self.rules.rewards;
        if self.clip.apply(&mut context, &mut reward, range) {
            cx.level("clipped", self.clip.clipped() as f64);
        }
        reward -= middle;
        let position = self.position(user);
        let stream = self.stream(position);
        // Beyond what noise is made for, an observation is nobody's: its own client may not use it either, as what
        // that chooses is released with the observations of others.
        if self.users[position].used >= self.rules.per_user {
            self.left_out += 1;
            cx.level("observations_left_out", self.left_out as f64);
            return;
        }
        self.users[position].used += 1;
        self.sums[stream].observe(&context, reward, &self.rules, cx);
        if self.rules.decide == Decide::Own {
            self.models[self.places[stream] as usize].observe(&context, reward);
        }
    }

    fn unsent(&self) -> u64 {
        self.sums.iter().map(Sum::unsent).sum()
    }
}
