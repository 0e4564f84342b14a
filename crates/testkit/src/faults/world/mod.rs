//! A federation of real cores in virtual time: one event after the other, in an order that follows from the plan.

mod client;
mod coordinator;
mod fate;
mod named;
mod settle;
mod site;
mod wire;

use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cahoots_core::link::Ends;
use cahoots_node::client::ClientConfig;
use cahoots_node::coordinator::CoordinatorConfig;
use cahoots_node::inside::{Bug, SteppedCoordinator};
use cahoots_node::store::Sync;

use super::app::App;
use super::cases::{Case, Cases};
use super::computer::{Commits, Computer, Micros};
use super::dice::Dice;
use super::network::Connection;
use super::plan::{Plan, Who};
pub(super) use site::{Client, Down, Link, Site};

/// Name of every federation.
pub(super) const FEDERATION: &str = "faults";
/// Length of a tick.
const TICK: Micros = 250_000;
/// The longest pause between two attempts to connect.
const LONGEST_PAUSE: Micros = 1_000_000;
/// How long a disk that is full is left alone.
const AGAIN: Micros = 500_000;
/// After so long without a reward a decision is given up.
const EXPIRY: Micros = 4_000_000;
/// How often someone looks after the nodes.
const LOOK: Micros = 400_000;
/// Once nothing goes wrong any more, all must be settled after so long.
const PATIENCE: Micros = 120_000_000;

/// What a schedule shows when an invariant is broken.
pub(super) type Broken = String;

/// What happens next. Numbers of starts tell whether a node is still the one that was meant.
#[derive(Clone, Debug)]
pub(super) enum Event {
    App(usize),
    Reward(usize, usize),
    Arrive { connection: usize, up: bool },
    Pull { connection: usize, up: bool },
    Notice { connection: usize, up: bool },
    Dial(usize, u64),
    Tick(Who, u64),
    Gather(usize, u64),
    Write(usize, u64),
    Finish(usize, u64),
    Commit(u64),
    Fault(usize),
    FullEnds(Who),
    LieEnds(Who, Micros),
    Start(Who, u64),
    Follow(usize, Follow),
    Calm,
    Look,
}

/// What happens to a client that has started anew.
#[derive(Clone, Copy, Debug)]
pub(super) enum Follow {
    /// Its store is copied.
    Copy,
    /// It is killed, and comes back.
    Kill,
    /// The copy takes the place of its store.
    PutBack,
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

/// What is known of a message by who saw it on the wire.
pub(super) type Seen = BTreeMap<(u32, u32, u64), u32>;

pub(super) struct World<'a> {
    pub(super) plan: &'a Plan,
    pub(super) cases: &'a Cases,
    pub(super) case: &'a Case,
    pub(super) now: Micros,
    time: Arc<AtomicU64>,
    queue: BinaryHeap<Due>,
    order: u64,
    pub(super) dice: Dice,
    pub(super) site: Site,
    pub(super) coordinator: Option<SteppedCoordinator>,
    pub(super) committing: bool,
    pub(super) stopping: bool,
    /// What the copies of the coordinator's store were given.
    pub(super) backups: Vec<Commits>,
    pub(super) restore: bool,
    pub(super) refused: u64,
    /// Messages to the coordinator that were altered or came out of turn.
    pub(super) disturbed: u64,
    pub(super) clients: Vec<Client>,
    pub(super) connections: Vec<Connection>,
    /// Those of them over which the coordinator may say something.
    pub(super) outgoing: Vec<usize>,
    pub(super) seen: Seen,
    pub(super) epochs: BTreeSet<u64>,
    pub(super) calm: Option<Micros>,
    /// Those who started anew are not left alone yet.
    pub(super) following: usize,
    /// The schedule ended before its time, and said so: a coordinator without a store and without a copy.
    pub(super) ended: bool,
    trace: Option<Vec<String>>,
    pub(super) events: u64,
}

impl<'a> World<'a> {
    pub(super) fn new(plan: &'a Plan, cases: &'a Cases, bug: Option<Bug>, trace: bool) -> World<'a> {
        let case = &cases.all[plan.case.0][plan.case.1];
        let time = Arc::new(AtomicU64::new(0));
        let site = |name: &str, purpose: u64| {
            let store = PathBuf::from(format!("/{name}/store"));
            let computer = Computer::new(&store, time.clone(), Dice::new(plan.seed, purpose), bug);
            let crash = (Down::Kill, 0);
            Site {
                computer,
                store,
                starts: 0,
                crash,
                stop: 0,
                frames_left: None,
                next_crash: None,
                down: Down::Kill,
                branched: None,
                rotten: false,
                must_refuse: false,
                uncertain: false,
            }
        };
        let clients = (0..case.clients).map(|client| Client {
            site: site(&format!("client{client}"), 100 + client as u64),
            node: None,
            link: Link::Idle,
            pause: 0,
            flushing: false,
            app: App { left: plan.decisions, ..App::default() },
            image: None,
            told: Ends::default(),
            said: BTreeMap::new(),
            heard: Ends::default(),
            crash_when_welcome: false,
            replaced: 0,
            followed: false,
            partitioned: 0,
            drained: false,
            trouble: None,
        });
        let clients = clients.collect();
        let mut world = World {
            plan,
            cases,
            case,
            now: 0,
            queue: BinaryHeap::new(),
            order: 0,
            dice: Dice::new(plan.seed, 2),
            site: site("coordinator", 99),
            time,
            coordinator: None,
            committing: false,
            stopping: false,
            backups: Vec::new(),
            restore: false,
            refused: 0,
            disturbed: 0,
            clients,
            connections: Vec::new(),
            outgoing: Vec::new(),
            seen: Seen::new(),
            epochs: BTreeSet::new(),
            calm: None,
            following: 0,
            ended: false,
            trace: trace.then(Vec::new),
            events: 0,
        };
        world.schedule();
        world
    }

    fn schedule(&mut self) {
        self.at(0, Event::Start(Who::Coordinator, 0));
        for client in 0..self.clients.len() {
            let start = self.plan.starts[client];
            self.at(start, Event::Start(Who::Client(client), 0));
            self.at(start + self.plan.pace, Event::App(client));
        }
        let plan = self.plan;
        let mut end = plan.decisions * plan.pace;
        for (place, (at, _)) in plan.remaining() {
            self.at(*at, Event::Fault(place));
            end = end.max(*at);
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
            self.events += 1;
            if let Event::Look = event {
                if self.look()? {
                    return Ok(());
                }
            } else {
                self.happen(event)?;
            }
            if self.ended {
                return Ok(());
            }
        }
        Err("nothing happens any more, and it is not settled".into())
    }

    fn happen(&mut self, event: Event) -> Result<(), Broken> {
        match event {
            Event::App(client) => self.act(client),
            Event::Reward(client, reward) => self.reward(client, reward),
            Event::Arrive { connection, up } => self.arrive(connection, up),
            Event::Pull { connection, up } => self.pull(connection, up),
            Event::Notice { connection, up } => self.notice(connection, up),
            Event::Dial(client, start) => self.dial(client, start),
            Event::Tick(who, start) => self.tick(who, start),
            Event::Gather(client, start) => self.gather(client, start),
            Event::Write(client, start) => self.write(client, start),
            Event::Finish(client, start) => self.finish(client, start),
            Event::Commit(start) => self.commit(start),
            Event::Fault(place) => self.fault(place),
            Event::FullEnds(who) => {
                self.say(|| format!("{who:?}: there is space again"));
                self.site(who).computer.disk.mood(|mood| mood.full = false);
                Ok(())
            }
            Event::LieEnds(who, down) => self.crash(who, Down::Power, down),
            Event::Start(who, start) => self.start(who, start),
            Event::Follow(client, follow) => self.follow(client, follow),
            Event::Calm => {
                self.become_calm();
                Ok(())
            }
            Event::Look => Ok(()),
        }
    }

    fn tick(&mut self, who: Who, start: u64) -> Result<(), Broken> {
        if self.site(who).starts != start {
            return Ok(());
        }
        match who {
            Who::Coordinator => {
                if let Some(coordinator) = &mut self.coordinator {
                    coordinator.tick();
                    self.after(TICK, Event::Tick(who, start));
                    self.commit_soon();
                }
                Ok(())
            }
            Who::Client(client) => {
                if let Some(node) = &self.clients[client].node {
                    node.tick();
                    self.after(TICK, Event::Tick(who, start));
                    self.touched(client)?;
                }
                Ok(())
            }
        }
    }

    pub(super) fn site(&mut self, who: Who) -> &mut Site {
        match who {
            Who::Coordinator => &mut self.site,
            Who::Client(client) => &mut self.clients[client].site,
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

    pub(super) fn client_config(&self, client: usize) -> ClientConfig {
        ClientConfig {
            known: self.cases.known.clone(),
            federation: FEDERATION.into(),
            coordinator: None,
            client: client as u32,
            store: self.clients[client].site.store.clone(),
            sync: Sync::Disk,
            terms: self.plan.knows_terms.then(|| self.case.terms.clone()),
            tick: Duration::from_micros(TICK),
            expiry: Duration::from_micros(EXPIRY),
            default_reward: None,
            snapshot_every: self.plan.snapshot_every,
            longest_pause: Duration::from_micros(LONGEST_PAUSE),
            limits: Default::default(),
            security: Default::default(),
            privacy: None,
            gain: Default::default(),
            telemetry: Default::default(),
            apprentice: None,
            personalizer: Default::default(),
            decisions: None,
        }
    }

    pub(super) fn coordinator_config(&self) -> CoordinatorConfig {
        CoordinatorConfig {
            warm_start: None,
            plan: None,
            known: self.cases.known.clone(),
            federation: FEDERATION.into(),
            store: self.site.store.clone(),
            sync: Sync::Disk,
            terms: self.case.terms.clone(),
            tick: Duration::from_micros(TICK),
            snapshot_every: self.plan.snapshot_every,
            limits: Default::default(),
            security: Default::default(),
        }
    }
}
