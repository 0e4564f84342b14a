//! Which runs are on record: small worlds by name, and for every algorithm the parameters that matter.

use cahoots_algorithms::registry::ours;
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::run::Scenario;
use cahoots_testkit::suite::Suite;
use cahoots_testkit::suites;
use serde_json::{Value, json};

/// One run of an algorithm.
pub(crate) struct Case {
    world: String,
    /// The world and its faults.
    pub scenario: Scenario,
    /// The algorithm's.
    pub params: Value,
    /// Planned pulls one by one.
    pub single_steps: bool,
}

impl Case {
    /// `world` is a name, and what makes it harder: `tied+faulty+late`.
    fn new(world: &str, params: &Value) -> Case {
        let mut parts = world.split('+');
        let mut scenario = world_of(parts.next().unwrap_or_default());
        let mut single_steps = false;
        for part in parts {
            match part {
                "faulty" => {
                    scenario["network"] = json!({ "delay": 1, "jitter": 3, "loss": 0.3, "duplicate": 0.3,
                        "offline": [{ "client": 1, "from": 10, "until": 40 }] });
                }
                "late" => scenario["rewards"] = json!({ "delay": 6, "loss": 0.2, "patience": 9 }),
                "single" => single_steps = true,
                other => panic!("no world is {other}"),
            }
        }
        let scenario = serde_json::from_value(scenario).expect("a scenario that can be read");
        Case { world: world.to_string(), scenario, params: params.clone(), single_steps }
    }

    /// Names the run in its file.
    pub(crate) fn title(&self) -> String {
        format!("{} {}", self.world, self.params)
    }
}

fn world_of(name: &str) -> Value {
    let means = json!([[0.9, 0.5, 0.1], [0.2, 0.8, 0.4], [0.3, 0.6, 0.7]]);
    let (horizon, environment) = match name {
        // Arms of unit norm: all equally wide at first, so that ties decide.
        "tied" => (
            110,
            json!({ "kind": "linear", "clients": 4, "dim": 4, "arms": 6, "pool": "authors", "pool_size": 20 }),
        ),
        "ball" => {
            (110, json!({ "kind": "linear", "clients": 5, "dim": 3, "arms": 5, "arrivals": { "zipf": 1.2 } }))
        }
        // More features and arms than fit into one register.
        "wide" => (
            100,
            json!({ "kind": "linear", "clients": 2, "dim": 13, "arms": 19, "pool": "authors", "pool_size": 60 }),
        ),
        "clustered" => (
            50,
            json!({ "kind": "clustered", "clients": 4, "clusters": 2, "dim": 3, "arms": 4,
            "pool": "gaussian", "pool_size": 40, "separation": 0.5, "arrivals": "all" }),
        ),
        "changing" => (
            60,
            json!({ "kind": "clustered", "clients": 4, "clusters": 2, "dim": 3, "arms": 4, "spread": 0.01,
            "pool": "authors", "pool_size": 20, "centres": "authors", "changes": [30], "arrivals": { "participation": 0.7 } }),
        ),
        "split" => {
            (100, json!({ "kind": "split", "clients": 4, "dim_global": 3, "dim_local": 2, "arms": 5 }))
        }
        "split-tied" => (
            40,
            json!({ "kind": "split", "clients": 3, "dim_global": 2, "dim_local": { "per_client": [1, 4, 2] },
            "arms": 4, "pool": "authors", "pool_size": 20, "arrivals": "all" }),
        ),
        "multi-task" => (
            90,
            json!({ "kind": "split", "clients": 3, "dim_global": 3, "shared_features": true, "arms": 4 }),
        ),
        "users" => {
            (100, json!({ "kind": "users", "users": 6, "servers": 2, "clusters": 2, "dim": 3, "arms": 4 }))
        }
        "servers" => (
            90,
            json!({ "kind": "users", "users": 6, "servers": 3, "clusters": 2, "dim": 3, "arms": 3,
            "arrivals": { "dirichlet": 2.0 } }),
        ),
        "bernoulli" => {
            (240, json!({ "kind": "arms", "clients": 3, "arms": 3, "arrivals": "all", "means": means }))
        }
        "turns" => (
            240,
            json!({ "kind": "arms", "clients": 3, "arms": 3, "arrivals": "round-robin", "means": means }),
        ),
        "gaussian" => (
            240,
            json!({ "kind": "arms", "clients": 4, "arms": 4, "arrivals": "all", "rewards": "gaussian",
            "reward_noise": 0.2, "heterogeneous": true, "min_gap": 0.2 }),
        ),
        "still" => (
            240,
            json!({ "kind": "arms", "clients": 4, "arms": 4, "arrivals": "all", "rewards": "gaussian",
            "reward_noise": 0.0, "min_gap": 0.2 }),
        ),
        "common" => {
            (120, json!({ "kind": "arms", "clients": 5, "means": [[0.75, 0.5, 0.25]], "arrivals": "all" }))
        }
        "long" => {
            (1500, json!({ "kind": "arms", "clients": 4, "means": [[0.95, 0.2, 0.1]], "arrivals": "all" }))
        }
        "common-still" => (
            120,
            json!({ "kind": "arms", "clients": 5, "means": [[0.75, 0.5, 0.25]], "arrivals": "all",
            "rewards": "gaussian", "reward_noise": 0.0 }),
        ),
        other => panic!("there is no world {other}"),
    };
    json!({ "horizon": horizon, "environment": environment })
}

/// The first parameters in every world, the others in the first two.
fn grid(worlds: &[&str], params: &[Value]) -> Vec<Case> {
    let mut cases: Vec<Case> = worlds.iter().map(|world| Case::new(world, &params[0])).collect();
    for params in &params[1..] {
        cases.extend(worlds.iter().take(2).map(|world| Case::new(world, params)));
    }
    cases
}

fn with(base: &Value, more: Value) -> Value {
    let mut both = base.clone();
    both.as_object_mut().expect("a table").extend(more.as_object().expect("a table").clone());
    both
}

/// The cases of one algorithm.
pub(crate) fn of(name: &str) -> Vec<Case> {
    match name {
        "linucb-alone" | "lints-alone" | "linucb-shared" => alone(name),
        "async-linucb" => async_linucb(),
        "async-linucb-am" => grid(
            &["split-tied", "split", "split+faulty+late", "multi-task", "multi-task+faulty"],
            &[
                json!({ "ratio": 1.5 }),
                json!({ "ratio": 1.0 }),
                json!({ "ratio": 1.5, "new_client": "at-once", "partial_noise": 0.0 }),
                json!({ "upload_ratio": 1.5, "download_ratio": 20.0, "fidelity": "authors" }),
                json!({ "ratio": 2.0, "warm_up": false, "radius": "count", "iterations": 3 }),
            ],
        ),
        "sync-linucb" => grid(
            &["tied", "tied+faulty+late", "ball", "clustered", "ball+faulty", "wide"],
            &[
                json!({ "sync_threshold": 1.0 }),
                json!({}),
                json!({ "sync_threshold": 0.2 }),
                json!({ "sync_threshold": "dislinucb" }),
                json!({ "sync_threshold": 1.0, "serve": "all", "fidelity": "authors" }),
                json!({ "sync_threshold": 1.0, "deadline": 3, "policy": "lints" }),
                json!({ "sync_threshold": 1.0, "policy": "linphe" }),
            ],
        ),
        "fed-linucb" => grid(
            &["tied", "tied+faulty+late", "ball", "clustered", "ball+faulty", "wide"],
            &[
                json!({}),
                json!({ "upload_ratio": 1.0 }),
                json!({ "upload_ratio": 1.3, "fidelity": "authors" }),
                json!({ "upload_ratio": 1.3, "own_data": true, "policy": "lints" }),
                json!({ "upload_ratio": 1.3, "policy": "linphe" }),
            ],
        ),
        "fed-igw" => grid(
            &["tied", "tied+faulty+late", "ball", "clustered", "ball+faulty", "wide"],
            &[
                json!({}),
                json!({ "first_epoch": 1, "longest_epoch": 8, "data": "all" }),
                json!({ "fidelity": "authors" }),
                json!({ "deadline": 3, "quorum": 0.5, "epsilon": 0.1, "gap_weight": 2.0 }),
            ],
        ),
        "hetofed" | "hetofed-pq" | "hetofed-dr" | "hetofed-e" => hetofed(name),
        "hetofed-async" => grid(
            &["clustered", "changing+faulty+late", "changing", "tied", "tied+faulty"],
            &[
                json!({ "exploration": 6, "sync_threshold": 1.0 }),
                json!({ "exploration": 4, "upload_ratio": 1.5, "test": { "cut": 0.9 }, "partners": "all" }),
                json!({ "exploration": { "doubling": { "first": 10, "explore": 3 } }, "sync_threshold": 0.5 }),
                json!({ "exploration": 5, "sync_threshold": 1.0, "fidelity": "authors", "policy": "lints" }),
            ],
        ),
        "dyclu" => grid(
            &["changing", "clustered", "tied", "changing+late"],
            &[
                json!({ "outlier": 0.3, "window": 4, "false_alarm": 0.99 }),
                json!({}),
                json!({ "outlier": 0.3, "window": 4, "false_alarm": 0.99, "keep_past": false, "policy": "lints" }),
            ],
        ),
        "club" | "sclub" => grid(
            &["users", "servers", "servers+late", "clustered"],
            &[json!({ "deletion": 0.2 }), json!({}), json!({ "policy": "lints", "deletion": 0.2 })],
        ),
        "fclub" | "fclub-dc" | "cdp-fclub-dc" | "homo" | "homo-dc" => fclub(name),
        "ucb-alone" => {
            grid(&["bernoulli", "gaussian", "bernoulli+late", "turns"], &[json!({}), json!({ "scale": 0.2 })])
        }
        "random" => grid(&["tied", "bernoulli", "ball+late"], &[json!({})]),
        "greedy" => either(&[json!({}), json!({ "ridge": 1.0 })]),
        "epsilon-greedy" => either(&[json!({}), json!({ "epsilon": 0.5 })]),
        "softmax" => either(&[json!({}), json!({ "temperature": 0.5, "epsilon": 0.1 })]),
        "igw" => either(&[json!({}), json!({ "gap_weight": 3.0, "gap_exponent": 0.0 })]),
        "disjoint-linucb" => grid(
            &["tied", "ball", "tied+late", "clustered", "users", "wide"],
            &[json!({}), json!({ "alpha": 0.3, "ridge": 0.5 })],
        ),
        "kl-ucb-alone" => plain(&[json!({}), json!({ "confidence_constant": 3.0 })]),
        "moss-alone" => plain(&[json!({}), json!({ "pulls": 50 })]),
        "ts-beta-alone" => plain(&[json!({}), json!({ "samples": 5 })]),
        "exp3-alone" => plain(&[json!({}), json!({ "mixing": 0.3 })]),
        "cdp-mab" | "ddp-mab" | "hdp-mab" | "single-mab" => dp_mab(name),
        "pf-ucb" | "pf-ucb-enhanced" => pf_ucb(),
        "fed-elim" => fed_elim(),
        "fed2-ucb" => fed2_ucb(),
        "private-fed-linucb" => grid(
            &["servers", "servers+faulty+late", "clustered", "tied+faulty+late"],
            &[
                json!({ "dp_delta": 1e-5, "dp_epsilon": 50.0 }),
                json!({ "dp_delta": 1e-5, "dp_epsilon": 50.0, "decide": "released", "batch": 4 }),
                json!({ "dp_delta": 1e-5, "shift": 0.0 }),
            ],
        ),
        _ => anywhere(name),
    }
}

/// An algorithm of which nothing is known here, with its default parameters: every plain world that fits.
fn anywhere(name: &str) -> Vec<Case> {
    let worlds =
        ["tied", "tied+faulty+late", "clustered", "split", "servers", "bernoulli", "common+faulty+late"];
    let least = suites().get(name).map_or_else(|| json!({}), Suite::least);
    let cases = worlds.into_iter().map(|world| Case::new(world, &least));
    let catalogue = Catalogue::new(ours());
    cases.filter(|case| catalogue.check(name, &case.params, &case.scenario).is_ok()).collect()
}

/// Those for arms with features and without.
fn either(params: &[Value]) -> Vec<Case> {
    grid(&["tied", "bernoulli", "ball", "bernoulli+late", "tied+late", "gaussian", "wide"], params)
}

/// Those for arms without features.
fn plain(params: &[Value]) -> Vec<Case> {
    grid(&["bernoulli", "gaussian", "bernoulli+late", "turns"], params)
}

fn async_linucb() -> Vec<Case> {
    let mut params = vec![
        json!({ "ratio": 2.0 }),
        json!({}),
        json!({ "ratio": 1.0 }),
        json!({ "upload_ratio": 1.5, "download_ratio": 20.0, "fidelity": "authors" }),
        json!({ "ratio": 2.0, "new_client": "at-once", "policy": "lints" }),
        json!({ "ratio": 1.5, "policy": "linphe", "refresh": false }),
        json!({ "upload_ratio": { "per_client": [1.0, 1.5, 2.0, 9.0] }, "radius": { "fixed": 0.7 } }),
    ];
    params.extend(drawing().map(|draw| with(&draw, json!({ "ratio": 1.5 }))));
    grid(&["tied", "tied+faulty+late", "ball", "clustered", "changing", "ball+faulty", "wide"], &params)
}

/// Policies that draw, for one who exchanges nothing and one who does.
fn drawing() -> [Value; 4] {
    [
        json!({ "policy": "softmax", "temperature": 0.2 }),
        json!({ "policy": "igw", "epsilon": 0.1 }),
        json!({ "policy": "lints", "samples": 7 }),
        json!({ "epsilon": 0.2 }),
    ]
}

fn alone(name: &str) -> Vec<Case> {
    let mut params = vec![json!({}), json!({ "fidelity": "authors", "ridge": 1.0 })];
    if name == "lints-alone" {
        params.push(json!({ "sampling_scale": 0.3 }));
    } else {
        params.extend(["lints", "linphe", "uniform"].map(|policy| json!({ "policy": policy })));
    }
    if name == "linucb-alone" {
        params.extend(drawing());
    }
    grid(&["tied", "ball", "tied+late", "clustered", "users", "wide"], &params)
}

fn hetofed(name: &str) -> Vec<Case> {
    let mut params = vec![
        json!({ "exploration": 6, "sync_threshold": 2.0 }),
        json!({ "exploration": 4, "sync_threshold": 1.0, "sharing": "buffers", "clusters_per_step": 2 }),
        json!({ "exploration": 8, "exploration_unit": "total", "sync_threshold": 2.0, "deadline": 3 }),
    ];
    match name {
        "hetofed" => params.extend([
            json!({ "exploration": 5, "sync_threshold": 1.0, "fidelity": "authors", "policy": "lints" }),
            json!({ "exploration": { "doubling": { "first": 10, "explore": 3 } }, "sync_threshold": 2.0 }),
        ]),
        "hetofed-pq" => params.push(
            json!({ "exploration": 6, "sync_threshold": 1.0, "test": { "cut": 0.9 }, "max_clusters": 1 }),
        ),
        _ => params.push(
            json!({ "sync_threshold": 1.0, "policy": "linphe", "test": { "noncentrality": "data-relative" } }),
        ),
    }
    grid(&["clustered", "changing+faulty+late", "changing", "tied", "tied+faulty"], &params)
}

fn fclub(name: &str) -> Vec<Case> {
    let early = json!({ "deletion": 0.3, "merge": 0.4 });
    let params = match name {
        "fclub" => vec![
            early.clone(),
            json!({}),
            with(&early, json!({ "fidelity": "authors" })),
            with(&early, json!({ "merge_within": false })),
        ],
        "fclub-dc" => vec![
            with(&early, json!({ "ratio": 1.2 })),
            json!({}),
            with(&early, json!({ "ratio": 1.3, "fidelity": "authors" })),
            with(&early, json!({ "ratio": 1.0, "tolerance": 0.01 })),
        ],
        "cdp-fclub-dc" => vec![
            with(&early, json!({ "dp_epsilon": 50.0, "dp_delta": 1e-5, "planned_uploads": 40 })),
            json!({ "dp_delta": 0.1, "large_delta": true }),
            with(&early, json!({ "ratio": 1.2, "privacy": "none" })),
            with(&early, json!({ "shift": "paper", "privacy": "text", "dp_delta": 1e-5 })),
            with(
                &early,
                json!({ "privacy": "alg5", "fidelity": "authors", "dp_delta": 1e-5, "renewals": 1 }),
            ),
        ],
        "homo" => vec![json!({}), json!({ "fidelity": "authors" })],
        _ => vec![
            json!({}),
            json!({ "ratio": 1.3, "fidelity": "authors" }),
            json!({ "ratio": 1.0, "radius": "log-det" }),
        ],
    };
    grid(&["servers", "servers+faulty+late", "users", "users+faulty"], &params)
}

fn dp_mab(name: &str) -> Vec<Case> {
    let quick = json!({ "rounds": 3, "gap": 0.8, "privacy": "local", "dp_epsilon": 20.0 });
    let params = match name {
        "single-mab" => {
            return grid(&["common", "common+single", "common+late", "turns", "long"], &[json!({})]);
        }
        "cdp-mab" => vec![
            quick.clone(),
            with(&quick, json!({ "participation": 0.5, "fidelity": "paper" })),
            with(&quick, json!({ "privacy": "central", "group_least": 3 })),
            with(&quick, json!({ "privacy": "published", "dp_epsilon": 2.0 })),
            with(&quick, json!({ "privacy": "none" })),
        ],
        "ddp-mab" => vec![
            with(&quick, json!({ "topology": "ring" })),
            with(&quick, json!({ "topology": { "grid": 5 }, "privacy": "central" })),
            with(
                &quick,
                json!({ "topology": { "random": 0.5 }, "topology_seed": 3, "privacy": "published" }),
            ),
            with(&quick, json!({ "topology": "star", "privacy": "none" })),
            with(&quick, json!({ "topology": { "small-world": { "neighbours": 2, "rewire": 0.3 } } })),
        ],
        _ => vec![
            with(&quick, json!({ "topology": { "edges": [[0, 1], [1, 2], [3, 4]] } })),
            with(&quick, json!({ "topology": "star", "components": [4, 1], "privacy": "published" })),
            with(&quick, json!({ "components": [3, 2], "fidelity": "paper", "privacy": "central" })),
            with(&quick, json!({ "topology": "ring", "counting": "all-edges", "privacy": "none" })),
        ],
    };
    let worlds = [
        "common",
        "common+faulty+late",
        "common+single",
        "common+faulty",
        "common-still",
        "common-still+single",
    ];
    let mut cases = grid(&worlds, &params);
    // As many rounds as it takes.
    cases.push(Case::new("long", &json!({ "privacy": "published", "dp_epsilon": 4.0 })));
    cases
}

fn pf_ucb() -> Vec<Case> {
    grid(
        &[
            "gaussian",
            "bernoulli+faulty+late",
            "bernoulli",
            "bernoulli+single",
            "still",
            "still+single",
            "turns",
        ],
        &[
            json!({ "schedule": "2^p" }),
            json!({}),
            json!({ "schedule": "2^p", "fidelity": "authors" }),
            json!({ "schedule": 5, "personalization": 0.0, "fidelity": "authors" }),
            json!({ "schedule": { "table": [3, 5, 8] }, "personalization": 1.0 }),
            json!({ "schedule": "2^p", "personalization": 0.75, "divide_by_clients": true, "radius": "log-mt" }),
            json!({ "schedule": 4, "communication_loss": 2.0, "loss_factor": "C", "confidence_constant": 0.1 }),
        ],
    )
}

fn fed_elim() -> Vec<Case> {
    let sure = json!({ "failure_prob": 0.5, "reward_noise": 0.1 });
    grid(
        &[
            "gaussian",
            "bernoulli+faulty+late",
            "bernoulli",
            "bernoulli+single",
            "still",
            "still+single",
            "turns",
        ],
        &[
            sure.clone(),
            json!({}),
            with(&sure, json!({ "communicate": 3, "communication_cost": 10.0, "play": "global" })),
            with(&sure, json!({ "deadline": 4, "quorum": 0.5 })),
        ],
    )
}

fn fed2_ucb() -> Vec<Case> {
    let quick = json!({ "client_spread": 0.1, "reward_noise": 0.1, "schedule": 2, "admit": 1 });
    grid(
        &[
            "gaussian",
            "bernoulli+faulty+late",
            "bernoulli",
            "bernoulli+single",
            "still",
            "still+single",
            "turns",
        ],
        &[
            quick.clone(),
            json!({ "model": "exact", "schedule": 3, "confidence_constant": 0.1 }),
            with(
                &quick,
                json!({ "admit": { "table": [2, 1] }, "schedule": "1.5^p", "client_constant": 0.5 }),
            ),
            with(&quick, json!({ "deadline": 4, "quorum": 0.5, "communication_loss": 2.0 })),
        ],
    )
}
