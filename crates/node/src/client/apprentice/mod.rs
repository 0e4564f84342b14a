//! A client that is an apprentice ([`cahoots_core::apprentice`]): its app says what it would have done itself, and goes on
//! deciding until the client is certain to be better.
//!
//! The apprentice is the driver's, as the shadow of the gain is. It is kept in the commit of what it was told: its state under one name,
//! and a record per comparison that waits for its reward, so that rewards count that come after a restart.

mod config;
mod words;

use cahoots_core::apprentice::{Apprentice, OutsideRange, Status, Toss, Turn};
use cahoots_core::drive::Looked;
use cahoots_core::policy::Distribution;
use cahoots_core::{ArmIndex, DecisionId, Picked, Stream};
use serde::Serialize;

pub use self::config::ApprenticeConfig;
use super::member::Member;
use crate::store::Batch;

/// The name under which a store keeps its state.
pub(super) const KEY: &str = "apprentice";
/// What names of records begin with.
pub(super) const PREFIX: &str = "apprentice/";

/// Who decides, and how that stands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ApprenticeStatus {
    /// Who decides, but for `explore`.
    pub mode: Mode,
    /// All that is known, of the present round.
    #[serde(flatten)]
    pub standing: Standing,
    /// All of it in plain words.
    pub words: String,
}

/// Who decides, but for a share of the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The app itself.
    Apprentice,
    /// This client.
    InCharge,
}

/// The numbers of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Standing {
    /// From 1; a new one begins when the app was found to be better again.
    pub round: u64,
    /// Decisions of this round.
    pub decisions: u64,
    /// Those where the two picked something else, and that tell something by now.
    pub differed: u64,
    /// The same, without a reward that will come.
    pub missing: u64,
    /// The same, whose reward is awaited.
    pub open: u64,
    /// What this client's picks have earned more than the app's own: not less than this.
    pub low: f64,
    /// By the best estimate.
    pub estimate: f64,
    /// Not more than this.
    pub high: f64,
    /// How sure either bound is, at all times at once.
    pub confidence: f64,
    /// How often this client took over, ever.
    pub takeovers: u64,
    /// The share of decisions that are left to the other.
    pub explore: f64,
}

/// An apprentice, and whether it is on disk as it is.
pub(super) struct Tutored {
    apprentice: Apprentice,
    unkept: bool,
}

/// What will be done with a decision.
pub(super) struct Plan {
    toss: Toss,
    /// What the app would have done.
    pub(super) baseline: ArmIndex,
    own: Picked,
    /// How likely each arm is, with the coin.
    odds: Option<Distribution>,
    expected: Option<(f64, f64)>,
}

/// What a store keeps of an apprentice.
pub(super) struct Found {
    pub(super) state: Option<Vec<u8>>,
    pub(super) records: Vec<(String, Vec<u8>)>,
}

impl Found {
    /// In a store that is new.
    pub(super) fn nothing() -> Found {
        Found { state: None, records: Vec::new() }
    }

    fn numbers(&self) -> Option<Vec<(u64, &[u8])>> {
        let number = |name: &str| name.strip_prefix(PREFIX)?.parse().ok();
        self.records.iter().map(|(name, record)| Some((number(name)?, record.as_slice()))).collect()
    }
}

impl Tutored {
    /// For a member, new or as it was kept; or why it cannot be. Where something else is asked of it than before, it begins anew.
    pub(super) fn of(
        member: &Member,
        config: &ApprenticeConfig,
        default_reward: Option<f64>,
        found: &Found,
    ) -> Result<Tutored, String> {
        let settings = config.settings(member, default_reward)?;
        let unreadable = || "its apprentice cannot be read".to_string();
        let kept = match &found.state {
            None => None,
            Some(state) => {
                let records = found.numbers().ok_or_else(unreadable)?;
                Some(Apprentice::restore(state, records.into_iter()).ok_or_else(unreadable)?)
            }
        };
        let mut tutored = match kept {
            Some(apprentice) if *apprentice.settings() == settings => Tutored { apprentice, unkept: false },
            Some(mut other) => {
                other.begin_anew(settings)?;
                Tutored { apprentice: other, unkept: true }
            }
            None => Tutored { apprentice: Apprentice::new(settings)?, unkept: true },
        };
        // Rewards that came while nobody compared are missing.
        let open = member.machine.older_than(cahoots_core::Tick::MAX);
        let open: std::collections::BTreeSet<u64> = open.into_iter().map(|id| id.number).collect();
        for number in tutored.apprentice.waiting() {
            if !open.contains(&number) {
                tutored.apprentice.missing(number);
                tutored.unkept = true;
            }
        }
        Ok(tutored)
    }

    /// Whose pick is taken. `looked` is what the client would do, `expected` what is expected of its pick and of the baseline's.
    pub(super) fn plan(
        &self,
        coin: &mut Stream,
        baseline: ArmIndex,
        looked: Looked,
        expected: Option<(f64, f64)>,
    ) -> Plan {
        let toss = self.apprentice.toss(coin);
        let odds = looked.odds.map(|odds| odds.or(toss.share, baseline));
        Plan { toss, baseline, own: looked.picked, odds, expected }
    }

    /// A decision was taken as planned.
    pub(super) fn decided(&mut self, id: DecisionId, plan: &Plan) {
        let differ = plan.own.arm != plan.baseline;
        self.apprentice.decided(id.number, plan.toss, differ, plan.expected);
        self.unkept = true;
    }

    /// Would this reward be taken?
    pub(super) fn check(&self, reward: f64) -> Result<(), OutsideRange> {
        self.apprentice.check(reward)
    }

    /// A reward was learned from.
    pub(super) fn rewarded(&mut self, id: DecisionId, reward: f64) -> Option<Turn> {
        self.unkept = true;
        self.apprentice.settle(id.number, reward).unwrap_or(None)
    }

    /// A reward will not come.
    pub(super) fn abandoned(&mut self, id: DecisionId) -> Option<Turn> {
        self.unkept = true;
        self.apprentice.missing(id.number)
    }

    /// What is not on disk yet is in this commit.
    pub(super) fn keep(&mut self, batch: &mut Batch) {
        if !std::mem::take(&mut self.unkept) {
            return;
        }
        for number in self.apprentice.take_changed() {
            batch.set(format!("{PREFIX}{number}"), self.apprentice.record(number).unwrap_or_default());
        }
        batch.set(KEY, self.apprentice.state());
    }

    /// How it stands, in numbers and words.
    pub(super) fn status(&self) -> ApprenticeStatus {
        let status = self.apprentice.status();
        let explore = self.apprentice.settings().explore;
        let Status {
            round,
            decisions,
            differed,
            missing,
            open,
            low,
            estimate,
            high,
            confidence,
            takeovers,
            ..
        } = status;
        ApprenticeStatus {
            mode: if status.in_charge { Mode::InCharge } else { Mode::Apprentice },
            words: words::in_words(&status, explore),
            standing: Standing {
                round,
                decisions,
                differed,
                missing,
                open,
                low,
                estimate,
                high,
                confidence,
                takeovers,
                explore,
            },
        }
    }
}

impl Plan {
    /// The arm that the machine must take: the baseline, when the coin says so.
    pub(super) fn insists(&self) -> Option<ArmIndex> {
        (!self.toss.own).then_some(self.baseline)
    }

    /// The arm that will be taken.
    pub(super) fn taken(&self) -> ArmIndex {
        if self.toss.own { self.own.arm } else { self.baseline }
    }

    /// What is said of an arm, with the probability that it had in this decision.
    pub(super) fn with_odds(&self, picked: Picked) -> Picked {
        let Toss { share, .. } = self.toss;
        let by_own = self.own.probability.filter(|_| picked.arm == self.own.arm);
        let by_baseline = if picked.arm == self.baseline { 1.0 - share } else { 0.0 };
        let probability =
            self.odds().map(|odds| odds.of(picked.arm)).or(by_own.map(|own| share * own + by_baseline));
        Picked { probability, ..picked }
    }

    /// How likely each arm is, where that is known.
    pub(super) fn odds(&self) -> Option<&Distribution> {
        self.odds.as_ref()
    }
}
