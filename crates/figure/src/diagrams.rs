//! Pictures of who can talk to whom.

use std::f64::consts::{FRAC_PI_2, TAU};

use crate::drawing::{Anchor, Colour, Outline, Pen, Rect, Scene, Shape, Spot, Stroke, Text, elide};
use crate::{FigureError, Picture, Size};

/// Several diagrams in a grid under one title.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagrams {
    /// The line above the grid; empty for none.
    pub title: String,
    /// Diagrams per row; zero counts as one.
    pub columns: usize,
    /// The diagrams, row by row.
    pub diagrams: Vec<Diagram>,
}

/// Nodes and edges; components stand side by side, the nodes of each on a circle.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Diagram {
    /// The line above it.
    pub title: String,
    /// The nodes of each component, in the order in which they are placed.
    pub components: Vec<Vec<u32>>,
    /// Pairs of nodes.
    pub edges: Vec<(u32, u32)>,
    /// Nodes that are drawn large, in the middle of their component where it has other nodes.
    pub sinks: Vec<u32>,
}

/// Width and height of one diagram.
const SIDE: f64 = 320.0;
const TITLE: f64 = 20.0;
const CAPTION: f64 = 15.0;
const PADDING: f64 = 14.0;
/// Up to so many nodes are numbered.
const NUMBERED: usize = 40;

impl Picture for Diagrams {
    fn scene_in(&self, _: Option<Size>) -> Result<Scene, FigureError> {
        let columns = self.columns.clamp(1, self.diagrams.len().max(1));
        let rows = self.diagrams.len().div_ceil(columns);
        let top = if self.title.is_empty() { PADDING } else { PADDING + TITLE * 1.6 };
        let cell = SIDE + CAPTION * 2.0;
        let width = columns as f64 * (SIDE + PADDING) + PADDING;
        let height = top + rows as f64 * (cell + PADDING) + PADDING;
        let mut scene = Scene::new(width, height, &self.title);
        scene.shape(Shape {
            class: "",
            outline: Outline::Rect(Rect::new(0.0, 0.0, width, height)),
            fill: Some((Colour::WHITE, 1.0)),
            stroke: None,
        });
        if !self.title.is_empty() {
            let at = Spot::new(width / 2.0, PADDING + TITLE);
            let title = elide(&self.title, TITLE, width - 2.0 * PADDING);
            scene.text(Text::new("title", title, at, TITLE).anchored(Anchor::Middle));
        }
        for (number, diagram) in self.diagrams.iter().enumerate() {
            let left = PADDING + (number % columns) as f64 * (SIDE + PADDING);
            let above = top + (number / columns) as f64 * (cell + PADDING);
            diagram.draw(Rect::new(left, above, SIDE, cell), &mut scene);
        }
        Ok(scene)
    }
}

impl Diagram {
    fn draw(&self, room: Rect, scene: &mut Scene) {
        let at = Spot::new(room.left + room.width / 2.0, room.top + CAPTION);
        let title = elide(&self.title, CAPTION, room.width);
        scene.text(Text::new("graph-title", title, at, CAPTION).anchored(Anchor::Middle));
        let plot = Rect::new(room.left, room.top + 1.6 * CAPTION, SIDE, SIDE);
        let places = self.places(plot);
        let place = |node: u32| places.iter().find(|(known, ..)| *known == node).map(|(_, at, _)| *at);
        // Many edges are drawn thinner, so that they can be told apart.
        let width = (60.0 / self.edges.len().max(1) as f64).clamp(0.3, 1.4);
        scene.group("edges", |scene| {
            for (a, b) in &self.edges {
                if let (Some(from), Some(to)) = (place(*a), place(*b)) {
                    scene.line("edge", from, to, Stroke::solid(Colour::FRAME, width));
                }
            }
        });
        let numbered = places.len() <= NUMBERED;
        scene.group("nodes", |scene| {
            for (node, at, radius) in &places {
                let sink = self.sinks.contains(node);
                let colour = Pen::series(usize::from(sink)).colour;
                let radius = if sink { radius * 1.5 } else { *radius };
                scene.shape(Shape {
                    class: if sink { "sink" } else { "node" },
                    outline: Outline::Circle { centre: *at, radius },
                    fill: Some((colour, 1.0)),
                    stroke: Some(Stroke::solid(Colour::WHITE, 0.8)),
                });
                if numbered {
                    let baseline = Spot::new(at.x, at.y + 0.35 * 1.2 * radius);
                    let text = Text::new("node-number", node.to_string(), baseline, 1.2 * radius);
                    scene.text(text.anchored(Anchor::Middle).coloured(Colour::WHITE));
                }
            }
        });
    }

    /// Where nodes are, and how large: components in a grid of cells, larger ones with more room.
    fn places(&self, plot: Rect) -> Vec<(u32, Spot, f64)> {
        let nodes: usize = self.components.iter().map(Vec::len).sum();
        let columns = (self.components.len() as f64).sqrt().ceil().max(1.0);
        let rows = (self.components.len() as f64 / columns).ceil().max(1.0);
        let (width, height) = (plot.width / columns, plot.height / rows);
        let largest = self.components.iter().map(Vec::len).max().unwrap_or(1).max(1) as f64;
        let size = (90.0 / (nodes.max(1) as f64).sqrt() / columns.sqrt()).clamp(2.0, 11.0);
        let mut places = Vec::with_capacity(nodes);
        for (number, members) in (0u32..).zip(&self.components) {
            let column = f64::from(number) % columns;
            let row = (f64::from(number) / columns).floor();
            let centre = Spot::new(plot.left + (column + 0.5) * width, plot.top + (row + 0.5) * height);
            let share = (members.len() as f64 / largest).sqrt().max(0.35);
            let radius = (width.min(height) / 2.0 - 2.0 * size).max(0.0) * share;
            // A sink with others around it stands in their middle.
            let middle = members.iter().find(|node| members.len() > 2 && self.sinks.contains(node));
            let around: Vec<u32> = members.iter().copied().filter(|node| Some(node) != middle).collect();
            if let Some(node) = middle {
                places.push((*node, centre, size));
            }
            for (place, node) in around.iter().enumerate() {
                let angle = TAU * place as f64 / around.len() as f64 - FRAC_PI_2;
                let radius = if around.len() == 1 { 0.0 } else { radius };
                let at = Spot::new(centre.x + radius * angle.cos(), centre.y + radius * angle.sin());
                places.push((*node, at, size));
            }
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_node_and_edge_is_drawn_and_sinks_stand_out() {
        let diagram = Diagram {
            title: "two components".into(),
            components: vec![vec![0, 1, 2, 3], vec![4, 5]],
            edges: vec![(0, 1), (1, 2), (2, 3), (4, 5)],
            sinks: vec![1, 4],
        };
        let diagrams =
            Diagrams { title: "Topology".into(), columns: 2, diagrams: vec![diagram.clone(), diagram] };
        let svg = diagrams.svg().unwrap();
        let count = |class: &str| svg.matches(&format!("class=\"{class}\"")).count();
        assert_eq!((count("edge"), count("node"), count("sink")), (8, 8, 4));
        assert!(svg.contains("two components"));
        let places = diagrams.diagrams[0].places(Rect::new(0.0, 0.0, SIDE, SIDE));
        for (one, a, _) in &places {
            for (other, b, _) in &places {
                let apart = ((a.x - b.x).powi(2) + (a.y - b.y).powi(2)).sqrt();
                assert!(one == other || apart > 10.0, "{one} and {other} are {apart} apart");
            }
        }
    }
}
