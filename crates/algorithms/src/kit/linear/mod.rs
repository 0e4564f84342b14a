//! What the linear algorithms share: their common parameters, their messages, a
//! learner that keeps to itself, the half of one that does not, and the half of a
//! server that knows who is due a download.

mod alone;
mod apart;
mod by_client;
mod check;
mod downloads;
mod draw;
mod federated;
mod float_key;
mod message;
mod params;
pub(crate) mod prior;
mod ratio;
mod robust;
mod sum_tree;

pub use alone::AloneClient;
pub use apart::{Apart, Upload};
pub(crate) use check::check_upload;
pub use downloads::{DownloadIndex, Receiver, Standing};
pub use draw::DrawParams;
pub(crate) use draw::unit;
pub use federated::FederatedLinear;
pub(crate) use federated::{choose_by, odds_by};
pub use message::{LinearMsg, Signal};
pub use params::{LinearParams, LinearValid};
pub(crate) use params::{some_noise, tenth};
pub use ratio::{Ratio, Ratios};
pub use robust::{Kept, Robust, RobustParams, RobustSum};

use cahoots_core::Context;
use serde::{Deserialize, Serialize};

/// What a linear decision keeps until its reward comes: the chosen context.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chosen {
    /// Features of the chosen arm.
    pub context: Context,
}
