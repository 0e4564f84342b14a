//! What happens on the way, on the standard error: events stay, and on a terminal one line below them tells how it goes.

use std::collections::VecDeque;
use std::io::{IsTerminal as _, Write as _, stderr};
use std::time::{Duration, Instant};

use cahoots_lab::results::grouped;

/// The mean reward is of so long.
const WINDOW: Duration = Duration::from_secs(3);

/// Words on the way.
pub(super) struct Progress {
    begun: Instant,
    terminal: bool,
    /// When, how many rewards by then, and their sum.
    seen: VecDeque<(Instant, u64, f64)>,
}

impl Progress {
    pub(super) fn new() -> Progress {
        Progress { begun: Instant::now(), terminal: stderr().is_terminal(), seen: VecDeque::new() }
    }

    /// Time runs from here.
    pub(super) fn begin(&mut self) {
        self.begun = Instant::now();
    }

    /// Since it began.
    pub(super) fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }

    /// A line that stays.
    pub(super) fn say(&self, words: &str) {
        self.write(&format!("{words}\n"));
    }

    /// Something that happened at this moment.
    pub(super) fn event(&self, words: &str) {
        self.say(&format!("{:5.1} s  {words}", self.elapsed().as_secs_f64()));
    }

    /// How it goes.
    pub(super) fn goes(&mut self, rewards: u64, sum: f64) {
        let now = Instant::now();
        self.seen.push_back((now, rewards, sum));
        while self.seen.len() > 2 && now - self.seen[0].0 > WINDOW {
            self.seen.pop_front();
        }
        let (_, rewards_then, sum_then) = self.seen[0];
        if self.terminal && rewards > rewards_then {
            self.write(&format!(
                "{:5.1} s  {} rewards acknowledged, {:.3} on average in the last {} s",
                self.elapsed().as_secs_f64(),
                grouped(rewards as f64, 0),
                (sum - sum_then) / (rewards - rewards_then) as f64,
                WINDOW.as_secs()
            ));
        }
    }

    /// On a terminal, in the place of the line that is there. A reader that has gone away is no failure.
    fn write(&self, text: &str) {
        let clear = if self.terminal { "\r\x1b[K" } else { "" };
        let _ = write!(stderr(), "{clear}{text}").and_then(|()| stderr().flush());
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.write("");
    }
}
