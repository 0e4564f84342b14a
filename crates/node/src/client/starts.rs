//! The starts of a client, each under a random number. The coordinator remembers the last one that it let in; who
//! comes with a store that does not know it comes with an old copy.

/// Starts that are remembered besides those that the coordinator has not let in yet: a coordinator that was restored from
/// a backup knows an earlier one.
const REMEMBERED: usize = 32;

/// The last starts that the coordinator is known to have let in, and those since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Starts(Vec<u64>);

impl Starts {
    /// As they were stored; none where there are none.
    pub(super) fn restore(stored: Option<Vec<u8>>) -> Starts {
        let stored = stored.unwrap_or_default();
        Starts(stored.as_chunks().0.iter().map(|epoch| u64::from_le_bytes(*epoch)).collect())
    }

    /// To be stored before the first decision bears this start's number.
    pub(super) fn save(&self) -> Vec<u8> {
        self.0.iter().flat_map(|epoch| epoch.to_le_bytes()).collect()
    }

    /// One more start.
    pub(super) fn begin(&mut self, epoch: u64) {
        self.0.push(epoch);
    }

    /// The number of the present start.
    pub(super) fn epoch(&self) -> u64 {
        self.0.last().copied().unwrap_or_default()
    }

    /// All that the coordinator needs to know.
    pub(super) fn all(&self) -> Vec<u64> {
        self.0.clone()
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

    #[test]
    fn starts_are_remembered_until_the_coordinator_knows_the_last() {
        let mut starts = Starts::restore(None);
        starts.begin(5);
        starts.begin(9);
        assert_eq!(Starts::restore(Some(starts.save())), starts);
        assert_eq!((starts.epoch(), starts.all()), (9, vec![5, 9]));
        assert!(!starts.let_in());
        (10..100).for_each(|epoch| starts.begin(epoch));
        assert!(starts.let_in());
        assert!(!starts.let_in());
        assert_eq!(starts.all(), (68..100).collect::<Vec<u64>>());
    }
}
