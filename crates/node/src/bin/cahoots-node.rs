//! The deployment alone, for machines that need no laboratory.

use std::path::PathBuf;
use std::process::ExitCode;

use cahoots_node::commands;

fn main() -> ExitCode {
    commands::log();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", file] => commands::serve(&PathBuf::from(file)),
        ["client", file] => commands::client(&PathBuf::from(file)),
        _ => {
            eprintln!("usage: cahoots-node serve FILE.toml | client FILE.toml");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(commands::exit_code(&error))
        }
    }
}
