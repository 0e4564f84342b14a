//! How long nobody led: seen from outside, by how the log grows.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use cahoots_node::control::{self, Order};

use super::files::store;

/// How often coordinators are asked.
const EVERY: Duration = Duration::from_millis(50);

/// What one coordinator was last heard to say, and since when the log has been that long.
#[derive(Default)]
struct Seen {
    longest: Duration,
    leaders: u64,
}

/// Watches a log until it is asked for the longest time in which it did not grow. Clients always have something to say, and a leader
/// without anything to write says so every few seconds.
pub(super) struct Silence {
    stop: Arc<AtomicBool>,
    watching: JoinHandle<Seen>,
}

impl Silence {
    /// Of these coordinators.
    pub(super) fn watch(files: &[PathBuf]) -> Silence {
        let stores: Vec<PathBuf> = files.iter().map(|file| store(file)).collect();
        let stop: Arc<AtomicBool> = Arc::default();
        let told = stop.clone();
        let watching = std::thread::spawn(move || {
            let (mut seen, mut last, mut since) = (Seen::default(), 0, Instant::now());
            while !told.load(Ordering::Relaxed) {
                for store in &stores {
                    let Ok(Some(status)) = control::ask(store, &Order::Status) else { continue };
                    let replica = &status["replica"];
                    seen.leaders = seen.leaders.max(replica["epoch"].as_u64().unwrap_or(0));
                    let sequence = replica["sequence"].as_u64().unwrap_or(0);
                    if sequence > last {
                        seen.longest = seen.longest.max(since.elapsed());
                        (last, since) = (sequence, Instant::now());
                    }
                }
                std::thread::sleep(EVERY);
            }
            seen
        });
        Silence { stop, watching }
    }

    /// The longest time in which nothing was merged, in words.
    pub(super) fn longest(self) -> String {
        self.stop.store(true, Ordering::Relaxed);
        let seen = self.watching.join().unwrap_or_default();
        format!(
            "nothing was merged for {:.1} s at the longest (a leader's death takes 2 to 4 s, a server's election 4 to 9 s); {} leaders in turn",
            seen.longest.as_secs_f64(),
            seen.leaders
        )
    }
}
