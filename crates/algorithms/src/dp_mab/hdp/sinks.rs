//! Algorithm 4: the sink of a component is the client that is nearest to its farthest one.

use cahoots_core::{NodeId, Topology};

/// A component, its sink, and the way to it.
#[derive(Clone, Debug, PartialEq)]
pub struct Component {
    /// Its clients, in node order.
    pub members: Vec<NodeId>,
    /// SA_q: the smallest number among the best.
    pub sink: NodeId,
    /// t_delay^q: hops from the sink to the farthest member.
    pub slots: u32,
    /// The sum of all members' hops to the sink: Theorem 4's one-way links of a round.
    pub one_way_links: u64,
    /// Edges within the component.
    pub edges: u64,
    /// Each member but the sink with the next client on its way, nearer ones first.
    pub tree: Vec<(NodeId, NodeId)>,
}

/// Finds the sink of every component.
pub fn components(topology: &Topology) -> Vec<Component> {
    topology.components().into_iter().map(|members| component(topology, members)).collect()
}

fn component(topology: &Topology, members: Vec<NodeId>) -> Component {
    let sink = members
        .iter()
        .copied()
        .min_by_key(|node| (topology.eccentricity(*node), *node))
        .expect("a component has members");
    let (distances, next) = (topology.distances(sink), topology.tree(sink));
    let hops = |node: &NodeId| distances[node.index()].unwrap_or(0);
    let mut below: Vec<NodeId> = members.iter().copied().filter(|node| *node != sink).collect();
    below.sort_by_key(|node| (hops(node), *node));
    Component {
        sink,
        slots: topology.eccentricity(sink),
        one_way_links: members.iter().map(|node| u64::from(hops(node))).sum(),
        edges: members.iter().map(|node| topology.neighbours(*node).len() as u64).sum::<u64>() / 2,
        tree: below.iter().map(|node| (*node, next[node.index()].expect("a way to the sink"))).collect(),
        members,
    }
}
