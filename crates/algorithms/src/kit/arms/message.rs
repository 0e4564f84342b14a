//! Messages of the algorithms that exchange values per arm and sets of arms.

use std::sync::Arc;

use cahoots_core::message::{Message, control, control_len};
use cahoots_core::{Arrived, Kind, Misbehaviour, Private, wire};

use super::values::{ActiveArms, ArmValues};

/// Values and active arms, up and down; signals both ways.
#[derive(Clone, Debug)]
pub enum ArmMsg {
    /// A client's values.
    Upload {
        /// Counts this client's uploads from 1.
        number: u64,
        /// One per arm.
        values: Private<ArmValues>,
    },
    /// A client's active arms.
    UploadActive {
        /// Counts this client's uploads from 1.
        number: u64,
        /// The arms.
        active: Private<ActiveArms>,
    },
    /// The server's values.
    Download(Arc<ArmValues>),
    /// The server's active arms.
    DownloadActive(Arc<ActiveArms>),
    /// Something that carries no statistics.
    Signal {
        /// What is meant: the algorithm's README says.
        signal: u32,
        /// A phase's or a round's number.
        phase: u64,
    },
}

impl ArmMsg {
    /// The refusal of a message that this machine does not take now.
    pub fn unexpected(&self) -> Misbehaviour {
        Misbehaviour::Unexpected(match self {
            ArmMsg::Upload { values, .. } => format!("values of phase {}", values.get().phase),
            ArmMsg::UploadActive { active, .. } => format!("active arms of phase {}", active.get().phase),
            ArmMsg::Download(values) => format!("the server's values of phase {}", values.phase),
            ArmMsg::DownloadActive(active) => format!("the server's active arms of phase {}", active.phase),
            ArmMsg::Signal { signal, phase } => format!("signal {signal} of phase {phase}"),
        })
    }
}

impl Message for ArmMsg {
    fn kind(&self) -> Kind {
        match self {
            ArmMsg::Upload { .. } | ArmMsg::UploadActive { .. } => Kind::Upload,
            ArmMsg::Download(_) | ArmMsg::DownloadActive(_) => Kind::Download,
            ArmMsg::Signal { .. } => Kind::Control,
        }
    }

    fn scalars(&self) -> u64 {
        let scalars = match self {
            ArmMsg::Upload { values, .. } => values.get().values.len(),
            ArmMsg::Download(values) => values.values.len(),
            ArmMsg::UploadActive { active, .. } => active.get().arms.len(),
            ArmMsg::DownloadActive(active) => active.arms.len(),
            ArmMsg::Signal { .. } => 0,
        };
        scalars as u64
    }

    fn to_wire(&self) -> wire::Payload {
        use wire::payload::Shape;
        let shape = match self {
            ArmMsg::Upload { number, values } => Shape::ArmValues(values.get().to_wire(*number)),
            ArmMsg::UploadActive { number, active } => Shape::ActiveArms(active.get().to_wire(*number)),
            ArmMsg::Download(values) => Shape::ArmValues(values.to_wire(0)),
            ArmMsg::DownloadActive(active) => Shape::ActiveArms(active.to_wire(0)),
            ArmMsg::Signal { signal, phase } => return control(*signal, 0, *phase),
        };
        wire::Payload { shape: Some(shape) }
    }

    fn from_wire(payload: wire::Payload, came: Arrived) -> Result<Self, Misbehaviour> {
        use wire::payload::Shape;
        match payload.shape {
            Some(Shape::ArmValues(wire)) => {
                let number = wire.number;
                let values = ArmValues::from_wire(wire)?;
                Ok(match number {
                    0 => ArmMsg::Download(Arc::new(values)),
                    _ => ArmMsg::Upload { number, values: Private::received(values, came) },
                })
            }
            Some(Shape::ActiveArms(wire)) => {
                let number = wire.number;
                let active = ActiveArms::from_wire(wire)?;
                Ok(match number {
                    0 => ArmMsg::DownloadActive(Arc::new(active)),
                    _ => ArmMsg::UploadActive { number, active: Private::received(active, came) },
                })
            }
            Some(Shape::Control(wire::Control { signal, number: 0, phase })) => {
                Ok(ArmMsg::Signal { signal, phase })
            }
            Some(Shape::Control(_)) => Err(Misbehaviour::Unreadable("a signal with a number".into())),
            _ => Err(Misbehaviour::Unreadable("a payload of another kind of algorithm".into())),
        }
    }

    fn wire_len(&self) -> usize {
        match self {
            ArmMsg::Upload { number, values } => wire::message_field(values.get().wire_len(*number)),
            ArmMsg::UploadActive { number, active } => wire::message_field(active.get().wire_len(*number)),
            ArmMsg::Download(values) => wire::message_field(values.wire_len(0)),
            ArmMsg::DownloadActive(active) => wire::message_field(active.wire_len(0)),
            ArmMsg::Signal { signal, phase } => control_len(*signal, 0, *phase),
        }
    }
}

#[cfg(test)]
mod tests {
    use cahoots_core::ArmIndex;
    use cahoots_core::message::decode;
    use prost::Message as _;

    use super::*;
    use crate::testing::{assert_golden, assert_round_trips, released};

    fn examples() -> Vec<ArmMsg> {
        let arms = |arms: &[u32]| arms.iter().map(|arm| ArmIndex(*arm)).collect::<Vec<_>>();
        let means = ArmValues::new(3, arms(&[0, 7, 300]), vec![0.5, -1.0, 2.0]);
        let active = ActiveArms { phase: 4, arms: arms(&[0, 129]) };
        vec![
            ArmMsg::Upload { number: 300, values: released(means.clone()) },
            ArmMsg::UploadActive { number: 2, active: released(active.clone()) },
            ArmMsg::UploadActive { number: 2, active: released(ActiveArms::default()) },
            ArmMsg::Download(Arc::new(means)),
            ArmMsg::DownloadActive(Arc::new(active)),
            ArmMsg::DownloadActive(Arc::new(ActiveArms::default())),
            ArmMsg::Signal { signal: 1, phase: 9 },
        ]
    }

    #[test]
    fn lengths_are_known_without_encoding_and_round_trips_are_exact() {
        assert_round_trips(&examples());
    }

    #[test]
    fn the_bytes_on_the_wire_are_what_they_always_were() {
        assert_golden(&examples(), include_str!("../../../testdata/arm_messages.hex"));
    }

    #[test]
    fn what_no_honest_peer_sends_is_refused() {
        let values = |arms: Vec<u32>, values: Vec<f64>| {
            wire::payload::Shape::ArmValues(wire::ArmValues { number: 1, phase: 1, arms, values })
        };
        let refused =
            |shape| decode::<ArmMsg>(&wire::Payload { shape: Some(shape) }.encode_to_vec()).is_err();
        assert!(refused(values(vec![0, 1], vec![0.5])));
        assert!(refused(values(vec![1, 0], vec![0.5, 0.5])));
        assert!(refused(values(vec![1, 1], vec![0.5, 0.5])));
        assert!(refused(values(vec![0], vec![f64::NAN])));
        assert!(decode::<ArmMsg>(&wire::Payload { shape: None }.encode_to_vec()).is_err());
        assert!(decode::<ArmMsg>(&control(1, 1, 1).encode_to_vec()).is_err());
    }
}
