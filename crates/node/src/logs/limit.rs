//! How many lines of one kind may be written: others can cause some of them, and must not fill a disk.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tracing::callsite::Identifier;

use super::line::Line;

/// Lines of one kind ...
pub(super) const LINES: u32 = 20;

/// ... in so much time.
pub(super) const WINDOW: Duration = Duration::from_secs(1);

/// What has been said of each kind; a kind is a place in the code.
#[derive(Default)]
pub(super) struct Limit(Mutex<HashMap<Identifier, Kind>>);

struct Kind {
    since: Instant,
    said: u32,
    held: u64,
    /// The last one that was held back.
    last: Option<Line>,
}

/// What becomes of a line.
pub(super) enum Verdict {
    /// It is said, after what had been held back.
    Say(Vec<Line>),
    /// It is counted.
    Hold,
}

impl Limit {
    pub(super) fn next(&self, kind: Identifier, now: Instant, line: impl FnOnce() -> Line) -> Verdict {
        let mut kinds = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let kind = kinds.entry(kind).or_insert(Kind { since: now, said: 0, held: 0, last: None });
        let mut lines = Vec::new();
        if now.duration_since(kind.since) >= WINDOW {
            lines.extend(kind.more());
            (kind.since, kind.said) = (now, 0);
        }
        if kind.said < LINES {
            kind.said += 1;
            lines.push(line());
            return Verdict::Say(lines);
        }
        kind.held += 1;
        // One example of what was held back is enough: who hammers must not be paid for each.
        if kind.last.is_none() {
            kind.last = Some(line());
        }
        Verdict::Hold
    }

    /// What was held back of all kinds whose time is over.
    pub(super) fn over(&self, now: Instant) -> Vec<Line> {
        let mut kinds = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let over =
            kinds.values_mut().filter(|kind| kind.held > 0 && now.duration_since(kind.since) >= WINDOW);
        over.filter_map(Kind::more).collect()
    }
}

impl Kind {
    /// "980 more like this", once.
    fn more(&mut self) -> Option<Line> {
        let held = std::mem::take(&mut self.held);
        self.last.take().map(|line| line.more(held))
    }
}
