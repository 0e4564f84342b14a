//! The values that noise is drawn on: multiples of a power of two, so that adding it is exact.

use cahoots_core::ParamError;
use serde::{Deserialize, Serialize};

/// Multiples of `2^exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grid {
    exponent: i32,
}

impl Grid {
    /// Steps in one unit of scale are at least 2 to this power: far more than the 1024 that are needed.
    pub const FINENESS: i32 = 20;

    /// The grid of integers.
    pub const INTEGERS: Grid = Grid { exponent: 0 };

    /// Fine enough for noise of this scale, which must be positive and finite: between 2^20 and 2^21 steps
    /// in one unit of scale.
    pub fn for_scale(scale: f64) -> Grid {
        let (_, exponent) = libm::frexp(scale);
        Grid { exponent: exponent - 1 - Self::FINENESS }
    }

    /// The distance between neighbours.
    pub fn step(self) -> f64 {
        libm::ldexp(1.0, self.exponent)
    }

    /// Steps that are at least as long as `length`.
    pub fn steps_at_least(self, length: f64) -> u64 {
        libm::ceil(libm::ldexp(length, -self.exponent)) as u64
    }

    /// The nearest number of steps to `exact`.
    pub fn steps(self, exact: f64) -> i64 {
        libm::rint(libm::ldexp(exact, -self.exponent)) as i64
    }

    /// So many steps.
    pub fn value(self, steps: i64) -> f64 {
        libm::ldexp(steps as f64, self.exponent)
    }

    /// The nearest multiple of the step to `exact`, plus `noise` steps, rounded to a float once: a function
    /// of the exact sum, so that rounding gives nothing away.
    pub fn shifted(self, exact: f64, noise: i64) -> f64 {
        let steps = libm::rint(libm::ldexp(exact, -self.exponent)) as i128;
        libm::ldexp((steps + i128::from(noise)) as f64, self.exponent)
    }
}

/// A scale of noise in whole steps of a grid; 0: no noise, and no rounding either.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scale {
    grid: Grid,
    steps: u64,
}

impl Scale {
    /// No noise.
    pub const NONE: Scale = Scale { grid: Grid::INTEGERS, steps: 0 };

    /// At least this scale (by less than one part in a million more), called `what` in errors; 0: none.
    pub fn at_least(key: &str, what: &str, scale: f64) -> Result<Scale, ParamError> {
        if scale == 0.0 {
            return Ok(Scale::NONE);
        }
        if !(1e-200..1e200).contains(&scale) {
            return Err(ParamError::new(key, format!("noise of {what} {scale} cannot be drawn")));
        }
        let grid = Grid::for_scale(scale);
        Ok(Scale { grid, steps: grid.steps_at_least(scale) })
    }

    /// What it is counted on.
    pub fn grid(self) -> Grid {
        self.grid
    }

    /// `factor` times the scale, on the same grid.
    pub fn wider(self, factor: f64) -> Scale {
        Scale { grid: self.grid, steps: libm::ceil(self.steps as f64 * factor) as u64 }
    }

    /// There is no noise.
    pub fn is_none(self) -> bool {
        self.steps == 0
    }

    /// Steps of the grid in it.
    pub fn steps(self) -> u64 {
        self.steps
    }

    /// Its value.
    pub fn value(self) -> f64 {
        self.steps as f64 * self.grid.step()
    }

    /// Distance between neighbouring outputs.
    pub fn step(self) -> f64 {
        if self.is_none() { 0.0 } else { self.grid.step() }
    }

    /// `exact` plus what `draw` gives for this many steps.
    pub fn noised(self, exact: f64, draw: impl FnOnce(u64) -> i64) -> f64 {
        if self.is_none() {
            return exact;
        }
        self.grid.shifted(exact, draw(self.steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scale_has_at_least_a_million_steps_however_small_it_is() {
        for scale in [0.02, 1.0, 1.999, 7.0, 1e-9, 3e8] {
            let grid = Grid::for_scale(scale);
            let steps = grid.steps_at_least(scale);
            assert!(((1 << 20)..=(1 << 21)).contains(&steps), "{scale}: {steps}");
            assert!(steps as f64 * grid.step() >= scale);
        }
    }

    #[test]
    fn values_are_rounded_to_the_nearest_step_and_then_shifted() {
        let grid = Grid::for_scale(1.0);
        let step = grid.step();
        assert_eq!(step, 1.0 / (1 << 20) as f64);
        assert_eq!(grid.shifted(5.0 + 0.4 * step, 3), 5.0 + 3.0 * step);
        assert_eq!(grid.shifted(-5.0, -1), -5.0 - step);
        assert_eq!(grid.shifted(1e30, 1), 1e30);
    }
}
