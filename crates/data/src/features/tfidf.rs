//! Words as weights: term frequency times inverse document frequency, every item's row of unit length.

use crate::datasets::Documents;

/// A sparse matrix, row by row: one row per item, one column per word.
#[derive(Clone, Debug, PartialEq)]
pub struct Sparse {
    /// How many columns there are.
    pub columns: usize,
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl Sparse {
    /// Of rows of (column, value).
    pub fn new(columns: usize, rows: impl Iterator<Item = Vec<(u32, f64)>>) -> Sparse {
        let (mut starts, mut entries) = (vec![0], Vec::new());
        for row in rows {
            entries.extend(row);
            starts.push(entries.len());
        }
        Sparse { columns, starts, entries }
    }

    /// How many rows there are.
    pub fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// A row: (column, value) in the order of columns.
    pub fn row(&self, row: usize) -> &[(u32, f64)] {
        &self.entries[self.starts[row]..self.starts[row + 1]]
    }

    /// The mean of each column.
    pub fn means(&self) -> Vec<f64> {
        let mut means = vec![0.0; self.columns];
        for (column, value) in &self.entries {
            means[*column as usize] += value;
        }
        let rows = self.rows() as f64;
        means.iter_mut().for_each(|mean| *mean /= rows);
        means
    }

    /// The sum of the squares of all entries.
    pub fn square(&self) -> f64 {
        self.entries.iter().map(|(_, value)| value * value).sum()
    }
}

/// tf (ln((1 + n) / (1 + df)) + 1), rows of unit length; items without words have rows of zeros.
pub fn tfidf(documents: &Documents) -> Sparse {
    let items = documents.starts.len() - 1;
    let mut frequency = vec![0u32; documents.words.len()];
    for (word, _) in &documents.entries {
        frequency[*word as usize] += 1;
    }
    let idf: Vec<f64> =
        frequency.iter().map(|df| libm::log((1.0 + items as f64) / (1.0 + f64::from(*df))) + 1.0).collect();
    let row = |item: usize| {
        let weights =
            documents.of(item).iter().map(|(word, times)| (*word, f64::from(*times) * idf[*word as usize]));
        let mut weights: Vec<(u32, f64)> = weights.collect();
        let length = weights.iter().map(|(_, weight)| weight * weight).sum::<f64>().sqrt();
        weights.iter_mut().for_each(|(_, weight)| *weight /= length);
        weights
    };
    Sparse::new(documents.words.len(), (0..items).map(row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_those_of_the_formula() {
        // Three items: "a a b", "b", nothing.
        let documents = Documents {
            words: vec!["a".into(), "b".into()],
            starts: vec![0, 2, 3, 3],
            entries: vec![(0, 2), (1, 1), (1, 5)],
        };
        let weights = tfidf(&documents);
        let (a, b) = (2.0 * (2f64.ln() + 1.0), (4f64 / 3.0).ln() + 1.0);
        let length = (a * a + b * b).sqrt();
        let row = weights.row(0);
        assert!((row[0].1 - a / length).abs() < 1e-15 && (row[1].1 - b / length).abs() < 1e-15, "{row:?}");
        assert_eq!(weights.row(1), [(1, 1.0)]);
        assert_eq!(weights.row(2), []);
        assert_eq!(weights.means()[1], (row[1].1 + 1.0) / 3.0);
        assert!((weights.square() - 2.0).abs() < 1e-15);
    }
}
