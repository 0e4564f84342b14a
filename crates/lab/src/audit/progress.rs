//! How far an audit is: a bar on a terminal, a line now and then elsewhere.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::say::say;

/// Time between two lines where there is no terminal.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// Runs between two looks at the clock.
const BETWEEN_LOOKS: u64 = 256;

/// Counts runs, and shows them on stderr.
pub struct Progress {
    done: AtomicU64,
    all: u64,
    bar: Option<ProgressBar>,
    said: Mutex<Instant>,
}

impl Progress {
    /// Of so many runs.
    pub fn of(all: u64) -> Progress {
        let bar = ProgressBar::with_draw_target(Some(all), ProgressDrawTarget::stderr_with_hz(8));
        let template = "{bar:30} {percent:>3}%  {human_pos} of {human_len} runs, {per_sec}, {eta} left";
        bar.set_style(
            ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
        );
        Progress { all, bar: Some(bar), ..Progress::hidden() }
    }

    /// Shows nothing.
    pub fn hidden() -> Progress {
        Progress { done: AtomicU64::new(0), all: 0, bar: None, said: Mutex::new(Instant::now()) }
    }

    /// Runs so far.
    pub fn done(&self) -> u64 {
        self.done.load(Ordering::Relaxed)
    }

    /// One run more.
    pub fn step(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(bar) = self.bar.as_ref().filter(|_| done.is_multiple_of(BETWEEN_LOOKS)) else { return };
        if !bar.is_hidden() {
            bar.set_position(done);
        } else if let Ok(mut said) = self.said.try_lock()
            && said.elapsed() >= BETWEEN_LINES
        {
            *said = Instant::now();
            say(format_args!("{done} of {} runs", self.all));
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
