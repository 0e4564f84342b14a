//! The arms of one decision. An [`ArmSet`] is never empty, always finite and of
//! the dimensions that its seat expects: learners need not check again.

use cahoots_kernel::Tiles;
use smallvec::SmallVec;

use crate::ids::ArmIndex;
use crate::setting::Seat;

/// Features of one arm. Short ones need no allocation.
pub type Context = SmallVec<[f64; 26]>;

/// Arms that cannot be offered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArmError {
    /// No arms.
    #[error("no arms to choose from: offer at least one")]
    Empty,
    /// Wrong number of features.
    #[error("arms with {got} {which} features where {expected} are expected")]
    Dimension {
        /// Global or local.
        which: &'static str,
        /// What the seat expects.
        expected: usize,
        /// What was offered.
        got: usize,
    },
    /// NaN or infinite.
    #[error("an arm has a feature that is not a finite number")]
    NotFinite,
}

/// Reusable storage for the arms of one decision, in SIMD order.
#[derive(Clone, Debug, Default)]
pub struct ArmBuffer {
    /// Features that all clients share; empty for K-armed settings.
    pub features: Tiles,
    /// Features that only this client has; empty where there are none.
    pub local: Tiles,
    /// Arms without features (K-armed settings).
    pub plain: usize,
}

impl ArmBuffer {
    /// Checks the arms against what a seat expects.
    pub fn arm_set(&self, seat: &Seat) -> Result<ArmSet<'_>, ArmError> {
        if seat.dim == 0 {
            return ArmSet::plain(self.plain);
        }
        if self.features.is_empty() {
            return Err(ArmError::Empty);
        }
        let fits = |which, tiles: &Tiles, expected| {
            if tiles.dim() != expected {
                return Err(ArmError::Dimension { which, expected, got: tiles.dim() });
            }
            if tiles.is_finite() { Ok(()) } else { Err(ArmError::NotFinite) }
        };
        fits("global", &self.features, seat.dim)?;
        if seat.local_dim == 0 {
            return Ok(ArmSet { len: self.features.len(), features: Some(&self.features), local: None });
        }
        fits("local", &self.local, seat.local_dim)?;
        if self.local.len() != self.features.len() {
            return Err(ArmError::Dimension {
                which: "local",
                expected: self.features.len(),
                got: self.local.len(),
            });
        }
        let (features, local) = (Some(&self.features), Some(&self.local));
        Ok(ArmSet { len: self.features.len(), features, local })
    }
}

/// The arms of one decision, checked.
#[derive(Clone, Copy, Debug)]
pub struct ArmSet<'a> {
    len: usize,
    features: Option<&'a Tiles>,
    local: Option<&'a Tiles>,
}

impl<'a> ArmSet<'a> {
    /// `len` arms without features.
    pub fn plain(len: usize) -> Result<ArmSet<'static>, ArmError> {
        if len == 0 { Err(ArmError::Empty) } else { Ok(ArmSet { len, features: None, local: None }) }
    }

    /// Number of arms, at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Shared features. Linear learners are only ever seated where there are some.
    pub fn features(&self) -> &'a Tiles {
        self.features.expect("a linear learner was seated in a K-armed setting")
    }

    /// Features of this client alone, where there are any.
    pub fn local(&self) -> Option<&'a Tiles> {
        self.local
    }

    /// Shared features of one arm.
    pub fn context(&self, arm: ArmIndex) -> Context {
        row(self.features(), arm)
    }

    /// Local features of one arm (none where there are none).
    pub fn local_context(&self, arm: ArmIndex) -> Context {
        self.local.map_or_else(Context::new, |tiles| row(tiles, arm))
    }
}

fn row(tiles: &Tiles, arm: ArmIndex) -> Context {
    let mut context: Context = smallvec::smallvec![0.0; tiles.dim()];
    tiles.row_into(arm.index(), &mut context);
    context
}
