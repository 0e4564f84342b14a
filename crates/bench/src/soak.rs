//! `cahoots-bench soak`: federations of processes, killed at random.

use std::time::Duration;

use cahoots_testkit::lockstep::ours;
use cahoots_testkit::soak::{Soak, soak};

use crate::report;

/// In lockstep, the final states must be the simulator's, byte for byte; running free, every acknowledged
/// reward must be merged exactly once, and nothing that no app sent. A failure names the seed that runs it
/// again.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Kill so often.
    #[arg(long, default_value_t = 200)]
    kills: u64,
    /// Seed of the first round.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after so many minutes, whatever the number of kills.
    #[arg(long, value_parser = minutes)]
    minutes: Option<Duration>,
}

fn minutes(text: &str) -> Result<Duration, String> {
    let minutes: f64 = text.parse().map_err(|_| format!("{text:?} is not a number"))?;
    Duration::try_from_secs_f64(minutes * 60.0).map_err(|_| format!("must be 0 or more, not {minutes}"))
}

/// Kills; the nodes are processes of this very program.
pub(crate) fn run(args: &Args) -> Result<(), String> {
    let exe = std::env::current_exe().map_err(|error| error.to_string())?;
    let options = Soak { known: ours(), exe, kills: args.kills, seed: args.seed, longest: args.minutes };
    report::json(&soak(&options, &mut |line| eprintln!("{line}"))?)
}
