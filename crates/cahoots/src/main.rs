//! The `cahoots` command, with what is ours.

use std::process::ExitCode;

fn main() -> ExitCode {
    cahoots::Cli::new().main()
}
