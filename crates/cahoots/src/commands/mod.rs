//! One file per command: its arguments, and what it does with them.

pub mod algorithms;
pub mod audit;
pub mod client;
#[cfg(feature = "contract")]
pub mod contract;
pub mod environments;
#[cfg(test)]
mod parameter_tables;
mod parameters;
pub mod plan;
pub mod plot;
pub mod reproduce;
pub mod run;
pub mod serve;
mod stop;
