//! The mean rewards of a K-armed world: drawn, written in the experiment file,
//! or read from a table.

use cahoots_core::{ParamError, UserId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{WorldPart, check};
use crate::files::{Files, Here};

/// Standard deviation of a client's own means around the common ones.
const DEVIATION: f64 = 0.2;

/// Where the mean rewards come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "means must be \"uniform\", a matrix such as [[0.9, 0.5]], or { file = \"means.csv\" }"
)]
pub enum Means {
    /// A law to draw them from.
    Law(MeansLaw),
    /// One row for all clients, or one row per client.
    Rows(Vec<Vec<f64>>),
    /// A CSV file without a header: the same, one row per line.
    File {
        /// Its path.
        file: String,
    },
}

/// A law of mean rewards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MeansLaw {
    /// Independent and uniform between 0 and 1, the same for all clients.
    Uniform,
}

impl Means {
    /// With the rows of the file that is named, if one is.
    pub(crate) fn read_file(self, files: &dyn Files) -> Result<Means, ParamError> {
        let Means::File { file } = self else { return Ok(self) };
        let text = files
            .text(&file)
            .map_err(|error| ParamError::new("means", format!("cannot read {file}: {error}")))?;
        Ok(Means::Rows(parse(&file, &text)?))
    }

    /// The rows as given; none where they are drawn.
    pub(crate) fn given(&self) -> Result<Option<Vec<Vec<f64>>>, ParamError> {
        let rows = match self {
            Means::Law(MeansLaw::Uniform) => return Ok(None),
            Means::Rows(rows) => rows.clone(),
            Means::File { .. } => return self.clone().read_file(&Here)?.given(),
        };
        let width = rows.first().map_or(0, Vec::len);
        if width == 0 {
            return Err(ParamError::new("means", "must have at least one row and one column"));
        }
        for (i, row) in rows.iter().enumerate() {
            if row.len() != width {
                let problem = format!("row {} has {} columns, the first has {width}", i + 1, row.len());
                return Err(ParamError::new("means", problem));
            }
            if let Some(j) = row.iter().position(|mean| mean.is_nan() || mean.abs() > check::LARGEST) {
                let problem = format!("row {}, column {} must be a number, not {:e}", i + 1, j + 1, row[j]);
                return Err(ParamError::new("means", problem));
            }
        }
        Ok(Some(rows))
    }
}

fn parse(file: &str, text: &str) -> Result<Vec<Vec<f64>>, ParamError> {
    let cell = |line: usize, text: &str| {
        text.trim().parse().map_err(|_| {
            let problem = format!("line {line} of {file} has \"{}\" where a number is expected", text.trim());
            ParamError::new("means", problem)
        })
    };
    let lines = text.lines().zip(1..).filter(|(line, _)| !line.trim().is_empty());
    lines.map(|(line, number)| line.split(',').map(|text| cell(number, text)).collect()).collect()
}

/// A row of values per client, or one row for all.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Table {
    arms: usize,
    values: Vec<f64>,
}

impl Table {
    /// The rows as they are.
    pub(crate) fn given(rows: &[Vec<f64>]) -> Table {
        Table { arms: rows[0].len(), values: rows.concat() }
    }

    /// One row of uniform means, the best at least `min_gap` above the second.
    pub(crate) fn uniform(seed: u64, arms: usize, min_gap: f64) -> Table {
        let mut draw = WorldPart::Means.draw(seed, 0);
        let mut values: Vec<f64> = (0..arms).map(|_| draw.uniform()).collect();
        widen(&mut values, min_gap);
        Table { arms, values }
    }

    /// Each client's own means: the common ones plus N(0, 0.2), kept between 0 and 1.
    pub(crate) fn scattered(&self, seed: u64, clients: usize) -> Table {
        let mut values = Vec::with_capacity(clients * self.arms);
        for client in 0..clients {
            let mut draw = WorldPart::Deviation.draw(seed, client as u64);
            let common = self.row(UserId(client as u32)).iter();
            values.extend(common.map(|mean| (mean + DEVIATION * draw.normal()).clamp(0.0, 1.0)));
        }
        Table { arms: self.arms, values }
    }

    /// Clients drawn from a population with these means: each one's own are N(0, spread) away. Where they must
    /// be chances, deviations are clipped to both sides alike, so that their expectation stays where it is.
    pub(crate) fn around(&self, seed: u64, clients: usize, spread: f64, chances: bool) -> Table {
        let mut values = Vec::with_capacity(clients * self.arms);
        for client in 0..clients {
            let mut draw = WorldPart::Deviation.draw(seed, client as u64);
            values.extend(self.values.iter().map(|mean| {
                let room = if chances { mean.min(1.0 - mean) } else { f64::INFINITY };
                mean + (spread * draw.normal()).clamp(-room, room)
            }));
        }
        Table { arms: self.arms, values }
    }

    /// `own` parts of a client's own means and `1 - own` parts of the average over clients.
    pub(crate) fn mixed(&self, own: f64) -> Table {
        let rows = self.values.len() / self.arms;
        let mut average = vec![0.0; self.arms];
        for row in self.values.chunks_exact(self.arms) {
            average.iter_mut().zip(row).for_each(|(sum, mean)| *sum += mean / rows as f64);
        }
        if own == 0.0 {
            return Table { arms: self.arms, values: average };
        }
        let values = self.values.iter().zip(average.iter().cycle());
        Table { arms: self.arms, values: values.map(|(mean, all)| own * mean + (1.0 - own) * all).collect() }
    }

    /// A client's row.
    pub(crate) fn row(&self, client: UserId) -> &[f64] {
        if self.values.len() == self.arms {
            return &self.values;
        }
        &self.values[client.index() * self.arms..][..self.arms]
    }

    /// The best value of each row.
    pub(crate) fn best(&self) -> Table {
        let rows = self.values.chunks_exact(self.arms);
        Table { arms: 1, values: rows.map(|row| row.iter().copied().fold(f64::MIN, f64::max)).collect() }
    }

    /// How far the best of the first row is above the next best; none where they are alike.
    pub(crate) fn gap(&self) -> Option<f64> {
        let row = self.row(UserId(0));
        let best = row.iter().copied().fold(f64::MIN, f64::max);
        let next = row.iter().copied().filter(|mean| *mean < best).fold(f64::MIN, f64::max);
        (next > f64::MIN).then_some(best - next)
    }

    /// The smallest and the largest value.
    pub(crate) fn range(&self) -> (f64, f64) {
        let fold = |(low, high): (f64, f64), value: &f64| (low.min(*value), high.max(*value));
        self.values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), fold)
    }

    /// Whether clients have rows of their own.
    pub(crate) fn has_rows(&self) -> bool {
        self.values.len() > self.arms
    }

    /// Number of arms.
    pub(crate) fn arms(&self) -> usize {
        self.arms
    }
}

/// Where the best mean is less than `min_gap` above the second, makes it exactly that: the best rises,
/// to 1 at most, and the others shrink in proportion for what is left.
fn widen(means: &mut [f64], min_gap: f64) {
    if means.len() < 2 {
        return;
    }
    let best = (0..means.len()).fold(0, |best, arm| if means[arm] > means[best] { arm } else { best });
    let others = |arm: &usize| *arm != best;
    let second = (0..means.len()).filter(others).map(|arm| means[arm]).fold(0.0, f64::max);
    if means[best] - second >= min_gap {
        return;
    }
    means[best] = (second + min_gap).min(1.0);
    if second > 1.0 - min_gap {
        let shrink = (1.0 - min_gap) / second;
        (0..means.len()).filter(others).for_each(|arm| means[arm] *= shrink);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(means: &[f64]) -> f64 {
        let mut sorted = means.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[means.len() - 1] - sorted[means.len() - 2]
    }

    #[test]
    fn a_gap_is_widened_to_what_was_asked_and_no_further() {
        let (arms, asked) = (100, 1.0 / 16.0);
        let mut wide = 0;
        for seed in 0..200 {
            let drawn = Table::uniform(seed, arms, 0.0).values;
            let means = Table::uniform(seed, arms, asked).values;
            assert!(means.iter().all(|mean| (0.0..=1.0).contains(mean)));
            if gap(&drawn) >= asked {
                wide += 1;
                assert_eq!(means, drawn);
            } else {
                assert!((gap(&means) - asked).abs() < 1e-15);
                let order = |means: &[f64]| {
                    let mut order: Vec<usize> = (0..arms).collect();
                    order.sort_by(|a, b| means[*a].total_cmp(&means[*b]));
                    order
                };
                assert_eq!(order(&means), order(&drawn));
            }
        }
        assert!(wide < 10, "a gap of 1/16 among 100 uniforms has chance (15/16)^100, 0.16%");
    }

    #[test]
    fn any_gap_up_to_one_can_be_had() {
        for (mut means, asked, expected) in [
            (vec![0.5, 0.25], 0.5, vec![0.75, 0.25]),
            (vec![0.5, 0.25, 0.75], 1.0, vec![0.0, 0.0, 1.0]),
            (vec![0.0, 0.0], 1.0, vec![1.0, 0.0]),
            (vec![0.75, 0.875], 0.5, vec![0.5, 1.0]),
            (vec![0.3], 1.0, vec![0.3]),
        ] {
            widen(&mut means, asked);
            assert_eq!(means, expected);
        }
    }

    #[test]
    fn uniform_means_are_uniform() {
        let n = 10_000;
        let means = Table::uniform(4, n, 0.0).values;
        let mean = means.iter().sum::<f64>() / n as f64;
        assert!((mean - 0.5).abs() < 5.0 * (1.0 / 12.0 / n as f64).sqrt());
    }

    #[test]
    fn clients_scatter_around_the_common_means() {
        let clients = 10_000;
        let table = Table::given(&[vec![0.5, 0.0]]).scattered(4, clients);
        assert_eq!(table.values.len(), 2 * clients);
        let first: Vec<f64> = table.values.iter().step_by(2).copied().collect();
        let mean = first.iter().sum::<f64>() / clients as f64;
        let variance = first.iter().map(|x| (x - 0.5).powi(2)).sum::<f64>() / clients as f64;
        // The interval ends 2.5 deviations from the middle: clipping takes less than 2% off the variance.
        assert!((mean - 0.5).abs() < 5.0 * DEVIATION / (clients as f64).sqrt());
        let error = DEVIATION * DEVIATION * (2.0 / clients as f64).sqrt();
        assert!(
            variance < DEVIATION.powi(2) + 5.0 * error && variance > 0.98 * DEVIATION.powi(2) - 5.0 * error
        );
        let clipped = table.values.iter().skip(1).step_by(2).filter(|mean| **mean == 0.0).count() as f64;
        assert!((clipped - 0.5 * clients as f64).abs() < 5.0 * 0.5 * (clients as f64).sqrt());
    }

    #[test]
    fn a_mixture_lies_between_own_and_average() {
        let table = Table::given(&[vec![0.0, 1.0], vec![0.5, 0.5]]);
        assert_eq!(table.mixed(0.0).values, [0.25, 0.75]);
        assert_eq!(table.mixed(0.5).values, [0.125, 0.875, 0.375, 0.625]);
        assert_eq!(table.mixed(1.0), table);
        assert_eq!(table.best().values, [1.0, 0.5]);
    }

    #[test]
    fn a_table_is_read_from_text() {
        assert_eq!(parse("m.csv", "0.1, 1\n\n.5,2e-1\r\n").unwrap(), [[0.1, 1.0], [0.5, 0.2]]);
        let error = parse("m.csv", "0.1,1\n0.5,x\n").unwrap_err();
        assert_eq!(error.to_string(), "means: line 2 of m.csv has \"x\" where a number is expected");
    }
}
