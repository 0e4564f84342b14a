//! What was learned, with intervals and in words.

use cahoots_core::{ArmMean, Estimate, KnownArm, Learnt};
use serde::Serialize;

use crate::coordinator::Model;
use crate::limits::thousands;

/// Standard deviations to either side of a 95% interval.
const SIDES: f64 = 1.959_963_984_540_054;

/// `GET /model`
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    words: String,
    models: Vec<OneModel>,
    confidence: Option<f64>,
    shown: usize,
    models_in_all: usize,
}

#[derive(Debug, Serialize)]
struct OneModel {
    name: String,
    observations: Option<u64>,
    clients: Option<Vec<u32>>,
    weights: Vec<Weight>,
    arms: Vec<Arm>,
}

#[derive(Debug, Serialize)]
struct Weight {
    name: String,
    value: f64,
    low: Option<f64>,
    high: Option<f64>,
}

#[derive(Debug, Serialize)]
struct Arm {
    name: String,
    value: Option<f64>,
    low: Option<f64>,
    high: Option<f64>,
    active: bool,
    pulls: Option<u64>,
}

/// What the coordinator has learned, as it is shown.
pub(super) fn shown(model: Model) -> Shown {
    let words = words(&model);
    let confidence = confidence(&model);
    let Model { models, all, reward_noise } = model;
    let (shown, alone) = (models.len(), all == 1);
    let one = |(place, Learnt { clients, observations, weights, arms, sure }): (usize, Learnt)| {
        let clients = clients.map(|clients| clients.into_iter().map(|client| client.0).collect());
        let sure = sure.and_then(|sure| sure.chance(reward_noise)).is_some();
        // A group is called what it is called where groups are shown.
        let name = if alone { "all clients".into() } else { format!("group {place}") };
        let weights = weights.into_iter().enumerate().map(|(at, known)| weight(at, known, reward_noise));
        let arms = ranked(arms).into_iter().map(|known| arm(known, sure));
        OneModel { name, observations, clients, weights: weights.collect(), arms: arms.collect() }
    };
    Shown {
        words,
        models: models.into_iter().enumerate().map(one).collect(),
        confidence,
        shown,
        models_in_all: all,
    }
}

/// The least of what is said of any interval.
fn confidence(model: &Model) -> Option<f64> {
    let weights = |learnt: &Learnt| {
        let sure = learnt.weights.iter().any(|weight| weight.width.is_some());
        sure.then_some(0.95)
    };
    let arms = |learnt: &Learnt| learnt.sure.and_then(|sure| sure.chance(model.reward_noise));
    let all = model.models.iter().flat_map(|learnt| [weights(learnt), arms(learnt)]);
    all.flatten().min_by(f64::total_cmp)
}

/// Those in the running before those that were given up, each by the mean that is known; what is not known comes last.
fn ranked(mut arms: Vec<KnownArm>) -> Vec<KnownArm> {
    let value = |known: &KnownArm| known.mean.map_or(f64::NEG_INFINITY, |mean| mean.value);
    arms.sort_by(|a, b| b.active.cmp(&a.active).then(value(b).total_cmp(&value(a))));
    arms
}

fn weight(at: usize, Estimate { value, width }: Estimate, reward_noise: f64) -> Weight {
    let half = width.map(|width| SIDES * width * reward_noise);
    let side = |sign: f64| half.map(|half| value + sign * half);
    Weight { name: format!("feature {at}"), value, low: side(-1.0), high: side(1.0) }
}

fn arm(KnownArm { arm, active, mean }: KnownArm, sure: bool) -> Arm {
    let name = format!("arm {}", arm.0);
    let Some(ArmMean { value, radius, pulls }) = mean else {
        return Arm { name, value: None, low: None, high: None, active, pulls: None };
    };
    let side = |sign: f64| radius.filter(|_| sure).map(|radius| value + sign * radius);
    Arm { name, value: Some(value), low: side(-1.0), high: side(1.0), active, pulls }
}

fn words(model: &Model) -> String {
    let Some(first) = model.models.first() else {
        return "This algorithm's server learns nothing itself: what is learned is with the clients.".into();
    };
    let of = |count| if count == 1 { "1 reward".into() } else { format!("{} rewards", thousands(count)) };
    let from = model.models.iter().filter_map(|model| model.observations).sum();
    if !first.arms.is_empty() {
        return words_of_arms(&first.arms);
    }
    match model.all {
        1 => format!("One model, from {}.", of(from)),
        all if all > model.models.len() => {
            format!("{all} models, of which {} are shown.", model.models.len())
        }
        all => format!("{all} models, of clients that learn together; whoever is in several counts in each."),
    }
}

fn words_of_arms(arms: &[KnownArm]) -> String {
    let running = arms.iter().filter(|arm| arm.active).count();
    let known = arms.iter().any(|arm| arm.mean.is_some());
    let means = match known {
        true => "by their means over all who reported",
        false => "no mean is known yet: clients report when they have explored",
    };
    match running {
        0 => "Every client has settled on its arm; nothing is explored any more.".into(),
        1 if known => format!("One of {} arms is left, {means}.", arms.len()),
        1 => format!("One of {} arms is left.", arms.len()),
        _ if known => format!("{running} of {} arms may still be the best, {means}.", arms.len()),
        _ => format!("{running} of {} arms may still be the best; {means}.", arms.len()),
    }
}

#[cfg(test)]
mod tests {
    use cahoots_core::{ArmIndex, Sure};

    use super::*;

    #[test]
    fn intervals_are_as_wide_as_rewards_are_noisy_and_none_where_that_is_not_known() {
        let weights = vec![Estimate { value: 0.5, width: Some(0.1) }, Estimate { value: 0.25, width: None }];
        let learnt = Learnt { observations: Some(7), weights, ..Learnt::default() };
        let shown = shown(Model { models: vec![learnt], all: 1, reward_noise: 2.0 });
        let [sure, unsure] = &shown.models[0].weights[..] else { panic!("{shown:?}") };
        assert!((sure.high.unwrap() - 0.5 - 0.2 * SIDES).abs() < 1e-12);
        assert_eq!((unsure.low, unsure.high), (None, None));
        assert_eq!(shown.words, "One model, from 7 rewards.");
        assert_eq!(shown.confidence, Some(0.95));
    }

    /// Which, whether it is in the running, its mean and how sure that is.
    type Arm = (u32, bool, Option<(f64, Option<f64>)>);

    fn of_arms(arms: &[Arm], sure: Option<Sure>) -> Model {
        let arm = |(arm, active, known): &Arm| {
            let mean = known.map(|(value, radius)| ArmMean { value, radius, pulls: Some(7) });
            KnownArm { arm: ArmIndex(*arm), active: *active, mean }
        };
        let learnt = Learnt { arms: arms.iter().map(arm).collect(), sure, ..Learnt::default() };
        Model { models: vec![learnt], all: 1, reward_noise: 1.0 }
    }

    fn names(shown: &Shown) -> Vec<&str> {
        shown.models[0].arms.iter().map(|arm| &arm.name[..]).collect()
    }

    #[test]
    fn arms_are_ranked_those_in_the_running_first() {
        let learnt = Learnt::running((0..3).map(ArmIndex), &[ArmIndex(2)]);
        let few = shown(Model { models: vec![learnt], all: 1, reward_noise: 1.0 });
        assert_eq!(names(&few), ["arm 2", "arm 0", "arm 1"]);
        assert_eq!((&few.words[..], few.confidence), ("One of 3 arms is left.", None));

        let radius = Some(0.25);
        let told = [
            (0, false, Some((0.9, radius))),
            (1, true, Some((0.5, None))),
            (2, true, None),
            (3, true, Some((0.75, radius))),
            (4, false, None),
            (5, false, Some((0.95, radius))),
        ];
        let ranked = shown(of_arms(&told, Some(Sure::Chance(0.99))));
        assert_eq!(names(&ranked), ["arm 3", "arm 1", "arm 2", "arm 5", "arm 0", "arm 4"]);
        let best = &ranked.models[0].arms[0];
        assert_eq!(
            (best.value, best.low, best.high, best.pulls),
            (Some(0.75), Some(0.5), Some(1.0), Some(7))
        );
        let unsure = &ranked.models[0].arms[1];
        assert_eq!((unsure.value, unsure.low, unsure.high), (Some(0.5), None, None));
        assert_eq!(ranked.confidence, Some(0.99));
        assert_eq!(ranked.words, "3 of 6 arms may still be the best, by their means over all who reported.");
    }

    #[test]
    fn a_radius_that_the_noise_makes_worthless_is_no_interval() {
        let told = [(0, true, Some((0.5, Some(0.1))))];
        let shown = shown(of_arms(&told, Some(Sure::Deviations(0.5))));
        let arm = &shown.models[0].arms[0];
        assert_eq!((arm.value, arm.low, shown.confidence), (Some(0.5), None, None));
    }

    #[test]
    fn where_nothing_is_in_the_running_everyone_has_settled() {
        let learnt = Learnt::running((0..2).map(ArmIndex), &[]);
        let shown = shown(Model { models: vec![learnt], all: 1, reward_noise: 1.0 });
        assert!(shown.words.contains("settled"), "{}", shown.words);
    }

    #[test]
    fn who_learns_nothing_says_so() {
        assert!(shown(Model::default()).words.contains("with the clients"));
    }
}
