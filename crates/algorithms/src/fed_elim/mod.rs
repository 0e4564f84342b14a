#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod params;
mod rules;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use params::{Communicate, Params, Play, Valid};
pub use server::Server;

use cahoots_core::{Algorithm, ParamError, Seat, Setting, Traffic};

use crate::kit::arms::ArmMsg;

/// Signal, client to server: its local best arm is found. It does not say which.
const FOUND: u32 = 1;

/// Federated best-arm identification.
pub struct FedElim;

impl Algorithm for FedElim {
    const NAME: &'static str = "fed-elim";
    const SUMMARY: &'static str = "finds every client's best arm and the best on average, with a stopping rule; communicates at powers of two (Reddy, Karthik and Tan 2022)";
    const MEMBERSHIP: &'static str = "A round of communication waits for all clients; with `deadline` (from the first answer on) it goes on once \
         that has come and `quorum` is reached, with the means of those who answered and a bound for as many. A late \
         client is told with everyone which arms are left, and goes on from where it is. A client that leaves is not \
         waited for, and the global answer is of those who stay; one that comes back explores from the start, and the \
         open round waits for it.";
    type Params = Params;
    type Valid = Valid;
    type Msg = ArmMsg;
    type Client = Client;
    type Server = Server;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        params.check(setting)
    }

    /// C for each number on an uplink; downlinks are free.
    fn cost(valid: &Valid, traffic: &Traffic) -> f64 {
        valid.communication_cost * traffic.upload_scalars as f64
    }

    fn personalization(valid: &Valid) -> Option<f64> {
        Some(match valid.rules.play {
            Play::Local => 1.0,
            Play::Global => 0.0,
        })
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
