//! What tests of several algorithms need.

use cahoots_core::{Cx, Machine, Message, NodeId, Private, Silence, Tick, Unprotected, message};

/// A statistic as it leaves a client that protects nothing.
pub(crate) fn released<S>(exact: S) -> Private<S> {
    Cx::<Silence>::rehearse(NodeId(0), 0, |cx| cx.release(&mut Unprotected, exact)).0
}

/// One step of a machine; what it sent.
pub(crate) fn step<M: Machine>(
    machine: &mut M,
    now: Tick,
    input: impl FnOnce(&mut M, &mut Cx<'_, M::Msg>),
) -> Vec<(NodeId, M::Msg)> {
    Cx::rehearse(NodeId(0), now, |cx| input(machine, cx)).1.outbox
}

/// Lengths are known without encoding, and what comes back from the bytes is what was sent.
pub(crate) fn assert_round_trips<M: Message>(examples: &[M]) {
    for sent in examples {
        let bytes = message::encode(sent);
        assert_eq!(bytes.len(), sent.wire_len(), "{sent:?}");
        let back = message::decode::<M>(&bytes).unwrap();
        assert_eq!(format!("{back:?}"), format!("{sent:?}"));
        assert_eq!(message::encode(&back), bytes, "{sent:?}");
        assert_eq!((back.kind(), back.scalars()), (sent.kind(), sent.scalars()), "{sent:?}");
    }
}

/// The bytes on the wire are what they always were: a line of `golden` each, in hex.
pub(crate) fn assert_golden<M: Message>(examples: &[M], golden: &str) {
    let hex =
        |sent: &M| -> String { message::encode(sent).iter().map(|byte| format!("{byte:02x}")).collect() };
    let bytes: Vec<String> = examples.iter().map(hex).collect();
    assert_eq!(bytes, golden.lines().collect::<Vec<_>>());
}
