//! Compiles the published stream format; no `protoc` needed. Payloads are
//! `cahoots-core`'s.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::path::Path::new("../../proto");
    println!("cargo:rerun-if-changed=../../proto");
    let files = protox::compile([root.join("node.proto")], [root])?;
    tonic_prost_build::configure().extern_path(".cahoots.v1", "::cahoots_core::wire").compile_fds(files)?;
    Ok(())
}
