//! Matrices as machines keep them. Factors and the hot step live in
//! `cahoots-kernel`; no algorithm does its own linear algebra.

mod symmetric;

pub use symmetric::Symmetric;
