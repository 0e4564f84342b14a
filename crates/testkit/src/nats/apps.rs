//! Clients that know several coordinators, and the apps beside them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use toml::{Table, Value as Toml};

use super::coordinators::Coordinators;
use crate::soak::{Cluster, Diary, Merged, Powers};

/// Of the models that are asked for the sums behind them.
const RIDGE: f64 = 1.0;
/// So large that an interval tells how many rewards there were, however large their sum.
const NOISE: f64 = 1e6;
/// Standard deviations to either side of an interval, as the page shows it.
const SIDES: f64 = 1.959_963_984_540_054;
/// A mean of up to so many powers of two, as a page shows it, still gives their exact sum.
pub const POWERS: usize = 30;

/// Clients as processes, and apps as threads.
pub struct Apps {
    cluster: Cluster,
    powers: Powers,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Result<Diary, String>>>,
}

/// What coordinators must be told so that rewards can be told apart. There is a place for one client more than those with an app.
pub fn serve(powers: &Powers) -> Result<Table, String> {
    let (users, dim) = (powers.clients + 1, powers.dim());
    let text = format!(
        "[setting]\nusers = {users}\ndim = {dim}\narms = 1\nreward_noise = {NOISE:?}\n\
         [algorithm]\nkind = \"async-linucb\"\nridge = {RIDGE:?}\nupload_ratio = 1.0\ndownload_ratio = 1.5\n[limits]\nidle = 2.0\n"
    );
    toml::from_str(&text).map_err(|e| e.to_string())
}

impl Apps {
    /// Starts the clients, and then an app beside each that gives a reward and rests for `pace`, again and again.
    pub fn start(
        exe: &Path,
        folder: &Path,
        coordinators: &Coordinators,
        powers: Powers,
        pace: Duration,
        patience: Duration,
    ) -> Result<Apps, String> {
        let mut client = Table::new();
        let elsewhere = coordinators.addresses().iter().any(|url| !url.starts_with("http://127."));
        client.insert("plain_text".into(), Toml::Boolean(elsewhere));
        let addresses = coordinators.addresses().into_iter().map(Toml::String).collect();
        client.insert("coordinator".into(), Toml::Array(addresses));
        // Node 0 of this cluster is never started: coordinators are elsewhere.
        let mut cluster = Cluster::new(exe, folder, powers.clients, Table::new(), &client, 0)?;
        for i in 1..=powers.clients {
            cluster.start(i)?;
            cluster.process(i).listening()?;
        }
        let (stop, deadline) = (Arc::new(AtomicBool::new(false)), Instant::now() + patience);
        let threads = (0..powers.clients).map(|i| {
            let (app, stop) = (cluster.app(i), stop.clone());
            std::thread::spawn(move || powers.live(i, &app, &stop, deadline, pace))
        });
        let threads = threads.collect();
        Ok(Apps { cluster, powers, stop, threads })
    }

    /// kill -9 for a client, which is started again at once.
    pub fn kill_client(&mut self, i: usize) -> Result<(), String> {
        self.cluster.process(i + 1).kill();
        self.cluster.start(i + 1)
    }

    /// Are all apps done with all they had to say?
    pub fn done(&self) -> bool {
        self.threads.iter().all(JoinHandle::is_finished)
    }

    /// Apps rest, and clients get rid of all they have; what each app did.
    pub fn finish(&mut self, patience: Duration) -> Result<Vec<Diary>, String> {
        self.stop.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut self.threads);
        let joined = threads.into_iter().map(|app| app.join().map_err(|_| "an app panicked".to_string())?);
        let diaries: Result<Vec<Diary>, String> = joined.collect();
        let diaries = diaries?;
        self.cluster.settle(patience)?;
        Ok(diaries)
    }

    /// Asks the clients to stop.
    pub fn stop(&mut self) -> Result<(), String> {
        for i in 1..=self.powers.clients {
            let status = self.cluster.process(i).stop()?;
            if !status.success() {
                let complaints = self.cluster.process(i).complaints();
                return Err(format!("client {} ended with {status}: {complaints}", i - 1));
            }
        }
        Ok(())
    }
}

/// What a coordinator has merged, from the model that its page shows: arms are axes, so each weight is the mean of its own rewards,
/// shrunk by the ridge, and its interval tells how many they were.
pub fn merged(model: &Value) -> Result<Vec<Merged>, String> {
    let weights = model["models"][0]["weights"].as_array().ok_or_else(|| format!("no weights in {model}"))?;
    let one = |weight: &Value| {
        let number = |key: &str| weight[key].as_f64().ok_or_else(|| format!("no {key} in {weight}"));
        let width = (number("high")? - number("low")?) / (2.0 * SIDES * NOISE);
        let seen = (1.0 / (width * width)).round();
        // The sum is of whole numbers.
        Ok(Merged { sum: (number("value")? * seen).round(), count: seen - RIDGE })
    };
    weights.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use cahoots_core::{Learnt, LinearStats};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_model_gives_the_sums_behind_it_to_the_last_bit() {
        let mut stats = LinearStats::empty(3);
        let values = |power: usize| (1u64 << power) as f64;
        (0..POWERS).for_each(|power| stats.observe(&[1.0, 0.0, 0.0], values(power)));
        [0, 7, 29, 29].into_iter().for_each(|power| stats.observe(&[0.0, 0.0, 1.0], values(power)));
        let weights = Learnt::linear(&stats, RIDGE).weights.into_iter().map(|estimate| {
            let half = SIDES * estimate.width.unwrap() * NOISE;
            json!({ "value": estimate.value, "low": estimate.value - half, "high": estimate.value + half })
        });
        let model = json!({ "models": [{ "weights": weights.collect::<Vec<_>>() }] });
        let model: Value = serde_json::from_str(&model.to_string()).unwrap();
        let of = |at: usize, count: usize| Merged { sum: stats.moment[at], count: count as f64 };
        assert_eq!(merged(&model).unwrap(), [of(0, POWERS), of(1, 0), of(2, 4)]);
        // And a reward that is there twice is noticed.
        let powers = Powers { clients: 1, coordinates: 3, powers: POWERS };
        let error = powers.balance(&[Diary::default()], &merged(&model).unwrap()).unwrap_err();
        assert!(error.contains("twice"), "{error}");
    }
}
