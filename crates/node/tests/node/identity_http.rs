//! Who may ask a client over HTTP: what pages of strangers send does not reach it, and a token or a socket keeps others out.

use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use cahoots_core::Setting;
use cahoots_node::client::Client;
use cahoots_node::http::{self, Entrance, Listening};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::runtime::Runtime;

use crate::common::{FEDERATION, known, runtime, terms};

const ARMS: &str = r#"{"arms":[[1.0,0.0],[0.6,0.8]]}"#;
const TOKEN: &str = "0123456789abcdef0123";
const JSON: &str = "content-type: application/json\r\n";

fn client(folder: &std::path::Path) -> Arc<Client> {
    let terms = terms(&known(), "async-linucb", "upload_ratio = inf", Setting::linear(1, 2, 2));
    let client = Client::builder(known(), FEDERATION, 0).store(folder.join("client")).terms(terms);
    Arc::new(client.open().unwrap())
}

struct Served {
    runtime: Runtime,
    address: String,
    _folder: tempfile::TempDir,
}

fn served(entrance: Entrance) -> Served {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    runtime.spawn(http::serve_behind(listener, entrance, client(folder.path())));
    Served { runtime, address, _folder: folder }
}

async fn asked(mut stream: impl AsyncRead + AsyncWrite + Unpin, head: &str, body: &str) -> (u16, String) {
    let text = format!("{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer.to_lowercase())
}

impl Served {
    fn ask(&self, head: &str, body: &str) -> (u16, String) {
        self.runtime
            .block_on(async { asked(TcpStream::connect(&self.address).await.unwrap(), head, body).await })
    }

    /// A decision, with these headers besides.
    fn decide(&self, headers: &str) -> (u16, String) {
        self.ask(&format!("POST /decide HTTP/1.1\r\n{headers}"), ARMS)
    }
}

#[test]
fn what_a_page_sends_without_asking_is_not_taken() {
    let served = served(Entrance::default());
    assert_eq!(served.decide(&format!("host: localhost\r\n{JSON}")).0, 200);
    assert_eq!(
        served.decide("host: 127.0.0.1:80\r\ncontent-type: Application/JSON; charset=utf-8\r\n").0,
        200
    );
    assert_eq!(served.decide(&format!("host: [::1]:80\r\n{JSON}")).0, 200);
    for kind in ["", "content-type: text/plain\r\n", "content-type: application/x-www-form-urlencoded\r\n"] {
        let (status, said) = served.decide(&format!("host: localhost\r\n{kind}"));
        assert!(status == 415 && said.contains("content-type: application/json"), "{kind:?}: {said}");
    }
    for origin in ["https://evil.example", "http://localhost:3000", "null"] {
        let (status, said) = served.decide(&format!("host: localhost\r\norigin: {origin}\r\n{JSON}"));
        assert!(status == 403 && said.contains("origins = [...]"), "{origin}: {said}");
        assert!(!said.contains("access-control-allow"), "{said}");
        let (status, said) =
            served.ask(&format!("OPTIONS /decide HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\n"), "");
        assert!(status == 403 && !said.contains("access-control-allow"), "{said}");
        let (status, _) =
            served.ask(&format!("GET /status HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\n"), "");
        assert_eq!(status, 403, "nor may it read");
    }
    // A name that was made to mean this machine.
    for host in
        ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "127.0.0.1@evil"]
    {
        let (status, said) = served.decide(&format!("host: {host}\r\n{JSON}"));
        assert!(status == 403 && said.contains("is not this machine"), "{host}: {said}");
        assert_eq!(served.ask(&format!("GET /status HTTP/1.1\r\nhost: {host}\r\n"), "").0, 403);
    }
}

#[test]
fn a_listed_origin_asks_first_and_is_answered() {
    let page = "https://shop.example";
    let served = served(Entrance::new(None, vec![page.into()], false).unwrap());
    let ask = format!(
        "OPTIONS /decide HTTP/1.1\r\nhost: localhost\r\norigin: {page}\r\naccess-control-request-method: POST\r\n\
         access-control-request-headers: content-type\r\n"
    );
    let (status, said) = served.ask(&ask, "");
    assert_eq!(status, 204, "{said}");
    for line in [
        "access-control-allow-origin: https://shop.example\r\n",
        "access-control-allow-methods: get, post\r\n",
        "access-control-allow-headers: content-type, authorization, ocp-apim-subscription-key\r\n",
        "vary: origin\r\n",
    ] {
        assert!(said.contains(line), "{said} lacks {line}");
    }
    let (status, said) = served.decide(&format!("host: localhost\r\norigin: {page}\r\n{JSON}"));
    assert!(
        status == 200 && said.contains("access-control-allow-origin: https://shop.example\r\n"),
        "{said}"
    );
    let (status, said) = served.decide(&format!("host: localhost\r\norigin: {page}\r\n"));
    assert!(status == 415 && said.contains("access-control-allow-origin"), "it may read why: {said}");
    for other in ["https://shop.example.evil", "http://shop.example", "https://shop.example, https://evil"] {
        assert_eq!(served.decide(&format!("host: localhost\r\norigin: {other}\r\n{JSON}")).0, 403, "{other}");
    }
    let twice = format!("host: localhost\r\norigin: {page}\r\norigin: https://evil\r\n{JSON}");
    assert_eq!(served.decide(&twice).0, 403);
    for wrong in ["*", "shop.example", "https://", "https://shop.example/"] {
        assert!(
            Entrance::new(None, vec![wrong.into()], false).is_err_and(|words| words.contains("is no origin"))
        );
    }
}

#[test]
fn a_token_is_asked_for_everything() {
    let served = served(Entrance::new(Some(TOKEN.into()), Vec::new(), false).unwrap());
    let with = |token: &str| {
        served.decide(&format!("host: shop.example\r\nauthorization: Bearer {token}\r\n{JSON}"))
    };
    assert_eq!(with(TOKEN).0, 200, "under any name");
    for wrong in ["", "x", &TOKEN[1..], &format!("{TOKEN}0")] {
        let (status, said) = with(wrong);
        assert!(status == 401 && said.contains("authorization: bearer token"), "{said}");
    }
    assert_eq!(served.decide(&format!("host: localhost\r\n{JSON}")).0, 401, "on this machine too");
    for path in ["/status", "/health"] {
        assert_eq!(served.ask(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n"), "").0, 401, "{path}");
    }
    assert!(
        Entrance::new(Some("short".into()), Vec::new(), false)
            .is_err_and(|words| words.contains("openssl rand"))
    );
}

#[test]
fn others_reach_it_with_a_token_alone_and_a_socket_is_its_owners() {
    let folder = tempfile::tempdir().unwrap();
    let runtime = runtime();
    let listen = |http: &str, token| {
        let listening = runtime.block_on(http::listen(http, folder.path(), token));
        listening.map_err(|e| e.to_string())
    };
    let said = listen("0.0.0.0:0", false).err().expect("refused");
    assert!(said.contains("set `token`") && said.contains("unix:PATH"), "{said}");
    assert!(listen("0.0.0.0:0", true).is_ok() && listen("127.0.0.1:0", false).is_ok());

    std::fs::write(folder.path().join("file"), "mine").unwrap();
    assert!(listen("unix:file", false).err().is_some_and(|said| said.contains("no socket")));
    let (listening, at) = listen("unix:app.sock", false).unwrap();
    let path = folder.path().join("app.sock");
    assert_eq!(at, format!("unix:{}", path.display()));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(listen("unix:app.sock", false).err().is_some_and(|said| said.contains("somebody listens")));
    let Listening::Unix(listener) = listening else { panic!("a socket") };
    let entrance = Entrance::new(None, Vec::new(), true).unwrap();
    runtime.spawn(http::serve_behind(listener, entrance, client(folder.path())));
    let (status, said) = runtime.block_on(async {
        let stream = UnixStream::connect(&path).await.unwrap();
        asked(stream, &format!("POST /decide HTTP/1.1\r\nhost: app\r\n{JSON}"), ARMS).await
    });
    assert_eq!(status, 200, "{said}");
}
