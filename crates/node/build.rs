//! Compiles the published stream format; no `protoc` needed. Payloads are
//! `cahoots-core`'s.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::path::Path::new("../../proto");
    println!("cargo:rerun-if-changed=../../proto");
    let files = protox::compile([root.join("node.proto")], [root])?;
    let mut build = tonic_prost_build::configure()
        .extern_path(".cahoots.v1", "::cahoots_core::wire")
        .codec_path("crate::transport::codec::Small");
    // Channels make room for many frames before there are any: a frame is small, what is in it lies elsewhere.
    for kind in ["hello", "welcome", "envelope", "grant", "done"] {
        build = build.boxed(format!(".cahoots.node.v1.Frame.kind.{kind}"));
    }
    build.compile_fds(files)?;
    Ok(())
}
