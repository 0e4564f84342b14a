//! Random streams that are positions, not generators: a [`Stream`] is built
//! where it is used, from a key that the driver holds and a position that is
//! part of the state. Policy and privacy have keys of their own, so that turning
//! privacy off changes no decision. Decisions are drawn with ChaCha8, which is quick;
//! noise, on which a guarantee rests, with ChaCha20.

use rand_chacha::{ChaCha8Rng, ChaCha20Rng};
use rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::ids::NodeId;

/// The two secrets of a federation's randomness. In simulation both follow from
/// the seed; in a deployment the privacy key is the client's own and never
/// leaves it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    policy: [u8; 32],
    privacy: [u8; 32],
}

impl std::fmt::Debug for Keys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Keys(..)")
    }
}

impl Keys {
    /// Keys that follow from a seed: for simulation.
    pub fn from_seed(seed: u64) -> Keys {
        let key = |purpose| {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(purpose);
            let mut key = [0; 32];
            rng.fill_bytes(&mut key);
            key
        };
        Keys { policy: key(1), privacy: key(2) }
    }

    /// Decisions that follow from a seed, noise that follows from a secret.
    pub fn with_privacy(mut self, secret: [u8; 32]) -> Keys {
        self.privacy = secret;
        self
    }

    /// The stream that `choose` may use for decision `number`.
    pub fn choice(&self, node: NodeId, number: u64) -> Stream {
        // A decision owns 2^20 words: more than any policy draws.
        Stream::new(&self.policy, stream_id(node, 0), u128::from(number) << 20)
    }

    /// The stream of a machine's own decisions (sampling participants, say).
    pub fn policy(&self, node: NodeId, position: u64) -> Stream {
        Stream::new(&self.policy, stream_id(node, 1), u128::from(position))
    }

    /// The coin of decision `number`: who decides it, a learner or whoever it is compared with ([`crate::apprentice`]).
    pub fn coin(&self, node: NodeId, number: u64) -> Stream {
        Stream::new(&self.policy, stream_id(node, 3), u128::from(number) << 4)
    }

    /// The stream that privacy noise is drawn from.
    pub fn privacy(&self, node: NodeId, position: u64) -> Stream {
        Stream { noise: true, ..Stream::new(&self.privacy, stream_id(node, 2), u128::from(position)) }
    }
}

fn stream_id(node: NodeId, purpose: u64) -> u64 {
    u64::from(node.0) << 8 | purpose
}

/// How far a machine has read its two streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Positions {
    /// Words drawn from the policy stream.
    pub policy: u64,
    /// Words drawn from the privacy stream.
    pub privacy: u64,
}

/// A random stream at a position. Costs nothing until the first draw.
pub struct Stream {
    key: [u8; 32],
    id: u64,
    start: u128,
    /// Privacy noise: drawn with all 20 rounds.
    noise: bool,
    generator: Option<Generator>,
}

/// The cipher behind a stream.
enum Generator {
    Decisions(ChaCha8Rng),
    Noise(ChaCha20Rng),
}

impl Stream {
    fn new(key: &[u8; 32], id: u64, start: u128) -> Stream {
        Stream { key: *key, id, start, noise: false, generator: None }
    }

    /// Where the next word will come from.
    pub fn position(&self) -> u64 {
        match &self.generator {
            None => self.start as u64,
            Some(Generator::Decisions(rng)) => rng.get_word_pos() as u64,
            Some(Generator::Noise(rng)) => rng.get_word_pos() as u64,
        }
    }

    fn generator(&mut self) -> &mut Generator {
        self.generator.get_or_insert_with(|| {
            if self.noise {
                let mut rng = ChaCha20Rng::from_seed(self.key);
                rng.set_stream(self.id);
                rng.set_word_pos(self.start);
                Generator::Noise(rng)
            } else {
                let mut rng = ChaCha8Rng::from_seed(self.key);
                rng.set_stream(self.id);
                rng.set_word_pos(self.start);
                Generator::Decisions(rng)
            }
        })
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        match self.generator() {
            Generator::Decisions(rng) => rng.next_u64(),
            Generator::Noise(rng) => rng.next_u64(),
        }
    }

    /// Uniform in [0, 1), on the grid of 2^-53.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0..n, without bias.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "nothing to choose from");
        // Reject the last, incomplete run of residues.
        let limit = u64::MAX - u64::MAX % n;
        loop {
            let bits = self.bits();
            if bits < limit {
                return bits % n;
            }
        }
    }

    /// Standard normal, by the polar method on `libm`, so that every host draws
    /// the same bits.
    pub fn normal(&mut self) -> f64 {
        loop {
            let u = 2.0 * self.uniform() - 1.0;
            let v = 2.0 * self.uniform() - 1.0;
            let s = u * u + v * v;
            if s > 0.0 && s < 1.0 {
                return u * (-2.0 * libm::log(s) / s).sqrt();
            }
        }
    }
}

/// A draw from the gamma distribution of this shape, at least 1, and scale 1 (Marsaglia and Tsang 2000), from a source of
/// standard normals and of uniforms in [0, 1).
pub fn gamma<S>(
    source: &mut S,
    shape: f64,
    normal: impl Fn(&mut S) -> f64,
    uniform: impl Fn(&mut S) -> f64,
) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = normal(source);
        let root = 1.0 + c * x;
        if root <= 0.0 {
            continue;
        }
        let v = root * root * root;
        let u = 1.0 - uniform(source);
        let squeeze = u < 1.0 - 0.0331 * (x * x) * (x * x);
        if squeeze || libm::log(u) < 0.5 * x * x + d * (1.0 - v + libm::log(v)) {
            return d * v;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_continues_where_its_position_says() {
        let keys = Keys::from_seed(7);
        let mut whole = keys.policy(NodeId(3), 0);
        let first: Vec<u64> = (0..10).map(|_| whole.bits()).collect();
        let mut half = keys.policy(NodeId(3), 0);
        for _ in 0..4 {
            half.bits();
        }
        let mut rest = keys.policy(NodeId(3), half.position());
        let second: Vec<u64> = (0..6).map(|_| rest.bits()).collect();
        assert_eq!(first[4..], second[..]);
    }

    /// Against Bernstein's definition of ChaCha, written out: counter and stream have 64 bits each.
    #[test]
    fn noise_is_drawn_with_twenty_rounds_and_decisions_with_eight() {
        let keys = Keys::from_seed(7).with_privacy([9; 32]);
        let node = NodeId(3);
        let quarter = |s: &mut [u32; 16], a: usize, b: usize, c: usize, d: usize| {
            for (x, y, z, bits) in [(a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)] {
                s[x] = s[x].wrapping_add(s[y]);
                s[z] = (s[z] ^ s[x]).rotate_left(bits);
            }
        };
        let block = |key: [u8; 32], id: u64, rounds: usize| -> [u32; 16] {
            let word =
                |i: usize| u32::from_le_bytes([key[4 * i], key[4 * i + 1], key[4 * i + 2], key[4 * i + 3]]);
            let mut start =
                [0x6170_7865, 0x3320_646e, 0x7962_2d32, 0x6b20_6574, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            (0..8).for_each(|i| start[4 + i] = word(i));
            (start[14], start[15]) = (id as u32, (id >> 32) as u32);
            let mut state = start;
            for _ in 0..rounds / 2 {
                for i in 0..4 {
                    quarter(&mut state, i, 4 + i, 8 + i, 12 + i);
                }
                for i in 0..4 {
                    quarter(&mut state, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
                }
            }
            std::array::from_fn(|i| state[i].wrapping_add(start[i]))
        };
        let first = |words: [u32; 16]| u64::from(words[0]) | u64::from(words[1]) << 32;
        assert_eq!(keys.privacy(node, 0).bits(), first(block([9; 32], stream_id(node, 2), 20)));
        assert_eq!(keys.policy(node, 0).bits(), first(block(keys.policy, stream_id(node, 1), 8)));
    }

    #[test]
    fn nodes_purposes_and_decisions_draw_apart() {
        let keys = Keys::from_seed(7);
        let mut draws = vec![
            keys.policy(NodeId(0), 0).bits(),
            keys.policy(NodeId(1), 0).bits(),
            keys.privacy(NodeId(0), 0).bits(),
            keys.choice(NodeId(0), 0).bits(),
            keys.choice(NodeId(0), 1).bits(),
            keys.coin(NodeId(0), 0).bits(),
            keys.coin(NodeId(0), 1).bits(),
            Keys::from_seed(8).policy(NodeId(0), 0).bits(),
        ];
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), 8);
    }

    #[test]
    fn normal_draws_have_the_right_moments() {
        let mut stream = Keys::from_seed(1).policy(NodeId(0), 0);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / n as f64;
        let square = draws.iter().map(|x| x * x).sum::<f64>() / n as f64;
        // Five standard errors: 1/sqrt(n) and sqrt(2/n).
        assert!(mean.abs() < 5.0 / (n as f64).sqrt());
        assert!((square - 1.0).abs() < 5.0 * (2.0 / n as f64).sqrt());
    }
}
