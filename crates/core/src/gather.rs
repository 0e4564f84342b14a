//! A synchronous round: whom a server expects, what it has, when it gives up.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, Tick};

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
    deadline: Option<Tick>,
}

impl<T> Gather<T> {
    /// Waits for all of these, for ever if there is no deadline (as the papers do).
    pub fn open(expected: impl IntoIterator<Item = NodeId>, deadline: Option<Tick>) -> Self {
        Gather { waiting: expected.into_iter().collect(), got: BTreeMap::new(), deadline }
    }

    /// Is anything still expected of this node?
    pub fn expects(&self, from: NodeId) -> bool {
        self.waiting.contains(&from)
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

    /// Someone has left and will not answer.
    pub fn excuse(&mut self, node: NodeId) {
        self.waiting.remove(&node);
    }

    /// All have answered, or the deadline has come.
    pub fn is_complete(&self, now: Tick) -> bool {
        self.waiting.is_empty() || self.deadline.is_some_and(|deadline| now >= deadline)
    }

    /// When to look again.
    pub fn deadline(&self) -> Option<Tick> {
        self.deadline
    }

    /// Those who have not answered.
    pub fn waiting(&self) -> impl Iterator<Item = NodeId> {
        self.waiting.iter().copied()
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
}
