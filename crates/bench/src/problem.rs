//! Arms and rewards for all contestants.

/// A bandit problem whose arm sets are visited in turn.
pub struct Problem {
    /// Coordinates of an arm.
    pub dim: usize,
    /// Arms on offer at every step.
    pub arms: usize,
    /// For each set, `arms` rows of `dim` numbers.
    pub sets: Vec<Vec<f64>>,
    /// For each set, the reward of each arm.
    pub rewards: Vec<Vec<f64>>,
}

/// The ridge of every contestant.
pub const RIDGE: f64 = 1.0;

/// The width's factor in the upper confidence bound.
pub const ALPHA: f64 = 0.7;

/// One learner under test.
pub trait Contestant {
    /// Forgets everything learnt.
    fn reset(&mut self);
    /// Scores the set's arms, pulls the best, learns its reward; returns the arm.
    fn step(&mut self, set: usize) -> usize;
    /// How many sets there are.
    fn sets(&self) -> usize;
    /// The log-determinant so far.
    fn log_det(&self) -> f64;
}

impl Problem {
    /// Random arms of about unit length, and rewards linear in them with a little noise.
    pub fn new(dim: usize, arms: usize, sets: usize) -> Problem {
        let mut random = Uniform(0x9e37_79b9_7f4a_7c15);
        let scale = (3.0 / dim as f64).sqrt();
        let theta: Vec<f64> = (0..dim).map(|_| scale * random.next()).collect();
        let sets: Vec<Vec<f64>> =
            (0..sets).map(|_| (0..dim * arms).map(|_| scale * random.next()).collect()).collect();
        let rewards = sets
            .iter()
            .map(|set| {
                let clean = |x: &[f64]| x.iter().zip(&theta).map(|(a, b)| a * b).sum::<f64>();
                set.chunks(dim).map(|x| clean(x) + 0.1 * random.next()).collect()
            })
            .collect();
        Problem { dim, arms, sets, rewards }
    }

    /// The arms of a set.
    pub fn rows(&self, set: usize) -> impl Iterator<Item = &[f64]> {
        self.sets[set].chunks(self.dim)
    }
}

/// Uniform on [-1, 1): a linear congruential generator is random enough here.
struct Uniform(u64);

impl Uniform {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }
}
