//! The hot step of every linear learner.
