//! How it went: every second of the last hour, every minute of the last day, every hour of the last year.

use std::collections::VecDeque;

use serde::Serialize;

use super::Traffic;

/// Points of a curve at most.
const POINTS: usize = 600;

/// A moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) time: f64,
    /// What has gone over the wire by then.
    pub(super) traffic: Traffic,
    pub(super) connected: usize,
    pub(super) observations: Option<u64>,
}

/// Moments that are so many seconds apart.
#[derive(Clone, Debug)]
struct Ring {
    step: f64,
    length: usize,
    samples: VecDeque<Sample>,
}

impl Ring {
    fn new(step: f64, length: usize) -> Ring {
        Ring { step, length, samples: VecDeque::new() }
    }

    fn push(&mut self, sample: Sample) {
        // A timer may be a little early.
        if self.samples.back().is_some_and(|last| sample.time - last.time < 0.9 * self.step) {
            return;
        }
        if self.samples.len() == self.length {
            self.samples.pop_front();
        }
        self.samples.push_back(sample);
    }
}

#[derive(Clone, Debug)]
pub(super) struct History([Ring; 3]);

impl Default for History {
    fn default() -> History {
        History([Ring::new(1.0, 3601), Ring::new(60.0, 1441), Ring::new(3600.0, 8761)])
    }
}

/// Curves over time, oldest first. Counts are of the step that ends at each time; the rest is as it stood then.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Columns {
    /// Seconds between two points.
    pub step_seconds: f64,
    /// In seconds since 1970.
    pub time: Vec<f64>,
    /// Messages merged.
    pub received: Vec<u64>,
    /// Messages sent.
    pub sent: Vec<u64>,
    /// Messages refused, confirmations too.
    pub refused: Vec<u64>,
    /// Bytes that came.
    pub bytes_received: Vec<u64>,
    /// Bytes that left.
    pub bytes_sent: Vec<u64>,
    /// Clients that were connected.
    pub connected: Vec<usize>,
    /// Observations that were merged by then, where the algorithm counts them.
    pub observations: Vec<Option<u64>>,
}

impl History {
    pub(super) fn push(&mut self, sample: Sample) {
        self.0.iter_mut().for_each(|ring| ring.push(sample));
    }

    /// The clock was set back.
    pub(super) fn shift(&mut self, by: f64) {
        let samples = self.0.iter_mut().flat_map(|ring| &mut ring.samples);
        samples.for_each(|sample| sample.time += by);
    }

    pub(super) fn columns(&self, now: f64, window: Option<f64>) -> Columns {
        let from = window.map_or(f64::NEG_INFINITY, |window| now - window);
        // The finest that reaches back as far as is asked for, or as there is anything.
        let first = |ring: &Ring| ring.samples.front().map_or(f64::INFINITY, |sample| sample.time);
        let oldest = self.0.iter().map(first).fold(f64::INFINITY, f64::min);
        let reaches = |ring: &&Ring| first(ring) <= from.max(oldest) + ring.step;
        let ring = self.0.iter().find(reaches).unwrap_or(&self.0[2]);
        let samples: Vec<&Sample> = ring.samples.iter().filter(|sample| sample.time >= from).collect();
        let stride = samples.len().saturating_sub(1).div_ceil(POINTS).max(1);
        // The last moment is always shown, so steps are counted from there.
        let offset = samples.len().saturating_sub(1) % stride;
        let shown: Vec<&Sample> = samples.into_iter().skip(offset).step_by(stride).collect();
        let mut columns = Columns { step_seconds: ring.step * stride as f64, ..Columns::default() };
        for pair in shown.windows(2) {
            let (before, after) = (pair[0].traffic, pair[1].traffic);
            columns.time.push(pair[1].time);
            columns.received.push(after.received.saturating_sub(before.received));
            columns.sent.push(after.sent.saturating_sub(before.sent));
            columns.refused.push(after.refused.saturating_sub(before.refused));
            columns.bytes_received.push(after.bytes_received.saturating_sub(before.bytes_received));
            columns.bytes_sent.push(after.bytes_sent.saturating_sub(before.bytes_sent));
            columns.connected.push(pair[1].connected);
            columns.observations.push(pair[1].observations);
        }
        columns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(seconds: u64) -> History {
        let mut history = History::default();
        for second in 0..=seconds {
            let traffic = Traffic { received: 3 * second, ..Traffic::default() };
            history.push(Sample { time: second as f64, traffic, connected: 1, observations: Some(second) });
        }
        history
    }

    #[test]
    fn all_that_came_is_in_the_curve_whatever_the_window() {
        for seconds in [0, 1, 59, 599, 601, 3000, 3600, 90_000] {
            let history = after(seconds);
            let all = history.columns(seconds as f64, None);
            assert!(all.time.len() <= POINTS, "{seconds}: {}", all.time.len());
            let sum: u64 = all.received.iter().sum();
            let slack = 3 * all.step_seconds as u64 + if seconds > 3600 { 3 * 3600 } else { 0 };
            assert!(sum <= 3 * seconds && sum + slack >= 3 * seconds, "{seconds}: {sum}");
            if seconds <= 3600 {
                assert_eq!(all.time.last().copied(), (seconds > 0).then_some(seconds as f64));
            }
        }
    }

    #[test]
    fn a_window_is_no_longer_than_asked_for() {
        let columns = after(10_000).columns(10_000.0, Some(60.0));
        assert_eq!((columns.time.len(), columns.step_seconds), (60, 1.0));
        assert!(columns.received.iter().all(|received| *received == 3));
        let day = after(10_000).columns(10_000.0, Some(86_400.0));
        assert_eq!(day.step_seconds, 60.0);
        assert!(after(0).columns(5.0, Some(60.0)).time.is_empty());
    }
}
