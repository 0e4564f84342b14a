#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod params;
mod rules;
mod server;
#[cfg(test)]
mod tests;

pub use client::{Client, Taken};
pub use params::{Data, Params, Valid};
pub use server::Server;

use cahoots_core::{Algorithm, Alone, ParamError, Prior, Seat, Setting};

use crate::kit::linear::LinearMsg;

/// Inverse-gap weighting in epochs, by a model that is learned together.
pub struct FedIgw;

impl Algorithm for FedIgw {
    const NAME: &'static str = "fed-igw";
    const SUMMARY: &'static str = "inverse-gap weighting in epochs, by one model of the epoch before (Shi, Zhou, Yang and Shen 2024, FedIGW)";
    const MEMBERSHIP: &'static str = "An epoch ends when all clients that were there when the first of them was done with it are done; with \
         `deadline` it ends once that has come and `quorum` is reached. Then all upload what they have, those who were \
         not done too, and whoever does not answer by the deadline is left out: what it uploads late is part of the next \
         model. A client that leaves is not waited for and what it uploaded stays; one that joins late or comes back is \
         sent the present model at once, and no open epoch waits for it.";
    type Params = Params;
    type Valid = Valid;
    type Msg = LinearMsg;
    type Client = Client;
    type Server = Server;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        params.check(setting)
    }

    fn alone(valid: &Valid, _seat: &Seat) -> Option<Alone> {
        valid.linear.alone()
    }

    fn takes_masks(_valid: &Valid) -> bool {
        true
    }

    const CHANGEABLE: &'static [&'static str] = &["gap_weight", "longest_epoch"];

    fn change_client(valid: &Valid, client: &mut Client) {
        client.change(valid);
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
