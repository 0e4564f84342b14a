#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod params;
mod rules;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use params::{Model, Params, Valid};
pub use server::Server;

use cahoots_core::{Algorithm, ParamError, Seat, Setting, Traffic};

use crate::kit::arms::ArmMsg;

/// Signal, server to client: it takes part from this phase on.
const ADMIT: u32 = 1;

/// Federated bandits whose clients are a sample, admitted a few at a time.
pub struct Fed2Ucb;

impl Algorithm for Fed2Ucb {
    const NAME: &'static str = "fed2-ucb";
    const SUMMARY: &'static str = "finds the arm that is best for a population by admitting clients phase by phase; sure of rewards and of the sample (Shi and Shen 2021)";
    const MEMBERSHIP: &'static str = "A phase waits for as many clients as its schedule admits, and for the means of all of them; with \
         `deadline` (from the first answer on) it goes on once that has come and `quorum` is reached, with a bound for \
         those who answered. A late client is told with everyone which arms are left, and adds the new phase's pulls to \
         those it still owes. Whoever is admitted and leaves is not waited for, and another is admitted in its place; one \
         that comes back waits to be admitted anew.";
    const LEAST: &'static str = r#"{ "client_spread": 0.1 }"#;
    type Params = Params;
    type Valid = Valid;
    type Msg = ArmMsg;
    type Client = Client;
    type Server = Server;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        params.check(setting)
    }

    /// C each time a client communicates.
    fn cost(valid: &Valid, traffic: &Traffic) -> f64 {
        valid.rules.communication_loss * traffic.uploads as f64
    }

    /// The global model alone.
    fn personalization(_valid: &Valid) -> Option<f64> {
        Some(0.0)
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
