//! Sums by client along a binary tree over their numbers: one of them changes, or goes, with a sum per level, and what
//! is left has the bits that it would have had without.

use std::collections::BTreeMap;

use cahoots_core::{LinearStats, NodeId};
use serde::ser::SerializeMap as _;
use serde::{Deserialize, Serialize, Serializer};

/// A sum for each client, their sum, and sums in between. Which clients are added up with which follows from who is
/// there alone, not from who came when or was once there: a branch that nobody is in is left out, and the sum of the
/// other one is passed on as it is. Nothing is ever subtracted.
///
/// It is saved as a map of the clients' sums; all others follow from these.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "BTreeMap<NodeId, LinearStats>")]
pub(super) struct SumTree {
    root: Option<Branch>,
}

/// The sums on the way from a client to the root, its own first, as they are once an upload is added.
#[derive(Debug)]
pub(super) struct Path {
    client: NodeId,
    sums: Vec<LinearStats>,
}

/// One client or several.
#[derive(Clone, Debug)]
enum Branch {
    Client(NodeId, LinearStats),
    Fork(Box<Fork>),
}

/// Clients whose numbers first differ at a certain bit: those that have a 0 there, and those that have a 1.
#[derive(Clone, Debug)]
struct Fork {
    bit: u32,
    /// What their numbers begin with, followed by zeros.
    first: u32,
    sum: LinearStats,
    sides: [Branch; 2],
}

impl SumTree {
    /// The sum of all, if there are any.
    pub(super) fn sum(&self) -> Option<&LinearStats> {
        self.root.as_ref().map(Branch::sum)
    }

    /// What is there under each client's number, in the order of these.
    pub(super) fn clients(&self) -> impl Iterator<Item = (NodeId, &LinearStats)> {
        let mut ahead: Vec<&Branch> = self.root.iter().collect();
        std::iter::from_fn(move || {
            loop {
                match ahead.pop()? {
                    Branch::Client(client, sum) => return Some((*client, sum)),
                    Branch::Fork(fork) => ahead.extend(fork.sides.iter().rev()),
                }
            }
        })
    }

    /// What an upload would change; [`Self::take`] changes it.
    pub(super) fn with(&self, client: NodeId, upload: &LinearStats) -> Path {
        let mut sums = Vec::new();
        match &self.root {
            Some(root) => root.with(client, upload, &mut sums),
            None => sums.push(alone(upload)),
        }
        Path { client, sums }
    }

    /// Nothing may have changed since the path was made.
    pub(super) fn take(&mut self, path: Path) {
        let Path { client, mut sums } = path;
        match &mut self.root {
            Some(root) => root.take(client, &mut sums),
            None => self.root = sums.pop().map(|sum| Branch::Client(client, sum)),
        }
        debug_assert!(sums.is_empty(), "a path of another tree");
    }

    /// All that came under a client's number goes.
    pub(super) fn remove(&mut self, client: NodeId) {
        self.root = self.root.take().and_then(|root| root.without(client));
    }
}

impl Path {
    /// The sum of all, with the upload.
    pub(super) fn sum(&self) -> &LinearStats {
        self.sums.last().expect("a client's own sum is on its path")
    }
}

impl Branch {
    fn sum(&self) -> &LinearStats {
        match self {
            Branch::Client(_, sum) => sum,
            Branch::Fork(fork) => &fork.sum,
        }
    }

    /// The lowest number that belongs in here.
    fn first(&self) -> u32 {
        match self {
            Branch::Client(client, _) => client.0,
            Branch::Fork(fork) => fork.first,
        }
    }

    /// Whether a client belongs in here, where it may not be yet.
    fn covers(&self, client: NodeId) -> bool {
        let parting = parting(self.first(), client.0);
        match self {
            Branch::Client(..) => parting.is_none(),
            Branch::Fork(fork) => parting.is_none_or(|bit| bit <= fork.bit),
        }
    }

    fn with(&self, client: NodeId, upload: &LinearStats, sums: &mut Vec<LinearStats>) {
        if !self.covers(client) {
            let own = alone(upload);
            let both = added(&own, self.sum());
            sums.extend([own, both]);
            return;
        }
        match self {
            Branch::Client(_, own) => sums.push(added(own, upload)),
            Branch::Fork(fork) => {
                let side = side(client, fork.bit);
                fork.sides[side].with(client, upload, sums);
                let changed = sums.last().expect("its own sum at least");
                sums.push(added(changed, fork.sides[1 - side].sum()));
            }
        }
    }

    fn take(&mut self, client: NodeId, sums: &mut Vec<LinearStats>) {
        let sum = sums.pop().expect("a path as long as it was when it was made");
        if !self.covers(client) {
            let own = sums.pop().expect("its own sum comes first");
            let others = std::mem::replace(self, Branch::Client(client, LinearStats::empty(0)));
            *self = Branch::fork(Branch::Client(client, own), others, sum);
            return;
        }
        match self {
            Branch::Client(_, own) => *own = sum,
            Branch::Fork(fork) => {
                fork.sum = sum;
                fork.sides[side(client, fork.bit)].take(client, sums);
            }
        }
    }

    fn without(self, client: NodeId) -> Option<Branch> {
        if !self.covers(client) {
            return Some(self);
        }
        let Branch::Fork(fork) = self else { return None };
        let [zeros, ones] = fork.sides;
        let (zeros, ones) = match side(client, fork.bit) {
            0 => (zeros.without(client), Some(ones)),
            _ => (Some(zeros), ones.without(client)),
        };
        match (zeros, ones) {
            (Some(zeros), Some(ones)) => Some(Branch::both(zeros, ones)),
            (left, right) => left.or(right),
        }
    }

    fn both(one: Branch, other: Branch) -> Branch {
        let sum = added(one.sum(), other.sum());
        Branch::fork(one, other, sum)
    }

    /// Of two that do not cover each other.
    fn fork(one: Branch, other: Branch, sum: LinearStats) -> Branch {
        let bit = parting(one.first(), other.first()).expect("numbers that differ");
        let sides = if one.first() < other.first() { [one, other] } else { [other, one] };
        let first = sides[0].first() & u32::MAX.checked_shl(bit + 1).unwrap_or(0);
        Branch::Fork(Box::new(Fork { bit, first, sum, sides }))
    }

    /// Clients in the order of their numbers, each number once.
    fn of(clients: &mut Vec<(NodeId, LinearStats)>) -> Option<Branch> {
        let [(first, _), .., (last, _)] = &clients[..] else {
            return clients.pop().map(|(client, sum)| Branch::Client(client, sum));
        };
        let bit = parting(first.0, last.0)?;
        let middle = clients.partition_point(|(client, _)| side(*client, bit) == 0);
        let mut ones = clients.split_off(middle);
        Some(Branch::both(Branch::of(clients)?, Branch::of(&mut ones)?))
    }
}

/// A client's first upload: an entry of -0 is one of 0 then, as it is in any sum.
fn alone(upload: &LinearStats) -> LinearStats {
    added(&upload.emptied(), upload)
}

fn added(one: &LinearStats, other: &LinearStats) -> LinearStats {
    let mut sum = one.clone();
    sum.merge(other);
    sum
}

/// The highest bit in which two numbers differ.
fn parting(one: u32, other: u32) -> Option<u32> {
    (one ^ other).checked_ilog2()
}

fn side(client: NodeId, bit: u32) -> usize {
    (client.0 >> bit & 1) as usize
}

impl TryFrom<BTreeMap<NodeId, LinearStats>> for SumTree {
    type Error = String;

    /// Bytes that were changed may name anyone, which costs no more than others do; but sums must be of one shape.
    fn try_from(clients: BTreeMap<NodeId, LinearStats>) -> Result<Self, String> {
        let shape = |stats: &LinearStats| (stats.dim(), stats.moment.len(), stats.contexts.len());
        let mut shapes = clients.values().map(shape);
        if let Some(first) = shapes.next() {
            let (dim, moment, contexts) = first;
            if moment != dim || ![0, dim].contains(&contexts) || shapes.any(|other| other != first) {
                return Err("contributions of clients that are not of one shape".into());
            }
        }
        Ok(SumTree { root: Branch::of(&mut clients.into_iter().collect()) })
    }
}

impl Serialize for SumTree {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.clients().count()))?;
        for (client, sum) in self.clients() {
            map.serialize_entry(&client, sum)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use cahoots_core::Keys;
    use cahoots_core::drive::snapshot::{restore, save};
    use proptest::prelude::*;

    use super::*;

    fn stats(seed: u64) -> LinearStats {
        let mut stats = LinearStats::empty(2);
        let mut draw = Keys::from_seed(seed).policy(NodeId(0), 0);
        stats.observe(&[draw.normal(), draw.normal()], draw.normal());
        stats
    }

    /// By the definition: halves of all numbers there are, added up where both have someone.
    fn defined(clients: &BTreeMap<NodeId, LinearStats>, from: u64, to: u64) -> Option<LinearStats> {
        let mut within = clients.range(NodeId(from as u32)..=NodeId((to - 1) as u32));
        let first = within.next()?.1;
        if to - from == 1 || within.next().is_none() {
            return Some(first.clone());
        }
        let middle = from.midpoint(to);
        match (defined(clients, from, middle), defined(clients, middle, to)) {
            (Some(zeros), Some(ones)) => Some(added(&zeros, &ones)),
            (zeros, ones) => zeros.or(ones),
        }
    }

    fn add(tree: &mut SumTree, client: u32, upload: &LinearStats) -> usize {
        let path = tree.with(NodeId(client), upload);
        let (sum, length) = (path.sum().clone(), path.sums.len());
        tree.take(path);
        assert_eq!(tree.sum(), Some(&sum));
        length
    }

    fn client() -> impl Strategy<Value = u32> {
        prop_oneof![0..9u32, any::<u32>(), Just(u32::MAX), Just(1 << 31)]
    }

    proptest! {
        #[test]
        fn sums_follow_from_who_is_there(steps in prop::collection::vec((client(), 0..4u8, any::<u64>()), 1..60)) {
            let (mut tree, mut clients) = (SumTree::default(), BTreeMap::<NodeId, LinearStats>::new());
            for (client, what, seed) in steps {
                if what == 0 {
                    // One who is there, if anyone is.
                    let gone = clients.keys().copied().find(|id| id.0 >= client).unwrap_or(NodeId(client));
                    clients.remove(&gone);
                    tree.remove(gone);
                } else {
                    add(&mut tree, client, &stats(seed));
                    clients.entry(NodeId(client)).or_insert_with(|| LinearStats::empty(2)).merge(&stats(seed));
                }
                prop_assert_eq!(save(&tree.sum()), save(&defined(&clients, 0, 1 << 32).as_ref()));
                prop_assert!(tree.clients().eq(clients.iter().map(|(id, own)| (*id, own))));
                // What is saved is the map, and every sum follows from it.
                let saved = save(&tree);
                prop_assert_eq!(&saved, &save(&clients));
                let again: SumTree = restore(&saved).unwrap();
                prop_assert_eq!(save(&again.sum()), save(&tree.sum()));
                prop_assert_eq!(save(&again), saved);
            }
        }
    }

    /// Nothing is changed by looking at an upload.
    #[test]
    fn a_path_is_a_sum_per_level() {
        let mut tree = SumTree::default();
        let mut longest = 0;
        for client in 0..1024 {
            longest = add(&mut tree, client, &stats(client.into())).max(longest);
        }
        assert_eq!(longest, 11);
        let before = save(&tree.sum());
        assert_eq!(tree.with(NodeId(5), &stats(9)).sums.len(), 11);
        assert_eq!(save(&tree.sum()), before);
        // However few there are, no more than there are bits.
        let mut sparse = SumTree::default();
        let longest = (0..32).map(|bit| add(&mut sparse, 1 << bit, &stats(bit))).max();
        assert_eq!((longest, add(&mut sparse, 0, &stats(77))), (Some(2), 33));
    }

    /// Bytes that were changed may name anyone, and hold anything.
    #[test]
    fn hostile_bytes_cost_no_more_than_their_length_and_do_not_panic() {
        let tree = |clients: &[(u32, LinearStats)]| {
            let map: BTreeMap<NodeId, LinearStats> =
                clients.iter().map(|(id, own)| (NodeId(*id), own.clone())).collect();
            restore::<SumTree>(&save(&map))
        };
        assert_eq!(tree(&[(u32::MAX, stats(1)), (0, stats(2))]).unwrap().clients().count(), 2);
        let other = LinearStats::empty(3);
        assert!(tree(&[(0, stats(1)), (1, other)]).is_err());
        let short = LinearStats { moment: Box::default(), ..stats(1) };
        assert!(tree(&[(0, short.clone()), (1, short)]).is_err());
        let odd = LinearStats { contexts: vec![0.0].into(), ..stats(1) };
        assert!(tree(&[(0, odd)]).is_err());
    }
}
