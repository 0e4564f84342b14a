//! Inputs on record, offered again: those that once failed, and sound ones to start from. `CAHOOTS_RECORD=1` writes the
//! sound ones anew, where formats have changed.

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};

use cahoots_core::{NodeId, wire};
use cahoots_fuzz::federation::{ALL, Federation};
use cahoots_fuzz::{TARGETS, Target};
use cahoots_node::transport::proto::{Alive, Change, Done, Hello, Welcome};
use cahoots_node::transport::{self, EnvelopeHeader, Kind, confirm, confirm_peer, refusal};
use prost::Message as _;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus")
}

/// All inputs of a target, by name.
fn inputs(name: &str) -> Vec<(String, Vec<u8>)> {
    let folder = fs::read_dir(root().join(name)).expect("every target has a corpus");
    let paths = folder.map(|file| file.expect("a readable folder").path());
    let read = |path: PathBuf| (path.display().to_string(), fs::read(&path).expect("a readable file"));
    let mut inputs: Vec<_> = paths.map(read).collect();
    inputs.sort();
    inputs
}

/// Deterministic neighbours of an input: cut, flipped, repeated.
fn neighbours(input: &[u8]) -> Vec<Vec<u8>> {
    let step = (input.len() / 24).max(1);
    let mut all = Vec::new();
    for at in (0..input.len()).step_by(step) {
        all.push(input[..at].to_vec());
        for flip in [1, 0x80, 0xff] {
            let mut other = input.to_vec();
            other[at] ^= flip;
            all.push(other);
        }
        all.push([&input[..at], &input[at / 2..]].concat());
    }
    all
}

fn replay(name: &str, target: Target) {
    let mut tried = 0;
    for (path, input) in inputs(name) {
        for input in std::iter::once(input.clone()).chain(neighbours(&input)) {
            tried += 1;
            assert!(catch_unwind(|| target(&input)).is_ok(), "{path}, or a neighbour: {input:?}");
        }
    }
    assert!(tried > 50, "{name}: only {tried} inputs");
    println!("{name}: {tried} inputs");
}

macro_rules! replays {
    ($($number:literal $name:ident),*) => {
        $(
            #[test]
            fn $name() {
                record();
                let (name, target) = TARGETS[$number];
                assert_eq!(name, stringify!($name));
                replay(name, target);
            }
        )*
    };
}

replays!(0 frame, 1 server, 2 client, 3 snapshot, 4 entry, 5 store, 6 configuration, 7 experiment, 8 http, 9 rows);

/// Sound inputs to start from.
fn sound(name: &str) -> Vec<Vec<u8>> {
    let chosen = |pieces: fn(&Federation) -> Vec<Vec<u8>>| -> Vec<Vec<u8>> {
        let with_number = |(i, federation): (usize, &Federation)| {
            let pieces = pieces(federation);
            let few = [pieces.first().cloned(), pieces.last().cloned()];
            few.into_iter().flatten().map(move |piece| [&[i as u8], &piece[..]].concat()).collect::<Vec<_>>()
        };
        ALL.iter().enumerate().flat_map(with_number).collect()
    };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let texts = |folder: &Path| -> Vec<Vec<u8>> {
        let files = fs::read_dir(folder).expect("examples").map(|file| file.expect("a file").path());
        let mut files: Vec<_> = files.filter(|path| path.extension().is_some_and(|e| e == "toml")).collect();
        files.sort();
        files.into_iter().map(|path| fs::read(path).expect("an example")).collect()
    };
    match name {
        "frame" => frames(),
        "server" => chosen(|federation| federation.up.clone()),
        "client" => chosen(|federation| federation.down.clone()),
        "snapshot" => chosen(|federation| vec![federation.server.clone(), federation.client.clone()]),
        "entry" => chosen(|federation| federation.log.clone()),
        "store" => {
            (0..6u8).flat_map(|what| (0..4).map(move |file| vec![file, 0, 40 * what, what, 3])).collect()
        }
        "configuration" => texts(&examples.join("live")),
        "experiment" => texts(&examples),
        "http" => [
            "\x02{\"arms\": [[1, 2.5], [-3e-1, 4]], \"user\": 7}",
            "\x00{\"arms\": 3}",
            "\x00{\"id\": \"5180227136420-1\", \"reward\": 1.0}",
            "\x00{\"id\": \"1-1\"}",
            "\x02{\"arms\": [\"a\", {\"id\": \"b\", \"features\": [1, 0]}], \"masked\": [\"a\"], \"top\": 2, \"event\": \"e\\u00e9\", \"deferred\": true}",
            "\x00{\"decisions\": [{\"arms\": 3, \"masked\": [0, 2]}, {}, {\"arms\": [\"x\"], \"user\": null}]}",
            "\x00{\"rewards\": [{\"event\": \"e\", \"reward\": -1e-3, \"part\": \"p\"}, {\"id\": \"1-1\", \"reward\": 2}]}",
            "\x00{\"event\": \"e\"}",
            "\x00{\"register\": [{\"id\": \"a\", \"features\": [1, 0]}, {\"id\": \"b\", \"index\": 4}], \"retire\": [\"c\"]}",
        ]
        .map(|text| text.as_bytes().to_vec())
        .into(),
        "rows" => [
            "user,weight,kind\nann,1.5,\"a, \"\"b\"\"\nc\"\nbob,NA,x\n",
            "a;b\r\n1;-inf\r\n2;1e400\r\n",
            "1\t2\t3\n4\t5\t6\n",
        ]
        .map(|text| text.as_bytes().to_vec())
        .into(),
        other => panic!("no corpus for {other}"),
    }
}

fn frames() -> Vec<Vec<u8>> {
    let header = EnvelopeHeader { federation: "shops".into(), from: NodeId(1), parameters: 5 };
    let payload = ALL[0].up.first().cloned().unwrap_or_default();
    let hello = Hello {
        federation: "shops".into(),
        client: 1,
        instance: vec![3; 16],
        version: wire::VERSION,
        ..Hello::default()
    };
    let terms = ALL[0].terms.to_toml();
    [
        transport::frame(Kind::Hello(hello.into())),
        transport::frame(Kind::Welcome(Welcome { terms, ..Welcome::default() }.into())),
        transport::frame(Kind::Envelope(header.around(NodeId::SERVER, 3, 1, payload).into())),
        confirm(7),
        confirm_peer(8, NodeId(2)),
        refusal("no room", true),
        transport::frame(Kind::Done(Done::default().into())),
        transport::frame(Kind::Change(Change { version: 1, params: "ratio = 2.0".into() })),
        transport::frame(Kind::Alive(Alive { position: 9, ..Alive::default() })),
    ]
    .iter()
    .map(|frame| frame.encode_to_vec())
    .collect()
}

/// Writes sound inputs, if asked to.
fn record() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        if std::env::var_os("CAHOOTS_RECORD").is_none() {
            return;
        }
        for (name, _) in TARGETS {
            let folder = root().join(name);
            fs::create_dir_all(&folder).expect("a folder");
            for (i, input) in sound(name).into_iter().enumerate() {
                fs::write(folder.join(format!("sound-{i:03}")), input).expect("a file");
            }
        }
    });
}
