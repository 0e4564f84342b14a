//! What may leave a client: a statistic that went through a mechanism. The
//! fields of an upload have type [`Private`], so leaving a release out is a type
//! error. A mechanism may be [`Unprotected`]; then that is on the record.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::rng::Stream;

/// A statistic that has been released by a mechanism, or that came from a peer
/// who released it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Private<S>(S);

impl<S> Private<S> {
    pub(crate) fn released(value: S) -> Self {
        Private(value)
    }

    /// What a peer sent. Only message decoding calls this.
    pub fn received(value: S) -> Self {
        Private(value)
    }

    /// The released value.
    pub fn get(&self) -> &S {
        &self.0
    }

    /// The released value, owned.
    pub fn into_inner(self) -> S {
        self.0
    }

    /// Whatever is computed from released values alone is released too (post-processing).
    pub fn process<T>(released: Vec<Private<S>>, compute: impl FnOnce(Vec<S>) -> T) -> Private<T> {
        Private(compute(released.into_iter().map(Private::into_inner).collect()))
    }
}

/// How a statistic is made fit to leave its client.
pub trait Mechanism<S> {
    /// The released form of `exact`. All randomness comes from `noise`.
    fn release(&mut self, exact: S, noise: &mut Stream) -> S;
    /// What the accountant writes down.
    fn fact(&self) -> ReleaseFact;
}

/// One release, for the accountant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseFact {
    /// Name of the mechanism.
    pub mechanism: Cow<'static, str>,
    /// Scale of the noise.
    pub scale: f64,
    /// How far one protected unit can move the exact value.
    pub sensitivity: f64,
    /// What one unit is (one reward, one observation).
    pub unit: Cow<'static, str>,
    /// Who sees the release.
    pub observer: Cow<'static, str>,
    /// The law of the noise.
    pub noise: Noise,
    /// How it adds to what this machine has released before.
    pub composition: Composition,
}

/// The law of a release's noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Noise {
    /// None at all.
    None,
    /// Laplace, with scale b.
    Laplace,
    /// Gaussian, with standard deviation sigma.
    Gaussian,
}

/// How a release adds to the others of the same machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Composition {
    /// The same unit may be in this one and in the others: losses add up.
    Adds,
    /// A unit is in at most one release of this kind: the largest loss counts.
    Disjoint,
    /// Its noise belongs to a mechanism that is on record already (a node of a tree): no further loss.
    Covered,
}

/// What an algorithm claims about the data of its users, before the accountant has its say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// The epsilon that was asked for.
    pub epsilon: f64,
    /// The delta at which the loss is stated; 0 for pure differential privacy.
    pub delta: f64,
    /// How noise and guarantee belong together.
    pub calibration: Cow<'static, str>,
    /// What the guarantee leaves out, in plain words.
    pub not_protected: Vec<Cow<'static, str>>,
}

/// No noise: the statistic leaves as it is, and the record says so.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Unprotected;

impl<S> Mechanism<S> for Unprotected {
    fn release(&mut self, exact: S, _noise: &mut Stream) -> S {
        exact
    }

    fn fact(&self) -> ReleaseFact {
        ReleaseFact {
            mechanism: "none".into(),
            scale: 0.0,
            sensitivity: f64::INFINITY,
            unit: "one observation".into(),
            observer: "the server".into(),
            noise: Noise::None,
            composition: Composition::Adds,
        }
    }
}
