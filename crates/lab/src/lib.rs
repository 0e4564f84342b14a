//! The laboratory: experiment files, runs, results and figures.
//!
//! An [`experiment`] file is read and checked, [`run`] runs every entry with
//! every seed and keeps what is done, [`results`] sums up and draws,
//! [`reproduce`] puts the papers' tables and figures beside ours, [`audit`] measures what private
//! mechanisms give away.

pub mod audit;
mod error;
pub mod experiment;
mod files;
mod load;
pub mod plan;
pub mod reproduce;
pub mod results;
pub mod run;

pub use error::LabError;
pub use load::{from_text, load};
