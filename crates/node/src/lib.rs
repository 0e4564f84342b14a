//! The deployment: the machines that the simulator runs, over a network, on a
//! disk, killed at any time.
//!
//! Both sides keep one rule: log, step, flush, send. A [`coordinator`] and its
//! [`client`]s keep one stream each ([`transport`]), number what they send and
//! send it again until it is confirmed; a [`store`] holds a snapshot and the
//! inputs since, so that a node that was killed continues bit for bit.
//! In [`lockstep`], which tests bring along, steps are handed out in the simulator's order, to prove it.

mod assets;
pub mod books;
pub mod client;
pub mod clock;
pub mod commands;
pub mod config;
pub mod control;
pub mod coordinator;
pub mod decisions;
pub mod error;
pub mod face;
pub mod features;
pub mod hosting;
pub mod http;
pub mod identity;
#[doc(hidden)]
pub mod inside;
pub mod limits;
pub mod live;
pub mod lockstep;
mod login;
pub mod logs;
#[cfg(feature = "nats")]
pub mod nats;
pub mod operation;
mod platform;
pub mod prior;
pub mod privacy;
pub mod replica;
pub mod secret;
pub mod store;
pub mod terms;
pub mod transport;

pub use error::NodeError;
pub use live::{Known, Live};
pub use terms::Terms;
