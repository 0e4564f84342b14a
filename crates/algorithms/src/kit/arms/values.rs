//! Values per arm and sets of arms, as they travel.

use cahoots_core::{ArmIndex, Misbehaviour, wire};
use serde::{Deserialize, Serialize};

/// One number per listed arm.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArmValues {
    /// The phase or round they belong to.
    pub phase: u64,
    /// The arms, in rising order.
    pub arms: Vec<ArmIndex>,
    /// Sums, means, gaps: what they are is the algorithm's to say.
    pub values: Vec<f64>,
}

impl ArmValues {
    /// As many values as arms.
    pub fn new(phase: u64, arms: Vec<ArmIndex>, values: Vec<f64>) -> Self {
        ArmValues { phase, arms, values }
    }

    /// Refuses values of another phase, or over other arms.
    pub fn check(&self, phase: u64, arms: &[ArmIndex]) -> Result<(), Misbehaviour> {
        in_phase(self.phase, phase)?;
        if self.arms != arms {
            let problem = format!("values of {} arms, expected {} others", self.arms.len(), arms.len());
            return Err(Misbehaviour::Unexpected(problem));
        }
        Ok(())
    }

    /// The value of one arm, if it is listed.
    pub fn of(&self, arm: ArmIndex) -> Option<f64> {
        self.arms.binary_search(&arm).ok().map(|place| self.values[place])
    }

    pub(super) fn to_wire(&self, number: u64) -> wire::ArmValues {
        wire::ArmValues {
            number,
            phase: self.phase,
            arms: self.arms.iter().map(|arm| arm.0).collect(),
            values: self.values.clone(),
        }
    }

    pub(super) fn from_wire(wire: wire::ArmValues) -> Result<Self, Misbehaviour> {
        let arms = rising(wire.arms)?;
        if wire.values.len() != arms.len() {
            return Err(Misbehaviour::Dimension { expected: arms.len(), got: wire.values.len() });
        }
        if !wire.values.iter().all(|value| value.is_finite()) {
            return Err(Misbehaviour::NotFinite("the values of arms".into()));
        }
        Ok(ArmValues { phase: wire.phase, arms, values: wire.values })
    }

    pub(super) fn wire_len(&self, number: u64) -> usize {
        wire::varint_field(number)
            + wire::varint_field(self.phase)
            + wire::packed_varints(self.arms.iter().map(|arm| arm.0.into()))
            + wire::packed_field(self.values.len(), 8)
    }
}

/// Arms that are still in the running.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActiveArms {
    /// The phase or round they are active in.
    pub phase: u64,
    /// The arms, in rising order.
    pub arms: Vec<ArmIndex>,
}

impl ActiveArms {
    /// Refuses a set of another phase, and arms that are not in `among` (which rises).
    pub fn check(&self, phase: u64, among: &[ArmIndex]) -> Result<(), Misbehaviour> {
        in_phase(self.phase, phase)?;
        match self.arms.iter().find(|arm| among.binary_search(arm).is_err()) {
            Some(arm) => Err(Misbehaviour::Unexpected(format!("arm {} is not in the running", arm.0))),
            None => Ok(()),
        }
    }

    pub(super) fn to_wire(&self, number: u64) -> wire::ActiveArms {
        wire::ActiveArms { phase: self.phase, arms: self.arms.iter().map(|arm| arm.0).collect(), number }
    }

    pub(super) fn from_wire(wire: wire::ActiveArms) -> Result<Self, Misbehaviour> {
        Ok(ActiveArms { phase: wire.phase, arms: rising(wire.arms)? })
    }

    pub(super) fn wire_len(&self, number: u64) -> usize {
        wire::varint_field(self.phase)
            + wire::packed_varints(self.arms.iter().map(|arm| arm.0.into()))
            + wire::varint_field(number)
    }
}

fn in_phase(got: u64, expected: u64) -> Result<(), Misbehaviour> {
    if got == expected { Ok(()) } else { Err(Misbehaviour::Gap { expected, got }) }
}

fn rising(arms: Vec<u32>) -> Result<Vec<ArmIndex>, Misbehaviour> {
    if arms.is_sorted_by(|one, next| one < next) {
        Ok(arms.into_iter().map(ArmIndex).collect())
    } else {
        Err(Misbehaviour::Unreadable("arms that are not in rising order".into()))
    }
}
