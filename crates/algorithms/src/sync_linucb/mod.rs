#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod params;
mod server;
#[cfg(test)]
mod tests;

pub use client::Client;
pub use params::{NamedThreshold, Params, Serve, SyncThreshold, Valid};
pub use server::Server;

use cahoots_core::{Algorithm, Alone, ParamError, Prior, Seat, Setting};

use crate::kit::linear::LinearMsg;

/// All clients exchange everything when one of them has learned enough.
pub struct SyncLinucb;

impl Algorithm for SyncLinucb {
    const NAME: &'static str = "sync-linucb";
    const SUMMARY: &'static str = "event-triggered synchronisation of all clients (Li and Wang 2022, Algorithm 4; DisLinUCB, Wang et al. 2019)";
    const MEMBERSHIP: &'static str = "A round waits for all who have been seen; with `deadline` it goes on once that has come and \
         `quorum` is reached. A late upload is merged when it comes, and its sender was sent the sum \
         meanwhile. A client that leaves is not waited for and what it uploaded stays merged; one \
         that joins late or comes back takes part from the next round on, with its uploads counted \
         from 1.";
    type Params = Params;
    type Valid = Valid;
    type Msg = LinearMsg;
    type Client = Client;
    type Server = Server;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        params.check(setting)
    }

    const CHANGEABLE: &'static [&'static str] = &["sync_threshold"];

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
