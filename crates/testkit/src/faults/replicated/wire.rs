//! Frames on their way between clients and coordinators: late, cut, flipped or doubled; what coordinators say is held against the log.

use tokio::sync::mpsc::error::TryRecvError;

use super::super::network::{Item, flip, words};
use super::super::world::Broken;
use super::world::{Came, Event, Link, World};

impl World<'_> {
    /// Takes what either end has handed to its stream, and puts it on its way.
    pub(super) fn pull(&mut self, line: usize, up: bool) -> Result<(), Broken> {
        loop {
            let (connection, number, _) = &mut self.connections[line];
            let (client, number) = (connection.client, *number);
            let pipe = connection.pipe(up);
            let Some(from) = &mut pipe.from else { return Ok(()) };
            let item = match from.try_recv() {
                Ok(frame) => Item::Frame(frame),
                Err(TryRecvError::Empty) => return Ok(()),
                Err(TryRecvError::Disconnected) => {
                    pipe.from = None;
                    Item::End
                }
            };
            if let (Item::Frame(frame), false) = (&item, up) {
                self.truth.holds(client, frame).map_err(|e| format!("coordinator {number}: {e}"))?;
            }
            let black_hole = self.connections[line].0.pipe(up).black_hole;
            if let Item::Frame(frame) = &item {
                let (from, to) =
                    if up { ("client", "coordinator") } else { ("coordinator of client", "through") };
                let lost = if black_hole { " (into nowhere)" } else { "" };
                self.say(|| format!("{from} {client} {to} {number}: {} [{line}]{lost}", words(frame)));
            }
            if black_hole {
                continue;
            }
            let (now, delay) = (self.now, 100 + self.dice.below(self.plan.delay));
            let pipe = self.connections[line].0.pipe(up);
            let at = pipe.last.max(now + delay);
            pipe.last = at;
            pipe.items.push_back(item);
            self.at(at, Event::Arrive { connection: line, up });
        }
    }

    /// What a coordinator has handed to its streams leaves.
    pub(super) fn pull_all(&mut self, number: usize) -> Result<(), Broken> {
        for line in self.lines.clone() {
            if self.connections[line].1 == number {
                self.pull(line, false)?;
                let (connection, ..) = &self.connections[line];
                if connection.opened && connection.down.from.is_none() {
                    self.lines.remove(&line);
                }
            }
        }
        Ok(())
    }

    /// The next item of a stream is there.
    pub(super) fn arrive(&mut self, line: usize, up: bool) -> Result<(), Broken> {
        let pipe = self.connections[line].0.pipe(up);
        let Some(mut item) = pipe.items.pop_front() else { return Ok(()) };
        if item.is_message() && std::mem::take(&mut pipe.duplicate) {
            pipe.items.push_front(item.clone());
            let now = self.now;
            self.at(now, Event::Arrive { connection: line, up });
        }
        let mut flipped = false;
        let pipe = self.connections[line].0.pipe(up);
        if let (Item::Frame(frame), Some(bit)) = (&mut item, pipe.flip) {
            flipped = flip(frame, bit);
            if flipped {
                pipe.flip = None;
            }
        }
        if up { self.arrive_up(line, item, flipped) } else { self.arrive_down(line, item, flipped) }
    }

    fn arrive_up(&mut self, line: usize, item: Item, flipped: bool) -> Result<(), Broken> {
        let (number, start) = (self.connections[line].1, self.connections[line].2);
        if !self.runs(number, start) {
            return Ok(());
        }
        match item {
            Item::Frame(frame) => {
                // What is behind it on this connection comes to nobody.
                self.coordinators[number].disturbed += u64::from(flipped);
                self.comes(number, Came::Frame(line, frame))
            }
            Item::End => self.comes(number, Came::Closed(line)),
        }
    }

    fn arrive_down(&mut self, line: usize, item: Item, flipped: bool) -> Result<(), Broken> {
        let client = self.connections[line].0.client;
        let peer = &mut self.clients[client];
        let Some(node) = &peer.node else { return Ok(()) };
        let parted = match (&mut peer.link, item) {
            (Link::Dialing(on, _), _) | (Link::Up(on), _) if *on != line => return Ok(()),
            (Link::Idle, _) => return Ok(()),
            (_, Item::End) => Some(node.broken("the coordinator closed the connection")),
            (Link::Dialing(_, frames), Item::Frame(frame)) => {
                let greeted = node.greeted(frame, frames.clone());
                // Few messages are many here: beside what may be lost, none are remembered.
                node.remember(0);
                if greeted.is_ok() {
                    peer.link = Link::Up(line);
                    self.say(|| format!("client {client} is welcome"));
                }
                greeted.err()
            }
            (Link::Up(_), Item::Frame(frame)) => match node.heard(frame) {
                Ok(true) if flipped => {
                    return Err(format!("client {client} took a message that was altered on its way"));
                }
                Ok(true) if node.refused() > 0 && !self.went_back => {
                    return Err(format!("client {client} refuses an honest message"));
                }
                Ok(true) => None,
                Ok(false) => Some(node.broken("nothing is taken any more")),
                Err(parted) => Some(parted),
            },
        };
        if let Some(parted) = parted {
            self.parted(client, line, parted)?;
        }
        self.touched(client)
    }

    /// One end learns that a connection is gone: the client (which sends up), or the coordinator.
    pub(super) fn notice(&mut self, line: usize, up: bool) -> Result<(), Broken> {
        let (connection, number, start) = &mut self.connections[line];
        let (client, number, start) = (connection.client, *number, *start);
        let outgoing = connection.pipe(up);
        (outgoing.from, outgoing.black_hole) = (None, true);
        let incoming = connection.pipe(!up);
        incoming.items.clear();
        incoming.black_hole = true;
        if !up {
            self.lines.remove(&line);
            return if self.runs(number, start) { self.comes(number, Came::Closed(line)) } else { Ok(()) };
        }
        let uses = matches!(self.clients[client].link, Link::Up(on) | Link::Dialing(on, _) if on == line);
        if let (true, Some(node)) = (uses, &self.clients[client].node) {
            let parted = node.broken("the connection was reset");
            self.parted(client, line, parted)?;
            // In its own time, the other end notices too.
            let later = self.dice.below(1_000_000);
            self.after(later, Event::Notice { connection: line, up: false });
            return self.touched(client);
        }
        Ok(())
    }

    /// A connection is cut: what is on its way is lost from some frame on, and what follows vanishes.
    pub(super) fn cut(&mut self, line: usize) {
        for up in [true, false] {
            let items = self.connections[line].0.pipe(up).items.len() as u64;
            let kept = self.dice.below(items + 1) as usize;
            let pipe = self.connections[line].0.pipe(up);
            pipe.items.truncate(kept);
            pipe.black_hole = true;
        }
    }

    /// The connection that a client uses, or makes.
    pub(super) fn line(&self, client: usize) -> Option<usize> {
        match self.clients[client].link {
            Link::Up(line) | Link::Dialing(line, _) => Some(line),
            Link::Idle => None,
        }
    }
}
