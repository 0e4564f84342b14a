//! Running free under kills, and over a bad line: what was acknowledged is merged, what is merged
//! was sent, each once.

use std::path::Path;
use std::time::Duration;

use cahoots_testkit::proxy::Weather;
use cahoots_testkit::soak::FreeRound;

const EXE: &str = env!("CARGO_BIN_EXE_cahoots-node");

fn run(kills: u64, sync: &'static str, seed: u64) {
    let folder = tempfile::tempdir().unwrap();
    let pause = Duration::from_millis(40);
    let patience = Duration::from_secs(60);
    let round = FreeRound { clients: 3, coordinates: 8, seed, kills, pause, sync, patience, weather: None };
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

/// Pieces come late, much too late or not at all, connections are cut in the middle of a message or fall silent, and one
/// process is killed besides: what was acknowledged is merged once, and nobody is stuck. How many pieces pass, and so how
/// much befalls them, is up to the system: there are rounds until enough has.
#[test]
fn conservation_over_a_bad_line() {
    const ROUNDS: u64 = 20;
    let (mut cuts, mut stalls, mut silences) = (0, 0, 0);
    for seed in 23..23 + ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let weather = Weather {
            seed,
            delay: Duration::from_millis(3),
            stalls: 20,
            stall: Duration::from_millis(150),
            cuts: 15,
            silences: 4,
        };
        let round = FreeRound {
            clients: 3,
            coordinates: 40,
            seed,
            kills: 1,
            pause: Duration::from_millis(500),
            sync: "memory",
            patience: Duration::from_secs(60),
            weather: Some(weather),
        };
        let counts = round.run(Path::new(EXE), folder.path()).unwrap_or_else(|e| panic!("seed {seed}: {e}"));
        assert!(counts.acknowledged as f64 > 0.9 * counts.sent as f64, "seed {seed}: {counts:?}");
        cuts += counts.damage.cuts;
        stalls += counts.damage.stalls;
        silences += counts.damage.silences;
        if cuts > 3 && stalls > 3 && silences > 0 {
            return;
        }
    }
    panic!("no bad line: {cuts} cuts, {stalls} stalls and {silences} silences in {ROUNDS} rounds");
}
