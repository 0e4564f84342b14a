//! How a [`Factor`] is serialised: without padding, and refused when its lengths disagree.

use serde::{Deserialize, Serialize};

use crate::Factor;

/// The numbers of a factor and nothing else: equal states have equal bytes.
#[derive(Serialize, Deserialize)]
#[serde(rename = "Factor")]
pub(crate) struct Wire {
    /// Packed lower triangle.
    w: Vec<f64>,
    z: Vec<f64>,
    log_det: f64,
}

impl From<Factor> for Wire {
    fn from(factor: Factor) -> Wire {
        let dim = factor.dim();
        let mut w = Vec::with_capacity(dim * (dim + 1) / 2);
        for i in 0..dim {
            w.extend_from_slice(factor.row(i));
        }
        Wire { w, z: factor.z().to_vec(), log_det: factor.log_det() }
    }
}

impl TryFrom<Wire> for Factor {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Factor, String> {
        let Wire { w, z, log_det } = wire;
        let dim = z.len();
        let expected = dim.checked_add(1).and_then(|next| dim.checked_mul(next));
        if expected != Some(w.len() * 2) {
            let found = w.len();
            return Err(format!("a factor of dimension {dim} with {found} entries of W"));
        }
        Ok(Factor::from_parts(&w, &z, log_det))
    }
}
