//! The algorithms, one folder each, and the registry that names them.
//!
//! A folder holds a README (citation, equations and where they are, deviations),
//! `params`, `client`, `server` and tests named after what the paper says; what
//! several of them share is in a [`kit`]. A new algorithm is one such folder and
//! one line in [`registry`].

pub mod async_linucb;
pub mod async_linucb_am;
pub mod club;
pub mod disjoint_linucb;
pub mod dp_mab;
pub mod dyclu;
pub mod exp3_alone;
pub mod fclub;
pub mod fed2_ucb;
pub mod fed_elim;
pub mod fed_igw;
pub mod fed_linucb;
mod fidelity;
pub mod greedy;
pub mod hetofed;
pub mod hetofed_async;
pub mod kit;
pub mod kl_ucb_alone;
pub mod linucb_alone;
pub mod moss_alone;
pub mod pf_ucb;
pub mod private;
pub mod private_fed_linucb;
pub mod random;
pub mod registry;
pub mod sync_linucb;
pub mod ts_beta_alone;
pub mod ucb_alone;

pub use fidelity::Fidelity;

#[cfg(test)]
mod testing;
