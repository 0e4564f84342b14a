//! The laboratory: experiment files, runs, results and figures.
//!
//! An [`experiment`] file is read and checked, [`run`] runs every entry with
//! every seed and keeps what is done, [`results`] sums up and draws, [`report`] makes a page of it, [`audit`] measures what private
//! mechanisms give away. Papers, and what they prove, are not known here.

pub mod audit;
mod builder;
mod catalogue;
mod error;
pub mod experiment;
pub mod files;
mod load;
pub mod report;
pub mod results;
pub mod run;
mod say;

pub use builder::Builder;
pub use catalogue::catalogue;
pub use error::LabError;
pub use load::{from_manifest, from_stream, from_text, load};
pub use say::say;
