//! Compiles the published wire format; no `protoc` needed.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::path::Path::new("proto");
    println!("cargo:rerun-if-changed=proto/cahoots.proto");
    let files = protox::compile([root.join("cahoots.proto")], [root])?;
    prost_build::Config::new().compile_fds(files)?;
    Ok(())
}
