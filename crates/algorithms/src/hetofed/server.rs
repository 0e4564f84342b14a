//! The server of the hetofed family: estimates clusters, serves them one after
//! the other.

mod rulings;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use cahoots_core::{
    Cx, Gather, Learnt, LinearStats, Machine, Membership, Misbehaviour, NodeId, Patience, Plausible, Ruling,
    Tick, View, plausible,
};
use serde::{Deserialize, Serialize};

use super::Variant;
use super::member::Member;
use super::params::{Sharing, Valid};
use super::queue::Queue;
use crate::kit::clusters::{Clusters, Plan};
use crate::kit::linear::{LinearMsg, Signal};

/// Ticks without a message after which the server no longer looks at its queue at the end of each.
const AWAKE: u64 = 64;

/// ln of the largest number there is over the smallest.
const MOST_GAIN: f64 = 1500.0;

/// Keeps each client's own data apart, and adds up those of similar clients.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    pub(super) variant: Variant,
    pub(super) sharing: Sharing,
    pub(super) ridge: f64,
    pub(super) plausible: Plausible,
    pub(super) users: usize,
    pub(super) per_step: usize,
    pub(super) patience: Patience,
    pub(super) nothing: Arc<View>,
    /// When the federation's exploration ends, where that is a matter of ticks.
    pub(super) explore_until: Option<u64>,
    /// It has ended: newcomers take part as they are.
    pub(super) explored: bool,
    pub(super) members: BTreeMap<NodeId, Member>,
    pub(super) clusters: Clusters,
    /// Clients with data that the estimate of the clusters does not know.
    pub(super) changed: BTreeSet<NodeId>,
    /// Clients that asked for their clusters, where those are estimated at every request.
    pub(super) requests: BTreeSet<NodeId>,
    pub(super) queue: Queue,
    /// Who has yet to say how much it has learned, before the next cluster is picked.
    pub(super) poll: Option<Gather<()>>,
    /// Open rounds, oldest first.
    pub(super) rounds: Vec<Round>,
    pub(super) asked_rounds: u64,
    pub(super) versions: u64,
    pub(super) initial_uploads: u64,
    /// Until when the end of every tick is looked at.
    pub(super) awake_until: Tick,
}

/// Uploads that are waited for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Round {
    /// The cluster to be served; everyone, if the clusters are to be estimated first.
    cluster: Option<Vec<NodeId>>,
    gather: Gather<()>,
}

impl Server {
    pub(super) fn new(valid: &Valid) -> Self {
        Server {
            variant: valid.variant,
            sharing: valid.sharing,
            ridge: valid.linear.ridge,
            plausible: valid.linear.plausible,
            users: valid.users as usize,
            per_step: valid.clusters_per_step,
            patience: valid.patience,
            nothing: valid.linear.nothing.clone(),
            explore_until: match valid.plan {
                Plan::Ticks(tick) => Some(tick),
                Plan::Steps(_) | Plan::Doubling { .. } => None,
            },
            explored: false,
            members: BTreeMap::new(),
            clusters: Clusters::new(valid.test.clone(), valid.max_clusters),
            changed: BTreeSet::new(),
            requests: BTreeSet::new(),
            queue: Queue::default(),
            poll: None,
            rounds: Vec::new(),
            asked_rounds: 0,
            versions: 0,
            initial_uploads: 0,
            awake_until: 0,
        }
    }

    /// The estimated clusters.
    pub fn clusters(&self) -> &Clusters {
        &self.clusters
    }

    /// What a client has uploaded so far.
    pub fn own(&self, client: NodeId) -> Option<&LinearStats> {
        self.members.get(&client).map(|member| &member.own)
    }

    /// The last view a client was sent.
    pub fn served(&self, client: NodeId) -> Option<&Arc<View>> {
        self.members.get(&client).map(|member| &member.served)
    }

    /// Asks for uploads, of each client once however many rounds wait for it.
    fn open(&mut self, cluster: Option<Vec<NodeId>>, cx: &mut Cx<'_, LinearMsg>) {
        self.asked_rounds += 1;
        let everyone: Vec<NodeId> = match &cluster {
            Some(cluster) => cluster.clone(),
            None => self.members.keys().copied().collect(),
        };
        let mut expected = Vec::new();
        for client in everyone {
            let Some(member) = self.members.get_mut(&client) else { continue };
            // A quorum is a share of all; without one, who has missed a deadline is not waited for again.
            if member.left || member.overdue && self.patience.quorum == 0.0 {
                continue;
            }
            expected.push(client);
            if !std::mem::replace(&mut member.asked, true) {
                cx.send(client, LinearMsg::signal(Signal::Ask, self.asked_rounds));
            }
        }
        let mut gather = Gather::patient(expected, self.patience);
        gather.start(cx.now());
        self.rounds.push(Round { cluster, gather });
        self.finish_complete(cx);
    }

    /// Goes on with every round that all have answered, or enough at its deadline.
    fn finish_complete(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        while let Some(at) = self.rounds.iter().position(|round| round.gather.is_complete(cx.now())) {
            let round = self.rounds.remove(at);
            for late in round.gather.waiting() {
                if let Some(member) = self.members.get_mut(&late) {
                    member.overdue = true;
                }
            }
            match round.cluster {
                Some(cluster) => self.serve(&cluster, cx),
                None => self.recluster(cx),
            }
        }
    }

    /// Line 17 of Algorithm 2: the end of a step.
    fn step(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.finish_complete(cx);
        if self.explore_until.is_some_and(|tick| cx.now() >= tick) {
            self.explore_until = None;
            self.explored = true;
            self.open(None, cx);
            return;
        }
        if !self.changed.is_empty() && !self.variant.recluster {
            self.estimate(cx);
        }
        if self.rounds.iter().any(|round| round.cluster.is_none()) {
            return;
        }
        if !self.requests.is_empty() {
            // Lines 12 and 13 of Algorithm 5
            self.queue.clear();
            self.open(None, cx);
            return;
        }
        // With priorities, members are asked first; who has not answered by now counts as it last did.
        let choice = self.variant.priority && !self.variant.recluster && self.queue.len() > self.per_step;
        if choice && self.poll.take().is_none() {
            self.ask_weights(cx);
        } else {
            self.serve_next(cx);
        }
    }

    fn ask_weights(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        let waiting = self.queue.iter().flat_map(|place| &self.clusters.list()[place]);
        let present = |client: &NodeId| self.members.get(client).is_some_and(|member| !member.left);
        let asked: BTreeSet<NodeId> = waiting.copied().filter(present).collect();
        for &client in &asked {
            cx.send(client, LinearMsg::signal(Signal::Weigh, 0));
        }
        self.poll = Some(Gather::open(asked, None));
    }

    fn serve_next(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.poll = None;
        for _ in 0..self.per_step {
            let Some(cluster) = self.pop() else { break };
            self.open(Some(cluster), cx);
        }
    }

    fn request(&mut self, client: NodeId, number: u64) {
        let Some(member) = self.members.get(&client) else { return };
        if self.variant.recluster {
            // Made before a view that is on its way: no longer true.
            if number >= member.served.version() {
                self.requests.insert(client);
            }
            return;
        }
        for place in self.clusters.of(client) {
            let cluster = &self.clusters.list()[place];
            let open = self.rounds.iter().any(|round| round.cluster.as_ref() == Some(cluster));
            if cluster.len() as u64 >= number && !open {
                self.queue.push(place);
            }
        }
    }

    fn take(&mut self, from: NodeId, number: u64, stats: &LinearStats, cx: &mut Cx<'_, LinearMsg>) {
        let Some(member) = self.members.get_mut(&from) else { return };
        member.take(number, stats);
        member.overdue = false;
        let asked = std::mem::take(&mut member.asked);
        // Clusters that are estimated once are not estimated again for what comes later.
        if self.variant.recluster || !member.explored || !asked {
            self.changed.insert(from);
        }
        if member.is_untold() {
            cx.send(from, LinearMsg::signal(Signal::Merged, number));
        }
        if !asked {
            // Nobody asked: its exploration is complete.
            member.explored = true;
            self.initial_uploads += 1;
            cx.level("initial_uploads", self.initial_uploads as f64);
            if self.members.values().filter(|member| member.explored).count() == self.users {
                self.estimate(cx);
            }
            return;
        }
        for round in &mut self.rounds {
            let taken = round.gather.offer(from, ()).is_ok();
            if taken && self.sharing == Sharing::Buffers {
                break;
            }
        }
        // One upload, one buffer: another round needs another.
        if self.rounds.iter().any(|round| round.gather.expects(from)) {
            member.asked = true;
            cx.send(from, LinearMsg::signal(Signal::Ask, self.asked_rounds));
        }
        self.finish_complete(cx);
    }

    /// A tick's wakes come after its arrivals, and cannot be asked for within it. So that a request is
    /// served in the step in which it was made, the server is woken at the end of every tick while there
    /// is traffic. After a long silence the first request waits for one step.
    fn stir(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        if cx.now() >= self.awake_until {
            cx.wake_at(cx.now() + 1);
        }
        self.awake_until = cx.now() + AWAKE;
    }

    /// When to look again.
    fn rest(&self, cx: &mut Cx<'_, LinearMsg>) {
        let busy = cx.now() < self.awake_until || self.queue.len() > 0 || !self.requests.is_empty();
        let next = busy.then(|| cx.now() + 1);
        // One that has passed without a quorum is over with the answer that makes it one.
        let deadlines = self.rounds.iter().filter_map(|round| round.gather.deadline());
        let deadlines = deadlines.filter(|tick| *tick > cx.now());
        if let Some(tick) = next.into_iter().chain(deadlines).chain(self.explore_until).min() {
            cx.wake_at(tick);
        }
    }

    fn weigh(&mut self, from: NodeId, bits: u64, cx: &mut Cx<'_, LinearMsg>) -> Result<(), Misbehaviour> {
        let weight = f64::from_bits(bits);
        // Observations times gain in log-det, of which one direction cannot give more than all of floating point.
        let most = plausible::MOST_OBSERVATIONS as f64 * self.nothing.stats().dim() as f64 * MOST_GAIN;
        plausible::check_values("a weight", &[weight], (0.0, most))?;
        if let Some(member) = self.members.get_mut(&from) {
            member.weight = weight;
        }
        if let Some(poll) = &mut self.poll
            && poll.offer(from, ()).is_ok()
            && poll.is_complete(cx.now())
        {
            self.serve_next(cx);
        }
        Ok(())
    }
}

impl Machine for Server {
    type Msg = LinearMsg;

    fn on_start(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        if let Some(tick) = self.explore_until {
            cx.wake_at(tick);
        }
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: LinearMsg,
        cx: &mut Cx<'_, LinearMsg>,
    ) -> Result<(), Misbehaviour> {
        let member = self.members.get(&from);
        let member = member.ok_or_else(|| Misbehaviour::Unexpected(format!("{from} has not joined")))?;
        match message {
            LinearMsg::Signal { signal: Signal::Request, number } => self.request(from, number),
            LinearMsg::Signal { signal: Signal::Weight, number } => self.weigh(from, number, cx)?,
            LinearMsg::Upload { number, stats } => {
                member.check(number, stats.get(), &self.plausible, self.ridge)?;
                self.take(from, number, stats.get(), cx);
            }
            other => return Err(other.unexpected()),
        }
        self.stir(cx);
        Ok(())
    }

    /// The end of a step.
    fn on_wake(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.step(cx);
        self.rest(cx);
    }

    const RESUMES: bool = true;

    fn forgets(&self) -> Result<(), String> {
        match self.sharing {
            Sharing::Full => Ok(()),
            Sharing::Buffers => {
                Err("with sharing = \"buffers\" the others' views are built on views that hold it".into())
            }
        }
    }

    fn on_ruling(&mut self, ruling: Ruling, cx: &mut Cx<'_, LinearMsg>) {
        match ruling {
            Ruling::Quarantined(client) => self.dismiss(client, cx),
            Ruling::Restored(client) => self.readmit(client, cx),
            Ruling::Forgotten(client) => self.forget(client, cx),
        }
    }

    fn observations(&self) -> Option<u64> {
        Some(self.members.values().map(|member| member.own.count).sum())
    }

    fn groups(&self) -> Vec<Vec<NodeId>> {
        self.clusters.list().to_vec()
    }

    fn learnt(&self, most: usize) -> (Vec<Learnt>, usize) {
        let list = self.clusters.list();
        let model = |cluster: &Vec<NodeId>| {
            let mut sum = self.nothing.stats().clone();
            cluster.iter().filter_map(|client| self.own(*client)).for_each(|own| sum.merge(own));
            Learnt::linear(&sum, self.ridge).of(cluster.clone())
        };
        (list.iter().take(most).map(model).collect(), list.len())
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, LinearMsg>) {
        match change {
            Membership::Joined(client) => {
                let member = self.members.entry(client).or_insert_with(|| Member::new(&self.nothing));
                if std::mem::take(&mut member.left) {
                    member.come_back(&self.nothing);
                    rulings::tell_clusters(&self.clusters, self.variant, client, member, cx);
                }
                if self.explored && !self.variant.recluster && !member.explored {
                    member.explored = true;
                    self.changed.insert(client);
                }
                self.stir(cx);
            }
            Membership::Left(client) => self.dismiss(client, cx),
        }
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        let waiting: BTreeSet<NodeId> = self.rounds.iter().flat_map(|round| round.gather.waiting()).collect();
        waiting.into_iter().collect()
    }
}
