//! What people and apps write.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use cahoots_lab::experiment::Source;
use cahoots_lab::{catalogue, from_text};
use cahoots_node::config::{ClientFile, ServeFile};
use cahoots_node::inside;
use cahoots_sim::catalogue::Catalogue;

use crate::federation::KNOWN;

/// A configuration file of a coordinator or a client, read and checked.
pub fn configuration(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let path = Path::new("file.toml");
    if let Ok(file) = toml::from_str::<ServeFile>(text) {
        let _ = file.config(&KNOWN, path);
    }
    if let Ok(file) = toml::from_str::<ClientFile>(text) {
        let _ = file.config(&KNOWN, path);
    }
}

/// An experiment file, read and checked.
pub fn experiment(bytes: &[u8]) {
    static CATALOGUE: LazyLock<Arc<Catalogue>> = LazyLock::new(catalogue);
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let source = Source { name: "file.toml".into(), text: text.into() };
    if let Err(error) = from_text(&CATALOGUE, source, None) {
        assert!(!error.to_string().is_empty());
    }
}

/// The body of a request at the local HTTP face; the first byte says how many features are expected.
pub fn http(bytes: &[u8]) {
    let Some((first, body)) = bytes.split_first() else { return };
    let (width, usual, most) = (usize::from(first % 4), 3, 10);
    if let Ok(numbers) = inside::decide_body(body, width, usual, most) {
        assert!(numbers <= width * most);
    }
    if let Ok((rewards, _)) = inside::reward_body(body) {
        assert!(rewards <= body.len());
    }
    let _ = inside::abandon_body(body);
    if let Ok((come, go)) = inside::arms_body(body) {
        assert!(come + go <= body.len());
    }
}
