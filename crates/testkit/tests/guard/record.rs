//! One run, on record. All that the guard needs of the simulator is here.

use std::sync::{Arc, Mutex};

use cahoots_core::{Algorithm, Erase, Message, NodeId};
use cahoots_sim::driver::{Options, Simulation};
use cahoots_sim::ledger::CurvePoint;
use cahoots_sim::run::prepare;
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::numbers::{Numbers, numbers};
use cahoots_testkit::trail::Trail;
use prost::Message as _;

use crate::cases::Case;

const SEED: u64 = 12;

/// What is kept of a run.
pub(crate) struct Record {
    /// Which run.
    pub title: String,
    /// Quantities that can be said in a line.
    pub facts: Vec<(&'static str, String)>,
    /// Every point of the curve.
    pub curve: Trail,
    /// Every message in the order of sending.
    pub messages: Trail,
    /// Who sent what to whom, to tell of a difference.
    pub envelopes: Vec<String>,
    /// Machines and what is in them.
    pub numbers: Vec<(String, Numbers)>,
}

/// Runs cases of one algorithm.
pub(crate) struct Recorder(pub fn(&Case) -> Record);

impl Erase for Recorder {
    fn of<A: Algorithm>() -> Recorder {
        Recorder(record::<A>)
    }
}

#[derive(Default)]
struct Tape {
    trail: Trail,
    envelopes: Vec<String>,
}

impl Tape {
    fn hear(&mut self, from: NodeId, to: NodeId, message: &impl Message) {
        let mut bytes = [from.0.to_le_bytes(), to.0.to_le_bytes()].concat();
        message.to_wire().encode(&mut bytes).expect("a vector grows");
        self.envelopes.push(format!("{from} to {to}, {:?} of {} bytes", message.kind(), bytes.len() - 8));
        self.trail.push(&bytes);
    }
}

fn record<A: Algorithm>(case: &Case) -> Record {
    let Case { scenario, params, single_steps, .. } = case;
    let options = Options { single_steps: *single_steps, ..Options::default() };
    let title = case.title();
    let mut simulation = prepare::<A>(&Worlds::ours(), params, scenario, SEED, options)
        .unwrap_or_else(|e| panic!("{}: {title}: {e}", A::NAME));
    let tape = Arc::new(Mutex::new(Tape::default()));
    let heard = tape.clone();
    simulation.on_message(Box::new(move |from, to, message| {
        heard.lock().expect("one thread").hear(from, to, message);
    }));
    simulation.run(&mut |_| true).expect("nobody stops it");
    let Tape { trail: messages, envelopes } = std::mem::take(&mut *tape.lock().expect("one thread"));
    let mut curve = Trail::default();
    simulation.ledger().curve.iter().for_each(|point| curve.push(&bits(point)));
    Record { title, facts: facts(&simulation), curve, messages, envelopes, numbers: machines(&simulation) }
}

fn bits(point: &CurvePoint) -> Vec<u8> {
    let CurvePoint { tick, regret, reward, transfers, bytes } = *point;
    [tick, regret.to_bits(), reward.to_bits(), transfers, bytes].map(u64::to_le_bytes).concat()
}

fn facts<A: Algorithm>(simulation: &Simulation<A>) -> Vec<(&'static str, String)> {
    let ledger = simulation.ledger();
    let traffic = &ledger.traffic;
    let metrics: Vec<String> =
        ledger.metrics.iter().map(|(name, value)| format!("{name}={value:?}")).collect();
    let releases: u64 = ledger.releases.iter().map(|release| release.times).sum();
    let privacy = simulation.privacy();
    let spent =
        privacy.map(|s| format!("epsilon={:?} delta={:?} spending={}", s.epsilon, s.delta, s.spending));
    vec![
        ("regret", format!("{:?}", ledger.regret)),
        ("reward", format!("{:?}", ledger.reward)),
        ("steps", ledger.steps.to_string()),
        ("abandoned", ledger.abandoned.to_string()),
        ("transfers", traffic.transfers().to_string()),
        ("bytes", traffic.bytes.to_string()),
        ("control messages", traffic.control_messages.to_string()),
        ("control bytes", traffic.control_bytes.to_string()),
        ("scalars", traffic.scalars.to_string()),
        ("rounds", traffic.rounds.to_string()),
        ("duplicates dropped", ledger.duplicates_dropped.to_string()),
        ("refused", ledger.refused.to_string()),
        ("cost", format!("{:?}", simulation.cost())),
        ("releases", releases.to_string()),
        ("privacy", spent.unwrap_or_default()),
        ("metrics", metrics.join(" ")),
    ]
}

fn machines<A: Algorithm>(simulation: &Simulation<A>) -> Vec<(String, Numbers)> {
    let clients = simulation.states().len() as u32 - 1;
    let mut machines = vec![("server".to_string(), numbers(simulation.server()))];
    for client in 0..clients {
        machines.push((format!("client {client}"), numbers(simulation.client(NodeId(client)))));
    }
    machines
}
