//! What an algorithm that learns would have earned: it decides at every logged event, and those events whose arm it picks
//! itself are its own (Li, Chu, Langford and Wang 2011). Where arms were not equally likely, an event that agrees is taken
//! with probability p_min / p, so that every arm is taken as often as any other.
//!
//! Given what the algorithm has learned so far, an event that was taken has the context, and the reward, that an event of
//! its own would have had: contexts and rewards must not depend on earlier decisions, and propensities must be right.
//! Every arm must have a propensity of at least p_min wherever it is on offer: a log that never shows some of them, or of
//! which a share other than p_min is taken, is refused.
//! What is thrown away is lost, so that a log of n events is a run of about n p_min decisions.
//!
//! In a federation, what a client knows depends on who else saw what, and when. Events stay in the order of the log, for
//! each client and among clients; but they are thinned, and so clients are as far behind one another as they would be
//! after fewer decisions. Ticks count logged events. What is sent is not what a real run would send.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use cahoots_core::{ArmBuffer, ArmIndex, Setting, Tick, UserId};
use cahoots_sim::arrivals::{Arrivals, Schedule};
use cahoots_sim::draw::{Draw, Purpose};
use cahoots_sim::run::{Params, RunError};
use cahoots_sim::simulated::{Place, Simulated};
use cahoots_sim::world::{Pull, World};
use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::columns::Columns;
use super::log::{Event, Log as _, Shape};
use super::refusal::Refusal;
use super::report::Interval;
use super::sums::Moments;
use super::support::{is_off, never_shown};

/// Features beyond which a step takes too long.
const MOST_FEATURES: usize = 1024;

/// How the context of a decision becomes features of arms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArmFeatures {
    /// None: arms are told apart, contexts are not looked at.
    None,
    /// The same for all arms: the context, with a 1 before it. For algorithms with a model for each arm.
    Same,
    /// Each arm has a block of its own, with the context and a 1 in it: a model for each arm inside one that is shared.
    Blocks,
}

/// How events are taken.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// Features of arms; where not given, blocks if there is a context and the algorithm takes features, else none.
    pub features: Option<ArmFeatures>,
    /// Of the algorithm's decisions, and of which events are taken.
    pub seed: u64,
    /// The interval is to hold with this probability.
    pub confidence: f64,
    /// The smallest propensity there can be; that of the log where not given.
    pub least_propensity: Option<f64>,
    /// Fewer events than this say nothing.
    pub least_taken: u64,
    /// Say it all the same.
    pub force: bool,
}

/// What an algorithm would have earned.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Learned {
    /// Events of the log.
    pub events: u64,
    /// Events that were its own.
    pub taken: u64,
    /// What share of events is taken where every arm has at least this propensity, whichever are picked: p_min.
    pub expected_share: f64,
    /// Reward per decision, learning included.
    pub value: f64,
    /// Standard error.
    pub standard_error: f64,
    /// By the normal law (of martingales): asymptotic, for the mean of what it could expect at each decision.
    pub normal: Interval,
    /// Reward per decision in each quarter of what was taken: does it learn?
    pub quarters: [f64; 4],
    /// Clients with a decision of their own.
    pub clients: usize,
    /// Clients in the log.
    pub clients_in_log: usize,
    /// Messages with statistics: of this thinned run, not of a real one.
    pub transfers: u64,
    /// Mean reward of the log.
    pub logged: f64,
    /// What is to be known before it is believed.
    pub warnings: Vec<String>,
}

/// Lets an algorithm learn from those events of a log that it would have brought about itself.
pub fn learn(
    log: Arc<Columns>,
    algorithm: &Simulated,
    params: Params,
    question: &Question,
    progress: &mut dyn FnMut(Tick) -> bool,
) -> Result<Learned, LearnError> {
    let shape = log.shape().clone();
    let features = question.features.unwrap_or_else(|| usual(&shape, algorithm, &params));
    let logged = (0..shape.rows as usize).map(|row| log.event(row).reward).sum::<f64>() / shape.rows as f64;
    let world = Logged::new(log.clone(), features, question)?;
    let (least, account) = (world.least, world.account.clone());
    let mut warnings = Vec::new();
    let mut refuse = |problem: String, can_be_forced: bool| {
        let refusal = Refusal::Question(problem);
        if !question.force || !can_be_forced {
            return Err(LearnError::Refused(refusal));
        }
        warnings.push(format!("by --force: {refusal}"));
        Ok(())
    };
    let never = never_shown(&log, least);
    if let Some(never) = never.as_ref().filter(|never| !never.by_chance) {
        let problem = format!(
            "the log never shows {}, although it could: an algorithm that picks what is never shown learns nothing, and \
             its other decisions are not those of a run of its own. Leave such arms out of what is on offer, or log with a \
             policy that takes each; --force shows the numbers all the same",
            never.names
        );
        refuse(problem, true)?;
    }
    let arrivals = Arrivals::given(Arc::new(Clients(log)), shape.clients.len());
    let place = Place { world: Box::new(world), arrivals, seed: question.seed, progress };
    let report = algorithm.simulate_in(params, place).map_err(LearnError::Run)?;
    let account = account.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = account.rewards.len() as u64;
    if is_off(taken, shape.rows, least) {
        let problem = format!(
            "{taken} of {} events are the algorithm's own, where a smallest propensity of {least:.2e} makes it about {:.0}, and \
             chance does not explain the difference: propensities are wrong, or arms that it picks are less likely than that \
             (--least-propensity){}",
            shape.rows,
            least * shape.rows as f64,
            if taken < 2 { "" } else { "; --force shows the numbers all the same" },
        );
        refuse(problem, taken >= 2)?;
    }
    if taken < question.least_taken.max(2) {
        let problem = format!(
            "{taken} of {} events are the algorithm's own, below the floor of {} (--least-effective): about {:.2}% of a \
             log are, since its smallest propensity is {least:.2e}. A longer log, or one whose arms were all likely, can \
             say more{}",
            shape.rows,
            question.least_taken,
            100.0 * least,
            if taken < 2 { "" } else { "; --force shows the numbers all the same" },
        );
        refuse(problem, taken >= 2)?;
    }
    if let Some(never) = never.filter(|never| never.by_chance) {
        warnings.push(format!("the log never shows {}: of that it says nothing", never.names));
    }
    let clipped = report.ledger.clipped_rewards;
    if clipped > 0 {
        warnings.push(format!(
            "the algorithm clipped {clipped} of {taken} rewards to the range that it takes: it learned from other rewards than \
             those that are counted here"
        ));
    }
    if features == ArmFeatures::Same && account.arms.len() == 1 {
        let why = "one arm was taken alone: where all arms have the same features, an algorithm without a model for each arm \
                   cannot tell them apart (--arm-features blocks)";
        warnings.push(why.into());
    }
    if features == ArmFeatures::None && shape.positions.len() > 1 {
        warnings.push("arms without features: positions were not looked at".into());
    }
    let mut all = Moments::default();
    account.rewards.iter().for_each(|reward| all.add(*reward));
    let quarter = |number: usize| {
        let count = account.rewards.len();
        let part = &account.rewards[number * count / 4..(number + 1) * count / 4];
        part.iter().sum::<f64>() / part.len().max(1) as f64
    };
    let (value, error) = (all.mean, all.standard_error());
    if error == 0.0 {
        warnings.push(
            "all rewards that were taken are equal: the normal interval knows nothing of others".into(),
        );
    }
    let z = Normal::standard().inverse_cdf(0.5 + question.confidence / 2.0);
    Ok(Learned {
        events: shape.rows,
        taken,
        expected_share: least,
        value,
        standard_error: error,
        normal: (value - z * error, value + z * error),
        quarters: [0, 1, 2, 3].map(quarter),
        clients: account.clients.iter().filter(|taken| **taken).count(),
        clients_in_log: shape.clients.len(),
        transfers: report.ledger.traffic.transfers(),
        logged,
        warnings,
    })
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LearnError {
    /// The log cannot answer.
    #[error("{0}")]
    Refused(#[from] Refusal),
    /// The algorithm did not run.
    #[error("{0}")]
    Run(RunError),
}

/// Who acted when.
#[derive(Debug)]
struct Clients(Arc<Columns>);

impl Schedule for Clients {
    fn ticks(&self) -> u64 {
        self.0.shape().rows
    }

    fn at(&self, tick: Tick) -> UserId {
        UserId(self.0.event(tick as usize - 1).client)
    }
}

/// What was taken.
#[derive(Debug, Default)]
struct Account {
    rewards: Vec<f64>,
    clients: Vec<bool>,
    arms: BTreeSet<u32>,
}

/// What algorithms may know of a log in advance.
fn setting(shape: &Shape, features: ArmFeatures) -> Setting {
    // Positions are part of what is known, where there are several.
    let places = if shape.positions.len() > 1 { shape.positions.len() } else { 0 };
    let (users, arms, same) = (shape.clients.len(), shape.arms.len(), 1 + shape.features.len() + places);
    let setting = match features {
        ArmFeatures::None => Setting::k_armed(users, arms),
        ArmFeatures::Same => Setting::linear(users, same, arms),
        ArmFeatures::Blocks => Setting::linear(users, same * arms, arms),
    };
    // Rewards within a range are sub-Gaussian with half its length (Hoeffding).
    let spread = (shape.rewards.1 - shape.rewards.0) / 2.0;
    setting.with_horizon(shape.rows).with_reward_noise(if spread > 0.0 { spread } else { 1.0 })
}

/// Features where none are asked for: blocks where there is a context and the algorithm takes arms with features.
fn usual(shape: &Shape, algorithm: &Simulated, params: &Params) -> ArmFeatures {
    let takes = |features| algorithm.check(params.clone(), &setting(shape, features)).is_ok();
    let plain = takes(ArmFeatures::None) && !takes(ArmFeatures::Blocks);
    if shape.features.is_empty() || plain { ArmFeatures::None } else { ArmFeatures::Blocks }
}

/// A world that knows what was logged.
struct Logged {
    log: Arc<Columns>,
    setting: Setting,
    features: ArmFeatures,
    seed: u64,
    least: f64,
    row: Vec<f64>,
    account: Arc<Mutex<Account>>,
}

impl Logged {
    fn new(log: Arc<Columns>, features: ArmFeatures, question: &Question) -> Result<Logged, Refusal> {
        let shape = log.shape();
        if shape.rows == 0 {
            return Err(Refusal::Empty);
        }
        if shape.arms.len() < 2 {
            return Err(Refusal::OneArm(shape.arms.first().cloned().unwrap_or_default()));
        }
        if shape.propensities.0 >= 1.0 {
            return Err(Refusal::Deterministic);
        }
        let least = question.least_propensity.unwrap_or(shape.propensities.0);
        if let Some(row) = (0..shape.rows as usize).find(|row| log.event(*row).propensity < least) {
            let found = log.event(row).propensity;
            let what = "the smallest propensity";
            return Err(Refusal::Bound { what, stated: least, found, row: row as u64 + 1 });
        }
        let arms = shape.arms.len();
        if shape.has_offers && features != ArmFeatures::Blocks {
            return Err(Refusal::Question(
                "arms that are not always on offer are told apart by their features: name a context (--context), with \
                 --arm-features blocks"
                    .into(),
            ));
        }
        let setting = setting(shape, features);
        if setting.dim > MOST_FEATURES {
            return Err(Refusal::Question(format!(
                "{arms} arms with blocks of {} features are {} features, more than {MOST_FEATURES}: name fewer columns \
                 (--context), take the same features for all arms (--arm-features same, for algorithms with a model for each \
                 arm), or none (--arm-features none)",
                setting.dim / arms,
                setting.dim
            )));
        }
        let account = Account { clients: vec![false; shape.clients.len()], ..Account::default() };
        Ok(Logged {
            setting,
            features,
            seed: question.seed,
            least,
            row: Vec::new(),
            account: Arc::new(Mutex::new(account)),
            log,
        })
    }
}

impl World for Logged {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, tick: Tick, _user: UserId, arms: &mut ArmBuffer) {
        let shape = self.log.shape();
        let event = self.log.event(tick as usize - 1);
        if self.features == ArmFeatures::None {
            arms.plain = shape.arms.len();
            return;
        }
        let mut known = vec![1.0];
        known.extend_from_slice(event.context);
        if shape.positions.len() > 1 {
            known.extend((0..shape.positions.len()).map(|at| f64::from(at == event.position as usize)));
        }
        arms.features.reset(self.setting.dim);
        for arm in (0..shape.arms.len()).filter(|arm| event.offers(*arm)) {
            if self.features == ArmFeatures::Same {
                arms.features.push(&known);
                continue;
            }
            self.row.clear();
            self.row.resize(self.setting.dim, 0.0);
            self.row[arm * known.len()..][..known.len()].copy_from_slice(&known);
            arms.features.push(&self.row);
        }
    }

    fn answers(&mut self, tick: Tick, _user: UserId, arm: ArmIndex) -> bool {
        let event = self.log.event(tick as usize - 1);
        // Of the arms on offer, the so-manieth.
        let picked = event.offered.get(arm.index()).map_or(arm.index(), |arm| *arm as usize);
        // Keyed by the event: whether it is taken does not depend on what was taken before.
        event.arm as usize == picked
            && Draw::keyed(self.seed, Purpose::Rewards, 0x7a4e, tick).uniform() * event.propensity
                < self.least
    }

    fn pull(&mut self, tick: Tick, user: UserId, _arms: &ArmBuffer, _arm: ArmIndex) -> Pull {
        let Event { reward, arm, .. } = self.log.event(tick as usize - 1);
        let mut account = self.account.lock().unwrap_or_else(PoisonError::into_inner);
        account.rewards.push(reward);
        account.clients[user.index()] = true;
        account.arms.insert(arm);
        // What would have been best is not known: regret is not, either.
        Pull { reward, expected: reward, best: reward, sides: None }
    }
}
