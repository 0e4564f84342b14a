//! The most that may be learned from what a client sends.

use cahoots_core::Unit;
use cahoots_privacy::Spent;
use serde::{Deserialize, Serialize};

use super::{Account, Promised};

/// The delta of a file that does not say, and of what is stated where nothing was promised.
pub(super) const USUAL_DELTA: f64 = 1e-5;

/// Sums of losses may be above what noise was calibrated for by the rounding of floating-point numbers, and no more.
const ROUNDING: f64 = 1e-9;

/// A client's own ceiling: `[privacy]` in its file. Terms that promise less are refused, and so is whatever would take
/// what was spent above it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ceiling {
    /// The largest epsilon.
    pub max_epsilon: f64,
    /// The largest delta.
    #[serde(default = "usual_delta")]
    pub max_delta: f64,
    /// What is protected: an "event", or a "user" with all events of theirs. A promise about users holds for events too.
    #[serde(default)]
    pub unit: Unit,
}

fn usual_delta() -> f64 {
    USUAL_DELTA
}

/// Whether a number is above the most, or none at all.
fn above(value: f64, most: f64) -> bool {
    value.is_nan() || value > most
}

impl Ceiling {
    /// Refuses numbers that are no ceiling.
    pub fn check(&self) -> Result<(), String> {
        let Ceiling { max_epsilon, max_delta, .. } = *self;
        if !(max_epsilon > 0.0 && max_epsilon.is_finite()) {
            return Err(format!(
                "[privacy] max_epsilon must be a number above 0, not {max_epsilon}: without a ceiling, remove [privacy]"
            ));
        }
        if !(0.0..1.0).contains(&max_delta) {
            return Err(format!("[privacy] max_delta must be at least 0 and below 1, not {max_delta}"));
        }
        Ok(())
    }

    /// Refuses terms that promise less.
    pub fn allows(&self, promised: &Promised) -> Result<(), String> {
        let Ceiling { max_epsilon, max_delta, unit } = *self;
        let fix = "Join a federation that promises more, or change [privacy] in this client's file if this is what you want";
        let Some(claim) = &promised.claim else {
            return Err(format!(
                "[privacy] max_epsilon = {max_epsilon}, and the federation's terms promise no privacy at all (epsilon = inf). {fix}"
            ));
        };
        if let Some(gap) = claim.void() {
            return Err(format!(
                "[privacy] max_epsilon = {max_epsilon}, and what the federation's terms promise (epsilon = {}, {}) does not protect \
                 {gap} (epsilon = inf). {fix}",
                claim.epsilon, claim.calibration
            ));
        }
        if unit == Unit::User && promised.unit != Unit::User {
            return Err(format!(
                "[privacy] unit = \"{unit}\", and the federation's terms protect one {} of a user's (epsilon = {}; max_epsilon = \
                 {max_epsilon}), not all of them together. {fix}",
                promised.unit, claim.epsilon
            ));
        }
        if above(claim.epsilon, max_epsilon) {
            return Err(format!(
                "[privacy] max_epsilon = {max_epsilon}, and the federation's terms promise epsilon = {}. {fix}",
                claim.epsilon
            ));
        }
        if above(claim.delta, max_delta) {
            return Err(format!(
                "[privacy] max_delta = {max_delta}, and the federation's terms promise delta = {}. {fix}",
                claim.delta
            ));
        }
        Ok(())
    }

    /// Refuses an account above it.
    pub fn covers(&self, account: &Account) -> Result<(), String> {
        let Ceiling { max_epsilon, max_delta, unit } = *self;
        let account = account.at_stake(unit);
        if account.unprotected() > 0 {
            return Err(format!(
                "[privacy] max_epsilon = {max_epsilon}, and something was to leave without any noise (epsilon = inf)"
            ));
        }
        for Spent { unit: what, observer, epsilon, delta, .. } in account.spent(max_delta) {
            if unit == Unit::User && Unit::of(&what) != Unit::User {
                return Err(format!(
                    "[privacy] unit = \"{unit}\", and what was to leave protects {what} (epsilon = {epsilon:.4}; max_epsilon = \
                     {max_epsilon}), not all of a user's together"
                ));
            }
            if above(epsilon, max_epsilon * (1.0 + ROUNDING)) {
                return Err(format!(
                    "[privacy] max_epsilon = {max_epsilon}, and epsilon = {epsilon:.4} (at delta = {delta}) would be spent of \
                     {what}, against {observer}"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::Claim;

    const CEILING: Ceiling = Ceiling { max_epsilon: 1.0, max_delta: 1e-5, unit: Unit::Event };

    fn promised(epsilon: f64, delta: f64, unit: Unit) -> Promised {
        let claim = Claim { epsilon, delta, calibration: "test".into(), not_protected: vec!["times".into()] };
        Promised { claim: Some(claim), unit }
    }

    #[test]
    fn terms_that_promise_less_are_refused_with_the_key_and_both_numbers() {
        let refused = |ceiling: Ceiling, promised: &Promised| ceiling.allows(promised).unwrap_err();
        assert_eq!(CEILING.allows(&promised(1.0, 1e-5, Unit::Event)), Ok(()));
        assert_eq!(
            CEILING.allows(&promised(0.5, 0.0, Unit::User)),
            Ok(()),
            "which is more than was asked for"
        );
        let none = Promised { claim: None, unit: Unit::Event };
        for (ceiling, promised, words) in [
            (CEILING, none, ["max_epsilon = 1", "epsilon = inf"]),
            (CEILING, promised(3.0, 0.0, Unit::Event), ["max_epsilon = 1", "epsilon = 3"]),
            (CEILING, promised(f64::INFINITY, 0.0, Unit::Event), ["max_epsilon = 1", "epsilon = inf"]),
            (CEILING, promised(f64::NAN, 0.0, Unit::Event), ["max_epsilon = 1", "epsilon = NaN"]),
            (CEILING, promised(0.1, 0.1, Unit::Event), ["max_delta = 0.00001", "delta = 0.1"]),
            (
                Ceiling { unit: Unit::User, ..CEILING },
                promised(0.1, 0.0, Unit::Event),
                ["unit = \"user\"", "one event"],
            ),
        ] {
            let said = refused(ceiling, &promised);
            assert!(words.iter().all(|words| said.contains(words)), "{said}");
        }
        let mut void = promised(0.1, 0.0, Unit::Event);
        let gaps = &mut void.claim.as_mut().unwrap().not_protected;
        gaps.push("anything, against who sees a single client's messages".into());
        assert!(refused(CEILING, &void).contains("does not protect anything, against who sees"));
    }

    #[test]
    fn what_is_no_ceiling_is_refused() {
        for max_epsilon in [0.0, -1.0, f64::INFINITY, f64::NAN] {
            assert!(Ceiling { max_epsilon, ..CEILING }.check().unwrap_err().contains("max_epsilon"));
        }
        for max_delta in [1.0, -0.1, f64::NAN] {
            assert!(Ceiling { max_delta, ..CEILING }.check().unwrap_err().contains("max_delta"));
        }
        assert_eq!(Ceiling { max_delta: 0.0, ..CEILING }.check(), Ok(()));
    }
}
