#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

#[expect(clippy::module_inception, reason = "the folder is named after the first of its two algorithms")]
mod club;
mod cohort;
mod params;
mod sclub;
#[cfg(test)]
mod tests;

pub use club::Club;
pub use params::{ClubParams, SclubParams, Valid};
pub use sclub::Sclub;

use cahoots_core::{Algorithm, ParamError, Seat, Seating, Setting, Silence, Silent};

/// CLUB at each local server.
pub struct LocalClub;

/// SCLUB at each local server.
pub struct LocalSclub;

impl Algorithm for LocalClub {
    const NAME: &'static str = "club";
    const SUMMARY: &'static str =
        "each local server clusters its own users by deleting edges (Gentile et al. 2014), no communication";
    const MEMBERSHIP: &'static str = crate::kit::ALONE;
    type Params = ClubParams;
    type Valid = Valid;
    type Msg = Silence;
    type Client = Club;
    type Server = Silent<Silence>;

    fn check(params: ClubParams, setting: &Setting) -> Result<Valid, ParamError> {
        params.check(setting)
    }

    fn seats(_valid: &Valid, _setting: &Setting) -> Seating {
        Seating::PerHost
    }

    fn takes_masks(_valid: &Valid) -> bool {
        true
    }

    fn client(valid: &Valid, seat: &Seat) -> Club {
        Club::new(valid, seat)
    }

    fn server(_valid: &Valid, _seat: &Seat) -> Silent<Silence> {
        Silent::default()
    }
}

impl Algorithm for LocalSclub {
    const NAME: &'static str = "sclub";
    const SUMMARY: &'static str =
        "each local server splits and merges sets of its own users (Li et al. 2019), no communication";
    const MEMBERSHIP: &'static str = crate::kit::ALONE;
    type Params = SclubParams;
    type Valid = Valid;
    type Msg = Silence;
    type Client = Sclub;
    type Server = Silent<Silence>;

    fn check(params: SclubParams, setting: &Setting) -> Result<Valid, ParamError> {
        params.check(setting)
    }

    fn seats(_valid: &Valid, _setting: &Setting) -> Seating {
        Seating::PerHost
    }

    fn takes_masks(_valid: &Valid) -> bool {
        true
    }

    fn client(valid: &Valid, seat: &Seat) -> Sclub {
        Sclub::new(valid, seat)
    }

    fn server(_valid: &Valid, _seat: &Seat) -> Silent<Silence> {
        Silent::default()
    }
}
