//! `cahoots plan --privacy`: does private federation pay, and from how many observations on?
//!
//! With its own exact data a client knows a direction as well as `n / L` of `n` observations over `d` directions tell
//! (L clients): precision `n / (L d s^2)`, s^2 the variance of a reward. The others' releases, with noise of variance v
//! in each client's sum and the same again from the Gram matrix's noise times what is to be learned, add
//! `(n / d)^2 / (s^2 n / d + 2 L v)`. Where noise is what limits, that is more than one's own from `n >= 2 v d / s^2` on;
//! under secure aggregation, with the noise of one client in the sum of all (and a little more for those who may be
//! missing or collude), from `n L >= 2 v d / s^2` on.

use cahoots_core::ParamError;
use cahoots_lab::results::grouped;
use cahoots_privacy::aggregation::Terms;
use cahoots_privacy::calibration::{Stated, sensitivity};
use cahoots_privacy::{Calibration, Randomised, Schedule};
use serde_json::{Value, json};

use crate::print;

/// What is asked.
pub(super) struct Question<'a> {
    pub(super) clients: u32,
    pub(super) dim: usize,
    pub(super) horizon: u64,
    pub(super) clusters: u32,
    pub(super) epsilons: &'a [f64],
    pub(super) delta: f64,
    pub(super) releases: u32,
    /// Rewards lie within plus or minus this.
    pub(super) reward: f64,
    pub(super) reward_noise: f64,
}

/// The answer for one epsilon.
pub(super) struct Answer {
    epsilon: f64,
    /// Deviation of the noise in one client's sum, and in that of a cluster.
    noise: f64,
    cluster_noise: f64,
    /// Observations of a cluster from which on it pays.
    from: f64,
    aggregated_from: f64,
    /// The same deviation where every observation gets noise of its own.
    nobody_noise: f64,
    pays: bool,
    aggregated_pays: bool,
}

impl Question<'_> {
    fn per_cluster(&self) -> f64 {
        self.horizon as f64 / f64::from(self.clusters)
    }

    pub(super) fn answers(&self) -> Result<Vec<Answer>, ParamError> {
        if self.clusters == 0 || self.clusters > self.clients {
            return Err(ParamError::new("--clusters", format!("must be 1 to {}, the clients", self.clients)));
        }
        ParamError::positive("--reward-noise", self.reward_noise)?;
        self.epsilons.iter().map(|&epsilon| self.answer(epsilon)).collect()
    }

    fn answer(&self, epsilon: f64) -> Result<Answer, ParamError> {
        let budget = Stated { dp_epsilon: epsilon, dp_delta: Some(self.delta), large_delta: true }
            .budget(Calibration::Analytic)?;
        let sensitivity = sensitivity(self.reward);
        let variance = Schedule::new(&budget, self.releases, sensitivity, self.dim)?.variance(self.releases);
        let nobody = Randomised::new(&budget, sensitivity, self.dim)?;
        let members = (f64::from(self.clients) / f64::from(self.clusters)).max(1.0);
        let from = 2.0 * variance * self.dim as f64 / (self.reward_noise * self.reward_noise);
        // Every group has the noise of one client, in shares of those who are there and honest for certain.
        let groups = Terms::USUAL.split(members as u32);
        let wholes: f64 = groups.iter().map(|&n| f64::from(n) / f64::from(Terms::USUAL.honest(n))).sum();
        let aggregated_from = if groups.is_empty() { f64::INFINITY } else { from * wholes / members };
        let observations = self.per_cluster();
        Ok(Answer {
            epsilon,
            noise: variance.sqrt(),
            cluster_noise: (members * variance).sqrt(),
            from,
            aggregated_from,
            nobody_noise: nobody.variance(observations as u64).sqrt(),
            pays: observations >= from,
            aggregated_pays: observations >= aggregated_from,
        })
    }
}

pub(super) fn as_json(question: &Question<'_>, answers: &[Answer]) -> Value {
    let rows: Vec<Value> = answers
        .iter()
        .map(|answer| {
            json!({
                "dp_epsilon": answer.epsilon, "noise": answer.noise, "cluster_noise": answer.cluster_noise,
                "pays_from": answer.from, "pays": answer.pays,
                "aggregated_pays_from": answer.aggregated_from, "aggregated_pays": answer.aggregated_pays,
                "trust_nobody_noise": answer.nobody_noise,
            })
        })
        .collect();
    json!({
        "clients": question.clients, "dim": question.dim, "horizon": question.horizon, "clusters": question.clusters,
        "dp_delta": question.delta, "releases": question.releases, "observations_per_cluster": question.per_cluster(),
        "privacy": rows,
    })
}

pub(super) fn text(question: &Question<'_>, answers: &[Answer]) -> String {
    let mut text = format!(
        "{} clients, {} features, {} decisions, {} of them in each of {} cluster(s)\nnoise for {} releases, rewards \
         within {}, delta {}\n\n",
        grouped(f64::from(question.clients), 0),
        question.dim,
        grouped(question.horizon as f64, 0),
        grouped(question.per_cluster(), 0),
        question.clusters,
        question.releases,
        question.reward,
        question.delta,
    );
    let titles = ["epsilon", "noise", "noise", "pays from", "pays", "pays from", "pays", "noise, if users"];
    let below = ["", "(client)", "(cluster)", "(per client)", "", "(aggregated)", "", "trust nobody"];
    let mut rows: Vec<Vec<String>> = [titles, below].map(|row| row.map(String::from).to_vec()).to_vec();
    let yes = |pays: bool| if pays { "yes" } else { "no" }.to_string();
    rows.extend(answers.iter().map(|answer| {
        vec![
            answer.epsilon.to_string(),
            grouped(answer.noise, 1),
            grouped(answer.cluster_noise, 1),
            grouped(answer.from, 0),
            yes(answer.pays),
            grouped(answer.aggregated_from, 0),
            yes(answer.aggregated_pays),
            grouped(answer.nobody_noise, 1),
        ]
    }));
    text += &print::columns(&rows);
    text += "\nPays: what the others of a cluster release tells a client more than its own data does, from so many \
             observations\nof the cluster on (2 v d / s^2: noise of variance v, d features, rewards of variance s^2).\n";
    let Terms { least, most, missing, colluding } = Terms::USUAL;
    text += &format!(
        "Per client: private-linucb, private-fclub. Aggregated: private-linucb with trust = \"group\", of a federation for\n\
         each cluster; groups of {least} to {most} of whom {missing} may be missing and {colluding} may collude.\n"
    );
    text
}
