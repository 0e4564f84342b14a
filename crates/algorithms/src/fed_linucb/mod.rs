#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod params;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use params::{Params, Valid};
pub use server::Server;

use cahoots_core::{Algorithm, Alone, ParamError, Prior, Seat, Setting};

use crate::kit::linear::LinearMsg;

/// A client synchronises with the server alone, when its own data have grown.
pub struct FedLinucb;

impl Algorithm for FedLinucb {
    const NAME: &'static str = "fed-linucb";
    const SUMMARY: &'static str =
        "a client synchronises alone when its own data have grown (He, Wang, Min and Gu 2022, FedLinUCB)";
    const MEMBERSHIP: &'static str = "Nobody waits for anybody, and nobody is sent anything but as the answer to its own upload: \
         a client may be unreachable for any time in between. What comes late is merged when it comes. What a client that \
         leaves has uploaded stays merged. A client that joins late or comes back starts from nothing and is sent the \
         merged data with its first synchronisation; its uploads count from 1 again.";
    type Params = Params;
    type Valid = Valid;
    type Msg = LinearMsg;
    type Client = Client;
    type Server = Server;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        params.check(setting)
    }

    const CHANGEABLE: &'static [&'static str] = &["upload_ratio"];

    fn change_client(valid: &Valid, client: &mut Client) {
        client.change(valid);
    }

    fn alone(valid: &Valid, _seat: &Seat) -> Option<Alone> {
        valid.linear.alone()
    }

    fn takes_masks(_valid: &Valid) -> bool {
        true
    }

    fn prior_kind(_valid: &Valid) -> Result<String, String> {
        Ok(Prior::LINEAR.into())
    }

    fn client(valid: &Valid, seat: &Seat) -> Client {
        Client::new(valid, seat)
    }

    fn server(valid: &Valid, _seat: &Seat) -> Server {
        Server::new(valid)
    }
}
