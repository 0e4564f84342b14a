//! A small world whose every policy has a known worth, and logs of it: to try things out, and to see whether intervals
//! hold what they promise.

use std::fmt::Write as _;

use cahoots_sim::draw::{Draw, Purpose};

use super::columns::{Columns, Row};
use super::log::Log as _;
use super::refusal::Refusal;

/// Names of the arms.
pub const ARMS: [&str; 4] = ["red", "green", "blue", "grey"];
/// Names of the features: three bits, each as likely 1 as 0.
pub const FEATURES: [&str; 3] = ["evening", "mobile", "returning"];
/// Clients that act, one after the other.
const CLIENTS: u32 = 20;
/// Contexts there are.
const CONTEXTS: u32 = 8;

/// The chance of a reward of 1. No model without products of features is right.
pub fn chance(context: u32, arm: usize) -> f64 {
    let [evening, mobile, returning] = bits(context);
    match arm {
        0 => 0.2 + 0.3 * evening,
        1 => 0.25 + 0.35 * mobile * returning,
        2 => 0.35 - 0.15 * evening + 0.1 * mobile,
        _ => 0.3,
    }
}

/// How likely the logging policy takes each arm: never less than 0.04.
pub fn logging(context: u32) -> [f64; 4] {
    let [evening, mobile, _] = bits(context);
    normalised([1.0 - 0.6 * evening, 0.25, 1.5 + mobile, 0.15])
}

/// How likely the policy in question takes each arm.
pub fn target(context: u32) -> [f64; 4] {
    let [evening, mobile, returning] = bits(context);
    normalised([0.3 + 2.0 * evening, 0.2 + 2.0 * mobile * returning, 0.8, 0.1])
}

/// The worth of a policy.
pub fn worth(policy: impl Fn(u32) -> [f64; 4]) -> f64 {
    let one =
        |context| policy(context).iter().enumerate().map(|(arm, p)| p * chance(context, arm)).sum::<f64>();
    (0..CONTEXTS).map(one).sum::<f64>() / f64::from(CONTEXTS)
}

/// A log of so many decisions, with the probabilities of [`target`].
pub fn log(rows: u64, seed: u64) -> Result<Columns, Refusal> {
    let mut columns = Columns::new(ARMS.map(String::from).to_vec(), FEATURES.map(String::from).to_vec());
    for row in 0..rows {
        let mut draw = Draw::keyed(seed, Purpose::World, 0xe7a, row);
        let context = draw.below(u64::from(CONTEXTS)) as u32;
        let probabilities = logging(context);
        let arm = drawn(&probabilities, draw.uniform());
        let reward = f64::from(draw.uniform() < chance(context, arm));
        columns.push_row(&Row {
            client: draw.below(u64::from(CLIENTS)) as u32,
            arm: arm as u32,
            position: 0,
            reward,
            propensity: probabilities[arm],
            context: bits(context).to_vec(),
            target: target(context).to_vec(),
        })?;
    }
    Ok(columns)
}

/// The same as text: one line per decision, below a line of names.
pub fn csv(rows: u64, seed: u64) -> Result<String, Refusal> {
    let columns = log(rows, seed)?;
    let targets = ARMS.map(|arm| format!("target_{arm}")).join(",");
    let mut text = format!("client,{},arm,reward,propensity,{targets}\n", FEATURES.join(","));
    columns.each(&mut |event| {
        let list = |values: &[f64]| values.iter().map(f64::to_string).collect::<Vec<_>>().join(",");
        let _ = writeln!(
            text,
            "{},{},{},{},{},{}",
            event.client,
            list(event.context),
            ARMS[event.arm as usize],
            event.reward,
            event.propensity,
            list(event.target)
        );
        Ok(())
    })?;
    Ok(text)
}

fn bits(context: u32) -> [f64; 3] {
    [context & 1, context >> 1 & 1, context >> 2 & 1].map(f64::from)
}

fn normalised(scores: [f64; 4]) -> [f64; 4] {
    let sum: f64 = scores.iter().sum();
    scores.map(|score| score / sum)
}

fn drawn(probabilities: &[f64], uniform: f64) -> usize {
    let mut above = 0.0;
    let found = probabilities.iter().position(|p| {
        above += p;
        uniform < above
    });
    found.unwrap_or(probabilities.len() - 1)
}
