//! The arms of one decision. An [`ArmSet`] is never empty, always finite and of
//! the dimensions that its seat expects: learners need not check again.

use std::sync::Arc;

use cahoots_kernel::{LARGEST, Tiles};
use smallvec::SmallVec;

use crate::contract::setting::Seat;
use crate::ids::ArmIndex;
use crate::rng::Stream;

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
    /// NaN, infinite, or too large to learn from.
    #[error(
        "an arm has a feature that is no number, or larger than {LARGEST:e}: features that can be learned from lie \
         within that bound, and best between -1 and 1 (scale dates and amounts)"
    )]
    Unusable,
    /// Longer than the terms allow.
    #[error(
        "an arm has features of norm {got}, where this federation's terms allow {most} (`context_norm`): scale them as the \
         others do, or what is learned from them will not be merged"
    )]
    TooLong {
        /// What was offered.
        got: String,
        /// What the terms say.
        most: String,
    },
    /// A list beside the arms that is not as long as they are.
    #[error("{got} {what} for {arms} arms: give one for each")]
    Unlike {
        /// Names or masks.
        what: &'static str,
        /// How many came.
        got: usize,
        /// For how many arms.
        arms: usize,
    },
    /// Nothing can be chosen.
    #[error("all arms are masked: leave at least one that can be chosen")]
    AllMasked,
    /// A mask where an algorithm needs all its arms.
    #[error(
        "this algorithm needs every arm at every decision and cannot leave out masked ones: offer all of them"
    )]
    NoMasks,
}

/// What an app calls an arm.
pub type ArmName = Arc<str>;

/// Reusable storage for the arms of one decision, in SIMD order. Whoever offers arms fills it; what a learner
/// sees is an [`ArmSet`], which has been checked.
///
/// ```
/// use cahoots_core::{ArmBuffer, ArmIndex, NodeId, Seating, Setting};
///
/// let seat = Seating::PerUser.seat(&Setting::linear(3, 2, 2), NodeId(0));
/// let mut offered = ArmBuffer::default();
/// offered.features.reset(2);
/// offered.features.push(&[1.0, 0.0]);
/// offered.features.push(&[0.6, 0.8]);
/// let arms = offered.arm_set(&seat).unwrap();
/// assert_eq!(arms.len(), 2);
/// assert_eq!(arms.context(ArmIndex(1)).as_slice(), [0.6, 0.8]);
///
/// offered.features.push(&[f64::NAN, 0.0]);
/// assert!(offered.arm_set(&seat).is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct ArmBuffer {
    /// Features that all clients share; empty for K-armed settings.
    pub features: Tiles,
    /// Features that only this client has; empty where there are none.
    pub local: Tiles,
    /// Arms without features (K-armed settings).
    pub plain: usize,
    /// Names of the arms, where they have any.
    pub names: Vec<ArmName>,
    /// Which arms cannot be chosen this time; empty where all can.
    pub masked: Vec<bool>,
}

impl ArmBuffer {
    /// Checks the arms against what a seat expects.
    pub fn arm_set(&self, seat: &Seat) -> Result<ArmSet<'_>, ArmError> {
        let mut set = self.featured(seat)?;
        let beside = |what, got: usize| {
            if got == 0 || got == set.len {
                Ok(())
            } else {
                Err(ArmError::Unlike { what, got, arms: set.len })
            }
        };
        beside("names", self.names.len())?;
        beside("masks", self.masked.len())?;
        set.names = &self.names;
        if self.masked.contains(&true) {
            if !seat.masks {
                return Err(ArmError::NoMasks);
            }
            if !self.masked.contains(&false) {
                return Err(ArmError::AllMasked);
            }
            set.masked = &self.masked;
        }
        Ok(set)
    }

    /// From now on only this arm can be chosen; gives the masks of before.
    pub fn mask_all_but(&mut self, arm: ArmIndex) -> Vec<bool> {
        let len = if self.features.is_empty() { self.plain } else { self.features.len() };
        let masks = (0..len).map(|other| other != arm.index()).collect();
        std::mem::replace(&mut self.masked, masks)
    }

    /// All features of an arm: the shared ones, then the client's own.
    pub fn row(&self, arm: ArmIndex) -> Context {
        let own = (!self.local.is_empty()).then(|| self.local.row(arm.index()));
        self.features.row(arm.index()).chain(own.into_iter().flatten()).collect()
    }

    fn featured(&self, seat: &Seat) -> Result<ArmSet<'_>, ArmError> {
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
            if !tiles.is_usable() {
                return Err(ArmError::Unusable);
            }
            match seat.context_norm.and_then(|most| Some((longest(tiles, most)?, most))) {
                Some((got, most)) => Err(ArmError::TooLong { got: got.to_string(), most: most.to_string() }),
                None => Ok(()),
            }
        };
        fits("global", &self.features, seat.dim)?;
        let shared = ArmSet { features: Some(&self.features), ..ArmSet::of(self.features.len()) };
        if seat.local_dim == 0 {
            return Ok(shared);
        }
        fits("local", &self.local, seat.local_dim)?;
        if self.local.len() != self.features.len() {
            return Err(ArmError::Dimension {
                which: "local",
                expected: self.features.len(),
                got: self.local.len(),
            });
        }
        Ok(ArmSet { local: Some(&self.local), ..shared })
    }
}

/// The norm of the first arm that is longer than `most` by more than rounding.
fn longest(tiles: &Tiles, most: f64) -> Option<f64> {
    let norms = (0..tiles.len()).map(|arm| tiles.row(arm).map(|x| x * x).sum::<f64>().sqrt());
    norms.into_iter().find(|norm| *norm > most * (1.0 + 1e-9))
}

/// The arms of one decision, checked.
#[derive(Clone, Copy, Debug)]
pub struct ArmSet<'a> {
    len: usize,
    features: Option<&'a Tiles>,
    local: Option<&'a Tiles>,
    names: &'a [ArmName],
    masked: &'a [bool],
}

impl<'a> ArmSet<'a> {
    fn of(len: usize) -> ArmSet<'a> {
        ArmSet { len, features: None, local: None, names: &[], masked: &[] }
    }

    /// `len` arms without features.
    pub fn plain(len: usize) -> Result<ArmSet<'a>, ArmError> {
        if len == 0 { Err(ArmError::Empty) } else { Ok(ArmSet::of(len)) }
    }

    /// Arms with shared features alone, none of them masked.
    pub fn featured(features: &'a Tiles) -> Result<ArmSet<'a>, ArmError> {
        match features {
            none if none.is_empty() => Err(ArmError::Empty),
            some if some.is_usable() => Ok(ArmSet { features: Some(some), ..ArmSet::of(some.len()) }),
            _ => Err(ArmError::Unusable),
        }
    }

    /// Number of arms, at least one.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether an arm can be chosen. Seats whose algorithm takes no masks are only ever offered arms that can.
    pub fn is_open(&self, arm: ArmIndex) -> bool {
        !self.masked.get(arm.index()).copied().unwrap_or(false)
    }

    /// Which arms cannot be chosen; `None` where all can.
    pub fn masked(&self) -> Option<&'a [bool]> {
        (!self.masked.is_empty()).then_some(self.masked)
    }

    /// Which arms can be chosen, as the kernel wants to know; `None` where all can.
    pub(crate) fn offered(&self) -> Option<Vec<bool>> {
        self.masked().map(|masked| masked.iter().map(|masked| !masked).collect())
    }

    /// Number of arms that can be chosen, at least one.
    pub fn open(&self) -> usize {
        self.len - self.masked.iter().filter(|masked| **masked).count()
    }

    /// Any arm that can be chosen, each as likely.
    pub fn draw(&self, rng: &mut Stream) -> ArmIndex {
        let nth = rng.below(self.open() as u64) as usize;
        if self.masked.is_empty() {
            return ArmIndex(nth as u32);
        }
        let mut open = (0..self.len as u32).map(ArmIndex).filter(|arm| self.is_open(*arm));
        open.nth(nth).expect("as many as were counted")
    }

    /// What an app calls an arm, if it said so.
    pub fn name(&self, arm: ArmIndex) -> Option<&'a ArmName> {
        self.names.get(arm.index())
    }

    /// Shared features. Linear learners are only ever seated where there are some.
    pub fn features(&self) -> &'a Tiles {
        self.features.expect("a linear learner was seated in a K-armed setting")
    }

    /// The same arms with other features.
    pub fn with_features<'b>(&self, features: &'b Tiles) -> ArmSet<'b>
    where
        'a: 'b,
    {
        ArmSet { features: Some(features), ..*self }
    }

    /// Features of this client alone, where there are any.
    pub fn local(&self) -> Option<&'a Tiles> {
        self.local
    }

    /// Shared features of one arm.
    pub fn context(&self, arm: ArmIndex) -> Context {
        self.features().row(arm.index()).collect()
    }

    /// Local features of one arm (none where there are none).
    pub fn local_context(&self, arm: ArmIndex) -> Context {
        self.local.map_or_else(Context::new, |tiles| tiles.row(arm.index()).collect())
    }
}
