//! Running free under kills: what was acknowledged is merged, what is merged
//! was sent, each once.

use std::path::Path;
use std::time::Duration;

use cahoots_testkit::soak::FreeRound;

const EXE: &str = env!("CARGO_BIN_EXE_cahoots-node");

fn run(kills: u64, sync: &'static str, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let pause = Duration::from_millis(40);
    let patience = Duration::from_secs(60);
    let round = FreeRound { clients: 3, coordinates: 8, seed, kills, pause, sync, patience };
    let counts = round.run(Path::new(EXE), folder.path()).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
    assert!(counts.acknowledged > 0 && counts.kills >= kills / 2, "{counts:?}");
}

#[test]
fn conservation_under_kills() {
    run(10, "memory", 21);
}

#[test]
fn conservation_under_kills_with_fsync() {
    run(5, "disk", 22);
}
