#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

use cahoots_core::policy::PolicyKind;
use cahoots_core::{Algorithm, Alone, ParamError, Seat, Seating, Setting, Silence, Silent};

use crate::kit::linear::{AloneClient, LinearParams, LinearValid};

/// N-independent LinUCB.
pub struct LinucbAlone;

/// N-independent linear Thompson sampling.
pub struct LintsAlone;

/// One LinUCB for everyone.
pub struct LinucbShared;

impl Algorithm for LinucbAlone {
    const NAME: &'static str = "linucb-alone";
    const SUMMARY: &'static str = "one LinUCB per client, no communication";
    const MEMBERSHIP: &'static str = crate::kit::ALONE;
    type Params = LinearParams;
    type Valid = LinearValid;
    type Msg = Silence;
    type Client = AloneClient;
    type Server = Silent<Silence>;

    fn check(params: LinearParams, setting: &Setting) -> Result<LinearValid, ParamError> {
        params.check(setting)
    }

    fn alone(valid: &LinearValid, _seat: &Seat) -> Option<Alone> {
        valid.alone()
    }

    fn takes_masks(_valid: &LinearValid) -> bool {
        true
    }

    fn client(valid: &LinearValid, _seat: &Seat) -> AloneClient {
        AloneClient::new(valid)
    }

    fn server(_valid: &LinearValid, _seat: &Seat) -> Silent<Silence> {
        Silent::default()
    }
}

impl Algorithm for LintsAlone {
    const NAME: &'static str = "lints-alone";
    const SUMMARY: &'static str = "one linear Thompson sampler per client, no communication";
    const MEMBERSHIP: &'static str = crate::kit::ALONE;
    type Params = LinearParams;
    type Valid = LinearValid;
    type Msg = Silence;
    type Client = AloneClient;
    type Server = Silent<Silence>;

    fn check(mut params: LinearParams, setting: &Setting) -> Result<LinearValid, ParamError> {
        if !matches!(params.policy, PolicyKind::LinUcb | PolicyKind::LinTs) {
            return Err(ParamError::new("policy", "lints-alone is always lints: leave the key out"));
        }
        params.policy = PolicyKind::LinTs;
        params.check(setting)
    }

    fn alone(valid: &LinearValid, _seat: &Seat) -> Option<Alone> {
        valid.alone()
    }

    fn takes_masks(_valid: &LinearValid) -> bool {
        true
    }

    fn client(valid: &LinearValid, _seat: &Seat) -> AloneClient {
        AloneClient::new(valid)
    }

    fn server(_valid: &LinearValid, _seat: &Seat) -> Silent<Silence> {
        Silent::default()
    }
}

impl Algorithm for LinucbShared {
    const NAME: &'static str = "linucb-shared";
    const SUMMARY: &'static str =
        "one central LinUCB that sees all data: what federation could reach at best";
    const MEMBERSHIP: &'static str = crate::kit::ALONE;
    type Params = LinearParams;
    type Valid = LinearValid;
    type Msg = Silence;
    type Client = AloneClient;
    type Server = Silent<Silence>;

    fn check(params: LinearParams, setting: &Setting) -> Result<LinearValid, ParamError> {
        params.check(setting)
    }

    fn seats(_valid: &LinearValid, _setting: &Setting) -> Seating {
        Seating::Central
    }

    fn takes_masks(_valid: &LinearValid) -> bool {
        true
    }

    fn client(valid: &LinearValid, _seat: &Seat) -> AloneClient {
        AloneClient::new(valid)
    }

    fn server(_valid: &LinearValid, _seat: &Seat) -> Silent<Silence> {
        Silent::default()
    }
}
