//! Gathers the READMEs of the algorithms, so that `cahoots algorithms NAME` can show them.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

fn main() {
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
