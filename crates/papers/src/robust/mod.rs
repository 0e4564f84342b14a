//! No paper's: what a share of lying clients does to a federation, and what is left of it where servers merge robustly.

mod liars;

use crate::reproduce::Paper;

/// What was measured here.
pub const PAPER: Paper = Paper {
    name: "robust",
    title: "Robust merging where a share of the clients lies",
    authors: "No paper's; asked and measured here",
    year: 2026,
    items: &[liars::ITEM],
};
