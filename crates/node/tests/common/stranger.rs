//! Someone who knows HTTP/2 and means no good.

use std::sync::{Mutex, MutexGuard, PoisonError};

use cahoots_node::transport::proto::Hello;
use cahoots_node::transport::{Kind, frame};
use h2::SendStream;
use h2::client::Connection;
use prost::Message as _;
use tokio::net::TcpStream;
use tonic::codegen::Bytes;
use tonic::codegen::http::Request;

/// Whoever measures memory, or takes much of it, does so alone.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory of this process, in bytes.
pub(crate) fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<usize>().unwrap() << 10
}

/// Announces a frame of `length` bytes and sends it, all but the end, until that is refused. Gives how many
/// bytes were taken; waits for ever once all were.
pub(crate) async fn unfinished(address: String, length: usize) -> usize {
    unfinished_by(address, None, length).await
}

/// The same from someone who has said hello and is welcome.
pub(crate) async fn unfinished_by(address: String, hello: Option<Hello>, length: usize) -> usize {
    let (connection, mut body) = open(&address, hello).await;
    tokio::spawn(connection);
    if body.send_data(announced(length).into(), false).is_err() {
        return 0;
    }
    let chunk = Bytes::from_static(&[0; 16384]);
    let mut taken = 0;
    while taken < length - chunk.len() {
        body.reserve_capacity(chunk.len());
        let Some(Ok(room)) = std::future::poll_fn(|cx| body.poll_capacity(cx)).await else { return taken };
        let n = room.min(chunk.len());
        if body.send_data(chunk.slice(..n), false).is_err() {
            return taken;
        }
        taken += n;
    }
    std::future::pending().await
}

/// Says hello, is welcome, and then neither speaks, listens nor goes until it is dropped.
pub(crate) async fn frozen(address: String, hello: Hello) -> impl Sized {
    open(&address, Some(hello)).await
}

/// A stream that is welcome if a hello was given.
async fn open(address: &str, hello: Option<Hello>) -> (Connection<TcpStream>, SendStream<Bytes>) {
    let tcp = TcpStream::connect(address).await.unwrap();
    let (mut ask, mut connection) = h2::client::handshake(tcp).await.unwrap();
    let request = Request::post(format!("http://{address}/cahoots.node.v1.Federation/Link"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .unwrap();
    let (answer, mut body) = ask.send_request(request, false).unwrap();
    if let Some(hello) = hello {
        let hello = frame(Kind::Hello(hello.into())).encode_to_vec();
        body.send_data([announced(hello.len()), hello].concat().into(), false).unwrap();
        let welcomed = async { answer.await.unwrap().into_body().data().await.expect("a welcome").unwrap() };
        tokio::select! {
            _ = welcomed => {}
            _ = &mut connection => panic!("closed"),
        }
    }
    (connection, body)
}

/// How a message says how long it is.
fn announced(length: usize) -> Vec<u8> {
    [&[0][..], &(length as u32).to_be_bytes()].concat()
}
