//! Vectors that worlds are made of: on the unit sphere, in the unit ball, in a cube, apart
//! from each other.

use cahoots_core::ParamError;

use super::WorldPart;
use crate::draw::Draw;

/// Tries per centre before a separation is called impossible.
const TRIES: usize = 10_000;

/// Inner product, in one fixed order of additions that four lanes can share.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut lanes = [0.0; 4];
    let (a, b) = (a.chunks_exact(4), b.chunks_exact(4));
    let rest: f64 = a.remainder().iter().zip(b.remainder()).map(|(x, y)| x * y).sum();
    for (x, y) in a.zip(b) {
        for lane in 0..4 {
            lanes[lane] += x[lane] * y[lane];
        }
    }
    (lanes[0] + lanes[1]) + (lanes[2] + lanes[3]) + rest
}

fn scale(row: &mut [f64], factor: f64) {
    for x in row {
        *x *= factor;
    }
}

/// Uniform on the unit sphere.
pub(crate) fn on_sphere(draw: &mut Draw, out: &mut [f64]) {
    draw.normals(out);
    scale(out, 1.0 / dot(out, out).sqrt());
}

/// On the unit sphere, but not evenly: before scaling, coordinate i of d has
/// standard deviation sqrt((d - i) / d), as in the published code of HetoFedBandit.
pub(crate) fn anisotropic(draw: &mut Draw, out: &mut [f64]) {
    let dim = out.len();
    draw.normals(out);
    for (i, x) in out.iter_mut().enumerate() {
        *x *= ((dim - i) as f64 / dim as f64).sqrt();
    }
    scale(out, 1.0 / dot(out, out).sqrt());
}

/// Rows of length `dim`, independent and uniform in the unit ball.
///
/// The first d coordinates of a uniform point on the sphere of R^(d+2) are
/// uniform in the ball of R^d: two more normals replace a power of a uniform
/// (Voelker, Gosmann and Stewart 2017).
pub(crate) fn in_ball(draw: &mut Draw, dim: usize, rows: &mut [f64]) {
    draw.normals(rows);
    for row in rows.chunks_exact_mut(dim) {
        let (a, b) = (draw.normal(), draw.normal());
        let square = dot(row, row) + (a * a + b * b);
        scale(row, 1.0 / square.sqrt());
    }
}

/// Rows of length `dim`, independent and uniform in the cube `[-1, 1]^d / sqrt(d)`, which lies in the unit ball.
pub(crate) fn in_cube(draw: &mut Draw, dim: usize, rows: &mut [f64]) {
    let side = 1.0 / (dim as f64).sqrt();
    rows.fill_with(|| (2.0 * draw.uniform() - 1.0) * side);
}

/// `count` unit vectors of which no two are closer than `separation`, drawn one
/// after the other by `law`; each is drawn again until it keeps its distance.
pub(crate) fn centres(
    seed: u64,
    count: usize,
    dim: usize,
    separation: f64,
    law: fn(&mut Draw, &mut [f64]),
) -> Result<Vec<f64>, ParamError> {
    let mut found: Vec<f64> = Vec::with_capacity(count * dim);
    let mut centre = vec![0.0; dim];
    for index in 0..count {
        let mut draw = WorldPart::Theta.draw(seed, index as u64);
        let mut apart = false;
        for _ in 0..TRIES {
            law(&mut draw, &mut centre);
            apart = found.chunks_exact(dim).all(|other| distance(other, &centre) >= separation);
            if apart {
                break;
            }
        }
        if !apart {
            return Err(ParamError::new(
                "separation",
                format!(
                    "found only {index} of {count} unit vectors of dimension {dim} that are {separation} apart: \
                     lower separation or clusters, or raise dim"
                ),
            ));
        }
        found.extend_from_slice(&centre);
    }
    Ok(found)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw() -> Draw {
        WorldPart::Theta.draw(11, 0)
    }

    #[test]
    fn points_are_uniform_in_the_ball() {
        for dim in [1, 2, 25] {
            let n = 20_000;
            let mut rows = vec![0.0; n * dim];
            in_ball(&mut draw(), dim, &mut rows);
            let (d, count) = (dim as f64, n as f64);
            let squares: Vec<f64> = rows.chunks(dim).map(|x| dot(x, x)).collect();
            assert!(squares.iter().all(|s| *s < 1.0));
            // |x|^d is uniform: E|x|^2 = d/(d+2), E|x|^4 = d/(d+4).
            let mean = squares.iter().sum::<f64>() / count;
            let variance = d / (d + 4.0) - (d / (d + 2.0)).powi(2);
            assert!((mean - d / (d + 2.0)).abs() < 5.0 * (variance / count).sqrt(), "{dim}: {mean}");
            let inside = squares.iter().filter(|s| s.powf(d / 2.0) < 0.3).count() as f64 / count;
            assert!((inside - 0.3).abs() < 5.0 * (0.3 * 0.7 / count).sqrt(), "{dim}: {inside}");
            // No direction is preferred: each coordinate has mean 0 and variance 1/(d+2).
            for i in 0..dim {
                let sum: f64 = rows.iter().skip(i).step_by(dim).sum();
                assert!(sum.abs() < 5.0 * (count / (d + 2.0)).sqrt(), "{dim}, {i}: {sum}");
            }
        }
    }

    #[test]
    fn the_cube_is_even_and_lies_in_the_unit_ball() {
        for dim in [1, 3, 15] {
            let n = 20_000;
            let mut rows = vec![0.0; n * dim];
            in_cube(&mut draw(), dim, &mut rows);
            assert!(rows.chunks_exact(dim).all(|row| dot(row, row) <= 1.0 + 1e-14));
            let d = dim as f64;
            let (half, count) = (1.0 / d.sqrt(), n as f64);
            for i in 0..dim {
                let values: Vec<f64> = rows.iter().skip(i).step_by(dim).copied().collect();
                assert!(values.iter().all(|x| x.abs() <= half));
                // Mean 0 and variance 1/(3d); a quarter of them lies below minus half of the side.
                let mean = values.iter().sum::<f64>() / count;
                assert!(mean.abs() < 5.0 * (1.0 / (3.0 * d) / count).sqrt(), "{dim}, {i}: {mean}");
                let square = values.iter().map(|x| x * x).sum::<f64>() / count;
                let error = half * half * (4.0 / 45.0 / count).sqrt();
                assert!((square - 1.0 / (3.0 * d)).abs() < 5.0 * error, "{dim}, {i}: {square}");
                let low = values.iter().filter(|x| **x < -half / 2.0).count() as f64 / count;
                assert!((low - 0.25).abs() < 5.0 * (0.25 * 0.75 / count).sqrt(), "{dim}, {i}: {low}");
            }
        }
    }

    #[test]
    fn unit_vectors_have_norm_one_and_the_stated_spread() {
        let (dim, n) = (5, 20_000);
        let mut draw = draw();
        let mut x = vec![0.0; dim];
        let mut even = vec![0.0; dim];
        let mut uneven = vec![0.0; dim];
        for _ in 0..n {
            on_sphere(&mut draw, &mut x);
            assert!((dot(&x, &x) - 1.0).abs() < 1e-14);
            even.iter_mut().zip(&x).for_each(|(sum, x)| *sum += x * x / n as f64);
            anisotropic(&mut draw, &mut x);
            assert!((dot(&x, &x) - 1.0).abs() < 1e-14);
            uneven.iter_mut().zip(&x).for_each(|(sum, x)| *sum += x * x / n as f64);
        }
        // x_i^2 on the sphere is Beta(1/2, (d-1)/2): mean 1/d, variance 2(d-1)/(d^2 (d+2)).
        let d = dim as f64;
        let error = (2.0 * (d - 1.0) / (d * d * (d + 2.0)) / n as f64).sqrt();
        assert!(even.iter().all(|mean| (mean - 1.0 / d).abs() < 5.0 * error), "{even:?}");
        // Falls from coordinate to coordinate, by far more than chance would allow.
        assert!(uneven.windows(2).all(|pair| pair[0] > pair[1] + 5.0 * error), "{uneven:?}");
    }

    #[test]
    fn centres_keep_their_distance() {
        let (dim, count, separation) = (3, 6, 1.0);
        let found = centres(5, count, dim, separation, on_sphere).unwrap();
        let rows: Vec<&[f64]> = found.chunks(dim).collect();
        for i in 0..count {
            assert!((0..i).all(|j| distance(rows[i], rows[j]) >= separation));
        }
    }

    #[test]
    fn an_impossible_separation_is_an_error() {
        let error = centres(5, 3, 1, 0.5, on_sphere).unwrap_err();
        assert_eq!(
            error.to_string(),
            "separation: found only 2 of 3 unit vectors of dimension 1 that are 0.5 apart: \
             lower separation or clusters, or raise dim"
        );
    }
}
