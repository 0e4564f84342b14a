//! Coordinators, turn by turn.

use std::time::Duration;

use cahoots_node::NodeError;
use cahoots_node::coordinator::{CoordinatorConfig, Replicas};
use cahoots_node::inside::SteppedReplica;
use cahoots_node::replica::Pulse;
use cahoots_node::store::{StoreError, Sync};
use cahoots_node::transport::Outbox;

use super::super::computer::Micros;
use super::super::world::Broken;
use super::keeper::Modelled;
use super::world::{Came, Event, FEDERATION, PULSE, SAMPLE, TICK, World, key};

/// Where clients find a coordinator.
pub(super) fn address(number: usize) -> String {
    format!("http://127.0.0.1:{}", 7000 + number)
}

impl World<'_> {
    fn config(&self, number: usize) -> CoordinatorConfig {
        CoordinatorConfig {
            warm_start: None,
            plan: None,
            known: self.cases.known.clone(),
            federation: FEDERATION.into(),
            store: self.coordinators[number].store.clone(),
            sync: Sync::Disk,
            terms: self.case.terms.clone(),
            tick: Duration::from_micros(TICK),
            snapshot_every: 1000,
            limits: Default::default(),
            security: Default::default(),
        }
    }

    pub(super) fn start_coordinator(&mut self, number: usize, start: u64) -> Result<(), Broken> {
        let config = self.config(number);
        let coordinator = &mut self.coordinators[number];
        if coordinator.starts != start || coordinator.node.is_some() {
            return Ok(());
        }
        if std::mem::take(&mut coordinator.power) {
            coordinator.computer.disk.cut(&mut coordinator.computer.dice());
        } else {
            coordinator.computer.disk.kill();
        }
        coordinator.starts += 1;
        let start = coordinator.starts;
        let accepts = std::mem::take(&mut coordinator.accepts);
        let replicas = Replicas {
            name: format!("c{number}"),
            address: address(number),
            page: None,
            key: key(),
            lease: Duration::from_micros(self.plan.lease),
            accept_rollback: accepts,
            servers: "the stream".into(),
            keeper: Box::new(Modelled {
                stream: coordinator.stream.clone(),
                antenna: coordinator.antenna.clone(),
            }),
        };
        let opened = SteppedReplica::open(config, replicas, &coordinator.computer.platform());
        let node = opened.map_err(|e| format!("coordinator {number} does not start: {e}"))?;
        (coordinator.node, coordinator.ended, coordinator.led) = (Some(node), None, false);
        (coordinator.stopping, coordinator.paused) = (None, 0);
        let what = if accepts { ", accepting" } else { "" };
        let stream = self.stream.clone();
        self.say(|| format!("coordinator {number} starts{what}: the stream has {}", stream.words()));
        self.turn_after(number, 0);
        let (beat, sample) = (self.dice.below(TICK), self.dice.below(SAMPLE));
        self.after(beat, Event::Beat(number, start));
        self.after(sample, Event::Sample(number, start));
        self.after(PULSE, Event::Pulse(number, start));
        Ok(())
    }

    /// Does it take steps now?
    pub(super) fn runs(&self, number: usize, start: u64) -> bool {
        let coordinator = &self.coordinators[number];
        coordinator.starts == start && coordinator.node.is_some()
    }

    pub(super) fn is_paused(&self, number: usize) -> bool {
        self.coordinators[number].paused > self.now
    }

    /// It takes a turn after so long, or sooner if it was to.
    pub(super) fn turn_after(&mut self, number: usize, time: Micros) {
        let at = self.now + time;
        let coordinator = &mut self.coordinators[number];
        if coordinator.turn.is_none_or(|due| due > at) {
            coordinator.turn = Some(at);
            let start = coordinator.starts;
            self.at(at, Event::Turn(number, start));
        }
    }

    pub(super) fn turn(&mut self, number: usize, start: u64) -> Result<(), Broken> {
        if !self.runs(number, start) || self.coordinators[number].turn != Some(self.now) {
            return Ok(());
        }
        self.coordinators[number].turn = None;
        if self.is_paused(number) {
            return Ok(());
        }
        let (now, soon) = (self.now, self.dice.below(2000));
        let coordinator = &mut self.coordinators[number];
        let isolated = coordinator.isolated > now;
        let node = coordinator.node.as_mut().expect("it runs");
        // Whoever begins waits in one place for a log that does not answer.
        if isolated && node.begins() {
            self.turn_after(number, 100_000);
            return Ok(());
        }
        let before = coordinator.led;
        let turned = node.turn();
        let (leads, ended) = (node.leads(), node.has_ended());
        coordinator.led = leads;
        self.truth_follows()?;
        self.pull_all(number)?;
        self.announce(number);
        match turned {
            Err(error) => return self.halts(number, &error),
            Ok(_) if ended => {
                self.say(|| format!("coordinator {number} has stopped"));
                let down = self.coordinators[number].stopping.take().unwrap_or_default();
                return self.crash(number, false, down);
            }
            Ok(pause) => {
                if let Some(pause) = pause {
                    let pause = pause.as_micros() as Micros;
                    self.turn_after(number, pause + soon / 4 + 1);
                }
            }
        }
        if leads != before {
            self.say(|| format!("coordinator {number} {}", if leads { "leads" } else { "stands by" }));
            self.coordinators[number].disturbed = 0;
            self.totals.deposed += u64::from(before);
        }
        self.caught_unsettled(number)
    }

    /// The worst moment is when something was sent to the log and has no answer.
    fn caught_unsettled(&mut self, number: usize) -> Result<(), Broken> {
        if !self.coordinators[number].node.as_ref().is_some_and(SteppedReplica::is_unsettled) {
            return Ok(());
        }
        if let Some(time) = self.pause_unsettled.take() {
            self.pause(number, time);
        } else if let Some(down) = self.kill_unsettled.take() {
            return self.crash(number, false, down);
        }
        Ok(())
    }

    /// What is in the log by now. A log that cannot be read must have been altered.
    pub(super) fn truth_follows(&mut self) -> Result<(), Broken> {
        let followed = self.truth.follow();
        if self.flipped || self.went_back { Ok(()) } else { followed }
    }

    /// It cannot go on, and says why.
    fn halts(&mut self, number: usize, error: &NodeError) -> Result<(), Broken> {
        self.say(|| format!("coordinator {number} halts: {error}"));
        let excused = match error {
            NodeError::Store(StoreError::WentBack { .. }) => self.went_back,
            NodeError::Store(StoreError::Broken { .. }) => self.went_back || self.flipped,
            _ => false,
        };
        if !excused {
            return Err(format!("coordinator {number} halts: {error}"));
        }
        self.totals.halted += 1;
        self.crash(number, false, Micros::MAX)?;
        self.coordinators[number].ended = Some(error.to_string());
        Ok(())
    }

    /// Its process ends, and is started again after so long; never, where someone has to look after it first.
    pub(super) fn crash(&mut self, number: usize, power: bool, down: Micros) -> Result<(), Broken> {
        let coordinator = &mut self.coordinators[number];
        if coordinator.node.take().is_none() {
            return Ok(());
        }
        coordinator.antenna.falls_silent();
        coordinator.power |= power;
        (coordinator.turn, coordinator.paused, coordinator.led) = (None, 0, false);
        coordinator.held.clear();
        coordinator.computer.disk.switch_off();
        let start = coordinator.starts;
        self.say(|| format!("coordinator {number} is down"));
        for line in self.lines.clone() {
            let (connection, to, _) = &mut self.connections[line];
            if *to == number {
                connection.down.from = None;
                connection.down.black_hole = true;
                connection.up.black_hole = true;
                let soon = self.dice.below(300_000);
                self.after(soon, Event::Notice { connection: line, up: true });
                self.lines.remove(&line);
            }
        }
        if down != Micros::MAX {
            self.after(down.max(1), Event::StartCoordinator(number, start));
        }
        Ok(())
    }

    /// It takes no step for so long.
    pub(super) fn pause(&mut self, number: usize, time: Micros) {
        let coordinator = &mut self.coordinators[number];
        if coordinator.node.is_none() || coordinator.paused > self.now {
            return;
        }
        coordinator.paused = self.now + time;
        let start = coordinator.starts;
        self.say(|| format!("coordinator {number} is paused for {} ms", time / 1000));
        self.after(time, Event::Resume(number, start));
        // Who hears nothing for long looks elsewhere.
        for line in self.lines.clone() {
            let patience = 2_500_000 + self.dice.below(500_000);
            if self.connections[line].1 == number && time > patience {
                self.after(patience, Event::Notice { connection: line, up: true });
            }
        }
    }

    /// It goes on as if nothing had been.
    pub(super) fn resume(&mut self, number: usize, start: u64) -> Result<(), Broken> {
        if !self.runs(number, start) || self.is_paused(number) {
            return Ok(());
        }
        self.say(|| format!("coordinator {number} goes on"));
        let held = std::mem::take(&mut self.coordinators[number].held);
        for came in held {
            self.comes(number, came)?;
        }
        self.turn_after(number, 0);
        Ok(())
    }

    /// Something comes to a coordinator; one that is paused finds it when it goes on.
    pub(super) fn comes(&mut self, number: usize, came: Came) -> Result<(), Broken> {
        let paused = self.is_paused(number);
        let coordinator = &mut self.coordinators[number];
        let Some(node) = &mut coordinator.node else { return Ok(()) };
        if paused {
            coordinator.held.push(came);
            return Ok(());
        }
        match came {
            Came::Tick => node.tick(),
            Came::Sample => node.sample(),
            Came::Closed(line) => node.closed(line as u64),
            Came::Frame(line, frame) => {
                let (connection, ..) = &mut self.connections[line];
                if !connection.opened {
                    let (frames, outgoing) = Outbox::channel();
                    connection.opened = true;
                    connection.down.from = Some(outgoing);
                    node.opened(line as u64, frames);
                }
                node.frame(line as u64, frame);
            }
        }
        let refused = node.refused();
        // Machines may not understand what clients are at who know more than a log that went back.
        if refused > coordinator.disturbed && !self.went_back {
            return Err(format!("coordinator {number} refuses an honest message"));
        }
        self.pull_all(number)?;
        let soon = self.dice.below(2000);
        self.turn_after(number, soon);
        Ok(())
    }

    pub(super) fn beat(&mut self, number: usize, start: u64) -> Result<(), Broken> {
        if !self.runs(number, start) {
            return Ok(());
        }
        self.after(TICK, Event::Beat(number, start));
        if self.is_paused(number) { Ok(()) } else { self.comes(number, Came::Tick) }
    }

    pub(super) fn sample(&mut self, number: usize, start: u64) -> Result<(), Broken> {
        if !self.runs(number, start) {
            return Ok(());
        }
        self.after(SAMPLE, Event::Sample(number, start));
        if self.is_paused(number) { Ok(()) } else { self.comes(number, Came::Sample) }
    }

    /// It says what it says of itself, again.
    pub(super) fn pulse(&mut self, number: usize, start: u64) -> Result<(), Broken> {
        if self.runs(number, start) {
            self.after(PULSE, Event::Pulse(number, start));
            self.coordinators[number].antenna.air().news = true;
            self.announce(number);
        }
        Ok(())
    }

    /// What it has to say leaves, if it is time.
    fn announce(&mut self, number: usize) {
        if self.is_paused(number) || !std::mem::take(&mut self.coordinators[number].antenna.air().news) {
            return;
        }
        let saying = self.coordinators[number].antenna.air().saying.clone();
        let (Some(pulse), false) = (saying, self.is_cut_off(number)) else { return };
        for other in 0..self.coordinators.len() {
            if other != number {
                let delay = 500 + self.dice.below(20_000);
                self.after(delay, Event::Hear(other, Box::new(pulse.clone())));
            }
        }
    }

    fn is_cut_off(&self, number: usize) -> bool {
        self.deaf > self.now || self.coordinators[number].isolated > self.now
    }

    pub(super) fn hear(&mut self, number: usize, pulse: Pulse) -> Result<(), Broken> {
        if !self.is_cut_off(number) && self.coordinators[number].node.is_some() {
            self.coordinators[number].antenna.hears(pulse);
        }
        Ok(())
    }
}
