#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod gathering;
mod group;
mod grouping;
mod message;
mod params;
mod rules;
mod server;
mod stream;
#[cfg(test)]
mod tests;
mod weighing;

pub use client::Silo;
pub use message::{Body, Part, PrivateMsg, Shared, Summed};
pub use params::{Decide, GroupParams, PrivateFclubParams, PrivateLinucbParams, PrivateParams, Trust};
pub use rules::{Rules, Valid};
pub use server::Merger;

use cahoots_core::{Algorithm, Claim, ParamError, Seat, Seating, Setting, Unit};

/// One algorithm of the family: its name, its keys, and when users are told apart.
macro_rules! family {
    ($(#[$doc:meta])* $name:ident, $key:literal, $summary:literal, $params:ty, |$p:ident| $apart:expr) => {
        $(#[$doc])*
        pub struct $name;

        impl Algorithm for $name {
            const NAME: &'static str = $key;
            const SUMMARY: &'static str = $summary;
            const MEMBERSHIP: &'static str =
                "Clients release at public times. A round waits for all who are there, until half-way to the next \
                 release; who is late is part of the next round, and misses nothing, as releases hold all that came \
                 before. Of one that leaves, what was released stays; one that comes back with a fresh machine adds to \
                 it.";
            const LEAST: &'static str = r#"{ "dp_delta": 1e-5 }"#;
            type Params = $params;
            type Valid = Valid;
            type Msg = PrivateMsg;
            type Client = Silo;
            type Server = Merger;

            fn check($p: $params, setting: &Setting) -> Result<Valid, ParamError> {
                $p.private.check($apart, setting)
            }

            fn privacy(valid: &Valid) -> Option<Claim> {
                Some(valid.claim())
            }

            fn unit(valid: &Valid) -> Unit {
                valid.rules.unit
            }

            fn clips(valid: &Valid) -> Option<(f64, f64)> {
                Some(valid.rules.rewards.range)
            }

            fn seats(_valid: &Valid, _setting: &Setting) -> Seating {
                Seating::PerHost
            }

            fn takes_masks(_valid: &Valid) -> bool {
                true
            }

            fn client(valid: &Valid, seat: &Seat) -> Silo {
                Silo::new(valid, seat)
            }

            fn server(valid: &Valid, _seat: &Seat) -> Merger {
                Merger::new(valid)
            }
        }
    };
}

family!(
    /// All users are alike.
    PrivateLinucb, "private-linucb",
    "sums with noise, released at public times; all users alike, decisions aware of the noise",
    PrivateLinucbParams, |params| None
);
family!(
    /// Users are told apart by what was released of them.
    PrivateFclub, "private-fclub",
    "the same for users of several kinds, told apart by released sums alone",
    PrivateFclubParams, |params| Some((params.separation, params.certainty))
);
