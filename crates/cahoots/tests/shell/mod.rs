//! The built command, and experiments to try it with.

#![allow(dead_code, reason = "each test takes what it needs")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Two entries, in a moment.
pub(crate) const SMALL: &str = r#"
horizon = 100
seeds = 2
[environment]
kind = "linear"
clients = 4
dim = 3
arms = 3
[[algorithm]]
kind = "async-linucb"
[[algorithm]]
kind = "linucb-shared"
"#;

/// Long enough to be interrupted: sixty runs of a fraction of a second.
pub(crate) const LONG: &str = r#"
horizon = 20000
seeds = 60
[environment]
kind = "linear"
clients = 20
dim = 10
arms = 10
[[algorithm]]
kind = "async-linucb"
"#;

/// Calls the command and waits for its end.
pub(crate) fn cahoots(folder: &Path, args: &[&str]) -> Output {
    command(folder, args).output().unwrap()
}

/// The command, to be started.
pub(crate) fn command(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cahoots"));
    command.current_dir(folder).args(args);
    command
}

/// A folder with an experiment in `x.toml`.
pub(crate) fn folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("x.toml"), text).unwrap();
    folder
}

/// What was printed.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
