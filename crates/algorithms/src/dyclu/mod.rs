#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod learner;
mod params;
#[cfg(test)]
mod tests;

pub use crate::kit::clusters::ChosenFor;
pub use learner::Dynamic;
pub use params::{Params, Valid};

use cahoots_core::{Algorithm, ParamError, Seat, Seating, Setting, Silence, Silent};

/// One central learner that clusters users at every step and notices when they change.
pub struct Dyclu;

impl Algorithm for Dyclu {
    const NAME: &'static str = "dyclu";
    const SUMMARY: &'static str = "central: a neighbourhood of similar users for each, renewed at every step, with a change detector (Li, Wu and Wang 2021)";
    const MEMBERSHIP: &'static str = crate::kit::ALONE;
    type Params = Params;
    type Valid = Valid;
    type Msg = Silence;
    type Client = Dynamic;
    type Server = Silent<Silence>;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        params.check(setting)
    }

    fn seats(_valid: &Valid, _setting: &Setting) -> Seating {
        Seating::Central
    }

    fn takes_masks(_valid: &Valid) -> bool {
        true
    }

    fn client(valid: &Valid, _seat: &Seat) -> Dynamic {
        Dynamic::new(valid)
    }

    fn server(_valid: &Valid, _seat: &Seat) -> Silent<Silence> {
        Silent::default()
    }
}
