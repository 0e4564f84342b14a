//! He, Wang, Min and Gu (2022), "A Simple and Provably Efficient Algorithm for Asynchronous Federated Contextual
//! Linear Bandits".

mod authors_code;
mod equal_communication;

use crate::reproduce::Paper;

/// The paper's figures.
pub const PAPER: Paper = Paper {
    name: "fed-linucb",
    title: "A Simple and Provably Efficient Algorithm for Asynchronous Federated Contextual Linear Bandits",
    authors: "He, Wang, Min and Gu",
    year: 2022,
    items: &[authors_code::ITEM, equal_communication::ITEM],
};

/// Blocks of the experiment files.
const FED: &str = "FedLinUCB";
const ASYNC: &str = "Async-LinUCB";

/// Where claims are from that the paper does not make.
const OURS: &str = "ours";
