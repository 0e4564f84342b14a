//! What stands in for trouble between coordinators and NATS: servers that can be killed, frozen, emptied and put back, and lines that lose
//! what they are told to lose.

use std::time::{Duration, Instant};

use cahoots_node::nats::{Nats, NatsConfig};
use cahoots_node::replica::{Before, Engine, Silence, digest};
use cahoots_testkit::nats::{Heard, NatsCluster, NatsProxy, RawClient};
use serde_json::{Value, json};

const PATIENCE: Duration = Duration::from_secs(30);
const SHORT: Duration = Duration::from_secs(1);

fn answer(heard: Heard) -> Value {
    match heard {
        Heard::Answer(answer) => answer,
        Heard::Silence => panic!("no answer"),
    }
}

fn last(client: &mut RawClient) -> Value {
    answer(client.ask("$JS.API.STREAM.INFO.LOG", &Value::Null, PATIENCE).unwrap())["state"]["last_seq"]
        .clone()
}

#[test]
fn three_servers_keep_a_stream_through_what_one_of_them_meets() {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = NatsCluster::start(folder.path(), 3).unwrap();
    let mut client = RawClient::connect(servers.address(0)).unwrap();
    client.create_stream("LOG", 3).unwrap();
    let acknowledged = answer(client.append("LOG", 0, b"first", PATIENCE).unwrap());
    assert_eq!(acknowledged["seq"], 1, "{acknowledged}");
    servers.await_current(PATIENCE).unwrap();
    let leader = servers.stream_leader("LOG").unwrap();
    let other = (0..3).find(|&i| i != leader && i != 0).unwrap();

    // Data are not touched under a server that runs.
    let copy = folder.path().join("copy");
    assert!(servers.copy_data(other, &copy).unwrap_err().contains("stop or kill"));
    servers.stop(other).unwrap();
    servers.copy_data(other, &copy).unwrap();
    assert_eq!(answer(client.append("LOG", 1, b"second", PATIENCE).unwrap())["seq"], 2);
    servers.start_server(other).unwrap();
    servers.await_current(PATIENCE).unwrap();

    // An old disk, then an empty one: the others bring it up to date.
    for old in [Some(&copy), None] {
        servers.kill(other);
        old.map_or_else(|| servers.wipe(other), |copy| servers.put_back(other, copy)).unwrap();
        servers.start_server(other).unwrap();
        servers.await_current(PATIENCE).unwrap();
        let views = servers.streams(other).unwrap();
        assert_eq!((views.len(), views[0].last, views[0].missing), (1, 2, 0), "{views:?}");
    }

    // Two of three do not answer: nothing is acknowledged.
    for i in (0..3).filter(|&i| i != 0) {
        servers.freeze(i);
    }
    let heard = client.append("LOG", 2, b"third", SHORT).unwrap();
    assert!(!matches!(&heard, Heard::Answer(answer) if answer["seq"].is_u64()), "{heard:?}");
    (1..3).for_each(|i| servers.thaw(i));
    servers.await_current(PATIENCE).unwrap();
}

fn engine(servers: &NatsCluster) -> Box<dyn Engine> {
    let config = NatsConfig {
        servers: servers.urls().split(',').map(String::from).collect(),
        federation: "shops".into(),
        single: servers.servers() == 1,
        assume_synced: true,
        accept_rollback: false,
        monitor: Vec::new(),
        credentials: None,
        ca: None,
    };
    Nats::connect(config).unwrap().engine().unwrap()
}

/// Asks until somebody answers: after a server's death the others elect first.
fn heard<T>(mut ask: impl FnMut() -> Result<T, Silence>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        match ask() {
            Ok(answer) => return answer,
            Err(silence) => assert!(Instant::now() < until, "{silence:?}"),
        }
    }
}

#[test]
fn servers_append_behind_the_message_that_is_named_and_behind_no_other_of_its_number() {
    for count in [1, 3] {
        let folder = tempfile::tempdir().unwrap();
        let mut servers = NatsCluster::start(folder.path(), count).unwrap();
        let (mut one, mut other) = (engine(&servers), engine(&servers));
        let behind = |sequence, message: &[u8]| Before { sequence, hash: Some(digest(message)) };
        let last = |engine: &mut Box<dyn Engine>| heard(|| engine.extent()).last;
        one.append(Before { sequence: 0, hash: None }, b"1").unwrap();
        one.append(behind(1, b"1"), b"2").unwrap();
        for wrong in [behind(2, b"1"), behind(2, b"never"), behind(1, b"1"), behind(3, b"2")] {
            other.append(wrong, b"3").unwrap_err();
        }
        assert_eq!(last(&mut other), 2);
        other.append(behind(2, b"2"), b"3").unwrap();

        // They know it still when they come back.
        let leader = servers.log_leader().unwrap_or(0);
        servers.kill(leader);
        servers.start_server(leader).unwrap();
        servers.await_current(PATIENCE).unwrap();
        assert_eq!(last(&mut one), 3);
        one.append(behind(3, b"2"), b"4").unwrap_err();
        assert_eq!(last(&mut one), 3);
        one.append(behind(3, b"3"), b"4").unwrap();

        // Where the stream begins right behind it there is nothing to compare.
        heard(|| one.trim(5));
        one.append(behind(4, b"4"), b"5").unwrap_err();
        one.append(Before { sequence: 4, hash: None }, b"5").unwrap();
        one.append(behind(5, b"5"), b"6").unwrap();
    }
}

#[test]
fn a_line_loses_what_it_is_told_to_lose() {
    let folder = tempfile::tempdir().unwrap();
    let mut servers = NatsCluster::start(folder.path(), 1).unwrap();
    let proxy = NatsProxy::start(servers.address(0)).unwrap();
    let mut client = RawClient::connect(proxy.address()).unwrap();
    assert_eq!((&client.info["connect_urls"], &client.info["jetstream"]), (&Value::Null, &json!(true)));
    client.create_stream("LOG", 1).unwrap();
    assert_eq!(answer(client.append("LOG", 0, b"1", PATIENCE).unwrap())["seq"], 1);

    proxy.lose_answers(1);
    assert_eq!(client.append("LOG", 1, b"2", SHORT).unwrap(), Heard::Silence);
    assert_eq!(last(&mut client), 2, "questions pass, and the append is there");
    let refused = answer(client.append("LOG", 1, b"2", PATIENCE).unwrap());
    assert_eq!(refused["error"]["err_code"], 10071, "{refused}");

    proxy.lose_appends(1);
    assert_eq!(client.append("LOG", 2, b"3", SHORT).unwrap(), Heard::Silence);
    assert_eq!(last(&mut client), 2, "the append is not there");

    proxy.delay_answers(1, Duration::from_millis(300));
    assert_eq!(answer(client.append("LOG", 2, b"3", PATIENCE).unwrap())["seq"], 3);

    // What a cut line was given comes when it is whole.
    proxy.cut();
    assert_eq!(client.append("LOG", 3, b"4", SHORT).unwrap(), Heard::Silence);
    assert!(RawClient::connect(proxy.address()).is_err(), "who calls is not answered");
    assert_eq!(last(&mut RawClient::connect(servers.address(0)).unwrap()), 3);
    proxy.mend();
    assert_eq!(answer(client.append("LOG", 4, b"5", PATIENCE).unwrap())["seq"], 5);

    proxy.cut_answers();
    assert_eq!(client.append("LOG", 5, b"6", SHORT).unwrap(), Heard::Silence);
    assert_eq!(last(&mut RawClient::connect(servers.address(0)).unwrap()), 6);
    proxy.mend();
    assert_eq!(last(&mut client), 6);

    let passed = proxy.passed();
    assert_eq!((passed.appends, passed.lost_appends), (8, 1), "{passed:?}");
    assert_eq!((passed.answers, passed.lost_answers, passed.late_answers), (7, 1, 1), "{passed:?}");

    // The server comes and goes behind it.
    servers.kill(0);
    assert!(client.ask("$JS.API.INFO", &Value::Null, SHORT).is_err());
    servers.start_server(0).unwrap();
    servers.await_ready(PATIENCE).unwrap();
    assert_eq!(last(&mut RawClient::connect(proxy.address()).unwrap()), 6);
}
