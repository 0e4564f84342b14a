//! Speed on this machine beside references, as ratios in one run.
//!
//! [`hot_step::measure`] times the kernel at every level of the host beside the [`references`], on the
//! same arms and rewards, and refuses to report if they disagree about which arm to pull;
//! [`whole_step`] is a simulated step around it, [`federation`] and [`reclustering`] are whole runs,
//! [`live`] is a federation on loopback.

pub mod federation;
pub mod hot_step;
pub mod live;
pub mod problem;
pub mod reclustering;
pub mod references;
pub mod whole_step;
