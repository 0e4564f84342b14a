//! Whoever can read all that a coordinator shows, and knows all rewards but one, learns no more of that one than was released of
//! it: two federations that differ in one reward look the same before the first release, in everything, and after it in
//! everything that is no released number or made of such.

mod scrape;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cahoots_core::{NodeId, Setting};
use cahoots_node::Known;
use cahoots_node::client::{Arms, Client};

use self::scrape::{Scraped, differences, scrape, timeless, unreleased};
use crate::common::{Federation, terms, until};

/// What is learned, and how.
#[derive(Clone, Copy)]
struct Case {
    algorithm: &'static str,
    params: &'static str,
    clients: u32,
    /// Arms without features.
    plain: bool,
    /// When something is released.
    releases: Releases,
}

#[derive(Clone, Copy)]
enum Releases {
    /// At this tick, whatever was learned by then.
    At(u64),
    /// After as many rewards as the terms say, which are more than `BUSIER`.
    Later,
    /// After the first reward, and again after as many as the terms say: how many there are is public.
    AtOnce,
}

/// Ticks of the tests' clients within which a machine that is not very slow has done what comes before the first release. A
/// slower one takes the next.
const TICKS: [u64; 3] = [300, 1500, 6000];

impl Case {
    fn start(&self, known: &Arc<Known>) -> Federation {
        let many = self.clients as usize;
        let setting = if self.plain { Setting::k_armed(many, 2) } else { Setting::linear(many, 2, 2) };
        let hosts = if self.plain { Vec::new() } else { (0..self.clients).map(NodeId).collect() };
        let norm = (!self.plain).then_some(1.0);
        let setting = Setting {
            context_norm: norm,
            reward_range: Some((0.0, 1.0)),
            horizon: 1 << 20,
            hosts,
            ..setting
        };
        let mut params = self.params.to_owned();
        if let Releases::At(tick) = self.releases {
            params += &format!("\nreleases = 1\nfirst_release = {tick}");
        }
        let terms = terms(known, self.algorithm, &params, setting);
        match self.releases {
            // What the server does by the clock as well, it does later than this test.
            Releases::AtOnce => Federation::start_ticking(known, terms, Duration::from_secs(3600)),
            _ => Federation::start(known, terms),
        }
    }

    fn learn(&self, client: &Client, user: u32, reward: f64) {
        let features = [vec![1.0, 0.0], vec![0.0, 1.0]];
        let (user, arms) =
            if self.plain { (None, Arms::Plain(2)) } else { (Some(user), Arms::Features(&features)) };
        let decision = client.decide(user, arms).unwrap();
        client.reward(decision.id, reward).unwrap();
    }
}

/// A federation of which client 0 has these rewards before the first release: what is seen of it before, and after.
fn seen(known: &Arc<Known>, case: Case, rewards: &[f64], through: bool) -> (Scraped, Option<Scraped>) {
    let attempts = TICKS.iter().filter_map(|ticks| {
        let releases = if let Releases::At(_) = case.releases { Releases::At(*ticks) } else { case.releases };
        seen_once(known, Case { releases, ..case }, rewards, through)
    });
    attempts.into_iter().next().expect("a machine that is so slow tells nothing")
}

/// The same; `None` if it was too slow to look before the first release.
fn seen_once(
    known: &Arc<Known>,
    case: Case,
    rewards: &[f64],
    through: bool,
) -> Option<(Scraped, Option<Scraped>)> {
    let federation = case.start(known);
    let clients: Vec<Client> = (0..case.clients).map(|client| federation.client(client)).collect();
    clients.iter().for_each(|client| until("it joins", || client.status().joined));
    let learn_all = || {
        rewards.iter().for_each(|reward| case.learn(&clients[0], 0, *reward));
        for (user, client) in (0..).zip(&clients).skip(1) {
            [0.0, 1.0, 0.5].into_iter().for_each(|reward| case.learn(client, user, reward));
        }
    };
    if !matches!(case.releases, Releases::AtOnce) {
        learn_all();
    }
    // Whatever they say of themselves, they say every few seconds.
    let heard = || federation.status().bytes_received;
    let before = heard() + 8 * u64::from(case.clients);
    until("they have said how things stand", || heard() > before);
    // A curve has its first point after a second or two: a fast machine would look before.
    let drawn = || federation.runtime.block_on(federation.coordinator().curves(None)).unwrap();
    until("all are on the curves", || drawn().connected.last() == Some(&clients.len()));
    // Who is in which group is looked at with every point: what was told just after that one is shown with the next.
    let points = drawn().connected.len();
    until("another point is drawn", || drawn().connected.len() > points);
    let before = scrape(&federation);
    let in_time = federation.status().received == 0;
    let after = (in_time && through).then(|| {
        match case.releases {
            Releases::At(_) => {}
            // All have the same rewards from here on.
            Releases::Later => {
                let due = |client: &Client| client.status().uploads == 0;
                for (user, client) in (0..).zip(&clients) {
                    (0..10_000).take_while(|_| due(client)).for_each(|_| case.learn(client, user, 0.5));
                }
            }
            Releases::AtOnce => learn_all(),
        }
        released(&federation, &clients);
        scrape(&federation)
    });
    clients.into_iter().for_each(Client::stop);
    federation.stop();
    in_time.then(|| (timeless(before), after.map(timeless)))
}

/// Waits until all have released, said so, and taken all that came of it.
fn released(federation: &Federation, clients: &[Client]) {
    let patience = Instant::now() + Duration::from_secs(300);
    let quiet = || {
        let (status, members) = (federation.status(), federation.members());
        let told = |member: &cahoots_node::coordinator::MemberStatus| {
            member.received > 0 && member.spent.as_ref().is_some_and(|spent| spent.releases > 0)
        };
        let curves = federation.runtime.block_on(federation.coordinator().curves(None)).unwrap();
        status.unconfirmed == 0
            && members.iter().all(told)
            && clients.iter().all(|client| client.status().unconfirmed == 0)
            && curves.received.iter().sum::<u64>() == status.received
            && curves.sent.iter().sum::<u64>() == status.sent
    };
    while !quiet() {
        assert!(Instant::now() < patience, "nothing is released: {:?}", federation.members());
        std::thread::sleep(Duration::from_millis(50));
    }
}

const ONE: [f64; 4] = [0.0, 1.0, 0.25, 0.5];
/// One reward is another.
const NEIGHBOUR: [f64; 4] = [0.0, 0.0, 0.25, 0.5];
/// So is their number, and it is not released yet.
const BUSIER: [f64; 9] = [0.0, 1.0, 0.25, 0.5, 1.0, 1.0, 0.75, 1.0, 1.0];

fn held(case: Case) {
    let known = Arc::new(Known::new(cahoots_algorithms::registry::ours()));
    let seen = |rewards: &'static [f64], through| {
        let known = known.clone();
        std::thread::spawn(move || seen(&known, case, rewards, through))
    };
    let busier = (!matches!(case.releases, Releases::AtOnce)).then(|| seen(&BUSIER, false));
    let [one, neighbour] =
        [seen(&ONE, true), seen(&NEIGHBOUR, true)].map(|run| run.join().expect("it was seen"));
    assert_eq!(differences(&one.0, &neighbour.0), [] as [String; 0], "before the first release");
    if let Some(busier) = busier.map(|run| run.join().expect("it was seen")) {
        assert_eq!(differences(&one.0, &busier.0), [] as [String; 0], "how busy it is was not released");
    }
    let (after, other) = (one.1.unwrap(), neighbour.1.unwrap());
    let released = differences(&one.0, &after);
    assert!(released.iter().any(|place| place.starts_with("./status.received")), "{released:?}");
    let told = differences(&unreleased(&after), &unreleased(&other));
    assert_eq!(told, [] as [String; 0], "after the first release");
}

#[test]
fn sums_of_a_silo() {
    held(Case {
        algorithm: "private-linucb",
        params: "dp_epsilon = 1.0\ndp_delta = 1e-5",
        clients: 2,
        plain: false,
        releases: Releases::At(TICKS[0]),
    });
}

#[test]
fn sums_of_a_group() {
    held(Case {
        algorithm: "private-linucb",
        params: "dp_epsilon = 1.0\ndp_delta = 1e-5\ntrust = \"group\"",
        clients: 6,
        plain: false,
        releases: Releases::At(TICKS[0]),
    });
}

#[test]
fn observations_that_nobody_is_shown() {
    held(Case {
        algorithm: "private-linucb",
        params: "dp_epsilon = 1.0\ndp_delta = 1e-5\ntrust = \"nobody\"\ndecide = \"released\"",
        clients: 2,
        plain: false,
        releases: Releases::At(TICKS[0]),
    });
}

#[test]
fn means_of_epochs() {
    held(Case {
        algorithm: "cdp-mab",
        params: "dp_epsilon = 1.0\nrounds = 1\ngap = 0.5",
        clients: 2,
        plain: true,
        releases: Releases::Later,
    });
}

#[test]
fn trees_of_clusters() {
    held(Case {
        algorithm: "cdp-fclub-dc",
        params: "dp_epsilon = 1.0\ndp_delta = 1e-5\nupload_ratio = 4.0\ndownload_ratio = inf",
        clients: 2,
        plain: false,
        releases: Releases::AtOnce,
    });
}

/// Where nothing is promised, the same look tells them apart: this test can fail.
#[test]
fn what_is_not_protected_is_seen() {
    let known = Arc::new(Known::new(cahoots_algorithms::registry::ours()));
    let case = Case {
        algorithm: "async-linucb",
        params: "ratio = 1.0",
        clients: 1,
        plain: false,
        releases: Releases::Later,
    };
    let seen = |rewards: &[f64]| {
        let federation = case.start(&known);
        let client = federation.client(0);
        rewards.iter().for_each(|reward| case.learn(&client, 0, *reward));
        until("all is merged", || federation.status().observations == Some(rewards.len() as u64));
        until("all is confirmed", || {
            client.status().unconfirmed == 0 && federation.status().unconfirmed == 0
        });
        let drawn = || federation.runtime.block_on(federation.coordinator().curves(None)).unwrap();
        until("it is on the curves", || drawn().connected.last() == Some(&1));
        let seen = timeless(scrape(&federation));
        client.stop();
        federation.stop();
        seen
    };
    let found = differences(&seen(&ONE), &seen(&NEIGHBOUR));
    assert!(found.iter().any(|place| place.starts_with("./model")), "{found:?}");
    let found = differences(&seen(&ONE), &seen(&BUSIER));
    assert!(found.iter().any(|place| place.starts_with("./status.observations")), "{found:?}");
}
