//! A log in memory.

use super::log::{Event, Log, MOST_ARMS, MOST_CLIENTS, MOST_POSITIONS, Shape};
use super::refusal::Refusal;

/// One decision of a log that is made in memory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Whose decision it was.
    pub client: u32,
    /// The arm that was taken.
    pub arm: u32,
    /// Where it was shown.
    pub position: u32,
    /// What it paid.
    pub reward: f64,
    /// How likely it was.
    pub propensity: f64,
    /// What was known.
    pub context: Vec<f64>,
    /// The arms that could be taken, in rising order; empty where all could.
    pub offered: Vec<u32>,
    /// How likely the policy in question takes each arm; empty where that is not said.
    pub target: Vec<f64>,
}

/// A log in memory, column by column.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    shape: Shape,
    clients: Vec<u32>,
    arms: Vec<u32>,
    positions: Vec<u32>,
    rewards: Vec<f64>,
    propensities: Vec<f64>,
    contexts: Vec<f64>,
    targets: Vec<f64>,
    offers: Vec<u32>,
    /// Where the offers of each row end.
    ends: Vec<usize>,
}

impl Columns {
    /// A log of these arms and features.
    pub fn new(arms: Vec<String>, features: Vec<String>) -> Columns {
        let shape = Shape {
            least_offered: arms.len(),
            arms,
            features,
            positions: vec![String::new()],
            clients: vec![String::new()],
            rewards: (f64::INFINITY, f64::NEG_INFINITY),
            propensities: (f64::INFINITY, f64::NEG_INFINITY),
            ..Shape::default()
        };
        Columns { shape, ..Columns::default() }
    }

    /// All of another log, held.
    pub fn of(log: &dyn Log) -> Result<Columns, Refusal> {
        let mut columns = Columns::new(log.shape().arms.clone(), log.shape().features.clone());
        columns.shape.positions = log.shape().positions.clone();
        columns.shape.clients = log.shape().clients.clone();
        log.each(&mut |event| columns.push(event))?;
        Ok(columns)
    }

    /// One more decision.
    pub fn push_row(&mut self, row: &Row) -> Result<(), Refusal> {
        self.push(Event {
            row: self.shape.rows,
            client: row.client,
            arm: row.arm,
            position: row.position,
            reward: row.reward,
            propensity: row.propensity,
            context: &row.context,
            offered: &row.offered,
            target: &row.target,
        })
    }

    /// One more decision.
    pub fn push(&mut self, event: Event<'_>) -> Result<(), Refusal> {
        let shape = &mut self.shape;
        let row = shape.rows + 1;
        check(&event, || format!("row {row}"))?;
        let misfit = |what: &str| Refusal::Question(format!("row {row}: {what}"));
        if event.context.len() != shape.features.len() {
            return Err(misfit("as many features as are named"));
        }
        if event.arm as usize >= shape.arms.len() {
            return Err(misfit("an arm that is not named"));
        }
        let has_target = !event.target.is_empty();
        if shape.rows > 0 && has_target != shape.has_target {
            return Err(misfit("the probabilities of the policy in every row, or in none"));
        }
        if has_target && event.target.len() != shape.arms.len() {
            return Err(misfit("a probability for every arm, or none"));
        }
        if shape.arms.len() > MOST_ARMS {
            return Err(Refusal::TooMany { what: "arms", most: MOST_ARMS });
        }
        if event.position as usize >= MOST_POSITIONS {
            return Err(Refusal::TooMany { what: "positions", most: MOST_POSITIONS });
        }
        if event.client as usize >= MOST_CLIENTS {
            return Err(Refusal::TooMany { what: "clients", most: MOST_CLIENTS });
        }
        shape.has_target = has_target;
        for (names, number) in [(&mut shape.positions, event.position), (&mut shape.clients, event.client)] {
            while names.len() <= number as usize {
                names.push(names.len().to_string());
            }
        }
        if !event.offered.is_empty() {
            shape.has_offers = true;
            shape.least_offered = shape.least_offered.min(event.offered.len());
        }
        shape.rows = row;
        widen(&mut shape.rewards, event.reward);
        widen(&mut shape.propensities, event.propensity);
        self.clients.push(event.client);
        self.arms.push(event.arm);
        self.positions.push(event.position);
        self.rewards.push(event.reward);
        self.propensities.push(event.propensity);
        self.contexts.extend_from_slice(event.context);
        self.targets.extend_from_slice(event.target);
        self.offers.extend_from_slice(event.offered);
        self.ends.push(self.offers.len());
        Ok(())
    }

    /// The event of a row.
    pub fn event(&self, row: usize) -> Event<'_> {
        let part = |values: &'_ [f64], width: usize| row * width..(row * width + width).min(values.len());
        let width = if self.shape.has_target { self.shape.arms.len() } else { 0 };
        Event {
            row: row as u64,
            client: self.clients[row],
            arm: self.arms[row],
            position: self.positions[row],
            reward: self.rewards[row],
            propensity: self.propensities[row],
            context: &self.contexts[part(&self.contexts, self.shape.features.len())],
            offered: &self.offers[row.checked_sub(1).map_or(0, |before| self.ends[before])..self.ends[row]],
            target: &self.targets[part(&self.targets, width)],
        }
    }
}

impl Log for Columns {
    fn shape(&self) -> &Shape {
        &self.shape
    }

    fn each(&self, see: &mut dyn FnMut(Event<'_>) -> Result<(), Refusal>) -> Result<(), Refusal> {
        (0..self.arms.len()).try_for_each(|row| see(self.event(row)))
    }
}

/// Refuses numbers that are none.
pub(crate) fn check(event: &Event<'_>, place: impl Fn() -> String) -> Result<(), Refusal> {
    if !(event.propensity > 0.0 && event.propensity <= 1.0) {
        return Err(Refusal::Propensity { place: place(), value: event.propensity.to_string() });
    }
    let number = |column: &str, value: f64, most: f64| {
        let refusal = || Refusal::Number { place: place(), column: column.into(), value: value.to_string() };
        if value.abs() <= most { Ok(()) } else { Err(refusal()) }
    };
    // Squares of rewards, and products of features, must still be numbers.
    number("the reward", event.reward, 1e100)?;
    event.context.iter().try_for_each(|value| number("a feature", *value, 1e15))?;
    if !event.offers(event.arm as usize) {
        return Err(Refusal::NotOffered { place: place() });
    }
    if event.target.is_empty() {
        return Ok(());
    }
    let wrong = |problem: String| Err(Refusal::Probabilities { place: place(), problem });
    if let Some(value) = event.target.iter().find(|p| !(p.is_finite() && **p >= 0.0)) {
        return wrong(format!("have {value} among them"));
    }
    let elsewhere = (0..event.target.len()).filter(|arm| !event.offers(*arm));
    if elsewhere.map(|arm| event.target[arm]).sum::<f64>() > 1e-6 {
        return wrong("are above 0 for arms that were not offered".into());
    }
    let sum: f64 = event.target.iter().sum();
    if (sum - 1.0).abs() > 1e-6 {
        return wrong(format!("add up to {sum}"));
    }
    Ok(())
}

/// Makes room for a value in a range.
pub(crate) fn widen((low, high): &mut (f64, f64), value: f64) {
    *low = low.min(value);
    *high = high.max(value);
}
