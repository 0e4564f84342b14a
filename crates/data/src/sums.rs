//! The sums that a linear model learns from, of decisions that were logged: a row per decision, with the features of the
//! arm that was taken and its reward. Read once, in memory that does not grow with the file.

use std::path::Path;

use cahoots_core::{LARGEST, LinearStats};

use crate::rows::{Format, Row, RowError, Rows};
use crate::say::Told;

/// A feature whose every value is 1, for those who use one; unless a column has that name.
pub const CONSTANT: &str = "1";

/// Which columns are what.
#[derive(Clone, Debug)]
pub struct Columns {
    /// The features, in the order that clients give them in; [`CONSTANT`] is a feature without a column.
    pub features: Vec<String>,
    /// The reward.
    pub reward: String,
    /// Columns whose values are multiplied by a number.
    pub scales: Vec<(String, f64)>,
}

/// What a log gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Sums {
    /// The sums, that of contexts included.
    pub stats: LinearStats,
    /// Rows of which a cell was empty, and which were left out.
    pub left_out: u64,
}

/// A cell and what it is multiplied by; without a place, the constant.
struct Column {
    at: Option<usize>,
    scale: f64,
}

/// Adds up a log.
pub fn of_log(path: &Path, format: &Format, columns: &Columns) -> Result<Sums, RowError> {
    let rows = Rows::open(path, format)?;
    let wrong = |problem: String| RowError { file: path.display().to_string(), place: None, problem };
    let known = rows.columns().to_vec();
    let constant = |name: &str| name == CONSTANT && !known.iter().any(|column| column == name);
    if let Some((name, _)) =
        columns.scales.iter().find(|(name, _)| *name != columns.reward && !columns.features.contains(name))
    {
        return Err(wrong(format!("--scale names `{name}`, which is neither a feature nor the reward")));
    }
    let scale = |name: &str| {
        columns.scales.iter().find(|(scaled, _)| scaled == name).map_or(1.0, |(_, scale)| *scale)
    };
    let mut read: Vec<&str> = Vec::new();
    let mut features = Vec::new();
    for name in &columns.features {
        let at = if constant(name) { None } else { Some(index_of(&mut read, name)) };
        features.push(Column { at, scale: scale(name) });
    }
    let reward = Column { at: Some(index_of(&mut read, &columns.reward)), scale: scale(&columns.reward) };
    let mut rows = rows.select(&read)?;
    let mut sums = Sums { stats: LinearStats::empty_with_contexts(features.len()), left_out: 0 };
    let mut told = Told::new(path.display().to_string());
    let mut context = vec![0.0; features.len()];
    while let Some(row) = rows.next_row()? {
        match observation(&row, &features, &reward, &mut context)? {
            Some(reward) => sums.stats.observe(&context, reward),
            None => sums.left_out += 1,
        }
        told.now_and_then(|| format!("{} rows", sums.stats.count + sums.left_out));
    }
    sums.left_out += rows.skipped();
    if sums.stats.is_empty() {
        return Err(wrong("it has no row with all its features and a reward".into()));
    }
    let all = sums.stats.gram.packed().iter().chain(&sums.stats.moment);
    if !all.into_iter().all(|value| value.is_finite()) {
        return Err(wrong("its numbers are too large to be added up: --scale makes them smaller".into()));
    }
    Ok(sums)
}

/// Where a column stands among those that are read.
fn index_of<'a>(read: &mut Vec<&'a str>, name: &'a str) -> usize {
    read.iter().position(|known| *known == name).unwrap_or_else(|| {
        read.push(name);
        read.len() - 1
    })
}

/// The reward of a row, its features in `context`; `None` where a cell is empty.
fn observation(
    row: &Row<'_>,
    features: &[Column],
    reward: &Column,
    context: &mut [f64],
) -> Result<Option<f64>, RowError> {
    let value = |column: &Column| -> Result<Option<f64>, RowError> {
        let Some(at) = column.at else { return Ok(Some(column.scale)) };
        let Some(number) = row.number(at)? else { return Ok(None) };
        let scaled = number * column.scale;
        if scaled.abs() <= LARGEST {
            return Ok(Some(scaled));
        }
        Err(row
            .wrong(format!("{scaled:e} is beyond what can be learned from: --scale makes a column smaller")))
    };
    for (feature, column) in context.iter_mut().zip(features) {
        match value(column)? {
            Some(number) => *feature = number,
            None => return Ok(None),
        }
    }
    value(reward)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, features: &[&str], scales: &[(&str, f64)]) -> Result<Sums, RowError> {
        of_format(text, &Format::default(), features, scales)
    }

    fn of_format(
        text: &str,
        format: &Format,
        features: &[&str],
        scales: &[(&str, f64)],
    ) -> Result<Sums, RowError> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let columns = Columns {
            features: features.iter().map(|name| (*name).into()).collect(),
            reward: "paid".into(),
            scales: scales.iter().map(|(name, scale)| ((*name).into(), *scale)).collect(),
        };
        of_log(file.path(), format, &columns)
    }

    const LOG: &str = "who,a,b,paid\nx,1,2,0.5\ny,3,,1\nz,-1,4,2\n";

    #[test]
    fn rows_add_up_in_the_order_that_is_named_and_empty_cells_are_counted() {
        let sums = of(LOG, &["b", "1", "a"], &[("b", 0.5), ("paid", 2.0)]).unwrap();
        let mut expected = LinearStats::empty_with_contexts(3);
        expected.observe(&[1.0, 1.0, 1.0], 1.0);
        expected.observe(&[2.0, 1.0, -1.0], 4.0);
        assert_eq!(sums, Sums { stats: expected, left_out: 1 });
        assert_eq!(
            of(LOG, &["a", "a"], &[]).unwrap().stats.count,
            3,
            "one that nobody asks for may be empty"
        );
    }

    #[test]
    fn a_column_called_1_is_a_column() {
        // A first line with a number in it is taken for data, unless it is said to be names.
        let named = Format { header: Some(true), ..Format::default() };
        let sums = of_format("1,paid\n5,1\n", &named, &["1"], &[]).unwrap();
        assert_eq!(sums.stats.contexts[0], 5.0);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let cases = [
            (of(LOG, &["a", "c"], &[]), "there is no column `c`"),
            (of(LOG, &["who"], &[]), "line 2: column `who` is \"x\", which is no number"),
            (of(LOG, &["a"], &[("b", 2.0)]), "--scale names `b`"),
            (of("a,paid\n1,\n", &["a"], &[]), "no row with all its features"),
            (of("a,paid\n1e31,1\n", &["a"], &[]), "line 2: 1e31 is beyond"),
            (of("a,paid\ninf,1\n", &["a"], &[]), "only finite numbers"),
        ];
        for (result, words) in cases {
            let said = result.unwrap_err().to_string();
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}
