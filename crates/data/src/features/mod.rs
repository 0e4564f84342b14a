//! Features of items from the words that were said of them: TF-IDF, brought down to a few dimensions.

mod cache;
mod subspace;
mod symmetric;
#[cfg(test)]
mod tests;
mod tfidf;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use cache::{Cache, Kept};
pub use subspace::{Leading, RESIDUAL, leading};
pub use tfidf::{Sparse, tfidf};

use crate::datasets::Dataset;

/// How words become features.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// Principal components of the centred weights, all divided by the largest norm: no item is longer than 1.
    #[default]
    Gob,
    /// Truncated singular value decomposition without centring, columns standardised: items are about sqrt(dim) long.
    Svd,
}

impl Variant {
    /// As experiment files name it.
    pub fn name(self) -> &'static str {
        match self {
            Variant::Gob => "gob",
            Variant::Svd => "svd",
        }
    }
}

/// The features of all items.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// Features of an item.
    pub dim: usize,
    /// Row by row.
    pub values: Vec<f64>,
    /// The part of the variance (of the squares, for `svd`) that they keep.
    pub kept: f64,
    /// How far the directions are from exact ones.
    pub residual: f64,
    /// Rounds that it took to find them.
    pub rounds: usize,
}

impl Features {
    /// An item's.
    pub fn of(&self, item: usize) -> &[f64] {
        &self.values[item * self.dim..][..self.dim]
    }

    /// Computes them. `progress` sees round and residual.
    pub fn compute(
        set: &Dataset,
        variant: Variant,
        dim: usize,
        progress: &mut dyn FnMut(usize, f64),
    ) -> Features {
        let weights = tfidf(&set.documents);
        let means = (variant == Variant::Gob).then(|| weights.means());
        let found = leading(&weights, means.as_deref(), dim, progress);
        let rows = weights.rows();
        let narrow = found.project(&weights, means.as_deref());
        let mut values = vec![0.0; rows * dim];
        // Where there are fewer directions than were asked for, the rest is 0.
        if found.count > 0 {
            for (row, from) in values.chunks_exact_mut(dim).zip(narrow.chunks_exact(found.count)) {
                row[..found.count].copy_from_slice(from);
            }
        }
        match variant {
            Variant::Gob => scale(&mut values, dim),
            Variant::Svd => standardise(&mut values, dim, found.count),
        }
        let centred: f64 = means.iter().flatten().map(|mean| mean * mean).sum();
        let whole = weights.square() - rows as f64 * centred;
        let kept = if whole > 0.0 { found.values.iter().sum::<f64>() / whole } else { 0.0 };
        Features { dim, values, kept, residual: found.residual, rounds: found.rounds }
    }
}

/// Divides all rows by the largest norm.
fn scale(values: &mut [f64], dim: usize) {
    let norm = |row: &[f64]| row.iter().map(|value| value * value).sum::<f64>().sqrt();
    let largest = values.chunks_exact(dim).map(norm).fold(0.0, f64::max);
    if largest > 0.0 {
        values.iter_mut().for_each(|value| *value /= largest);
    }
}

/// Columns of mean 0 and standard deviation 1.
fn standardise(values: &mut [f64], dim: usize, columns: usize) {
    let rows = (values.len() / dim) as f64;
    for column in 0..columns {
        let own = || (column..values.len()).step_by(dim);
        let mean = own().map(|at| values[at]).sum::<f64>() / rows;
        let variance = own().map(|at| (values[at] - mean) * (values[at] - mean)).sum::<f64>() / rows;
        let deviation = if variance > 0.0 { variance.sqrt() } else { 1.0 };
        for at in (column..values.len()).step_by(dim) {
            values[at] = (values[at] - mean) / deviation;
        }
    }
}

type Known = BTreeMap<(String, Variant, usize), Arc<Features>>;

static MEMORY: Mutex<Known> = Mutex::new(BTreeMap::new());

/// The features of a set: from memory, from the cache, or computed, and then kept in both.
pub fn features(
    set: &Dataset,
    variant: Variant,
    dim: usize,
    cache: Option<&Cache>,
    progress: &mut dyn FnMut(usize, f64),
) -> Arc<Features> {
    let key = (set.content.clone(), variant, dim);
    // Held meanwhile: whoever else wants the same waits instead of computing it, too.
    let mut memory = MEMORY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = memory.get(&key) {
        return known.clone();
    }
    let found = cache.and_then(|cache| cache.get(set, variant, dim));
    let features = Arc::new(found.unwrap_or_else(|| {
        let features = Features::compute(set, variant, dim, progress);
        if let Some(cache) = cache {
            cache.put(set, variant, &features);
        }
        features
    }));
    memory.insert(key, features.clone());
    features
}
