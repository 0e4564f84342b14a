//! What may happen in a federation, at random.

use std::collections::{BTreeMap, BTreeSet};

use cahoots_algorithms::kit::linear::{LinearMsg, Signal};
use cahoots_core::{Cx, Keys, LinearStats, NodeId, Private, Ruling, Unprotected};
use proptest::prelude::*;

use crate::served::{DIM, Entry};

/// Clients that there may be, next to each other and far apart.
pub(crate) const CLIENTS: [u32; 10] = [0, 1, 2, 3, 7, 8, 63, 64, 128, 198];

/// What a client does, or what is done to it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Act {
    Upload(u64),
    Forget,
    Leave,
    Quarantine,
    Restore,
    Request,
}

/// Places in [`CLIENTS`], and what happens there.
pub(crate) fn acts() -> impl Strategy<Value = Vec<(usize, Act)>> {
    let act = prop_oneof![
        12 => any::<u64>().prop_map(Act::Upload),
        2 => Just(Act::Forget),
        1 => Just(Act::Leave),
        1 => Just(Act::Quarantine),
        1 => Just(Act::Restore),
        3 => Just(Act::Request),
    ];
    prop::collection::vec((0..CLIENTS.len(), act), 1..50)
}

/// The only client, one that never came, one that comes again under its number, several, and all.
pub(crate) fn named() -> Vec<(usize, Act)> {
    use Act::{Forget, Leave, Request, Upload};
    let mut acts = vec![(4, Upload(1)), (4, Forget), (4, Upload(2)), (0, Upload(3)), (9, Forget)];
    acts.extend([(4, Upload(4)), (5, Upload(5)), (0, Request), (0, Upload(6)), (4, Upload(7)), (4, Forget)]);
    acts.extend([(5, Upload(8)), (5, Request), (5, Upload(9)), (0, Upload(10)), (4, Upload(11))]);
    acts.extend([(5, Leave), (5, Upload(12)), (1, Upload(13)), (5, Forget), (0, Upload(14)), (4, Forget)]);
    acts.extend([(1, Upload(15)), (0, Forget), (1, Forget), (2, Upload(16)), (0, Upload(17))]);
    acts
}

/// An upload that no other is equal to: any numbers, so that every sum is rounded.
fn upload(number: u64, seed: u64) -> LinearMsg {
    let mut stats = LinearStats::empty(DIM);
    let mut draw = Keys::from_seed(seed).policy(NodeId(0), 0);
    for _ in 0..1 + seed % 3 {
        let x: Vec<f64> = (0..DIM).map(|_| draw.normal()).collect();
        stats.observe(&x, draw.normal());
    }
    let stats: Private<LinearStats> =
        Cx::<()>::rehearse(NodeId(0), 1, |cx| cx.release(&mut Unprotected, stats)).0;
    LinearMsg::Upload { number, stats }
}

/// A federation as its coordinator sees it.
#[derive(Default)]
pub(crate) struct Script {
    pub(crate) log: Vec<Entry>,
    /// Who is there, and how many uploads each has made.
    uploads: BTreeMap<u32, u64>,
    paused: BTreeSet<u32>,
    /// Who has yet to answer, and who has, while a round is open.
    round: Option<(BTreeSet<u32>, BTreeSet<u32>)>,
}

impl Script {
    /// Where clients upload when they like.
    pub(crate) fn of(acts: &[(usize, Act)]) -> Vec<Entry> {
        let mut script = Script::default();
        acts.iter().for_each(|(place, act)| script.act(CLIENTS[*place], *act));
        script.log
    }

    /// Where they say after an upload that they ask to be found their like; each entry is followed by a tick.
    pub(crate) fn entering(acts: &[(usize, Act)]) -> Vec<Entry> {
        let mut script = Script::default();
        for (place, act) in acts {
            let client = CLIENTS[*place];
            let number = script.uploads.get(&client).copied().unwrap_or(0);
            match act {
                Act::Request if number > 0 && !script.paused.contains(&client) => {
                    script.log.push(Entry::Say(client, LinearMsg::signal(Signal::Request, number)));
                }
                _ => script.act(client, *act),
            }
            script.log.push(Entry::Wake);
        }
        script.log
    }

    /// In rounds: the log, and after how many of its entries no round is open. Everyone answers once, and whoever came
    /// later uploads beside it.
    pub(crate) fn rounds(acts: &[(usize, Act)]) -> (Vec<Entry>, BTreeSet<usize>) {
        let (mut script, mut quiet) = (Script::default(), BTreeSet::new());
        for (place, act) in acts {
            let client = CLIENTS[*place];
            match act {
                Act::Quarantine | Act::Restore => continue,
                Act::Request if script.round.is_none() && script.uploads.contains_key(&client) => {
                    script.log.push(Entry::Say(client, LinearMsg::signal(Signal::Request, 0)));
                    script.round = Some((script.uploads.keys().copied().collect(), BTreeSet::new()));
                }
                _ => script.act(client, *act),
            }
            script.close();
            if script.round.is_none() {
                quiet.insert(script.log.len());
            }
        }
        let waiting = script.round.iter().flat_map(|(waiting, _)| waiting.clone()).collect::<Vec<u32>>();
        waiting.into_iter().for_each(|client| script.act(client, Act::Upload(client.into())));
        quiet.insert(script.log.len());
        (script.log, quiet)
    }

    fn close(&mut self) {
        self.round.take_if(|(waiting, _)| waiting.is_empty());
    }

    fn act(&mut self, client: u32, act: Act) {
        match act {
            Act::Upload(seed) => {
                self.join(client);
                let answers = self.round.as_mut().map(|(waiting, answered)| {
                    if waiting.remove(&client) {
                        answered.insert(client)
                    } else {
                        !answered.contains(&client)
                    }
                });
                if !self.paused.contains(&client) && answers.unwrap_or(true) {
                    let number = self.uploads.entry(client).or_default();
                    *number += 1;
                    self.log.push(Entry::Say(client, upload(*number, seed)));
                }
            }
            Act::Forget => {
                self.leave(client);
                if let Some((_, answered)) = &mut self.round {
                    answered.remove(&client);
                }
                self.log.push(Entry::Rule(Ruling::Forgotten(NodeId(client))));
            }
            Act::Leave => self.leave(client),
            Act::Quarantine if self.uploads.contains_key(&client) && self.paused.insert(client) => {
                self.log.push(Entry::Rule(Ruling::Quarantined(NodeId(client))));
            }
            Act::Restore if self.paused.remove(&client) => {
                self.log.push(Entry::Rule(Ruling::Restored(NodeId(client))));
            }
            Act::Quarantine | Act::Restore | Act::Request => {}
        }
    }

    fn join(&mut self, client: u32) {
        if let std::collections::btree_map::Entry::Vacant(new) = self.uploads.entry(client) {
            new.insert(0);
            self.log.push(Entry::Join(client));
        }
    }

    fn leave(&mut self, client: u32) {
        if self.uploads.remove(&client).is_some() {
            self.paused.remove(&client);
            if let Some((waiting, _)) = &mut self.round {
                waiting.remove(&client);
            }
            self.log.push(Entry::Leave(client));
        }
    }
}
