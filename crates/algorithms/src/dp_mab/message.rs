//! What the machines of Li and Song 2021 say to each other.

use std::sync::Arc;

use cahoots_core::message::{Kind, Message};
use cahoots_core::{ArmIndex, Arrived, Custom, Misbehaviour, NodeId, Private, custom, wire};
use cahoots_privacy::aggregation::{Down, Up};
use serde::{Deserialize, Serialize};

use crate::kit::arms::{ArmMsg, ArmValues};

/// Between server and clients what all K-armed algorithms say; between clients the GIS protocol's
/// ADV, REQ and DATA, which also carry means to a sink.
#[derive(Clone, Debug)]
pub enum MabMsg {
    /// Means up, active arms down, signals both ways.
    Arms(ArmMsg),
    /// ADV: these clients' means can be had from me.
    Advertise(Labels),
    /// REQ: send me these.
    Request(Labels),
    /// DATA: protected means of several clients.
    Data(Table),
    /// Who passes means on to whom below the receiver: (client, the next on its way to the sink), nearer
    /// ones first.
    Tree(Vec<(NodeId, NodeId)>),
    /// These clients have left: nobody waits for their means any more.
    Gone(Labels),
    /// A step of a sum over all who report, of which nobody sees more than the sum.
    Sum(Custom<Sum>),
}

/// A step of a sum over a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Sum {
    /// Client to server.
    Up(Up),
    /// Server to client.
    Down(Down),
}

impl custom::Body for Sum {
    const NAME: &'static str = "sums of rewards";

    fn kind(&self) -> Kind {
        if matches!(self, Sum::Up(Up::Masked { .. })) { Kind::Upload } else { Kind::Control }
    }

    fn scalars(&self) -> u64 {
        if let Sum::Up(Up::Masked { values, .. }) = self { values.get().len() as u64 } else { 0 }
    }
}

impl From<Up> for MabMsg {
    fn from(step: Up) -> MabMsg {
        MabMsg::Sum(Custom(Sum::Up(step)))
    }
}

impl From<Down> for MabMsg {
    fn from(step: Down) -> MabMsg {
        MabMsg::Sum(Custom(Sum::Down(step)))
    }
}

/// Clients, in rising order.
#[derive(Clone, Debug, PartialEq)]
pub struct Labels {
    /// The round.
    pub phase: u64,
    /// Their numbers.
    pub nodes: Vec<NodeId>,
}

/// One row of protected means per client.
#[derive(Clone, Debug)]
pub struct Table {
    /// The round.
    pub phase: u64,
    /// The arms, in rising order.
    pub arms: Vec<ArmIndex>,
    /// Clients in rising order, each with a mean per arm.
    pub rows: Vec<(NodeId, Row)>,
}

/// One client's protected means, shared by all who hold them.
pub type Row = Arc<Private<Vec<f64>>>;

/// Protected means without their arms.
pub(super) fn values_of(means: Private<ArmValues>) -> Private<Vec<f64>> {
    Private::process(means, vec![], (), |mut means, ()| std::mem::take(&mut means[0].values))
}

const ADVERTISE: u32 = 1;
const REQUEST: u32 = 2;
const TREE: u32 = 3;
const GONE: u32 = 4;

impl MabMsg {
    /// The refusal of a message that this machine does not take now.
    pub(super) fn unexpected(&self) -> Misbehaviour {
        Misbehaviour::Unexpected(match self {
            MabMsg::Arms(message) => return message.unexpected(),
            MabMsg::Advertise(labels) => format!("an advertisement of round {}", labels.phase),
            MabMsg::Request(labels) => format!("a request of round {}", labels.phase),
            MabMsg::Data(table) => format!("means of {} clients of round {}", table.rows.len(), table.phase),
            MabMsg::Tree(_) => "a tree".into(),
            MabMsg::Gone(labels) => format!("{} clients that have left", labels.nodes.len()),
            MabMsg::Sum(_) => "a step of a sum over a group".into(),
        })
    }

    /// Purpose, phase and numbers of those that are lists of clients.
    fn nodes(&self) -> Option<(u32, u64, Vec<u32>)> {
        let numbers = |nodes: &[NodeId]| nodes.iter().map(|node| node.0).collect();
        match self {
            MabMsg::Advertise(labels) => Some((ADVERTISE, labels.phase, numbers(&labels.nodes))),
            MabMsg::Request(labels) => Some((REQUEST, labels.phase, numbers(&labels.nodes))),
            MabMsg::Gone(labels) => Some((GONE, labels.phase, numbers(&labels.nodes))),
            MabMsg::Tree(links) => {
                Some((TREE, 0, links.iter().flat_map(|(child, next)| [child.0, next.0]).collect()))
            }
            MabMsg::Arms(_) | MabMsg::Data(_) | MabMsg::Sum(_) => None,
        }
    }
}

impl Message for MabMsg {
    fn kind(&self) -> Kind {
        match self {
            MabMsg::Arms(message) => message.kind(),
            MabMsg::Sum(message) => message.kind(),
            MabMsg::Data(_) => Kind::Peer,
            MabMsg::Advertise(_) | MabMsg::Request(_) | MabMsg::Tree(_) | MabMsg::Gone(_) => Kind::Control,
        }
    }

    fn scalars(&self) -> u64 {
        match self {
            MabMsg::Arms(message) => message.scalars(),
            MabMsg::Sum(message) => message.scalars(),
            MabMsg::Data(table) => (table.rows.len() * table.arms.len()) as u64,
            _ => 0,
        }
    }

    fn to_wire(&self) -> wire::Payload {
        use wire::payload::Shape;
        let shape = match self {
            MabMsg::Arms(message) => return message.to_wire(),
            MabMsg::Sum(message) => return message.to_wire(),
            MabMsg::Data(table) => Shape::ArmTable(wire::ArmTable {
                phase: table.phase,
                nodes: table.rows.iter().map(|(node, _)| node.0).collect(),
                arms: table.arms.iter().map(|arm| arm.0).collect(),
                values: table.rows.iter().flat_map(|(_, row)| row.get().iter().copied()).collect(),
            }),
            list => {
                let (purpose, phase, nodes) = list.nodes().unwrap_or_default();
                Shape::Nodes(wire::Nodes { purpose, phase, nodes })
            }
        };
        wire::Payload { shape: Some(shape) }
    }

    fn from_wire(payload: wire::Payload, came: Arrived) -> Result<Self, Misbehaviour> {
        use wire::payload::Shape;
        match payload.shape {
            Some(Shape::Nodes(wire)) => from_nodes(wire),
            Some(Shape::ArmTable(wire)) => from_table(wire, came).map(MabMsg::Data),
            Some(shape @ Shape::Custom(_)) => {
                Custom::from_wire(wire::Payload { shape: Some(shape) }, came).map(MabMsg::Sum)
            }
            shape => ArmMsg::from_wire(wire::Payload { shape }, came).map(MabMsg::Arms),
        }
    }

    fn wire_len(&self) -> usize {
        let inner = match self {
            MabMsg::Arms(message) => return message.wire_len(),
            MabMsg::Sum(message) => return message.wire_len(),
            MabMsg::Data(table) => {
                wire::varint_field(table.phase)
                    + wire::packed_varints(table.rows.iter().map(|(node, _)| node.0.into()))
                    + wire::packed_varints(table.arms.iter().map(|arm| arm.0.into()))
                    + wire::packed_field(table.rows.len() * table.arms.len(), 8)
            }
            list => {
                let (purpose, phase, nodes) = list.nodes().unwrap_or_default();
                wire::varint_field(purpose.into())
                    + wire::varint_field(phase)
                    + wire::packed_varints(nodes.into_iter().map(u64::from))
            }
        };
        wire::message_field(inner)
    }
}

fn rising(numbers: &[u32], what: &str) -> Result<(), Misbehaviour> {
    if numbers.is_empty() || !numbers.is_sorted_by(|one, next| one < next) {
        return Err(Misbehaviour::Unreadable(format!("{what} that are not in rising order, or none")));
    }
    Ok(())
}

fn from_nodes(wire: wire::Nodes) -> Result<MabMsg, Misbehaviour> {
    if wire.purpose == TREE {
        if !wire.nodes.len().is_multiple_of(2) || wire.phase != 0 {
            return Err(Misbehaviour::Unreadable("a tree with a client but no way for it".into()));
        }
        let links = wire.nodes.chunks_exact(2).map(|link| (NodeId(link[0]), NodeId(link[1])));
        return Ok(MabMsg::Tree(links.collect()));
    }
    rising(&wire.nodes, "clients")?;
    let labels = Labels { phase: wire.phase, nodes: wire.nodes.into_iter().map(NodeId).collect() };
    match wire.purpose {
        ADVERTISE => Ok(MabMsg::Advertise(labels)),
        REQUEST => Ok(MabMsg::Request(labels)),
        GONE => Ok(MabMsg::Gone(labels)),
        other => Err(Misbehaviour::Unreadable(format!("a list of clients for purpose {other}"))),
    }
}

fn from_table(wire: wire::ArmTable, came: Arrived) -> Result<Table, Misbehaviour> {
    rising(&wire.nodes, "clients")?;
    rising(&wire.arms, "arms")?;
    let expected = wire.nodes.len() * wire.arms.len();
    if wire.values.len() != expected {
        return Err(Misbehaviour::Dimension { expected, got: wire.values.len() });
    }
    if !wire.values.iter().all(|value| value.is_finite()) {
        return Err(Misbehaviour::NotFinite("a table of means".into()));
    }
    let rows = wire.values.chunks_exact(wire.arms.len());
    let row = |(node, row): (u32, &[f64])| (NodeId(node), Arc::new(Private::received(row.to_vec(), came)));
    Ok(Table {
        phase: wire.phase,
        rows: wire.nodes.into_iter().zip(rows).map(row).collect(),
        arms: wire.arms.into_iter().map(ArmIndex).collect(),
    })
}
