//! Everything that reads bytes from elsewhere, offered arbitrary ones. A target is a function that must not panic, hang or
//! take much memory, whatever it is given, and that asserts what else must hold. `cargo fuzz` looks for inputs with
//! nightly Rust (`./soak fuzz`); `tests/corpora.rs` offers those that are on record, with any Rust.

pub mod disk;
pub mod federation;
pub mod machines;
pub mod stores;
pub mod tables;
pub mod texts;
pub mod wire;

/// What is given arbitrary bytes.
pub type Target = fn(&[u8]);

/// All of them, by the name of their corpus.
pub const TARGETS: [(&str, Target); 10] = [
    ("frame", wire::frame),
    ("server", machines::server),
    ("client", machines::client),
    ("snapshot", machines::snapshot),
    ("entry", machines::entry),
    ("store", stores::store),
    ("configuration", texts::configuration),
    ("experiment", texts::experiment),
    ("http", texts::http),
    ("rows", tables::rows),
];
