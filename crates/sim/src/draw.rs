//! A fast generator for worlds, keyed by what is drawn, so that all algorithms
//! of an experiment meet the same contexts and the same noise. Machines never
//! use it: their streams are in `cahoots_core::rng`.

use rand_core::{Infallible, TryRng};
use rand_distr::{Distribution, StandardNormal};

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
    Noise = 4,
    /// Late and lost rewards.
    Rewards = 5,
    /// Delays, losses and duplicates on the network.
    Network = 6,
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
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n, by multiplication with rejection (Lemire).
    pub fn below(&mut self, n: u64) -> u64 {
        let threshold = n.wrapping_neg() % n;
        loop {
            let wide = u128::from(self.bits()) * u128::from(n);
            if wide as u64 >= threshold {
                return (wide >> 64) as u64;
            }
        }
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        StandardNormal.sample(self)
    }
}

/// SplitMix64's finaliser.
fn mix(mut z: u64) -> u64 {
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
