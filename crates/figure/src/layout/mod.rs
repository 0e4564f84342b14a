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
mod readings;
mod telling;
mod thin;
mod ticks;

pub(crate) use grid::{extents, figure, panels, within_limit};
pub(crate) use numbers::value as number;
