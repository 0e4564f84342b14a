//! Many pairs at once, on several threads where that pays. Each pair is decided
//! on its own, so the answers do not depend on how the work was divided.

use std::num::NonZero;
use std::thread;

use super::{HomogeneityTest, Sample};

/// Fewer pairs than this are not worth a thread (a pair takes a microsecond or two).
const PAIRS_PER_THREAD: usize = 4096;

impl HomogeneityTest {
    /// [`HomogeneityTest::similar`] for each of these pairs of samples, on as many threads as the host
    /// has and the work is worth.
    pub fn similar_pairs(&self, samples: &[&Sample], pairs: &[(u32, u32)]) -> Vec<bool> {
        let worth = pairs.len() / PAIRS_PER_THREAD;
        // Asking the host costs more than a small batch.
        let threads = if worth > 1 { thread::available_parallelism().map_or(1, NonZero::get) } else { 1 };
        self.similar_pairs_on(threads.min(worth), samples, pairs)
    }

    /// The same on this many threads.
    pub fn similar_pairs_on(&self, threads: usize, samples: &[&Sample], pairs: &[(u32, u32)]) -> Vec<bool> {
        let similar = |&(i, j): &(u32, u32)| self.similar(samples[i as usize], samples[j as usize]);
        let all = |pairs: &[(u32, u32)]| pairs.iter().map(similar).collect::<Vec<bool>>();
        if threads <= 1 {
            return all(pairs);
        }
        let part = pairs.len().div_ceil(threads).max(1);
        thread::scope(|scope| {
            let parts: Vec<_> = pairs.chunks(part).map(|part| scope.spawn(move || all(part))).collect();
            let answers = parts.into_iter().map(|part| part.join());
            answers
                .flat_map(|answer| answer.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }
}
