//! What happened at a client over time, since this process was started: seconds for ten minutes, minutes for a day, hours for a
//! year. Only what is not empty takes memory.

use std::collections::VecDeque;
use std::time::Duration;

use serde::Serialize;

/// Points of an answer at most.
const POINTS: u64 = 600;

/// Seconds of a step, and how many steps are kept.
const LEVELS: [(u64, u64); 3] = [(1, 600), (60, 1440), (3600, 8760)];

/// What happened in one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Bucket {
    decisions: u64,
    rewards: u64,
    reward_sum: f64,
    federated: bool,
}

impl Bucket {
    fn add(&mut self, other: &Bucket) {
        self.decisions += other.decisions;
        self.rewards += other.rewards;
        self.reward_sum += other.reward_sum;
        self.federated = other.federated;
    }
}

/// One resolution: steps by their number, those without anything left out.
#[derive(Clone, Debug)]
struct Level {
    step: u64,
    keep: u64,
    steps: VecDeque<(u64, Bucket)>,
}

/// What happened over time.
#[derive(Clone, Debug)]
pub(super) struct History {
    began: u64,
    levels: [Level; LEVELS.len()],
    total: Bucket,
}

/// Columns, oldest first; all but `time` and `federated` are per step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HistoryColumns {
    /// Length of a step.
    pub step_seconds: u64,
    /// When each step began, in seconds since 1970.
    pub time: Vec<u64>,
    /// Decisions taken.
    pub decisions: Vec<u64>,
    /// Rewards learned from.
    pub rewards: Vec<u64>,
    /// Their sum.
    pub reward_sum: Vec<f64>,
    /// Whether what others have learned was in use: 1 or 0.
    pub federated: Vec<u8>,
}

impl History {
    /// Begins now.
    pub(super) fn new(now: Duration) -> History {
        let levels = LEVELS.map(|(step, keep)| Level { step, keep, steps: VecDeque::new() });
        History { began: now.as_secs(), levels, total: Bucket::default() }
    }

    /// A decision was taken, by what others have learned too or not.
    pub(super) fn decided(&mut self, now: Duration, federated: bool) {
        self.add(now, Bucket { decisions: 1, federated, ..Bucket::default() });
    }

    /// A reward was learned from.
    pub(super) fn rewarded(&mut self, now: Duration, value: f64) {
        let federated = self.total.federated;
        self.add(now, Bucket { rewards: 1, reward_sum: value, federated, ..Bucket::default() });
    }

    /// Decisions, rewards and their sum since the beginning.
    pub(super) fn totals(&self) -> (u64, u64, f64) {
        (self.total.decisions, self.total.rewards, self.total.reward_sum)
    }

    fn add(&mut self, now: Duration, what: Bucket) {
        self.total.add(&what);
        for level in &mut self.levels {
            // A wall clock that is set back adds to the last step there is.
            let number = now.as_secs() / level.step;
            let number = level.steps.back().map_or(number, |(last, _)| number.max(*last));
            match level.steps.back_mut() {
                Some((last, bucket)) if *last == number => bucket.add(&what),
                _ => level.steps.push_back((number, what)),
            }
            while level.steps.front().is_some_and(|(first, _)| first + level.keep <= number) {
                level.steps.pop_front();
            }
        }
    }

    /// The last `window` seconds, or all.
    pub(super) fn columns(&self, now: Duration, window: Option<u64>) -> HistoryColumns {
        let now = now.as_secs().max(self.began);
        let since = window.map_or(self.began, |window| now.saturating_sub(window).max(self.began));
        let covers = |level: &&Level| (now - since) / level.step < level.keep;
        let level = self.levels.iter().find(covers).unwrap_or(&self.levels[LEVELS.len() - 1]);
        let (first, last) = (since / level.step, now / level.step);
        let first = first.max((last + 1).saturating_sub(level.keep));
        let merged = (last - first + 1).div_ceil(POINTS);
        let mut columns = HistoryColumns { step_seconds: level.step * merged, ..HistoryColumns::default() };
        let before = level.steps.iter().take_while(|(number, _)| *number < first).last();
        let mut federated = before.is_some_and(|(_, bucket)| bucket.federated);
        let mut steps = level.steps.iter().skip_while(|(number, _)| *number < first).peekable();
        for start in (first..=last).step_by(merged as usize) {
            let mut sum = Bucket { federated, ..Bucket::default() };
            while let Some((_, bucket)) = steps.next_if(|(number, _)| *number < start + merged) {
                sum.add(bucket);
            }
            federated = sum.federated;
            columns.time.push(start * level.step);
            columns.decisions.push(sum.decisions);
            columns.rewards.push(sum.rewards);
            columns.reward_sum.push(sum.reward_sum);
            columns.federated.push(u8::from(sum.federated));
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn what_happened_is_where_it_happened() {
        let mut history = History::new(at(1000));
        history.decided(at(1001), false);
        history.rewarded(at(1003), 0.5);
        history.rewarded(at(1003), -2.0);
        history.decided(at(1004), true);
        let columns = history.columns(at(1005), None);
        assert_eq!((columns.step_seconds, columns.time), (1, vec![1000, 1001, 1002, 1003, 1004, 1005]));
        assert_eq!(columns.decisions, [0, 1, 0, 0, 1, 0]);
        assert_eq!(columns.rewards, [0, 0, 0, 2, 0, 0]);
        assert_eq!(columns.reward_sum, [0.0, 0.0, 0.0, -1.5, 0.0, 0.0]);
        assert_eq!(columns.federated, [0, 0, 0, 0, 1, 1]);
        assert_eq!(history.columns(at(1005), Some(2)).time, [1003, 1004, 1005]);
        assert_eq!(history.totals(), (2, 2, -1.5));
    }

    /// However long it runs: nothing is lost from what is shown, no answer is long, and memory is bounded.
    #[test]
    fn long_runs_are_seen_in_longer_steps() {
        let mut history = History::new(at(0));
        let hours = 3 * 24;
        for minute in 0..hours * 60 {
            history.rewarded(at(minute * 60), 1.0);
        }
        let now = at(hours * 3600);
        for (window, rewards) in [(None, hours * 60), (Some(3600), 60), (Some(86_400), 1440)] {
            let columns = history.columns(now, window);
            assert!(columns.time.len() <= 600, "{window:?}: {} points", columns.time.len());
            let found = columns.rewards.iter().sum::<u64>();
            assert!(found.abs_diff(rewards) <= 60, "{window:?}: {found} of {rewards}");
        }
        assert!(history.levels.iter().all(|level| level.steps.len() as u64 <= level.keep));
    }

    #[test]
    fn a_clock_that_jumps_breaks_nothing() {
        let mut history = History::new(at(10_000));
        history.rewarded(at(10_001), 1.0);
        history.rewarded(at(5), 1.0);
        history.rewarded(at(u64::MAX / 2), 1.0);
        for now in [0, 5, 10_002, u64::MAX / 2] {
            for window in [None, Some(0), Some(u64::MAX)] {
                assert!(history.columns(at(now), window).time.len() <= 600);
            }
        }
        assert_eq!(history.totals().1, 3);
    }
}
