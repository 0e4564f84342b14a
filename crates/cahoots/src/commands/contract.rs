//! `cahoots contract`: whether an algorithm keeps what every algorithm promises.

use std::fmt::Write as _;

use cahoots_core::Registry;
use cahoots_lab::LabError;
use cahoots_lab::experiment::remedy;
use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use cahoots_testkit::scenarios::fitting_with;
use cahoots_testkit::suite::Suite;
use cahoots_testkit::verdict::{Verdict, verdicts};

use crate::print;

/// Try every promise of the contract on an algorithm, in all small worlds that fit it.
///
/// Restored and killed at every step, through bytes, with messages and rewards that come twice, late or never,
/// and with messages that no honest peer would send. Worlds of one's own are among them if they need no keys.
#[derive(clap::Args)]
#[command(after_help = "Exit code 1: a promise is broken.")]
pub(crate) struct Args {
    /// An algorithm, as `kind` names it in an experiment file.
    name: String,
    /// Its parameters, as an experiment file has them: 'pulls = 7'.
    #[arg(long, value_name = "TOML", default_value = "")]
    params: String,
}

pub(crate) fn run(args: &Args, suites: &Registry<Suite>, worlds: &Worlds) -> Result<(), LabError> {
    let name = &args.name;
    let suite = suites.get(name).ok_or_else(|| {
        LabError::Input(format!("there is no algorithm {name:?}; {}", remedy(name, suites.names())))
    })?;
    let params: toml::Table = toml::from_str(&args.params)
        .map_err(|error| LabError::Input(format!("--params is not TOML: {}", error.message())))?;
    let params = serde_json::to_value(params).map_err(|error| LabError::Input(error.to_string()))?;
    let fitting = fitting_with(suite, worlds, &params);
    if fitting.is_empty() {
        return Err(LabError::Input(format!(
            "{name} with these parameters fits none of the small worlds; give what it needs with --params"
        )));
    }
    let verdicts = verdicts(suite, worlds, &params, &fitting);
    let places: Vec<String> = fitting.iter().map(|scenario| place(worlds, scenario)).collect();
    print::out(&report(name, &verdicts, &places))?;
    match verdicts.iter().filter(|verdict| !verdict.holds()).count() {
        0 => Ok(()),
        broken => Err(LabError::Failed(format!("{name} breaks {broken} of {} promises", verdicts.len()))),
    }
}

/// A small world in words.
fn place(worlds: &Worlds, scenario: &Scenario) -> String {
    let kind = scenario.environment.kind();
    match scenario.check(worlds) {
        Ok(world) => {
            let (users, arms) = (world.setting().users, world.setting().arms);
            format!("{kind} ({users} users, {arms} arms, {} ticks)", scenario.horizon)
        }
        Err(_) => kind.into(),
    }
}

fn report(name: &str, verdicts: &[Verdict], places: &[String]) -> String {
    let mut text = format!("{name} in {}:\n", places.join(", "));
    for verdict in verdicts {
        let answer = if verdict.holds() { "holds  " } else { "BROKEN " };
        let _ = writeln!(text, "  {answer} {}", verdict.promise);
        for (place, why) in &verdict.broken {
            let _ =
                writeln!(text, "          in {}: {}", places[*place], why.lines().next().unwrap_or_default());
        }
    }
    text
}
