//! Coordinators, a stream and clients in virtual time: one event after the other, in an order that follows from the plan.

use std::collections::{BTreeSet, BinaryHeap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cahoots_node::inside::{Bug, SteppedClient, SteppedReplica};
use cahoots_node::replica::{LogKey, Pulse};
use cahoots_node::transport::proto::Frame;

use super::super::app::App;
use super::super::cases::{Case, Cases};
use super::super::computer::{Computer, Micros};
use super::super::dice::Dice;
use super::super::network::Connection;
use super::super::world::Broken;
use super::Totals;
use super::keeper::Antenna;
use super::plan::Plan;
use super::truth::Truth;
use crate::stream::{Copied, Stream};

/// Name of every federation.
pub(super) const FEDERATION: &str = "replicated";
/// Length of a tick.
pub(super) const TICK: Micros = 250_000;
/// How often a coordinator looks at itself.
pub(super) const SAMPLE: Micros = 1_000_000;
/// How often a leader says that it leads.
pub(super) const PULSE: Micros = 300_000;
/// How often someone looks after the nodes.
pub(super) const LOOK: Micros = 400_000;

/// What happens next. Numbers of starts tell whether a node is still the one that was meant.
#[derive(Clone, Debug)]
pub(super) enum Event {
    App(usize),
    Reward(usize, usize),
    Arrive { connection: usize, up: bool },
    Notice { connection: usize, up: bool },
    Dial(usize, u64),
    Tick(usize, u64),
    Gather(usize, u64),
    Write(usize, u64),
    Finish(usize, u64),
    StartClient(usize, u64),
    StartCoordinator(usize, u64),
    Turn(usize, u64),
    Beat(usize, u64),
    Sample(usize, u64),
    Pulse(usize, u64),
    Hear(usize, Box<Pulse>),
    Resume(usize, u64),
    Impatient(usize, usize),
    Reach(usize),
    Trouble(usize),
    Calm,
    Look,
}

struct Due {
    at: Micros,
    order: u64,
    event: Event,
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        (self.at, self.order) == (other.at, other.order)
    }
}
impl Eq for Due {}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Due {
    /// The earliest is the greatest: it comes first.
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        (other.at, other.order).cmp(&(self.at, self.order))
    }
}

/// What comes to a coordinator.
#[derive(Clone, Debug)]
pub(super) enum Came {
    /// A frame over a connection, or its end.
    Frame(usize, Frame),
    Closed(usize),
    Tick,
    Sample,
}

/// One of the coordinators.
pub(super) struct Coordinator {
    pub(super) computer: Arc<Computer>,
    pub(super) store: PathBuf,
    /// Its way to the stream.
    pub(super) stream: Stream,
    pub(super) antenna: Antenna,
    pub(super) node: Option<SteppedReplica>,
    pub(super) starts: u64,
    /// Its power was cut.
    pub(super) power: bool,
    /// When its next turn is due.
    pub(super) turn: Option<Micros>,
    /// Its process takes no step until then.
    pub(super) paused: Micros,
    pub(super) isolated: Micros,
    /// What came meanwhile.
    pub(super) held: Vec<Came>,
    pub(super) stopping: Option<Micros>,
    /// It starts with `--accept-rollback`.
    pub(super) accepts: bool,
    /// Why it ended by itself, if it did.
    pub(super) ended: Option<String>,
    /// Did it lead at the last turn?
    pub(super) led: bool,
    /// Messages to it that were altered on their way, since it began to lead.
    pub(super) disturbed: u64,
}

/// A client's way to one of its coordinators.
#[derive(Debug, Default)]
pub(super) enum Link {
    #[default]
    Idle,
    Dialing(usize, tokio::sync::mpsc::Sender<Frame>),
    Up(usize),
}

/// One of the clients, with its app.
pub(super) struct Client {
    pub(super) computer: Arc<Computer>,
    pub(super) store: PathBuf,
    pub(super) node: Option<SteppedClient>,
    pub(super) starts: u64,
    pub(super) power: bool,
    pub(super) link: Link,
    pub(super) flushing: bool,
    pub(super) app: App,
    pub(super) partitioned: Micros,
    pub(super) drained: bool,
    /// The trouble that was seen at the last look.
    pub(super) trouble: Option<String>,
}

pub(super) struct World<'a> {
    pub(super) plan: &'a Plan,
    pub(super) cases: &'a Cases,
    pub(super) case: &'a Case,
    pub(super) now: Micros,
    time: Arc<AtomicU64>,
    queue: BinaryHeap<Due>,
    order: u64,
    pub(super) dice: Dice,
    pub(super) stream: Stream,
    pub(super) truth: Truth,
    pub(super) copies: Vec<Copied>,
    pub(super) coordinators: Vec<Coordinator>,
    pub(super) clients: Vec<Client>,
    /// With the coordinator of each, and how often that had been started.
    pub(super) connections: Vec<(Connection, usize, u64)>,
    pub(super) deaf: Micros,
    /// The next leader without an answer is paused, or killed, for so long.
    pub(super) pause_unsettled: Option<Micros>,
    pub(super) kill_unsettled: Option<Micros>,
    /// The stream has lost what it had acknowledged, or has other bits.
    pub(super) went_back: bool,
    pub(super) flipped: bool,
    pub(super) calm: Option<Micros>,
    pub(super) lines: BTreeSet<usize>,
    pub(super) totals: Totals,
    trace: Option<Vec<String>>,
}

/// The key of every log.
pub(super) fn key() -> LogKey {
    LogKey::new([7; 32])
}

impl<'a> World<'a> {
    pub(super) fn new(plan: &'a Plan, cases: &'a Cases, bug: Option<Bug>, trace: bool) -> World<'a> {
        let case = &cases.all[plan.case.0][plan.case.1];
        let (time, stream) = (Arc::new(AtomicU64::new(0)), Stream::default());
        let computer = |name: String, purpose: u64| {
            let store = PathBuf::from(format!("/{name}/store"));
            let computer = Computer::new(&store, time.clone(), Dice::new(plan.seed, purpose), bug);
            computer.logs_are_long_after(plan.long_log);
            (computer, store)
        };
        let coordinators = (0..plan.coordinators).map(|number| {
            let (computer, store) = computer(format!("coordinator{number}"), 2100 + number as u64);
            Coordinator {
                computer,
                store,
                stream: stream.of_another(),
                antenna: Antenna::default(),
                node: None,
                starts: 0,
                power: false,
                turn: None,
                paused: 0,
                isolated: 0,
                held: Vec::new(),
                stopping: None,
                accepts: false,
                ended: None,
                led: false,
                disturbed: 0,
            }
        });
        let clients = (0..case.clients).map(|number| {
            let (computer, store) = computer(format!("client{number}"), 2200 + number as u64);
            Client {
                computer,
                store,
                node: None,
                starts: 0,
                power: false,
                link: Link::Idle,
                flushing: false,
                app: App { left: plan.decisions, ..App::default() },
                partitioned: 0,
                drained: false,
                trouble: None,
            }
        });
        let (coordinators, clients) = (coordinators.collect(), clients.collect());
        let truth = Truth::new(cases.known.clone(), case.terms.clone(), key(), &stream);
        let mut world = World {
            plan,
            cases,
            case,
            now: 0,
            queue: BinaryHeap::new(),
            order: 0,
            dice: Dice::new(plan.seed, 2004),
            time,
            stream,
            truth,
            copies: Vec::new(),
            coordinators,
            clients,
            connections: Vec::new(),
            deaf: 0,
            pause_unsettled: None,
            kill_unsettled: None,
            went_back: false,
            flipped: false,
            calm: None,
            lines: BTreeSet::new(),
            totals: Totals { schedules: 1, ..Totals::default() },
            trace: trace.then(Vec::new),
        };
        world.schedule();
        world
    }

    fn schedule(&mut self) {
        for coordinator in 0..self.coordinators.len() {
            let start = self.dice.below(20_000);
            self.at(start, Event::StartCoordinator(coordinator, 0));
        }
        for client in 0..self.clients.len() {
            self.at(0, Event::StartClient(client, 0));
            self.at(self.plan.pace, Event::App(client));
        }
        let mut end = self.plan.decisions * self.plan.pace;
        for (place, (at, trouble)) in self.plan.remaining() {
            self.at(*at, Event::Trouble(place));
            self.totals.troubles[trouble.kind()] += 1;
            end = end.max(at + trouble.time());
        }
        self.at(end + 1, Event::Calm);
        self.at(LOOK, Event::Look);
    }

    /// Something happens at this time.
    pub(super) fn at(&mut self, at: Micros, event: Event) {
        self.order += 1;
        self.queue.push(Due { at, order: self.order, event });
    }

    /// Something happens after so long.
    pub(super) fn after(&mut self, time: Micros, event: Event) {
        self.at(self.now + time, event);
    }

    /// Runs until all is settled; what was broken.
    pub(super) fn run(&mut self) -> Result<(), Broken> {
        while let Some(Due { at, event, .. }) = self.queue.pop() {
            self.now = self.now.max(at);
            self.time.store(self.now, Ordering::Relaxed);
            self.totals.events += 1;
            if let Event::Look = event {
                if self.look()? {
                    return Ok(());
                }
            } else {
                self.happen(event)?;
            }
        }
        Err("nothing happens any more, and it is not settled".into())
    }

    fn happen(&mut self, event: Event) -> Result<(), Broken> {
        match event {
            Event::App(client) => self.act(client),
            Event::Reward(client, reward) => self.reward(client, reward),
            Event::Arrive { connection, up } => self.arrive(connection, up),
            Event::Notice { connection, up } => self.notice(connection, up),
            Event::Dial(client, start) => self.dial(client, start),
            Event::Tick(client, start) => self.tick(client, start),
            Event::Gather(client, start) => self.gather(client, start),
            Event::Write(client, start) => self.write(client, start),
            Event::Finish(client, start) => self.finish(client, start),
            Event::StartClient(client, start) => self.start_client(client, start),
            Event::StartCoordinator(number, start) => self.start_coordinator(number, start),
            Event::Turn(number, start) => self.turn(number, start),
            Event::Beat(number, start) => self.beat(number, start),
            Event::Sample(number, start) => self.sample(number, start),
            Event::Pulse(number, start) => self.pulse(number, start),
            Event::Hear(number, pulse) => self.hear(number, *pulse),
            Event::Resume(number, start) => self.resume(number, start),
            Event::Impatient(client, line) => self.impatient(client, line),
            Event::Reach(number) => {
                self.reaches(number);
                Ok(())
            }
            Event::Trouble(place) => self.trouble(place),
            Event::Calm => {
                self.become_calm();
                Ok(())
            }
            Event::Look => Ok(()),
        }
    }

    pub(super) fn say(&mut self, words: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:>12.3} ms  {}", self.now as f64 / 1000.0, words()));
        }
    }

    /// What happened, line by line.
    pub(super) fn trace(&mut self) -> Vec<String> {
        self.trace.take().unwrap_or_default()
    }
}
