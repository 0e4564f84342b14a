//! What someone outside a client sees of it: every message, when it came, and what is in it.

use std::hash::Hasher as _;

use cahoots_algorithms::private::{Body, Part, PrivateMsg};
use cahoots_core::wire::payload::Shape;
use cahoots_core::{Custom, Misbehaviour, Tick, wire};
use cahoots_privacy::audit::Transcript;
use cahoots_privacy::correlated;
use prost::Message as _;

/// Means of arms that are kept, at most.
const MEANS: usize = 16;

/// Reads a client's messages as they come.
///
/// Of growing sums an observer can form every one: uploads add up to it, reports are it. Releases number 1, 2, 4, 8,
/// ... are single nodes of a tree and hold the first observation; they are added up apart from the others. The score
/// that is trained on both finds out which tell most.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    structure: Vec<u64>,
    uploaded: Vec<f64>,
    reported: Vec<f64>,
    releases: u64,
    nodes: Vec<f64>,
    others: Vec<f64>,
    means: Vec<f64>,
    /// Each release of a sum that is sent as a whole.
    wholes: Vec<Vec<f64>>,
}

impl Observer {
    /// A message has come.
    pub fn look(&mut self, now: Tick, message: &wire::Payload) {
        if matches!(message.shape, Some(Shape::Custom(_)))
            && let Ok(Custom(Body::Release(parts))) = read(message)
        {
            return parts.iter().for_each(|part| self.whole(now, part));
        }
        match &message.shape {
            Some(Shape::LinearUpload(upload)) => {
                let count = upload.stats.as_ref().map_or(0, |stats| stats.count);
                self.structure.extend([now, 1, upload.number, upload.phase, upload.cluster.into(), count]);
                if let Some(stats) = &upload.stats {
                    let values: Vec<f64> = stats.gram.iter().chain(&stats.moment).copied().collect();
                    self.sum(upload.number, values);
                }
            }
            Some(Shape::ArmValues(values)) => {
                self.structure.extend([now, 3, values.number, values.phase]);
                self.structure.extend(values.arms.iter().map(|arm| u64::from(*arm)));
                let room = MEANS - self.means.len().min(MEANS);
                self.means.extend(values.values.iter().take(room));
            }
            other => {
                let mut hasher = std::collections::hash_map::DefaultHasher::new();
                hasher.write(format!("{other:?}").as_bytes());
                self.structure.extend([now, 0, hasher.finish()]);
            }
        }
    }

    /// Reports have no number: they are the whole sum. Uploads that are counted from 1 again go on from the last one.
    fn sum(&mut self, number: u64, values: Vec<f64>) {
        let value = if number == 0 {
            self.reported.clone_from(&values);
            values
        } else {
            if number == 1 && !self.reported.is_empty() {
                self.uploaded = std::mem::take(&mut self.reported);
            }
            add(&mut self.uploaded, &values);
            self.uploaded.clone()
        };
        self.releases += 1;
        add(if self.releases.is_power_of_two() { &mut self.nodes } else { &mut self.others }, &value);
    }

    /// A sum as a whole.
    fn whole(&mut self, now: Tick, part: &Part) {
        let stats = part.stats.get();
        self.structure.extend([now, 4, part.stream.into(), part.number.into(), stats.count]);
        if part.stream == 0 {
            self.wholes.push(stats.gram.packed().iter().chain(&stats.moment).copied().collect());
        }
    }

    /// All that was seen.
    pub fn transcript(self) -> Transcript {
        let mut numbers = self.nodes;
        numbers.extend(self.others);
        numbers.extend(self.means);
        numbers.extend(first_leaf(&self.wholes));
        Transcript { structure: self.structure, numbers }
    }
}

fn read(message: &wire::Payload) -> Result<PrivateMsg, Misbehaviour> {
    cahoots_core::message::decode(&message.encode_to_vec())
}

/// Of sums with correlated noise, `S = R y`: what independent noise was added to, `y = R^-1 S`, and of these all that tells
/// of the first leaf, which is in `y_k` with weight `c_(k-1)`. `R^-1` has `-c_j / (2j - 1)` on diagonal j.
fn first_leaf(wholes: &[Vec<f64>]) -> Vec<f64> {
    let weights: Vec<f64> = correlated::coefficients(wholes.len()).collect();
    let mut score = Vec::new();
    for (k, weight) in weights.iter().enumerate() {
        for (j, c) in weights[..=k].iter().enumerate() {
            let inverse = -c / (2.0 * j as f64 - 1.0);
            let part: Vec<f64> = wholes[k - j].iter().map(|value| weight * inverse * value).collect();
            add(&mut score, &part);
        }
    }
    score
}

fn add(to: &mut Vec<f64>, values: &[f64]) {
    if to.len() < values.len() {
        to.resize(values.len(), 0.0);
    }
    to.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}
