//! Numbers, not verdicts: what the two attacks cost in memory, and how fast the local HTTP face is.
//! `cargo test -p cahoots-node --test limits_speed -- --ignored --nocapture --test-threads 1`

mod common;

use std::sync::Arc;
use std::time::{Duration, Instant};

use cahoots_core::Setting;
use cahoots_node::client::{Client, ClientConfig};
use cahoots_node::http;
use cahoots_node::limits::ClientLimits;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use common::stranger::{resident, unfinished};
use common::{Federation, known, runtime, terms};

const DIM: usize = 25;

/// A client on its own, over HTTP.
fn served(dim: usize, runtime: &tokio::runtime::Runtime) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let terms = terms(&known(), "async-linucb", "upload_ratio = inf", Setting::linear(1, dim, DIM));
    let config =
        Client::builder(known(), "test", 0).store(folder.path().join("client")).terms(terms).config();
    // Nobody gives rewards here.
    let limits = ClientLimits { open_decisions: usize::MAX, ..ClientLimits::default() };
    let client = Client::open(ClientConfig { limits, ..config }).unwrap();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    runtime.spawn(http::serve(listener, Arc::new(client)));
    (folder, address)
}

fn request() -> Vec<u8> {
    let number = |i: usize| format!("{:?}", ((i * 7919 + 13) as f64 * 0.618_033_988_749_895).fract() - 0.5);
    let row = |k: usize| (0..DIM).map(|j| number(k * DIM + j)).collect::<Vec<_>>().join(",");
    let rows: Vec<_> = (0..DIM).map(|k| format!("[{}]", row(k))).collect();
    let body = format!("{{\"arms\":[{}]}}", rows.join(","));
    format!("POST /decide HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

async fn call(stream: &mut TcpStream, request: &[u8], buffer: &mut Vec<u8>) {
    stream.write_all(request).await.unwrap();
    buffer.clear();
    loop {
        assert!(stream.read_buf(buffer).await.unwrap() > 0, "closed");
        // The answer is small and ends with its JSON.
        if buffer.ends_with(b"}") {
            break;
        }
    }
    assert!(buffer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(buffer));
}

#[test]
#[ignore = "a measurement"]
fn decide_over_http() {
    let server = runtime();
    let (_folder, address) = served(DIM, &server);
    let load = runtime();
    let request = Arc::new(request());
    for _ in 0..3 {
        let (mut times, first) = (Vec::new(), request.clone());
        let address_ = address.clone();
        load.block_on(async {
            let mut stream = TcpStream::connect(&address_).await.unwrap();
            stream.set_nodelay(true).unwrap();
            let mut buffer = Vec::new();
            for _ in 0..5000 {
                let begun = Instant::now();
                call(&mut stream, &first, &mut buffer).await;
                times.push(begun.elapsed());
            }
        });
        times.sort_unstable();
        let begun = Instant::now();
        let each = 500;
        load.block_on(async {
            let calls: Vec<_> = (0..64)
                .map(|_| {
                    let (request, address) = (request.clone(), address.clone());
                    tokio::spawn(async move {
                        let mut stream = TcpStream::connect(&address).await.unwrap();
                        stream.set_nodelay(true).unwrap();
                        let mut buffer = Vec::new();
                        for _ in 0..each {
                            call(&mut stream, &request, &mut buffer).await;
                        }
                    })
                })
                .collect();
            for call in calls {
                call.await.unwrap();
            }
        });
        let rate = f64::from(64 * each) / begun.elapsed().as_secs_f64();
        println!(
            "decide over HTTP: p50 {:?}, p99 {:?}, {rate:.0}/s at 64 connections",
            times[2500], times[4950]
        );
    }
}

#[test]
#[ignore = "a measurement"]
fn a_body_of_many_short_rows() {
    let server = runtime();
    let (_folder, address) = served(1, &server);
    let load = runtime();
    let before = resident();
    let most = std::sync::atomic::AtomicUsize::new(0);
    load.block_on(async {
        let body = format!("{{\"arms\":[{}[1]]}}", "[1],".repeat(31 << 18)).into_bytes();
        let own = body.len() >> 20;
        let head = format!("POST /decide HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", body.len());
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let (mut read, mut write) = stream.split();
        let sending = async {
            let _ = write.write_all(head.as_bytes()).await;
            let _ = write.write_all(&body).await;
        };
        let receiving = async {
            let mut buffer = vec![0; 4096];
            let n = read.read(&mut buffer).await.unwrap_or(0);
            println!("answer: {}", String::from_utf8_lossy(&buffer[..n.min(600)]));
        };
        let watching = async {
            for _ in 0..150 {
                most.fetch_max(resident(), std::sync::atomic::Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::join!(sending, receiving, watching);
        let most = most.load(std::sync::atomic::Ordering::Relaxed);
        println!(
            "31 MB of [1],: {} MB at most beside the {own} MB of the sender",
            ((most - before) >> 20) - own
        );
    });
}

#[test]
#[ignore = "a measurement"]
fn strangers_with_unfinished_frames() {
    let params = terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(2, 2, 2));
    let federation = Federation::start(&known(), params);
    let before = resident();
    let load = runtime();
    let mut most = 0;
    load.block_on(async {
        for _ in 0..60 {
            tokio::spawn(unfinished(federation.address(), 31 << 20));
        }
        for _ in 0..200 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            most = most.max(resident());
        }
    });
    println!("60 strangers with 31 MB of a frame each: {} MB at most", (most - before) >> 20);
}
