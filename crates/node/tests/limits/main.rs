//! Those who ask for too much: of memory, of time, of places. In a program of their own, since memory is measured.

#[path = "../common/mod.rs"]
mod common;

mod http;
mod strangers;
