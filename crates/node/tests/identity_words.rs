//! Every way to fail, in words with the fix, at both ends where both know. One test, since it reads the log.

mod common;

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use cahoots_core::Setting;
use cahoots_node::Terms;
use cahoots_node::client::Arms;
use cahoots_node::identity::{Admit, ClientSecurity, KeyFiles, Name, Role, Signer};
use cahoots_node::limits::ServeLimits;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use time::OffsetDateTime;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use common::keys::{Ring, other_signer, shown};
use common::{FEDERATION, Federation, known, open_as, runtime, terms, until};

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Log {
    fn take(&self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut *self.0.lock().unwrap())).into_owned()
    }

    fn holds(&self, words: &str) -> bool {
        String::from_utf8_lossy(&self.0.lock().unwrap()).contains(words)
    }
}

fn linear() -> Terms {
    terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(3, 2, 2))
}

/// A client that is not let in says these words, and the coordinator's log those; it decides, and tries again.
fn refused(what: &str, log: &Log, url: &str, security: ClientSecurity, says: &[&str], logged: Option<&str>) {
    log.take();
    let folder = tempfile::tempdir().unwrap();
    let client = open_as(&known(), folder.path(), url, 1, security, Some(linear()));
    until(what, || !client.problems().is_empty());
    let said = client.problems().concat();
    assert!(said.contains("decides alone"), "{what}: {said}");
    for words in says {
        assert!(said.contains(words), "{what}: {said:?} lacks {words:?}");
    }
    if let Some(words) = logged {
        until(&format!("{what}: {words:?} in the log"), || log.holds(words));
    }
    let attempts = client.status().attempts;
    until("it tries again", || client.status().attempts > attempts);
    let decision = client.decide(None, Arms::Features(&[vec![1.0, 0.0], vec![0.6, 0.8]])).unwrap();
    client.reward(decision.id, 1.0).unwrap();
    assert!(!client.status().connected, "{what}");
}

/// Someone who answers with this certificate, whatever it is.
fn answering(runtime: &Runtime, folder: &Path) -> String {
    let files = KeyFiles::folder(folder);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(&files.certificate).unwrap()],
            PrivateKeyDer::from_pem_file(&files.key).unwrap(),
        )
        .unwrap();
    tls.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    runtime.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            tokio::spawn(acceptor.accept(stream));
        }
    });
    url
}

#[test]
fn each_way_to_fail_has_its_words_and_its_fix() {
    let log = Log::default();
    let writer = log.clone();
    tracing_subscriber::fmt().with_writer(move || writer.clone()).with_ansi(false).init();
    let ring = Ring::new();
    let federation =
        Federation::start_secure(&known(), linear(), ServeLimits::default(), ring.serve(Admit::Certificates));
    let (url, signer, me) = (&federation.url, ring.signer(), Name::client(FEDERATION, 1));
    let forged = |name: &Name, days| shown(&ring.forge(&signer, name, &[], days), FEDERATION);
    let fix = "cahoots keys client DIR";

    let expired = ["certificate has expired on", fix, "this machine's clock is wrong: it says 20"];
    refused(
        "expired",
        &log,
        url,
        forged(&me, (-9, -1)),
        &expired,
        Some("a client's certificate has expired on"),
    );
    let early = ["certificate is not valid before", fix, "this machine's clock is wrong: it says 20"];
    refused(
        "future",
        &log,
        url,
        forged(&me, (1, 9)),
        &early,
        Some("certificate is not valid yet, only from"),
    );
    let unknown = ["not signed by an authority that the coordinator believes", fix];
    let stranger = shown(&ring.forge(&other_signer(), &me, &[], (-1, 9)), FEDERATION);
    refused(
        "other authority",
        &log,
        url,
        stranger,
        &unknown,
        Some("authority that this coordinator believes"),
    );
    // Someone who calls his authority like ours.
    let fake = Signer::read(signer.certificate.clone(), other_signer().key).unwrap();
    let stranger = shown(&ring.forge(&fake, &me, &[], (0, 1)), FEDERATION);
    refused(
        "forged authority",
        &log,
        url,
        stranger,
        &unknown,
        Some("authority that this coordinator believes"),
    );
    let (other, number) = (Name::client("other", 1), Name::client(FEDERATION, 2));
    let words = ["certificate of client 1 of federation \"other\"", "correct `coordinator` or `keys`"];
    refused(
        "other federation",
        &log,
        url,
        forged(&other, (-1, 9)),
        &words,
        Some("correct `coordinator` or `keys`"),
    );
    let words = ["certificate of client 2", "hello as client 1", "cahoots keys client DIR 1"];
    refused("other number", &log, url, forged(&number, (-1, 9)), &words, Some("hello as client 1"));
    let words = ["lets nobody in without a certificate", fix, "`keys` under [tls]"];
    refused("no certificate", &log, url, ring.invited(None), &words, Some("a client gave no certificate"));
    let coordinator = Name::coordinator(FEDERATION);
    let words = ["is not for a client", fix];
    refused("no client's", &log, url, forged(&coordinator, (-1, 9)), &words, Some("is not for a client"));
    let revoked = ring.client(1);
    ring.keys.revoke(Role::Client(1)).unwrap();
    common::until("the list is read", || log.holds("the new ones hold from now on"));
    let words = ["this client's certificate has been revoked", fix];
    refused("revoked", &log, url, revoked, &words, Some("certificate has been revoked"));

    // Plain text to TLS, and TLS to plain text.
    let plain = url.replace("https", "http");
    let words = ["the coordinator speaks TLS", "https://"];
    refused("plain to TLS", &log, &plain, ClientSecurity::default(), &words, Some("plain text came where"));
    let open = Federation::start(&known(), linear());
    let words = ["the coordinator does not speak TLS", "cahoots keys init"];
    let secure = open.url.replace("http", "https");
    refused(
        "TLS to plain",
        &log,
        &secure,
        ring.client(1),
        &words,
        Some("TLS came where this coordinator speaks plain text"),
    );

    // A coordinator that its client does not believe: the coordinator hears that in a word.
    let mine = ring.keys.client(1, 9).unwrap();
    let words = ["is for 127.0.0.1, not for localhost", "keys server DIR --host localhost"];
    let named = url.replace("127.0.0.1", "localhost");
    refused(
        "other host",
        &log,
        &named,
        shown(&mine, FEDERATION),
        &words,
        Some("keys server DIR --host HOST"),
    );
    let foreign = Ring::new();
    let words = ["not signed by an authority that this client believes", "authorities.pem"];
    refused(
        "unknown authority",
        &log,
        url,
        foreign.client(1),
        &words,
        Some("give the client the authorities.pem"),
    );
    let words =
        ["coordinator of federation \"test\", not of the coordinator of federation \"mine\"", "`federation`"];
    let caller = shown(&mine, "mine");
    refused("a federation of another name", &log, url, caller, &words, Some("it is of another federation"));

    // Coordinators that we would not start.
    let runtime = runtime();
    let answers =
        |name: &Name, hosts: &[&str], days| answering(&runtime, &ring.forge(&signer, name, hosts, days));
    let here = ["127.0.0.1"];
    let me = || shown(&mine, FEDERATION);
    let words = ["coordinator's certificate has expired on", "keys server DIR", "clock is wrong: it says 20"];
    refused("expired coordinator", &log, &answers(&coordinator, &here, (-9, -1)), me(), &words, None);
    let words = ["is not valid yet, only from", "keys server DIR", "clock is wrong: it says 20"];
    refused("future coordinator", &log, &answers(&coordinator, &here, (1, 9)), me(), &words, None);
    let words = ["no certificate of a coordinator", "keys server DIR"];
    refused("a client that answers", &log, &answers(&number, &here, (-1, 9)), me(), &words, None);
    let words = ["certificate of the coordinator of federation \"other\"", "correct `coordinator`"];
    let elsewhere = Name::coordinator("other");
    refused("another's coordinator", &log, &answers(&elsewhere, &here, (-1, 9)), me(), &words, None);
    let now = OffsetDateTime::now_utc();
    let bad = ring.forge(&signer, &coordinator, &here, (-1, 9));
    let read = std::fs::read_to_string(KeyFiles::folder(&bad).certificate).unwrap();
    let serial = common::keys::serial(&read);
    let list = signer.revoke(&[(serial, now)]).unwrap();
    let client = ring.forge(&signer, &Name::client(FEDERATION, 1), &[], (-1, 9));
    std::fs::write(KeyFiles::folder(&client).revoked, list).unwrap();
    let words = ["the coordinator's certificate has been revoked", "keys server DIR"];
    refused(
        "revoked coordinator",
        &log,
        &answering(&runtime, &bad),
        shown(&client, FEDERATION),
        &words,
        None,
    );
}
