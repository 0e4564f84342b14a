#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

pub mod bounds;
mod client;
mod known;
mod params;
mod rules;
mod server;
#[cfg(test)]
mod tests;
mod waiting;

pub use crate::kit::PhaseLengths;
pub use client::Client;
pub use params::{LossFactor, Params, Radius, Valid};
pub use server::Server;

use cahoots_core::{Algorithm, ParamError, Seat, Setting, Traffic};

use crate::kit::arms::ArmMsg;

/// Signal, client to server: exploration is done (the authors' code alone).
const READY: u32 = 1;

/// Signal, server to client: send the means as they are now (the authors' code alone).
const ASK: u32 = 2;

/// What a client uploads in a phase, in this order.
#[derive(Clone, Copy)]
enum Upload {
    Means,
    Gaps,
    Active,
}

impl Upload {
    /// Its number among all uploads of a client.
    fn number(self, phase: u64, enhanced: bool) -> u64 {
        let each = if enhanced { 3 } else { 2 };
        let place = match self {
            Upload::Means => 1,
            Upload::Gaps => 2,
            Upload::Active => each,
        };
        each * (phase - 1) + place
    }
}

/// Personalised federated UCB.
pub struct PfUcb;

/// The same, with lengths that follow the estimated gaps.
pub struct PfUcbEnhanced;

macro_rules! algorithm {
    ($algorithm:ty, $name:literal, $summary:literal, $enhanced:literal) => {
        impl Algorithm for $algorithm {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const MEMBERSHIP: &'static str =
                "A phase waits for all clients; with `deadline` (from the first answer on) it goes \
                 on once that has come and `quorum` is reached, with the means and sets of those who \
                 answered. Late answers are dropped, and their sender goes on with the next phase, \
                 keeping what it explored. A client that leaves is not waited for; one that comes \
                 back is told the present phase and takes part from there, its arms narrowed to \
                 those that are left.";
            type Params = Params;
            type Valid = Valid;
            type Msg = ArmMsg;
            type Client = Client;
            type Server = Server;

            fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
                params.check(setting, $enhanced)
            }

            /// C M T_c of Eq. (6).
            fn cost(valid: &Valid, traffic: &Traffic) -> f64 {
                valid.communication_loss * f64::from(valid.rules.clients) * traffic.rounds as f64
            }

            fn personalization(valid: &Valid) -> Option<f64> {
                Some(valid.rules.alpha)
            }

            fn prior_kind(_valid: &Valid) -> Result<String, String> {
                Err(crate::kit::arms::NO_PRIOR.into())
            }

            fn client(valid: &Valid, seat: &Seat) -> Client {
                Client::new(valid, seat)
            }

            fn server(valid: &Valid, _seat: &Seat) -> Server {
                Server::new(valid)
            }
        }
    };
}

algorithm!(
    PfUcb,
    "pf-ucb",
    "phases of global and local exploration, personalised elimination (Shi, Shen and Yang 2021)",
    false
);
algorithm!(
    PfUcbEnhanced,
    "pf-ucb-enhanced",
    "pf-ucb with exploration lengths that follow the estimated gaps (Shi, Shen and Yang 2021, Section 6)",
    true
);
