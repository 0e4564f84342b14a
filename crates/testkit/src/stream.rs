//! A stream that several machines would keep, as a model: it loses answers, answers from the past, is written by another in between,
//! goes back, and has bits that are others, when it is told to.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cahoots_node::replica::{Before, Engine, Extent, Found, Silence, Unsure, digest, snapshot_sequence};

/// What happens to the next question of its kind, and then no more.
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
    /// A replica answers with a message in which a bit is another; whoever leads the stream has the right one.
    FlippedRead,
    /// An object is kept with a bit flipped.
    FlippedObject,
    /// An object is not found, though it is there.
    Absent,
    /// No answer to what is asked of objects.
    SilentObjects,
}

#[derive(Clone, Debug, Default)]
struct Kept {
    first: u64,
    messages: Vec<Vec<u8>>,
    objects: BTreeMap<String, Vec<u8>>,
    late: Option<(u32, Before, Vec<u8>)>,
    /// What was trimmed, for who wants to know it all.
    before: BTreeMap<u64, Vec<u8>>,
    /// Messages whose bits are others, and objects.
    flipped: Vec<u64>,
    spoilt: Vec<String>,
}

impl Kept {
    fn last(&self) -> u64 {
        self.first + self.messages.len() as u64 - 1
    }

    fn store(&mut self, before: Before, message: &[u8]) -> bool {
        let same = |hash| self.written(before.sequence).is_some_and(|written| digest(&written) == hash);
        let fits = self.last() == before.sequence && before.hash.is_none_or(same);
        if fits {
            self.messages.push(message.to_vec());
        }
        fits
    }

    fn at(&self, sequence: u64) -> Option<&Vec<u8>> {
        self.messages.get(sequence.checked_sub(self.first)? as usize)
    }

    /// A message as it was written, whatever became of its bits.
    fn written(&self, sequence: u64) -> Option<Vec<u8>> {
        let mut message = self.at(sequence)?.clone();
        let flips = self.flipped.iter().filter(|flipped| **flipped == sequence).count();
        (0..flips).for_each(|_| flip(&mut message));
        Some(message)
    }

    fn flip(&mut self, sequence: u64) {
        let place = (sequence - self.first) as usize;
        flip(&mut self.messages[place]);
    }

    /// Time goes on for an append that is late.
    fn asked(&mut self) {
        if let Some((left, before, message)) = self.late.take() {
            if left == 0 {
                self.store(before, &message);
            } else {
                self.late = Some((left - 1, before, message));
            }
        }
    }
}

fn flip(bytes: &mut [u8]) {
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
}

#[derive(Debug, Default)]
struct Way {
    faults: Vec<Fault>,
    cut: bool,
}

/// One coordinator's way to a stream that it shares with others; clones are the same way.
#[derive(Clone, Debug)]
pub struct Stream {
    kept: Arc<Mutex<Kept>>,
    way: Arc<Mutex<Way>>,
    /// Whoever looks from outside is no part of what happens.
    looks: bool,
}

impl Default for Stream {
    fn default() -> Self {
        let kept = Kept { first: 1, ..Kept::default() };
        Stream { kept: Arc::new(Mutex::new(kept)), way: Arc::default(), looks: false }
    }
}

/// A copy of all that is kept, to be put back.
#[derive(Clone, Debug)]
pub struct Copied(Kept);

impl Stream {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn way(&self) -> MutexGuard<'_, Way> {
        self.way.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The way of another coordinator, with faults of its own.
    pub fn of_another(&self) -> Stream {
        Stream { kept: self.kept.clone(), way: Arc::default(), looks: false }
    }

    /// The way of someone who watches: nothing goes wrong, all bits are as they were written, and nothing happens because of it.
    pub fn from_outside(&self) -> Stream {
        Stream { kept: self.kept.clone(), way: Arc::default(), looks: true }
    }

    /// The next question of its kind goes wrong.
    pub fn fails(&self, fault: Fault) {
        self.way().faults.push(fault);
    }

    /// Nothing that was to go wrong does any more.
    pub fn heals(&self) {
        *self.way() = Way::default();
    }

    /// Nobody answers on this way, or somebody does again.
    pub fn is_cut(&self, cut: bool) {
        self.way().cut = cut;
    }

    /// The last so many messages are gone, though they were acknowledged. Gives how many were.
    pub fn goes_back(&self, messages: usize) -> usize {
        let mut kept = self.kept();
        let before = kept.messages.len();
        kept.messages.truncate(before.saturating_sub(messages));
        kept.late = None;
        before - kept.messages.len()
    }

    /// All that is kept.
    pub fn copy(&self) -> Copied {
        Copied(self.kept().clone())
    }

    /// An older copy takes the place of all that is kept, or of the messages alone: objects are kept elsewhere.
    pub fn put_back(&self, copy: &Copied, objects: bool) {
        let mut kept = self.kept();
        let now = std::mem::replace(&mut *kept, copy.0.clone());
        kept.late = None;
        if !objects {
            kept.objects = now.objects;
        }
    }

    /// Whether a copy has the objects that whoever begins anew would begin at: the newest, or the one before it.
    pub fn could_begin_at(&self, copy: &Copied) -> bool {
        self.kept().objects.keys().rev().take(2).all(|name| copy.0.objects.contains_key(name))
    }

    /// A bit of a message is another.
    pub fn flips(&self, sequence: u64) {
        let mut kept = self.kept();
        kept.flip(sequence);
        kept.flipped.push(sequence);
    }

    /// All messages are again what was written, where any were not; gives whether there were any.
    pub fn is_repaired(&self) -> bool {
        let mut kept = self.kept();
        let flipped = std::mem::take(&mut kept.flipped);
        for sequence in flipped.iter().filter(|sequence| kept.at(**sequence).is_some()).collect::<Vec<_>>() {
            kept.flip(*sequence);
        }
        for sequence in &flipped {
            if let Some(message) = kept.before.get_mut(sequence) {
                flip(message);
            }
        }
        !flipped.is_empty()
    }

    /// A bit of the newest object is another, unless it is the only one that is whole and that the messages follow on.
    pub fn flips_object(&self) {
        let kept = &mut *self.kept();
        let first = kept.first;
        let reads_on =
            |name: &&String| snapshot_sequence(name).is_none_or(|at| first == 1 || at + 1 >= first);
        let whole = kept.objects.keys().filter(|name| !kept.spoilt.contains(name)).filter(reads_on).count();
        if let Some(mut newest) = kept.objects.last_entry().filter(|_| whole > 1) {
            kept.spoilt.push(newest.key().clone());
            flip(newest.get_mut());
        }
    }

    /// How long it is, from the first message that is left.
    pub fn extent_now(&self) -> Extent {
        let kept = self.kept();
        Extent { first: kept.first, last: kept.last() }
    }

    /// A stream with all messages that this one ever had, trimmed or not, from the first on; nothing where some are
    /// nowhere.
    pub fn untrimmed(&self) -> Option<Stream> {
        let kept = self.kept();
        let all = kept.before.clone().into_iter().chain((kept.first..).zip(kept.messages.iter().cloned()));
        let all: Vec<(u64, Vec<u8>)> = all.collect();
        let whole = all.iter().zip(1..).all(|((at, _), place)| *at == place);
        let stream = Stream::default().from_outside();
        stream.kept().messages = all.into_iter().map(|(_, message)| message).collect();
        whole.then_some(stream)
    }

    /// What there is, in words.
    pub fn words(&self) -> String {
        let kept = self.kept();
        let hashes: Vec<String> =
            (kept.first..).zip(&kept.messages).map(|(at, m)| format!("{at}:{:02x}", digest(m)[0])).collect();
        let last = &hashes[hashes.len().saturating_sub(4)..];
        let names: Vec<&str> = kept.objects.keys().map(|name| name.as_str()).collect();
        format!(
            "messages {} to {} (... {}), objects {}",
            kept.first,
            kept.last(),
            last.join(" "),
            names.join(" ")
        )
    }

    /// How many objects there are.
    pub fn objects(&self) -> usize {
        self.kept().objects.len()
    }

    /// The fault of this question, if it has one of these.
    fn fault(&self, kept: &mut Kept, of: impl Fn(Fault) -> bool) -> Option<Fault> {
        if self.looks {
            return None;
        }
        let mut way = self.way();
        if way.cut {
            return Some(Fault::Silent);
        }
        kept.asked();
        let place = way.faults.iter().position(|fault| of(*fault))?;
        Some(way.faults.remove(place))
    }

    /// A message as whoever asks is given it: who watches has what was written.
    fn seen(&self, kept: &Kept, sequence: u64) -> Option<Vec<u8>> {
        if self.looks { kept.written(sequence) } else { kept.at(sequence).cloned() }
    }

    /// The last message, as far as whoever answers a read knows.
    fn end(&self, kept: &mut Kept) -> Result<u64, Silence> {
        match self.fault(kept, |fault| matches!(fault, Fault::Silent | Fault::FromThePast(_))) {
            Some(Fault::FromThePast(messages)) => Ok(kept.last().saturating_sub(messages)),
            Some(_) => Err(Silence("silence".into())),
            None => Ok(kept.last()),
        }
    }

    /// What is asked of objects is answered, perhaps.
    fn objects_answer(&self, kept: &mut Kept) -> Result<(), Silence> {
        match self.fault(kept, |fault| fault == Fault::SilentObjects) {
            Some(_) => Err(Silence("silence".into())),
            None => Ok(()),
        }
    }
}

impl Engine for Stream {
    fn append(&mut self, before: Before, message: &[u8]) -> Result<(), Unsure> {
        let mut kept = self.kept();
        let appends =
            |fault| matches!(fault, Fault::LostAnswer | Fault::LostQuestion | Fault::Late(_) | Fault::Silent);
        let fault = self.fault(&mut kept, appends);
        match fault {
            Some(Fault::LostQuestion | Fault::Silent) => return Err(Unsure("silence".into())),
            Some(Fault::Late(questions)) => {
                kept.late = Some((questions, before, message.to_vec()));
                return Err(Unsure("silence".into()));
            }
            _ => {}
        }
        let stored = kept.store(before, message);
        match fault {
            Some(_) => Err(Unsure("its answer was lost".into())),
            None if stored => Ok(()),
            None => Err(Unsure(format!("wrong last sequence: {}", kept.last()))),
        }
    }

    fn get(&mut self, sequence: u64) -> Result<Found, Silence> {
        let mut kept = self.kept();
        let last = self.end(&mut kept)?;
        let message = self.seen(&kept, sequence).filter(|_| sequence <= last);
        Ok(message.map_or(Found::Nothing, Found::Message))
    }

    fn extent(&mut self) -> Result<Extent, Silence> {
        let mut kept = self.kept();
        let last = self.end(&mut kept)?;
        Ok(Extent { first: kept.first.min(last + 1), last })
    }

    fn read(&mut self, from: u64) -> Result<Vec<(u64, Vec<u8>)>, Silence> {
        let mut kept = self.kept();
        let last = self.end(&mut kept)?;
        // What was trimmed is not stepped over.
        let found = (from..=last).map_while(|at| Some((at, self.seen(&kept, at)?)));
        let mut found: Vec<(u64, Vec<u8>)> = found.take(3).collect();
        if let Some((_, message)) = found.last_mut()
            && self.fault(&mut kept, |fault| fault == Fault::FlippedRead).is_some()
        {
            flip(message);
        }
        Ok(found)
    }

    fn trim(&mut self, first: u64) -> Result<(), Silence> {
        let mut kept = self.kept();
        self.objects_answer(&mut kept)?;
        let gone = (first.saturating_sub(kept.first) as usize).min(kept.messages.len());
        let trimmed: Vec<Vec<u8>> = kept.messages.drain(..gone).collect();
        let from = kept.first;
        kept.before.extend((from..).zip(trimmed));
        // Beyond the end, the end is raised: numbers go on from there.
        kept.first = kept.first.max(first);
        Ok(())
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), Silence> {
        let mut kept = self.kept();
        self.objects_answer(&mut kept)?;
        let mut bytes = bytes.to_vec();
        if self.fault(&mut kept, |fault| fault == Fault::FlippedObject).is_some() {
            bytes[30] ^= 1;
            kept.spoilt.push(name.into());
        }
        kept.objects.insert(name.into(), bytes);
        Ok(())
    }

    fn fetch(&mut self, name: &str) -> Result<Option<Vec<u8>>, Silence> {
        let mut kept = self.kept();
        self.objects_answer(&mut kept)?;
        let absent = self.fault(&mut kept, |fault| fault == Fault::Absent).is_some();
        Ok(kept.objects.get(name).filter(|_| !absent).cloned())
    }

    fn names(&mut self) -> Result<Vec<String>, Silence> {
        let mut kept = self.kept();
        self.objects_answer(&mut kept)?;
        let mut names: Vec<String> = kept.objects.keys().cloned().collect();
        // Who watches reads what is in the log, and not what it has lost.
        let is_there = |name: &String| snapshot_sequence(name).is_none_or(|at| at <= kept.last());
        if self.looks && names.iter().any(is_there) {
            names.retain(is_there);
        }
        Ok(names)
    }

    fn remove(&mut self, name: &str) -> Result<(), Silence> {
        let mut kept = self.kept();
        self.objects_answer(&mut kept)?;
        kept.objects.remove(name);
        Ok(())
    }

    fn pause(&mut self) {}
}
