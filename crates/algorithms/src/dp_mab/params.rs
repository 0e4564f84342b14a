//! Parameters of the algorithms of Li and Song 2021.

use cahoots_core::{ParamError, Patience, Setting, Topology};
use cahoots_privacy::aggregation::{LaplaceShares, Terms};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::graph::{ComponentSize, GraphShape, hybrid};
use super::hdp::sinks::{self, Component};
use super::noise::{Audience, MeanNoise, Protection};
use super::rules::{Limit, Rules};
use crate::kit::{GroupParams, PatienceParams};

/// Keys that all of them take.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MabParams {
    /// The paper's epsilon; what it promises depends on `privacy`.
    #[serde(default = "one")]
    #[schemars(extend("exclusiveMinimum" = 0.0))]
    pub dp_epsilon: f64,
    /// How noise and guarantee belong together.
    #[serde(default)]
    pub privacy: Protection,
    /// R: at most so many rounds of communication; as many as needed when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub rounds: Option<u64>,
    /// Delta, the smallest gap between the best arm and another, which only an oracle knows: a number, or
    /// "oracle" for the simulated world's own. Needed with `rounds`, and by nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<Gap>,
    /// The formulas as they are printed, or with what they need to hold.
    #[serde(default)]
    pub fidelity: Formulas,
}

/// The smallest gap: told, or looked up where there is an oracle.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "gap must be a number between 0 and 1, or \"oracle\"")]
pub enum Gap {
    /// A number.
    Told(#[schemars(extend("exclusiveMinimum" = 0.0, "exclusiveMaximum" = 1.0))] f64),
    /// The simulated world's own.
    Asked(Oracle),
}

/// Who knows the simulated world.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Oracle {
    /// The simulator.
    Oracle,
}

impl Gap {
    fn value(self, setting: &Setting) -> Result<f64, ParamError> {
        match self {
            Gap::Told(gap) => ParamError::open_unit("gap", gap),
            Gap::Asked(Oracle::Oracle) => {
                let gap = setting.smallest_gap.filter(|gap| *gap > 0.0 && *gap < 1.0);
                gap.ok_or_else(|| ParamError::new("gap", "no oracle knows it here: give a number"))
            }
        }
    }
}

/// The paper's formulas where they do not hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Formulas {
    /// Wider radii where few take part, components weighted by their size.
    #[default]
    Corrected,
    /// As printed: the radius ignores that few take part, components count alike.
    Paper,
}

/// What a user of cdp-mab writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CdpParams {
    /// What all take.
    #[serde(flatten)]
    pub mab: MabParams,
    /// p: the part of the clients that report in a round, drawn anew each time.
    #[serde(default = "one")]
    #[schemars(range(max = 1.0), extend("exclusiveMinimum" = 0.0))]
    pub participation: f64,
    /// How long rounds wait.
    #[serde(flatten)]
    pub patience: PatienceParams,
    /// Groups, with `privacy = "central"`: all who report are one, of at most 255.
    #[serde(flatten)]
    pub group: GroupParams,
    /// c1: what a link between server and client costs.
    #[serde(default = "twenty_five")]
    #[schemars(range(min = 0.0))]
    pub server_link_cost: f64,
}

/// What a user of ddp-mab writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DdpParams {
    /// What all take.
    #[serde(flatten)]
    pub mab: MabParams,
    /// Who can talk to whom.
    #[serde(default)]
    pub topology: GraphShape,
    /// Draws the graphs that are drawn.
    #[serde(default)]
    pub topology_seed: u64,
    /// c2: what a link between clients costs, per slot.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0))]
    pub peer_link_cost: f64,
}

/// What a user of hdp-mab writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HdpParams {
    /// What all take.
    #[serde(flatten)]
    pub mab: MabParams,
    /// Who can talk to whom within a component.
    #[serde(default)]
    pub topology: GraphShape,
    /// Draws the graphs that are drawn.
    #[serde(default)]
    pub topology_seed: u64,
    /// Clients of each component, numbered through: sizes, or tables with a topology of their own. When
    /// absent: the components of the edges where those are given, and one of all clients otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub components: Option<Vec<ComponentSize>>,
    /// c1: what a link between server and sink costs.
    #[serde(default = "fifty")]
    #[schemars(range(min = 0.0))]
    pub server_link_cost: f64,
    /// c2: what a link between clients costs.
    #[serde(default = "one")]
    #[schemars(range(min = 0.0))]
    pub peer_link_cost: f64,
    /// Which links `cost` counts.
    #[serde(default)]
    pub counting: Counting,
}

/// Which links between clients a round of hdp-mab is charged for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Counting {
    /// Those on each client's way to its sink (Theorem 4).
    #[default]
    OneWay,
    /// Every edge of a component in every slot of its collection (the paper's experiments).
    AllEdges,
}

/// What a user of single-mab writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SingleParams {}

fn one() -> f64 {
    1.0
}

fn twenty_five() -> f64 {
    25.0
}

fn fifty() -> f64 {
    50.0
}

/// Checked parameters of cdp-mab.
#[derive(Clone, Debug)]
pub struct CdpValid {
    pub(super) rules: Rules,
    pub(super) patience: Patience,
    pub(super) clients: u32,
    pub(super) server_link_cost: f64,
}

/// Checked parameters of ddp-mab.
#[derive(Clone, Debug)]
pub struct DdpValid {
    pub(super) rules: Rules,
    pub(super) topology: Topology,
    pub(super) diameter: u32,
    pub(super) peer_link_cost: f64,
}

/// Checked parameters of hdp-mab.
#[derive(Clone, Debug)]
pub struct HdpValid {
    pub(super) rules: Rules,
    pub(super) topology: Topology,
    pub(super) components: Vec<Component>,
    /// Components count alike, whatever their size.
    pub(super) alike: bool,
    pub(super) server_link_cost: f64,
    pub(super) peer_link_cost: f64,
    pub(super) counting: Counting,
}

/// Checked parameters of single-mab.
#[derive(Clone, Debug)]
pub struct SingleValid {
    pub(super) rules: Rules,
}

fn plain_arms(setting: &Setting) -> Result<(), ParamError> {
    if setting.dim != 0 {
        return Err(ParamError::new("kind", "needs plain arms (environment kind = \"arms\")"));
    }
    Ok(())
}

impl MabParams {
    fn rules(&self, setting: &Setting, participants: u32, audience: Audience) -> Result<Rules, ParamError> {
        plain_arms(setting)?;
        let epsilon = ParamError::positive("dp_epsilon", self.dp_epsilon)?;
        let limit = match (self.rounds, self.gap) {
            (None, None) => None,
            (None, Some(_)) => {
                return Err(ParamError::new("gap", "is for a limit on the rounds: set `rounds` too"));
            }
            (Some(_), None) => {
                let problem = "is needed with `rounds`: the smallest gap, which only an oracle knows";
                return Err(ParamError::new("gap", problem));
            }
            (Some(0), _) => return Err(ParamError::new("rounds", "must be at least 1")),
            (Some(rounds), Some(gap)) => Some(Limit { rounds, gap: gap.value(setting)? }),
        };
        let everyone = participants as usize == setting.users;
        let noise = MeanNoise { protection: self.privacy, epsilon, participants, everyone, audience };
        noise.check()?;
        Ok(Rules {
            arms: setting.arms as u32,
            horizon: setting.horizon as f64,
            limit,
            noise,
            group: None,
            as_printed: self.fidelity == Formulas::Paper,
        })
    }
}

impl CdpParams {
    pub(super) fn check(self, setting: &Setting) -> Result<CdpValid, ParamError> {
        let p = self.participation;
        if !(p > 0.0 && p <= 1.0) {
            let problem = format!("must be above 0 and at most 1, not {p}");
            return Err(ParamError::new("participation", problem));
        }
        let clients = setting.users as u32;
        // N = ceil(p M), where a product like 0.07 * 100 may come out a rounding above 7.
        let participants = ((p * f64::from(clients) - 1e-9).ceil() as u32).clamp(1, clients.max(1));
        let mut rules = self.mab.rules(setting, participants, Audience::Server)?;
        if self.mab.privacy == Protection::Central {
            rules.group = Some(self.shares(rules.noise.epsilon, participants)?);
        } else if let Some(key) = self.group.first_given() {
            return Err(ParamError::new(key, "is for privacy = \"central\" alone"));
        }
        Ok(CdpValid {
            patience: self.patience.check()?,
            rules,
            clients,
            server_link_cost: ParamError::not_negative("server_link_cost", self.server_link_cost)?,
        })
    }
}

impl CdpParams {
    /// Shares of the noise of one group of all who report.
    fn shares(&self, epsilon: f64, participants: u32) -> Result<LaplaceShares, ParamError> {
        if participants > Terms::LARGEST {
            let problem = format!(
                "\"central\" adds up what at most {} clients report, not {participants}: lower `participation`, or use \
                 \"local\"",
                Terms::LARGEST
            );
            return Err(ParamError::new("privacy", problem));
        }
        if self.patience.quorum.is_some() {
            let problem =
                "is not for privacy = \"central\": `group_least` and `missing` say who may be missing";
            return Err(ParamError::new("quorum", problem));
        }
        // As the paper has it, nobody fails and nobody tells: then it takes the least noise.
        let usual = Terms { most: Terms::LARGEST, missing: 0.0, colluding: 0.0, ..Terms::USUAL };
        let terms = self.group.check(usual, participants as usize)?;
        // A reward between 0 and 1 is part of one sum.
        LaplaceShares::new("dp_epsilon", epsilon, 1.0, terms)
    }
}

impl DdpParams {
    pub(super) fn check(self, setting: &Setting) -> Result<DdpValid, ParamError> {
        let rules = self.mab.rules(setting, setting.users as u32, Audience::Everyone)?;
        let topology = self.topology.connected(setting.users, self.topology_seed)?;
        Ok(DdpValid {
            rules,
            diameter: topology.diameter(),
            topology,
            peer_link_cost: ParamError::not_negative("peer_link_cost", self.peer_link_cost)?,
        })
    }
}

impl HdpParams {
    pub(super) fn check(self, setting: &Setting) -> Result<HdpValid, ParamError> {
        let rules = self.mab.rules(setting, setting.users as u32, Audience::Sinks)?;
        let topology = hybrid(&self.topology, self.components.as_deref(), setting.users, self.topology_seed)?;
        Ok(HdpValid {
            rules,
            components: sinks::components(&topology),
            topology,
            alike: self.mab.fidelity == Formulas::Paper,
            server_link_cost: ParamError::not_negative("server_link_cost", self.server_link_cost)?,
            peer_link_cost: ParamError::not_negative("peer_link_cost", self.peer_link_cost)?,
            counting: self.counting,
        })
    }
}

impl SingleParams {
    pub(super) fn check(self, setting: &Setting) -> Result<SingleValid, ParamError> {
        plain_arms(setting)?;
        let rules = Rules {
            arms: setting.arms as u32,
            horizon: setting.horizon as f64,
            limit: None,
            // Nothing leaves.
            noise: MeanNoise {
                protection: Protection::None,
                epsilon: f64::INFINITY,
                participants: 1,
                everyone: false,
                audience: Audience::Server,
            },
            group: None,
            as_printed: false,
        };
        Ok(SingleValid { rules })
    }
}
