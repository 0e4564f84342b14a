//! The probability that comes with a decision is the one that the arm was drawn with: over HTTP, as an app sees it.

use std::sync::Arc;

use cahoots_core::Setting;
use cahoots_core::homogeneity::chi_square::survival;
use cahoots_node::client::{Arms, Client};
use cahoots_node::http;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Runtime;

use crate::common::{FEDERATION, known, runtime, terms};

const ARMS: [[f64; 2]; 4] = [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.6, 0.8]];
const DECISIONS: usize = 3000;

/// An app with one open connection to its client.
struct App {
    runtime: Runtime,
    client: Arc<Client>,
    stream: TcpStream,
    _folder: tempfile::TempDir,
}

impl App {
    /// Of a client of a federation with this policy, on its own.
    fn new(policy: &str) -> App {
        let folder = tempfile::tempdir().unwrap();
        let terms = terms(
            &known(),
            "async-linucb",
            &format!("upload_ratio = inf\n{policy}"),
            Setting::linear(1, 2, 4),
        );
        let client = Client::builder(known(), FEDERATION, 0).store(folder.path().join("client")).terms(terms);
        let (client, runtime) = (Arc::new(client.open().unwrap()), runtime());
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        runtime.spawn(http::serve(listener, client.clone()));
        let stream = runtime.block_on(TcpStream::connect(address)).unwrap();
        App { runtime, client, stream, _folder: folder }
    }

    fn ask(&mut self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut came = Vec::new();
        self.runtime.block_on(async {
            self.stream.write_all(text.as_bytes()).await.unwrap();
            while !came.ends_with(b"}") {
                assert!(self.stream.read_buf(&mut came).await.unwrap() > 0, "an answer");
            }
        });
        let text = String::from_utf8(came).unwrap();
        assert!(text.starts_with("HTTP/1.1 200"), "{text}");
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Which arm, and how likely it was.
    fn decide(&mut self) -> (usize, Value) {
        let decided = self.ask("/decide", &json!({ "arms": ARMS }));
        (decided["arm"].as_u64().unwrap() as usize, decided["probability"].clone())
    }

    /// Rewards for a while; the model stays as it is from then on.
    fn taught(policy: &str) -> App {
        let mut app = App::new(policy);
        for _ in 0..30 {
            let decided = app.ask("/decide", &json!({ "arms": ARMS }));
            let x = ARMS[decided["arm"].as_u64().unwrap() as usize];
            app.ask("/reward", &json!({ "id": decided["id"], "reward": 0.5 * x[0] + 0.4 * x[1] }));
        }
        app
    }
}

#[test]
fn arms_come_as_often_as_their_stated_probability_says() {
    for policy in [
        "policy = \"softmax\"\ntemperature = 0.15",
        "policy = \"igw\"\ngap_weight = 2.0",
        "policy = \"greedy\"\nepsilon = 0.3",
        "policy = \"softmax\"\ntemperature = 0.2\nepsilon = 0.2",
        "epsilon = 0.4",
        "policy = \"uniform\"",
    ] {
        let mut app = App::taught(policy);
        let (mut times, mut stated) = ([0.0; 4], [None; 4]);
        for _ in 0..DECISIONS {
            let (arm, probability) = app.decide();
            let probability = probability.as_f64().expect("a number");
            assert!(
                *stated[arm].get_or_insert(probability) == probability,
                "{policy}: the model has not changed"
            );
            times[arm] += 1.0;
        }
        let stated = stated.map(|p| p.unwrap_or_else(|| panic!("{policy}: an arm never came: {times:?}")));
        assert!((stated.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{policy}: {stated:?}");
        let square = |(n, p): (f64, f64)| (n - p * DECISIONS as f64).powi(2) / (p * DECISIONS as f64);
        let p = survival(times.into_iter().zip(stated).map(square).sum(), 3.0, 0.0);
        assert!(p > 1e-3, "{policy}: {times:?} of {DECISIONS} where {stated:?} were stated");
        // The same to an app in Rust.
        let rows = ARMS.map(|row| row.to_vec());
        let decision = app.client.decide(None, Arms::Features(&rows)).unwrap();
        assert_eq!(decision.probability(), Some(stated[decision.arm().index()]), "{policy}");
    }
}

/// LinTS states what it drew the arm with, given the models that it drew before; with an epsilon no arm is
/// impossible, so that 1 / probability is on average the number of arms: all that inverse propensities rest on.
#[test]
fn lints_states_how_its_models_voted_and_without_samples_nothing() {
    let mut app = App::taught("policy = \"lints\"\nsampling_scale = 0.5\nsamples = 10\nepsilon = 0.2");
    let inverse: Vec<f64> = (0..DECISIONS).map(|_| 1.0 / app.decide().1.as_f64().unwrap()).collect();
    let n = DECISIONS as f64;
    let mean = inverse.iter().sum::<f64>() / n;
    let spread = (inverse.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n / n).sqrt();
    assert!((mean - 4.0).abs() < 4.0 * spread && spread < 0.15, "{mean} +- {spread}");
    let mut distinct: Vec<u64> = inverse.iter().map(|x| x.to_bits()).collect();
    distinct.sort_unstable();
    distinct.dedup();
    assert!((3..=11).contains(&distinct.len()), "votes of ten: {distinct:?}");

    for (policy, expected) in [("policy = \"lints\"", Value::Null), ("policy = \"linucb\"", json!(1.0))] {
        assert_eq!(App::taught(policy).decide().1, expected, "{policy}");
    }
}
