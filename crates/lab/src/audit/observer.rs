//! What someone outside a client sees of it: every message, when it came, and what is in it.

use std::any::Any;
use std::hash::Hasher as _;

use cahoots_algorithms::private::{Body, PrivateMsg};
use cahoots_core::wire::payload::Shape;
use cahoots_core::{LinearStats, Message, Tick, wire};
use cahoots_privacy::audit::Transcript;
use cahoots_privacy::correlated::coefficients;

/// Means of arms that are kept, at most.
const MEANS: usize = 16;

/// Reads a client's messages as they come.
///
/// Of growing sums an observer can form every one: uploads add up to it, reports are it. Releases number 1, 2, 4, 8,
/// ... are single nodes of a tree and hold the first observation; they are added up apart from the others. Sums with the
/// noise of a square root are taken back to what got noise, and what got the first observation is added up with its own
/// weights. The score that is trained on both finds out which tell most.
#[derive(Clone, Debug, Default)]
pub struct Observer {
    structure: Vec<u64>,
    uploaded: Vec<f64>,
    reported: Vec<f64>,
    releases: u64,
    nodes: Vec<f64>,
    others: Vec<f64>,
    means: Vec<f64>,
    /// Of the first of a client's sums, release by release: what got noise.
    noised: Vec<Vec<f64>>,
    /// Released sums have the noise of a tree, and not that of a square root.
    trees: bool,
}

impl Observer {
    /// One who knows that released sums have the noise of trees.
    pub fn of_trees() -> Observer {
        Observer { trees: true, ..Observer::default() }
    }

    /// A message has come.
    pub fn look<M: Message>(&mut self, now: Tick, message: &M) {
        match (message as &dyn Any).downcast_ref::<PrivateMsg>() {
            Some(cahoots_core::Custom(Body::Release(parts))) => {
                parts.iter().for_each(|part| self.release(now, part.stream, part.number, part.stats.get()));
            }
            _ => self.look_at(now, &message.to_wire()),
        }
    }

    /// A whole sum has come, for the `number`-th time.
    pub(super) fn release(&mut self, now: Tick, stream: u32, number: u32, stats: &LinearStats) {
        self.structure.extend([now, 9, stream.into(), number.into(), stats.count]);
        if stream == 0 {
            let values = stats.gram.packed().iter().chain(&stats.moment).copied().collect();
            if self.trees { self.sum(0, values) } else { self.root_sum(values) }
        }
    }

    fn look_at(&mut self, now: Tick, message: &wire::Payload) {
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

    /// `y_k = S_k - sum over j < k of c_(k-j) y_j`, in which the first leaf has weight `c_(k-1)`.
    fn root_sum(&mut self, mut value: Vec<f64>) {
        let number = self.noised.len();
        let weights: Vec<f64> = coefficients(number + 1).collect();
        for (earlier, noised) in self.noised.iter().enumerate() {
            let weight = weights[number - earlier];
            value.iter_mut().zip(noised).for_each(|(value, noised)| *value -= weight * noised);
        }
        let weighted: Vec<f64> = value.iter().map(|value| weights[number] * value).collect();
        add(&mut self.nodes, &weighted);
        add(&mut self.others, &value);
        self.noised.push(value);
    }

    /// All that was seen.
    pub fn transcript(self) -> Transcript {
        let mut numbers = self.nodes;
        numbers.extend(self.others);
        numbers.extend(self.means);
        Transcript { structure: self.structure, numbers }
    }
}

fn add(to: &mut Vec<f64>, values: &[f64]) {
    if to.len() < values.len() {
        to.resize(values.len(), 0.0);
    }
    to.iter_mut().zip(values).for_each(|(sum, value)| *sum += value);
}
