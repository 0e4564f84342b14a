//! Gathers the READMEs of the algorithms, so that `cahoots algorithms NAME` can show them; and says which commit this is.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{env, fs};

fn main() {
    let version = env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = commit().map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo::rustc-env=CAHOOTS_VERSION={version}");
    let algorithms = Path::new(env!("CARGO_MANIFEST_DIR")).join("../algorithms/src");
    println!("cargo::rerun-if-changed={}", algorithms.display());
    let folders = fs::read_dir(&algorithms).into_iter().flatten().flatten();
    let mut readmes: Vec<_> =
        folders.map(|folder| folder.path().join("README.md")).filter(|path| path.is_file()).collect();
    readmes.sort();
    let mut code = String::from("&[\n");
    for readme in readmes {
        println!("cargo::rerun-if-changed={}", readme.display());
        let _ = writeln!(code, "    include_str!({:?}),", readme.display().to_string());
    }
    code.push_str("]\n");
    let out = env::var("OUT_DIR").expect("cargo says where to write");
    fs::write(Path::new(&out).join("readmes.rs"), code).expect("cargo's folder can be written");
}

/// The commit that is checked out, where there is a repository and git to ask.
fn commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_string()).filter(|text| !text.is_empty())
    };
    // A crate that was copied into somebody else's repository is not of their commits.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    for file in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", file]).filter(|path| Path::new(path).exists()) {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"])
}
