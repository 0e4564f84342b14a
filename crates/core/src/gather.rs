//! A synchronous round: whom a server expects, what it has, when it gives up.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, Tick};

/// How long a round waits for those who do not answer, and for how many of them it always does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Patience {
    /// Ticks after which it may go on without the others; it waits for all when absent, as the papers do.
    pub deadline: Option<u64>,
    /// The share of those expected that must have answered before the deadline counts.
    pub quorum: f64,
}

/// An open round. What came is handed out in node order, never in order of arrival.
///
/// ```
/// use cahoots_core::{Gather, NodeId};
///
/// let mut round = Gather::open([NodeId(0), NodeId(1)], None);
/// round.offer(NodeId(1), 0.25).unwrap();
/// assert_eq!(round.offer(NodeId(1), 9.0), Err(9.0), "heard before");
/// assert!(!round.is_complete(100));
/// round.offer(NodeId(0), 0.5).unwrap();
/// assert!(round.is_complete(100));
/// assert_eq!(round.into_parts().into_values().collect::<Vec<_>>(), [0.5, 0.25]);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Gather<T> {
    waiting: BTreeSet<NodeId>,
    got: BTreeMap<NodeId, T>,
    patience: Patience,
    deadline: Option<Tick>,
}

impl<T> Gather<T> {
    /// Waits for all of these, for ever if there is no deadline (as the papers do).
    pub fn open(expected: impl IntoIterator<Item = NodeId>, deadline: Option<Tick>) -> Self {
        Gather { deadline, ..Gather::patient(expected, Patience::default()) }
    }

    /// Waits for all of these, with this patience from [`Self::start`] on.
    pub fn patient(expected: impl IntoIterator<Item = NodeId>, patience: Patience) -> Self {
        let waiting = expected.into_iter().collect();
        Gather { waiting, got: BTreeMap::new(), patience, deadline: None }
    }

    /// Its time runs from now on, unless it does already. Gives the tick at which to look again, if the time
    /// is limited and began now.
    pub fn start(&mut self, now: Tick) -> Option<Tick> {
        if self.deadline.is_some() {
            return None;
        }
        self.deadline = self.patience.deadline.map(|ticks| now + ticks);
        self.deadline
    }

    /// Is anything still expected of this node?
    pub fn expects(&self, from: NodeId) -> bool {
        self.waiting.contains(&from)
    }

    /// Waits for one more; what it may have answered before is forgotten.
    pub fn expect(&mut self, node: NodeId) {
        self.got.remove(&node);
        self.waiting.insert(node);
    }

    /// Takes what a node sent; gives it back if nothing was expected of it.
    pub fn offer(&mut self, from: NodeId, item: T) -> Result<(), T> {
        if self.waiting.remove(&from) {
            self.got.insert(from, item);
            Ok(())
        } else {
            Err(item)
        }
    }

    /// Someone has left and will not answer; an answer that has come stays.
    pub fn excuse(&mut self, node: NodeId) {
        self.waiting.remove(&node);
    }

    /// Nothing is expected of this node, and what it may have answered is forgotten.
    pub fn forget(&mut self, node: NodeId) {
        self.waiting.remove(&node);
        self.got.remove(&node);
    }

    /// All have answered, or the deadline has come and enough have.
    pub fn is_complete(&self, now: Tick) -> bool {
        self.waiting.is_empty()
            || self.deadline.is_some_and(|deadline| now >= deadline) && self.got.len() >= self.enough()
    }

    /// The quorum, rounded up, where a product like 0.07 * 100 may come out a rounding above 7.
    fn enough(&self) -> usize {
        let expected = (self.waiting.len() + self.got.len()) as f64;
        (self.patience.quorum * expected - 1e-9).ceil().max(0.0) as usize
    }

    /// When to look again.
    pub fn deadline(&self) -> Option<Tick> {
        self.deadline
    }

    /// Those who have not answered.
    pub fn waiting(&self) -> impl Iterator<Item = NodeId> {
        self.waiting.iter().copied()
    }

    /// Those who have answered.
    pub fn answered(&self) -> impl Iterator<Item = NodeId> {
        self.got.keys().copied()
    }

    /// What came, in node order.
    pub fn into_parts(self) -> BTreeMap<NodeId, T> {
        self.got
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hands_out_in_node_order_whatever_the_order_of_arrival() {
        let mut gather = Gather::open([NodeId(1), NodeId(2), NodeId(3)], None);
        for (node, item) in [(3, 'c'), (1, 'a'), (2, 'b')] {
            assert!(!gather.is_complete(99));
            gather.offer(NodeId(node), item).unwrap();
        }
        assert_eq!(gather.offer(NodeId(2), 'x'), Err('x'));
        assert!(gather.is_complete(0));
        assert_eq!(gather.into_parts().into_values().collect::<String>(), "abc");
    }

    #[test]
    fn gives_up_on_stragglers_at_the_deadline() {
        let mut gather = Gather::open([NodeId(1), NodeId(2)], Some(10));
        gather.offer(NodeId(2), ()).unwrap();
        assert!(!gather.is_complete(9));
        assert!(gather.is_complete(10));
        assert_eq!(gather.waiting().collect::<Vec<_>>(), [NodeId(1)]);
    }

    fn ten(quorum: f64) -> Gather<()> {
        let patience = Patience { deadline: Some(5), quorum };
        Gather::patient((0..10).map(NodeId), patience)
    }

    #[test]
    fn the_deadline_counts_only_once_a_quorum_has_answered() {
        for (quorum, enough) in [(0.0, 0), (0.05, 1), (0.7, 7), (0.71, 8), (1.0, 10)] {
            let mut gather = ten(quorum);
            assert_eq!(gather.start(20), Some(25));
            for answered in 0..=10 {
                assert_eq!(
                    gather.is_complete(24),
                    answered == 10,
                    "{quorum}: before the deadline, {answered}"
                );
                assert_eq!(
                    gather.is_complete(25),
                    answered >= enough,
                    "{quorum}: at the deadline, {answered}"
                );
                let _ = gather.offer(NodeId(answered), ());
            }
        }
    }

    #[test]
    fn who_has_left_is_not_part_of_the_whole_that_a_quorum_is_a_share_of() {
        let mut gather = ten(0.5);
        gather.start(0);
        (0..4).for_each(|node| gather.offer(NodeId(node), ()).unwrap());
        assert!(!gather.is_complete(9), "4 of 10");
        gather.excuse(NodeId(9));
        assert!(!gather.is_complete(9), "4 of 9");
        gather.excuse(NodeId(8));
        assert!(gather.is_complete(9), "4 of 8");
        gather.expect(NodeId(8));
        assert!(!gather.is_complete(9), "4 of 9 again");
        gather.forget(NodeId(8));
        gather.expect(NodeId(0));
        assert!(gather.expects(NodeId(0)) && !gather.is_complete(9), "3 of 8: it is asked once more");
    }

    #[test]
    fn time_runs_once_and_not_at_all_without_a_deadline() {
        let mut gather = ten(0.5);
        assert!(!gather.is_complete(1000), "its time does not run yet");
        assert_eq!((gather.start(3), gather.start(4), gather.deadline()), (Some(8), None, Some(8)));
        let mut endless = Gather::<()>::patient([NodeId(0)], Patience::default());
        assert_eq!((endless.start(3), endless.is_complete(Tick::MAX)), (None, false));
    }
}
