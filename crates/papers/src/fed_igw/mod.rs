//! Shi, Zhou, Yang and Shen (2024), "Harnessing the Power of Federated Learning in Federated Contextual Bandits".

mod clients;

use crate::reproduce::Paper;

/// What of the paper a linear world can show. Its own figures are of neural networks on Bibtex and Delicious, multi-label data
/// that are not here.
pub const PAPER: Paper = Paper {
    name: "fed-igw",
    title: "Harnessing the Power of Federated Learning in Federated Contextual Bandits",
    authors: "Shi, Zhou, Yang and Shen",
    year: 2024,
    items: &[clients::ITEM],
};
