//! `cahoots evaluate`: what a policy would have earned on what another one logged.

mod text;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_data::evaluate::rejection::{ArmFeatures, LearnError, Question, learn};
use cahoots_data::evaluate::{
    Columns, Log as _, LogFile, Names, Refusal, Settings, Target, evaluate, example,
};
use cahoots_lab::LabError;
use cahoots_lab::experiment::{Record, remedy};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::run::{Params, RunError};
use serde_json::json;

use self::text::About;
use super::stop;
use crate::print;

/// Estimate what a policy would have earned, from decisions that another policy made and logged.
///
/// The log has a row for each decision: the arm, the reward, the probability with which the logging policy took that arm
/// (its propensity), and what was known before (its context). A fixed policy is evaluated by weighing rows by how much
/// likelier the policy is to do what was done; an algorithm that learns, by letting it learn from those rows that it
/// would have brought about itself (rejection sampling). What the log cannot answer is refused.
///
/// Estimators: ips (inverse propensity weights), snips (the same, divided by the sum of weights), dm (the direct method:
/// ridge regressions in place of the log), dr (doubly robust: dm, and ips of what it leaves), switch (dr where weights
/// are at most tau, dm beyond). Models never predict a row that they saw (--folds).
///
/// CSV and its relatives, gzip and Parquet are read; a folder of the Open Bandit Dataset is recognised. Fixed policies
/// are evaluated in bounded memory, whatever the length of the log; for an algorithm, the log is held.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The log: a file, or a folder of the Open Bandit Dataset.
    #[arg(required_unless_present = "example")]
    log: Option<PathBuf>,
    /// The policy, or the algorithm, to evaluate; several may be named.
    #[arg(long, value_name = "POLICY", required_unless_present = "example")]
    policy: Vec<String>,
    /// A parameter of the algorithm, such as ridge=0.2.
    #[arg(long, value_name = "KEY=VALUE", value_parser = parameter)]
    param: Vec<(String, toml::Value)>,
    /// Column of the arm that was taken [default: arm, or what is usual].
    #[arg(long, value_name = "COLUMN")]
    arm: Option<String>,
    /// Column of the reward [default: reward, or what is usual].
    #[arg(long, value_name = "COLUMN")]
    reward: Option<String>,
    /// Column of the probability with which the logging policy took the arm [default: propensity, or what is usual].
    #[arg(long, value_name = "COLUMN")]
    propensity: Option<String>,
    /// Every arm was as likely as every other, whatever the log says or does not say of it.
    #[arg(long)]
    uniform_logging: bool,
    /// Column of who decided, for algorithms [default: client, or what is usual].
    #[arg(long, value_name = "COLUMN")]
    client: Option<String>,
    /// Column of where an arm was shown; propensities and models are then of arms in positions.
    #[arg(long, value_name = "COLUMN")]
    position: Option<String>,
    /// Column of the arms that could be taken, with | between them [default: all arms, always].
    #[arg(long, value_name = "COLUMN")]
    offered: Option<String>,
    /// Columns of what was known before the decision: numbers, or words that become a feature each.
    #[arg(long, value_name = "COLUMNS", value_delimiter = ',')]
    context: Vec<String>,
    /// How the context becomes features of arms, for algorithms: none, same (for all arms) or blocks (one for each arm)
    /// [default: blocks with a context and an algorithm that takes features, else none].
    #[arg(long, value_name = "KIND", value_parser = arm_features)]
    arm_features: Option<ArmFeatures>,
    /// Cut weights above this: less spread, and a bias.
    #[arg(long, value_name = "WEIGHT", value_parser = positive)]
    clip: Option<f64>,
    /// Threshold of switch [default: the one with the smallest bound on its squared error, of 1, 2, 5, 10, ..., 1000, inf].
    #[arg(long, value_name = "WEIGHT", value_parser = positive)]
    tau: Option<f64>,
    /// Parts of the log for the models: each is predicted by models of the others.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(2..=100))]
    folds: u16,
    /// Ridge of the models.
    #[arg(long, default_value_t = 1.0, value_parser = positive)]
    ridge: f64,
    /// Intervals are to hold with this probability.
    #[arg(long, value_name = "P", default_value_t = 0.95, value_parser = probability)]
    confidence: f64,
    /// Resamples of the bootstrap; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    bootstrap: u32,
    /// Of resamples, folds, halves, and an algorithm's decisions.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The smallest and the largest reward there can be [default: those of the log].
    #[arg(long, value_name = "LOW,HIGH", value_parser = range, allow_hyphen_values = true)]
    reward_range: Option<(f64, f64)>,
    /// The smallest propensity that the logging policy can have [default: that of the log].
    #[arg(long, value_name = "P", value_parser = probability)]
    least_propensity: Option<f64>,
    /// Refuse to answer from fewer effective decisions (for an algorithm: fewer rows that are its own).
    #[arg(long, value_name = "N", default_value_t = 50.0, value_parser = positive)]
    least_effective: f64,
    /// Answer all the same where that, arms that the log never shows, or (for an algorithm) a number of rows of its own that
    /// does not fit the propensities, stand against it; the output says so.
    #[arg(long)]
    force: bool,
    /// Write a log to try this with (CSV), of a world whose truth is known, and say what that is.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["log", "policy"])]
    example: Option<PathBuf>,
    /// Decisions in the example.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    rows: u64,
    /// Print one JSON object per policy.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Policies:
  logged              the logging policy itself: a check, since ips must give the mean reward
  uniform             every arm as likely
  constant:ARM        always this arm
  columns:PREFIX      what the log says, in a column for each arm (PREFIX and the arm's name)
  best-of-log         the arm of the highest mean, in each position *
  greedy-linear       the arm that a model for each arm thinks best *
  epsilon-greedy:E    the same, or any arm with probability E *
  any other name      an algorithm's (`cahoots algorithms`), with its parameters (--param)
  * made from one half of the log, and evaluated on the other

Examples:
  cahoots evaluate --example log.csv                      a log to try it with, and the truth
  cahoots evaluate log.csv --policy columns:target_ --context evening,mobile,returning
  cahoots evaluate log.csv --policy logged --policy uniform --policy constant:red
  cahoots evaluate log.csv --policy epsilon-greedy:0.1 --context evening,mobile,returning
  cahoots evaluate log.csv --policy linucb-alone --param ridge=0.2 --context evening,mobile,returning
  cahoots evaluate clicks.parquet --arm item --reward bought --propensity p --policy uniform
  cahoots evaluate open-bandit/random/all --policy best-of-log";

pub(crate) fn run(args: &Args, catalogue: &Catalogue) -> Result<(), LabError> {
    stop::exit_on_ctrl_c();
    if let Some(path) = &args.example {
        return write_example(path, args.rows, args.seed);
    }
    let Some(log) = &args.log else { return Err(LabError::Input("name a log".into())) };
    for policy in &args.policy {
        let answer = match Target::parse(policy) {
            Some(target) => fixed(args, log, policy, &target.map_err(refused)?)?,
            None => learning(args, log, policy, catalogue)?,
        };
        print::out(&answer)?;
    }
    Ok(())
}

fn fixed(args: &Args, path: &Path, policy: &str, target: &Target) -> Result<String, LabError> {
    if !args.param.is_empty() {
        let why = format!("--param is for algorithms, and {policy} is a policy that does not learn");
        return Err(LabError::Input(why));
    }
    let prefix = policy.strip_prefix("columns:").map(String::from);
    let log = LogFile::open(path, &Names { target: prefix, ..names(args) }).map_err(refused)?;
    let settings = Settings {
        folds: usize::from(args.folds),
        ridge: args.ridge,
        clip: args.clip,
        tau: args.tau,
        confidence: args.confidence,
        bootstrap: args.bootstrap as usize,
        seed: args.seed,
        rewards: args.reward_range,
        least_propensity: args.least_propensity,
        least_effective: args.least_effective,
        force: args.force,
    };
    let found = evaluate(&log, target, &settings).map_err(refused)?;
    let about = About { policy, path, shape: log.shape(), confidence: args.confidence };
    if !args.json {
        return Ok(text::fixed(&about, &found, &settings));
    }
    let mut line =
        json!({ "policy": policy, "log": path, "method": "weights", "confidence": args.confidence });
    extend(&mut line, json!({ "arms": log.shape().arms.len(), "positions": log.shape().positions.len() }));
    extend(&mut line, serde_json::to_value(&found).unwrap_or_default());
    Ok(format!("{line}\n"))
}

fn learning(args: &Args, path: &Path, name: &str, catalogue: &Catalogue) -> Result<String, LabError> {
    let Some(algorithm) = catalogue.algorithms.get(name) else {
        let fixed = ["logged", "uniform", "constant:ARM", "columns:PREFIX", "best-of-log", "greedy-linear"];
        let known = fixed.into_iter().chain(["epsilon-greedy:E"]).chain(catalogue.algorithms.names());
        return Err(LabError::Input(format!(
            "there is no policy and no algorithm {name:?}; {}",
            remedy(name, known)
        )));
    };
    let unused = [
        ("--clip", args.clip.is_some()),
        ("--tau", args.tau.is_some()),
        ("--reward-range", args.reward_range.is_some()),
    ];
    if let Some((flag, _)) = unused.iter().find(|(_, given)| *given) {
        let why = format!("{flag} is for policies that do not learn, and {name} is an algorithm that does");
        return Err(LabError::Input(why));
    }
    let record = Record::from_schema(algorithm.schema().as_value());
    if let Some((key, _)) = args.param.iter().find(|(key, _)| record.field(key).is_none()) {
        let remedy = remedy(key, record.keys());
        return Err(LabError::Input(format!("{name} has no parameter `{key}`; {remedy}")));
    }
    let log = LogFile::open(path, &Names { with_clients: true, ..names(args) }).map_err(refused)?;
    let question = Question {
        features: args.arm_features,
        seed: args.seed,
        confidence: args.confidence,
        least_propensity: args.least_propensity,
        least_taken: args.least_effective.ceil() as u64,
        force: args.force,
    };
    let held = Arc::new(Columns::of(&log).map_err(refused)?);
    let params: Params = args.param.iter().cloned().collect();
    let found = learn(held, algorithm, params, &question, &mut |_| true).map_err(|error| match error {
        LearnError::Refused(refusal) => refused(refusal),
        LearnError::Run(RunError::Algorithm(problem)) => {
            // What is wrong about the kind of an algorithm is whether arms have features.
            let hint = match (problem.key.as_str(), log.shape().features.is_empty()) {
                ("kind", true) => {
                    ". The log has no context (--context COLUMNS), so that arms have no features"
                }
                ("kind", false) => ". With --arm-features none, arms have no features",
                _ => "",
            };
            LabError::Input(format!("{name} on this log: {problem}{hint}"))
        }
        LearnError::Run(other) => LabError::Failed(format!("{name} on this log: {other}")),
    })?;
    let about = About { policy: name, path, shape: log.shape(), confidence: args.confidence };
    if !args.json {
        return Ok(text::learning(&about, &found));
    }
    let mut line =
        json!({ "policy": name, "log": path, "method": "rejection", "confidence": args.confidence });
    extend(&mut line, serde_json::to_value(&found).unwrap_or_default());
    Ok(format!("{line}\n"))
}

fn names(args: &Args) -> Names {
    Names {
        arm: args.arm.clone(),
        reward: args.reward.clone(),
        propensity: args.propensity.clone(),
        client: args.client.clone(),
        with_clients: false,
        position: args.position.clone(),
        offered: args.offered.clone(),
        context: args.context.clone(),
        target: None,
        uniform_logging: args.uniform_logging,
    }
}

fn write_example(path: &Path, rows: u64, seed: u64) -> Result<(), LabError> {
    if path.exists() {
        return Err(LabError::Input(format!("{} is there already: name another file", path.display())));
    }
    let text = example::csv(rows, seed).map_err(refused)?;
    std::fs::write(path, text).map_err(|error| LabError::io("write", path, &error))?;
    let worth = |policy: fn(u32) -> [f64; 4]| format!("{:.4}", example::worth(policy));
    let rows = [
        ["logged".into(), worth(example::logging)],
        ["columns:target_".into(), worth(example::target)],
        ["uniform".into(), worth(|_| [0.25; 4])],
        [format!("constant:{}", example::ARMS[0]), worth(|_| [1.0, 0.0, 0.0, 0.0])],
    ];
    let table = print::columns(&rows.map(Vec::from));
    print::out(&format!(
        "{}: a log of four arms, with the context {}. What policies are worth there, in truth:\n\n{table}",
        path.display(),
        example::FEATURES.join(",")
    ))
}

/// Whatever a log cannot answer is an input that was wrong.
fn refused(refusal: Refusal) -> LabError {
    LabError::Input(refusal.to_string())
}

fn extend(line: &mut serde_json::Value, more: serde_json::Value) {
    if let (Some(line), serde_json::Value::Object(more)) = (line.as_object_mut(), more) {
        line.extend(more);
    }
}

fn parameter(text: &str) -> Result<(String, toml::Value), String> {
    let (key, value) = text.split_once('=').ok_or("write it as KEY=VALUE, such as ridge=0.2")?;
    let read = toml::from_str::<toml::Table>(&format!("value = {value}"));
    let value = read.ok().and_then(|mut table| table.remove("value"));
    // What is no value of TOML is a word.
    let word = || toml::Value::String(text.split_once('=').map_or("", |(_, word)| word.trim()).into());
    Ok((key.trim().to_string(), value.unwrap_or_else(word)))
}

fn arm_features(text: &str) -> Result<ArmFeatures, String> {
    match text {
        "none" => Ok(ArmFeatures::None),
        "same" => Ok(ArmFeatures::Same),
        "blocks" => Ok(ArmFeatures::Blocks),
        _ => Err("there are none, same and blocks".into()),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    match text.replace([',', '_'], "").parse::<f64>() {
        Ok(value) if value > 0.0 && value.is_finite() => Ok(value),
        _ => Err("must be a number above 0".into()),
    }
}

fn probability(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1.0 => Ok(value),
        _ => Err("must lie between 0 and 1".into()),
    }
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let ends =
        text.split_once(',').map(|(low, high)| (low.trim().parse::<f64>(), high.trim().parse::<f64>()));
    match ends {
        Some((Ok(low), Ok(high))) if low < high && low.is_finite() && high.is_finite() => Ok((low, high)),
        _ => Err("write it as LOW,HIGH, such as 0,1".into()),
    }
}
