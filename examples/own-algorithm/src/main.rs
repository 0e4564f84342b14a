//! An algorithm and a world that Cahoots has never heard of, with a command that knows them beside all of ours.

mod coins;
mod greedy;

use std::process::ExitCode;

fn main() -> ExitCode {
    cahoots::Cli::new().algorithm::<greedy::FederatedGreedy>().world::<coins::Coins>().main()
}
