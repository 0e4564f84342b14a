use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cahoots_algorithms::registry::ours;
use cahoots_core::{ArmBuffer, ArmIndex, UserId};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::driver::Options;
use cahoots_sim::environment::Environment;
use cahoots_sim::run::{Params, RunError, Scenario};
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::datasets::synthetic;

fn tiny(kind: Kind) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    synthetic::write(kind, folder.path()).unwrap();
    folder
}

/// A tiny world of this set, read as an experiment reads it.
fn read(folder: &Path, change: impl FnOnce(&mut ReplayParams)) -> Result<ReplayParams, ParamError> {
    let data = Some(folder.to_string_lossy().into_owned());
    let mut params = ReplayParams { data, dim: 4, arms: 5, ..Default::default() };
    change(&mut params);
    params.read_files(&Here)
}

fn lastfm(change: impl FnOnce(&mut ReplayParams)) -> ReplayParams {
    read(tiny(Kind::Lastfm).path(), change).unwrap()
}

/// The user and the items of every tick, as features, and which of them pays.
fn offers(params: &ReplayParams, seed: u64) -> Vec<(UserId, Vec<Vec<f64>>, usize)> {
    let horizon = params.ticks().unwrap().unwrap();
    let (mut world, mut arrivals) = params.build(horizon, seed).unwrap();
    let (mut arms, mut who) = (ArmBuffer::default(), Vec::new());
    (1..=horizon)
        .map(|tick| {
            arrivals.at(tick, &mut who);
            let [user] = who[..] else { panic!("one user per tick") };
            world.offer(tick, user, &mut arms);
            let rows: Vec<Vec<f64>> =
                (0..arms.features.len()).map(|arm| arms.features.row(arm).collect()).collect();
            let pays: Vec<usize> = (0..rows.len())
                .filter(|arm| world.pull(tick, user, &arms, ArmIndex(*arm as u32)).reward == 1.0)
                .collect();
            assert_eq!(world.random_reward(tick, user, &arms), Some(1.0 / rows.len() as f64));
            assert_eq!(pays.len(), 1);
            (user, rows, pays[0])
        })
        .collect()
}

#[test]
fn a_pool_is_the_item_that_was_taken_and_others_that_never_were() {
    for (arms, crowded) in [(5, false), (45, true)] {
        let params = lastfm(|params| params.arms = arms);
        let set = params.set().unwrap();
        let selection = params.selection(&set).unwrap();
        let horizon = selection.events.len() as u64;
        let order = params.order.of(&set, &selection, &mut Part::Order.draw(3)).unwrap();
        let timetable = Arc::new(Timetable { order, selection: selection.clone() });
        let features = features(&set, params.features, params.dim, None, &mut |_, _| ());
        let setting = Setting::linear(selection.users(), params.dim, arms);
        let mut world = Replay::new(setting, 3, set.clone(), selection.clone(), timetable.clone(), features);
        let mut places = BTreeMap::new();
        for tick in 1..=horizon {
            let (pool, positive) = world.pool_of(tick);
            let (event, user) = timetable.event(tick);
            let taken = selection.taken(user as usize);
            assert_eq!(pool[positive], set.events[event as usize].item);
            let others = pool.iter().enumerate().filter(|(at, _)| *at != positive).map(|(_, item)| *item);
            let others: BTreeSet<u32> = others.collect();
            assert_eq!(others.len(), arms - 1, "all different");
            assert!(others.iter().all(|item| taken.binary_search(item).is_err()), "and never taken");
            *places.entry(positive).or_insert(0.0) += 1.0;
            let most = taken.len() + arms;
            assert!(!crowded || 2 * most >= set.items.len());
        }
        // Wherever it stands, it stands equally often.
        let (chance, n) = (1.0 / arms as f64, horizon as f64);
        let error = (n * chance * (1.0 - chance)).sqrt();
        for place in 0..arms {
            let count = places.get(&place).copied().unwrap_or_default();
            assert!((count - n * chance).abs() < 4.0 * error, "place {place}: {count} of {n}");
        }
    }
}

#[test]
fn negatives_are_uniform_over_what_was_never_taken() {
    let params = lastfm(|_| ());
    let set = params.set().unwrap();
    let selection = params.selection(&set).unwrap();
    // One event, over many seeds.
    let (event, user) = selection.events[0];
    let mut counts = vec![0.0; set.items.len()];
    let seeds = 4000;
    for seed in 0..seeds {
        let timetable = Arc::new(Timetable { order: vec![0], selection: selection.clone() });
        let features = features(&set, params.features, params.dim, None, &mut |_, _| ());
        let setting = Setting::linear(selection.users(), params.dim, params.arms);
        let mut world = Replay::new(setting, seed, set.clone(), selection.clone(), timetable, features);
        world.pool_of(1).0.iter().for_each(|item| counts[*item as usize] += 1.0);
    }
    assert_eq!(counts[set.events[event as usize].item as usize], seeds as f64);
    let taken = selection.taken(user as usize);
    let positive = set.events[event as usize].item;
    assert!(taken.iter().filter(|item| **item != positive).all(|item| counts[*item as usize] == 0.0));
    let chance = (params.arms - 1) as f64 / (set.items.len() - taken.len()) as f64;
    let error = (seeds as f64 * chance * (1.0 - chance)).sqrt();
    for (item, count) in
        counts.iter().enumerate().filter(|(item, _)| taken.binary_search(&(*item as u32)).is_err())
    {
        assert!((count - seeds as f64 * chance).abs() < 5.0 * error, "item {item}: {count}");
    }
}

#[test]
fn an_event_has_the_same_pool_in_every_order_and_another_for_every_seed() {
    let folder = tiny(Kind::Lastfm);
    let sorted = |order, seed| {
        let params = read(folder.path(), |params| params.order = order).unwrap();
        let offers = offers(&params, seed);
        let mut all: Vec<String> = offers.iter().map(|offer| format!("{offer:?}")).collect();
        let users: Vec<UserId> = offers.iter().map(|(user, ..)| *user).collect();
        all.sort();
        (all, users)
    };
    let (shuffled, users) = sorted(Order::Shuffled, 1);
    for order in [Order::RandomUser, Order::Time] {
        let (pools, order_of_users) = sorted(order, 1);
        assert_eq!(pools, shuffled, "{order:?}");
        assert_ne!(order_of_users, users, "{order:?}");
    }
    assert_eq!(sorted(Order::Shuffled, 1), (shuffled.clone(), users));
    assert_ne!(sorted(Order::Shuffled, 2).0, shuffled);
}

#[test]
fn orders_are_what_they_say() {
    let params = lastfm(|_| ());
    let set = params.set().unwrap();
    let selection = params.selection(&set).unwrap();
    let places = |order: Order| order.of(&set, &selection, &mut Part::Order.draw(1)).unwrap();
    for order in [Order::Shuffled, Order::RandomUser, Order::Time] {
        let mut all = places(order);
        all.sort_unstable();
        assert_eq!(all, (0..selection.events.len() as u32).collect::<Vec<_>>(), "each once");
    }
    let user = |place: &u32| selection.events[*place as usize].1;
    let time = |place: &u32| set.events[selection.events[*place as usize].0 as usize].time;
    let by_time = places(Order::Time);
    assert!(by_time.is_sorted_by_key(|place| (time(place), *place)));
    let by_user = places(Order::RandomUser);
    for number in 0..selection.users() as u32 {
        let own: Vec<u32> = by_user.iter().filter(|place| user(place) == number).copied().collect();
        assert!(own.is_sorted(), "a user's own events stay in order");
    }
    // Users with few events are as likely at first as others: the first of them has its tenth well before the
    // last has its last.
    let nth =
        |number: u32, n: usize| by_user.iter().enumerate().filter(|(_, place)| user(place) == number).nth(n);
    assert!(nth(0, 9).unwrap().0 < by_user.len() / 2 + by_user.len() / 4);
}

#[test]
fn users_are_chosen_by_how_much_they_did() {
    let params = lastfm(|_| ());
    let set = params.set().unwrap();
    let mut counts = BTreeMap::new();
    set.events.iter().for_each(|event| *counts.entry(event.user).or_insert(0u64) += 1);
    let least = 20;
    let kept: Vec<u64> = counts.values().copied().filter(|count| *count >= least).collect();
    assert!(kept.len() < counts.len() && !kept.is_empty());
    let of = |min_events, top_users| {
        let chosen = ReplayParams { min_events, top_users, ..params.clone() };
        let selection = chosen.selection(&set).unwrap();
        (selection.users(), chosen.ticks().unwrap().unwrap())
    };
    assert_eq!(of(least, None), (kept.len(), kept.iter().sum()));
    let mut most: Vec<u64> = counts.values().copied().collect();
    most.sort_unstable_by_key(|count| std::cmp::Reverse(*count));
    assert_eq!(of(1, Some(3)), (3, most[..3].iter().sum()));
    let said = |change: fn(&mut ReplayParams)| {
        let mut changed = params.clone();
        change(&mut changed);
        changed.build(1, 0).err().unwrap().to_string()
    };
    let largest = most[0];
    assert_eq!(
        said(|params| params.min_events = 1000),
        format!("min_events: no user has so many events: the most that one has are {largest}")
    );
    assert_eq!(
        said(|params| params.top_users = Some(50)),
        "top_users: there are 12 users with at least 1 events"
    );
    let none = ReplayParams { min_events: 0, ..params.clone() };
    assert_eq!(none.check().unwrap_err().to_string(), "min_events: must be at least 1, not 0");
    assert!(said(|params| params.arms = 89).starts_with("arms: must be at most "));
    assert_eq!(
        said(|params| params.servers = Some(13)),
        "servers: must be at most the number of users (12), not 13"
    );
    let all = params.ticks().unwrap().unwrap();
    assert_eq!(
        params.build(all + 1, 0).err().unwrap().to_string(),
        format!("horizon: there are {all} events: lower it, or leave it out for all of them")
    );
    assert!(params.build(all, 0).is_ok());
    let reduced = read(tiny(Kind::DeliciousReduced).path(), |params| params.order = Order::Time).unwrap();
    assert_eq!(
        reduced.build(1, 0).err().unwrap().to_string(),
        "order: delicious-reduced has no times: use \"shuffled\" or \"random-user\""
    );
}

#[test]
fn items_of_which_nothing_was_said_have_no_features() {
    let folder = tiny(Kind::Lastfm);
    let tags: String = (1..=12).map(|tag| format!("{tag}\t_ - '\n")).collect();
    std::fs::write(folder.path().join("tags.dat"), format!("tagID\ttagValue\n{tags}")).unwrap();
    let params = read(folder.path(), |_| ()).unwrap();
    let said = params.build(1, 0).err().unwrap().to_string();
    assert!(said.starts_with("data: nothing was said of its items"), "{said}");
    let none = crate::features::Features::compute(&params.set().unwrap(), Variant::Gob, 3, &mut |_, _| ());
    assert!(none.values.iter().all(|value| *value == 0.0));
}

#[test]
fn keys_know_the_content_and_not_the_place() {
    let (one, other) = (tiny(Kind::Lastfm), tiny(Kind::Lastfm));
    let keys = |folder: &Path| Environment::of(&read(folder, |_| ()).unwrap()).unwrap();
    let text = serde_json::to_string(&keys(one.path())).unwrap();
    assert_eq!(text, serde_json::to_string(&keys(other.path())).unwrap());
    assert!(!text.contains(one.path().to_str().unwrap()), "{text}");
    let content = read(one.path(), |_| ()).unwrap().content.unwrap();
    assert!(text.contains(&content) && text.contains("\"lastfm\""), "{text}");
    // What was stated is insisted on.
    assert!(read(one.path(), |params| params.content = Some(content.clone())).is_ok());
    let movies = tiny(Kind::Movielens);
    let error = read(movies.path(), |params| params.content = Some(content.clone())).unwrap_err();
    assert!(error.to_string().starts_with("content: ") && error.to_string().contains("holds other data"));
    let nowhere = ReplayParams { content: Some("00".into()), ..Default::default() };
    assert_eq!(
        nowhere.build(1, 0).err().unwrap().to_string(),
        "data: name the folder that holds 00: data = \"DIR\""
    );
    let nothing = ReplayParams::default();
    assert_eq!(nothing.build(1, 0).err().unwrap().key, "data");
}

#[test]
fn servers_have_equally_many_users() {
    for layout in [Layout::Random, Layout::Block] {
        let params = lastfm(|params| (params.servers, params.layout) = (Some(3), layout));
        let hosts = |seed| params.build(10, seed).unwrap().0.setting().hosts.clone();
        let mut counts = BTreeMap::new();
        hosts(1).iter().for_each(|host| *counts.entry(host.0).or_insert(0) += 1);
        assert_eq!(counts, BTreeMap::from([(0, 4), (1, 4), (2, 4)]));
        assert_eq!(hosts(1) == hosts(2), layout == Layout::Block);
    }
}

/// What an algorithm earns beside a random choice; none where it is not for such worlds.
fn normalised(catalogue: &Catalogue, name: &str, environment: &Environment) -> Option<f64> {
    let horizon = catalogue.worlds.ticks(environment).unwrap().unwrap();
    let scenario: Scenario =
        serde_json::from_value(json!({ "horizon": horizon, "environment": environment })).unwrap();
    let run =
        |params: Params| catalogue.simulate(name, &params, &scenario, 5, Options::default(), &mut |_| true);
    let private = name.starts_with("private-") || name.starts_with("cdp-fclub");
    let params = if private { json!({ "dp_delta": 1e-5 }) } else { json!({}) };
    match run(Params::try_from(params).unwrap()) {
        Ok(report) => {
            assert_eq!(report.ledger.steps, horizon, "{name}");
            assert!((report.ledger.regret - (horizon as f64 - report.ledger.reward)).abs() < 1e-9);
            Some(report.ledger.normalised_reward().unwrap())
        }
        Err(RunError::Algorithm(_)) => None,
        Err(error) => panic!("{name}: {error}"),
    }
}

#[test]
fn every_linear_algorithm_runs_on_every_set() {
    let mut catalogue = Catalogue::new(ours());
    crate::add_worlds(&mut catalogue.worlds);
    for kind in [Kind::Lastfm, Kind::Movielens] {
        for servers in [None, Some(3)] {
            let params = read(tiny(kind).path(), |params| params.servers = servers).unwrap();
            let environment = Environment::of(&params).unwrap();
            let names: Vec<&str> = catalogue.algorithms.names().collect();
            let ran: BTreeMap<&str, f64> = names
                .into_iter()
                .filter_map(|name| Some((name, normalised(&catalogue, name, &environment)?)))
                .collect();
            for name in [
                "linucb-alone",
                "linucb-shared",
                "lints-alone",
                "async-linucb",
                "sync-linucb",
                "fed-linucb",
                "hetofed",
                "hetofed-pq",
                "hetofed-dr",
                "hetofed-e",
                "hetofed-async",
                "dyclu",
                "club",
                "sclub",
                "fclub",
                "fclub-dc",
                "homo",
                "homo-dc",
                "cdp-fclub-dc",
                "private-linucb",
                "private-fclub",
                "private-fed-linucb",
            ] {
                assert!(ran.contains_key(name), "{name} on {kind:?}");
            }
            // Tastes can be learned from tags: alone, each user does better than chance.
            assert!(kind != Kind::Lastfm || ran["linucb-alone"] > 1.3, "{ran:?}");
        }
    }
}

#[test]
fn features_may_be_a_users_own_too() {
    let mut catalogue = Catalogue::new(ours());
    crate::add_worlds(&mut catalogue.worlds);
    let folder = tiny(Kind::Lastfm);
    let reward = |shared, name| {
        let params = read(folder.path(), |params| params.shared_features = shared).unwrap();
        normalised(&catalogue, name, &Environment::of(&params).unwrap())
    };
    assert_eq!(reward(false, "async-linucb-am"), None);
    assert!(reward(true, "async-linucb-am").unwrap() > 1.0);
    assert_eq!(reward(true, "async-linucb"), reward(false, "async-linucb"), "no matter to others");
}

#[test]
fn a_run_is_the_same_to_the_bit_and_other_features_are_other_runs() {
    let mut catalogue = Catalogue::new(ours());
    crate::add_worlds(&mut catalogue.worlds);
    let folder = tiny(Kind::Lastfm);
    let reward = |variant| {
        let params = read(folder.path(), |params| params.features = variant).unwrap();
        normalised(&catalogue, "linucb-alone", &Environment::of(&params).unwrap()).unwrap()
    };
    assert_eq!(reward(Variant::Gob), reward(Variant::Gob));
    let (gob, svd) = (lastfm(|_| ()), lastfm(|params| params.features = Variant::Svd));
    let norms = |params: &ReplayParams| -> Vec<f64> {
        let rows = offers(params, 1).into_iter().flat_map(|(_, rows, _)| rows);
        rows.map(|row| row.iter().map(|x| x * x).sum::<f64>().sqrt()).collect()
    };
    assert!(norms(&gob).iter().all(|norm| *norm <= 1.0 + 1e-12));
    let svd = norms(&svd);
    let mean = svd.iter().sum::<f64>() / svd.len() as f64;
    assert!((mean - 2.0).abs() < 0.3, "about the root of dim: {mean}");
}
