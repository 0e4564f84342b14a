#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod params;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use params::{NewClient, Params, Valid};
pub use server::Server;

use cahoots_core::{Algorithm, Alone, ParamError, Prior, Seat, Setting};

use crate::kit::linear::LinearMsg;

/// Event-triggered uploads and downloads, client by client.
pub struct AsyncLinucb;

impl Algorithm for AsyncLinucb {
    const NAME: &'static str = "async-linucb";
    const SUMMARY: &'static str =
        "event-triggered asynchronous uploads and downloads (Li and Wang 2022, Algorithms 1 and 2)";
    const MEMBERSHIP: &'static str = "Nobody waits for anybody: what comes late is merged when it comes. What a client that \
         leaves has uploaded stays merged, and it is sent nothing more. A client that joins late or \
         comes back starts from nothing and is sent the merged data when its download event is due \
         (at once with new_client = \"at-once\"); its uploads count from 1 again.";
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
        server.change(valid);
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
