//! `nats`: any number of rounds.

use std::path::Path;
use std::process::ExitCode;

use super::round::NatsRound;

/// Faults of a round: every kind once.
const FAULTS: usize = super::fault::KINDS as usize;

/// Runs so many rounds, from the one of `seed` on; each prints one line. Where one fails, all it left stays to be looked at.
pub fn many(exe: &Path, rounds: &str, seed: &str) -> ExitCode {
    let (Ok(rounds), Ok(first)) = (rounds.parse::<u64>(), seed.parse::<u64>()) else {
        eprintln!("usage: nats ROUNDS SEED, two numbers");
        return ExitCode::from(2);
    };
    for seed in first..first.saturating_add(rounds) {
        let folder = match tempfile::tempdir() {
            Ok(folder) => folder,
            Err(error) => {
                eprintln!("error: no folder for a round: {error}; TMPDIR says where it is made");
                return ExitCode::FAILURE;
            }
        };
        let round = NatsRound::of(seed, FAULTS);
        match round.run(exe, folder.path(), &mut |line| eprintln!("{line}")) {
            Ok(outcome) => println!("seed {seed}: {outcome}"),
            Err(error) => {
                let kept = folder.keep();
                eprintln!("error: seed {seed}: {error}");
                eprintln!("what it left is in {}; run it again with: ./soak nats 1 {seed}", kept.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
