//! Timing the hot step: score, pick, learn.

use std::time::Instant;

use cahoots_kernel::{Factor, Level, Scores, Tiles};
use serde::Serialize;

use crate::problem::{ALPHA, Contestant, Problem, RIDGE};
use crate::references::faer_gemm::FaerGemm;
use crate::references::faer_simple::FaerSimple;
use crate::references::nalgebra_gemv::NalgebraGemv;

/// Arm sets visited in turn: several, but few enough to stay in the second-level cache.
fn sets(dim: usize, arms: usize) -> usize {
    (32_768 / (dim * arms)).clamp(1, 4)
}

/// One shape at one level, beside the references; times are minima per step.
#[derive(Clone, Debug, Serialize)]
pub struct HotStepRow {
    /// Coordinates of an arm.
    pub dim: usize,
    /// Arms scored at every step.
    pub arms: usize,
    /// The kernel's level.
    pub level: String,
    /// The kernel at that level.
    pub kernel_ns: f64,
    /// faer's matrix product with Sherman-Morrison, tuned.
    pub faer_ns: f64,
    /// The same as one would first write it.
    pub faer_simple_ns: f64,
    /// nalgebra's matrix-vector products with Sherman-Morrison.
    pub nalgebra_ns: f64,
    /// `faer_ns / kernel_ns`.
    pub faer_ratio: f64,
    /// `faer_simple_ns / kernel_ns`.
    pub faer_simple_ratio: f64,
    /// `nalgebra_ns / kernel_ns`.
    pub nalgebra_ratio: f64,
}

/// The kernel at one level.
pub struct KernelStep<'a> {
    problem: &'a Problem,
    level: Level,
    sets: Vec<Tiles>,
    factor: Factor,
    scores: Scores,
    x: Vec<f64>,
}

impl<'a> KernelStep<'a> {
    /// Ready for its first step.
    pub fn new(problem: &'a Problem, level: Level) -> KernelStep<'a> {
        let sets = (0..problem.sets.len())
            .map(|set| {
                let mut tiles = Tiles::default();
                tiles.fill(problem.dim, problem.rows(set));
                tiles
            })
            .collect();
        KernelStep {
            problem,
            level,
            sets,
            factor: Factor::ridge(problem.dim, RIDGE),
            scores: Scores::default(),
            x: vec![0.0; problem.dim],
        }
    }
}

impl Contestant for KernelStep<'_> {
    fn reset(&mut self) {
        self.factor = Factor::ridge(self.problem.dim, RIDGE);
    }

    fn step(&mut self, set: usize) -> usize {
        let arms = &self.sets[set];
        self.factor.score_with(self.level, arms, &mut self.scores);
        let k = self.scores.highest_bound_with(self.level, ALPHA, None).arm;
        arms.row_into(k, &mut self.x);
        self.factor.learn_with(self.level, &self.x, self.problem.rewards[set][k]);
        k
    }

    fn sets(&self) -> usize {
        self.sets.len()
    }

    fn log_det(&self) -> f64 {
        self.factor.log_det()
    }
}

/// Times every level of the host and the references at every shape `(dim, arms)`, interleaved, and
/// keeps each one's fastest of `rounds`.
///
/// # Panics
/// If two contestants pull different arms.
pub fn measure(shapes: &[(usize, usize)], rounds: usize) -> Vec<HotStepRow> {
    shapes.iter().flat_map(|&(dim, arms)| measure_one(dim, arms, rounds)).collect()
}

fn measure_one(dim: usize, arms: usize, rounds: usize) -> Vec<HotStepRow> {
    let problem = Problem::new(dim, arms, sets(dim, arms));
    // Some millions of multiplications a round, so that neither the clock's grain nor the first
    // reading of the arms matters.
    let steps = (4_000_000 / (dim * dim * (arms + 4))).clamp(20, 400);
    let levels = Level::available();
    let mut kernels: Vec<_> =
        levels.iter().map(|&level| (KernelStep::new(&problem, level), f64::INFINITY)).collect();
    let mut faer = (FaerGemm::new(&problem), f64::INFINITY);
    let mut simple = (FaerSimple::new(&problem), f64::INFINITY);
    let mut nalgebra = (NalgebraGemv::new(&problem), f64::INFINITY);
    for _ in 0..rounds.max(1) {
        let expected = time(&mut faer, steps);
        let close = |(pulled, log_det): (Vec<usize>, f64), who: &str| {
            assert_eq!(pulled, expected.0, "{who} disagrees at ({dim}, {arms})");
            // Rounding only: some eps per step and coordinate.
            assert!((log_det - expected.1).abs() < 1e-9 * dim as f64, "log det of {who}");
        };
        close(time(&mut simple, steps), "faer, simple");
        close(time(&mut nalgebra, steps), "nalgebra");
        for (kernel, &level) in kernels.iter_mut().zip(&levels) {
            close(time(kernel, steps), &format!("{level:?}"));
        }
    }
    let row = |(&level, &(_, kernel_ns)): (&Level, &(KernelStep<'_>, f64))| HotStepRow {
        dim,
        arms,
        level: format!("{level:?}"),
        kernel_ns,
        faer_ns: faer.1,
        faer_simple_ns: simple.1,
        nalgebra_ns: nalgebra.1,
        faer_ratio: faer.1 / kernel_ns,
        faer_simple_ratio: simple.1 / kernel_ns,
        nalgebra_ratio: nalgebra.1 / kernel_ns,
    };
    levels.iter().zip(&kernels).map(row).collect()
}

/// One round from a fresh state: keeps the least time per step, returns the arms and the log-determinant.
fn time<C: Contestant>((contestant, least): &mut (C, f64), steps: usize) -> (Vec<usize>, f64) {
    contestant.reset();
    let mut pulled = Vec::with_capacity(steps);
    let sets = contestant.sets();
    let start = Instant::now();
    for step in 0..steps {
        pulled.push(contestant.step(step % sets));
    }
    let ns = start.elapsed().as_nanos() as f64 / steps as f64;
    *least = least.min(ns);
    (pulled, contestant.log_det())
}
