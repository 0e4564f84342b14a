//! A fast generator for worlds, keyed by what is drawn, so that all algorithms
//! of an experiment meet the same contexts and the same noise. Machines never
//! use it: their streams are in `cahoots_core::rng`.
//!
//! All laws are built on `libm`, so that every host draws the same bits.
//! `rand_distr` follows `num-traits`, which switches to the host's mathematics
//! as soon as any crate of a build asks for it.

#[cfg(test)]
mod tests;
mod ziggurat;

use cahoots_core::rng::gamma;
use rand_core::{Infallible, TryRng};

use ziggurat::Ziggurat;

/// xoshiro256++, seeded by hashing a key.
#[derive(Clone, Debug)]
pub struct Draw {
    state: [u64; 4],
}

/// What a draw is for; part of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The unknown parameters of a world, its pools, its assignments.
    World = 1,
    /// Who arrives at a tick.
    Arrival = 2,
    /// The arms offered to a user at a tick.
    Arms = 3,
    /// The noise of a reward.
    RewardNoise = 4,
    /// Late and lost rewards.
    Rewards = 5,
    /// Delays, losses and duplicates on the network.
    Network = 6,
    /// Who lies, and what they agree on.
    Poison = 7,
}

impl Draw {
    /// The generator of one key: (seed, purpose, a, b), with a and b such as tick and client.
    pub fn keyed(seed: u64, purpose: Purpose, a: u64, b: u64) -> Draw {
        let mut word = seed;
        for part in [purpose as u64, a, b] {
            word = mix(word ^ mix(part.wrapping_add(0x9e37_79b9_7f4a_7c15)));
        }
        let mut state = [0; 4];
        for slot in &mut state {
            word = word.wrapping_add(0x9e37_79b9_7f4a_7c15);
            *slot = mix(word);
        }
        Draw { state }
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Uniform in [0, 1).
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n, by multiplication with rejection (Lemire 2019).
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        let mut wide = u128::from(self.bits()) * u128::from(n);
        // The division is needed only where a rejection is possible at all.
        if (wide as u64) < n {
            let threshold = n.wrapping_neg() % n;
            while (wide as u64) < threshold {
                wide = u128::from(self.bits()) * u128::from(n);
            }
        }
        (wide >> 64) as u64
    }

    /// Puts a slice in random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }

    /// Standard normal.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        Ziggurat::shared().normal(self)
    }

    /// Fills a slice with standard normals: the same as one [`Draw::normal`] after the other.
    pub fn normals(&mut self, out: &mut [f64]) {
        let ziggurat = Ziggurat::shared();
        for slot in out {
            *slot = ziggurat.normal(self);
        }
    }

    /// Exponential with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -libm::log(1.0 - self.uniform())
    }

    /// Natural logarithm of a Gamma(shape, 1) draw: small shapes have draws that no `f64` holds.
    pub fn ln_gamma(&mut self, shape: f64) -> f64 {
        if shape < 1.0 {
            // Gamma(a) = Gamma(a + 1) U^(1/a).
            return self.ln_gamma(shape + 1.0) - self.exponential() / shape;
        }
        libm::log(self.gamma(shape))
    }

    /// Gamma(shape, 1) for a shape of at least 1.
    fn gamma(&mut self, shape: f64) -> f64 {
        gamma(self, shape, Draw::normal, Draw::uniform)
    }

    /// Successes in `trials` trials of probability `chance`, in O(log trials).
    ///
    /// The middle order statistic of the trials' uniforms is a Beta draw, and says
    /// which half remains to be counted (Devroye 1986, X.4.3). Exact for any
    /// number of trials; chances of 0 and 1 draw nothing.
    pub fn binomial(&mut self, trials: u64, chance: f64) -> u64 {
        let (mut left, mut chance, mut successes) = (trials, chance, 0);
        while left > 16 {
            if chance <= 0.0 {
                return successes;
            }
            if chance >= 1.0 {
                return successes + left;
            }
            let middle = left / 2 + 1;
            let low = self.gamma(middle as f64);
            let high = self.gamma((left + 1 - middle) as f64);
            let split = low / (low + high);
            if split <= chance {
                successes += middle;
                left -= middle;
                chance = (chance - split) / (1.0 - split);
            } else {
                left = middle - 1;
                chance /= split;
            }
        }
        successes + (0..left).filter(|_| self.uniform() < chance).count() as u64
    }
}

/// SplitMix64's finaliser (Steele, Lea and Flood 2014).
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl TryRng for Draw {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok((self.bits() >> 32) as u32)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(self.bits())
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.bits().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }
}
