//! The deployment alone, for machines that need no laboratory.

use std::path::PathBuf;
use std::process::ExitCode;

use cahoots_node::{commands, known};

fn main() -> ExitCode {
    commands::log();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", file] => commands::serve(&known(), &PathBuf::from(file)),
        ["client", file] => commands::client(&known(), &PathBuf::from(file)),
        ["bench"] => return bench(),
        ["soak", kills, seed] => return soak(kills, seed),
        _ => {
            eprintln!("usage: cahoots-node serve FILE.toml | client FILE.toml | soak KILLS SEED | bench");
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

fn soak(kills: &str, seed: &str) -> ExitCode {
    let (Ok(kills), Ok(seed), Ok(exe)) = (kills.parse(), seed.parse(), std::env::current_exe()) else {
        eprintln!("usage: cahoots-node soak KILLS SEED, two numbers");
        return ExitCode::from(2);
    };
    let soak = cahoots_node::soak::Soak { known: known(), exe, kills, seed, longest: None };
    match cahoots_node::soak::soak(&soak, &mut |line| eprintln!("{line}")) {
        Ok(report) => {
            println!("{}", serde_json::to_string(&report).expect("a report can be written"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bench() -> ExitCode {
    match cahoots_node::bench::run(&cahoots_node::bench::LiveOptions::default()) {
        Ok(rows) => {
            for row in rows {
                println!("{}", serde_json::to_string(&row).expect("a row can be written"));
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
