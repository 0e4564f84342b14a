//! Arithmetic with twice the digits, for references where the condition number eats the first half.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// An unevaluated sum of a number and a much smaller one: some 106 bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Double(pub f64, pub f64);

fn two_sum(a: f64, b: f64) -> Double {
    let sum = a + b;
    let part = sum - a;
    Double(sum, (a - (sum - part)) + (b - part))
}

impl From<f64> for Double {
    fn from(x: f64) -> Double {
        Double(x, 0.0)
    }
}

impl Add for Double {
    type Output = Double;
    fn add(self, other: Double) -> Double {
        let (high, low) = (two_sum(self.0, other.0), two_sum(self.1, other.1));
        let sum = two_sum(high.0, high.1 + low.0);
        two_sum(sum.0, sum.1 + low.1)
    }
}

impl Neg for Double {
    type Output = Double;
    fn neg(self) -> Double {
        Double(-self.0, -self.1)
    }
}

impl Sub for Double {
    type Output = Double;
    fn sub(self, other: Double) -> Double {
        self + -other
    }
}

impl Mul for Double {
    type Output = Double;
    fn mul(self, other: Double) -> Double {
        let product = self.0 * other.0;
        let rest = self.0.mul_add(other.0, -product);
        two_sum(product, rest + (self.0 * other.1 + self.1 * other.0))
    }
}

impl Div for Double {
    type Output = Double;
    fn div(self, other: Double) -> Double {
        let first = self.0 / other.0;
        let rest = self - other * first.into();
        let second = rest.0 / other.0;
        let rest = rest - other * second.into();
        Double::from(first) + second.into() + (rest.0 / other.0).into()
    }
}

impl Double {
    pub(crate) fn sqrt(self) -> Double {
        let root = Double::from(self.0.sqrt());
        // One Newton step doubles the digits.
        root + (self - root * root) / (root + root)
    }
}

/// `W = L^-1` with `L L' = matrix + ridge I`, and the logarithm of the determinant.
pub(crate) fn inverse_factor(matrix: &[Vec<f64>], ridge: f64) -> (Vec<Vec<f64>>, f64) {
    let dim = matrix.len();
    let zero = Double::from(0.0);
    let mut l = vec![vec![zero; dim]; dim];
    let mut log_det = 0.0;
    for i in 0..dim {
        for j in 0..=i {
            let entry = Double::from(matrix[i][j]) + (if i == j { ridge } else { 0.0 }).into();
            let sum = (0..j).fold(entry, |sum, k| sum - l[i][k] * l[j][k]);
            l[i][j] = if i == j { sum.sqrt() } else { sum / l[j][j] };
        }
        log_det += 2.0 * libm::log(l[i][i].0);
    }
    let mut w = vec![vec![zero; dim]; dim];
    for j in 0..dim {
        for i in j..dim {
            let one = Double::from(if i == j { 1.0 } else { 0.0 });
            w[i][j] = (j..i).fold(one, |sum, k| sum - l[i][k] * w[k][j]) / l[i][i];
        }
    }
    (w.into_iter().map(|row| row.into_iter().map(|v| v.0).collect()).collect(), log_det)
}
