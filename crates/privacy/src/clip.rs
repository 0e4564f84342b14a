//! Observations brought within the bounds that a guarantee assumes, and counted.

use serde::{Deserialize, Serialize};

/// `|x| <= 1` and `y` in a range, and how often that had to be seen to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clip {
    clipped: u64,
}

impl Clip {
    /// Shrinks a context to norm 1 and moves a reward into its range; true if either had to be changed.
    pub fn apply(&mut self, x: &mut [f64], reward: &mut f64, (least, most): (f64, f64)) -> bool {
        let norm2: f64 = x.iter().map(|v| v * v).sum();
        // A unit vector may be above 1 by rounding; shrinking it changes no more than that.
        let (long, far) = (norm2 > 1.0, !(least..=most).contains(reward));
        if long {
            let scale = (1.0 - f64::EPSILON) / norm2.sqrt();
            x.iter_mut().for_each(|v| *v *= scale);
        }
        *reward = reward.clamp(least, most);
        let counts = norm2 > 1.0 + 1e-9 || far;
        self.clipped += u64::from(counts);
        counts
    }

    /// Observations that had to be changed by more than rounding.
    pub fn clipped(&self) -> u64 {
        self.clipped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_large_is_shrunk_and_counted() {
        let mut clip = Clip::default();
        let (mut x, mut y) = ([3.0, 4.0], 1.5);
        assert!(clip.apply(&mut x, &mut y, (-1.0, 1.0)));
        assert!((x[0] - 0.6).abs() < 1e-12 && x[0] * x[0] + x[1] * x[1] <= 1.0);
        assert_eq!((y, clip.clipped()), (1.0, 1));
        let (mut x, mut y) = ([0.6, 0.0], -1.0);
        assert!(!clip.apply(&mut x, &mut y, (-1.0, 1.0)));
        assert_eq!((x, y, clip.clipped()), ([0.6, 0.0], -1.0, 1));
    }

    #[test]
    fn rounding_is_shrunk_without_being_counted() {
        let mut clip = Clip::default();
        let (mut x, mut y) = ([1.0 + 1e-15, 0.0], 0.0);
        assert!(!clip.apply(&mut x, &mut y, (-1.0, 1.0)));
        assert!(x[0] <= 1.0 && clip.clipped() == 0);
    }
}
