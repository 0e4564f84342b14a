//! Frames on their way: what leaves is watched, late, cut, or flipped.

use cahoots_core::NodeId;
use cahoots_core::link::Ends;
use cahoots_node::transport::Kind;
use cahoots_node::transport::proto::Frame;
use tokio::sync::mpsc::error::TryRecvError;

use super::super::network::{Item, flip, words};
use super::super::plan::Who;
use super::coordinator::goes_back;
use super::{Broken, Down, Event, Link, World};

impl World<'_> {
    /// Takes what a node has handed to its stream, and puts it on its way.
    pub(super) fn pull(&mut self, connection: usize, up: bool) -> Result<(), Broken> {
        let client = self.connections[connection].client;
        let who = if up { Who::Client(client) } else { Who::Coordinator };
        loop {
            let now = self.now;
            let pipe = self.connections[connection].pipe(up);
            if pipe.stalled > now {
                return Ok(());
            }
            let Some(from) = &mut pipe.from else { return Ok(()) };
            let item = match from.try_recv() {
                Ok(frame) => Item::Frame(frame),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => {
                    pipe.from = None;
                    Item::End
                }
            };
            if pipe.black_hole {
                continue;
            }
            let mut last = false;
            if let Item::Frame(frame) = &item {
                if let Some(left) = self.site(who).frames_left.as_mut() {
                    if *left == 0 {
                        let (down, time) = self.site(who).crash;
                        return self.crash(who, down, time);
                    }
                    *left -= 1;
                    last = *left == 0;
                }
                // What is left in the stream of a store that is no more binds nobody.
                if !up || self.connections[connection].replaced == self.clients[client].replaced {
                    self.witness(who, client, frame)?;
                }
                let pipe = self.connections[connection].pipe(up);
                if let Some(Kind::Envelope(envelope)) = &frame.kind
                    && u32::MAX == if up { envelope.to } else { envelope.from }
                {
                    if envelope.sequence <= pipe.number {
                        let number = envelope.sequence;
                        return Err(format!("{who:?} sends message {number} twice over one connection"));
                    }
                    pipe.number = envelope.sequence;
                }
                self.say(|| format!("{who:?} sends {} [{connection}]", words(frame)));
            }
            let end = matches!(item, Item::End);
            let delay = 100 + self.dice.below(self.plan.delay);
            let pipe = self.connections[connection].pipe(up);
            let at = pipe.last.max(now + delay);
            pipe.last = at;
            pipe.items.push_back(item);
            self.at(at, Event::Arrive { connection, up });
            if last {
                let (down, time) = self.site(who).crash;
                return self.crash(who, down, time);
            }
            if end {
                return Ok(());
            }
        }
    }

    /// What leaves over a client's connection. A message that was sent before, under the same number, is the same.
    fn witness(&mut self, who: Who, client: usize, frame: &Frame) -> Result<(), Broken> {
        self.remember(who, client, frame);
        let Some(Kind::Envelope(envelope)) = &frame.kind else { return Ok(()) };
        let sum = crc32fast::hash(&envelope.payload);
        let before = self.seen.insert((envelope.from, envelope.to, envelope.sequence), sum);
        if before.is_some_and(|before| before != sum) {
            return Err(format!(
                "{who:?} sends message {} to {} again, and it is not the same",
                envelope.sequence, envelope.to as i32
            ));
        }
        Ok(())
    }

    /// How far whoever says this has come: it must not be less when it starts again.
    fn remember(&mut self, who: Who, client: usize, frame: &Frame) {
        let peer = &mut self.clients[client];
        let (to, sent, received) = match &frame.kind {
            Some(Kind::Hello(hello)) => (NodeId::SERVER, hello.sent, hello.received),
            Some(Kind::Welcome(welcome)) => (NodeId::SERVER, welcome.sent, welcome.received),
            Some(Kind::Envelope(envelope)) if who == Who::Coordinator => {
                (NodeId(envelope.from), envelope.sequence, 0)
            }
            Some(Kind::Envelope(envelope)) => (NodeId(envelope.to), envelope.sequence, 0),
            Some(Kind::Confirm(confirm)) => {
                (confirm.peer.map_or(NodeId::SERVER, NodeId), 0, confirm.sequence)
            }
            _ => return,
        };
        match (who, &mut self.coordinator) {
            (Who::Client(_), _) => {
                let said = peer.said.entry(to).or_default();
                *said = Ends { sent: said.sent.max(sent), received: said.received.max(received) };
            }
            // What it passes on is said by others. What was on its way when a client left is about another one.
            (Who::Coordinator, Some(coordinator)) if to == NodeId::SERVER => {
                let ends = coordinator.look(|machine, _| machine.ends(NodeId(client as u32)));
                let (sent, received) = (sent.min(ends.sent), received.min(ends.received));
                let said = peer.heard;
                peer.heard = Ends { sent: said.sent.max(sent), received: said.received.max(received) };
            }
            _ => {}
        }
    }

    /// From now on numbers of messages between these may mean something else.
    pub(super) fn forget_seen(&mut self, from: Option<usize>, to: Option<usize>) {
        let number = |node: Option<usize>| node.map_or(u32::MAX, |client| client as u32);
        match (from, to) {
            (Some(client), _) => {
                self.clients[client].said.remove(&NodeId(number(to)));
            }
            (None, Some(client)) => self.clients[client].heard = Ends::default(),
            (None, None) => {}
        }
        let (from, to) = (number(from), number(to));
        self.seen.retain(|(sender, receiver, _), _| (*sender, *receiver) != (from, to));
    }

    /// The next item of a stream is there.
    pub(super) fn arrive(&mut self, connection: usize, up: bool) -> Result<(), Broken> {
        let now = self.now;
        let pipe = self.connections[connection].pipe(up);
        if pipe.stalled > now {
            let at = pipe.stalled;
            self.at(at, Event::Arrive { connection, up });
            return Ok(());
        }
        let Some(mut item) = pipe.items.pop_front() else { return Ok(()) };
        let mut flipped = false;
        if item.is_message() && std::mem::take(&mut pipe.duplicate) {
            pipe.items.push_front(item.clone());
            self.at(now, Event::Arrive { connection, up });
        }
        let pipe = self.connections[connection].pipe(up);
        if pipe.swap && item.is_message() && pipe.items.front().is_some_and(Item::is_message) {
            pipe.swap = false;
            std::mem::swap(&mut item, pipe.items.front_mut().expect("looked at"));
            // A gap, where both are of one link: the connection starts over.
            self.disturbed += u64::from(up);
        }
        let pipe = self.connections[connection].pipe(up);
        if let (Item::Frame(frame), Some(bit)) = (&mut item, pipe.flip) {
            flipped = flip(frame, bit);
            if flipped {
                pipe.flip = None;
            }
        }
        if up {
            self.arrive_up(connection, item, flipped)
        } else {
            self.arrive_down(connection, item, flipped)
        }
    }

    fn arrive_up(&mut self, connection: usize, item: Item, flipped: bool) -> Result<(), Broken> {
        let session = connection as u64;
        let Some(coordinator) = &mut self.coordinator else { return Ok(()) };
        match item {
            Item::Frame(frame) => {
                if !self.connections[connection].opened {
                    let (frames, outgoing) = cahoots_node::transport::Outbox::channel();
                    coordinator.opened(session, frames);
                    self.connections[connection].opened = true;
                    self.connections[connection].down.from = Some(outgoing);
                    self.outgoing.push(connection);
                }
                let before = if flipped { coordinator.status().refused } else { 0 };
                let listens = flipped && !self.connections[connection].down.black_hole && {
                    let client = self.connections[connection].client as u32;
                    coordinator.members().iter().any(|member| member.client == client && member.connected)
                };
                coordinator.frame(session, frame);
                if flipped {
                    let refused = coordinator.status().refused - before;
                    // A connection that was replaced is not listened to.
                    if listens && refused == 0 && self.current(connection) {
                        return Err("the coordinator took a message that was altered on its way".into());
                    }
                    self.disturbed += refused;
                }
                self.refused_honestly()?;
                // What it says before it has written anything is said.
                self.pull_all()?;
            }
            Item::End => coordinator.closed(session),
        }
        self.commit_soon();
        Ok(())
    }

    /// Is this the connection that the client uses?
    fn current(&self, connection: usize) -> bool {
        matches!(self.clients[self.connections[connection].client].link, Link::Up(now) if now == connection)
    }

    fn arrive_down(&mut self, connection: usize, item: Item, flipped: bool) -> Result<(), Broken> {
        let client = self.connections[connection].client;
        let peer = &mut self.clients[client];
        let Some(node) = &peer.node else { return Ok(()) };
        let parted = match (&mut peer.link, item) {
            (Link::Dialing(on, _), _) | (Link::Up(on), _) if *on != connection => return Ok(()),
            (Link::Idle, _) => return Ok(()),
            (_, Item::End) => Some(node.broken("the coordinator closed the connection")),
            (Link::Dialing(_, frames), Item::Frame(frame)) => {
                let greeted = node.greeted(frame, frames.clone());
                if greeted.is_ok() {
                    peer.link = Link::Up(connection);
                    peer.pause = 0;
                    if std::mem::take(&mut peer.crash_when_welcome) {
                        peer.site.crash = (Down::Kill, 1000);
                        peer.site.frames_left = Some(1 + self.dice.below(2));
                    }
                    self.say(|| format!("client {client} is welcome"));
                }
                greeted.err()
            }
            (Link::Up(_), Item::Frame(frame)) => match node.heard(frame) {
                Ok(true) if flipped => {
                    return Err(format!("client {client} took a message that was altered on its way"));
                }
                Ok(true) if node.refused() > 0 && !self.plan.has(goes_back) => {
                    return Err(format!("client {client} refuses an honest message"));
                }
                Ok(true) => None,
                Ok(false) => Some(node.broken("nothing is taken any more")),
                Err(parted) => Some(parted),
            },
        };
        if let Some(parted) = parted {
            self.parted(client, connection, parted, None)?;
        }
        self.touched(client)
    }

    /// One end learns that a connection is gone: the client (which sends up), or the coordinator.
    pub(super) fn notice(&mut self, connection: usize, up: bool) -> Result<(), Broken> {
        let outgoing = self.connections[connection].pipe(up);
        (outgoing.from, outgoing.black_hole) = (None, true);
        let incoming = self.connections[connection].pipe(!up);
        incoming.items.clear();
        incoming.black_hole = true;
        if up {
            let client = self.connections[connection].client;
            let uses =
                matches!(self.clients[client].link, Link::Up(on) | Link::Dialing(on, _) if on == connection);
            if let (true, Some(node)) = (uses, &self.clients[client].node) {
                let parted = node.broken("the connection was reset");
                self.parted(client, connection, parted, None)?;
                return self.touched(client);
            }
        } else if let Some(coordinator) = &mut self.coordinator {
            coordinator.closed(connection as u64);
            self.commit_soon();
        }
        Ok(())
    }

    /// A connection is cut: what is on its way is lost from some frame on, but for one direction perhaps, and what follows
    /// vanishes.
    pub(super) fn cut(&mut self, connection: usize, all: Option<bool>) {
        for up in [true, false] {
            let items = self.connections[connection].pipe(up).items.len() as u64;
            let kept = self.dice.below(items + 1);
            let kept = if all == Some(up) { items } else { kept } as usize;
            let pipe = self.connections[connection].pipe(up);
            pipe.items.truncate(kept);
            pipe.black_hole = true;
        }
    }
}
