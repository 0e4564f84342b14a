//! The papers behind the algorithms, a folder each: the experiment files behind its tables and figures,
//! what it claims beside what is measured here, and its bounds.
//!
//! [`reproduce`] is the frame that all of them share; [`plan`] turns a budget into thresholds by the
//! bounds of [`async_linucb`]. To add a paper: a folder with a [`Paper`], and a line in [`PAPERS`].

pub mod async_linucb;
pub mod dp_mab;
pub mod fclub;
pub mod fed2_ucb;
pub mod fed_elim;
pub mod fed_igw;
pub mod fed_linucb;
pub mod hetofed;
pub mod pf_ucb;
pub mod plan;
pub mod reproduce;
pub mod robust;

pub use pf_ucb::bounds::lower_bounds;
use reproduce::Paper;

/// Every paper there is.
pub const PAPERS: &[Paper] = &[
    hetofed::PAPER,
    fclub::PAPER,
    dp_mab::PAPER,
    pf_ucb::PAPER,
    async_linucb::PAPER,
    fed_linucb::PAPER,
    fed_elim::PAPER,
    fed2_ucb::PAPER,
    fed_igw::PAPER,
    robust::PAPER,
];
