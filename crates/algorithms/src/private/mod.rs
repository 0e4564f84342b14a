#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod gathering;
mod group;
mod grouping;
mod message;
#[cfg(test)]
pub(crate) mod miniature;
mod params;
pub(crate) mod rules;
mod server;
mod stream;
#[cfg(test)]
mod tests;
mod weighing;

pub use client::Silo;
pub use message::{Body, Part, PrivateMsg, Shared, Summed};
pub use params::{Decide, PrivateFclubParams, PrivateLinucbParams, PrivateParams, Trust};
pub use rules::{Rules, Valid};
pub use server::Merger;

use cahoots_core::{Algorithm, Claim, ParamError, Seat, Seating, Setting, Unit};

/// One algorithm of the family: its name, its keys, and what becomes of them.
macro_rules! family {
    ($(#[$doc:meta])* $name:ident, $key:literal, $summary:literal, $params:ty, |$p:ident, $setting:ident| $check:expr) => {
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
            type Valid = $crate::private::Valid;
            type Msg = $crate::private::PrivateMsg;
            type Client = $crate::private::Silo;
            type Server = $crate::private::Merger;

            fn check($p: $params, $setting: &Setting) -> Result<Self::Valid, ParamError> {
                $check
            }

            fn privacy(valid: &Self::Valid) -> Option<Claim> {
                Some(valid.claim())
            }

            fn unit(valid: &Self::Valid) -> Unit {
                valid.rules.unit
            }

            fn clips(valid: &Self::Valid) -> Option<(f64, f64)> {
                Some(valid.rules.rewards.range)
            }

            fn prior_kind(_valid: &Self::Valid) -> Result<String, String> {
                Err("what it promises is about what its own clients release, with noise that is known; sums from elsewhere are \
                     no part of that"
                    .into())
            }

            fn seats(_valid: &Self::Valid, _setting: &Setting) -> Seating {
                Seating::PerHost
            }

            fn alone(valid: &Self::Valid, _seat: &Seat) -> Option<cahoots_core::Alone> {
                valid.alone
            }

            fn takes_masks(_valid: &Self::Valid) -> bool {
                true
            }

            fn client(valid: &Self::Valid, seat: &Seat) -> Self::Client {
                Self::Client::new(valid, seat)
            }

            fn server(valid: &Self::Valid, _seat: &Seat) -> Self::Server {
                Self::Server::new(valid)
            }
        }
    };
}

pub(crate) use family;

family!(
    /// All users are alike.
    PrivateLinucb, "private-linucb",
    "sums with noise, released at public times; all users alike, decisions aware of the noise",
    PrivateLinucbParams, |params, setting| params.private.check(None, setting)
);
family!(
    /// Users are told apart by what was released of them.
    PrivateFclub, "private-fclub",
    "the same for users of several kinds, told apart by released sums alone",
    PrivateFclubParams, |params, setting| {
        params.private.check(Some((params.separation, params.certainty)), setting)
    }
);
