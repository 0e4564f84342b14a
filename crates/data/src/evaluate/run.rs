//! The readings of a log, and what comes of them.

use statrs::distribution::{ContinuousCDF as _, Normal};

use super::anytime::Anytime;
use super::bootstrap::{Groups, quantile};
use super::diagnostics::{Diagnostics, Weights};
use super::log::{Event, Log};
use super::models::{Fitted, Ridge};
use super::refusal::Refusal;
use super::report::{Estimate, Evaluation, Interval, assumes};
use super::settings::Settings;
use super::sums::{Moments, Weighted};
use super::survey::{Survey, Use, purpose, with_one};
use super::target::{Policy, Target};
use super::verdict::verdict;

/// Thresholds that SWITCH is tried with where none is given.
const TAUS: [f64; 11] = [1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0, f64::INFINITY];

/// What a policy would have earned, by a second and a third reading of a log.
pub fn evaluate(log: &dyn Log, target: &Target, settings: &Settings) -> Result<Evaluation, Refusal> {
    let shape = log.shape();
    check(settings)?;
    if shape.rows == 0 {
        return Err(Refusal::Empty);
    }
    if *target != Target::Logged {
        if shape.arms.len() < 2 {
            return Err(Refusal::OneArm(shape.arms.first().cloned().unwrap_or_default()));
        }
        if shape.propensities.0 >= 1.0 {
            return Err(Refusal::Deterministic);
        }
    }
    let survey = Survey::of(log, target, settings)?;
    let policy = target.ready(shape, &survey.sums, settings.folds)?;
    let mut pass = Pass::new(log, &survey, &policy, settings);
    log.each(&mut |event| pass.see(&event, purpose(target, settings, event.row)))?;
    pass.finish()
}

fn check(settings: &Settings) -> Result<(), Refusal> {
    let wrong = |what: &str| Err(Refusal::Question(what.into()));
    let positive = |value: Option<f64>| value.is_none_or(|value| value > 0.0);
    if !(settings.confidence > 0.0 && settings.confidence < 1.0) {
        return wrong("the confidence of intervals lies between 0 and 1");
    }
    if settings.folds < 2 {
        return wrong("there are at least two folds: a row is predicted by models that did not see it");
    }
    if !(settings.ridge > 0.0 && settings.ridge.is_finite()) {
        return wrong("the ridge of the models is a number above 0");
    }
    if !positive(settings.clip) || !positive(settings.tau) || !positive(settings.least_propensity) {
        return wrong("thresholds of weights, and the smallest propensity, are above 0");
    }
    if settings.rewards.is_some_and(|(low, high)| low >= high || low.is_nan() || high.is_nan()) {
        return wrong("the range of rewards goes from a smaller number to a larger one");
    }
    Ok(())
}

/// All that is added up while the log is read.
struct Pass<'a> {
    log: &'a dyn Log,
    survey: &'a Survey,
    policy: &'a Policy,
    settings: &'a Settings,
    models: Vec<Fitted>,
    past: Past,
    taus: Vec<f64>,
    /// The largest weight there can be.
    largest: f64,
    features: Vec<f64>,
    probabilities: Vec<f64>,
    values: Vec<f64>,
    fitted_on: u64,
    logged: Moments,
    ips: Moments,
    weight: Moments,
    snips: Weighted,
    raw: Weighted,
    dm: Moments,
    dr: Moments,
    switched: Vec<Moments>,
    beyond: Vec<f64>,
    weights: Weights,
    never: f64,
    never_shown: Vec<bool>,
    clipped: u64,
    groups: Groups,
    anytime: Sequences,
}

/// The intervals that hold at any time.
struct Sequences {
    ips: Anytime,
    snips: Anytime,
    dr: Anytime,
    switch: Anytime,
}

/// Models that know earlier rows alone: given those, a row's value has the mean that is asked for, which models that
/// know later rows would spoil.
struct Past {
    sums: Ridge,
    fitted: Fitted,
    rows: u64,
    next: u64,
}

impl Past {
    fn learn(&mut self, cell: usize, features: &[f64], reward: f64) {
        self.sums.learn(0, cell, features, reward);
        self.rows += 1;
        if self.rows >= self.next {
            self.fitted = self.sums.fit(|_| true);
            self.next = self.rows + self.rows.div_ceil(2);
        }
    }
}

impl<'a> Pass<'a> {
    fn new(log: &'a dyn Log, survey: &'a Survey, policy: &'a Policy, settings: &'a Settings) -> Pass<'a> {
        let shape = log.shape();
        let (low, high) = settings.rewards.unwrap_or(shape.rewards);
        let least = settings.least_propensity.unwrap_or(shape.propensities.0);
        let largest = policy.largest_weight(shape.least_offered, least);
        let most = settings.clip.map_or(largest, |clip| clip.min(largest));
        let taus = settings.tau.map_or(TAUS.to_vec(), |tau| vec![tau]);
        let sums = Ridge::new(1, shape.cells(), shape.features.len(), settings.ridge, (low, high));
        let past = Past { fitted: sums.fit(|_| true), sums, rows: 0, next: 50 };
        let room = high - low;
        let sequence = |range| Anytime::new(range, settings.confidence);
        let corrected = |most: f64| sequence((low - most * room, high + most * room));
        let anytime = Sequences {
            ips: sequence(((most * low).min(0.0), (most * high).max(0.0))),
            snips: sequence((low.min(high - most * room), high.max(low + most * room))),
            dr: corrected(most),
            switch: corrected(largest.min(taus[0])),
        };
        Pass {
            models: (0..settings.folds).map(|fold| survey.sums.fit(|other| other != fold)).collect(),
            probabilities: vec![0.0; shape.arms.len()],
            features: Vec::new(),
            values: vec![0.0; 5 + taus.len()],
            groups: Groups::new(5 + taus.len()),
            switched: vec![Moments::default(); taus.len()],
            beyond: vec![0.0; taus.len()],
            fitted_on: 0,
            logged: Moments::default(),
            ips: Moments::default(),
            weight: Moments::default(),
            snips: Weighted::default(),
            raw: Weighted::default(),
            dm: Moments::default(),
            dr: Moments::default(),
            weights: Weights::default(),
            never: 0.0,
            never_shown: vec![false; shape.cells()],
            clipped: 0,
            log,
            survey,
            policy,
            settings,
            past,
            taus,
            largest,
            anytime,
        }
    }

    fn least(&self) -> f64 {
        self.settings.least_propensity.unwrap_or(self.log.shape().propensities.0)
    }

    fn rewards(&self) -> (f64, f64) {
        self.settings.rewards.unwrap_or(self.log.shape().rewards)
    }

    fn see(&mut self, event: &Event<'_>, used: Use) -> Result<(), Refusal> {
        let shape = self.log.shape();
        with_one(event, &mut self.features);
        let cell = shape.cell(event.position, event.arm as usize);
        if let Use::Evaluate(fold) = used {
            self.policy.probabilities(event, &self.features, &mut self.probabilities)?;
            self.weigh(event, fold, cell);
        } else {
            self.fitted_on += 1;
        }
        self.past.learn(cell, &self.features, event.reward);
        Ok(())
    }

    fn weigh(&mut self, event: &Event<'_>, fold: usize, cell: usize) {
        let first = cell - event.arm as usize;
        let raw = self.policy.weight(event, &self.probabilities);
        let weight = self.settings.clip.map_or(raw, |clip| raw.min(clip));
        let reward = event.reward;
        let model = &self.models[fold];
        let (mut direct, mut direct_past, mut never) = (0.0, 0.0, 0.0);
        for (arm, probability) in self.probabilities.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            direct += probability * model.predict(first + arm, &self.features);
            direct_past += probability * self.past.fitted.predict(first + arm, &self.features);
            if self.survey.counts[first + arm] == 0 {
                never += probability;
                self.never_shown[first + arm] = true;
            }
        }
        let residual = reward - model.predict(cell, &self.features);
        let residual_past = reward - self.past.fitted.predict(cell, &self.features);

        self.logged.add(reward);
        self.weights.add(raw);
        self.raw.add(raw, reward);
        self.weight.add(raw);
        self.clipped += u64::from(weight < raw);
        self.never += never;
        self.ips.add(weight * reward);
        self.dm.add(direct);
        self.dr.add(direct + weight * residual);
        self.values[..5].copy_from_slice(&[1.0, weight, weight * reward, direct, direct + weight * residual]);
        for (index, tau) in self.taus.iter().enumerate() {
            let kept = if raw <= *tau { raw } else { 0.0 };
            self.switched[index].add(direct + kept * residual);
            self.beyond[index] += raw - kept;
            self.values[5 + index] = direct + kept * residual;
        }
        self.groups.add(&self.values);

        // The weighted mean so far is known before this row: w (r - c) + c has the mean of w r, since w has the mean 1.
        let (low, high) = self.rewards();
        let known = if self.snips.weights > 0.0 { self.snips.mean() } else { (low + high) / 2.0 };
        let centre = known.clamp(low, high);
        self.snips.add(weight, reward);
        self.anytime.ips.see(weight * reward);
        self.anytime.snips.see(weight * (reward - centre) + centre);
        self.anytime.dr.see(direct_past + weight * residual_past);
        let kept = if raw <= self.taus[0] { raw } else { 0.0 };
        self.anytime.switch.see(direct_past + kept * residual_past);
    }

    /// The threshold of SWITCH: the smallest of (estimated variance + largest possible bias squared), where rewards beyond
    /// the threshold may be off by all of their range (Wang, Agarwal and Dudik 2017, section 4).
    fn chosen_tau(&self) -> usize {
        let (low, high) = self.rewards();
        let score = |index: usize| {
            let (spread, bias) = (
                self.switched[index].standard_error(),
                (high - low) * self.beyond[index] / self.weight.count,
            );
            spread * spread + bias * bias
        };
        let mut best = 0;
        for index in 1..self.taus.len() {
            if score(index) < score(best) {
                best = index;
            }
        }
        best
    }

    fn finish(self) -> Result<Evaluation, Refusal> {
        let tau = self.chosen_tau();
        let diagnostics = self.diagnostics();
        let never: Vec<usize> = (0..self.never_shown.len()).filter(|cell| self.never_shown[*cell]).collect();
        let mut warnings = verdict(&diagnostics, &never, self.survey, self.log.shape(), self.settings)?;
        if self.ips.standard_error() == 0.0 {
            let why = "all weighted rewards are equal: normal and bootstrap intervals of ips know nothing of others";
            warnings.push(why.into());
        }
        let bootstrap = self.bootstrap(tau);
        let law = Normal::standard();
        let z = law.inverse_cdf(0.5 + self.settings.confidence / 2.0);
        let unclipped = self.settings.clip.is_none();
        let estimate = |index: usize, name, (value, error): (f64, f64), anytime, assumes| Estimate {
            estimator: name,
            value,
            standard_error: error,
            normal: (value - z * error, value + z * error),
            bootstrap: bootstrap.as_ref().map(|intervals| intervals[index]),
            anytime,
            tau: (index == 4).then(|| self.taus[tau]),
            assumes,
        };
        let of = |moments: &Moments| (moments.mean, moments.standard_error());
        let snips = (self.snips.mean(), self.snips.standard_error());
        let Sequences { ips, snips: centred, dr, switch } = &self.anytime;
        // A policy's worth is a mean of rewards, and lies within their range; what is left of it by clipping need not.
        let (low, high) = self.rewards();
        let anytime = |sequence: &Anytime| {
            let (from, to) = sequence.interval();
            Some(if unclipped { (from.max(low), to.min(high)) } else { (from, to) })
        };
        let centred = if unclipped { anytime(centred) } else { None };
        // A sequence is of one mean. Where weights are cut or left out, the models of earlier rows stay in that of dr and
        // switch, and it moves whenever they are fitted anew.
        let dr = if unclipped { anytime(dr) } else { None };
        let keeps_all = self.settings.tau.is_some_and(|tau| tau >= self.largest);
        let switch = if keeps_all { anytime(switch) } else { None };
        let estimates = vec![
            estimate(0, "ips", of(&self.ips), anytime(ips), assumes::IPS),
            estimate(1, "snips", snips, centred, assumes::SNIPS),
            estimate(2, "dm", of(&self.dm), None, assumes::DM),
            estimate(3, "dr", of(&self.dr), dr, assumes::DR),
            estimate(4, "switch", of(&self.switched[tau]), switch, assumes::SWITCH),
        ];
        let logged = self.logged.mean;
        Ok(Evaluation { estimates, logged, diagnostics, fitted_on: self.fitted_on, warnings })
    }

    fn bootstrap(&self, tau: usize) -> Option<Vec<Interval>> {
        if self.settings.bootstrap == 0 {
            return None;
        }
        let resampled = self.groups.resampled(self.settings.bootstrap, self.settings.seed, 5, |sums, out| {
            let count = sums[0];
            out[0] = sums[2] / count;
            out[1] = if sums[1] > 0.0 { sums[2] / sums[1] } else { 0.0 };
            out[2] = sums[3] / count;
            out[3] = sums[4] / count;
            out[4] = sums[5 + tau] / count;
        });
        let alpha = 1.0 - self.settings.confidence;
        let ends = |list: &Vec<f64>| (quantile(list, alpha / 2.0), quantile(list, 1.0 - alpha / 2.0));
        Some(resampled.iter().map(ends).collect())
    }

    fn diagnostics(&self) -> Diagnostics {
        let (off, error) = (self.weight.mean - 1.0, self.weight.standard_error());
        Diagnostics {
            rows: self.weight.count as u64,
            effective: self.raw.effective(),
            mean_weight: self.weight.mean,
            mean_weight_off: standard_errors(off, error),
            largest_share: if self.raw.weights > 0.0 { self.weights.most() / self.raw.weights } else { 0.0 },
            weight_quantiles: self.weights.quantiles(),
            tail_index: self.weights.tail_index(),
            never_shown_percent: 100.0 * self.never / self.weight.count.max(1.0),
            clipped: self.clipped,
            largest_possible: self.largest,
            calibration: self.survey.calibration(self.log.shape(), self.least()),
            least_propensity: self.log.shape().propensities.0,
        }
    }
}

/// How many standard errors a number is off; where nothing varies, none or endlessly many, but for rounding.
fn standard_errors(off: f64, error: f64) -> f64 {
    match error > 0.0 {
        true => off / error,
        false if off.abs() < 1e-9 => 0.0,
        false => f64::INFINITY.copysign(off),
    }
}
