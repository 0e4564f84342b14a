//! The server of fed-igw: it waits until an epoch is over, gathers what was observed in it, and sends the model of
//! that to everyone.

use std::collections::BTreeMap;
use std::sync::Arc;

use cahoots_core::{
    Cx, Fact, Gather, Learnt, LinearStats, Machine, Membership, Misbehaviour, NodeId, Patience, Plausible,
    Prior, Ruling, View,
};
use serde::{Deserialize, Serialize};

use super::params::{Data, Valid};
use crate::kit::linear::{Apart, LinearMsg, Signal, check_upload, prior as kit};

/// Merges what an epoch has given, in node order, and begins the next one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    ridge: f64,
    plausible: Plausible,
    patience: Patience,
    data: Data,
    /// What every model holds: no data, or what others have handed on.
    nothing: Arc<View>,
    /// The epoch's model.
    view: Arc<View>,
    epoch: u64,
    stage: Stage,
    members: BTreeMap<NodeId, Member>,
    /// What came when nobody had asked, or too late: part of the next model.
    waiting: BTreeMap<NodeId, LinearStats>,
    /// Observations in all models so far.
    merged: u64,
    /// Who has contributed what to the present model.
    apart: Apart,
}

/// What is known of a client.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Member {
    /// Its last upload.
    received: u64,
    /// The last that has been merged.
    merged: u64,
    /// It is not believed for now, and sent nothing.
    paused: bool,
}

/// How far an epoch is.
#[derive(Clone, Debug, Serialize, Deserialize)]
enum Stage {
    /// Nobody is done with it.
    Open,
    /// Some are.
    Ending(Gather<()>),
    /// It is over, and everyone has been asked for what it has.
    Collecting(Gather<LinearStats>),
}

impl Server {
    pub(super) fn new(valid: &Valid) -> Self {
        Server {
            ridge: valid.linear.ridge,
            plausible: valid.linear.plausible,
            patience: valid.patience,
            data: valid.data,
            nothing: valid.linear.nothing.clone(),
            view: valid.linear.nothing.clone(),
            epoch: 1,
            stage: Stage::Open,
            members: BTreeMap::new(),
            waiting: BTreeMap::new(),
            merged: 0,
            apart: Apart::new(valid.linear.keep_apart),
        }
    }

    /// The epoch's model.
    pub fn view(&self) -> &Arc<View> {
        &self.view
    }

    /// The epoch.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    fn present(&self) -> impl Iterator<Item = NodeId> {
        self.members.iter().filter(|(_, member)| !member.paused).map(|(&client, _)| client)
    }

    /// A client is done with an epoch.
    fn over_for(&mut self, client: NodeId, epoch: u64, cx: &mut Cx<'_, LinearMsg>) {
        if epoch != self.epoch || !self.members.contains_key(&client) {
            return;
        }
        if let Stage::Open = self.stage {
            let mut ending = Gather::patient(self.present(), self.patience);
            if let Some(tick) = ending.start(cx.now()) {
                cx.wake_at(tick);
            }
            self.stage = Stage::Ending(ending);
        }
        if let Stage::Ending(ending) = &mut self.stage {
            if !ending.answered().any(|other| other == client) {
                // Whoever joined meanwhile is not waited for, but counts.
                ending.expect(client);
                let _ = ending.offer(client, ());
            }
            self.go_on(cx);
        }
    }

    /// What can be done now that someone has answered or left, or the time has come.
    fn go_on(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        match &self.stage {
            Stage::Ending(ending) if ending.is_complete(cx.now()) => self.collect(cx),
            Stage::Collecting(round) if round.is_complete(cx.now()) => {
                if round.answered().next().is_some() {
                    self.finish(cx);
                } else if round.waiting().next().is_none() {
                    // All who were asked have gone: whoever is here goes on in this epoch, and says again that it is done, if it is.
                    self.stage = Stage::Open;
                    self.present().for_each(|client| cx.send(client, self.present_epoch()));
                }
            }
            _ => {}
        }
    }

    /// Everyone is asked for what it has observed, done or not.
    fn collect(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        let mut round = Gather::patient(self.present(), self.patience);
        if let Some(tick) = round.start(cx.now()) {
            cx.wake_at(tick);
        }
        self.present().for_each(|client| cx.send(client, LinearMsg::signal(Signal::Ask, self.epoch)));
        self.stage = Stage::Collecting(round);
        // Nobody may be left to answer.
        self.go_on(cx);
    }

    /// The next model, and the next epoch.
    fn finish(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        let Stage::Collecting(round) = std::mem::replace(&mut self.stage, Stage::Open) else { return };
        let mut parts = std::mem::take(&mut self.waiting);
        for (client, stats) in round.into_parts() {
            add(&mut parts, client, stats);
        }
        let fresh: u64 = parts.values().map(|stats| stats.count).sum();
        // An epoch of which nothing came tells nothing: its model stays.
        let mut sum = self.view.stats().clone();
        if self.data == Data::Epoch && fresh > 0 {
            sum = self.nothing.stats().clone();
            self.apart = Apart::new(self.apart.check().is_ok());
        }
        let refused = leave_out(&sum, &mut parts, self.ridge);
        if refused > 0 {
            cx.count("refused_uploads", refused as f64);
        }
        let fresh: u64 = parts.values().map(|stats| stats.count).sum();
        for (client, stats) in &parts {
            sum.merge(stats);
            self.apart.add(*client, stats);
        }
        // Where contributions are kept apart, the model is their sum, and follows from nothing else.
        let sum = self.apart.sum(self.nothing.stats()).unwrap_or(sum);
        self.members.values_mut().for_each(|member| member.merged = member.received);
        self.merged += fresh;
        self.view = View::new(self.view.version() + 1, sum);
        self.epoch += 1;
        cx.report(Fact::Rounds(1));
        self.present().for_each(|client| self.tell(client, cx));
    }

    /// Sends a client the model and its epoch.
    fn tell(&self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        if self.view.version() > 0 {
            self.send_view(client, cx);
        }
        if self.epoch > 1 {
            cx.send(client, self.present_epoch());
        }
    }

    /// Which epoch it is: who is done with it says so, once more perhaps.
    fn present_epoch(&self) -> LinearMsg {
        LinearMsg::signal(Signal::Phase, self.epoch)
    }

    fn send_view(&self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        let merged = self.members.get(&client).map_or(0, |member| member.merged);
        cx.send(client, LinearMsg::Download { view: self.view.clone(), merged });
    }

    /// The model without a client, for everyone, at once; what it has sent for the next one goes too.
    fn forget(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        let Some(sum) = self.apart.forget(client, self.nothing.stats()) else { return };
        self.waiting.remove(&client);
        match &mut self.stage {
            Stage::Open => {}
            Stage::Ending(ending) => ending.forget(client),
            Stage::Collecting(round) => round.forget(client),
        }
        let view = View::new(self.view.version() + 1, sum);
        if view.check(self.ridge).is_err() {
            // Uploads are checked one by one, in the sum of all; other sums of them can be wrong by rounding.
            cx.level("refused_views", 1.0);
        } else {
            self.merged = (self.merged + view.stats().count).saturating_sub(self.view.stats().count);
            self.view = view;
            self.present().for_each(|member| self.send_view(member, cx));
        }
        self.go_on(cx);
    }

    /// Nobody waits for a client any more.
    fn excuse(&mut self, client: NodeId, cx: &mut Cx<'_, LinearMsg>) {
        match &mut self.stage {
            Stage::Open => {}
            Stage::Ending(ending) => ending.excuse(client),
            Stage::Collecting(round) => round.excuse(client),
        }
        self.go_on(cx);
    }

    fn take(
        &mut self,
        from: NodeId,
        number: u64,
        stats: LinearStats,
        cx: &mut Cx<'_, LinearMsg>,
    ) -> Result<(), Misbehaviour> {
        let member = self.members.get_mut(&from);
        let member = member.ok_or_else(|| Misbehaviour::Unexpected(format!("{from} has not joined")))?;
        check_upload(number, member.received, &stats, self.nothing.stats(), &self.plausible, self.ridge)?;
        member.received = number;
        let unasked = match &mut self.stage {
            Stage::Collecting(round) => round.offer(from, stats),
            Stage::Open | Stage::Ending(_) => Err(stats),
        };
        if let Err(stats) = unasked
            && stats.count > 0
        {
            add(&mut self.waiting, from, stats);
        }
        self.go_on(cx);
        Ok(())
    }
}

/// Uploads are looked at one by one, and what several say can be of no data by rounding that each was allowed, or by lies:
/// then whoever makes it so, in node order, is left out. Data of the honest never do. Gives how many.
fn leave_out(base: &LinearStats, parts: &mut BTreeMap<NodeId, LinearStats>, ridge: f64) -> usize {
    let is_sound = |sum: &LinearStats| View::new(0, sum.clone()).check(ridge).is_ok();
    let mut sum = base.clone();
    parts.values().for_each(|stats| sum.merge(stats));
    if is_sound(&sum) {
        return 0;
    }
    let before = parts.len();
    let mut sum = base.clone();
    parts.retain(|_, stats| {
        let mut more = sum.clone();
        more.merge(stats);
        let sound = is_sound(&more);
        if sound {
            sum = more;
        }
        sound
    });
    before - parts.len()
}

/// Adds to what a client has given.
fn add(parts: &mut BTreeMap<NodeId, LinearStats>, client: NodeId, stats: LinearStats) {
    match parts.entry(client) {
        std::collections::btree_map::Entry::Occupied(mut given) => given.get_mut().merge(&stats),
        std::collections::btree_map::Entry::Vacant(none) => {
            none.insert(stats);
        }
    }
}

impl Machine for Server {
    type Msg = LinearMsg;

    fn on_message(
        &mut self,
        from: NodeId,
        message: LinearMsg,
        cx: &mut Cx<'_, LinearMsg>,
    ) -> Result<(), Misbehaviour> {
        match message {
            LinearMsg::Signal { signal: Signal::Request, number } => {
                self.over_for(from, number, cx);
                Ok(())
            }
            LinearMsg::Upload { number, stats } => self.take(from, number, stats.into_inner(), cx),
            other => Err(other.unexpected()),
        }
    }

    fn on_wake(&mut self, cx: &mut Cx<'_, LinearMsg>) {
        self.go_on(cx);
    }

    const RESUMES: bool = true;

    fn forgets(&self) -> Result<(), String> {
        self.apart.check()
    }

    fn prior(&self) -> Result<Prior, String> {
        Ok(Prior::Linear(self.view.stats().clone()))
    }

    fn takes_prior(&self, prior: &Prior) -> Result<(), String> {
        if self.view.version() > 0 || !self.members.is_empty() {
            return Err(kit::BEGUN.into());
        }
        kit::begin_from(prior, self.nothing.stats(), &self.plausible, self.ridge).map(|_| ())
    }

    /// It takes the place of nothing: the first epoch's model, and a part of every later one.
    fn on_prior(&mut self, prior: Prior, _cx: &mut Cx<'_, LinearMsg>) {
        if let Ok(view) = kit::begin_from(&prior, self.nothing.stats(), &self.plausible, self.ridge) {
            self.merged = view.stats().count;
            (self.nothing, self.view) = (view.clone(), view);
        }
    }

    fn on_ruling(&mut self, ruling: Ruling, cx: &mut Cx<'_, LinearMsg>) {
        match ruling {
            Ruling::Quarantined(client) => {
                if let Some(member) = self.members.get_mut(&client) {
                    member.paused = true;
                }
                self.excuse(client, cx);
            }
            Ruling::Restored(client) => {
                if let Some(member) = self.members.get_mut(&client) {
                    member.paused = false;
                }
                // Someone may have been forgotten meanwhile, or the epoch been over; and what it said was not heard.
                if self.view.version() > 0 {
                    self.send_view(client, cx);
                }
                if self.members.contains_key(&client) {
                    cx.send(client, self.present_epoch());
                }
            }
            Ruling::Forgotten(client) => self.forget(client, cx),
        }
    }

    fn observations(&self) -> Option<u64> {
        Some(self.merged)
    }

    fn learnt(&self, _most: usize) -> (Vec<Learnt>, usize) {
        (vec![Learnt::of_view(&self.view, self.ridge)], 1)
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, LinearMsg>) {
        match change {
            Membership::Joined(client) if self.members.contains_key(&client) => {}
            Membership::Joined(client) => {
                self.members.insert(client, Member::default());
                self.tell(client, cx);
            }
            Membership::Left(client) => {
                self.members.remove(&client);
                self.excuse(client, cx);
            }
        }
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        match &self.stage {
            Stage::Open => Vec::new(),
            Stage::Ending(ending) => ending.waiting().collect(),
            Stage::Collecting(round) => round.waiting().collect(),
        }
    }
}
