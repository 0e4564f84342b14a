//! Which instructions to use, and which arithmetic that makes.
//!
//! Snapshots record the [`Profile`], not the [`Level`]: state may move between levels of one profile
//! without changing a bit.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

/// What arithmetic state was computed with; recorded in snapshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Profile {
    /// Fused multiply-add: scalar, AVX2 and AVX-512 hosts, all with the same bits.
    Fma,
    /// Separate multiply and add, for hosts whose fused multiply-add would run in software.
    Plain,
}

/// The profile of [`Level::best`], which every operation without an explicit level uses.
pub fn profile() -> Profile {
    Level::best().profile()
}

/// How the operations are dispatched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Separate multiply and add; runs everywhere, has its own bits.
    Plain,
    /// `f64::mul_add`; runs everywhere, slow where the host lacks fused multiply-add.
    Scalar,
    /// AVX2 with FMA, four lanes to a register.
    Avx2,
    /// AVX-512 (F, DQ, VL), eight lanes to a register.
    Avx512,
}

impl Level {
    /// The fastest level of this host, detected once.
    #[inline]
    pub fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(detect)
    }

    /// The levels that run on this host, slowest first.
    pub fn available() -> Vec<Level> {
        [Level::Plain, Level::Scalar, Level::Avx2, Level::Avx512]
            .into_iter()
            .filter(|level| level.is_available())
            .collect()
    }

    /// Whether this host can run the level.
    #[inline]
    pub fn is_available(self) -> bool {
        match self {
            Level::Plain | Level::Scalar => true,
            Level::Avx2 => matches!(Level::best(), Level::Avx2 | Level::Avx512),
            Level::Avx512 => Level::best() == Level::Avx512,
        }
    }

    /// The arithmetic of the level.
    pub fn profile(self) -> Profile {
        match self {
            Level::Plain => Profile::Plain,
            Level::Scalar | Level::Avx2 | Level::Avx512 => Profile::Fma,
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn detect() -> Level {
    use crate::simd::x86::{Avx2, Avx512};
    if Avx512::detect().is_some() {
        Level::Avx512
    } else if Avx2::detect().is_some() {
        Level::Avx2
    } else {
        Level::Plain
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn detect() -> Level {
    // These have fused multiply-add in their base instruction set.
    if cfg!(any(target_arch = "aarch64", target_arch = "powerpc64", target_arch = "s390x")) {
        Level::Scalar
    } else {
        Level::Plain
    }
}
