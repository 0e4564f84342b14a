//! Privacy that can be checked: noise from exact samplers, an accountant that adds up what every release
//! costs, and an audit that measures the loss instead of trusting it.
//!
//! Nothing here reads the system's randomness: noise comes from the stream that the caller hands in, which
//! in a deployment is keyed by the client's own secret. The samplers are exact, but not of constant time.

pub mod accountant;
pub mod aggregation;
pub mod audit;
pub mod batched;
pub mod calibration;
pub mod clip;
pub mod correlated;
pub mod exact;
pub mod gaussian;
pub mod grid;
pub mod laplace;
pub mod mechanisms;
pub mod polya;
pub mod privatizer;
pub mod statement;
pub mod tree;

pub use accountant::{Accountant, Spent};
pub use audit::Audit;
pub use batched::{Batched, Batches};
pub use calibration::{Budget, Calibration};
pub use clip::Clip;
pub use correlated::{Correlated, Randomised, Schedule};
pub use gaussian::Gaussian;
pub use grid::Grid;
pub use laplace::{Laplace, LaplaceRelease};
pub use privatizer::{Plan, Privatizer, ReleaseKind};
pub use statement::Statement;
pub use tree::{Perturbation, Tree};
