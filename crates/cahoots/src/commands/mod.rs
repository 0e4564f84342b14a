//! One file per command: its arguments, and what it does with them.

pub(crate) mod algorithms;
pub(crate) mod audit;
pub(crate) mod client;
#[cfg(feature = "contract")]
pub mod contract;
pub(crate) mod data;
pub(crate) mod demo;
pub(crate) mod environments;
pub(crate) mod evaluate;
mod given;
pub(crate) mod keys;
pub(crate) mod merge;
pub(crate) mod operate;
#[cfg(test)]
mod parameter_tables;
mod parameters;
pub(crate) mod plan;
pub(crate) mod plot;
pub(crate) mod prior;
pub(crate) mod report;
pub(crate) mod reproduce;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod shell;
mod stop;
mod told;
