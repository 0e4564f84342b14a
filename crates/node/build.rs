//! Compiles the published stream format; no `protoc` needed. Payloads are
//! `cahoots-core`'s.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Payloads lie beside the crate that reads them.
    let roots = ["proto", "../core/proto"];
    roots.iter().for_each(|root| println!("cargo:rerun-if-changed={root}"));
    let files = protox::compile(["proto/node.proto"], roots)?;
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
