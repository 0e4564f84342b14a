#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod member;
mod params;
mod queue;
mod serve;
mod server;
#[cfg(test)]
mod tests;

pub use crate::kit::clusters::{
    Bound, Clusters, Doubling, Exploration, NamedBound, SyncThreshold, TestParams, Theory, Unit,
};
pub use client::Client;
pub use params::{Params, Sharing, Valid};
pub use server::Server;

use cahoots_core::{Algorithm, Alone, ParamError, Seat, Setting};
use serde::{Deserialize, Serialize};

use crate::kit::linear::LinearMsg;

/// What tells the four algorithms apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Variant {
    /// Serve first who has learned most, not who asked first.
    priority: bool,
    /// Estimate the clusters anew at every request, from all data.
    recluster: bool,
}

macro_rules! family {
    ($($(#[$doc:meta])* $type:ident, $name:literal, $summary:literal, $priority:literal, $recluster:literal;)*) => {$(
        $(#[$doc])*
        pub struct $type;

        impl Algorithm for $type {
            const NAME: &'static str = $name;
            const SUMMARY: &'static str = $summary;
            const MEMBERSHIP: &'static str =
                "A cluster waits for all its members; with `deadline` it is served once that has \
                 come and `quorum` of it is reached, also to those who are late, whose uploads are \
                 merged when they come (without `quorum` they are not waited for again until then). \
                 What a client that leaves has uploaded stays in its clusters. One that comes back \
                 is told its clusters, counts its uploads from 1 and is given with them what it had \
                 uploaded before.";
            type Params = Params;
            type Valid = Valid;
            type Msg = LinearMsg;
            type Client = Client;
            type Server = Server;

            fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
                params.check(Variant { priority: $priority, recluster: $recluster }, setting)
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

            fn client(valid: &Valid, seat: &Seat) -> Client {
                Client::new(valid, seat)
            }

            fn server(valid: &Valid, _seat: &Seat) -> Server {
                Server::new(valid)
            }
        }
    )*};
}

family! {
    /// Clusters estimated once, served one per step in the order of their requests.
    Hetofed, "hetofed",
        "clusters of similar clients, estimated once, served one at a time (Blaser, Li and Wang 2024, Algorithm 2)",
        false, false;
    /// The same, served in the order of what their members have learned.
    HetofedPq, "hetofed-pq", "hetofed with a priority queue (Section 3.4.2)", true, false;
    /// Clusters estimated anew at every request, served in the order of the list.
    HetofedDr, "hetofed-dr", "hetofed with clusters estimated anew at every request (Section 3.4.1)", false, true;
    /// Both.
    HetofedE, "hetofed-e",
        "hetofed with a priority queue and clusters estimated anew at every request (Algorithm 5)",
        true, true;
}
