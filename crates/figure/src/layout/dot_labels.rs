use super::obstacles::Obstacles;
use crate::drawing::{Rect, Spot, width};

/// A label and where it is written.
#[derive(Debug)]
pub(super) struct DotLabel {
    pub text: String,
    pub area: Rect,
    pub dot: Spot,
    /// Whether it is so far from its dot that a thin line must join them.
    pub led: bool,
}

/// The directions from a dot to the middle of its label, best first.
const AROUND: [(f64, f64); 12] = [
    (1.0, 0.0),
    (1.0, -1.0),
    (-1.0, 0.0),
    (0.0, -1.0),
    (0.0, 1.0),
    (-1.0, -1.0),
    (1.0, 1.0),
    (-1.0, 1.0),
    (0.5, -1.0),
    (-0.5, -1.0),
    (0.5, 1.0),
    (-0.5, 1.0),
];

/// How far from the dot's edge a label may be, and what that costs.
const RINGS: [(f64, f64); 3] = [(2.5, 0.0), (13.0, 5.0), (26.0, 9.0)];

/// From here on a place is worse than no label.
const UNUSABLE: f64 = 100.0;

/// Finds a place near `dot` that covers as little as possible, or none.
pub(super) fn place(
    text: &str,
    dot: Spot,
    radius: f64,
    size: f64,
    frame: &Rect,
    obstacles: &Obstacles,
) -> Option<DotLabel> {
    let (half_width, half_height) = (width(text, size) / 2.0, size * 0.5);
    let mut best: Option<(f64, Rect, bool)> = None;
    for (ring, (gap, extra)) in RINGS.into_iter().enumerate() {
        for (rank, (across, down)) in AROUND.into_iter().enumerate() {
            // A corner is as far away as an edge with a shorter way in each direction.
            let distance = (radius + gap) * if across * down == 0.0 { 1.0 } else { 0.75 };
            let left = dot.x + across * (half_width + distance) - half_width;
            let top = dot.y + down * (half_height + distance) - half_height;
            let area = Rect::new(left, top, 2.0 * half_width, 2.0 * half_height);
            let cost = cost(&area, dot, frame, obstacles) + extra + 0.3 * rank as f64;
            if best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, area, ring > 0));
            }
        }
    }
    let (_, area, led) = best.filter(|(cost, ..)| *cost < UNUSABLE)?;
    Some(DotLabel { text: text.to_owned(), area, dot, led })
}

fn cost(area: &Rect, own: Spot, frame: &Rect, obstacles: &Obstacles) -> f64 {
    if !frame.grown(-2.0).holds(area) {
        return UNUSABLE;
    }
    let labels = obstacles.labels_met(&area.grown(1.5)) as f64;
    let dots = obstacles.dots_met(area) as f64;
    let segments = obstacles.segments_met(&area.grown(-0.5)).min(6) as f64;
    // Beside another dot it would be read as that dot's label.
    let beside = obstacles.other_dots_met(&area.grown(5.0), own) as f64;
    UNUSABLE * labels + 30.0 * dots + 4.0 * beside + 4.0 * segments
}
