//! A coordinator's log in a stream that several machines keep: replicate the log, not the state. Nothing here speaks to a network;
//! whatever keeps the stream is an [`Engine`], which may lose answers, answer from the past, and lose what it had acknowledged.
//!
//! A [`record`](Record) is one batch of inputs, written by compare-and-set on the last sequence: that is the fence. It carries a name of
//! its own, its epoch and the hash of the message before it, and is sealed under a key that every coordinator of the federation has
//! ([`LogKey`]): whoever keeps the stream can neither read nor forge it, and what it lost or changed is noticed ([`Chain`]). An epoch begins
//! with a barrier; who is behind it finds the next append refused, and stops ([`Writer`]). [`Replicated`] is all of that as a
//! [`Home`](crate::store::Home).

mod beacon;
mod chain;
mod engine;
mod home;
mod key;
mod record;
mod saved;
mod seen;
mod watching;
mod writer;

pub use beacon::{Beacon, Pulse};
pub use chain::{Broken, Chain};
pub use engine::{Before, Engine, Extent, Found, Keeper, Silence, Unsure, Unusable};
pub use home::{Read, Replicated};
pub use key::LogKey;
pub use record::{Content, Record, hash as digest};
pub use saved::sequence_of as snapshot_sequence;
pub use seen::Seen;
pub use writer::{Trouble, Writer};
