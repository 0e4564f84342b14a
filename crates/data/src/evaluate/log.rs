//! Logged decisions, one after the other.

use super::refusal::Refusal;

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
    /// How likely the policy in question takes each arm, where the log says so; else empty.
    pub target: &'a [f64],
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
    /// Whether it says what the policy in question does.
    pub has_target: bool,
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
