//! What an app offers, as a machine takes it.

use cahoots_core::ArmBuffer;
use cahoots_core::arms::ArmError;

use crate::error::NodeError;

/// The arms on offer.
#[derive(Clone, Copy, Debug)]
pub enum Arms<'a> {
    /// This many arms without features.
    Plain(usize),
    /// One row of features per arm: the shared ones, then the client's own where it has some.
    Features(&'a [Vec<f64>]),
    /// The same rows one after the other.
    Flat(&'a [f64]),
}

/// Puts the arms on offer in place, or says what does not fit.
pub(super) fn fill(
    buffer: &mut ArmBuffer,
    arms: Arms<'_>,
    dim: usize,
    own: usize,
    usual: usize,
) -> Result<(), NodeError> {
    match arms {
        Arms::Plain(_) if dim > 0 => Err(NodeError::Request(format!(
            "this federation's arms have features: offer a list of rows of {} numbers each",
            dim + own
        ))),
        Arms::Features(_) | Arms::Flat(_) if dim == 0 => Err(NodeError::Request(format!(
            "this federation's arms have no features: offer their number, {usual}"
        ))),
        Arms::Plain(arms) if arms != usual => {
            Err(NodeError::Request(format!("{arms} arms where this federation has {usual}")))
        }
        Arms::Plain(arms) => {
            buffer.plain = arms;
            Ok(())
        }
        Arms::Features([]) | Arms::Flat([]) => Err(ArmError::Empty.into()),
        Arms::Features(rows) => {
            if let Some(row) = rows.iter().find(|row| row.len() != dim + own) {
                return Err(
                    ArmError::Dimension { which: "(in all)", expected: dim + own, got: row.len() }.into()
                );
            }
            buffer.features.fill(dim, rows.iter().map(|row| &row[..dim]));
            buffer.local.fill(own, rows.iter().map(|row| &row[dim..]));
            Ok(())
        }
        Arms::Flat(numbers) => {
            let rows = numbers.chunks_exact(dim + own);
            let rest = rows.remainder().len();
            if rest > 0 {
                return Err(ArmError::Dimension { which: "(in all)", expected: dim + own, got: rest }.into());
            }
            buffer.features.fill(dim, rows.clone().map(|row| &row[..dim]));
            buffer.local.fill(own, rows.map(|row| &row[dim..]));
            Ok(())
        }
    }
}
