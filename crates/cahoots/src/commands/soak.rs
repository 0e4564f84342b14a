//! `cahoots soak`: federations of processes, killed at random.

use std::sync::Arc;
use std::time::Duration;

use cahoots_lab::LabError;
use cahoots_node::Known;
use cahoots_node::soak::{Soak, soak};

use crate::print;

/// Kill nodes of small federations on this machine at random, and check what is left.
///
/// In lockstep, the final states must be the simulator's, byte for byte; running free, every acknowledged
/// reward must be merged exactly once, and nothing that no app sent. A failure names the seed that runs it
/// again.
#[derive(clap::Args)]
pub struct Args {
    /// Kill so often.
    #[arg(long, default_value_t = 200)]
    kills: u64,
    /// Seed of the first round.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Stop after so many minutes, whatever the number of kills.
    #[arg(long)]
    minutes: Option<f64>,
}

pub fn run(args: &Args, known: &Arc<Known>) -> Result<(), LabError> {
    let exe = std::env::current_exe().map_err(|e| LabError::Failed(e.to_string()))?;
    let longest = args.minutes.map(|minutes| {
        Duration::try_from_secs_f64(minutes * 60.0)
            .map_err(|_| LabError::Input(format!("--minutes must be 0 or more, not {minutes}")))
    });
    let options =
        Soak { known: known.clone(), exe, kills: args.kills, seed: args.seed, longest: longest.transpose()? };
    let report = soak(&options, &mut |line| eprintln!("{line}")).map_err(LabError::Failed)?;
    let line = serde_json::to_string(&report).map_err(|e| LabError::Failed(e.to_string()))?;
    print::out(&format!("{line}\n"))
}
