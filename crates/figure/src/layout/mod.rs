//! Where everything goes: from a description to a scene.

mod chart;
mod data;
mod dot_labels;
mod frame;
mod grid;
mod legend;
mod look;
mod marks;
mod numbers;
mod obstacles;
mod range;
mod thin;
mod ticks;

pub(crate) use grid::{figure, panels};
