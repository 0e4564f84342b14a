//! The algorithms.
