//! The apps beside the clients: each asks its client what to do, sees what comes of it, says so, and keeps its own account of
//! what was acknowledged.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cahoots_core::{ArmBuffer, ArmIndex, ParamError, UserId};
use cahoots_sim::world::World;
use serde_json::{Value, json};

use super::tastes::{Earned, Tastes};

/// From one decision of a client to its next.
const PACE: Duration = Duration::from_millis(20);

/// Before a client that did not answer is asked again.
const AGAIN: Duration = Duration::from_millis(20);

/// What apps were promised, all of them together.
#[derive(Debug, Default)]
pub(super) struct Account {
    /// By client, of rewards that were acknowledged.
    pub(super) earned: Vec<Earned>,
    /// Whose they were, in the order in which they were acknowledged.
    pub(super) order: Vec<u32>,
    /// Rewards that were sent and never answered: nobody knows whether they are merged.
    pub(super) unanswered: u64,
    /// What a client refused, in its words; empty where all goes well.
    pub(super) refused: Option<String>,
}

impl Account {
    /// How many rewards were acknowledged.
    pub(super) fn acknowledged(&self) -> u64 {
        self.order.len() as u64
    }

    /// Their sum.
    pub(super) fn reward(&self) -> f64 {
        self.earned.iter().map(|earned| earned.reward).sum()
    }
}

/// All apps at work.
pub(super) struct Apps {
    account: Arc<Mutex<Account>>,
    signals: Arc<Signals>,
    threads: Vec<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Signals {
    /// No more decisions; what is under way is finished.
    rest: AtomicBool,
    /// It is over, whatever is under way.
    over: AtomicBool,
}

impl Apps {
    /// One per client, at these addresses.
    pub(super) fn start(addresses: &[String], tastes: Tastes) -> Result<Apps, ParamError> {
        let account = Account { earned: vec![Earned::default(); addresses.len()], ..Account::default() };
        let (account, signals) = (Arc::new(Mutex::new(account)), Arc::new(Signals::default()));
        let mut threads = Vec::new();
        for (client, address) in (0..).zip(addresses) {
            let mut app = App {
                client,
                base: format!("http://{address}"),
                agent: agent(),
                world: tastes.world()?,
                account: account.clone(),
                signals: signals.clone(),
            };
            // They do not all come at once.
            let first = PACE * client / addresses.len() as u32;
            threads.push(std::thread::spawn(move || app.live(first)));
        }
        Ok(Apps { account, signals, threads })
    }

    /// What they were promised so far.
    pub(super) fn account(&self) -> MutexGuard<'_, Account> {
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// No more decisions. Those under way are finished, or given up after so long.
    pub(super) fn rest(&mut self, patience: Duration) {
        self.signals.rest.store(true, Ordering::Relaxed);
        let until = Instant::now() + patience;
        while Instant::now() < until && self.threads.iter().any(|app| !app.is_finished()) {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.end();
    }

    fn end(&mut self) {
        self.signals.rest.store(true, Ordering::Relaxed);
        self.signals.over.store(true, Ordering::Relaxed);
        self.threads.drain(..).for_each(|app| drop(app.join()));
    }
}

impl Drop for Apps {
    fn drop(&mut self) {
        self.end();
    }
}

fn agent() -> ureq::Agent {
    let config = ureq::Agent::config_builder().http_status_as_error(false);
    config.timeout_global(Some(Duration::from_secs(2))).build().into()
}

struct App {
    client: u32,
    base: String,
    agent: ureq::Agent,
    world: Box<dyn World>,
    account: Arc<Mutex<Account>>,
    signals: Arc<Signals>,
}

/// What became of a reward.
enum Fate {
    Acknowledged,
    /// The decision died with the client's process, and the reward with it.
    Unknown,
    Unanswered,
}

impl App {
    fn live(&mut self, first: Duration) {
        let mut due = Instant::now() + first;
        for number in 1.. {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if !self.decide(number) {
                return;
            }
            // Who was kept waiting does not make up for it.
            due = (due + PACE).max(Instant::now());
        }
    }

    /// The client's n-th decision, until its reward is acknowledged; `false` when it is time to go.
    fn decide(&mut self, number: u64) -> bool {
        let mut offered = ArmBuffer::default();
        self.world.offer(number, UserId(self.client), &mut offered);
        let rows: Vec<Vec<f64>> =
            (0..offered.features.len()).map(|arm| offered.features.row(arm).collect()).collect();
        let question = json!({ "arms": rows });
        while !self.signals.rest.load(Ordering::Relaxed) {
            let Some(decision) = self.ask("/decide", &question, &self.signals.rest) else { return false };
            let (200, Some(arm)) = (decision.0, decision.1["arm"].as_u64()) else {
                return self.refused(&decision.1);
            };
            let pull = self.world.pull(number, UserId(self.client), &offered, ArmIndex(arm as u32));
            match self.reward(&decision.1["id"], pull.reward) {
                Ok(Fate::Acknowledged) => {
                    let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
                    account.earned[self.client as usize].add(&pull);
                    account.order.push(self.client);
                    return true;
                }
                Ok(Fate::Unknown) => {}
                Ok(Fate::Unanswered) => {
                    self.account.lock().unwrap_or_else(PoisonError::into_inner).unanswered += 1;
                    return false;
                }
                Err(answer) => return self.refused(&answer),
            }
        }
        false
    }

    /// Says what came of a decision, until there is an answer.
    fn reward(&self, id: &Value, reward: f64) -> Result<Fate, Value> {
        match self.ask("/reward", &json!({ "id": id, "reward": reward }), &self.signals.over) {
            None => Ok(Fate::Unanswered),
            Some((200, _)) => Ok(Fate::Acknowledged),
            Some((404, _)) => Ok(Fate::Unknown),
            Some((_, answer)) => Err(answer),
        }
    }

    /// What the client says to this; asked again while it is not there, unless told to stop.
    fn ask(&self, path: &str, question: &Value, stop: &AtomicBool) -> Option<(u16, Value)> {
        loop {
            let answer = self.agent.post(format!("{}{path}", self.base)).send_json(question);
            let answer = answer.and_then(|mut answer| {
                let said = answer.body_mut().read_json();
                said.map(|said: Value| (answer.status().as_u16(), said))
            });
            match answer {
                Ok((503, _)) | Err(_) => {}
                Ok(answer) => return Some(answer),
            }
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            std::thread::sleep(AGAIN);
        }
    }

    /// Nothing that an honest app says should be refused: this one says no more.
    fn refused(&self, answer: &Value) -> bool {
        let words = format!("client {} said to its app: {answer}", self.client);
        self.account.lock().unwrap_or_else(PoisonError::into_inner).refused.get_or_insert(words);
        false
    }
}
