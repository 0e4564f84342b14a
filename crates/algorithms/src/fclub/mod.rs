#![doc = include_str!("README.md")]
#![doc = include_str!("PARAMETERS.md")]

mod client;
mod cluster;
mod definite;
mod group;
mod message;
mod params;
mod radius;
mod rules;
mod server;
#[cfg(test)]
mod tests;

pub use client::LocalServer;
pub use cluster::LocalCluster;
pub use group::{Group, Local};
pub use message::FclubMsg;
pub use params::{
    CdpParams, Clustering, Common, Delays, FclubDcParams, FclubParams, HomoDcParams, HomoParams, Privacy,
    Promise, Shift,
};
pub use radius::GlobalCluster;
pub use rules::{Rules, Valid};
pub use server::GlobalServer;

use cahoots_core::{Algorithm, Claim, ParamError, Seat, Seating, Setting};

/// Keys that may change while a federation runs. Not where privacy is promised: how often clusters upload is
/// what their trees were planned for, and so how much noise there is and how much privacy is spent.
const RATIOS: &[&str] = &["ratio", "upload_ratio", "download_ratio"];

/// One algorithm of the family: its name, its keys, and what of the protocol they switch on.
macro_rules! family {
    ($(#[$doc:meta])* $name:ident, $key:literal, $summary:literal, $params:ty,
     |$p:ident| ($clustering:expr, $delays:expr, $promise:expr), changes: $changeable:expr, least: $least:literal) => {
        $(#[$doc])*
        pub struct $name;

        impl Algorithm for $name {
            const NAME: &'static str = $key;
            const SUMMARY: &'static str = $summary;
            const MEMBERSHIP: &'static str =
                "Between phases nobody waits for anybody. A phase waits for the reports of all local \
                 servers that are there; one that leaves is taken as it was last known. One that \
                 joins late or comes back is on its own until the next phase, with its uploads \
                 counted from 1; what was shared under its number before stays, as that of a server \
                 that is away.";
            const LEAST: &'static str = $least;
            type Params = $params;
            type Valid = Valid;
            type Msg = FclubMsg;
            type Client = LocalServer;
            type Server = GlobalServer;

            fn check($p: $params, setting: &Setting) -> Result<Valid, ParamError> {
                $p.common.check($clustering, $delays, $promise, setting)
            }

            fn privacy(valid: &Valid) -> Option<Claim> {
                valid.claim()
            }

            fn seats(_valid: &Valid, _setting: &Setting) -> Seating {
                Seating::PerHost
            }

            const CHANGEABLE: &'static [&'static str] = $changeable;

            fn change_client(valid: &Valid, client: &mut LocalServer) {
                client.change(valid);
            }

            fn change_server(valid: &Valid, server: &mut GlobalServer) {
                server.change(valid);
            }

            fn takes_masks(_valid: &Valid) -> bool {
                true
            }

            fn client(valid: &Valid, seat: &Seat) -> LocalServer {
                LocalServer::new(valid, seat)
            }

            fn server(valid: &Valid, _seat: &Seat) -> GlobalServer {
                GlobalServer::new(valid)
            }
        }
    };
}

family!(
    /// Everything is uploaded and downloaded at once.
    Fclub, "fclub",
    "federated clustering of users on local servers, synchronised at every step (Liu et al. 2022)",
    FclubParams, |params| (Some(&params.clustering), None, None), changes: &[], least: "{}"
);
family!(
    /// Uploads and downloads when determinants have grown.
    FclubDc, "fclub-dc",
    "federated clustering of users on local servers, delayed communication (Liu et al. 2022, Algorithms 1 to 4)",
    FclubDcParams, |params| (Some(&params.clustering), Some(&params.delays), None), changes: RATIOS, least: "{}"
);
family!(
    /// The same with noise on all that leaves a local server.
    CdpFclubDc, "cdp-fclub-dc",
    "fclub-dc with differential privacy for observations, against all outside their local server (Algorithm 5)",
    CdpParams, |params| (Some(&params.clustering), Some(&params.delays), Some(&params.promise)), changes: &[],
    least: r#"{ "dp_delta": 1e-5 }"#
);
family!(
    /// One cluster for all, synchronised.
    Homo, "homo",
    "fclub with all users in one cluster: a baseline that mistakes them for alike",
    HomoParams, |params| (None, None, None), changes: &[], least: "{}"
);
family!(
    /// One cluster for all, delayed communication.
    HomoDc, "homo-dc",
    "fclub-dc with all users in one cluster: a baseline that mistakes them for alike",
    HomoDcParams, |params| (None, Some(&params.delays), None), changes: RATIOS, least: "{}"
);
