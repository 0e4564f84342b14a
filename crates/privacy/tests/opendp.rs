//! Our samplers beside OpenDP's, which are written independently and draw from the system's entropy.

use cahoots_core::{Keys, NodeId};
use cahoots_privacy::exact::{discrete_gaussian, discrete_laplace};
use opendp::domains::AtomDomain;
use opendp::measurements::{make_gaussian, make_laplace};
use opendp::measures::{MaxDivergence, ZeroConcentratedDivergence};
use opendp::metrics::AbsoluteDistance;

const DRAWS: usize = 8000;

/// The two-sample chi-square statistic of equally many draws, in standard deviations from what it should be.
fn disagreement(ours: &[i64], theirs: &[i64], edge: i64) -> f64 {
    let count =
        |draws: &[i64], x: i64| draws.iter().filter(|draw| (**draw).clamp(-edge, edge) == x).count() as f64;
    let (mut statistic, mut cells) = (0.0, -1.0);
    for x in -edge..=edge {
        let (a, b) = (count(ours, x), count(theirs, x));
        if a + b > 0.0 {
            statistic += (a - b) * (a - b) / (a + b);
            cells += 1.0;
        }
    }
    (statistic - cells) / (2.0f64 * cells).sqrt()
}

/// OpenDP cannot be seeded, so this may fail by chance: beyond seven standard deviations, about once in 10^7 runs.
const CHANCE: f64 = 7.0;

#[test]
fn laplace_agrees_with_opendp() {
    let space = (AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::default());
    let opendp = make_laplace::<_, _, MaxDivergence>(space.0, space.1, 3.0, None).unwrap();
    let theirs: Vec<i64> = (0..DRAWS).map(|_| i64::from(opendp.invoke(&0).unwrap())).collect();
    let mut rng = Keys::from_seed(1).privacy(NodeId(0), 0);
    let ours: Vec<i64> = (0..DRAWS).map(|_| discrete_laplace(&mut rng, 3)).collect();
    let apart = disagreement(&ours, &theirs, 12);
    assert!(apart < CHANCE, "{apart}");
    // The check can tell: another scale is far away.
    let wrong: Vec<i64> = (0..DRAWS).map(|_| discrete_laplace(&mut rng, 4)).collect();
    assert!(disagreement(&wrong, &theirs, 12) > CHANCE);
    // And the same loss is stated for the same noise.
    assert!((opendp.map(&1).unwrap() - 1.0 / 3.0).abs() < 1e-9);
}

#[test]
fn gaussian_agrees_with_opendp() {
    let space = (AtomDomain::<i32>::default(), AbsoluteDistance::<i32>::default());
    let opendp = make_gaussian::<_, _, ZeroConcentratedDivergence>(space.0, space.1, 4.0, None).unwrap();
    let theirs: Vec<i64> = (0..DRAWS).map(|_| i64::from(opendp.invoke(&0).unwrap())).collect();
    let mut rng = Keys::from_seed(2).privacy(NodeId(0), 0);
    let ours: Vec<i64> = (0..DRAWS).map(|_| discrete_gaussian(&mut rng, 4)).collect();
    let apart = disagreement(&ours, &theirs, 10);
    assert!(apart < CHANCE, "{apart}");
    let wrong: Vec<i64> = (0..DRAWS).map(|_| discrete_gaussian(&mut rng, 5)).collect();
    assert!(disagreement(&wrong, &theirs, 10) > CHANCE);
    // zCDP rho = sensitivity^2 / (2 sigma^2).
    assert!((opendp.map(&2).unwrap() - 4.0 / 32.0).abs() < 1e-9);
}
