//! Small federations, at least one of every algorithm: terms under which they talk a lot, and what can be read off
//! their coordinator in the end.

use std::sync::Arc;

use cahoots_algorithms::{async_linucb, fed_linucb, sync_linucb};
use cahoots_core::drive::saved_server;
use cahoots_core::{LinearStats, NodeId, Setting};
use cahoots_node::client::Arms;
use cahoots_node::{Known, Terms};

/// Ticks that algorithms are told they have.
const HORIZON: u64 = 200;

/// A federation to be tried.
#[derive(Clone, Debug)]
pub struct Case {
    /// What the federation agrees on.
    pub terms: Terms,
    /// How many clients there are.
    pub clients: usize,
    /// The users of each client.
    pub users: Vec<Vec<u32>>,
    /// Do clients talk to each other?
    pub neighbours: bool,
    /// What has been merged, where the coordinator's state says it.
    pub merged: Option<fn(&[u8]) -> LinearStats>,
}

impl Case {
    /// What an app offers for one of its users.
    pub(super) fn offer<T>(&self, user: u32, decide: impl FnOnce(Arms<'_>) -> T) -> T {
        let setting = &self.terms.setting;
        if setting.dim == 0 {
            return decide(Arms::Plain(setting.arms));
        }
        // Each user has two coordinates of its own; users of one local server share theirs with others'.
        let width = setting.dim + setting.local_dims.get(user as usize).copied().unwrap_or(0);
        let row = |arm: usize| {
            let mut row = vec![0.0; width];
            row[(2 * user as usize + arm) % setting.dim] = 1.0;
            if let Some(own) = row.get_mut(setting.dim + arm) {
                *own = 0.5;
            }
            row
        };
        decide(Arms::Features(&[row(0), row(1)]))
    }
}

/// All of them.
#[derive(Debug)]
pub struct Cases {
    /// What nodes can run.
    pub known: Arc<Known>,
    /// By algorithm, then by size.
    pub all: Vec<Vec<Case>>,
    /// How many of them seeds below [`super::plan::LATER`] choose from.
    pub settled: usize,
    /// The same of seeds of coordinators that share a log, which are a younger family.
    pub replicated: usize,
}

/// Those who exchange nothing and came after seeds had their meaning: to a driver they are what linucb-alone and
/// ucb-alone are, and with them in the list every seed would be another schedule.
const ALIKE: [&str; 10] = [
    "random",
    "greedy",
    "epsilon-greedy",
    "softmax",
    "igw",
    "disjoint-linucb",
    "kl-ucb-alone",
    "moss-alone",
    "ts-beta-alone",
    "exp3-alone",
];

/// Those who came after seeds had their meaning and do exchange something: seeds of their own. In the order in which they came; the
/// first was there before coordinators could share a log.
const LATER: [&str; 3] = ["fed-linucb", "fed2-ucb", "fed-igw"];

impl Cases {
    /// Federations of all that is known.
    ///
    /// # Panics
    /// If there is an algorithm that none of the small settings fits.
    pub fn new(known: Arc<Known>) -> Cases {
        let (mut all, mut settled, mut replicated) = (Vec::new(), 0, 0);
        let old = known.algorithms.names().filter(|name| !ALIKE.contains(name) && !LATER.contains(name));
        for name in old.chain(LATER) {
            for params in talkative(name) {
                let cases: Vec<Case> =
                    (2..=5).filter_map(|clients| case(&known, name, params, clients)).collect();
                assert!(!cases.is_empty(), "{name} fits none of the small settings with {params:?}");
                all.push(cases);
                settled += usize::from(!LATER.contains(&name));
                replicated += usize::from(!LATER[1..].contains(&name));
            }
        }
        Cases { known, all, settled, replicated }
    }
}

/// Parameters with which an algorithm talks a lot.
fn talkative(algorithm: &str) -> &'static [&'static str] {
    match algorithm {
        "async-linucb" => &[
            "upload_ratio = 1.0\ndownload_ratio = 1.0",
            "ratio = 1.3",
            "ratio = 2.0\nnew_client = \"at-once\"",
        ],
        "async-linucb-am" => &["ratio = 1.2"],
        "fed-linucb" => &[
            "upload_ratio = 1.0",
            "upload_ratio = 1.2\nfidelity = \"authors\"",
            "upload_ratio = 1.2\nown_data = true",
        ],
        "fed-igw" => &["longest_epoch = 2", "longest_epoch = 3\ndeadline = 4\nquorum = 0.5\ndata = \"all\""],
        "sync-linucb" => &["sync_threshold = 0.05", "sync_threshold = 0.5\ndeadline = 4\nquorum = 0.5"],
        "hetofed" | "hetofed-pq" | "hetofed-dr" | "hetofed-e" | "hetofed-async" => {
            &["exploration = 3\nsync_threshold = 0.1"]
        }
        "cdp-mab" => &[
            "rounds = 3\ngap = 0.8\nprivacy = \"local\"\ndp_epsilon = 20.0\nparticipation = 0.6",
            "rounds = 3\ngap = 0.8\nprivacy = \"central\"\ndp_epsilon = 20.0\ngroup_least = 3",
            "rounds = 3\ngap = 0.8\nprivacy = \"central\"\ndp_epsilon = 20.0\ngroup_least = 3\ndeadline = 5",
        ],
        "ddp-mab" => &["rounds = 3\ngap = 0.8\nprivacy = \"local\"\ndp_epsilon = 20.0\ntopology = \"ring\""],
        "hdp-mab" => &["rounds = 3\ngap = 0.8\nprivacy = \"local\"\ndp_epsilon = 20.0\ntopology = \"star\""],
        "pf-ucb" | "pf-ucb-enhanced" => &["schedule = 1.0"],
        "fed-elim" => {
            &["failure_prob = 0.5\nreward_noise = 0.1", "communicate = 2\ndeadline = 5\nreward_noise = 0.1"]
        }
        "fed2-ucb" => &[
            "client_spread = 0.1\nreward_noise = 0.1\nschedule = 2\nadmit = 1",
            "client_spread = 0.0\nreward_noise = 0.1\nschedule = 1\ndeadline = 5\nquorum = 0.5",
            "model = \"exact\"\nreward_noise = 0.1\nschedule = 2",
        ],
        "cdp-fclub-dc" => &["dp_delta = 1e-5"],
        "private-linucb" => &[
            "dp_delta = 1e-5\nreleases = 6\nfirst_release = 2",
            "dp_delta = 1e-5\nreleases = 6\nfirst_release = 2\ntrust = \"nobody\"\ndecide = \"released\"",
            "dp_delta = 1e-5\nreleases = 6\nfirst_release = 2\ntrust = \"group\"\ngroup_least = 3",
        ],
        "private-fclub" => &["dp_delta = 1e-5\nreleases = 6\nfirst_release = 2\ndp_epsilon = 1000.0"],
        "private-fed-linucb" => &[
            "dp_delta = 1e-5\nbatch = 2",
            "dp_delta = 1e-5\nbatch = 3\ndp_epsilon = 1000.0\ndecide = \"released\"",
        ],
        _ => &[""],
    }
}

fn case(known: &Arc<Known>, name: &str, params: &str, clients: usize) -> Option<Case> {
    let params = params.parse().expect("a table");
    let hosts = || (0..2 * clients).map(|user| NodeId((user / 2) as u32));
    let settings = [
        Setting::linear(clients, 2 * clients, 2),
        Setting::linear(2 * clients, 2 * clients, 2).with_hosts(hosts()),
        Setting::linear(clients, 2 * clients, 2).with_local_dims(vec![2; clients]),
        Setting::k_armed(clients, 2),
    ];
    // Local servers are what the fclub family is about.
    let first = usize::from(name.contains("fclub") || name.contains("homo"));
    let order = [first, 0, 1, 2, 3];
    let terms = order.iter().find_map(|place| {
        let setting = settings[*place].clone().with_horizon(HORIZON);
        Terms::new(known, name, &params, setting, 7).ok()
    })?;
    let seats = terms.seats(known).ok()?;
    let mut users = vec![Vec::new(); seats.clients()];
    for user in 0..terms.setting.users as u32 {
        users[seats.seat_of(cahoots_core::UserId(user)).index()].push(user);
    }
    let merged: Option<fn(&[u8]) -> LinearStats> = match name {
        "async-linucb" => Some(|state| {
            saved_server::<async_linucb::Server>(state).expect("its own state").view().stats().clone()
        }),
        "fed-linucb" => Some(|state| {
            saved_server::<fed_linucb::Server>(state).expect("its own state").view().stats().clone()
        }),
        "sync-linucb" => Some(|state| {
            saved_server::<sync_linucb::Server>(state).expect("its own state").view().stats().clone()
        }),
        _ => None,
    };
    let all = || (0..seats.clients() as u32).map(NodeId);
    let neighbours = all().any(|a| all().any(|b| a != b && seats.hears(a, b)));
    Some(Case { terms, clients: seats.clients(), users, neighbours, merged })
}
