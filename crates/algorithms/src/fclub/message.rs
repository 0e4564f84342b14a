//! What local servers and the global server say to each other.

use std::sync::Arc;

use cahoots_core::message::{Message, Receipt, control, control_len};
use cahoots_core::{Arrived, Kind, LinearStats, Misbehaviour, Private, View, wire};

/// Statistics of local clusters up, views of global clusters down, phases.
#[derive(Clone, Debug)]
pub enum FclubMsg {
    /// Global server to local: phase `phase` begins, look at your users again and report.
    Begin {
        /// Counts phases from 1.
        phase: u64,
    },
    /// Local to global: how many clusters my users are in now. A report of each follows. Who is in which is
    /// nobody's business, so it is not sent.
    Structure {
        /// The phase that began.
        phase: u64,
        /// Local clusters.
        clusters: u32,
    },
    /// Local to global: all that a local cluster knows (line 5 of Algorithm 2).
    Report {
        /// The phase that began.
        phase: u64,
        /// Which local cluster.
        cluster: u32,
        /// Its statistics, perturbed.
        stats: Private<LinearStats>,
    },
    /// Global to local: how clusters have been merged (line 7 of Algorithm 2).
    Merged {
        /// The phase that began.
        phase: u64,
        /// Global clusters.
        clusters: u32,
        /// For each local cluster of the receiver: how many local clusters it shares with, itself included.
        members: Vec<u32>,
        /// The partition has changed: a view for each local cluster follows.
        renewed: bool,
    },
    /// Local to global: what a local cluster has learned since its last upload (Algorithm 3).
    Upload {
        /// The sender's phase.
        phase: u64,
        /// Which local cluster.
        cluster: u32,
        /// Counts this cluster's uploads since the last renewal, from 1.
        number: u64,
        /// What is new, perturbed.
        stats: Private<LinearStats>,
    },
    /// Global to local: what the global cluster knows (Algorithm 4).
    Download {
        /// The sender's phase.
        phase: u64,
        /// Which local cluster of the receiver.
        cluster: u32,
        /// The absolute view.
        view: Arc<View>,
        /// The local cluster's last upload that is part of it.
        merged: u64,
    },
    /// Global to local: this upload was not merged.
    Refused {
        /// Which upload.
        receipt: Receipt,
        /// Why, in words.
        reason: String,
    },
    /// Global to local: uploads up to `number` are merged; no view is due yet.
    Taken {
        /// The sender's phase.
        phase: u64,
        /// Which local cluster of the receiver.
        cluster: u32,
        /// The local cluster's last merged upload.
        number: u64,
    },
}

const BEGIN: u32 = 1;
const STRUCTURE: u32 = 2;
/// `TAKEN` and above: the signal says which cluster.
const TAKEN: u32 = 16;

impl FclubMsg {
    /// The refusal of a message that this machine never takes.
    pub fn unexpected(&self) -> Misbehaviour {
        let what = match self {
            FclubMsg::Begin { .. } => "the beginning of a phase",
            FclubMsg::Structure { .. } => "a structure",
            FclubMsg::Report { .. } => "a report",
            FclubMsg::Merged { .. } => "a partition",
            FclubMsg::Upload { .. } => "an upload",
            FclubMsg::Download { .. } => "a download",
            FclubMsg::Taken { .. } => "a confirmation",
            FclubMsg::Refused { .. } => "the refusal of an upload",
        };
        Misbehaviour::Unexpected(what.into())
    }

    fn upload(number: u64, phase: u64, cluster: u32, stats: &Private<LinearStats>) -> wire::Payload {
        let stats = Some(stats.get().to_wire());
        let upload = wire::LinearUpload { number, phase, stats, cluster };
        wire::Payload { shape: Some(wire::payload::Shape::LinearUpload(upload)) }
    }

    fn upload_len(number: u64, phase: u64, cluster: u32, stats: &Private<LinearStats>) -> usize {
        wire::message_field(
            wire::varint_field(number)
                + wire::varint_field(phase)
                + wire::message_field(stats.get().wire_len())
                + wire::varint_field(cluster.into()),
        )
    }
}

impl Message for FclubMsg {
    fn kind(&self) -> Kind {
        match self {
            FclubMsg::Report { .. } | FclubMsg::Upload { .. } => Kind::Upload,
            FclubMsg::Download { .. } => Kind::Download,
            _ => Kind::Control,
        }
    }

    fn scalars(&self) -> u64 {
        match self {
            FclubMsg::Report { stats, .. } | FclubMsg::Upload { stats, .. } => stats.get().scalars(),
            FclubMsg::Download { view, .. } => view.stats().scalars(),
            _ => 0,
        }
    }

    fn to_wire(&self) -> wire::Payload {
        let clusters = |clusters| wire::Payload { shape: Some(wire::payload::Shape::Clusters(clusters)) };
        match self {
            FclubMsg::Begin { phase } => control(BEGIN, 0, *phase),
            FclubMsg::Refused { receipt, reason } => receipt.to_wire(reason),
            FclubMsg::Taken { phase, cluster, number } => {
                control(TAKEN.saturating_add(*cluster), *number, *phase)
            }
            FclubMsg::Structure { phase, clusters } => control(STRUCTURE, (*clusters).into(), *phase),
            FclubMsg::Merged { phase, clusters: total, members, renewed } => clusters(wire::Clusters {
                phase: *phase,
                sizes: members.clone(),
                total: *total,
                renewed: *renewed,
            }),
            FclubMsg::Report { phase, cluster, stats } => Self::upload(0, *phase, *cluster, stats),
            FclubMsg::Upload { phase, cluster, number, stats } => {
                Self::upload(*number, *phase, *cluster, stats)
            }
            FclubMsg::Download { phase, cluster, view, merged } => {
                view.to_wire_for(*merged, *phase, *cluster)
            }
        }
    }

    fn from_wire(payload: wire::Payload, came: Arrived) -> Result<Self, Misbehaviour> {
        use wire::payload::Shape;
        let unreadable = |what: &str| Misbehaviour::Unreadable(what.into());
        match payload.shape {
            Some(Shape::LinearUpload(upload)) => {
                let stats = upload.stats.ok_or_else(|| unreadable("an upload without statistics"))?;
                let stats = Private::received(LinearStats::from_wire(stats)?, came);
                let wire::LinearUpload { number, phase, cluster, .. } = upload;
                Ok(match number {
                    0 => FclubMsg::Report { phase, cluster, stats },
                    _ => FclubMsg::Upload { phase, cluster, number, stats },
                })
            }
            Some(Shape::View(view)) => {
                let (phase, cluster) = (view.phase, view.cluster);
                let (view, merged) = View::from_wire(view)?;
                Ok(FclubMsg::Download { phase, cluster, view, merged })
            }
            Some(Shape::Clusters(clusters)) => {
                let wire::Clusters { phase, sizes, total, renewed } = clusters;
                if sizes.is_empty() || sizes.contains(&0) {
                    return Err(unreadable("clusters without anyone in them"));
                }
                if total == 0 {
                    return Err(unreadable("a partition into nothing"));
                }
                Ok(FclubMsg::Merged { phase, clusters: total, members: sizes, renewed })
            }
            Some(Shape::Control(wire::Control { signal: STRUCTURE, number, phase })) => {
                match u32::try_from(number) {
                    Ok(clusters) if clusters > 0 => Ok(FclubMsg::Structure { phase, clusters }),
                    _ => Err(unreadable("a structure of no clusters, or of too many")),
                }
            }
            Some(Shape::Control(wire::Control { signal: BEGIN, phase, .. })) => Ok(FclubMsg::Begin { phase }),
            Some(Shape::Control(wire::Control { signal, number, phase })) if signal >= TAKEN => {
                Ok(FclubMsg::Taken { phase, cluster: signal - TAKEN, number })
            }
            Some(Shape::Refused(wire::Refused { number, phase, cluster, reason })) => {
                Ok(FclubMsg::Refused { receipt: Receipt { number, phase, cluster }, reason })
            }
            _ => Err(unreadable("a payload of another kind of algorithm")),
        }
    }

    fn wire_len(&self) -> usize {
        match self {
            FclubMsg::Begin { phase } => control_len(BEGIN, 0, *phase),
            FclubMsg::Refused { receipt, reason } => receipt.wire_len(reason),
            FclubMsg::Taken { phase, cluster, number } => {
                control_len(TAKEN.saturating_add(*cluster), *number, *phase)
            }
            FclubMsg::Structure { phase, clusters } => control_len(STRUCTURE, (*clusters).into(), *phase),
            FclubMsg::Merged { phase, clusters, members, renewed } => wire::message_field(
                wire::varint_field(*phase)
                    + wire::packed_varints(members.iter().map(|&size| size.into()))
                    + wire::varint_field((*clusters).into())
                    + wire::varint_field(u64::from(*renewed)),
            ),
            FclubMsg::Report { phase, cluster, stats } => Self::upload_len(0, *phase, *cluster, stats),
            FclubMsg::Upload { phase, cluster, number, stats } => {
                Self::upload_len(*number, *phase, *cluster, stats)
            }
            FclubMsg::Download { phase, cluster, view, merged } => {
                view.wire_len_for(*merged, *phase, *cluster)
            }
        }
    }

    fn receipt(&self) -> Option<Receipt> {
        match *self {
            FclubMsg::Upload { phase, cluster, number, .. } => Some(Receipt { number, phase, cluster }),
            _ => None,
        }
    }

    fn refused(receipt: Receipt, reason: String) -> Option<Self> {
        Some(FclubMsg::Refused { receipt, reason })
    }
}

#[cfg(test)]
mod tests {
    use cahoots_core::message::decode;
    use prost::Message as _;

    use super::*;
    use crate::testing::{assert_golden, assert_round_trips, released};

    fn examples() -> Vec<FclubMsg> {
        let mut stats = LinearStats::empty(2);
        stats.observe(&[0.5, -1.0], 2.0);
        let released = released(stats.clone());
        vec![
            FclubMsg::Begin { phase: 3 },
            FclubMsg::Structure { phase: 3, clusters: 300 },
            FclubMsg::Report { phase: 3, cluster: 1, stats: released.clone() },
            FclubMsg::Merged { phase: 3, clusters: 5, members: vec![2, 4], renewed: true },
            FclubMsg::Merged { phase: 3, clusters: 1, members: vec![2], renewed: false },
            FclubMsg::Upload { phase: 3, cluster: 0, number: 200, stats: released },
            FclubMsg::Download { phase: 300, cluster: 2, view: View::new(9, stats), merged: 4 },
            FclubMsg::Taken { phase: 3, cluster: 130, number: 8 },
        ]
    }

    #[test]
    fn lengths_are_known_without_encoding_and_round_trips_are_exact() {
        assert_round_trips(&examples());
    }

    #[test]
    fn the_bytes_on_the_wire_are_what_they_always_were() {
        assert_golden(&examples(), include_str!("../../testdata/fclub_messages.hex"));
    }

    #[test]
    fn payloads_of_no_or_another_shape_are_refused() {
        assert!(decode::<FclubMsg>(&wire::Payload { shape: None }.encode_to_vec()).is_err());
        assert!(decode::<FclubMsg>(&control(7, 0, 0).encode_to_vec()).is_err());
        for sizes in [vec![], vec![3, 0]] {
            let clusters = wire::Clusters { sizes, ..Default::default() };
            let payload = wire::Payload { shape: Some(wire::payload::Shape::Clusters(clusters)) };
            assert!(decode::<FclubMsg>(&payload.encode_to_vec()).is_err());
        }
    }
}
