//! Nothing honest is refused, however sharp the stated bounds: every algorithm in every world that fits, once to see
//! how long contexts and how large rewards get, and once under terms that state just that. Same run, no refusal.

use std::sync::{Arc, Mutex};

use cahoots_algorithms::registry::ours;
use cahoots_core::{Algorithm, ArmBuffer, ArmIndex, Erase, Setting, Tick, Tiles, UserId};
use cahoots_sim::driver::{Options, Simulation};
use cahoots_sim::network::Network;
use cahoots_sim::rewards::Rewards;
use cahoots_sim::run::Scenario;
use cahoots_sim::world::{BlockPull, Pull, World};
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::scenarios;
use serde_json::{Value, json};

/// The longest context, the smallest and the largest reward so far.
#[derive(Clone, Copy, Debug)]
struct Extremes {
    norm: f64,
    rewards: (f64, f64),
}

/// A world that is watched, or whose terms state what was seen.
struct Watched {
    world: Box<dyn World>,
    setting: Setting,
    seen: Arc<Mutex<Extremes>>,
}

impl Watched {
    fn rewarded(&self, reward: f64) {
        let (low, high) = &mut self.seen.lock().unwrap().rewards;
        (*low, *high) = (low.min(reward), high.max(reward));
    }
}

impl World for Watched {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, tick: Tick, user: UserId, arms: &mut ArmBuffer) {
        self.world.offer(tick, user, arms);
        let norms = |tiles: &Tiles| {
            let norm = |arm| tiles.row(arm).map(|x| x * x).sum::<f64>().sqrt();
            (0..tiles.len()).map(norm).fold(0.0, f64::max)
        };
        let norm = norms(&arms.features).max(norms(&arms.local));
        let seen = &mut self.seen.lock().unwrap().norm;
        *seen = seen.max(norm);
    }

    fn pull(&mut self, tick: Tick, user: UserId, arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        let pull = self.world.pull(tick, user, arms, arm);
        self.rewarded(pull.reward);
        pull
    }

    fn pursue(&mut self, own: f64) {
        self.world.pursue(own);
    }

    fn set_waiting(&mut self, waiting: bool) {
        self.world.set_waiting(waiting);
    }

    fn reward_range(&self) -> Option<(f64, f64)> {
        self.world.reward_range()
    }

    fn has_blocks(&self) -> bool {
        self.world.has_blocks()
    }

    fn pull_block(&mut self, user: UserId, arm: ArmIndex, pulls: u64) -> Option<BlockPull> {
        let block = self.world.pull_block(user, arm, pulls)?;
        self.rewarded(block.sum / pulls as f64);
        Some(block)
    }
}

/// A run, its extremes, and how many messages were of statistics.
fn run<A: Algorithm>(
    params: &Value,
    scenario: &Scenario,
    seed: u64,
    stated: Option<Extremes>,
) -> Option<(u64, Extremes, u64)> {
    let (world, arrivals) = scenario.build(&Worlds::ours(), seed).unwrap();
    let setting = match stated {
        None => world.setting().clone(),
        // An interval has a length.
        Some(Extremes { norm, rewards: (low, high) }) => {
            world.setting().clone().within(norm.max(1e-9), (low, high.max(low + 1e-9)))
        }
    };
    let seen = Arc::new(Mutex::new(Extremes { norm: 0.0, rewards: (f64::INFINITY, f64::NEG_INFINITY) }));
    let valid = A::check(serde_json::from_value(params.clone()).ok()?, &setting).ok()?;
    let world = Box::new(Watched { world, setting, seen: seen.clone() });
    let (network, rewards): (Network, Rewards) = (scenario.network.clone(), scenario.rewards.clone());
    let mut simulation =
        Simulation::<A>::new(valid, world, arrivals, network, rewards, seed, Options::default());
    let ledger = simulation.run(&mut |_| true).unwrap();
    assert_eq!(ledger.refused, 0, "{} {params} {stated:?}: something honest was refused", A::NAME);
    let (regret, transfers) = (ledger.regret.to_bits(), ledger.traffic.transfers());
    let seen = *seen.lock().unwrap();
    Some((regret, seen, transfers))
}

/// Both runs of an algorithm without its type; the messages that were looked at.
struct Honest(&'static str, fn(&Value, &Scenario, u64) -> u64);

impl Erase for Honest {
    fn of<A: Algorithm>() -> Honest {
        Honest(A::NAME, |params, scenario, seed| {
            let Some((regret, seen, _)) = run::<A>(params, scenario, seed, None) else { return 0 };
            let (again, _, transfers) = run::<A>(params, scenario, seed, Some(seen)).unwrap();
            assert_eq!(regret, again, "{} {params}: bounds changed the run", A::NAME);
            transfers
        })
    }
}

#[test]
fn whoever_keeps_to_the_stated_bounds_is_never_refused() {
    // The noise follows from the bounds on rewards, so that they are the same with and without the setting's.
    let stated = |mut params: serde_json::Value| {
        params["dp_delta"] = json!(1e-5);
        params["reward_range"] = json!([-1.0, 1.0]);
        params
    };
    let params = |name: &str| match name {
        "async-linucb" => vec![json!({ "ratio": 1.0 }), json!({ "ratio": 1.5, "policy": "linphe" })],
        "async-linucb-am" => vec![json!({ "ratio": 1.0 }), json!({ "ratio": 1.0, "warm_up": false })],
        "sync-linucb" => vec![json!({ "sync_threshold": 0.5 })],
        "fed-linucb" => {
            vec![json!({ "upload_ratio": 1.0 }), json!({ "upload_ratio": 1.5, "policy": "linphe" })]
        }
        "fed-igw" => vec![json!({}), json!({ "longest_epoch": 4, "data": "all" })],
        "hetofed" | "hetofed-pq" | "hetofed-async" => {
            vec![json!({ "exploration": 6, "sync_threshold": 1.0 })]
        }
        "hetofed-dr" | "hetofed-e" => vec![json!({ "sync_threshold": 1.0 })],
        "cdp-fclub-dc" => {
            let delta = |mut params: serde_json::Value| {
                params["dp_delta"] = json!(1e-5);
                params
            };
            [json!({}), json!({ "ratio": 1.5, "dp_epsilon": 0.5 }), json!({ "shift": "paper" })]
                .map(delta)
                .to_vec()
        }
        "cdp-mab" | "ddp-mab" | "hdp-mab" => ["published", "local", "central", "none"]
            .map(|privacy| {
                let mut params = json!({ "rounds": 3, "gap": 0.8, "privacy": privacy, "dp_epsilon": 20.0 });
                if (name, privacy) == ("cdp-mab", "central") {
                    params["group_least"] = json!(3);
                }
                params
            })
            .to_vec(),
        "fed2-ucb" => vec![
            json!({ "client_spread": 0.1, "reward_noise": 0.1, "schedule": 2 }),
            json!({ "model": "exact", "schedule": 3 }),
        ],
        "private-linucb" | "private-fclub" => {
            let nobody = json!({ "trust": "nobody", "decide": "released" });
            let mut all = vec![json!({}), nobody, json!({ "dp_epsilon": 1e4, "releases": 3 })];
            if name == "private-linucb" {
                all.push(json!({ "trust": "group", "group_least": 3 }));
            }
            all.into_iter().map(stated).collect()
        }
        "private-fed-linucb" => {
            [json!({}), json!({ "batch": 1, "decide": "released" }), json!({ "dp_epsilon": 1e4 })]
                .map(stated)
                .to_vec()
        }
        _ => vec![json!({})],
    };
    let federated = [
        "async", "sync-l", "fed-", "fed2-", "hetofed", "fclub", "homo", "cdp", "hdp", "ddp", "pf-ucb",
        "private",
    ];
    for Honest(name, both) in ours::<Honest>().iter() {
        let mut transfers = 0;
        for params in params(name) {
            for seed in 0..3 {
                for (place, scenario) in scenarios::all().into_iter().enumerate() {
                    // Shown where a machine refuses, which a simulation does not survive.
                    eprintln!("{name} {params} in world {place}, seed {seed}");
                    transfers += both(&params, &scenario, seed);
                    let late = Rewards { delay: 5, loss: 0.1, patience: Some(9), ..Rewards::default() };
                    transfers += both(&params, &Scenario { rewards: late, ..scenario }, seed);
                }
            }
        }
        let sends = federated.iter().any(|family| name.starts_with(family));
        assert_eq!(transfers > 20, sends, "{name}: {transfers} messages");
    }
}
