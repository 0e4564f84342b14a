//! Bytes on the wire, and what no honest peer sends.

use std::sync::Arc;

use cahoots_core::message::decode;
use cahoots_core::{ArmIndex, NodeId, wire};
use prost::Message as _;

use super::super::message::{Labels, MabMsg, Table};
use crate::kit::arms::ArmMsg;
use crate::testing::{assert_golden, assert_round_trips, released};

fn examples() -> Vec<MabMsg> {
    let nodes = |list: &[u32]| list.iter().map(|n| NodeId(*n)).collect::<Vec<_>>();
    let row = |values: &[f64]| Arc::new(released(values.to_vec()));
    vec![
        MabMsg::Advertise(Labels { phase: 3, nodes: nodes(&[0, 5, 300]) }),
        MabMsg::Request(Labels { phase: 3, nodes: nodes(&[7]) }),
        MabMsg::Data(Table {
            phase: 2,
            arms: [0, 200].map(ArmIndex).to_vec(),
            rows: vec![(NodeId(1), row(&[0.5, -0.25])), (NodeId(4), row(&[1.0, 2.0]))],
        }),
        MabMsg::Tree(vec![(NodeId(2), NodeId(0)), (NodeId(1), NodeId(2))]),
        MabMsg::Tree(vec![]),
        MabMsg::Arms(ArmMsg::Signal { signal: 5, phase: 9 }),
        MabMsg::Gone(Labels { phase: 2, nodes: nodes(&[1, 300]) }),
    ]
}

#[test]
fn lengths_are_known_without_encoding_and_round_trips_are_exact() {
    assert_round_trips(&examples());
}

#[test]
fn the_bytes_on_the_wire_are_what_they_always_were() {
    assert_golden(&examples(), include_str!("../../../testdata/mab_messages.hex"));
}

#[test]
fn what_no_honest_peer_sends_is_refused() {
    use wire::payload::Shape;
    let refused = |shape| decode::<MabMsg>(&wire::Payload { shape: Some(shape) }.encode_to_vec()).is_err();
    let nodes = |purpose, nodes| Shape::Nodes(wire::Nodes { purpose, phase: 1, nodes });
    assert!(refused(nodes(1, vec![])));
    assert!(refused(nodes(1, vec![3, 3])));
    assert!(refused(nodes(9, vec![3])));
    assert!(refused(Shape::Nodes(wire::Nodes { purpose: 3, phase: 0, nodes: vec![1, 2, 3] })));
    let table = |nodes, arms, values| Shape::ArmTable(wire::ArmTable { phase: 1, nodes, arms, values });
    assert!(refused(table(vec![1], vec![0, 1], vec![0.5])));
    assert!(refused(table(vec![1], vec![1, 0], vec![0.5, 0.5])));
    assert!(refused(table(vec![2, 1], vec![0], vec![0.5, 0.5])));
    assert!(refused(table(vec![1], vec![0], vec![f64::NAN])));
    assert!(refused(table(vec![], vec![], vec![])));
}
