//! What a start refuses, `--check` refuses in the same words; and a start that is refused leaves nothing behind.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cahoots_core::{LinearStats, Prior};
use cahoots_node::config::Given;
use cahoots_node::operation::{self, NodeFile};
use cahoots_node::prior::PriorFile;
use cahoots_node::{Known, NodeError, commands};

use crate::common::known;

const SERVE: &str = "federation = \"test\"\nstore = \"node.store\"\nsync = \"memory\"\n";
const TERMS: &str =
    "[setting]\nusers = 3\ndim = 2\narms = 2\n[algorithm]\nkind = \"async-linucb\"\nratio = 2.0\n";
const CLIENT: &str = "federation = \"test\"\nclient = 0\nstore = \"node.store\"\nsync = \"memory\"\n";

fn written(folder: &Path, text: &str) -> PathBuf {
    let path = folder.join("node.toml");
    std::fs::write(&path, text).unwrap();
    path
}

fn checked(known: &Arc<Known>, path: &Path) -> Result<(), NodeError> {
    operation::check(known, &NodeFile::read(Given::file(path))?, path).map(drop)
}

fn started(known: &Arc<Known>, path: &Path) -> NodeError {
    let file = NodeFile::read(Given::file(path)).unwrap();
    let started = match file {
        NodeFile::Coordinator(_) => commands::serve(known, Given::file(path)),
        NodeFile::Client(_) => commands::client(known, Given::file(path)),
    };
    started.expect_err("it is refused")
}

/// Nothing but what was there.
fn left(folder: &Path) -> Vec<String> {
    let names =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("node.store")).collect()
}

#[test]
fn a_check_refuses_what_a_start_refuses_and_neither_leaves_a_store() {
    let known = known();
    let folder = tempfile::tempdir().unwrap();
    let prior = PriorFile {
        kind: "of something else".into(),
        from: "a test".into(),
        features: Vec::new(),
        prior: Prior::Linear(LinearStats::empty(2)),
    };
    prior.write(&folder.path().join("prior.json")).unwrap();
    let serve = |line: &str| format!("{SERVE}{line}\n{TERMS}");
    let client = |lines: &str| format!("{CLIENT}{lines}\n");
    let here = "coordinator = \"http://127.0.0.1:1\"";
    let cases = [
        (serve("listen = \"127.0.0.1:0\"\nhttp = \"0.0.0.0:0\""), "could watch this federation"),
        (serve("listen = \"127.0.0.1:0\"\nhttp = \"0.0.0.0:0\"\ntoken = \"short\""), "can be guessed"),
        (serve("listen = \"127.0.0.1:0\"\nhttp = \"127.0.0.1:0\"\ntoken = \"short\""), "can be guessed"),
        (
            serve("listen = \"127.0.0.1:0\"\nhttp = \"0.0.0.0:0\"\ntoken = \"0123456789abcdef\""),
            "would travel in plain text",
        ),
        (serve("listen = \"127.0.0.1:0\"\ntoken_file = \"nowhere\""), "nowhere"),
        (serve("listen = \"127.0.0.1:0\"\nhttp = \"127.0.0.1\""), "choose another `http`"),
        (serve("listen = \"0.0.0.0:0\""), "without encryption"),
        (serve("listen = \"127.0.0.1\""), "choose another `listen`"),
        (serve("").replace("ratio = 2.0", "rato = 2.0"), "unknown key `rato`; did you mean `ratio`?"),
        (serve("").replace("ratio = 2.0", "speed = 2.0"), "unknown key `speed`; there are: "),
        (
            format!("{}[warm_start]\nprior = \"prior.json\"\n", serve("listen = \"127.0.0.1:0\"")),
            "of kind \"of something else\"",
        ),
        (
            format!("{}[warm_start]\nprior = \"nowhere.json\"\n", serve("listen = \"127.0.0.1:0\"")),
            "nowhere.json",
        ),
        (client(&format!("{here}\nhttp = \"0.0.0.0:0\"")), "could decide and reward"),
        (client(&format!("{here}\nhttp = \"127.0.0.1\"")), "choose another `http`"),
        (client(&format!("{here}\ntoken = \"short\"")), "16"),
        (client("coordinator = \"http://10.1.2.3:1\""), "without encryption"),
        (client("coordinator = \"https://10.1.2.3:1\""), "needs [tls]"),
        (client("coordinator = \"elsewhere\""), "must look like"),
    ];
    for (text, words) in cases {
        let path = written(folder.path(), &text);
        for error in [checked(&known, &path).expect_err(words), started(&known, &path)] {
            assert!(matches!(error, NodeError::Config(_)), "{words}: the input is wrong: {error:?}");
            assert!(error.to_string().contains(words), "{words}: {error}");
            assert_eq!(left(folder.path()), [] as [String; 0], "{words}");
        }
    }
}

/// What a check cannot know, since the node that runs has the address: still nothing is left.
#[test]
fn an_address_that_is_taken_leaves_no_store_behind() {
    let known = known();
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap();
    for text in [
        format!("{SERVE}listen = \"{at}\"\n{TERMS}"),
        format!("{SERVE}listen = \"127.0.0.1:0\"\nhttp = \"{at}\"\n{TERMS}"),
        format!("{CLIENT}coordinator = \"http://127.0.0.1:1\"\nhttp = \"{at}\"\n"),
    ] {
        let path = written(folder.path(), &text);
        checked(&known, &path).unwrap();
        let error = started(&known, &path);
        assert!(matches!(error, NodeError::Network(_)), "{error:?}");
        assert_eq!(left(folder.path()), [] as [String; 0]);
    }
}
