//! What is in the log, whoever says what: a reader who is never wrong reads it as it grows, and holds against it all that leaders say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use cahoots_core::drive::{Event, Input, Saved, ServerNode, Timed};
use cahoots_core::{Keys, NodeId};
use cahoots_node::inside::{self, Platform};
use cahoots_node::replica::{LogKey, Replicated};
use cahoots_node::store::Home;
use cahoots_node::transport::Kind;
use cahoots_node::transport::proto::Frame;
use cahoots_node::{Known, Terms};

use super::super::world::Broken;
use crate::stream::Stream;

/// The log, as it is and as it was before it went back.
pub(super) struct Truth {
    known: Arc<Known>,
    terms: Terms,
    key: LogKey,
    stream: Stream,
    reader: Option<(Replicated, Option<Machine>)>,
    /// Checksums of messages to clients, under every number that they ever had.
    emitted: BTreeMap<(NodeId, u64), BTreeSet<u32>>,
    /// The last message from each client, and to it, that was ever in the log.
    received: BTreeMap<NodeId, u64>,
    sent: BTreeMap<NodeId, u64>,
    /// Messages of the log that were read.
    pub(super) read: u64,
    /// How many leaders there were.
    pub(super) epochs: BTreeSet<u64>,
}

/// A machine that has read all of it.
struct Machine {
    node: Box<dyn ServerNode>,
    keys: Keys,
}

impl Truth {
    pub(super) fn new(known: Arc<Known>, terms: Terms, key: LogKey, stream: &Stream) -> Truth {
        Truth {
            known,
            terms,
            key,
            stream: stream.from_outside(),
            reader: None,
            emitted: BTreeMap::new(),
            received: BTreeMap::new(),
            sent: BTreeMap::new(),
            read: 0,
            epochs: BTreeSet::new(),
        }
    }

    /// The stream may not be what was read any more: it is read again.
    pub(super) fn forget(&mut self) {
        self.reader = None;
    }

    /// What is in the log by now, as bytes of a machine's state; nothing before it has begun. A log that cannot be read says nothing.
    pub(super) fn state(&mut self) -> Option<Vec<u8>> {
        self.reader.as_mut()?.1.as_mut().map(|machine| machine.node.save())
    }

    /// How far both ends of a client's link have come.
    pub(super) fn ends(&mut self, client: NodeId) -> Option<(u64, u64)> {
        let ends = self.reader.as_mut()?.1.as_mut()?.node.ends(client);
        Some((ends.sent, ends.received))
    }

    /// A reader that knows nothing yet, at the newest snapshot.
    fn begin(&self) -> Result<(Replicated, Option<Machine>), Broken> {
        let name = Path::new("the stream");
        let stream = Box::new(self.stream.clone());
        let opened = Replicated::open_what_fits(name, self.key.clone(), stream, Platform::System);
        let (home, snapshot) = opened.map_err(|e| e.to_string())?;
        let machine = match home.get("secret").map_err(|e| e.to_string())? {
            None => None,
            Some(_) => Some(self.machine(&home, snapshot.as_deref())?),
        };
        Ok((home, machine))
    }

    fn machine(&self, home: &Replicated, snapshot: Option<&[u8]>) -> Result<Machine, Broken> {
        let words = |e: &dyn std::fmt::Display| e.to_string();
        let value = |name: &str| home.get(name).map(Option::unwrap_or_default);
        let queues = value("queues").map_err(|e| words(&e))?;
        let saved = snapshot.map(|state| Saved { state, queues: &queues });
        let live = self.terms.live(&self.known).map_err(|e| words(&e))?;
        let node = live.coordinator(&self.terms, saved).map_err(|e| words(&e))?;
        let secret = value("secret").map_err(|e| words(&e))?;
        let secret: [u8; 32] = secret.try_into().map_err(|_| "a short secret".to_string())?;
        Ok(Machine { node, keys: inside::keys(&self.terms, secret) })
    }

    /// Reads what is new. Gives why it cannot, where it cannot.
    pub(super) fn follow(&mut self) -> Result<(), Broken> {
        let first = self.stream.extent_now().first;
        // Whoever is behind what is left begins again at a snapshot.
        let reader = self.reader.take().filter(|(home, _)| first <= home.last() + 1);
        let (mut home, mut machine) = reader.map_or_else(|| self.begin(), Ok)?;
        loop {
            let read = home.follow().map_err(|e| e.to_string())?;
            if read.is_empty() {
                break;
            }
            for read in read {
                self.read += 1;
                self.epochs.insert(read.epoch);
                if machine.is_none() && home.get("secret").is_ok_and(|secret| secret.is_some()) {
                    machine = Some(self.machine(&home, None)?);
                }
                let Some(machine) = &mut machine else { continue };
                for entry in read.batch.entries() {
                    self.take(machine, entry)?;
                }
            }
        }
        self.reader = Some((home, machine));
        Ok(())
    }

    fn take(&mut self, machine: &mut Machine, entry: &[u8]) -> Result<(), Broken> {
        machine.node.replay(entry, &machine.keys).map_err(|e| format!("an entry cannot be replayed: {e}"))?;
        for (to, sequence) in machine.node.take_step().posted {
            self.note(machine, to, sequence);
        }
        let (Timed { input, .. }, _) = postcard::take_from_bytes::<Timed<Input<()>>>(entry)
            .map_err(|e| format!("an entry makes no sense: {e}"))?;
        match input {
            Input::Event(Event::Message { from, sequence, .. } | Event::Turned { from, sequence, .. }) => {
                let received = self.received.entry(from).or_default();
                *received = sequence.max(*received);
            }
            Input::Behind { peer, sent, again } => {
                for sequence in sent - again.len() as u64 + 1..=sent {
                    self.note(machine, peer, sequence);
                }
                let last = self.sent.entry(peer).or_default();
                *last = sent.max(*last);
            }
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, machine: &mut Machine, to: NodeId, sequence: u64) {
        let last = self.sent.entry(to).or_default();
        *last = sequence.max(*last);
        let message = machine.node.queues().after(to, sequence - 1).next();
        if let Some(message) = message.filter(|message| message.sequence == sequence) {
            let sum = crc32fast::hash(&message.payload());
            self.emitted.entry((to, sequence)).or_default().insert(sum);
        }
    }

    /// What a coordinator says to a client must be in the log.
    pub(super) fn holds(&self, client: usize, frame: &Frame) -> Result<(), Broken> {
        let me = NodeId(client as u32);
        let received = self.received.get(&me).copied().unwrap_or(0);
        let sent = self.sent.get(&me).copied().unwrap_or(0);
        let not_there =
            |what: String| Err(format!("client {client} is told {what}, which is not in the log"));
        match &frame.kind {
            Some(Kind::Envelope(e)) if e.from == NodeId::SERVER.0 => {
                let sum = crc32fast::hash(&e.payload);
                match self.emitted.get(&(me, e.sequence)) {
                    Some(sums) if sums.contains(&sum) => Ok(()),
                    Some(_) => Err(format!(
                        "client {client} is sent another message {} than follows from the log",
                        e.sequence
                    )),
                    None => not_there(format!("message {}", e.sequence)),
                }
            }
            Some(Kind::Confirm(confirm)) if confirm.peer.is_none() => {
                if confirm.sequence > received || confirm.kept.is_some_and(|kept| kept > received) {
                    return not_there(format!("that its message {} has come", confirm.sequence));
                }
                Ok(())
            }
            Some(Kind::Welcome(welcome)) if welcome.received > received || welcome.sent > sent => {
                not_there(format!("of {} and {} messages", welcome.received, welcome.sent))
            }
            _ => Ok(()),
        }
    }

    /// Someone who has read nothing yet comes to the same.
    pub(super) fn holds_for_a_newcomer(&mut self) -> Result<(), Broken> {
        let state = self.state();
        let before = std::mem::take(&mut self.reader);
        self.follow()?;
        let newcomer = self.state();
        self.reader = before;
        if state == newcomer { Ok(()) } else { Err("a newcomer comes to something else".into()) }
    }
}
