//! The server of cdp-mab and hdp-mab: averages what the participants send, eliminates, tells the rest.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::{
    ArmIndex, ArmMean, Custom, Cx, Fact, Gather, Learnt, Machine, Membership, Misbehaviour, NodeId, Patience,
    Sure,
};
use serde::{Deserialize, Serialize};

use super::REPORT;
use super::message::{MabMsg, Sum};
use super::rules::{Rules, average};
use super::shares::Shares;
use super::sums::{Outcome, Sums};
use crate::kit::arms::{ActiveArms, ArmMsg, FORGETS_NOT, Told};

/// Lines 11 to 15 of Algorithm 1, Lines 12 to 16 of Algorithm 5.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    rules: Rules,
    /// Who may be asked for means, and what each one's mean weighs: all clients, or the sinks.
    sources: BTreeMap<NodeId, f64>,
    /// The same of those who have left.
    away: BTreeMap<NodeId, f64>,
    /// Clients that came back and have yet to explore what the others have: not waited for.
    behind: BTreeSet<NodeId>,
    /// How many sources are asked per round, and whether that is everyone, who then answers unasked.
    sample: usize,
    everyone: bool,
    patience: Patience,
    /// Below each sink: who passes means on to whom.
    trees: Vec<(NodeId, Vec<(NodeId, NodeId)>)>,
    /// What a round costs, by name: for reports.
    costs: Vec<(Cost, f64)>,
    /// r.
    epoch: u64,
    /// I(r-1).
    active: Vec<ArmIndex>,
    /// S(r-1).
    before: u64,
    /// I(1), I(2), ...: for those who come back.
    decided: Vec<Arc<ActiveArms>>,
    round: Gather<Vec<f64>>,
    /// Whose shares of the noise have come, where it takes all of them to keep what is promised.
    shares: Option<Shares>,
    /// Sums in place of means, where nobody is to see more than those.
    sums: Option<Sums>,
    /// What is shown, where there are no sums: no part of the state.
    #[serde(skip)]
    told: Told,
}

/// Ways to count the communication of a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Cost {
    ServerLinks,
    AllEdges,
}

impl Cost {
    fn name(self) -> &'static str {
        match self {
            Cost::ServerLinks => "server_links",
            Cost::AllEdges => "link_slots",
        }
    }
}

impl Server {
    /// A server that asks `sample` of `sources` per round.
    pub(super) fn new(
        rules: Rules,
        sources: BTreeMap<NodeId, f64>,
        sample: usize,
        trees: Vec<(NodeId, Vec<(NodeId, NodeId)>)>,
        costs: Vec<(Cost, f64)>,
        patience: Patience,
        shares: Option<Shares>,
    ) -> Self {
        Server {
            sums: Sums::of(&rules),
            active: rules.all_arms(),
            rules,
            everyone: sample >= sources.len(),
            sources,
            away: BTreeMap::new(),
            behind: BTreeSet::new(),
            sample,
            patience,
            trees,
            costs,
            epoch: 1,
            before: 0,
            decided: Vec::new(),
            round: Gather::open([], None),
            shares,
            told: Told::default(),
        }
    }

    /// I(r-1).
    pub fn active(&self) -> &[ArmIndex] {
        &self.active
    }

    /// r.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Pulls of an arm that are in sums over all who report.
    #[cfg(test)]
    pub(super) fn summed(&self, arm: ArmIndex) -> u64 {
        self.sums.as_ref().map_or(0, |sums| sums.pulls(arm))
    }

    /// Chooses who takes part in this round, and asks them where that is not everyone.
    fn open_round(&mut self, cx: &mut Cx<'_, MabMsg>) {
        let sources = self.sources.keys().copied();
        let mut asked: Vec<NodeId> = sources.filter(|client| !self.behind.contains(client)).collect();
        if self.sums.as_ref().is_some_and(|sums| !sums.allows(asked.len())) {
            // Too few for a sum: those who came back are waited for too.
            self.behind.clear();
            asked = self.sources.keys().copied().collect();
        }
        if !self.everyone {
            let sample = self.sample.min(asked.len());
            cx.draw(|rng| {
                for place in 0..sample {
                    let other = place + rng.below((asked.len() - place) as u64) as usize;
                    asked.swap(place, other);
                }
            });
            asked.truncate(sample);
            asked.sort_unstable();
        }
        if let Some(sums) = &mut self.sums {
            if sums.allows(asked.len()) {
                sums.begin(asked.into_iter().collect(), &self.behind, self.active.len(), cx);
            }
            return;
        }
        if !self.everyone {
            for client in &asked {
                let signal = ArmMsg::Signal { signal: REPORT, phase: self.epoch };
                cx.send(*client, MabMsg::Arms(signal));
            }
        }
        self.round = Gather::patient(asked, self.patience);
    }

    fn close_round_if_complete(&mut self, cx: &mut Cx<'_, MabMsg>) {
        if self.sums.is_some() {
            return self.go_on(cx);
        }
        if self.active.len() <= 1 || self.sources.is_empty() || !self.round.is_complete(cx.now()) {
            return;
        }
        let parts = std::mem::replace(&mut self.round, Gather::open([], None)).into_parts();
        if parts.is_empty() {
            // All who were asked have left: ask others, if there are any.
            return self.open_round(cx);
        }
        if let Some(shares) = &mut self.shares {
            shares.arrived(parts.keys().copied(), cx);
        }
        let pulls = self.rules.pulls(self.epoch, self.active.len(), self.before);
        let rows = parts.iter().map(|(node, row)| (self.weight(node), &row[..]));
        let means = average(self.active.len(), rows);
        self.tell(&means, parts.keys().map(|node| self.weight(node)).sum(), pulls);
        let radius = self.rules.radius(self.epoch, self.active.len(), pulls);
        self.decide(&means, radius, pulls, cx);
    }

    /// A sum goes on; once it is there, the round is decided, and where it came to nothing it begins again.
    fn go_on(&mut self, cx: &mut Cx<'_, MabMsg>) {
        let Server { sums, sources, patience, .. } = self;
        let Some(sums) = sums else { return };
        let outcome = sums.go_on(|node| sources.contains_key(node), patience.deadline, cx);
        match outcome {
            None => {}
            Some(Outcome::Failed) => self.open_round(cx),
            Some(Outcome::Sum(sum)) => {
                let pulls = self.rules.pulls(self.epoch, self.active.len(), self.before);
                match sums.add(&sum, &self.active, pulls, &self.rules) {
                    Ok(()) => {
                        let (means, radius) = sums.means(self.epoch, &self.active, &self.rules);
                        self.decide(&means, radius, pulls, cx);
                    }
                    Err(_) => {
                        // Somebody lied, and nobody knows who.
                        cx.count("sums_implausible", 1.0);
                        self.open_round(cx);
                    }
                }
            }
        }
    }

    /// Lines 12 to 15, and everyone is told.
    fn decide(&mut self, means: &[f64], radius: f64, pulls: u64, cx: &mut Cx<'_, MabMsg>) {
        let separated = Rules::separated(means, radius);
        self.active = self.rules.survivors(self.epoch, &self.active, means, radius);
        cx.report(Fact::Rounds(1));
        for (cost, amount) in &self.costs {
            cx.count(cost.name(), *amount);
        }
        self.report(separated, cx);
        self.epoch += 1;
        self.before = pulls;
        let next = Arc::new(ActiveArms { phase: self.epoch, arms: self.active.clone() });
        self.decided.push(next.clone());
        for source in self.sources.keys() {
            cx.send(*source, MabMsg::Arms(ArmMsg::DownloadActive(next.clone())));
        }
        if self.active.len() > 1 {
            self.open_round(cx);
        }
    }

    /// What the mean of someone who has answered weighs, though it may have left since.
    fn weight(&self, node: &NodeId) -> f64 {
        self.sources.get(node).or(self.away.get(node)).copied().unwrap_or(0.0)
    }

    /// Means that are shown: over `clients` of them, each of which has pulled each active arm `pulls` times.
    fn tell(&mut self, means: &[f64], clients: f64, pulls: u64) {
        let radius = self.rules.radius_over(self.epoch, self.active.len(), pulls, clients);
        // As printed, a component weighs 1, whatever its size.
        let counted = self.trees.is_empty() || !self.rules.as_printed;
        let pulls = counted.then_some((clients as u64).saturating_mul(pulls));
        for (arm, value) in self.active.iter().zip(means) {
            self.told.tell(*arm, ArmMean { value: *value, radius, pulls });
        }
    }

    /// A new machine under an old number. It is told all that was decided, explores what the others have
    /// explored, as their radius assumes of every mean, and then reports with them.
    fn welcome(&mut self, client: NodeId, weight: f64, cx: &mut Cx<'_, MabMsg>) {
        self.sources.insert(client, weight);
        self.round.forget(client);
        if let Some(shares) = &mut self.shares {
            shares.renewed(client);
        }
        if self.everyone {
            self.behind.insert(client);
        }
        for next in &self.decided {
            cx.send(client, MabMsg::Arms(ArmMsg::DownloadActive(next.clone())));
        }
        match &self.sums {
            Some(sums) if sums.is_busy() && self.everyone => sums.invite(client, cx),
            // There were too few.
            Some(sums) if !sums.is_busy() && self.active.len() > 1 => return self.open_round(cx),
            _ => {}
        }
        self.close_round_if_complete(cx);
    }

    fn report(&self, finished: bool, cx: &mut Cx<'_, MabMsg>) {
        cx.level("active_arms", self.active.len() as f64);
        cx.level("finished", f64::from(finished));
    }
}

impl Machine for Server {
    type Msg = MabMsg;

    fn on_start(&mut self, cx: &mut Cx<'_, MabMsg>) {
        // Shown even if no round is ever completed.
        self.report(self.active.len() == 1, cx);
        for (sink, tree) in &self.trees {
            cx.send(*sink, MabMsg::Tree(tree.clone()));
        }
        self.open_round(cx);
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: MabMsg,
        cx: &mut Cx<'_, MabMsg>,
    ) -> Result<(), Misbehaviour> {
        let (number, values) = match (message, &mut self.sums) {
            (MabMsg::Sum(Custom(Sum::Up(step))), Some(sums)) => {
                if !self.sources.contains_key(&from) {
                    // It has left, and could not know.
                    return Ok(());
                }
                if !self.everyone && !sums.may(from, step.round()) {
                    return Err(Misbehaviour::Unexpected(format!("{from} was not asked")));
                }
                if sums.take(from, step, self.patience.deadline, cx)? {
                    self.behind.remove(&from);
                }
                self.close_round_if_complete(cx);
                return Ok(());
            }
            (MabMsg::Arms(ArmMsg::Upload { number, values }), None) => (number, values),
            (message, _) => return Err(message.unexpected()),
        };
        if number < self.epoch {
            // Too late for its round; its sender has been told what was decided without it.
            return Ok(());
        }
        if self.active.len() <= 1 {
            return Err(Misbehaviour::Unexpected("means after the last round".into()));
        }
        if number != self.epoch {
            return Err(Misbehaviour::Gap { expected: self.epoch, got: number });
        }
        values.get().check(self.epoch, &self.active)?;
        let pulls = self.rules.pulls(self.epoch, self.active.len(), self.before);
        self.rules.check_means(self.epoch, pulls, &values.get().values)?;
        if self.behind.remove(&from) {
            self.round.expect(from);
        }
        self.round
            .offer(from, values.into_inner().values)
            .map_err(|_| Misbehaviour::Unexpected(format!("{from} was not asked, or has answered")))?;
        // How long exploration takes is not for a deadline to say: time runs from the first answer on.
        if let Some(tick) = self.round.start(cx.now()) {
            cx.wake_at(tick);
        }
        self.close_round_if_complete(cx);
        Ok(())
    }

    fn forgets(&self) -> Result<(), String> {
        Err(FORGETS_NOT.into())
    }

    /// A deadline.
    fn on_wake(&mut self, cx: &mut Cx<'_, MabMsg>) {
        self.close_round_if_complete(cx);
        if let Some(sums) = &self.sums {
            sums.wake(self.patience.deadline, cx);
        }
    }

    /// Only sums say how many pulls are in them and stay in the state. Of means the server knows that, too, when a round
    /// closes, but it keeps neither them nor who had sent them.
    fn observations(&self) -> Option<u64> {
        let sums = self.sums.as_ref()?;
        Some(self.rules.all_arms().into_iter().map(|arm| sums.pulls(arm)).sum())
    }

    /// What was averaged or summed, with C(r).
    fn learnt(&self, _most: usize) -> (Vec<Learnt>, usize) {
        let all = self.rules.all_arms();
        let told = match &self.sums {
            Some(sums) => &sums.told(self.epoch, &self.rules),
            None => &self.told,
        };
        let learnt = told.learnt(all, &self.active, Sure::Chance(self.rules.sure()));
        (vec![Learnt { observations: self.observations(), ..learnt }], 1)
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        if let Some(sums) = &self.sums {
            return sums.waiting_for(|node| self.sources.contains_key(node));
        }
        self.round.waiting().filter(|_| self.active.len() > 1).collect()
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, MabMsg>) {
        match change {
            // All are members from the start; one that leaves no longer holds up the others.
            Membership::Left(client) => {
                let Some(weight) = self.sources.remove(&client) else { return };
                self.away.insert(client, weight);
                self.behind.remove(&client);
                self.round.excuse(client);
                self.close_round_if_complete(cx);
            }
            // A sink's place is in a tree that is told once: it cannot be taken again.
            Membership::Joined(client) if self.trees.is_empty() => {
                if let Some(weight) = self.away.remove(&client) {
                    self.welcome(client, weight, cx);
                }
            }
            Membership::Joined(_) => {}
        }
    }
}
