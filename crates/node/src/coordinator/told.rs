//! What members tell of themselves beside their messages. It is shown and nothing follows from it: it may be a lie, and is held
//! against what can be true at all.

use std::collections::{BTreeMap, BTreeSet};

use cahoots_core::NodeId;
use serde::{Deserialize, Serialize};

use crate::limits::{NAME, REASON, cut};
use crate::transport::proto;

/// Counts above this are no counts.
const MOST: u64 = 1 << 53;

/// A larger epsilon protects nobody, and is no loss that anybody reckons with.
const LARGEST_EPSILON: f64 = 1e6;

/// Sums of rewards above this are no sums that anything was learned from.
const LARGEST_SUM: f64 = 1e100;

/// What a member says was spent of its users' privacy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SpentStatus {
    /// The largest loss; none where nothing with noise was released.
    pub epsilon: Option<f64>,
    /// The delta that goes with it.
    pub delta: f64,
    /// What is protected.
    pub unit: String,
    /// Statistics that were released.
    pub releases: u64,
    /// Of those, how many without any noise.
    pub unprotected: u64,
    /// The most that its owner allows.
    pub ceiling: Option<f64>,
    /// Why nothing leaves it any more.
    pub withdrawn: Option<String>,
}

/// What a member's owner chose to show, since the start of its process.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TelemetryStatus {
    /// Rewards that came.
    pub rewards: Option<u64>,
    /// Their sum.
    pub reward_sum: Option<f64>,
    /// Observations that it has not sent.
    pub unsent: Option<u64>,
    /// Decisions that wait for their reward.
    pub open_decisions: Option<u64>,
    /// What federation gained it.
    pub gain: Option<ToldGain>,
}

/// What federation gained a member, by its own reckoning.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ToldGain {
    /// Not less.
    pub low: f64,
    /// About.
    pub estimate: f64,
    /// Not more.
    pub high: f64,
}

/// The name under which is stored what a member has spent.
pub(super) const PREFIX: &str = "spent/";

/// What was last told by whom. What was spent is stored: whoever has withdrawn does not say it again. The rest is in memory
/// alone.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    spent: BTreeMap<NodeId, SpentStatus>,
    /// Of whom something else is to be stored than is.
    unsaved: BTreeSet<NodeId>,
    telemetry: BTreeMap<NodeId, TelemetryStatus>,
    /// The terms promise privacy: what has no noise is not shown, whoever sends it.
    discreet: bool,
}

impl Told {
    /// As it was stored; `discreet` where the terms promise privacy.
    pub(super) fn restore(stored: Vec<(String, Vec<u8>)>, discreet: bool) -> Told {
        let spent = |(key, spent): (String, Vec<u8>)| {
            let client = NodeId(key.strip_prefix(PREFIX)?.parse().ok()?);
            Some((client, serde_json::from_slice(&spent).ok()?))
        };
        Told { spent: stored.into_iter().filter_map(spent).collect(), discreet, ..Told::default() }
    }

    /// What is to be stored, and under which names; empty where a member has spent nothing.
    pub(super) fn save(&mut self) -> Vec<(String, Vec<u8>)> {
        let unsaved = std::mem::take(&mut self.unsaved).into_iter();
        let saved = unsaved.map(|client| {
            let spent = self.spent.get(&client);
            let spent =
                spent.map_or_else(Vec::new, |spent| serde_json::to_vec(spent).expect("it can be written"));
            (format!("{PREFIX}{}", client.0), spent)
        });
        saved.collect()
    }

    /// A member is there, and says how things stand. Gives whether
    /// that is news. `Err` says what cannot be; the rest of it is not believed either.
    pub(super) fn hear(
        &mut self,
        client: NodeId,
        spent: Option<proto::Spent>,
        telemetry: Option<proto::Telemetry>,
    ) -> Result<bool, &'static str> {
        let before = (self.spent.get(&client).cloned(), self.telemetry.get(&client).cloned());
        let spent = spent.map(read_spent).transpose()?;
        let telemetry = telemetry.map(read_telemetry).transpose()?;
        if let Some(spent) = spent
            && self.spent.get(&client) != Some(&spent)
        {
            self.spent.insert(client, spent);
            self.unsaved.insert(client);
        }
        match telemetry.filter(|_| !self.discreet) {
            Some(telemetry) => self.telemetry.insert(client, telemetry),
            None => self.telemetry.remove(&client),
        };
        Ok(before != (self.spent.get(&client).cloned(), self.telemetry.get(&client).cloned()))
    }

    /// A member sends nothing any more, and says why.
    pub(super) fn withdraws(&mut self, client: NodeId, reason: &str) {
        self.spent.entry(client).or_default().withdrawn = Some(cut(reason, REASON).into_owned());
        self.unsaved.insert(client);
    }

    /// Another may have this number from now on.
    pub(super) fn forget(&mut self, client: NodeId) {
        if self.spent.remove(&client).is_some() {
            self.unsaved.insert(client);
        }
        self.telemetry.remove(&client);
    }

    pub(super) fn spent(&self, client: NodeId) -> Option<&SpentStatus> {
        self.spent.get(&client)
    }

    pub(super) fn telemetry(&self, client: NodeId) -> Option<&TelemetryStatus> {
        self.telemetry.get(&client)
    }
}

fn count(value: u64) -> Result<u64, &'static str> {
    if value <= MOST { Ok(value) } else { Err("a count that is no count") }
}

fn within(value: f64, low: f64, high: f64, wrong: &'static str) -> Result<f64, &'static str> {
    if (low..=high).contains(&value) { Ok(value) } else { Err(wrong) }
}

fn read_spent(told: proto::Spent) -> Result<SpentStatus, &'static str> {
    let epsilon = |value| within(value, 0.0, LARGEST_EPSILON, "an epsilon that is none");
    Ok(SpentStatus {
        epsilon: told.epsilon.map(epsilon).transpose()?,
        delta: within(told.delta, 0.0, 1.0, "a delta that is no probability")?,
        unit: cut(&told.unit, NAME).into_owned(),
        releases: count(told.releases)?,
        unprotected: count(told.unprotected)?,
        ceiling: told.ceiling.map(epsilon).transpose()?,
        withdrawn: None,
    })
}

fn read_telemetry(told: proto::Telemetry) -> Result<TelemetryStatus, &'static str> {
    let sum = |value| within(value, -LARGEST_SUM, LARGEST_SUM, "a sum of rewards that is none");
    let gain = |proto::Gain { low, estimate, high }| {
        if !(low <= estimate && estimate <= high) {
            return Err("a gain that is not within its own bounds");
        }
        Ok(ToldGain { low: sum(low)?, estimate: sum(estimate)?, high: sum(high)? })
    };
    Ok(TelemetryStatus {
        rewards: told.rewards.map(count).transpose()?,
        reward_sum: told.reward_sum.map(sum).transpose()?,
        unsent: told.unsent.map(count).transpose()?,
        open_decisions: told.open_decisions.map(count).transpose()?,
        gain: told.gain.map(gain).transpose()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: NodeId = NodeId(1);

    fn spent() -> proto::Spent {
        proto::Spent {
            epsilon: Some(0.5),
            delta: 1e-5,
            unit: "one observation".into(),
            releases: 3,
            unprotected: 0,
            ceiling: Some(1.0),
        }
    }

    fn telemetry() -> proto::Telemetry {
        let gain = proto::Gain { low: -1.0, estimate: 2.0, high: 5.0 };
        proto::Telemetry {
            rewards: Some(3),
            reward_sum: Some(1.5),
            unsent: Some(1),
            open_decisions: None,
            gain: Some(gain),
        }
    }

    #[test]
    fn the_last_word_counts() {
        let mut told = Told::default();
        told.hear(ONE, Some(spent()), Some(telemetry())).unwrap();
        assert_eq!(told.spent(ONE).map(|spent| (spent.epsilon, spent.releases)), Some((Some(0.5), 3)));
        assert_eq!(told.telemetry(ONE).and_then(|telemetry| telemetry.unsent), Some(1));
        told.hear(ONE, None, None).unwrap();
        assert_eq!(told.telemetry(ONE), None, "who shows nothing any more is not shown");
        assert!(told.spent(ONE).is_some(), "what was spent stays spent");
        told.withdraws(ONE, &"x".repeat(1 << 20));
        let withdrawn = told.spent(ONE).and_then(|spent| spent.withdrawn.clone()).unwrap();
        assert!(withdrawn.len() <= REASON + 32, "{} bytes", withdrawn.len());
        told.forget(ONE);
        assert_eq!(told.spent(ONE), None);
    }

    #[test]
    fn what_cannot_be_true_is_not_shown() {
        let lies = [
            (proto::Spent { epsilon: Some(f64::NAN), ..spent() }, telemetry()),
            (proto::Spent { epsilon: Some(-1.0), ..spent() }, telemetry()),
            (proto::Spent { epsilon: Some(f64::INFINITY), ..spent() }, telemetry()),
            (proto::Spent { delta: 2.0, ..spent() }, telemetry()),
            (proto::Spent { delta: f64::NAN, ..spent() }, telemetry()),
            (proto::Spent { releases: u64::MAX, ..spent() }, telemetry()),
            (proto::Spent { ceiling: Some(f64::NEG_INFINITY), ..spent() }, telemetry()),
            (spent(), proto::Telemetry { rewards: Some(u64::MAX), ..telemetry() }),
            (spent(), proto::Telemetry { reward_sum: Some(f64::NAN), ..telemetry() }),
            (spent(), proto::Telemetry { reward_sum: Some(1e308), ..telemetry() }),
            (
                spent(),
                proto::Telemetry {
                    gain: Some(proto::Gain { low: 3.0, estimate: 2.0, high: 1.0 }),
                    ..telemetry()
                },
            ),
            (
                spent(),
                proto::Telemetry {
                    gain: Some(proto::Gain { low: f64::NAN, estimate: 0.0, high: 1.0 }),
                    ..telemetry()
                },
            ),
        ];
        for (spent, telemetry) in lies {
            let mut told = Told::default();
            assert!(told.hear(ONE, Some(spent.clone()), Some(telemetry)).is_err(), "{spent:?} {telemetry:?}");
            assert_eq!((told.spent(ONE), told.telemetry(ONE)), (None, None));
        }
        let long = proto::Spent { unit: "u".repeat(1 << 20), ..spent() };
        let mut told = Told::default();
        told.hear(ONE, Some(long), None).unwrap();
        assert!(told.spent(ONE).unwrap().unit.len() <= NAME + 32);
    }

    #[test]
    fn where_privacy_is_promised_nothing_without_noise_is_shown() {
        let mut told = Told::restore(Vec::new(), true);
        told.hear(ONE, Some(spent()), Some(telemetry())).unwrap();
        assert_eq!(told.telemetry(ONE), None);
        assert!(told.spent(ONE).is_some());
    }
}
