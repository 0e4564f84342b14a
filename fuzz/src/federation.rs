//! A small federation of every algorithm, as a deployment has them, and what it says when it runs.

use std::sync::{Arc, LazyLock};

use cahoots_algorithms::registry::ours;
use cahoots_core::drive::{ClientNode, Event, Node, Queues, Saved, ServerNode, Waiting};
use cahoots_core::link::Arrival;
use cahoots_core::{ArmBuffer, Keys, Membership, NodeId, Setting, Tick, UserId};
use cahoots_node::{Known, Terms};

/// What this program can run: all of ours.
pub static KNOWN: LazyLock<Arc<Known>> = LazyLock::new(|| Arc::new(Known::new(ours())));

/// Messages that only this mode has.
const GROUPS: [(&str, &str); 2] = [
    ("private-linucb", "dp_delta = 1e-5\ntrust = \"group\"\ngroup_least = 3"),
    ("cdp-mab", "rounds = 3\ngap = 0.8\ndp_epsilon = 20.0\nprivacy = \"central\"\ngroup_least = 3"),
];

/// One federation per algorithm, and those that sum over groups.
pub static ALL: LazyLock<Vec<Federation>> = LazyLock::new(|| {
    let grouped = GROUPS.map(|(name, params)| Federation::of(terms(name, &[params])));
    KNOWN.algorithms.names().map(|name| Federation::of(terms(name, &PARAMS))).chain(grouped).collect()
});

/// One of these is enough for any algorithm.
const PARAMS: [&str; 6] =
    ["ratio = 1.0", "sync_threshold = 0.1", "dp_epsilon = 1.0", "dp_delta = 1e-5", "", "client_spread = 0.1"];

/// What the noise and the decisions here follow from.
pub static KEYS: LazyLock<Keys> = LazyLock::new(|| Keys::from_seed(7));

static NOTHING_WAITS: LazyLock<Vec<u8>> = LazyLock::new(|| Queues::default().save());

/// How long each runs.
const LENGTH: Tick = 40;

/// A federation that has run for a while.
pub struct Federation {
    /// What it agreed on.
    pub terms: Terms,
    /// The server as it was then.
    pub server: Vec<u8>,
    /// Its first client.
    pub client: Vec<u8>,
    /// Messages that clients sent it, and that it sent its first client: payloads.
    pub up: Vec<Vec<u8>>,
    /// The same, down.
    pub down: Vec<Vec<u8>>,
    /// What the server logged.
    pub log: Vec<Vec<u8>>,
}

/// The input chooses: its first byte the federation, the rest is for it.
pub fn chosen(bytes: &[u8]) -> Option<(&'static Federation, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    Some((&ALL[usize::from(*first) % ALL.len()], rest))
}

fn terms(algorithm: &str, params: &[&str]) -> Terms {
    let settings = [
        Setting::linear(3, 2, 3),
        Setting::linear(3, 2, 3).with_local_dims([1, 2, 1]),
        Setting::linear(4, 2, 3).with_hosts([NodeId(0), NodeId(0), NodeId(1), NodeId(1)]),
        Setting::k_armed(3, 3),
    ];
    for params in params {
        for setting in &settings {
            let setting = setting.clone().with_horizon(1000).with_reward_noise(0.1);
            let params = params.parse().expect("a table");
            if let Ok(terms) = Terms::new(&KNOWN, algorithm, &params, setting, 0) {
                return terms;
            }
        }
    }
    let why = Terms::new(&KNOWN, algorithm, &Default::default(), settings[0].clone(), 0);
    panic!("no setting for {algorithm}: {:?}", why.err().map(|error| error.to_string()));
}

impl Federation {
    /// The server of these terms, new or saved.
    pub fn server(&self, state: Option<&[u8]>) -> Option<Box<dyn ServerNode>> {
        let saved = state.map(|state| Saved { state, queues: &NOTHING_WAITS });
        self.terms.live(&KNOWN).ok()?.coordinator(&self.terms, saved).ok()
    }

    /// The first client of these terms, new or saved.
    pub fn client(&self, state: Option<&[u8]>) -> Option<Box<dyn ClientNode>> {
        let saved = state.map(|state| Saved { state, queues: &NOTHING_WAITS });
        self.terms.live(&KNOWN).ok()?.client(&self.terms, NodeId(0), saved).ok()
    }

    /// Runs one.
    fn of(terms: Terms) -> Federation {
        let live = terms.live(&KNOWN).expect("one of ours");
        let clients = live.seats(&terms).expect("they were checked").clients();
        let mut here = Running {
            server: live.coordinator(&terms, None).expect("they were checked"),
            clients: (0..clients as u32)
                .map(|me| live.client(&terms, NodeId(me), None).expect("they were checked"))
                .collect(),
            log: Vec::new(),
            up: Vec::new(),
            down: Vec::new(),
        };
        here.run(&terms);
        let Running { server, clients, log, up, down } = here;
        Federation { server: server.save(), client: clients[0].save(), terms, up, down, log }
    }
}

struct Running {
    server: Box<dyn ServerNode>,
    clients: Vec<Box<dyn ClientNode>>,
    log: Vec<Vec<u8>>,
    up: Vec<Vec<u8>>,
    down: Vec<Vec<u8>>,
}

impl Running {
    fn run(&mut self, terms: &Terms) {
        let (setting, seats) = (&terms.setting, terms.seats(&KNOWN).expect("they were checked"));
        self.server.event(0, Event::Start, &KEYS, &mut self.log);
        for me in 0..self.clients.len() {
            let joined = Event::Membership(Membership::Joined(NodeId(me as u32)));
            self.server.event(0, joined, &KEYS, &mut self.log);
            self.clients[me].event(0, Event::Start, &KEYS, &mut Vec::new());
        }
        for now in 1..LENGTH {
            for user in (0..setting.users as u32).map(UserId) {
                let client = &mut self.clients[seats.seat_of(user).index()];
                let arms = offer(setting, user, now);
                let Ok(decided) = client.decide(now, 1, user, &arms, &KEYS, &mut Vec::new()) else {
                    continue;
                };
                let _ = client.reward(now, decided.id, 0.5, &KEYS, &mut Vec::new());
            }
            self.deliver(now);
        }
        for client in &mut self.clients {
            client.drain(LENGTH, &KEYS, &mut Vec::new());
        }
        self.deliver(LENGTH);
    }

    /// All that waits comes, until nothing does.
    fn deliver(&mut self, now: Tick) {
        let mut quiet = false;
        while !quiet {
            quiet = true;
            for me in 0..self.clients.len() {
                let here = NodeId(me as u32);
                for (to, sequence, skipped, payload) in waiting(&mut *self.clients[me]) {
                    self.clients[me].queues().confirmed(to, sequence);
                    let message = Event::Message { from: here, sequence, skipped, message: payload.clone() };
                    if to != NodeId::SERVER {
                        take(&mut *self.clients[to.index()], now, message, &mut Vec::new());
                        continue;
                    }
                    take(&mut *self.server, now, message, &mut self.log);
                    self.up.push(payload);
                    quiet = false;
                }
            }
            for (to, sequence, skipped, payload) in waiting(&mut *self.server) {
                self.server.queues().confirmed(to, sequence);
                let message =
                    Event::Message { from: NodeId::SERVER, sequence, skipped, message: payload.clone() };
                take(&mut *self.clients[to.index()], now, message, &mut Vec::new());
                if to == NodeId(0) {
                    self.down.push(payload);
                }
                quiet = false;
            }
        }
        if self.server.wake().is_some_and(|due| due <= now) {
            self.server.event(now, Event::Wake, &KEYS, &mut self.log);
        }
        for client in &mut self.clients {
            if client.wake().is_some_and(|due| due <= now) {
                client.event(now, Event::Wake, &KEYS, &mut Vec::new());
            }
        }
    }
}

/// Arms of small numbers, others every time.
fn offer(setting: &Setting, user: UserId, now: Tick) -> ArmBuffer {
    let mut arms = ArmBuffer { plain: setting.arms, ..ArmBuffer::default() };
    let feature = |k: usize, j: usize| ((k * 7 + j * 3 + now as usize) % 5) as f64 / 10.0 - 0.2;
    let local = setting.local_dim(user);
    arms.features.reset(setting.dim);
    arms.local.reset(local);
    for k in 0..setting.arms {
        if setting.dim > 0 {
            arms.features.push(&(0..setting.dim).map(|j| feature(k, j)).collect::<Vec<_>>());
        }
        if local > 0 {
            arms.local.push(&(0..local).map(|j| feature(k, j + 1)).collect::<Vec<_>>());
        }
    }
    arms
}

type Letter = (NodeId, u64, u64, Vec<u8>);

fn waiting(node: &mut (impl Node + ?Sized)) -> Vec<Letter> {
    let letter =
        |(to, message): (NodeId, &Waiting)| (to, message.sequence, message.skipped, message.payload());
    node.queues().in_order().into_iter().map(letter).collect()
}

/// A message that a node may take now is taken.
pub fn take(node: &mut (impl Node + ?Sized), now: Tick, event: Event<Vec<u8>>, log: &mut Vec<Vec<u8>>) {
    let Event::Message { from, sequence, skipped, .. } = &event else { return };
    if matches!(node.check(*from, *sequence, *skipped), Ok(Arrival::Next)) {
        node.event(now, event, &KEYS, log);
    }
}
