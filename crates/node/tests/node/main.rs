//! Federations in this process, and who tries to harm them. In one program, since each that links all algorithms takes as
//! long to build as all of these take to run. What measures this process or changes it has a program of its own.

#[path = "../common/mod.rs"]
mod common;

mod app;
mod change;
mod client_api;
mod forgery;
mod forget;
mod gain;
mod identity;
mod identity_http;
mod identity_tokens;
mod nothing_vanishes;
mod page;
mod params;
mod poison;
mod privacy;
mod propensity;
mod quarantine;
mod scraped;
mod several;
mod start;
mod states;
mod warm;
mod watching;
