use crate::drawing::Spot;

/// Fewer points that draw the same line, as far as one can see.
pub(super) fn thin(spots: &[Spot]) -> Vec<Spot> {
    without_straight(&by_column(spots))
}

/// Of all consecutive points in one column of pixels only the first, the lowest, the highest and
/// the last are visible (the M4 aggregation of Jugel et al., VLDB 2014).
fn by_column(spots: &[Spot]) -> Vec<Spot> {
    /// Columns per unit: PNG files have two pixels per unit.
    const COLUMNS: f64 = 2.0;
    let column = |spot: &Spot| (spot.x * COLUMNS).floor();
    let mut kept = Vec::with_capacity(spots.len().min(4096));
    for run in spots.chunk_by(|a, b| column(a) == column(b)) {
        if run.len() <= 4 {
            kept.extend_from_slice(run);
            continue;
        }
        let by_height = |a: &usize, b: &usize| run[*a].y.total_cmp(&run[*b].y);
        let highest = (0..run.len()).min_by(by_height).unwrap_or(0);
        let lowest = (0..run.len()).max_by(by_height).unwrap_or(0);
        let mut visible = vec![0, highest, lowest, run.len() - 1];
        visible.sort_unstable();
        visible.dedup();
        kept.extend(visible.into_iter().map(|index| run[index]));
    }
    kept
}

/// Leaves out points so near to the line through the others that no one can see the difference
/// (Ramer, Douglas and Peucker).
fn without_straight(spots: &[Spot]) -> Vec<Spot> {
    const INVISIBLE: f64 = 0.08;
    let Some(last) = spots.len().checked_sub(1) else {
        return Vec::new();
    };
    let mut keep = vec![false; spots.len()];
    (keep[0], keep[last]) = (true, true);
    let mut open = vec![(0, last)];
    while let Some((from, to)) = open.pop() {
        let farthest = (from + 1..to)
            .map(|index| (distance(spots[index], spots[from], spots[to]), index))
            .max_by(|a, b| a.0.total_cmp(&b.0));
        if let Some((away, index)) = farthest
            && away > INVISIBLE
        {
            keep[index] = true;
            open.push((from, index));
            open.push((index, to));
        }
    }
    let kept = spots.iter().zip(keep).filter(|(_, keep)| *keep);
    kept.map(|(spot, _)| *spot).collect()
}

/// From a spot to the segment between two others.
fn distance(spot: Spot, from: Spot, to: Spot) -> f64 {
    let (x, y) = (to.x - from.x, to.y - from.y);
    let square = x * x + y * y;
    let along = match square > 0.0 {
        true => (((spot.x - from.x) * x + (spot.y - from.y) * y) / square).clamp(0.0, 1.0),
        false => 0.0,
    };
    (spot.x - from.x - along * x).hypot(spot.y - from.y - along * y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_stay_and_straight_parts_go() {
        let spots: Vec<Spot> =
            (0..=50_i32).map(|i| Spot::new(f64::from(i), f64::from((i - 20).abs()))).collect();
        assert_eq!(thin(&spots), [spots[0], spots[20], spots[50]]);
    }

    #[test]
    fn small_inputs() {
        let (a, b) = (Spot::new(1.0, 2.0), Spot::new(3.0, 2.0));
        assert!(thin(&[]).is_empty());
        assert_eq!(thin(&[a]), [a]);
        assert_eq!(thin(&[a, b]), [a, b]);
        assert_eq!(thin(&[a, a, a]).len(), 2);
    }

    #[test]
    fn many_points_keep_their_peaks() {
        let height = |i: u32| if i == 4_321 { 9.0 } else { 1.0 };
        let spots: Vec<Spot> = (0..100_000).map(|i| Spot::new(f64::from(i) / 1000.0, height(i))).collect();
        let kept = thin(&spots);
        assert!(kept.len() < 10);
        assert!(kept.iter().any(|spot| spot.y == 9.0));
        assert_eq!(kept.first(), spots.first());
        assert_eq!(kept.last(), spots.last());
    }

    #[test]
    fn noise_stays_bounded() {
        let height = |i: u32| f64::from(i.wrapping_mul(2_654_435_761) >> 22);
        let spots: Vec<Spot> = (0..200_000).map(|i| Spot::new(f64::from(i) / 300.0, height(i))).collect();
        assert!(thin(&spots).len() <= 4 * 2 * 667);
    }
}
