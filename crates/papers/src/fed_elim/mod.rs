//! Reddy, Karthik and Tan (2022), "Almost Cost-Free Communication in Federated Best Arm Identification".

mod communication;

use crate::reproduce::Paper;

/// The paper's synthetic experiment with normal rewards, and its abstract's claims on it. Those with Bernoulli rewards and
/// on MovieLens are not here.
pub const PAPER: Paper = Paper {
    name: "fed-elim",
    title: "Almost Cost-Free Communication in Federated Best Arm Identification",
    authors: "Reddy, Karthik and Tan",
    year: 2022,
    items: &[communication::ITEM],
};
