//! What a federation hands on to one that begins, as a file: sums over everyone, what they are sums of, and where they
//! come from in words. Made from a coordinator's store ([`of_store`]) or from what was logged before there was a
//! federation; a new coordinator begins from it ([`WarmStart`]).

mod file;
mod store;
mod warm;

pub use file::PriorFile;
pub use store::of_store;
pub(crate) use warm::Beginning;
pub use warm::{Began, WarmStart};
