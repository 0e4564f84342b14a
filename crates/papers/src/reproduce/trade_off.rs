//! Two families of thresholds, compared at equal communication.

use cahoots_lab::results::Estimate;

use super::Runs;

/// Places on the axis of communication at which two families are compared.
const PLACES: usize = 40;

/// One family for one seed: (ln transfers, ln regret), from little communication to much.
fn frontier(family: &[&Runs], seed: usize) -> Vec<(f64, f64)> {
    let place = |runs: &&Runs| {
        let record = &runs.records[seed];
        ((record.traffic.transfers() as f64).ln(), record.regret.ln())
    };
    let mut points: Vec<(f64, f64)> =
        family.iter().map(place).filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The height of a chain of points at a place within its reach.
fn at(points: &[(f64, f64)], x: f64) -> f64 {
    let right = points.partition_point(|point| point.0 < x).clamp(1, points.len() - 1);
    let ((x0, y0), (x1, y1)) = (points[right - 1], points[right]);
    if x1 > x0 { y0 + (y1 - y0) * (x - x0) / (x1 - x0) } else { y1 }
}

/// By how much one family's regret differs from another's at equal communication: mean of
/// ln(regret / regret) over the range of communication that both reach, one value per seed.
/// `None` where the ranges do not meet.
pub(crate) fn at_equal_communication(one: &[&Runs], other: &[&Runs]) -> Option<Estimate> {
    let seeds = one.iter().chain(other).map(|runs| runs.records.len()).min()?;
    let of_seed = |seed: usize| {
        let (one, other) = (frontier(one, seed), frontier(other, seed));
        if one.len() < 2 || other.len() < 2 {
            return None;
        }
        let low = one[0].0.max(other[0].0);
        let high = one[one.len() - 1].0.min(other[other.len() - 1].0);
        let step = (high - low) / (PLACES - 1) as f64;
        let total: f64 =
            (0..PLACES).map(|place| low + step * place as f64).map(|x| at(&one, x) - at(&other, x)).sum();
        (high > low).then_some(total / PLACES as f64)
    };
    Some(Estimate::new((0..seeds).map(of_seed).collect::<Option<Vec<f64>>>()?))
}

/// "12% less (8% to 16%)" for a mean difference of logarithms.
pub(crate) fn as_percent(difference: &Estimate) -> String {
    let percent = |value: f64| 100.0 * (value.exp() - 1.0);
    let mean = percent(difference.mean);
    match difference.ci95 {
        Some(half) => format!(
            "{mean:+.0}% ({:+.0}% to {:+.0}%)",
            percent(difference.mean - half),
            percent(difference.mean + half)
        ),
        None => format!("{mean:+.0}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_are_read_between_their_points() {
        let points = [(0.0, 4.0), (2.0, 2.0), (3.0, 2.0)];
        assert_eq!(at(&points, 0.0), 4.0);
        assert_eq!(at(&points, 1.0), 3.0);
        assert_eq!(at(&points, 3.0), 2.0);
        assert_eq!(as_percent(&Estimate { mean: 0.0, sd: None, ci95: None }), "+0%");
    }
}
