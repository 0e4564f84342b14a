//! Who is due a download. An upload costs two factorisations and the downloads it triggers, however many
//! clients there are: what each of them last had does not change when others upload, so the log-det beyond
//! which it is to be served stands in an ordered index.

use std::collections::BTreeSet;
use std::sync::Arc;

use cahoots_core::{Misbehaviour, NodeId, Symmetric, View, linalg};
use serde::{Deserialize, Serialize};

use super::Ratios;
use super::by_client::ByClient;
use super::float_key::FloatKey;

/// Whoever is sent views: a client, or one of the clusters of one.
pub trait Receiver: Copy + Ord {
    /// The client.
    fn client(self) -> NodeId;
}

impl Receiver for NodeId {
    fn client(self) -> NodeId {
        self
    }
}

impl Receiver for (NodeId, u32) {
    fn client(self) -> NodeId {
        self.0
    }
}

/// What a receiver last had: all that is merged, without its download buffer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Standing {
    view: Arc<View>,
    /// Its own uploads since that view.
    own: Option<Symmetric>,
    /// Its last merged upload.
    merged: u64,
}

impl Standing {
    /// Has a view, which holds its uploads up to `merged`, and nothing on top.
    pub fn with(view: Arc<View>, merged: u64) -> Standing {
        Standing { view, own: None, merged }
    }

    /// Its last merged upload.
    pub fn merged(&self) -> u64 {
        self.merged
    }

    /// Has all that is in `view`.
    pub fn is_at(&self, view: &View) -> bool {
        self.own.is_none() && self.view.version() == view.version()
    }

    /// What it has once its upload of this number is merged too.
    pub fn and(&self, upload: &Symmetric, number: u64) -> Standing {
        let mut own = self.own.clone().unwrap_or_else(|| Symmetric::zero(upload.dim()));
        own.add(upload);
        Standing { view: self.view.clone(), own: Some(own), merged: number }
    }

    /// log det of what it has, with the ridge.
    pub fn log_det(&self, ridge: f64) -> Result<f64, Misbehaviour> {
        let Some(own) = &self.own else { return Ok(self.view.check(ridge)?.log_det()) };
        let mut gram = self.view.stats().gram.clone();
        gram.add(own);
        linalg::log_det(&gram, ridge)
    }
}

/// The standing of every receiver, and who is to be served at which log-det of all that is merged.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "K: Receiver + Serialize", deserialize = "K: Receiver + Deserialize<'de>"))]
pub struct DownloadIndex<K> {
    /// ln gamma_D, by client.
    ratios: Ratios,
    /// Standings, with their log-dets.
    standings: ByClient<K, (Standing, f64)>,
    due: BTreeSet<(FloatKey, K)>,
}

impl<K: Receiver> DownloadIndex<K> {
    /// Nobody yet; downloads when determinants have grown by these ratios.
    pub fn new(ratios: Ratios) -> Self {
        DownloadIndex { ratios, standings: ByClient::new(), due: BTreeSet::new() }
    }

    /// What a receiver has, if it is known.
    pub fn get(&self, receiver: K) -> Option<&Standing> {
        self.standings.get(receiver).map(|(standing, _)| standing)
    }

    /// All that are known, in order.
    pub fn receivers(&self) -> impl Iterator<Item = K> {
        self.standings.iter().map(|(receiver, _)| receiver)
    }

    /// Records what a receiver has, with its log-det; that is when it will be served next.
    pub fn place(&mut self, receiver: K, standing: Standing, had: f64) {
        if let Some((_, before)) = self.standings.insert(receiver, (standing, had)) {
            self.due.remove(&(self.due_at(receiver, before), receiver));
        }
        self.due.insert((self.due_at(receiver, had), receiver));
    }

    /// Someone has left.
    pub fn remove(&mut self, receiver: K) {
        if let Some((_, had)) = self.standings.remove(receiver) {
            self.due.remove(&(self.due_at(receiver, had), receiver));
        }
    }

    /// Someone is sent nothing until further notice; what it has is remembered.
    pub fn pause(&mut self, receiver: K) {
        if let Some((_, had)) = self.standings.get(receiver) {
            self.due.remove(&(self.due_at(receiver, *had), receiver));
        }
    }

    /// Someone is served again.
    pub fn resume(&mut self, receiver: K) {
        if let Some((_, had)) = self.standings.get(receiver) {
            self.due.insert((self.due_at(receiver, *had), receiver));
        }
    }

    /// Everyone is given `view`, whose log-det this is, whatever they have; tells `send` who they are and the last of
    /// their uploads that it holds. Those who are paused are given it when they are served again: until then they
    /// count as having `nothing`.
    pub fn renew(
        &mut self,
        view: &Arc<View>,
        log_det: f64,
        nothing: &Arc<View>,
        ridge: f64,
        mut send: impl FnMut(K, u64),
    ) {
        let all: Vec<(K, u64, bool)> = self
            .standings
            .iter()
            .map(|(receiver, (standing, had))| {
                (receiver, standing.merged, self.due.contains(&(self.due_at(receiver, *had), receiver)))
            })
            .collect();
        for (receiver, merged, served) in all {
            if served {
                self.place(receiver, Standing::with(view.clone(), merged), log_det);
                send(receiver, merged);
            } else {
                self.place(
                    receiver,
                    Standing::with(nothing.clone(), merged),
                    nothing.factor(ridge).log_det(),
                );
                self.pause(receiver);
            }
        }
    }

    /// What is merged has less than this log-det from now on, as can be where not everyone is believed: nobody counts
    /// as having more, so that all are served again when it has grown from there.
    pub fn lower(&mut self, most: f64) {
        let above = |(receiver, (_, had)): (K, &(Standing, f64))| (*had > most).then_some((receiver, *had));
        let all: Vec<(K, f64)> = self.standings.iter().filter_map(above).collect();
        for (receiver, had) in all {
            let Some((standing, _)) = self.standings.get(receiver).cloned() else { continue };
            let served = self.due.contains(&(self.due_at(receiver, had), receiver));
            self.place(receiver, standing, most);
            if !served {
                self.pause(receiver);
            }
        }
    }

    /// Gives `view`, whose log-det this is, to all that lag too far behind it (or just as far, if `inclusive`),
    /// and tells `send` who they are and the last of their uploads that it holds.
    pub fn serve(&mut self, view: &Arc<View>, log_det: f64, inclusive: bool, mut send: impl FnMut(K, u64)) {
        let now = FloatKey(log_det);
        let is_due = |due: &FloatKey| *due < now || inclusive && *due == now;
        let lagging: Vec<K> =
            self.due.iter().take_while(|(due, _)| is_due(due)).map(|(_, key)| *key).collect();
        for receiver in lagging {
            let Some(standing) = self.get(receiver).filter(|standing| !standing.is_at(view)) else {
                continue;
            };
            let merged = standing.merged;
            self.place(receiver, Standing::with(view.clone(), merged), log_det);
            send(receiver, merged);
        }
    }

    /// Other ratios from now on: what everyone has stays, when they are served changes.
    pub fn change(&mut self, ratios: Ratios) {
        // Those who are paused stay so.
        let served: BTreeSet<K> = self.due.iter().map(|(_, receiver)| *receiver).collect();
        self.ratios = ratios;
        let due = |(receiver, (_, had)): (K, &(Standing, f64))| (self.due_at(receiver, *had), receiver);
        self.due = self.standings.iter().filter(|(receiver, _)| served.contains(receiver)).map(due).collect();
    }

    /// Whom a receiver's standing belongs to from now on.
    pub fn rename(&mut self, receiver: K, to: K) {
        if let Some((standing, had)) = self.standings.get(receiver).cloned() {
            self.remove(receiver);
            self.place(to, standing, had);
        }
    }

    fn due_at(&self, receiver: K, had: f64) -> FloatKey {
        FloatKey(had + self.ratios.ln(receiver.client()))
    }
}

#[cfg(test)]
mod tests {
    use cahoots_core::LinearStats;

    use super::*;

    /// A view whose log-det with ridge 1 is ln(1 + weight).
    fn view(version: u64, weight: f64) -> (Arc<View>, f64) {
        let mut stats = LinearStats::empty(2);
        stats.observe(&[weight.sqrt(), 0.0], 1.0);
        let view = View::new(version, stats);
        let log_det = view.factor(1.0).log_det();
        (view, log_det)
    }

    fn served(index: &mut DownloadIndex<NodeId>, version: u64, weight: f64, inclusive: bool) -> Vec<u32> {
        let (view, log_det) = view(version, weight);
        let mut served = Vec::new();
        index.serve(&view, log_det, inclusive, |client, _| served.push(client.0));
        served
    }

    fn index(ratios: &[f64]) -> DownloadIndex<NodeId> {
        let mut index =
            DownloadIndex::new(Ratios::Each(ratios.iter().map(|ratio| libm::log(*ratio)).collect()));
        for client in 0..ratios.len() as u32 {
            let (nothing, log_det) = view(0, 0.0);
            index.place(NodeId(client), Standing::with(nothing, 0), log_det);
        }
        index
    }

    #[test]
    fn those_are_served_whose_determinant_has_grown_by_their_own_ratio() {
        let mut index = index(&[4.0, 2.0, 9.0]);
        assert_eq!(served(&mut index, 1, 0.5, false), [] as [u32; 0]);
        assert_eq!(served(&mut index, 2, 2.0, false), [1], "from 1 to 3 is more than 2");
        assert_eq!(
            served(&mut index, 3, 4.0, false),
            [0],
            "from 1 to 5 is more than 4; from 3 to 5 no more than 2"
        );
        assert_eq!(served(&mut index, 4, 20.0, false), [1, 2, 0], "in the order of their lag");
        index.remove(NodeId(2));
        assert_eq!(served(&mut index, 5, 1e6, false), [1, 0]);
    }

    #[test]
    fn who_has_it_all_is_not_served_again() {
        let mut index = index(&[1.0]);
        assert_eq!(served(&mut index, 1, 1.0, true), [0]);
        assert_eq!(served(&mut index, 1, 1.0, true), [] as [u32; 0]);
    }

    #[test]
    fn who_is_paused_is_not_served_whatever_changes_and_then_has_all_that_it_missed() {
        let mut index = index(&[2.0, 2.0]);
        index.pause(NodeId(0));
        assert_eq!(served(&mut index, 1, 5.0, false), [1]);
        index.change(Ratios::Same(libm::log(1.5)));
        assert_eq!(served(&mut index, 2, 20.0, false), [1]);
        index.resume(NodeId(0));
        assert_eq!(served(&mut index, 3, 21.0, false), [0]);
    }

    #[test]
    fn other_ratios_change_when_everyone_is_served_and_nothing_else() {
        let mut changed = index(&[4.0, 2.0, 9.0]);
        served(&mut changed, 1, 2.0, false);
        let before: Vec<u64> =
            changed.receivers().map(|client| changed.get(client).unwrap().view.version()).collect();
        changed.change(Ratios::Same(libm::log(100.0)));
        let after: Vec<u64> =
            changed.receivers().map(|client| changed.get(client).unwrap().view.version()).collect();
        assert_eq!(before, after);
        assert_eq!(
            served(&mut changed, 2, 150.0, false),
            [0, 2],
            "1 has more: from 3 to 151 is no more than 100"
        );
        changed.change(Ratios::Same(0.0));
        assert_eq!(served(&mut changed, 3, 151.0, false), [1, 0, 2]);
    }
}
