//! The server of the private family: it knows what was released, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::{
    Custom, Cx, Fact, Learnt, LinearStats, Machine, Membership, Misbehaviour, NodeId, Ruling,
};
use serde::{Deserialize, Serialize};

use super::gathering::Gathering;
use super::grouping::{self, Released};
use super::message::{Body, Part, PrivateMsg, Shared, Summed};
use super::rules::{Rules, Valid};

/// Sums of machines that have left, under the number of one that came back.
const LEGACY: u32 = 1 << 24;

/// Sums that are alike, by client and stream, and the sum of them.
type Together = (Vec<(NodeId, u32)>, Arc<Summed>);

/// Adds up what was released by those who are alike, once all have released or their time is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Merger {
    rules: Rules,
    /// The last release of each sum.
    latest: BTreeMap<(NodeId, u32), (u32, LinearStats)>,
    joined: BTreeSet<NodeId>,
    /// Who has released since the last round.
    heard: BTreeSet<NodeId>,
    version: u64,
    /// Sums over groups, where those are all that is seen.
    gathering: Option<Gathering>,
}

impl Merger {
    pub(crate) fn new(valid: &Valid) -> Merger {
        Merger {
            rules: valid.rules.clone(),
            latest: BTreeMap::new(),
            joined: BTreeSet::new(),
            heard: BTreeSet::new(),
            version: 0,
            gathering: Gathering::of(&valid.rules),
        }
    }

    /// Observations in all that was released last.
    pub fn observations(&self) -> u64 {
        if let Some(gathering) = &self.gathering {
            return gathering.observations();
        }
        self.latest.values().map(|(_, stats)| stats.count).sum()
    }

    fn check(&self, from: NodeId, parts: &[Part]) -> Result<(), Misbehaviour> {
        if parts.is_empty() {
            return Err(Misbehaviour::Unexpected("a release of nothing".into()));
        }
        let mut last = None;
        for Part { stream, number, stats } in parts {
            if last.is_some_and(|last| *stream <= last) || *stream >= LEGACY {
                return Err(Misbehaviour::Unexpected("sums that are not in order".into()));
            }
            last = Some(*stream);
            let known = self.latest.get(&(from, *stream));
            let before = known.map_or(0, |(number, _)| *number);
            if *number <= before || *number > self.rules.releases() {
                return Err(Misbehaviour::Gap { expected: u64::from(before) + 1, got: (*number).into() });
            }
            if known.is_some_and(|(_, known)| stats.get().count < known.count) {
                return Err(Misbehaviour::Implausible("a sum of fewer observations than before".into()));
            }
            self.rules.check(*number, stats.get())?;
        }
        Ok(())
    }

    /// Sums over those who are alike.
    fn grouped(&self) -> Vec<Together> {
        let keys: Vec<(NodeId, u32)> = self.latest.keys().copied().collect();
        let released: Vec<Released<'_>> = self
            .latest
            .values()
            .map(|(number, stats)| Released { stats, variance: self.rules.variance(*number, stats.count) })
            .collect();
        let summed = |members: Vec<usize>| {
            let mut sum = Summed { stats: LinearStats::empty(self.rules.dim), variance: 0.0 };
            for &place in &members {
                sum.stats.merge(released[place].stats);
                sum.variance += released[place].variance;
            }
            (members.into_iter().map(|place| keys[place]).collect(), Arc::new(sum))
        };
        grouping::groups(&released, &self.rules).into_iter().map(summed).collect()
    }

    /// What a noisy sum says, as sure as it can be of it.
    fn model(&self, Summed { stats, variance }: &Summed) -> Learnt {
        let Some(weighing) = &self.rules.weighing else {
            let mut learnt = Learnt::linear(stats, self.rules.ridge);
            learnt.weights.iter_mut().for_each(|weight| weight.width = None);
            return learnt;
        };
        Learnt::linear(&weighing.effective(stats, *variance), self.rules.ridge)
    }

    /// Everyone is sent the sums that they have a part in.
    fn share(&mut self, cx: &mut Cx<'_, PrivateMsg>) {
        self.heard.clear();
        self.version += 1;
        let groups = self.grouped();
        let mut mine: BTreeMap<NodeId, Vec<Shared>> = BTreeMap::new();
        for (members, sum) in &groups {
            let mut of: BTreeMap<NodeId, Vec<(u32, u32)>> = BTreeMap::new();
            for &(node, stream) in members.iter().filter(|(_, stream)| *stream < LEGACY) {
                of.entry(node).or_default().push((stream, self.latest[&(node, stream)].0));
            }
            for (node, streams) in of {
                mine.entry(node).or_default().push(Shared { mine: streams, sum: sum.clone() });
            }
        }
        cx.report(Fact::Rounds(1));
        cx.report(Fact::Clusters(groups.len() as u64));
        for (node, groups) in mine {
            if self.joined.contains(&node) {
                cx.send(node, Custom(Body::Shared { version: self.version, groups }));
            }
        }
    }

    fn share_if_complete(&mut self, cx: &mut Cx<'_, PrivateMsg>) {
        if !self.heard.is_empty() && self.joined.is_subset(&self.heard) {
            self.share(cx);
        }
    }

    /// Goes on where nobody is waited for any more.
    fn go_on(&mut self, cx: &mut Cx<'_, PrivateMsg>) {
        match &mut self.gathering {
            Some(gathering) => gathering.go_on(&self.rules, &self.joined, cx),
            None => self.share_if_complete(cx),
        }
    }

    fn wake(&self, cx: &mut Cx<'_, PrivateMsg>) {
        let next = match &self.gathering {
            Some(gathering) => gathering.wake(&self.rules, cx.now()),
            None => self.rules.times.next_deadline(cx.now()),
        };
        if let Some(tick) = next {
            cx.wake_at(tick);
        }
    }

    /// A new machine under an old number: what the old one released stays, and is nobody's.
    fn bequeath(&mut self, node: NodeId) {
        let old: Vec<u32> =
            self.latest.range((node, 0)..(node, LEGACY)).map(|((_, stream), _)| *stream).collect();
        for stream in old {
            let Some(last) = self.latest.remove(&(node, stream)) else { continue };
            let taken = self.latest.range((node, LEGACY)..=(node, u32::MAX)).next_back();
            let free = taken.map_or(LEGACY, |((_, stream), _)| stream.saturating_add(1));
            self.latest.insert((node, free), last);
        }
    }
}

fn clients(members: &[(NodeId, u32)]) -> Vec<NodeId> {
    let clients: BTreeSet<NodeId> = members.iter().map(|(node, _)| *node).collect();
    clients.into_iter().collect()
}

impl Machine for Merger {
    type Msg = PrivateMsg;

    fn on_start(&mut self, cx: &mut Cx<'_, PrivateMsg>) {
        self.wake(cx);
    }

    fn on_wake(&mut self, cx: &mut Cx<'_, PrivateMsg>) {
        match &mut self.gathering {
            Some(gathering) => gathering.on_wake(&self.rules, &self.joined, cx),
            None if !self.heard.is_empty() => self.share(cx),
            None => {}
        }
        self.wake(cx);
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: PrivateMsg,
        cx: &mut Cx<'_, PrivateMsg>,
    ) -> Result<(), Misbehaviour> {
        if !self.joined.contains(&from) {
            return Err(Misbehaviour::Unexpected(format!("{from} has not joined")));
        }
        let parts = match (message.0, &mut self.gathering) {
            (Body::Up(message), Some(gathering)) => {
                return gathering.take(from, message, &self.rules, &self.joined, cx);
            }
            (Body::Release(parts), None) => parts,
            (other, _) => return Err(other.unexpected()),
        };
        self.check(from, &parts)?;
        for Part { stream, number, stats } in parts {
            self.latest.insert((from, stream), (number, stats.into_inner()));
        }
        self.heard.insert(from);
        self.share_if_complete(cx);
        Ok(())
    }

    const RESUMES: bool = true;

    fn forgets(&self) -> Result<(), String> {
        match self.gathering {
            Some(_) => Err("sums over groups do not show what one client has contributed".into()),
            None => Ok(()),
        }
    }

    fn on_ruling(&mut self, ruling: Ruling, cx: &mut Cx<'_, PrivateMsg>) {
        match ruling {
            Ruling::Quarantined(node) => {
                self.joined.remove(&node);
                self.heard.remove(&node);
                self.go_on(cx);
            }
            Ruling::Restored(node) => {
                self.joined.insert(node);
            }
            Ruling::Forgotten(node) => {
                self.latest.retain(|(other, _), _| *other != node);
                if self.latest.is_empty() { self.heard.clear() } else { self.share(cx) }
            }
        }
    }

    fn observations(&self) -> Option<u64> {
        Some(Merger::observations(self))
    }

    fn groups(&self) -> Vec<Vec<NodeId>> {
        let apart = self.gathering.is_none() && self.rules.apart.is_some();
        let grouped = if apart { self.grouped() } else { Vec::new() };
        grouped.into_iter().map(|(members, _)| clients(&members)).collect()
    }

    fn learnt(&self, most: usize) -> (Vec<Learnt>, usize) {
        if let Some(gathering) = &self.gathering {
            let models: Vec<Learnt> = gathering.sum().iter().map(|sum| self.model(sum)).collect();
            let all = models.len();
            return (models, all);
        }
        let grouped = self.grouped();
        let model = |(members, sum): &Together| self.model(sum).of(clients(members));
        (grouped.iter().take(most).map(model).collect(), grouped.len())
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, PrivateMsg>) {
        match change {
            Membership::Joined(node) => {
                if self.joined.insert(node) {
                    self.bequeath(node);
                }
            }
            Membership::Left(node) => {
                self.joined.remove(&node);
                self.heard.remove(&node);
                self.go_on(cx);
            }
        }
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        if let Some(gathering) = &self.gathering {
            gathering.waiting_for(&self.joined)
        } else if self.heard.is_empty() {
            Vec::new()
        } else {
            self.joined.difference(&self.heard).copied().collect()
        }
    }
}
