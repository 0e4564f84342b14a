//! Certificates on a running federation: who is let in, what a stranger can take, rotation and revocation.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use cahoots_core::Setting;
use cahoots_node::Terms;
use cahoots_node::client::{Arms, Client};
use cahoots_node::identity::{Admit, KeyFiles, Name, Role, ServeSecurity};
use cahoots_node::limits::ServeLimits;
use cahoots_node::transport::proto::Hello;
use cahoots_node::transport::{Failure, Kind, Outbox, call, frame};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::common;
use crate::common::keys::{Ring, shown};
use crate::common::{FEDERATION, Federation, known, open_as, terms, until};

fn linear() -> Terms {
    terms(&known(), "async-linucb", "ratio = 1.0", Setting::linear(3, 2, 2))
}

fn started(ring: &Ring, limits: ServeLimits) -> Federation {
    Federation::start_secure(&known(), linear(), limits, ring.serve(Admit::Certificates))
}

/// A client that has joined.
fn joined(federation: &Federation, ring: &Ring, client: u32) -> Client {
    let client = open_as(
        &federation.known,
        federation.folder.path(),
        &federation.url,
        client,
        ring.client(client),
        None,
    );
    until("connected", || client.status().connected);
    client
}

fn learn(client: &Client) {
    let decision = client.decide(None, Arms::Features(&[vec![1.0, 0.0], vec![0.6, 0.8]])).unwrap();
    client.reward(decision.id, 1.0).unwrap();
}

fn hello(client: u32, federation: &str) -> Hello {
    Hello {
        federation: federation.into(),
        client,
        instance: vec![9; 16],
        version: cahoots_core::wire::VERSION,
        epochs: vec![77],
        ..Hello::default()
    }
}

/// A hello for this number, by whoever these keys are; the words of its refusal, or none.
fn greeted(federation: &Federation, folder: &std::path::Path, client: u32, name: &str) -> Option<String> {
    let security = shown(folder, FEDERATION);
    federation.runtime.block_on(async {
        let (frames, outgoing) = Outbox::channel();
        frames.try_send(frame(Kind::Hello(hello(client, name).into()))).unwrap();
        let mut stream = match call(&federation.url, security.caller, outgoing).await {
            Ok(stream) => stream,
            Err(failure) => return Some(failure.to_string()),
        };
        match stream.next().await {
            Ok(frame) => match frame.and_then(|frame| frame.kind) {
                Some(Kind::Refusal(refusal)) => Some(refusal.reason),
                Some(Kind::Welcome(_)) => None,
                other => panic!("{other:?}"),
            },
            Err(Failure::Refused(reason)) => Some(reason),
            Err(failure) => panic!("{failure:?}"),
        }
    })
}

#[test]
fn members_with_certificates_learn_and_speak_as_themselves_alone() {
    let ring = Ring::new();
    let federation = started(&ring, ServeLimits::default());
    let clients = [joined(&federation, &ring, 0), joined(&federation, &ring, 1)];
    clients.iter().for_each(learn);
    until("both are merged", || federation.status().received == 2);

    let (mine, signer) = (ring.path("client-1"), ring.signer());
    let said = greeted(&federation, &mine, 2, FEDERATION).expect("a free number cannot be grabbed");
    assert!(said.contains("certificate of client 1") && said.contains("keys client DIR 2"), "{said}");
    let said = greeted(&federation, &mine, 0, FEDERATION).expect("a taken number even less");
    assert!(said.contains("says hello as client 0"), "{said}");
    let other = ring.forge(&signer, &Name::client("other", 2), &[], (-1, 9));
    let said = greeted(&federation, &other, 2, FEDERATION).expect("of another federation");
    assert!(said.contains("federation \"other\""), "{said}");
    assert!(greeted(&federation, &other, 2, "other").is_some(), "whatever it says");
    let coordinator = ring.forge(&signer, &Name::coordinator(FEDERATION), &[], (-1, 9));
    assert!(greeted(&federation, &coordinator, 2, FEDERATION).is_some(), "a coordinator is no client");
    let status = federation.status();
    assert_eq!((status.members, status.connected), (2, 2), "{status:?}");
    assert_eq!(greeted(&federation, &ring.keys.client(2, 9).unwrap(), 2, FEDERATION), None, "its own");
}

#[test]
fn a_stalled_handshake_holds_nobody_up_and_ends() {
    let ring = Ring::new();
    let limits = ServeLimits { hello: Duration::from_secs(5), ..ServeLimits::default() };
    let federation = started(&ring, limits);
    let mut silent: Vec<TcpStream> = federation.runtime.block_on(async {
        let mut silent = Vec::new();
        for i in 0..50 {
            let mut stream = TcpStream::connect(federation.address()).await.unwrap();
            // The beginning of a handshake, or nothing at all.
            if i % 2 == 0 {
                stream.write_all(&[0x16, 3, 1, 2, 0, 1, 0, 1]).await.unwrap();
            }
            silent.push(stream);
        }
        silent
    });
    let client = joined(&federation, &ring, 0);
    assert_eq!(federation.status().limits.late, 0, "it waited for the others");
    federation.runtime.block_on(async {
        for stream in &mut silent {
            let mut rest = Vec::new();
            let closed = tokio::time::timeout(common::PATIENCE, stream.read_to_end(&mut rest)).await;
            assert!(closed.is_ok(), "a stalled handshake is not closed");
        }
    });
    // Counted just after they are closed.
    until("all are counted", || federation.status().limits.late == 50);
    assert!(client.status().connected, "who is welcome stays");
}

#[test]
fn a_flood_before_the_welcome_is_cut_off_during_and_after_the_handshake() {
    let ring = Ring::new();
    let limits = ServeLimits { hello_bytes: 8 << 10, ..ServeLimits::default() };
    let federation = Federation::start_secure(&known(), linear(), limits, ring.serve(Admit::Tokens));
    federation.runtime.block_on(async {
        // One record after the other of a hello that never ends.
        let mut stream = TcpStream::connect(federation.address()).await.unwrap();
        let mut hello = vec![0x16, 3, 1, 0x40, 0, 1, 0, 0xff, 0xff];
        hello.resize(5 + 0x4000, 0);
        let _ = stream.write_all(&hello).await;
        let _ = stream.write_all(&hello).await;
        let mut rest = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(5), stream.read_to_end(&mut rest))
            .await
            .expect("closed");
    });
    assert_eq!(federation.status().limits.too_large, 1, "in the handshake");
    let files = ring.invited(None);
    federation.runtime.block_on(async {
        let (frames, outgoing) = Outbox::channel();
        let hello = Hello { federation: "x".repeat(9 << 10), ..Hello::default() };
        frames.try_send(frame(Kind::Hello(hello.into()))).unwrap();
        let refused = match call(&federation.url, files.caller, outgoing).await {
            Ok(mut stream) => !matches!(stream.next().await, Ok(Some(frame)) if matches!(frame.kind, Some(Kind::Welcome(_)))),
            Err(_) => true,
        };
        assert!(refused);
    });
    assert_eq!(federation.status().limits.too_large, 2, "after it");
}

#[test]
fn a_client_that_is_revoked_while_connected_is_disconnected_goes_on_alone_and_comes_back() {
    let ring = Ring::new();
    let federation = started(&ring, ServeLimits::default());
    // On a machine of its own: its files do not change.
    let away = ring.copied("client-0", &ring.keys.client(0, 30).unwrap());
    let (security, other) = (shown(&away, FEDERATION), joined(&federation, &ring, 1));
    let revoked = open_as(&federation.known, federation.folder.path(), &federation.url, 0, security, None);
    until("connected", || revoked.status().connected);
    ring.keys.revoke(Role::Client(0)).unwrap();
    until("it is told", || revoked.problems().iter().any(|words| words.contains("revoked")));
    until("it is out", || federation.status().connected == 1);
    // It has connected anew, as the lists have changed, and is let in.
    until("the other is in", || other.status().connected);
    assert!(other.status().attempts <= 2, "{:?}", other.status());
    learn(&revoked);
    // It goes on trying, and is refused at the door now.
    let before = revoked.status().attempts;
    until("it tries again", || revoked.status().attempts > before + 2);
    assert!(!revoked.status().connected);
    assert!(federation.status().limits.identities > 0);
    ring.copied("client-0", &ring.keys.client(0, 30).unwrap());
    until("a new certificate lets it in", || revoked.status().connected);
    assert_eq!(revoked.problems(), Vec::<String>::new());
    until("and nothing was lost", || federation.status().received == 1);
}

/// Who was revoked stays out, though the list that says so is lost.
#[test]
fn a_list_that_is_lost_revokes_nothing_less() {
    let ring = Ring::new();
    let federation = started(&ring, ServeLimits::default());
    let away = ring.copied("client-0", &ring.keys.client(0, 30).unwrap());
    assert_eq!(greeted(&federation, &away, 0, FEDERATION), None);
    ring.keys.revoke(Role::Client(0)).unwrap();
    let revoked = || greeted(&federation, &away, 0, FEDERATION).is_some_and(|said| said.contains("revoked"));
    until("it is out", revoked);
    std::fs::remove_file(ring.path("coordinator/revoked.pem")).unwrap();
    std::thread::sleep(Duration::from_millis(1500));
    assert!(revoked(), "it is believed again");
}

/// Who shook hands while it was believed, and says hello when it is not any more.
#[test]
fn a_revocation_between_handshake_and_hello_holds() {
    let ring = Ring::new();
    let federation = started(&ring, ServeLimits::default());
    let (early, canary) = (ring.client(0), joined(&federation, &ring, 1));
    let (frames, outgoing) = Outbox::channel();
    let mut stream = federation.runtime.block_on(call(&federation.url, early.caller, outgoing)).unwrap();
    ring.keys.revoke(Role::Client(0)).unwrap();
    ring.keys.revoke(Role::Client(1)).unwrap();
    until("it holds", || federation.status().connected == 0);
    let first = federation.runtime.block_on(async {
        frames.try_send(frame(Kind::Hello(hello(0, FEDERATION).into()))).unwrap();
        stream.next().await.unwrap().and_then(|frame| frame.kind)
    });
    assert!(
        matches!(&first, Some(Kind::Refusal(refusal)) if refusal.reason.contains("has been revoked")),
        "{first:?}"
    );
    assert!(!canary.status().connected);
}

/// A certificate that runs out while its owner is connected.
#[test]
fn who_expires_while_connected_is_disconnected() {
    let ring = Ring::new();
    let federation = started(&ring, ServeLimits::default());
    let folder = ring.keys.client(0, 30).unwrap();
    let signer = ring.signer();
    let now = time::OffsetDateTime::now_utc();
    let until_when = now + time::Duration::seconds(5);
    let signed =
        signer.sign(&Name::client(FEDERATION, 0), &[], now - time::Duration::HOUR, until_when).unwrap();
    std::fs::write(KeyFiles::folder(&folder).key, &signed.key).unwrap();
    std::fs::write(KeyFiles::folder(&folder).certificate, &signed.certificate).unwrap();
    let client = open_as(
        &federation.known,
        federation.folder.path(),
        &federation.url,
        0,
        shown(&folder, FEDERATION),
        None,
    );
    until("connected", || client.status().connected);
    until("it is told", || client.problems().iter().any(|words| words.contains("has expired on")));
    assert_eq!(federation.status().connected, 0);
    ring.keys.client(0, 30).unwrap();
    until("it is renewed", || client.status().connected);
}

/// Two clients upload all the time: authority, coordinator and clients are renewed under them.
#[test]
fn authorities_are_rotated_while_clients_upload() {
    let ring = Ring::new();
    let federation = started(&ring, ServeLimits::default());
    let clients = [joined(&federation, &ring, 0), joined(&federation, &ring, 1)];
    let mut learned = 0;
    let mut step = |until_what: &str, done: &mut dyn FnMut() -> bool| {
        until(until_what, || {
            clients.iter().for_each(learn);
            learned += 2;
            done()
        });
        until(until_what, || clients.iter().all(|client| client.status().connected));
    };
    let attempts = |client: &Client| client.status().attempts;
    step("before", &mut || true);
    ring.keys.rotate().unwrap();
    let before = clients.each_ref().map(attempts);
    // Clients connect anew when their files change: they believe both authorities from then on.
    step("both are believed", &mut || {
        clients.iter().zip(before).all(|(client, before)| attempts(client) > before)
    });
    ring.keys.server(&[], 30).unwrap();
    let before = clients.each_ref().map(attempts);
    (0..2).for_each(|client| drop(ring.keys.client(client, 30).unwrap()));
    step("all are renewed", &mut || {
        clients.iter().zip(before).all(|(client, before)| attempts(client) > before)
    });
    // A certificate by the old authority, which is believed until the rotation ends.
    let old = ring.forge(&ring.signer(), &Name::client(FEDERATION, 2), &[], (-1, 9));
    assert_eq!(greeted(&federation, &old, 2, FEDERATION), None);
    assert_eq!(ring.keys.finish().unwrap(), 1);
    let before = clients.each_ref().map(attempts);
    step("the old one is not believed", &mut || {
        clients.iter().zip(before).all(|(c, before)| attempts(c) > before)
    });
    std::fs::copy(ring.path("authorities.pem"), KeyFiles::folder(&old).authorities).unwrap();
    std::fs::copy(ring.path("revoked.pem"), KeyFiles::folder(&old).revoked).unwrap();
    until("not any more", || {
        greeted(&federation, &old, 2, FEDERATION)
            .is_some_and(|said| said.contains("not signed by an authority"))
    });
    for client in &clients {
        client.drain(Duration::from_secs(10)).unwrap();
    }
    until("all is merged, once", || federation.merged().count == learned);
}

#[test]
fn files_of_no_use_change_nothing() {
    let ring = Ring::new();
    let federation = started(&ring, ServeLimits::default());
    let client = joined(&federation, &ring, 0);
    for broken in ["coordinator/certificate.pem", "client-0/certificate.pem", "client-0/authorities.pem"] {
        std::fs::write(ring.path(broken), "-----BEGIN").unwrap();
    }
    std::fs::remove_file(ring.path("coordinator/revoked.pem")).unwrap();
    std::thread::sleep(Duration::from_millis(1300));
    assert_eq!((client.status().connected, client.status().attempts), (true, 1));
    let second = joined(&federation, &ring, 1);
    // Someone else's certificate is of no use either.
    std::fs::copy(ring.path("client-1/certificate.pem"), ring.path("coordinator/certificate.pem")).unwrap();
    std::fs::copy(ring.path("client-1/key.pem"), ring.path("coordinator/key.pem")).unwrap();
    std::thread::sleep(Duration::from_millis(1300));
    second.stop();
    drop(joined(&federation, &ring, 1));
}

/// From a copy, a backup tool or an older version.
#[test]
fn what_others_could_read_is_its_owners_again() {
    let ring = Ring::new();
    let federation = started(&ring, ServeLimits::default());
    joined(&federation, &ring, 0).stop();
    let lax = |path: &std::path::Path| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o644)).unwrap()
    };
    let entries = std::fs::read_dir(federation.folder.path()).unwrap().map(|entry| entry.unwrap().path());
    let store: Vec<_> = entries.filter(|path| path.to_str().unwrap().contains("client-0")).collect();
    assert!(store.len() >= 3, "{store:?}");
    let key = ring.path("client-0/key.pem");
    let toml = federation.folder.path().join("client-0.toml");
    std::fs::write(&toml, "").unwrap();
    store.iter().chain([&key, &toml]).for_each(|path| lax(path));
    let client = open_as(
        &federation.known,
        federation.folder.path(),
        &federation.url,
        0,
        shown(&ring.path("client-0"), FEDERATION),
        None,
    );
    until("connected", || client.status().connected);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for path in store.iter().filter(|path| path.exists()).chain([&key]) {
        assert_eq!(mode(path), 0o600, "{}", path.display());
    }
    assert_eq!(mode(&toml), 0o644, "what is not its own is left alone");
}

#[test]
fn plain_text_does_not_leave_this_machine_unless_it_is_asked_for() {
    let federation = Federation::start(&known(), linear());
    let listen = |security: ServeSecurity| {
        let folder = tempfile::tempdir().unwrap();
        let config = cahoots_node::coordinator::CoordinatorConfig {
            warm_start: None,
            plan: None,
            known: known(),
            federation: FEDERATION.into(),
            store: folder.path().join("store"),
            sync: cahoots_node::store::Sync::Memory,
            terms: linear(),
            tick: common::TICK,
            snapshot_every: 1000,
            limits: ServeLimits::default(),
            security,
        };
        let coordinator = cahoots_node::coordinator::Coordinator::start(config).unwrap();
        let listener = federation.runtime.block_on(TcpListener::bind("0.0.0.0:0")).unwrap();
        let allowed = coordinator.may_listen(&listener).map_err(|e| e.to_string());
        coordinator.stop().unwrap();
        allowed
    };
    let said = listen(ServeSecurity::default()).unwrap_err();
    assert!(said.contains("cahoots keys init") && said.contains("plain_text = true"), "{said}");
    assert_eq!(listen(ServeSecurity { plain_text: true, ..ServeSecurity::default() }), Ok(()));
    assert_eq!(listen(Ring::new().serve(Admit::Certificates)), Ok(()));

    let folder = tempfile::tempdir().unwrap();
    let dial = |url: &str, plain_text: bool| {
        let mut security = shown(folder.path(), FEDERATION);
        security.plain_text = plain_text;
        if url.starts_with("http:") {
            security.caller = None;
        }
        let store = folder.path().join("store");
        let client = Client::builder(known(), FEDERATION, 0).coordinator(url).store(store).security(security);
        client.open().map(Client::stop).map_err(|e| e.to_string())
    };
    for url in ["http://192.0.2.1:7700", "http://shop.example:7700"] {
        let said = dial(url, false).unwrap_err();
        assert!(said.contains("cahoots keys client") && said.contains("plain_text = true"), "{said}");
        assert_eq!(dial(url, true), Ok(()));
    }
    for url in ["http://localhost:1", "http://[::1]:1", "https://192.0.2.1:7700"] {
        assert_eq!(dial(url, false), Ok(()));
    }
}
