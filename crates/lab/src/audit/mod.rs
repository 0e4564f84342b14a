//! Audits: what a mechanism promises beside what can be measured of it.
//!
//! Each [`Subject`] runs the real code on pairs of inputs that differ in one unit, and hands over what an observer sees,
//! times and structure included. Subjects that are broken on purpose must be caught; if they are not, the audit itself
//! is worth nothing.

mod arms;
mod dubey_pentland;
mod federation;
mod finding;
mod message;
mod observer;
mod progress;
mod sums;
mod tree;
mod triggers;

use cahoots_privacy::audit::canaries::{Canary, one_run};
use cahoots_privacy::audit::{Stated, Trained, Transcript, Verdict, training_of};
use rayon::prelude::*;

pub use self::finding::Finding;
pub use self::observer::Observer;
pub use self::progress::Progress;
use crate::error::LabError;

/// What an observer sees of one run on the second input, or on the first; all randomness follows from the seed.
type Run = Box<dyn Fn(bool, u64) -> Transcript + Send + Sync>;

/// One run with many canaries; all randomness follows from the seed.
type Canaries = fn(u64) -> Vec<Canary>;

/// Two inputs that differ in one unit.
struct Pair {
    name: &'static str,
    run: Run,
}

/// Something to be audited.
pub struct Subject {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is run.
    pub about: &'static str,
    /// What it promises.
    pub stated: Stated,
    /// Broken on purpose: must be caught.
    pub control: bool,
    /// Runs for each trial that is asked for: slow ones take fewer.
    share: f64,
    pairs: Vec<Pair>,
    canaries: Option<Canaries>,
}

/// Runs of each subject on each input, at least.
const LEAST: usize = 400;

/// All there is to audit.
pub fn subjects() -> Vec<Subject> {
    let mut subjects = message::subjects();
    subjects.extend(tree::subjects());
    subjects.extend(sums::subjects());
    subjects.extend(arms::subjects());
    subjects.extend(triggers::subjects());
    subjects.extend(dubey_pentland::subjects());
    subjects.extend(federation::subjects());
    subjects
}

/// The subjects of a name; all of them for `all`.
pub fn select(name: &str) -> Result<Vec<Subject>, LabError> {
    let all = subjects();
    if name == "all" {
        return Ok(all);
    }
    let known: Vec<&str> = all.iter().map(|subject| subject.name).collect();
    let list = known.join(", ");
    let found: Vec<Subject> = all.into_iter().filter(|subject| subject.name == name).collect();
    if found.is_empty() {
        return Err(LabError::Input(format!("there is no mechanism {name}; there are: all, {list}")));
    }
    Ok(found)
}

impl Subject {
    fn new(name: &'static str, about: &'static str, epsilon: f64, delta: f64) -> Subject {
        let stated = Stated { epsilon, delta, gaussian: false };
        Subject { name, about, stated, control: false, share: 1.0, pairs: Vec::new(), canaries: None }
    }

    /// Its noise is Gaussian.
    fn gaussian(mut self) -> Subject {
        self.stated.gaussian = true;
        self
    }

    fn control(self) -> Subject {
        Subject { control: true, ..self }
    }

    fn share(self, share: f64) -> Subject {
        Subject { share, ..self }
    }

    fn canaries(self, canaries: Canaries) -> Subject {
        Subject { canaries: Some(canaries), ..self }
    }

    /// A pair of inputs more.
    fn pair(
        mut self,
        name: &'static str,
        run: impl Fn(bool, u64) -> Transcript + Send + Sync + 'static,
    ) -> Subject {
        self.pairs.push(Pair { name, run: Box::new(run) });
        self
    }

    fn trials(&self, asked: usize) -> usize {
        ((asked as f64 * self.share) as usize).max(LEAST)
    }

    /// Runs that it makes where so many are asked for.
    pub fn runs(&self, asked: usize) -> u64 {
        let (trials, training) = (self.trials(asked), training_of(self.trials(asked)));
        2 * (training * self.pairs.len() + trials - training) as u64
    }

    /// Trains on every pair, then certifies on the one that tells most: `asked` runs on each of the two inputs.
    pub fn audit(&self, asked: usize, seed: u64, progress: &Progress) -> Finding {
        let (trials, training) = (self.trials(asked), training_of(self.trials(asked)));
        let train = |place: usize| {
            let runs = |second| -> Vec<Transcript> {
                let seeds = (0..training as u64).into_par_iter();
                seeds.map(|trial| self.run(place, second, trial, seed, progress)).collect()
            };
            Trained::on(self.stated, &runs(false), &runs(true))
        };
        let mut trained: Vec<Trained> = (0..self.pairs.len()).map(train).collect();
        let promise = |place: &usize| trained[*place].promise();
        let first_best = |best: usize, next: usize| if promise(&next) > promise(&best) { next } else { best };
        let place = (1..trained.len()).fold(0, first_best);
        let trained = trained.swap_remove(place);
        let scores = |second: bool| -> Vec<f64> {
            let seeds = (training as u64..trials as u64).into_par_iter();
            seeds.map(|trial| trained.score(&self.run(place, second, trial, seed, progress))).collect()
        };
        let (first, second) = (scores(false), scores(true));
        let audit = trained.certify_scores(&first, &second);
        let by_canaries = self.canaries.map(|run| one_run(&run(seed), self.stated.delta));
        let most = audit.measured.max(by_canaries.unwrap_or(0.0));
        let verdict = Verdict::of(most, self.stated.epsilon);
        Finding::new(self, self.pairs[place].name, audit, by_canaries, verdict, &first, &second)
    }

    /// One run. Every one has a seed of its own, so that threads change nothing.
    fn run(&self, place: usize, second: bool, trial: u64, seed: u64, progress: &Progress) -> Transcript {
        let seed = seed << 44 | u64::from(second) << 40 | (place as u64) << 36 | trial;
        let transcript = (self.pairs[place].run)(second, seed);
        progress.step();
        transcript
    }
}

#[cfg(test)]
mod tests;
