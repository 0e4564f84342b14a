//! Algorithms whose learners exchange nothing: all that they have in common.

use std::marker::PhantomData;

use cahoots_core::{Algorithm, Learner, ParamError, Seat, Setting, Silence, Silent};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// [`Algorithm::MEMBERSHIP`] of those who exchange nothing.
pub const ALONE: &str = "Nobody waits for anybody: learners exchange nothing. One that comes back with a fresh machine starts from nothing.";

/// What is an algorithm's own, where its learners exchange nothing and leave out masked arms; [`Alone`] is the rest.
pub trait Solitary: 'static {
    /// [`Algorithm::NAME`].
    const NAME: &'static str;
    /// [`Algorithm::SUMMARY`].
    const SUMMARY: &'static str;
    /// [`Algorithm::BY_POSITION`].
    const BY_POSITION: bool = false;
    /// What a user writes.
    type Params: Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync;
    /// What has been checked.
    type Valid: Clone + Send + Sync;
    /// Who decides.
    type Client: Learner<Msg = Silence>;

    /// [`Algorithm::check`].
    fn check(params: Self::Params, setting: &Setting) -> Result<Self::Valid, ParamError>;

    /// [`Algorithm::client`].
    fn client(valid: &Self::Valid) -> Self::Client;

    /// [`Algorithm::models`].
    fn models(_valid: &Self::Valid, _setting: &Setting) -> usize {
        1
    }

    /// [`Algorithm::clips`].
    fn clips(_valid: &Self::Valid) -> Option<(f64, f64)> {
        None
    }
}

/// An algorithm of one learner per user, with a server that has nothing to do.
pub struct Alone<S>(PhantomData<S>);

impl<S: Solitary> Algorithm for Alone<S> {
    const NAME: &'static str = S::NAME;
    const SUMMARY: &'static str = S::SUMMARY;
    const MEMBERSHIP: &'static str = ALONE;
    const BY_POSITION: bool = S::BY_POSITION;
    type Params = S::Params;
    type Valid = S::Valid;
    type Msg = Silence;
    type Client = S::Client;
    type Server = Silent<Silence>;

    fn check(params: S::Params, setting: &Setting) -> Result<S::Valid, ParamError> {
        S::check(params, setting)
    }

    fn clips(valid: &S::Valid) -> Option<(f64, f64)> {
        S::clips(valid)
    }

    fn models(valid: &S::Valid, setting: &Setting) -> usize {
        S::models(valid, setting)
    }

    fn takes_masks(_valid: &S::Valid) -> bool {
        true
    }

    fn client(valid: &S::Valid, _seat: &Seat) -> S::Client {
        S::client(valid)
    }

    fn server(_valid: &S::Valid, _seat: &Seat) -> Silent<Silence> {
        Silent::default()
    }
}
