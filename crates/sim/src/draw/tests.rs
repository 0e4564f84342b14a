//! The laws, against what is known of them, and their bits, against what every
//! host must draw.

use super::{Draw, Purpose};

fn draw() -> Draw {
    Draw::keyed(1, Purpose::World, 2, 3)
}

/// Mean and variance of a sample.
fn moments(sample: &[f64]) -> (f64, f64) {
    let n = sample.len() as f64;
    let mean = sample.iter().sum::<f64>() / n;
    (mean, sample.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n)
}

/// Sum of (observed - expected)^2 / expected: mean `cells - 1`, variance about twice that.
fn chi_square(observed: &[f64], chances: &[f64], n: f64) -> f64 {
    observed.iter().zip(chances).map(|(seen, chance)| (seen - n * chance).powi(2) / (n * chance)).sum()
}

#[test]
fn every_part_of_a_key_counts() {
    let mut firsts = vec![
        Draw::keyed(1, Purpose::World, 2, 3).bits(),
        Draw::keyed(2, Purpose::World, 2, 3).bits(),
        Draw::keyed(1, Purpose::RewardNoise, 2, 3).bits(),
        Draw::keyed(1, Purpose::World, 3, 2).bits(),
        Draw::keyed(1, Purpose::World, 2, 4).bits(),
    ];
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts.len(), 5);
}

#[test]
fn integers_are_uniform() {
    let (mut draw, n) = (draw(), 70_000);
    let mut seen = [0.0; 7];
    (0..n).for_each(|_| seen[draw.below(7) as usize] += 1.0);
    let distance = chi_square(&seen, &[1.0 / 7.0; 7], f64::from(n));
    assert!((distance - 6.0).abs() < 5.0 * 12f64.sqrt(), "{distance}");
    assert!((0..1000).all(|_| draw.below(u64::MAX) < u64::MAX && draw.below(1) == 0));
}

#[test]
fn a_shuffle_keeps_all_and_prefers_none() {
    let (mut draw, n) = (draw(), 12_000);
    let mut seen = [0.0; 6];
    for _ in 0..n {
        let mut items = [0, 1, 2];
        draw.shuffle(&mut items);
        let order = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        seen[order.iter().position(|known| *known == items).unwrap()] += 1.0;
    }
    let distance = chi_square(&seen, &[1.0 / 6.0; 6], f64::from(n));
    assert!((distance - 5.0).abs() < 5.0 * 10f64.sqrt(), "{distance}");
}

#[test]
fn normals_are_normal() {
    let n = 1_000_000;
    let mut sample = vec![0.0; n];
    draw().normals(&mut sample);
    let (mean, variance) = moments(&sample);
    assert!(mean.abs() < 5.0 / (n as f64).sqrt());
    assert!((variance - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt());
    // Cells of width 1/4 from -4 to 4, and the two ends, where the tail of the ziggurat is.
    let below = |x: f64| 0.5 * libm::erfc(-x / std::f64::consts::SQRT_2);
    let mut chances = vec![below(-4.0)];
    chances.extend((-16..16).map(|i| below(f64::from(i + 1) / 4.0) - below(f64::from(i) / 4.0)));
    chances.push(below(-4.0));
    let mut seen = vec![0.0; chances.len()];
    sample.iter().for_each(|x| seen[((x * 4.0).floor() + 17.0).clamp(0.0, 33.0) as usize] += 1.0);
    let distance = chi_square(&seen, &chances, n as f64);
    assert!((distance - 33.0).abs() < 5.0 * 66f64.sqrt(), "{distance}");
}

#[test]
fn many_normals_are_the_same_as_one_after_the_other() {
    let (mut one, mut many) = (draw(), draw());
    let mut filled = vec![0.0; 1000];
    many.normals(&mut filled);
    assert!(filled.iter().all(|x| *x == one.normal()));
    assert_eq!(one.bits(), many.bits());
}

#[test]
fn exponentials_and_gammas_have_their_moments() {
    let (mut draw, n) = (draw(), 100_000);
    let sample: Vec<f64> = (0..n).map(|_| draw.exponential()).collect();
    let (mean, variance) = moments(&sample);
    // The fourth central moment is 9.
    assert!((mean - 1.0).abs() < 5.0 / f64::from(n).sqrt());
    assert!((variance - 1.0).abs() < 5.0 * (8.0 / f64::from(n)).sqrt());
    for shape in [0.3, 1.0, 4.5] {
        let sample: Vec<f64> = (0..n).map(|_| draw.ln_gamma(shape).exp()).collect();
        let (mean, variance) = moments(&sample);
        // Mean and variance are the shape a, the fourth central moment is 3a^2 + 6a.
        assert!((mean - shape).abs() < 5.0 * (shape / f64::from(n)).sqrt(), "{shape}: {mean}");
        let error = ((2.0 * shape * shape + 6.0 * shape) / f64::from(n)).sqrt();
        assert!((variance - shape).abs() < 5.0 * error, "{shape}: {variance}");
    }
    assert!((0..1000).all(|_| draw.ln_gamma(1e-4).is_finite()));
}

#[test]
fn binomials_have_their_law() {
    let mut draw = draw();
    // 40 trials: one or two splits, then single trials.
    let (trials, chance, n) = (40u64, 0.3, 50_000);
    let mut chances = vec![0.7f64.powi(40)];
    for k in 0..trials as usize {
        chances.push(chances[k] * (trials as usize - k) as f64 / (k + 1) as f64 * (chance / (1.0 - chance)));
    }
    let mut seen = vec![0.0; 41];
    (0..n).for_each(|_| seen[draw.binomial(trials, chance) as usize] += 1.0);
    // Cells of fewer than 5 expected are joined with their neighbours.
    let join = |values: &[f64]| -> Vec<f64> {
        let mut cells = values[4..22].to_vec();
        cells[0] += values[..4].iter().sum::<f64>();
        cells[17] += values[22..].iter().sum::<f64>();
        cells
    };
    let distance = chi_square(&join(&seen), &join(&chances), f64::from(n));
    assert!((distance - 17.0).abs() < 5.0 * 34f64.sqrt(), "{distance}");

    for (trials, chance) in [(1_000_000u64, 0.7), (20_000_000, 1e-6), (1 << 60, 0.5)] {
        let sample: Vec<f64> = (0..5_000).map(|_| draw.binomial(trials, chance) as f64).collect();
        let (mean, spread) = moments(&sample);
        let variance = trials as f64 * chance * (1.0 - chance);
        let n = sample.len() as f64;
        assert!((mean - trials as f64 * chance).abs() < 5.0 * (variance / n).sqrt(), "{trials}: {mean}");
        // Excess kurtosis is at most 1 / variance.
        let error = variance * ((2.0 + 1.0 / variance) / n).sqrt();
        assert!((spread - variance).abs() < 5.0 * error, "{trials}: {spread}");
    }
}

#[test]
fn certain_trials_draw_nothing() {
    let mut draw = draw();
    for trials in [0, 1, 16, 17, u64::MAX - 1] {
        assert_eq!(draw.binomial(trials, 0.0), 0);
        assert_eq!(draw.binomial(trials, 1.0), trials);
    }
}

#[test]
fn every_host_draws_these_bits() {
    let mut draw = draw();
    let mut hash = 0u64;
    let mut add = |bits: u64| hash = (hash ^ bits).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    for i in 0..200_000u64 {
        add(draw.normal().to_bits());
        add(draw.exponential().to_bits());
        add(draw.ln_gamma(0.1 + i as f64 / 1e4).to_bits());
        add(draw.binomial(i * i, 0.37));
        add(draw.below(i + 1));
    }
    assert_eq!(hash, 8_396_890_040_088_184_862);
}
