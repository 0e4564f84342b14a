//! The `cahoots` command: arguments in, one clear message or a result out.

use std::process::ExitCode;
use std::sync::Arc;

use cahoots_lab::{LabError, say};
use cahoots_sim::catalogue::Catalogue;
use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory as _, Parser, Subcommand};

use crate::{commands, print};

/// Federated bandit learning: many clients choose, see rewards, and learn from each other's
/// experience without sending their data anywhere.
#[derive(Parser)]
#[command(name = "cahoots", version = VERSION, max_term_width = 100, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

/// The version, and the commit that it was built from where there is one.
const VERSION: &str = env!("CAHOOTS_VERSION");

#[derive(Subcommand)]
enum Command {
    Demo(commands::demo::Args),
    Run(commands::run::Args),
    Merge(commands::merge::Args),
    Reproduce(commands::reproduce::Args),
    Plan(commands::plan::Args),
    Plot(commands::plot::Args),
    Report(commands::report::Args),
    Algorithms(commands::algorithms::Args),
    Environments(commands::environments::Args),
    Evaluate(Box<commands::evaluate::Args>),
    Data(commands::data::Args),
    Serve(commands::serve::Args),
    Client(commands::client::Args),
    Status(commands::operate::Status),
    Members(commands::operate::Members),
    Keys(commands::keys::Args),
    Params(commands::operate::Params),
    Drain(commands::operate::Drain),
    Backup(commands::operate::Backup),
    Restore(commands::operate::Restore),
    Prior(commands::prior::Args),
    Rejoin(commands::operate::Rejoin),
    Reset(commands::operate::Reset),
    Inspect(commands::operate::Inspect),
    Audit(commands::audit::Args),
    Completions(commands::shell::Completions),
    Man(commands::shell::Man),
    #[cfg(feature = "contract")]
    Contract(commands::contract::Args),
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 it failed, 2 the input was wrong (the message says how to mend it), 130 interrupted.";

const GUIDE: &str = "\
cahoots: federated bandit learning

  cahoots demo                     a live federation on this machine, with a page to watch it, in half a minute
  cahoots run                      a first experiment, in seconds
  cahoots run FILE.toml            an experiment of your own: worlds, algorithms, sweeps, seeds
  cahoots reproduce --list         the papers' tables and figures, paper beside ours
  cahoots algorithms               what can be run; with a name, its parameters
  cahoots environments             the worlds to run it in; with a name, their keys
  cahoots evaluate LOG ...         what a policy would have earned, from what another one logged
  cahoots data check DIR           which dataset a folder holds; also prepare
  cahoots data describe FILE       a table of your own, and the experiment that it makes
  cahoots plan ...                 thresholds from a communication budget
  cahoots audit                    measured privacy against stated privacy
  cahoots merge DIR ...            the parts of a run (run --shard K/N) into the whole
  cahoots plot DIR                 the figures of earlier results again
  cahoots report DIR               earlier results as a page, in one file
  cahoots serve FILE.toml          a coordinator
  cahoots client FILE.toml         a client beside an app: local HTTP, durable, works offline
  cahoots status FILE.toml         what either is doing; also members, params, drain, backup, restore,
                                   rejoin and reset
  cahoots inspect STORE            what is in a store that no node uses, or in a backup
  cahoots prior STORE --out FILE   what a federation has learned, for a new one to begin from; also of a log
  cahoots keys ...                 certificates: an authority, members, rotation, revocation

`cahoots help COMMAND` says more, with examples.
";

/// What this program was started with: whatever a file names is looked up here.
pub(crate) struct Known {
    pub simulated: Arc<Catalogue>,
    pub live: Arc<cahoots_node::Known>,
    #[cfg(feature = "contract")]
    pub suites: cahoots_core::Registry<cahoots_testkit::suite::Suite>,
}

/// Does what the program's arguments say, with what it was started with.
pub(crate) fn main(known: &Known) -> ExitCode {
    // A run that panics is reported by whoever started it; anything else is said here, in one line.
    std::panic::set_hook(Box::new(|panic| {
        if !std::thread::current().name().is_some_and(|name| name.starts_with("run-")) {
            say(format_args!("cahoots: an internal error, which should be reported: {panic}"));
        }
    }));
    match arguments().and_then(|arguments| dispatch(arguments, known)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(LabError::Input(message)) => fail(&message, 2),
        Err(LabError::Failed(message)) => fail(&message, 1),
        Err(LabError::Stopped(message)) => fail(&message, 130),
    }
}

/// The program's arguments. What clap has to say of them, it says itself, and ends the program.
fn arguments() -> Result<Arguments, LabError> {
    Arguments::try_parse().map_err(|error| match moved(&error) {
        Some(message) => LabError::Input(message),
        None => error.exit(),
    })
}

/// Where a command is that was here once.
fn moved(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::String(command)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let there = match command.as_str() {
        "bench" => "hot-step | federation | reclustering | live",
        "soak" => "soak",
        _ => return None,
    };
    Some(format!(
        "`{command}` is a program of its own, in the source tree:\n  \
         cargo run --release -p cahoots-bench -- {there}"
    ))
}

fn dispatch(arguments: Arguments, known: &Known) -> Result<(), LabError> {
    match arguments.command {
        None => print::out(GUIDE),
        Some(Command::Demo(args)) => commands::demo::run(&args),
        Some(Command::Run(args)) => commands::run::run(args, &known.simulated),
        Some(Command::Reproduce(args)) => commands::reproduce::run(args, &known.simulated),
        Some(Command::Plan(args)) => commands::plan::run(args, &known.simulated),
        Some(Command::Plot(args)) => commands::plot::run(args, &known.simulated),
        Some(Command::Report(args)) => commands::report::run(&args, &known.simulated),
        Some(Command::Algorithms(args)) => commands::algorithms::run(&args, &known.simulated),
        Some(Command::Environments(args)) => commands::environments::run(&args, &known.simulated),
        Some(Command::Evaluate(args)) => commands::evaluate::run(&args, &known.simulated),
        Some(Command::Data(args)) => commands::data::run(&args),
        Some(Command::Serve(args)) => commands::serve::run(&args, &known.live),
        Some(Command::Client(args)) => commands::client::run(&args, &known.live),
        Some(Command::Status(args)) => commands::operate::status(&args),
        Some(Command::Members(args)) => commands::operate::members(&args),
        Some(Command::Keys(args)) => commands::keys::run(&args),
        Some(Command::Params(args)) => commands::operate::params(&args),
        Some(Command::Drain(args)) => commands::operate::drain(&args, &known.live),
        Some(Command::Backup(args)) => commands::operate::backup(&args),
        Some(Command::Restore(args)) => commands::operate::restore(&args),
        Some(Command::Prior(args)) => commands::prior::run(&args, &known.live),
        Some(Command::Rejoin(args)) => commands::operate::rejoin(&args),
        Some(Command::Reset(args)) => commands::operate::reset(&args),
        Some(Command::Inspect(args)) => commands::operate::inspect(&args, &known.live),
        Some(Command::Audit(args)) => commands::audit::run(&args),
        Some(Command::Merge(args)) => commands::merge::run(&args, &known.simulated),
        Some(Command::Completions(args)) => commands::shell::completions(&args, Arguments::command()),
        Some(Command::Man(args)) => commands::shell::man(&args, Arguments::command()),
        #[cfg(feature = "contract")]
        Some(Command::Contract(args)) => {
            commands::contract::run(&args, &known.suites, &known.simulated.worlds)
        }
    }
}

fn fail(message: &str, code: u8) -> ExitCode {
    // Without words it has been said already, in the log.
    if !message.is_empty() {
        say(format_args!("cahoots: {message}"));
    }
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }
}
