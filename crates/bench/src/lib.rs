//! The hot step against what one would write with a linear algebra library.
//!
//! [`hot_step::measure`] times the kernel at every level of the host beside the [`references`], on the
//! same arms and rewards, and refuses to report if they disagree about which arm to pull.

pub mod federation;
pub mod hot_step;
pub mod problem;
pub mod reclustering;
pub mod references;
