#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod member;
mod params;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use params::{Params, Partners, Valid};
pub use server::Server;

use cahoots_core::{Algorithm, Alone, ParamError, Seat, Setting};

use crate::kit::linear::LinearMsg;

/// Clusters of similar clients, of whom each is served when it asks.
pub struct HetofedAsync;

impl Algorithm for HetofedAsync {
    const NAME: &'static str = "hetofed-async";
    const SUMMARY: &'static str = "clusters of similar clients, each client served when it asks (the open question of Blaser, Li and Wang 2024)";
    const MEMBERSHIP: &'static str = "Nobody waits for anybody: a client that asks is given at once what those that are like it \
         have uploaded so far, and nobody else is asked or written to. What a client that leaves has \
         uploaded stays with those that are like it. One that joins late explores first, then finds \
         its clusters; one that comes back is told them and given its old data with theirs at once, \
         explores no more, and counts its uploads from 1.";
    type Params = Params;
    type Valid = Valid;
    type Msg = LinearMsg;
    type Client = Client;
    type Server = Server;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        params.check(setting)
    }

    const CHANGEABLE: &'static [&'static str] = &["sync_threshold", "upload_ratio"];

    fn change_client(valid: &Valid, client: &mut Client) {
        client.change(valid);
    }

    fn alone(valid: &Valid, _seat: &Seat) -> Option<Alone> {
        valid.linear.alone()
    }

    fn takes_masks(_valid: &Valid) -> bool {
        true
    }

    fn client(valid: &Valid, seat: &Seat) -> Client {
        Client::new(valid, seat)
    }

    fn server(valid: &Valid, _seat: &Seat) -> Server {
        Server::new(valid)
    }
}
