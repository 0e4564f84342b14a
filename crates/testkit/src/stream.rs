//! A stream that several machines would keep, as a model: it loses answers, answers from the past, is written by another in between,
//! and goes back, when it is told to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cahoots_node::replica::{Engine, Extent, Found, Silence, Unsure};

/// What happens to the next question, and then no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An append is stored, and its answer lost.
    LostAnswer,
    /// An append never comes.
    LostQuestion,
    /// An append has no answer, and is stored after so many further questions.
    Late(u32),
    /// A read answers as if the last so many messages had not come.
    FromThePast(u64),
    /// No answer at all.
    Silent,
    /// An object is kept with a bit flipped.
    FlippedObject,
}

#[derive(Debug, Default)]
struct Kept {
    first: u64,
    messages: Vec<Vec<u8>>,
    objects: BTreeMap<String, Vec<u8>>,
    faults: Vec<Fault>,
    late: Option<(u32, u64, Vec<u8>)>,
}

impl Kept {
    fn last(&self) -> u64 {
        self.first + self.messages.len() as u64 - 1
    }

    fn store(&mut self, expected: u64, message: &[u8]) -> bool {
        let fits = self.last() == expected;
        if fits {
            self.messages.push(message.to_vec());
        }
        fits
    }

    /// The fault of this question, if it has one of these.
    fn fault(&mut self, of: impl Fn(Fault) -> bool) -> Option<Fault> {
        if let Some((left, expected, message)) = self.late.take() {
            if left == 0 {
                self.store(expected, &message);
            } else {
                self.late = Some((left - 1, expected, message));
            }
        }
        let place = self.faults.iter().position(|fault| of(*fault))?;
        Some(self.faults.remove(place))
    }

    fn read(&mut self) -> Result<u64, Silence> {
        match self.fault(|fault| matches!(fault, Fault::Silent | Fault::FromThePast(_))) {
            Some(Fault::FromThePast(messages)) => Ok(self.last().saturating_sub(messages)),
            Some(_) => Err(Silence("silence".into())),
            None => Ok(self.last()),
        }
    }
}

/// One coordinator's way to a stream that it shares with others.
#[derive(Clone, Debug)]
pub struct Stream(Arc<Mutex<Kept>>);

impl Default for Stream {
    fn default() -> Self {
        Stream(Arc::new(Mutex::new(Kept { first: 1, ..Kept::default() })))
    }
}

impl Stream {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next question of its kind goes wrong.
    pub fn fails(&self, fault: Fault) {
        self.kept().faults.push(fault);
    }

    /// The last so many messages are gone, though they were acknowledged.
    pub fn goes_back(&self, messages: usize) {
        let mut kept = self.kept();
        let left = kept.messages.len().saturating_sub(messages);
        kept.messages.truncate(left);
    }

    /// A bit of a message is another.
    pub fn flips(&self, sequence: u64) {
        let mut kept = self.kept();
        let place = (sequence - kept.first) as usize;
        let middle = kept.messages[place].len() / 2;
        kept.messages[place][middle] ^= 1;
    }

    /// How long it is, from the first message that is left.
    pub fn extent_now(&self) -> Extent {
        let kept = self.kept();
        Extent { first: kept.first, last: kept.last() }
    }

    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.kept().objects.len()
    }
}

impl Engine for Stream {
    fn append(&mut self, expected: u64, message: &[u8]) -> Result<(), Unsure> {
        let mut kept = self.kept();
        let appends = |fault| !matches!(fault, Fault::FromThePast(_) | Fault::FlippedObject);
        let fault = kept.fault(appends);
        match fault {
            Some(Fault::LostQuestion | Fault::Silent) => return Err(Unsure("silence".into())),
            Some(Fault::Late(questions)) => {
                kept.late = Some((questions, expected, message.to_vec()));
                return Err(Unsure("silence".into()));
            }
            _ => {}
        }
        let stored = kept.store(expected, message);
        match fault {
            Some(_) => Err(Unsure("its answer was lost".into())),
            None if stored => Ok(()),
            None => Err(Unsure(format!("wrong last sequence: {}", kept.last()))),
        }
    }

    fn get(&mut self, sequence: u64) -> Result<Found, Silence> {
        let mut kept = self.kept();
        let last = kept.read()?;
        if sequence > last || sequence < kept.first {
            return Ok(Found::Nothing);
        }
        let place = (sequence - kept.first) as usize;
        Ok(Found::Message(kept.messages[place].clone()))
    }

    fn extent(&mut self) -> Result<Extent, Silence> {
        let mut kept = self.kept();
        let last = kept.read()?;
        Ok(Extent { first: kept.first, last })
    }

    fn read(&mut self, from: u64) -> Result<Vec<(u64, Vec<u8>)>, Silence> {
        let mut kept = self.kept();
        let last = kept.read()?;
        let from = from.max(kept.first);
        let messages = (from..=last).take(3);
        Ok(messages.map(|at| (at, kept.messages[(at - kept.first) as usize].clone())).collect())
    }

    fn trim(&mut self, first: u64) -> Result<(), Silence> {
        let mut kept = self.kept();
        let gone = (first.saturating_sub(kept.first) as usize).min(kept.messages.len());
        kept.messages.drain(..gone);
        kept.first += gone as u64;
        Ok(())
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Silence> {
        let mut kept = self.kept();
        let mut bytes = bytes.to_vec();
        if kept.fault(|fault| fault == Fault::FlippedObject).is_some() {
            bytes[30] ^= 1;
        }
        kept.objects.insert(name.into(), bytes);
        Ok(())
    }

    fn fetch(&mut self, name: &str) -> Result<Option<Vec<u8>>, Silence> {
        Ok(self.kept().objects.get(name).cloned())
    }

    fn names(&mut self) -> Result<Vec<String>, Silence> {
        Ok(self.kept().objects.keys().cloned().collect())
    }

    fn remove(&mut self, name: &str) -> Result<(), Silence> {
        self.kept().objects.remove(name);
        Ok(())
    }

    fn pause(&mut self) {}
}
