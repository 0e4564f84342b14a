//! What is known of a client's privacy, in numbers and in words.

use cahoots_privacy::{Spent, Statement};
use serde::Serialize;

use super::{Account, Ceiling, Promised};

/// What a client has promised, spent, and been allowed.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PrivacyStatus {
    /// The epsilon that the terms promise; none where they promise none.
    pub promised_epsilon: Option<f64>,
    /// The delta that goes with it.
    pub promised_delta: Option<f64>,
    /// What has been spent, by unit and observer.
    pub spent: Vec<Spent>,
    /// Releases without any noise.
    pub unprotected: u64,
    /// How often this store was found to be an old copy, and charged for what others may have released.
    pub old_copies: u32,
    /// The most that may be spent, if that was said.
    pub ceiling: Option<Ceiling>,
    /// Why nothing leaves this client any more.
    pub withdrawn: Option<String>,
    /// What is shown beside all that was released, and to whom.
    pub beside: Vec<String>,
    /// All of it in plain words.
    pub words: String,
}

impl PrivacyStatus {
    /// What these come to.
    pub fn of(
        promised: Option<&Promised>,
        account: &Account,
        ceiling: Option<Ceiling>,
        beside: Vec<String>,
    ) -> PrivacyStatus {
        let claim = promised.and_then(|promised| promised.claim.as_ref());
        PrivacyStatus {
            promised_epsilon: claim.map(|claim| claim.epsilon),
            promised_delta: claim.map(|claim| claim.delta),
            spent: account.spent(promised.map_or(super::ceiling::USUAL_DELTA, Promised::delta)),
            unprotected: account.unprotected(),
            old_copies: account.copied(),
            ceiling,
            withdrawn: account.withdrawn().map(Into::into),
            words: words(promised, account, ceiling, &beside),
            beside,
        }
    }
}

/// What a federation's terms promise of users' data.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PromiseStatus {
    /// The epsilon; none where nothing is promised.
    pub epsilon: Option<f64>,
    /// The delta that goes with it.
    pub delta: Option<f64>,
    /// What is protected.
    pub unit: String,
    /// All of it in plain words.
    pub words: String,
}

impl PromiseStatus {
    /// What these terms promise.
    pub fn of(promised: &Promised) -> PromiseStatus {
        let Some(claim) = &promised.claim else {
            return PromiseStatus {
                words: "No privacy is promised: clients send statistics of their data without noise.".into(),
                ..PromiseStatus::default()
            };
        };
        let mut words = format!(
            "The terms promise ({}, {})-differential privacy for one {}. Noise: {}.",
            claim.epsilon, claim.delta, promised.unit, claim.calibration
        );
        claim.not_protected.iter().for_each(|gap| words += &format!("\nNot protected: {gap}."));
        PromiseStatus {
            epsilon: Some(claim.epsilon).filter(|epsilon| epsilon.is_finite()),
            delta: Some(claim.delta),
            unit: promised.unit.to_string(),
            words,
        }
    }
}

fn words(
    promised: Option<&Promised>,
    account: &Account,
    ceiling: Option<Ceiling>,
    beside: &[String],
) -> String {
    let mut lines = Vec::new();
    let also = || Statement::beside_in_words(beside);
    match promised.map(|promised| promised.claim.as_ref()) {
        None => lines.push("The federation's terms are not known yet; nothing has left this client.".into()),
        Some(None) if account.unprotected() == 0 => {
            let words = "The federation's terms promise no privacy; nothing has left this client yet.";
            lines.push(format!("{words}{}", also()));
        }
        Some(None) => lines.push(format!(
            "No privacy: the federation's terms promise none, and {} statistics have left this client without noise.{}",
            account.unprotected(),
            also()
        )),
        Some(Some(claim)) => lines.push(Statement::new(claim, &account.life()).map_or_else(
            || {
                let promised = claim.epsilon;
                format!("Nothing has been released yet; the federation's terms promise epsilon = {promised}.{}", also())
            },
            |statement| statement.and_beside(beside.iter().cloned()).in_words(),
        )),
    }
    if account.copied() > 0 {
        lines.push(format!(
            "This store was found to be an old copy {} time(s): what another copy may have released of the same data is charged \
             here too, as much as was on record by then.",
            account.copied()
        ));
    }
    if let Some(Ceiling { max_epsilon, max_delta, unit }) = ceiling {
        lines.push(format!("This client's ceiling is ({max_epsilon}, {max_delta}) for one {unit}."));
    }
    lines.extend(account.withdrawn().map(|reason| format!("Nothing leaves this client any more: {reason}.")));
    lines.join("\n")
}
