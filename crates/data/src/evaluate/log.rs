//! Logged decisions, one after the other.

use super::refusal::Refusal;
pub(crate) use crate::table::MOST_CLIENTS;

/// Different arms that are told apart before they are too many to be arms.
pub(crate) const MOST_ARMS: usize = 100_000;
/// The most positions.
pub(crate) const MOST_POSITIONS: usize = 1000;

/// One logged decision.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// Its number in the log, from 0.
    pub row: u64,
    /// Whose decision it was.
    pub client: u32,
    /// The arm that was taken.
    pub arm: u32,
    /// Where it was shown; 0 where there is one position.
    pub position: u32,
    /// What it paid.
    pub reward: f64,
    /// How likely the logging policy was to take this arm, in this position.
    pub propensity: f64,
    /// What was known before the decision.
    pub context: &'a [f64],
    /// The arms that could be taken, in rising order; empty where all could.
    pub offered: &'a [u32],
    /// How likely the policy in question takes each arm, where the log says so; else empty.
    pub target: &'a [f64],
}

impl Event<'_> {
    /// Whether an arm could be taken.
    pub fn offers(&self, arm: usize) -> bool {
        self.offered.is_empty() || self.offered.binary_search(&(arm as u32)).is_ok()
    }
}

/// What is in a log, known before anything is estimated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Shape {
    /// Names of the arms.
    pub arms: Vec<String>,
    /// Names of the positions, at least one.
    pub positions: Vec<String>,
    /// Names of the clients, at least one.
    pub clients: Vec<String>,
    /// Names of the features of a context.
    pub features: Vec<String>,
    /// Decisions.
    pub rows: u64,
    /// The smallest and the largest reward.
    pub rewards: (f64, f64),
    /// The smallest and the largest propensity.
    pub propensities: (f64, f64),
    /// Whether it says which arms could be taken, decision by decision.
    pub has_offers: bool,
    /// The smallest number of arms that could be taken.
    pub least_offered: usize,
    /// Whether it says what the policy in question does.
    pub has_target: bool,
    /// Decisions without a reward, which are left out and counted nowhere else.
    pub unrewarded: u64,
}

impl Shape {
    /// Arms in positions: what has a model, and a count, of its own.
    pub fn cells(&self) -> usize {
        self.arms.len() * self.positions.len()
    }

    /// The cell of an arm in a position.
    pub fn cell(&self, position: u32, arm: usize) -> usize {
        position as usize * self.arms.len() + arm
    }

    /// What a cell is called.
    pub fn cell_name(&self, cell: usize) -> String {
        let arm = &self.arms[cell % self.arms.len()];
        match self.positions.len() {
            1 => arm.clone(),
            _ => format!("{arm} in position {}", self.positions[cell / self.arms.len()]),
        }
    }
}

/// A log that can be read from its beginning as often as one likes, to the same events.
pub trait Log {
    /// What is in it.
    fn shape(&self) -> &Shape;

    /// Shows every event, in order.
    fn each(&self, see: &mut dyn FnMut(Event<'_>) -> Result<(), Refusal>) -> Result<(), Refusal>;
}
