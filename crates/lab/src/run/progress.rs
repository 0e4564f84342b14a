//! How far a run is: a bar on a terminal, a line now and then elsewhere.

use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::say::say;

/// Time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(3);

/// Counters that running jobs add to.
#[derive(Debug, Default)]
pub(super) struct Counters {
    /// Decisions taken.
    pub steps: AtomicU64,
    /// Runs finished.
    pub runs: AtomicUsize,
}

/// How far a run is, of what it had to do when it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Decisions taken.
    pub decisions: u64,
    /// Decisions of all runs, as far as known in advance.
    pub of_decisions: u64,
    /// Runs finished.
    pub runs: usize,
    /// Runs of all.
    pub of_runs: usize,
}

/// Someone who is told how far a run is: when it begins, now and then, when it ends.
#[derive(Clone, Copy)]
pub struct Watch<'a>(pub &'a (dyn Fn(Seen) + Sync));

impl fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watch")
    }
}

/// Shows the counters on stderr, and to whoever watches.
pub(super) struct Progress<'a> {
    watch: Option<Watch<'a>>,
    bar: Option<ProgressBar>,
    steps: u64,
    runs: usize,
    begun: Instant,
    said: Instant,
}

impl<'a> Progress<'a> {
    /// For so many decisions in so many runs; `quiet` shows nothing.
    pub(super) fn new(steps: u64, runs: usize, quiet: bool, watch: Option<Watch<'a>>) -> Progress<'a> {
        let now = Instant::now();
        let bar = (!quiet && runs > 0).then(|| {
            let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::stderr_with_hz(8));
            let template =
                "{bar:30} {percent:>3}%  {human_pos} of {human_len} decisions, {per_sec}, {eta} left  {msg}";
            bar.set_style(
                ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
            );
            bar
        });
        let progress = Progress { watch, bar, steps, runs, begun: now, said: now };
        progress.tell(&Counters::default());
        progress
    }

    /// Shows where things stand.
    pub(super) fn show(&mut self, counters: &Counters) {
        self.tell(counters);
        let Some(bar) = &self.bar else { return };
        let (steps, runs) = (counters.steps.load(Ordering::Relaxed), counters.runs.load(Ordering::Relaxed));
        if !bar.is_hidden() {
            bar.set_position(steps.min(self.steps));
            bar.set_message(format!("({runs} of {} runs done)", self.runs));
        } else if self.said.elapsed() >= BETWEEN_LINES {
            self.said = Instant::now();
            say(self.line(steps, runs));
        }
    }

    fn tell(&self, counters: &Counters) {
        if let Some(Watch(tell)) = self.watch {
            tell(Seen {
                decisions: counters.steps.load(Ordering::Relaxed),
                of_decisions: self.steps,
                runs: counters.runs.load(Ordering::Relaxed),
                of_runs: self.runs,
            });
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&self, counters: &Counters) {
        self.tell(counters);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn line(&self, steps: u64, runs: usize) -> String {
        let (seconds, share) = (self.begun.elapsed().as_secs_f64(), steps as f64 / self.steps.max(1) as f64);
        let left = if share > 0.0 {
            format!(", about {:.0} s left", seconds * (1.0 - share).max(0.0) / share)
        } else {
            String::new()
        };
        let rate = steps as f64 / seconds.max(1e-9);
        format!(
            "{:3.0}%  {runs} of {} runs, {rate:.0} decisions per second{left}",
            100.0 * share.min(1.0),
            self.runs
        )
    }
}
