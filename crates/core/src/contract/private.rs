//! What may leave a client: a statistic that went through a mechanism. The
//! fields of an upload have type [`Private`], so leaving a release out is a type
//! error. A mechanism may be [`Unprotected`]; then that is on the record.
//!
//! There are four ways to have one, and no fifth: release it ([`Cx::release`](crate::Cx::release)), read it
//! from a peer's bytes ([`Arrived`] is made by the decoder alone), compute it from released values and public
//! ones ([`Private::process`]), or restore a snapshot of a machine that had it.

use std::borrow::Cow;
use std::cell::Cell;

use serde::{Deserialize, Deserializer, Serialize};

use crate::rng::Stream;

/// A statistic that has been released by a mechanism, or that came from a peer
/// who released it.
///
/// What is computed from released values is released too:
///
/// ```
/// use cahoots_core::{Cx, NodeId, Private, Unprotected};
///
/// let step = |cx: &mut Cx<'_, ()>| (cx.release(&mut Unprotected, 1.0), cx.release(&mut Unprotected, 2.5));
/// let ((one, other), effects) = Cx::rehearse(NodeId(0), 1, step);
/// assert_eq!(effects.facts.len(), 2, "each release is on record");
/// let sum = Private::process(one, vec![other], 10.0, |parts, scale| scale * parts.iter().sum::<f64>());
/// assert_eq!(*sum.get(), 35.0);
/// ```
///
/// Exact values cannot be passed off as released:
///
/// ```compile_fail
/// let forged = cahoots_core::Private(vec![1.0]);
/// ```
/// ```compile_fail
/// let forged = cahoots_core::Private::received(vec![1.0], cahoots_core::Arrived(()));
/// ```
/// ```compile_fail
/// let exact = vec![1.0];
/// // At least one released input, and a function that carries nothing else with it.
/// let forged = cahoots_core::Private::process(vec![], (), |_, ()| exact.clone());
/// ```
/// ```
/// let forged: Result<cahoots_core::Private<f64>, _> = serde_json::from_str("1.0");
/// assert!(forged.is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Private<S>(S);

/// Shows that a value was read from a peer's bytes: only the decoder makes one.
#[derive(Clone, Copy, Debug)]
pub struct Arrived(());

impl Arrived {
    pub(crate) const BY_DECODING: Arrived = Arrived(());
}

impl<S> Private<S> {
    pub(crate) fn released(value: S) -> Self {
        Private(value)
    }

    /// What a peer sent.
    pub fn received(value: S, _came: Arrived) -> Self {
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

    /// Whatever is computed from released values and public ones alone is released too (post-processing).
    /// `compute` is a plain function: it cannot bring anything exact with it.
    pub fn process<P, T>(
        first: Private<S>,
        others: Vec<Private<S>>,
        public: P,
        compute: fn(Vec<S>, P) -> T,
    ) -> Private<T> {
        let released = std::iter::once(first).chain(others).map(Private::into_inner).collect();
        Private(compute(released, public))
    }
}

thread_local! {
    /// Whether this thread is restoring a snapshot or decoding a message.
    static READING: Cell<bool> = const { Cell::new(false) };
}

/// Runs `restore`, inside which released values can be read back.
pub(crate) fn while_restoring<T>(restore: impl FnOnce() -> T) -> T {
    while_reading(restore)
}

/// Runs `decode`, inside which released values can be read from what a peer sent.
pub(crate) fn while_receiving<T>(_came: Arrived, decode: impl FnOnce() -> T) -> T {
    while_reading(decode)
}

fn while_reading<T>(read: impl FnOnce() -> T) -> T {
    struct Until(bool);
    impl Drop for Until {
        fn drop(&mut self) {
            READING.set(self.0);
        }
    }
    let _until = Until(READING.replace(true));
    read()
}

impl<'de, S: Deserialize<'de>> Deserialize<'de> for Private<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if !READING.get() {
            return Err(serde::de::Error::custom(
                "released values are read from snapshots and messages alone",
            ));
        }
        S::deserialize(deserializer).map(Private)
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

/// What one protected unit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// One decision and what came of it: whoever acts often is protected in each act, not in all of them together.
    #[default]
    Event,
    /// All that one user ever does.
    User,
}

impl Unit {
    /// What the unit of a [`ReleaseFact`] is.
    pub fn of(words: &str) -> Unit {
        if words.starts_with("one user") { Unit::User } else { Unit::Event }
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Unit::Event => "event",
            Unit::User => "user",
        })
    }
}

impl Claim {
    /// What makes the claim worth nothing to whoever does not trust its observer: that "anything" is among what it leaves out.
    pub fn void(&self) -> Option<&str> {
        self.not_protected.iter().map(AsRef::as_ref).find(|words: &&str| words.starts_with("anything"))
    }
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
