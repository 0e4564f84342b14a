//! Looks on while things break: who led in which epoch, what state whom had where, and how long nobody led or nothing was written.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::asker::{Asker, Digest, Replica};

/// How often each coordinator is asked.
const EVERY: Duration = Duration::from_millis(25);
/// Every how many of those times it is asked what its machine amounts to, which is more work.
const DIGEST: u32 = 8;

/// What was seen.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The longest time in which nobody said that it led.
    pub longest_without_leader: Duration,
    /// The longest time in which nobody's log grew.
    pub longest_still: Duration,
    /// Epochs of which somebody was seen to lead.
    pub epochs: usize,
    /// States of the same sequence that were compared.
    pub compared: u64,
    led: Instant,
    grew: Instant,
    sequence: u64,
    leaders: BTreeMap<u64, String>,
    /// Sequence, state, and whose it was.
    states: BTreeMap<u64, (String, String)>,
    wrong: Option<String>,
}

/// Threads that ask; they end when it is dropped.
pub struct Watch {
    seen: Arc<Mutex<Seen>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Seen {
    fn nothing() -> Seen {
        let now = Instant::now();
        Seen {
            longest_without_leader: Duration::ZERO,
            longest_still: Duration::ZERO,
            epochs: 0,
            compared: 0,
            led: now,
            grew: now,
            sequence: 0,
            leaders: BTreeMap::new(),
            states: BTreeMap::new(),
            wrong: None,
        }
    }

    fn hear(&mut self, said: Replica) {
        let now = Instant::now();
        if said.leads() {
            self.longest_without_leader = self.longest_without_leader.max(now - self.led);
            self.led = now;
            let leader = self.leaders.entry(said.epoch).or_insert_with(|| said.name.clone());
            if *leader != said.name {
                self.wrong = Some(format!("{leader} and {} both led in epoch {}", said.name, said.epoch));
            }
            self.epochs = self.epochs.max(self.leaders.len());
        }
        if said.sequence > self.sequence {
            self.longest_still = self.longest_still.max(now - self.grew);
            (self.grew, self.sequence) = (now, said.sequence);
        }
    }

    fn compare(&mut self, whose: &str, Digest { sequence, sha256 }: Digest) {
        if sha256.is_empty() {
            return;
        }
        let (known, other) = self.states.entry(sequence).or_insert_with(|| (sha256.clone(), whose.into()));
        if *known != sha256 {
            self.wrong = Some(format!(
                "states fork at sequence {sequence}: {other} has {known}, {whose} has {sha256}"
            ));
        } else {
            self.compared += u64::from(other != whose);
        }
    }
}

impl Watch {
    /// Begins to ask these.
    pub fn start(askers: impl Iterator<Item = Asker>) -> Watch {
        let (seen, over) = (Arc::new(Mutex::new(Seen::nothing())), Arc::new(AtomicBool::new(false)));
        let threads = askers.map(|asker| {
            let (seen, over) = (seen.clone(), over.clone());
            std::thread::spawn(move || {
                let hold = || seen.lock().unwrap_or_else(PoisonError::into_inner);
                let mut asked = 0;
                while !over.load(Ordering::Relaxed) {
                    if let Ok(said) = asker.replica() {
                        let name = said.name.clone();
                        hold().hear(said);
                        asked += 1;
                        if asked % DIGEST == 0
                            && let Ok(digest) = asker.digest()
                        {
                            hold().compare(&name, digest);
                        }
                    }
                    std::thread::sleep(EVERY);
                }
            })
        });
        let threads = threads.collect();
        Watch { seen, over, threads }
    }

    /// What was seen before does not bind anyone: the log has lost its end, and its operator has accepted that.
    pub fn forget(&self) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        (seen.led, seen.grew, seen.sequence) = (now, now, 0);
        seen.leaders.clear();
        seen.states.clear();
    }

    /// What was seen so far; an error if two led in an epoch, or two states of one sequence differed.
    pub fn seen(&self) -> Result<Seen, String> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let now = Instant::now();
        seen.longest_without_leader = seen.longest_without_leader.max(now - seen.led);
        match seen.wrong.take() {
            Some(wrong) => Err(wrong),
            None => Ok(seen),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|thread| {
            let _ = thread.join();
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leading(name: &str, epoch: u64) -> Replica {
        let said =
            serde_json::json!({ "name": name, "role": "leading", "epoch": epoch, "sequence": 3, "end": 3 });
        serde_json::from_value(said).unwrap()
    }

    #[test]
    fn two_leaders_of_an_epoch_and_two_states_of_a_sequence_are_noticed() {
        let digest = |sequence, sha256: &str| Digest { sequence, sha256: sha256.into() };
        let mut seen = Seen::nothing();
        [("a", 1), ("b", 2), ("a", 3)].into_iter().for_each(|(name, epoch)| seen.hear(leading(name, epoch)));
        seen.compare("a", digest(3, "x"));
        seen.compare("b", digest(3, "x"));
        seen.compare("b", digest(4, "y"));
        assert_eq!((seen.epochs, seen.compared, &seen.wrong), (3, 1, &None));
        let mut forked = seen.clone();
        forked.compare("c", digest(4, "z"));
        assert!(forked.wrong.unwrap().contains("fork at sequence 4"));
        seen.hear(leading("b", 3));
        assert_eq!(seen.wrong.unwrap(), "a and b both led in epoch 3");
    }
}
