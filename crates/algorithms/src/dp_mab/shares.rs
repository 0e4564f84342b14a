//! Whose shares of the noise have come, and what is kept of a promise that takes all of them.
//!
//! Under `privacy = "central"` client i adds a share h_i(e) to its sum of rewards of epoch e; N shares are one draw of
//! Laplace noise. The observer sees, round by round, the sum over those who report of all their epochs so far, noise
//! included. Let x be a reward of client j that the observer first sees in round v, j's first (a reward that is seen
//! later is protected by more).
//!
//! - Let C be those who, like j, report in all rounds from v until j's last, and in none after. Given everything but
//!   their shares of epoch v, the observer has that x plus a sum of |C| shares, in each of these rounds the same one, and
//!   nothing else about x: the loss is at most that of x in |C| of N shares.
//! - If j stops reporting while others go on, let D be those who report from v on, go on after j, and stop together.
//!   Given everything but their shares a of epoch v and b of the first round without j, the observer has x + a and then
//!   a + b. Moving x by 1 is undone by moving a by -1 and b by 1: at most twice the loss of x in |D| of N shares. (Both
//!   are sums on one grid: the same step, whatever the number of pulls.)
//!
//! The smaller of the two holds for j; the largest over all clients is stated. Clients that weigh differently in the
//! sum have noise on different grids, and count for themselves.
//!
//! Where some are asked anew in each round, sums are over changing sets. Shares of all who are asked are a geometric
//! number minus another, handed out like balls of an urn: moving one of the two up by some steps moves what any of its
//! owners hold by no more, in the same direction. So what round r must undo is at most x and all that earlier rounds
//! have undone: 1, 2, 4, ... times, (2^R - 1) times the loss of one round in all. If a share is missing there, nothing
//! is promised.

use std::collections::BTreeMap;

use cahoots_core::{Composition, Cx, Fact, NodeId, Noise, ReleaseFact};
use serde::{Deserialize, Serialize};

use super::noise::{MeanNoise, Protection, SUM, UNIT};

/// The record of a federation's shares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Shares {
    noise: MeanNoise,
    /// Who reports through someone else, and what each one's sum weighs; everyone else reports for itself, and weighs 1.
    behind: BTreeMap<NodeId, Vec<(NodeId, f64)>>,
    rounds: u64,
    /// In some round there were fewer than N.
    short: bool,
    runs: Vec<Run>,
}

/// Rounds without a gap in which one machine has reported.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct Run {
    node: NodeId,
    weight: f64,
    first: u64,
    last: u64,
    /// Another machine has its number now.
    over: bool,
}

impl Shares {
    /// None where no noise is shared.
    pub(super) fn of(noise: &MeanNoise) -> Option<Shares> {
        let shared = noise.protection == Protection::Central;
        let (behind, runs) = (BTreeMap::new(), Vec::new());
        shared.then_some(Shares { noise: *noise, behind, rounds: 0, short: false, runs })
    }

    /// With these clients behind those who report.
    pub(super) fn behind(self, behind: BTreeMap<NodeId, Vec<(NodeId, f64)>>) -> Shares {
        Shares { behind, ..self }
    }

    /// A new machine has this number: what it reports has noise of its own.
    pub(super) fn renewed(&mut self, node: NodeId) {
        self.runs.iter_mut().filter(|run| run.node == node).for_each(|run| run.over = true);
    }

    /// A round is closed with what these have reported. What it costs is put on record where it is more than the
    /// clients themselves have stated.
    pub(super) fn arrived<M>(&mut self, reported: impl Iterator<Item = NodeId>, cx: &mut Cx<'_, M>) {
        self.rounds += 1;
        let mut present = 0;
        for node in reported {
            let own = vec![(node, 1.0)];
            for (node, weight) in self.behind.get(&node).cloned().unwrap_or(own) {
                present += 1;
                self.continued(node, weight);
            }
        }
        self.short |= present < self.noise.participants;
        let (loss, promised) = (self.loss(), self.noise.loss_with(self.noise.participants));
        if loss > promised * (1.0 + 1e-9) {
            let missing = self.noise.participants.saturating_sub(present);
            cx.report(Fact::Release(ReleaseFact {
                mechanism: format!("a sum that lacks {missing} shares of its noise, or has had others")
                    .into(),
                scale: 1.0 / loss,
                sensitivity: 1.0,
                unit: UNIT.into(),
                observer: SUM.into(),
                noise: Noise::Laplace,
                // The loss of all rounds so far, which never falls: the last one counts.
                composition: Composition::Disjoint,
            }));
        }
    }

    fn continued(&mut self, node: NodeId, weight: f64) {
        let round = self.rounds;
        let goes_on = |run: &&mut Run| run.node == node && !run.over && run.last + 1 == round;
        match self.runs.iter_mut().find(goes_on) {
            Some(run) => run.last = round,
            None => self.runs.push(Run { node, weight, first: round, last: round, over: false }),
        }
    }

    /// What one reward has lost at most, in all rounds so far.
    fn loss(&self) -> f64 {
        if !self.noise.everyone {
            let rounds = libm::ldexp(1.0, self.rounds as i32) - 1.0;
            return if self.short {
                f64::INFINITY
            } else {
                rounds * self.noise.loss_with(self.noise.participants)
            };
        }
        self.runs.iter().map(|run| self.loss_of(run)).fold(0.0, f64::max)
    }

    fn loss_of(&self, run: &Run) -> f64 {
        let mut until: BTreeMap<u64, u32> = BTreeMap::new();
        for other in &self.runs {
            if other.weight == run.weight && other.first <= run.first && other.last >= run.last {
                *until.entry(other.last).or_default() += 1;
            }
        }
        let alike = self.noise.loss_with(until.remove(&run.last).unwrap_or(1));
        let beyond =
            until.into_values().max().map_or(f64::INFINITY, |others| 2.0 * self.noise.loss_with(others));
        alike.min(beyond)
    }
}

#[cfg(test)]
mod tests {
    use super::super::noise::Audience;
    use super::*;
    use cahoots_privacy::Accountant;

    fn shares(participants: u32, everyone: bool) -> Shares {
        let (protection, audience) = (Protection::Central, Audience::Server);
        Shares::of(&MeanNoise { protection, epsilon: 1.0, participants, everyone, audience }).unwrap()
    }

    /// What an accountant makes of rounds in which these report; 0 where nothing was added.
    fn stated(shares: &mut Shares, rounds: &[&[u32]]) -> f64 {
        let mut accountant = Accountant::default();
        for round in rounds {
            let report = |cx: &mut Cx<'_, ()>| shares.arrived(round.iter().copied().map(NodeId), cx);
            let ((), effects) = Cx::rehearse(NodeId::SERVER, 1, report);
            for fact in &effects.facts {
                let Fact::Release(fact) = fact else { panic!("{fact:?}") };
                accountant.record(NodeId::SERVER, fact);
            }
        }
        accountant.spent(0.0).first().map_or(0.0, |spent| spent.epsilon)
    }

    const TEN: [u32; 10] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];

    #[test]
    fn shares_that_never_come_cost_what_is_known() {
        assert_eq!(stated(&mut shares(10, true), &[&TEN, &TEN]), 0.0, "as the clients have stated");
        for (present, expected) in [(9, 1.19), (8, 1.44)] {
            let found = stated(&mut shares(10, true), &[&TEN[..present], &TEN[..present]]);
            assert!((found - expected).abs() < 0.005, "{present}: {found}");
        }
        assert!(stated(&mut shares(10, true), &[&TEN[..5]]) > 3.3);
    }

    /// What it had reported can be told from what the others report without it.
    #[test]
    fn who_leaves_between_rounds_has_less_noise_to_hide_in_than_who_stays() {
        let found = stated(&mut shares(10, true), &[&TEN, &TEN[..9]]);
        assert!((found - 2.0 * 1.187).abs() < 0.01, "{found}");
        let alone = stated(&mut shares(2, true), &[&[0, 1], &[0]]);
        // Half the noise each: 3.5 for who stays; who leaves has the half that was its own.
        assert!(alone > 3.3 && alone < 4.0, "{alone}");
    }

    #[test]
    fn a_new_machine_hides_among_those_who_go_on_with_it() {
        let mut book = shares(10, true);
        stated(&mut book, &[&TEN]);
        book.renewed(NodeId(9));
        let found = stated(&mut book, &[&TEN]);
        assert!((found - 2.0 * 1.187).abs() < 0.01, "the old machine has left: {found}");
    }

    #[test]
    fn sums_over_changing_sets_are_stated_by_what_can_be_proven() {
        let found = stated(&mut shares(2, false), &[&[0, 1], &[1, 2], &[0, 2]]);
        assert!((found - 7.0).abs() < 1e-4, "{found}");
        assert_eq!(stated(&mut shares(2, false), &[&[0]]), f64::INFINITY);
    }

    #[test]
    fn components_that_weigh_differently_do_not_share_noise() {
        let behind = BTreeMap::from([
            (NodeId(0), vec![(NodeId(0), 0.5), (NodeId(1), 0.5)]),
            (NodeId(2), (2..10).map(|node| (NodeId(node), 0.125)).collect()),
        ]);
        let unequal = stated(&mut shares(10, true).behind(behind.clone()), &[&[0, 2]]);
        assert!(unequal > 7.0, "two of ten shares: {unequal}");
        let equal = behind
            .into_iter()
            .map(|(sink, clients)| (sink, clients.into_iter().map(|(client, _)| (client, 1.0)).collect()));
        assert_eq!(stated(&mut shares(10, true).behind(equal.collect()), &[&[0, 2]]), 0.0);
    }
}
