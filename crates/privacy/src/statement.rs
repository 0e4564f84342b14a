//! What was really promised, in words that need no mathematics.

use cahoots_core::Claim;
use serde::{Deserialize, Serialize};

use crate::accountant::{Accountant, Spent};

/// A guarantee as it came out, against the observer who learned most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Statement {
    /// Privacy loss as accounted for; infinite if something left without noise.
    pub epsilon: f64,
    /// Probability that the loss is larger.
    pub delta: f64,
    /// What is protected.
    pub unit: String,
    /// From whom.
    pub observer: String,
    /// How noise and guarantee belong together.
    pub calibration: String,
    /// The epsilon that was asked for.
    pub asked: f64,
    /// Releases that added to the loss (the first one, renewals, doublings), of the machine with the most.
    pub spending: u64,
    /// What the guarantee leaves out.
    pub not_protected: Vec<String>,
    /// The same against further observers or for further units.
    pub further: Vec<Spent>,
    /// What is shown beside all that was released, and to whom: the guarantee is not about it.
    #[serde(default)]
    pub beside: Vec<String>,
}

impl Statement {
    /// What an algorithm's claim comes to; `None` if nothing has been released yet.
    pub fn new(claim: &Claim, accountant: &Accountant) -> Option<Statement> {
        let mut spent = accountant.spent(claim.delta);
        let mut not_protected: Vec<String> = claim.not_protected.iter().map(ToString::to_string).collect();
        let unprotected = accountant.unprotected();
        if unprotected > 0 {
            not_protected.insert(0, format!("{unprotected} releases left without any noise"));
        }
        if spent.is_empty() && unprotected == 0 {
            return None;
        }
        let worst = (!spent.is_empty()).then(|| spent.remove(0));
        Some(Statement {
            epsilon: if unprotected > 0 { f64::INFINITY } else { worst.as_ref().map_or(0.0, |s| s.epsilon) },
            delta: worst.as_ref().map_or(claim.delta, |s| s.delta),
            unit: worst.as_ref().map_or_else(|| "one observation".into(), |s| s.unit.to_string()),
            observer: worst.as_ref().map_or_else(|| "the server".into(), |s| s.observer.to_string()),
            calibration: claim.calibration.to_string(),
            asked: claim.epsilon,
            spending: worst.as_ref().map_or(0, |s| s.spending),
            not_protected,
            further: spent,
            beside: Vec::new(),
        })
    }

    /// The same of whoever shows something beside what it releases.
    pub fn and_beside(mut self, shown: impl IntoIterator<Item = String>) -> Statement {
        self.beside.extend(shown);
        self
    }

    /// What is shown beside, a line each.
    pub fn beside_in_words(shown: &[String]) -> String {
        shown.iter().map(|shown| format!("\nShown beside: {shown}.")).collect()
    }

    /// The statement in plain words.
    pub fn in_words(&self) -> String {
        let Statement { epsilon, delta, unit, observer, calibration, .. } = self;
        let mut text = if epsilon.is_finite() {
            let odds = libm::exp(*epsilon);
            let factor =
                if odds < 1e4 { format!("{odds:.2} times") } else { format!("e^{epsilon:.1} times") };
            let except = if *delta > 0.0 {
                format!(" This may fail with probability {delta}.")
            } else {
                String::new()
            };
            format!(
                "({epsilon:.4}, {delta})-differential privacy for {unit}, against {observer}.\n\
                 In words: whatever {observer} conclude from all they received, they would have come to the same \
                 conclusion at most {factor} less or more often had {unit} been another.{except}\n\
                 Noise: {calibration}; {} asked for; {} release(s) added to the loss.",
                if self.asked.is_finite() { format!("epsilon {}", self.asked) } else { "no noise".into() },
                self.spending,
            )
        } else {
            format!("No privacy: {observer} can learn {unit}. Noise: {calibration}.")
        };
        for further in &self.further {
            text += &format!(
                "\nAlso: ({:.4}, {}) for {}, against {}.",
                further.epsilon, further.delta, further.unit, further.observer
            );
        }
        for gap in &self.not_protected {
            text += &format!("\nNot protected: {gap}.");
        }
        text + &Statement::beside_in_words(&self.beside)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Composition, NodeId, Noise, ReleaseFact};

    fn claim() -> Claim {
        Claim {
            epsilon: 1.0,
            delta: 0.0,
            calibration: "laplace".into(),
            not_protected: vec!["the times of uploads".into()],
        }
    }

    fn fact(noise: Noise) -> ReleaseFact {
        ReleaseFact {
            mechanism: "discrete laplace".into(),
            scale: 2.0,
            sensitivity: 1.0,
            unit: "one reward".into(),
            observer: "the server".into(),
            noise,
            composition: Composition::Adds,
        }
    }

    #[test]
    fn it_states_what_came_out_and_not_what_was_asked_for() {
        let mut accountant = Accountant::default();
        assert_eq!(Statement::new(&claim(), &accountant), None);
        for _ in 0..4 {
            accountant.record(NodeId(1), &fact(Noise::Laplace));
        }
        let statement = Statement::new(&claim(), &accountant).unwrap();
        assert_eq!((statement.epsilon, statement.asked, statement.spending), (2.0, 1.0, 4));
        let text = statement.in_words();
        assert!(
            text.contains("(2.0000, 0)-differential privacy for one reward, against the server"),
            "{text}"
        );
        assert!(
            text.contains("7.39 times") && text.contains("Not protected: the times of uploads"),
            "{text}"
        );
    }

    #[test]
    fn what_is_shown_beside_is_part_of_it() {
        let mut accountant = Accountant::default();
        accountant.record(NodeId(1), &fact(Noise::Laplace));
        let statement = Statement::new(&claim(), &accountant).unwrap();
        assert!(!statement.in_words().contains("Shown beside"));
        let statement = statement.and_beside(["to the coordinator: how many rewards came".to_owned()]);
        let text = statement.in_words();
        assert!(text.ends_with("\nShown beside: to the coordinator: how many rewards came."), "{text}");
    }

    #[test]
    fn one_release_without_noise_and_the_guarantee_is_gone() {
        let mut accountant = Accountant::default();
        accountant.record(NodeId(1), &fact(Noise::Laplace));
        accountant.record(NodeId(1), &fact(Noise::None));
        let statement = Statement::new(&claim(), &accountant).unwrap();
        assert_eq!(statement.epsilon, f64::INFINITY);
        assert!(statement.in_words().starts_with("No privacy"), "{}", statement.in_words());
    }
}
