//! The deployment alone, as tests kill it: running free or in lockstep.

use std::path::PathBuf;
use std::process::ExitCode;

use cahoots_node::commands;
use cahoots_testkit::crowd::crowd;
use cahoots_testkit::faults::command;
use cahoots_testkit::lockstep::ours;
use cahoots_testkit::nats;
use cahoots_testkit::soak::{Soak, soak};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["serve", file] => {
            commands::log();
            commands::serve(&ours(), &PathBuf::from(file))
        }
        ["client", file] => {
            commands::log();
            commands::client(&ours(), &PathBuf::from(file))
        }
        ["crowd", url, federation, clients, here] => match (clients.parse(), here.parse()) {
            (Ok(clients), Ok(here)) => crowd(url, federation, clients, here),
            _ => {
                eprintln!("usage: cahoots-node crowd URL FEDERATION CLIENTS HERE, two numbers at the end");
                return ExitCode::from(2);
            }
        },
        ["soak", kills, seed] => {
            commands::log();
            return kill(kills, seed);
        }
        ["nats", rounds, seed] => {
            commands::log();
            return match std::env::current_exe() {
                Ok(exe) => nats::command::many(&exe, rounds, seed),
                Err(error) => {
                    eprintln!("error: where this program is: {error}");
                    ExitCode::FAILURE
                }
            };
        }
        ["replicated-faults", seeds, first] => return command::many_replicated(seeds, first),
        ["replicated-fault", seed, without, decisions] => {
            return command::one_replicated(seed, without, decisions);
        }
        ["faults", seeds, first] => return command::many(seeds, first),
        ["fault", seed, without, decisions] => {
            commands::log();
            return command::one(seed, without, decisions);
        }
        _ => {
            eprintln!(
                "usage: cahoots-node serve FILE.toml | client FILE.toml | crowd URL FEDERATION CLIENTS HERE | soak KILLS SEED | \
                 nats ROUNDS SEED | [replicated-]faults SEEDS FIRST | [replicated-]fault SEED WITHOUT DECISIONS"
            );
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

fn kill(kills: &str, seed: &str) -> ExitCode {
    let (Ok(kills), Ok(seed), Ok(exe)) = (kills.parse(), seed.parse(), std::env::current_exe()) else {
        eprintln!("usage: cahoots-node soak KILLS SEED, two numbers");
        return ExitCode::from(2);
    };
    let options = Soak { known: ours(), exe, kills, seed, longest: None };
    match soak(&options, &mut |line| eprintln!("{line}")) {
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
