//! Off-policy evaluation, held against a second implementation and against worlds whose truth is known.

mod coverage;
mod fed_igw;
mod fixtures;
mod open_bandit;
mod refusals;
mod rejection;
