//! What a server keeps of each client beside its view: nothing, what each has contributed, or that with what of it is
//! believed.

use std::fmt;

use cahoots_core::{Cx, LinearStats, NodeId};
use serde::de::{EnumAccess, VariantAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Robust, RobustSum};
use crate::kit::linear::{Apart, Upload};

/// Contributions by client. A server that believes everyone is laid out as it was before any did not: [`Apart`] alone.
#[derive(Clone, Debug)]
pub struct Kept {
    apart: Apart,
    robust: Option<Box<RobustSum>>,
}

impl Kept {
    /// Nobody has contributed anything yet.
    pub fn new(keep_apart: bool, robust: Option<Robust>) -> Kept {
        let robust = robust.map(|rule| Box::new(RobustSum::new(rule)));
        Kept { apart: Apart::new(keep_apart || robust.is_some()), robust }
    }

    /// Not everyone is believed: the sum is [`Kept::believed`].
    pub fn is_robust(&self) -> bool {
        self.robust.is_some()
    }

    /// All that is merged once this upload is, where everyone is believed: [`Apart::with`].
    pub fn with(
        &self,
        client: NodeId,
        upload: &LinearStats,
        nothing: &LinearStats,
        merged: &LinearStats,
    ) -> (LinearStats, Upload) {
        self.apart.with(client, upload, nothing, merged)
    }

    /// That upload is merged.
    pub fn take(&mut self, upload: Upload) {
        self.apart.take(upload);
    }

    /// All that is merged, where everyone is believed: [`Apart::sum`].
    pub fn sum(&self, nothing: &LinearStats) -> Option<LinearStats> {
        self.apart.sum(nothing)
    }

    /// A client's upload was merged.
    pub fn add(&mut self, client: NodeId, stats: &LinearStats) {
        self.apart.add(client, stats);
    }

    /// What is believed, on top of `base`, once what these clients have contributed was added.
    pub fn believed(&mut self, changed: &[NodeId], base: &LinearStats) -> Option<LinearStats> {
        Some(self.robust.as_mut()?.merge(&self.apart, changed, base))
    }

    /// Why nothing can be taken out again, if so.
    pub fn check(&self) -> Result<(), String> {
        self.apart.check()
    }

    /// Takes out all that came under a client's number; gives what is believed of the others.
    pub fn forget(&mut self, client: NodeId, nothing: &LinearStats) -> Option<LinearStats> {
        let sum = self.apart.forget(client, nothing)?;
        Some(match &mut self.robust {
            Some(robust) => robust.renew(&self.apart, nothing),
            None => sum,
        })
    }

    /// Of how many clients nothing is believed.
    pub fn left_out(&self) -> usize {
        self.robust.as_ref().map_or(0, |robust| robust.left_out())
    }

    /// Says it, where anyone is doubted at all.
    pub fn report<M>(&self, cx: &mut Cx<'_, M>) {
        if self.is_robust() {
            cx.level("left_out", self.left_out() as f64);
        }
    }
}

/// The third of the shapes of which [`Apart`] has two.
const ROBUST: u32 = 2;

impl Serialize for Kept {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.robust {
            None => self.apart.serialize(serializer),
            Some(robust) => {
                serializer.serialize_newtype_variant("Kept", ROBUST, "Robust", &(&self.apart, robust))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Kept {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Kept, D::Error> {
        deserializer.deserialize_enum("Kept", &["None", "Some", "Robust"], Shape)
    }
}

struct Shape;

impl<'de> Visitor<'de> for Shape {
    type Value = Kept;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("contributions by client")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Kept, A::Error> {
        let (shape, rest) = data.variant::<u32>()?;
        let apart = match shape {
            0 => rest.unit_variant().map(|()| Apart::of(None))?,
            1 => Apart::of(Some(rest.newtype_variant()?)),
            ROBUST => {
                let (apart, robust) = rest.newtype_variant()?;
                return Ok(Kept { apart, robust: Some(robust) });
            }
            other => return Err(serde::de::Error::custom(format!("shape {other} of contributions"))),
        };
        Ok(Kept { apart, robust: None })
    }
}
