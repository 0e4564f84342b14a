//! What goes wrong, and what follows.

use super::super::computer::Micros;
use super::super::world::Broken;
use super::plan::{Trouble, Whom};
use super::world::{Event, World};

impl World<'_> {
    fn who(&self, whom: Whom) -> usize {
        let leads = |number: &usize| self.coordinators[*number].led;
        match whom {
            Whom::Number(number) => number,
            Whom::Leader => (0..self.coordinators.len()).find(leads).unwrap_or(0),
        }
    }

    pub(super) fn trouble(&mut self, place: usize) -> Result<(), Broken> {
        let (_, trouble) = self.plan.troubles[place].clone();
        self.say(|| format!("trouble {place}: {trouble:?}"));
        match trouble {
            Trouble::Kill { whom, power, down } => return self.crash(self.who(whom), power, down),
            Trouble::Pause { whom, time } => self.pause(self.who(whom), time),
            Trouble::PauseUnsettled { time } => self.pause_unsettled = Some(time),
            Trouble::KillUnsettled { down } => self.kill_unsettled = Some(down),
            Trouble::Stop { whom, down } => self.stop(self.who(whom), down),
            Trouble::Isolate { whom, time } => self.isolate(self.who(whom), time),
            Trouble::Deaf { time } => self.deaf = self.now + time,
            Trouble::Log { whom, faults } => {
                let stream = &self.coordinators[self.who(whom)].stream;
                faults.into_iter().for_each(|fault| stream.fails(fault));
            }
            Trouble::Copy => self.copies.push(self.stream.copy()),
            Trouble::PutBack { objects } => {
                let before = self.stream.extent_now().last;
                if let Some(copy) = self.copies.last() {
                    // What clients were told to be safe is in two snapshots: to lose both is to lose it.
                    self.stream.put_back(copy, objects && self.stream.could_begin_at(copy));
                    let lost = before.saturating_sub(self.stream.extent_now().last);
                    return self.lost(lost);
                }
            }
            Trouble::LoseEnd { messages } => {
                let lost = self.stream.goes_back(messages);
                return self.lost(lost as u64);
            }
            Trouble::Flip { back } => {
                let extent = self.stream.extent_now();
                if extent.first + back <= extent.last {
                    self.stream.flips(extent.last - back);
                    self.flipped = true;
                }
            }
            Trouble::FlipSnapshot => {
                self.stream.flips_object();
                // Whoever begins anew begins elsewhere.
                self.truth.forget();
                return self.truth_follows();
            }
            Trouble::KillClient { client, power, down } => self.crash_client(client, power, down),
            Trouble::Cut { client, client_notices, coordinator_notices } => {
                if let Some(line) = self.line(client) {
                    self.cut(line);
                    self.after(client_notices, Event::Notice { connection: line, up: true });
                    self.after(coordinator_notices, Event::Notice { connection: line, up: false });
                }
            }
            Trouble::Partition { client, time } => {
                self.clients[client].partitioned = self.now + time;
                if let Some(line) = self.line(client) {
                    self.cut(line);
                    self.after(time / 4, Event::Notice { connection: line, up: true });
                    self.after(time / 2, Event::Notice { connection: line, up: false });
                }
            }
            Trouble::FlipFrame { client, up, bit } => {
                if let Some(line) = self.line(client) {
                    self.connections[line].0.pipe(up).flip = Some(bit);
                }
            }
            Trouble::Duplicate { client, up } => {
                if let Some(line) = self.line(client) {
                    self.connections[line].0.pipe(up).duplicate = true;
                }
            }
        }
        Ok(())
    }

    /// The stream has lost so many messages that it had acknowledged.
    fn lost(&mut self, messages: u64) -> Result<(), Broken> {
        self.say(|| format!("the stream has lost {messages} messages"));
        self.totals.lost += messages;
        self.went_back = true;
        self.truth.forget();
        self.truth_follows()
    }

    fn stop(&mut self, number: usize, down: Micros) {
        let coordinator = &mut self.coordinators[number];
        if let Some(node) = &mut coordinator.node {
            node.stop();
            coordinator.stopping = Some(down);
            self.turn_after(number, 0);
        }
    }

    /// It reaches neither the log nor the others.
    fn isolate(&mut self, number: usize, time: Micros) {
        let coordinator = &mut self.coordinators[number];
        coordinator.isolated = self.now + time;
        coordinator.stream.is_cut(true);
        self.after(time, Event::Reach(number));
    }

    /// It reaches them again.
    pub(super) fn reaches(&mut self, number: usize) {
        if self.coordinators[number].isolated <= self.now {
            self.coordinators[number].stream.is_cut(false);
        }
    }
}
