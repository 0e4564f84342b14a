//! Rewards that can be told apart in a sum: each is a power of two in a coordinate that few share, so that the merged sum shows which
//! rewards were merged, and how often.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use super::cluster::App;

/// Which rewards there are.
#[derive(Clone, Copy, Debug)]
pub struct Powers {
    /// Number of clients.
    pub clients: usize,
    /// Coordinates per client.
    pub coordinates: usize,
    /// Powers of two per coordinate: their sum is exact.
    pub powers: usize,
}

/// What one app did: rewards by number.
#[derive(Debug, Default)]
pub struct Diary {
    /// Rewards that were sent.
    pub sent: BTreeSet<usize>,
    /// Rewards that were acknowledged.
    pub acknowledged: BTreeSet<usize>,
}

/// What was merged in a coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Merged {
    /// The sum of rewards.
    pub sum: f64,
    /// How many they were.
    pub count: f64,
}

/// What came of all rewards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// Rewards that apps sent.
    pub sent: usize,
    /// Rewards that were acknowledged.
    pub acknowledged: usize,
    /// Rewards that were merged, each once.
    pub merged: usize,
}

impl Powers {
    /// Features of an arm.
    pub fn dim(&self) -> usize {
        self.clients * self.coordinates
    }

    /// The life of an app: decide, reward, again when there was no answer, and a pause after each.
    pub fn live(
        &self,
        client: usize,
        app: &App,
        stop: &AtomicBool,
        deadline: Instant,
        pace: Duration,
    ) -> Result<Diary, String> {
        let mut diary = Diary::default();
        let late = || Instant::now() > deadline;
        for reward in 0..self.coordinates * self.powers {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut arm = vec![0.0; self.dim()];
            arm[client * self.coordinates + reward / self.powers] = 1.0;
            let value = (1u64 << (reward % self.powers)) as f64;
            let id = loop {
                match app.post("/decide", &json!({ "arms": [arm] })) {
                    Ok((200, answer)) => break answer["id"].clone(),
                    Ok((503, _)) | Err(_) if !late() => std::thread::sleep(Duration::from_millis(2)),
                    other => return Err(format!("decide: {other:?}")),
                }
            };
            diary.sent.insert(reward);
            loop {
                match app.post("/reward", &json!({ "id": id, "reward": value })) {
                    Ok((200, _)) => {
                        diary.acknowledged.insert(reward);
                        break;
                    }
                    // The decision died with the process; so did any reward for it.
                    Ok((404, _)) => break,
                    Ok((503, _)) | Err(_) if !late() => std::thread::sleep(Duration::from_millis(2)),
                    other => return Err(format!("reward: {other:?}")),
                }
            }
            std::thread::sleep(pace);
        }
        Ok(diary)
    }

    /// Holds what was merged, coordinate by coordinate, against what each app did.
    pub fn balance(&self, diaries: &[Diary], merged: &[Merged]) -> Result<Balance, String> {
        let mut balance = Balance::default();
        for (client, diary) in diaries.iter().enumerate() {
            let merged = self.of_client(client, merged)?;
            if let Some(lost) = diary.acknowledged.difference(&merged).next() {
                return Err(format!("reward {lost} of client {client} was acknowledged and never merged"));
            }
            if let Some(made_up) = merged.difference(&diary.sent).next() {
                return Err(format!("reward {made_up} of client {client} was merged and never sent"));
            }
            balance.sent += diary.sent.len();
            balance.acknowledged += diary.acknowledged.len();
            balance.merged += merged.len();
        }
        Ok(balance)
    }

    /// The rewards of one client that are in the sum, each once.
    fn of_client(&self, client: usize, merged: &[Merged]) -> Result<BTreeSet<usize>, String> {
        let mut found = BTreeSet::new();
        for coordinate in 0..self.coordinates {
            let Merged { sum, count } = merged[client * self.coordinates + coordinate];
            let bits = sum as u64;
            if bits as f64 != sum || f64::from(bits.count_ones()) != count {
                return Err(format!(
                    "client {client}: {count} rewards give {sum}: one was merged twice or in part"
                ));
            }
            let powers = (0..self.powers).filter(|power| bits >> power & 1 == 1);
            found.extend(powers.map(|power| coordinate * self.powers + power));
        }
        Ok(found)
    }
}
