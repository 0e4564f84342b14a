//! What a policy would have earned on what another one logged.
//!
//! A [`Log`] is read a few times from its beginning and never held: once for what is in it ([`Shape`]), once for the
//! models, once for the estimates. [`evaluate`] weighs a fixed policy ([`Target`]); [`rejection`] lets an algorithm
//! learn from those logged decisions that it would have taken itself. What the log cannot answer is a [`Refusal`].

mod anytime;
mod bootstrap;
mod columns;
mod diagnostics;
pub mod example;
mod file;
mod log;
mod models;
mod refusal;
pub mod rejection;
mod report;
mod run;
mod settings;
mod sums;
mod support;
mod survey;
mod target;
mod verdict;

pub use anytime::Anytime;
pub use columns::{Columns, Row};
pub use diagnostics::{Calibration, Diagnostics, Weights};
pub use file::{LogFile, Names};
pub use log::{Event, Log, Shape};
pub use models::{Fitted, Ridge};
pub use refusal::Refusal;
pub use report::{Estimate, Evaluation, Interval};
pub use run::evaluate;
pub use settings::Settings;
pub use survey::Survey;
pub use target::{Policy, Target};
