use crate::drawing::{Rect, Spot};

/// What is already drawn, so that texts can keep out of its way.
#[derive(Debug, Default)]
pub(super) struct Obstacles {
    segments: Vec<(Spot, Spot)>,
    dots: Vec<Rect>,
    labels: Vec<Rect>,
}

impl Obstacles {
    pub(super) fn add_line(&mut self, spots: &[Spot]) {
        let pairs = spots.windows(2).map(|pair| (pair[0], pair[1]));
        self.segments.extend(pairs);
    }

    pub(super) fn add_segment(&mut self, from: Spot, to: Spot) {
        self.segments.push((from, to));
    }

    pub(super) fn add_dot(&mut self, centre: Spot, radius: f64) {
        let point = Rect::new(centre.x, centre.y, 0.0, 0.0);
        self.dots.push(point.grown(radius));
    }

    pub(super) fn add_label(&mut self, label: Rect) {
        self.labels.push(label);
    }

    /// Whether anything at all lies in `rect`.
    pub(super) fn in_the_way(&self, rect: &Rect) -> bool {
        self.labels_met(rect) > 0 || self.dots_met(rect) > 0 || self.segments_met(rect) > 0
    }

    pub(super) fn labels_met(&self, rect: &Rect) -> usize {
        self.labels.iter().filter(|other| other.meets(rect)).count()
    }

    pub(super) fn dots_met(&self, rect: &Rect) -> usize {
        self.dots.iter().filter(|other| other.meets(rect)).count()
    }

    /// How many dots at another place than `own` lie in `rect`.
    pub(super) fn other_dots_met(&self, rect: &Rect, own: Spot) -> usize {
        let other = self.dots.iter().filter(|dot| dot.centre() != own);
        other.filter(|dot| dot.meets(rect)).count()
    }

    pub(super) fn segments_met(&self, rect: &Rect) -> usize {
        let meets = |(from, to): &&(Spot, Spot)| rect.meets_segment(*from, *to);
        self.segments.iter().filter(meets).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_passing_through_is_in_the_way() {
        let mut obstacles = Obstacles::default();
        obstacles.add_segment(Spot::new(0.0, 0.0), Spot::new(100.0, 100.0));
        assert!(obstacles.in_the_way(&Rect::new(40.0, 45.0, 20.0, 10.0)));
        assert!(!obstacles.in_the_way(&Rect::new(60.0, 0.0, 20.0, 20.0)));
        assert!(!obstacles.in_the_way(&Rect::new(110.0, 110.0, 20.0, 20.0)));
    }

    #[test]
    fn a_segment_within_is_in_the_way() {
        let mut obstacles = Obstacles::default();
        obstacles.add_segment(Spot::new(5.0, 5.0), Spot::new(5.0, 6.0));
        assert!(obstacles.in_the_way(&Rect::new(0.0, 0.0, 10.0, 10.0)));
        assert!(!obstacles.in_the_way(&Rect::new(6.0, 0.0, 10.0, 10.0)));
    }
}
