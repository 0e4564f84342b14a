#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod alternate;
mod client;
mod params;
#[cfg(test)]
mod tests;
mod warm_up;

pub use client::Client;
pub use params::{Params, Valid};

use cahoots_core::{Algorithm, Alone, ParamError, Seat, Setting};

use crate::async_linucb::Server;
use crate::kit::linear::LinearMsg;

/// A global component learned together, a local one learned alone.
pub struct AsyncLinucbAm;

impl Algorithm for AsyncLinucbAm {
    const NAME: &'static str = "async-linucb-am";
    const SUMMARY: &'static str =
        "async-linucb for clients that share only part of their model (Li and Wang 2022, Algorithms 3 and 5)";
    const MEMBERSHIP: &'static str = crate::async_linucb::AsyncLinucb::MEMBERSHIP;
    type Params = Params;
    type Valid = Valid;
    type Msg = LinearMsg;
    type Client = Client;
    type Server = Server;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        params.check(setting)
    }

    const CHANGEABLE: &'static [&'static str] = &["ratio", "upload_ratio", "download_ratio"];

    fn change_client(valid: &Valid, client: &mut Client) {
        client.change(valid);
    }

    fn change_server(valid: &Valid, server: &mut Server) {
        server.change(&valid.shared);
    }

    /// State 0 for ever: LinUCB on stacked features. Two parameters of length 1 have length sqrt 2 together.
    fn alone(valid: &Valid, seat: &Seat) -> Option<Alone> {
        let alone = Alone::new(warm_up::stacked_policy(valid, seat), valid.ridge());
        alone.map(|alone| alone.with_norm(std::f64::consts::SQRT_2))
    }

    fn takes_masks(_valid: &Valid) -> bool {
        true
    }

    /// Partial rewards are what is left for the global component: no log has them, and no other algorithm.
    fn prior_kind(_valid: &Valid) -> Result<String, String> {
        Ok("linear-global".into())
    }

    fn client(valid: &Valid, seat: &Seat) -> Client {
        Client::new(valid, seat)
    }

    fn server(valid: &Valid, _seat: &Seat) -> Server {
        Server::new(&valid.shared)
    }
}
