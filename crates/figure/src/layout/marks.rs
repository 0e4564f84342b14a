use super::data::{Data, Place, Trace};
use super::dot_labels::{self, DotLabel};
use super::look::Look;
use super::obstacles::Obstacles;
use super::range::Range;
use super::thin::thin;
use crate::drawing::{Pen, Rect, Spot};

/// All series of a figure as places in the picture.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// One per series.
    pub drawn: Vec<Drawn>,
    pub labels: Vec<(usize, DotLabel)>,
    /// Labels for which there was no room.
    pub labels_left_out: usize,
    pub obstacles: Obstacles,
}

/// One series as places in the picture.
#[derive(Debug, Default)]
pub(super) struct Drawn {
    pub bands: Vec<Vec<Spot>>,
    pub lines: Vec<Vec<Spot>>,
    pub bars: Vec<(Spot, Spot)>,
    pub markers: Vec<Spot>,
    /// Height of a reference line.
    pub level: Option<f64>,
}

/// Lines with at most this many points have a marker at each.
const FEW: usize = 12;

/// How many markers a line with many points has.
const MARKERS_PER_LINE: f64 = 7.0;

impl Marks {
    pub(super) fn new(data: &Data, pens: &[Pen], frame: Rect, look: &Look) -> Self {
        let mut marks = Self::default();
        let projection = Projection { x: data.x, y: data.y, frame };
        for (trace, pen) in data.traces.iter().zip(pens) {
            let drawn = projection.draw(trace, pen, &mut marks.obstacles);
            for marker in &drawn.markers {
                let radius = match trace {
                    Trace::Dots { .. } => look.dot,
                    _ => look.marker,
                };
                marks.obstacles.add_dot(*marker, radius);
            }
            for line in &drawn.lines {
                marks.obstacles.add_line(line);
            }
            for (from, to) in &drawn.bars {
                marks.obstacles.add_segment(*from, *to);
            }
            if let Some(y) = drawn.level {
                let ends = (Spot::new(frame.left, y), Spot::new(frame.right(), y));
                marks.obstacles.add_segment(ends.0, ends.1);
            }
            marks.drawn.push(drawn);
        }
        marks.place_labels(data, &projection, look);
        marks
    }

    fn place_labels(&mut self, data: &Data, projection: &Projection, look: &Look) {
        for (series, trace) in data.traces.iter().enumerate() {
            let Trace::Dots { runs, .. } = trace else {
                continue;
            };
            for place in runs.iter().flatten() {
                let Some(text) = &place.label else { continue };
                let dot = projection.spot(place.x, place.y);
                let (radius, size) = (look.dot, look.dot_label);
                let frame = &projection.frame;
                match dot_labels::place(text, dot, radius, size, frame, &self.obstacles) {
                    Some(label) => {
                        self.obstacles.add_label(label.area);
                        self.labels.push((series, label));
                    }
                    None => self.labels_left_out += 1,
                }
            }
        }
    }
}

pub(super) struct Projection {
    pub x: Option<Range>,
    pub y: Option<Range>,
    pub frame: Rect,
}

impl Projection {
    pub(super) fn spot(&self, x: f64, y: f64) -> Spot {
        let across = self.x.map_or(0.5, |range| range.share(x));
        Spot::new(self.frame.left + across * self.frame.width, self.height(y))
    }

    fn height(&self, y: f64) -> f64 {
        let up = self.y.map_or(0.5, |range| range.share(y));
        self.frame.bottom() - up * self.frame.height
    }

    fn draw(&self, trace: &Trace, pen: &Pen, obstacles: &mut Obstacles) -> Drawn {
        let mut drawn = Drawn::default();
        match trace {
            Trace::Line(runs) => {
                for run in runs {
                    self.draw_run(run, &mut drawn, obstacles);
                }
                self.mark_line(runs, pen, &mut drawn);
            }
            Trace::Dots { runs, connect } => {
                for run in runs {
                    let spots: Vec<Spot> = run.iter().map(|p| self.spot(p.x, p.y)).collect();
                    run.iter().for_each(|place| self.bars(place, &mut drawn));
                    if *connect && spots.len() > 1 {
                        drawn.lines.push(spots.clone());
                    }
                    drawn.markers.extend(spots);
                }
            }
            Trace::Horizontal(height) => drawn.level = height.map(|y| self.height(y)),
        }
        drawn
    }

    fn draw_run(&self, run: &[Place], drawn: &mut Drawn, obstacles: &mut Obstacles) {
        if let [place] = run {
            // A line of one point has no extent: its band becomes an error bar.
            self.bars(place, drawn);
            return;
        }
        let spots: Vec<Spot> = run.iter().map(|p| self.spot(p.x, p.y)).collect();
        drawn.lines.push(thin(&spots));
        for part in run.split(|place| place.y_ends.is_none()) {
            if part.len() < 2 {
                continue;
            }
            let edges = part
                .iter()
                .filter_map(|p| p.y_ends.map(|(low, high)| (p.x, low, high)))
                .map(|(x, low, high)| (self.spot(x, low), self.spot(x, high)));
            let (lower, upper): (Vec<Spot>, Vec<Spot>) = edges.unzip();
            let mut covered = f64::NEG_INFINITY;
            for (low, high) in lower.iter().zip(&upper) {
                if (low.x - covered).abs() >= 1.0 {
                    obstacles.add_segment(*low, *high);
                    covered = low.x;
                }
            }
            let (mut lower, mut upper) = (thin(&lower), thin(&upper));
            obstacles.add_line(&lower);
            obstacles.add_line(&upper);
            lower.reverse();
            upper.extend(lower);
            drawn.bands.push(upper);
        }
    }

    /// Markers at every point of a short line; else at some, at other places for each series.
    fn mark_line(&self, runs: &[Vec<Place>], pen: &Pen, drawn: &mut Drawn) {
        let count: usize = runs.iter().map(Vec::len).sum();
        let spots = || runs.iter().flatten().map(|p| self.spot(p.x, p.y));
        if count <= FEW {
            drawn.markers.extend(spots());
            return;
        }
        let alone = runs.iter().filter(|run| run.len() == 1).flatten();
        drawn.markers.extend(alone.map(|p| self.spot(p.x, p.y)));

        let distance = self.frame.width / MARKERS_PER_LINE;
        // Multiples of the golden ratio spread any number of series evenly.
        let shift = 0.15 + 0.7 * (0.5 + pen.number as f64 * 0.618_034).fract();
        let spots: Vec<Spot> = spots().collect();
        for number in 0..MARKERS_PER_LINE as usize {
            let wanted = self.frame.left + (number as f64 + shift) * distance;
            let away = |spot: &Spot| (spot.x - wanted).abs();
            let nearest = spots.iter().min_by(|a, b| away(a).total_cmp(&away(b)));
            let near = nearest.filter(|spot| away(spot) < distance / 4.0);
            drawn.markers.extend(near);
        }
    }

    fn bars(&self, place: &Place, drawn: &mut Drawn) {
        if let Some((low, high)) = place.y_ends {
            let ends = (self.spot(place.x, low), self.spot(place.x, high));
            drawn.bars.push(ends);
        }
        if let Some((low, high)) = place.x_ends {
            let ends = (self.spot(low, place.y), self.spot(high, place.y));
            drawn.bars.push(ends);
        }
    }
}
