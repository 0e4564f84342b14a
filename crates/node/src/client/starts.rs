//! The starts of a client, each under a random number. The coordinator remembers the last one that it let in; who
//! comes with a store that does not know it comes with an old copy, and so does who began the next one with less than the
//! coordinator had heard by then.

use serde::{Deserialize, Serialize};

/// Starts that are remembered besides those that the coordinator has not let in yet: a coordinator that was restored from
/// a backup knows an earlier one.
const REMEMBERED: usize = 32;

/// A start, and where it began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Start {
    /// Its random number.
    pub(super) epoch: u64,
    /// How often the store had been written.
    pub(super) written: u64,
    /// Messages numbered for the coordinator.
    pub(super) numbered: u64,
}

/// The last starts that the coordinator is known to have let in, and those since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Starts(Vec<Start>);

impl Starts {
    /// As they were stored; `None` where that cannot be read.
    pub(super) fn restore(stored: Option<Vec<u8>>) -> Option<Starts> {
        stored.map_or(Some(Starts::default()), |bytes| postcard::from_bytes(&bytes).ok().map(Starts))
    }

    /// To be stored before the first decision bears this start's number.
    pub(super) fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.0).expect("starts can always be written")
    }

    /// One more start.
    pub(super) fn begin(&mut self, start: Start) {
        self.0.push(start);
    }

    /// The number of the present start.
    pub(super) fn epoch(&self) -> u64 {
        self.0.last().map_or(0, |start| start.epoch)
    }

    /// All that the coordinator needs to know.
    pub(super) fn all(&self) -> &[Start] {
        &self.0
    }

    /// The coordinator has let this start in; `true` if there are some that need not be kept.
    pub(super) fn let_in(&mut self) -> bool {
        let old = self.0.len().saturating_sub(REMEMBERED);
        self.0.drain(..old);
        old > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(epoch: u64) -> Start {
        Start { epoch, written: epoch + 1, numbered: epoch + 2 }
    }

    #[test]
    fn starts_are_remembered_until_the_coordinator_knows_the_last() {
        let mut starts = Starts::default();
        starts.begin(start(5));
        starts.begin(start(9));
        assert_eq!(Starts::restore(Some(starts.save())), Some(starts.clone()));
        assert_eq!((starts.epoch(), starts.all()), (9, &[start(5), start(9)][..]));
        assert!(!starts.let_in());
        (10..100).for_each(|epoch| starts.begin(start(epoch)));
        assert!(starts.let_in());
        assert!(!starts.let_in());
        assert!(starts.all().iter().map(|start| start.epoch).eq(68..100));
    }
}
