//! Messages of the algorithms that exchange linear statistics.

use std::sync::Arc;

use cahoots_core::message::{Message, Receipt, control, control_len};
use cahoots_core::{Arrived, Kind, LinearStats, Misbehaviour, Private, View, wire};

/// Statistics up, views down, signals both ways.
#[derive(Clone, Debug)]
pub enum LinearMsg {
    /// A client's new observations; `number` counts its uploads from 1.
    Upload {
        /// Counts this client's uploads.
        number: u64,
        /// What it has learned since the last one.
        stats: Private<LinearStats>,
    },
    /// What the server has merged, among it the receiver's uploads up to `merged`.
    Download {
        /// The absolute view.
        view: Arc<View>,
        /// The receiver's last upload that is part of it.
        merged: u64,
    },
    /// Server to client: the sizes of the clusters you are in, largest first, each once.
    Clusters {
        /// Counts the server's estimates of the clusters.
        phase: u64,
        /// Members of each cluster, the receiver among them.
        sizes: Vec<u32>,
    },
    /// Server to client: this upload was not merged.
    Refused {
        /// The upload's number.
        number: u64,
        /// Why, in words.
        reason: String,
    },
    /// Something that carries no statistics.
    Signal {
        /// What is meant.
        signal: Signal,
        /// An upload's or a round's number, or what else the signal says.
        number: u64,
    },
}

/// What a signal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Signal {
    /// Server to client: your uploads up to `number` are merged.
    Merged = 1,
    /// Client to server: it is time to synchronise.
    Request = 2,
    /// Server to client: upload now, for round `number`.
    Ask = 3,
    /// Server to client: how much have you learned on your own?
    Weigh = 4,
    /// Client to server: this much (`number` holds the bits of an `f64`).
    Weight = 5,
    /// Server to client: phase `number` begins, with the last download.
    Phase = 6,
}

impl Signal {
    const ALL: [Signal; 6] =
        [Signal::Merged, Signal::Request, Signal::Ask, Signal::Weigh, Signal::Weight, Signal::Phase];
}

impl LinearMsg {
    /// A signal.
    pub fn signal(signal: Signal, number: u64) -> Self {
        LinearMsg::Signal { signal, number }
    }

    /// The refusal of a message that this machine never takes.
    pub fn unexpected(&self) -> Misbehaviour {
        Misbehaviour::Unexpected(match self {
            LinearMsg::Upload { .. } => "an upload".into(),
            LinearMsg::Download { .. } => "a download".into(),
            LinearMsg::Clusters { .. } => "a list of clusters".into(),
            LinearMsg::Refused { .. } => "the refusal of an upload".into(),
            LinearMsg::Signal { signal, .. } => format!("signal {signal:?}"),
        })
    }
}

impl Message for LinearMsg {
    fn kind(&self) -> Kind {
        match self {
            LinearMsg::Upload { .. } => Kind::Upload,
            LinearMsg::Download { .. } => Kind::Download,
            LinearMsg::Clusters { .. } | LinearMsg::Refused { .. } | LinearMsg::Signal { .. } => {
                Kind::Control
            }
        }
    }

    fn scalars(&self) -> u64 {
        match self {
            LinearMsg::Upload { stats, .. } => stats.get().scalars(),
            LinearMsg::Download { view, .. } => view.stats().scalars(),
            LinearMsg::Clusters { .. } | LinearMsg::Refused { .. } | LinearMsg::Signal { .. } => 0,
        }
    }

    fn to_wire(&self) -> wire::Payload {
        match self {
            LinearMsg::Upload { number, stats } => {
                let stats = Some(stats.get().to_wire());
                let upload = wire::LinearUpload { number: *number, stats, ..Default::default() };
                wire::Payload { shape: Some(wire::payload::Shape::LinearUpload(upload)) }
            }
            LinearMsg::Download { view, merged } => view.to_wire(*merged),
            LinearMsg::Clusters { phase, sizes } => {
                let clusters = wire::Clusters { phase: *phase, sizes: sizes.clone(), ..Default::default() };
                wire::Payload { shape: Some(wire::payload::Shape::Clusters(clusters)) }
            }
            LinearMsg::Refused { number, reason } => receipt(*number).to_wire(reason),
            LinearMsg::Signal { signal, number } => control(*signal as u32, *number, 0),
        }
    }

    fn from_wire(payload: wire::Payload, came: Arrived) -> Result<Self, Misbehaviour> {
        use wire::payload::Shape;
        match payload.shape {
            Some(Shape::LinearUpload(upload)) => {
                let stats = upload
                    .stats
                    .ok_or_else(|| Misbehaviour::Unreadable("an upload without statistics".into()))?;
                let stats = Private::received(LinearStats::from_wire(stats)?, came);
                Ok(LinearMsg::Upload { number: upload.number, stats })
            }
            Some(Shape::View(view)) => {
                let (view, merged) = View::from_wire(view)?;
                Ok(LinearMsg::Download { view, merged })
            }
            Some(Shape::Control(control)) => {
                let known = Signal::ALL.into_iter().find(|signal| *signal as u32 == control.signal);
                let signal = known
                    .ok_or_else(|| Misbehaviour::Unreadable(format!("unknown signal {}", control.signal)))?;
                Ok(LinearMsg::signal(signal, control.number))
            }
            Some(Shape::Refused(wire::Refused { number, reason, .. })) => {
                Ok(LinearMsg::Refused { number, reason })
            }
            Some(Shape::Clusters(clusters)) => {
                let wire::Clusters { phase, sizes, .. } = clusters;
                if sizes.contains(&0) || !sizes.is_sorted_by(|a, b| a > b) {
                    return Err(Misbehaviour::Unreadable("sizes of clusters that are not in order".into()));
                }
                Ok(LinearMsg::Clusters { phase, sizes })
            }
            _ => Err(Misbehaviour::Unreadable("a payload of another kind of algorithm".into())),
        }
    }

    fn wire_len(&self) -> usize {
        match self {
            LinearMsg::Upload { number, stats } => {
                wire::message_field(wire::varint_field(*number) + wire::message_field(stats.get().wire_len()))
            }
            LinearMsg::Download { view, merged } => view.wire_len(*merged),
            LinearMsg::Clusters { phase, sizes } => wire::message_field(
                wire::varint_field(*phase) + wire::packed_varints(sizes.iter().map(|&size| size.into())),
            ),
            LinearMsg::Refused { number, reason } => receipt(*number).wire_len(reason),
            LinearMsg::Signal { signal, number } => control_len(*signal as u32, *number, 0),
        }
    }

    fn slot(&self) -> Option<u32> {
        match self {
            // A view is absolute: a newer one says it all.
            LinearMsg::Download { .. } => Some(0),
            // So is how far uploads are merged.
            LinearMsg::Signal { signal: Signal::Merged, .. } => Some(1),
            _ => None,
        }
    }

    fn receipt(&self) -> Option<Receipt> {
        match self {
            LinearMsg::Upload { number, .. } => Some(receipt(*number)),
            _ => None,
        }
    }

    fn refused(receipt: Receipt, reason: String) -> Option<Self> {
        Some(LinearMsg::Refused { number: receipt.number, reason })
    }
}

fn receipt(number: u64) -> Receipt {
    Receipt { number, phase: 0, cluster: 0 }
}

#[cfg(test)]
mod tests {
    use cahoots_core::message::decode;
    use prost::Message as _;

    use super::*;
    use crate::testing::{assert_golden, assert_round_trips, released};

    fn examples() -> Vec<LinearMsg> {
        let mut stats = LinearStats::empty(2);
        stats.observe(&[0.5, -1.0], 2.0);
        vec![
            LinearMsg::Upload { number: 300, stats: released(stats.clone()) },
            LinearMsg::Download { view: View::new(7, stats), merged: 3 },
            LinearMsg::signal(Signal::Merged, 4),
            LinearMsg::signal(Signal::Request, 0),
            LinearMsg::signal(Signal::Ask, 9),
            LinearMsg::signal(Signal::Weigh, 0),
            LinearMsg::signal(Signal::Weight, 45.5f64.to_bits()),
            LinearMsg::Clusters { phase: 2, sizes: vec![300, 4] },
            LinearMsg::Refused { number: 300, reason: "not finite".into() },
            LinearMsg::Refused { number: 0, reason: String::new() },
            LinearMsg::signal(Signal::Phase, 9),
        ]
    }

    #[test]
    fn lengths_are_known_without_encoding_and_round_trips_are_exact() {
        assert_round_trips(&examples());
    }

    #[test]
    fn the_bytes_on_the_wire_are_what_they_always_were() {
        assert_golden(&examples(), include_str!("../../../testdata/linear_messages.hex"));
    }

    #[test]
    fn payloads_of_no_or_another_shape_are_refused() {
        assert!(decode::<LinearMsg>(&wire::Payload { shape: None }.encode_to_vec()).is_err());
        assert!(decode::<LinearMsg>(&control(77, 0, 0).encode_to_vec()).is_err());
        let unordered = wire::Clusters { sizes: vec![2, 3], ..Default::default() };
        let payload = wire::Payload { shape: Some(wire::payload::Shape::Clusters(unordered)) };
        assert!(decode::<LinearMsg>(&payload.encode_to_vec()).is_err());
        let hollow = wire::LinearUpload { number: 1, ..Default::default() };
        let payload = wire::Payload { shape: Some(wire::payload::Shape::LinearUpload(hollow)) };
        assert!(decode::<LinearMsg>(&payload.encode_to_vec()).is_err());
    }
}
