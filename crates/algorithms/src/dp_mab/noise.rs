//! What is added to a mean before it leaves, and what that promises.

use cahoots_core::{Claim, Composition, Mechanism, Noise, ParamError, ReleaseFact, Stream};
use cahoots_privacy::Laplace;
use cahoots_privacy::aggregation::NOT_PROTECTED;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::kit::arms::ArmValues;

/// How noise and guarantee belong together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protection {
    /// As in the paper: Lap(1 / (N dp_epsilon n)) at each client, which is N dp_epsilon, not dp_epsilon, for whoever
    /// sees its messages. For the paper's figures.
    Published,
    /// Lap(1 / (dp_epsilon n)) at each client: dp_epsilon against whoever sees its messages.
    #[default]
    Local,
    /// Noise that adds up to Lap(1 / (dp_epsilon n)) over all who take part: dp_epsilon against who sees
    /// nothing but the sum.
    Central,
    /// No noise.
    None,
}

/// Who sees a client's messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Audience {
    /// cdp-mab.
    Server,
    /// ddp-mab.
    Everyone,
    /// hdp-mab.
    Sinks,
}

impl Audience {
    fn name(self) -> &'static str {
        match self {
            Audience::Server => "the server",
            Audience::Everyone => "all other clients, and the coordinator that passes messages on",
            Audience::Sinks => {
                "the clients on the way to the sink, and the coordinator that passes messages on"
            }
        }
    }
}

/// What is protected.
pub(super) const UNIT: &str = "one reward";

/// Who sees nothing but a sum.
pub(super) const SUM: &str = "those who see nothing but the sum over all who take part";

/// The noise on the means of one federation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeanNoise {
    /// What it promises.
    pub protection: Protection,
    /// The paper's epsilon.
    pub epsilon: f64,
    /// N: those whose means are averaged.
    pub participants: u32,
    /// Whether those are all clients, so that the sum is the same in every round.
    pub everyone: bool,
    /// Who sees a client's messages.
    pub audience: Audience,
}

impl MeanNoise {
    /// The epsilon that a client's noise is drawn for (at a mean of `pulls` rewards, which one reward moves
    /// by at most 1 / `pulls`).
    fn target(&self) -> f64 {
        match self.protection {
            Protection::Published => f64::from(self.participants) * self.epsilon,
            Protection::Local | Protection::Central => self.epsilon,
            Protection::None => f64::INFINITY,
        }
    }

    /// How many rewards are divided by before noise is drawn, where a mean is one of `pulls`. Shares are drawn for
    /// sums, so that those of all epochs lie on one grid and can stand in for each other.
    fn divided(&self, pulls: u64) -> u64 {
        if self.protection == Protection::Central { 1 } else { pulls }
    }

    fn laplace(&self, pulls: u64) -> Result<Laplace, ParamError> {
        // One reward is part of one mean: one value moves.
        Laplace::calibrated("dp_epsilon", self.target(), 1.0 / self.divided(pulls) as f64, 1)
    }

    /// The scale of the noise on a mean of `pulls` rewards; 0 without noise.
    pub fn scale(&self, pulls: u64) -> f64 {
        let divided_later = if self.protection == Protection::Central { pulls as f64 } else { 1.0 };
        self.laplace(pulls).map_or(0.0, |law| law.scale() / divided_later)
    }

    /// The loss of one reward in a sum over `present` of the N whose shares of the noise make up what is promised.
    pub(super) fn loss_with(&self, present: u32) -> f64 {
        self.laplace(1).map_or(f64::INFINITY, |law| law.epsilon_of_shares(1.0, present, self.participants))
    }

    /// What is claimed: where there is noise at all. `masked`: nobody sees more than sums over a group.
    pub fn claim(&self, masked: bool) -> Option<Claim> {
        let calibration = match self.protection {
            Protection::Published => "published",
            Protection::Local => "local",
            Protection::Central if masked => "central, in shares under masks",
            Protection::Central => "central",
            Protection::None => return None,
        };
        let mut not_protected = vec![
            "which arms a client pulls and how often".into(),
            "the active arms, which follow from everyone's protected means".into(),
            "when a client reports".into(),
        ];
        if self.protection == Protection::Published {
            let (asked, times) = (self.epsilon, self.participants);
            let claim = format!(
                "a client's rewards at epsilon = {asked}: noise as published keeps {times} times that"
            );
            not_protected.push(claim.into());
        }
        if masked {
            not_protected.extend(NOT_PROTECTED.map(Into::into));
        } else if self.protection == Protection::Central {
            not_protected.push("anything, against who sees a single client's messages".into());
        }
        Some(Claim { epsilon: self.epsilon, delta: 0.0, calibration: calibration.into(), not_protected })
    }

    /// Refuses noise that protects only what nobody may look at alone, where everybody can.
    pub fn deployable(&self) -> Result<(), ParamError> {
        match self.protection {
            Protection::Central => Err(ParamError::new(
                "privacy",
                "\"central\" cannot be deployed: each client adds only its share of the noise, which protects the sum and not \
                 the message that its coordinator (or another client) sees, and on this graph nothing hides the messages. Use \
                 \"local\", or cdp-mab, whose clients hide theirs",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses an epsilon whose noise cannot be drawn.
    pub fn check(&self) -> Result<(), ParamError> {
        self.laplace(1)?;
        self.laplace(u64::MAX).map(|_| ())
    }
}

/// Makes the means of one epoch fit to leave.
#[derive(Clone, Copy, Debug)]
pub struct Means {
    noise: MeanNoise,
    law: Laplace,
    pulls: u64,
}

impl Means {
    /// For means of `pulls` rewards each.
    pub fn new(noise: MeanNoise, pulls: u64) -> Self {
        Means { noise, law: noise.laplace(pulls).expect("checked with the parameters"), pulls }
    }

    /// One mean with its noise.
    pub fn noised(&self, mean: f64, rng: &mut Stream) -> f64 {
        match self.noise.protection {
            Protection::Central if !self.law.is_none() => {
                let pulls = self.pulls as f64;
                self.law.shared(mean * pulls, self.noise.participants, rng) / pulls
            }
            _ => self.law.noised(mean, rng),
        }
    }
}

impl Mechanism<ArmValues> for Means {
    fn release(&mut self, mut exact: ArmValues, rng: &mut Stream) -> ArmValues {
        for value in &mut exact.values {
            *value = self.noised(*value, rng);
        }
        exact
    }

    fn fact(&self) -> ReleaseFact {
        let central = self.noise.protection == Protection::Central;
        let none = self.law.is_none();
        ReleaseFact {
            mechanism: match (none, central) {
                (true, _) => "none",
                (_, true) => "a share of discrete laplace noise",
                _ => "discrete laplace",
            }
            .into(),
            scale: self.law.scale(),
            sensitivity: 1.0 / self.noise.divided(self.pulls) as f64 + self.law.step(),
            unit: UNIT.into(),
            observer: if central { SUM } else { self.noise.audience.name() }.into(),
            noise: if none { Noise::None } else { Noise::Laplace },
            // A reward is part of one epoch's mean of one arm. But a sum over others each round is a new
            // release of all epochs before.
            composition: if central && !self.noise.everyone {
                Composition::Adds
            } else {
                Composition::Disjoint
            },
        }
    }
}
