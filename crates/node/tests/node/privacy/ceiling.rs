//! A client's own ceiling, against coordinators that lie.

use std::sync::Arc;
use std::time::Duration;

use cahoots_algorithms::registry;
use cahoots_core::{NodeId, Setting, Unit};
use cahoots_node::Known;
use cahoots_node::client::{Arms, Client};
use cahoots_node::config::ClientFile;
use cahoots_node::coordinator::Coordinator;
use cahoots_node::privacy::Ceiling;
use cahoots_node::transport::Kind;
use cahoots_node::transport::proto::Change;

use super::polling::{again, known, polling};
use super::{CEILING, Liar, config, epsilon, learn};
use crate::common::{Federation, TICK, coordinator, envelope, terms, until};

/// Long enough for what must not happen to happen.
fn wait() {
    std::thread::sleep(8 * TICK);
}

#[test]
fn terms_that_promise_less_are_refused_before_anything_is_released() {
    let user = Ceiling { unit: Unit::User, ..CEILING };
    for (ceiling, params, words) in [
        (CEILING, "each = 0.1", ["max_epsilon = 1", "epsilon = inf"]),
        (CEILING, "each = 0.1\nclaimed = 3.0", ["max_epsilon = 1", "epsilon = 3"]),
        (CEILING, "each = 0.1\nclaimed = inf", ["max_epsilon = 1", "epsilon = inf"]),
        (CEILING, "each = 0.1\nclaimed = 1.0\ndelta = 0.1", ["max_delta = 0.00001", "delta = 0.1"]),
        (user, "each = 0.1\nclaimed = 1.0", ["unit = \"user\"", "one event"]),
    ] {
        let (liar, folder) = (Liar::new(polling(params)), tempfile::tempdir().unwrap());
        let client = Client::open(config(&known(), folder.path(), Some(&liar.url), Some(ceiling))).unwrap();
        until("it says no", || client.failure().is_some());
        let said = client.failure().unwrap();
        assert!(words.iter().all(|words| said.contains(words)), "{params}: {said}");
        assert_eq!((liar.hellos(), liar.uploads(), client.status().joined), (1, 0, false));
        client.stop();
        liar.stop();
    }
    // The same in its own file: it does not even start.
    let folder = tempfile::tempdir().unwrap();
    let mut config = config(&known(), folder.path(), None, Some(CEILING));
    config.terms = Some(polling("each = 0.1\nclaimed = 3.0"));
    let said = Client::open(config.clone()).err().expect("refused").to_string();
    assert!(said.contains("max_epsilon = 1") && said.contains("epsilon = 3"), "{said}");
    config.privacy = Some(Ceiling { max_epsilon: f64::NAN, ..CEILING });
    let said = Client::open(config).err().expect("no ceiling").to_string();
    assert!(said.contains("max_epsilon must be a number above 0"), "{said}");
}

/// Terms promise 1, and every upload costs 0.3: the fourth, which the coordinator asks for, does not leave, nor does
/// anything after it, whoever starts again.
#[test]
fn what_would_be_above_the_ceiling_does_not_leave() {
    let terms = polling("each = 0.3\nclaimed = 1.0");
    let (liar, folder) = (Liar::new(terms.clone()), tempfile::tempdir().unwrap());
    let open = || Client::open(config(&known(), folder.path(), Some(&liar.url), Some(CEILING))).unwrap();
    let client = open();
    until("connected", || client.status().connected);
    for _ in 0..3 {
        learn(&client, 1.0);
    }
    until("three come", || liar.uploads() == 3);
    assert!((epsilon(&client) - 0.9).abs() < 1e-6, "{:?}", client.privacy());
    assert_eq!(client.privacy().withdrawn, None);
    let ask = |number| liar.say(envelope(terms.hash(), NodeId::SERVER, NodeId(0), number, again()));
    ask(1);
    until("enough", || client.privacy().withdrawn.is_some());
    let privacy = client.privacy();
    let said = privacy.withdrawn.clone().unwrap();
    assert!(said.contains("max_epsilon = 1") && said.contains("epsilon = 1.2000"), "{said}");
    assert!(privacy.words.contains("Nothing leaves this client any more"), "{}", privacy.words);
    assert!(client.status().problems.iter().any(|problem| problem.contains("rejoin")), "with the fix");
    until("the coordinator is told", || {
        liar.heard(|kind| matches!(kind, Kind::Refusal(refusal) if refusal.reason.contains("max_epsilon")))
            == 1
    });
    // It goes on deciding, alone.
    learn(&client, 1.0);
    until("no connection", || !client.status().connected);
    wait();
    let hellos = liar.hellos();
    client.stop();
    let client = open();
    learn(&client, 1.0);
    wait();
    assert!(client.privacy().withdrawn.is_some() && client.drain(Duration::ZERO).is_err());
    assert!((epsilon(&client) - 0.9).abs() < 1e-6, "what did not leave is not spent: {:?}", client.privacy());
    assert_eq!((liar.uploads(), liar.hellos(), client.status().unconfirmed), (3, hellos, 0));
    client.stop();
    // Not even where the ceiling is higher now: numbers would have gaps.
    let higher = Ceiling { max_epsilon: 9.0, ..CEILING };
    let client = Client::open(config(&known(), folder.path(), Some(&liar.url), Some(higher))).unwrap();
    wait();
    assert_eq!((liar.uploads(), liar.hellos()), (3, hellos));
    client.stop();
    liar.stop();
}

/// A ceiling that comes later holds at once: for what was spent, and for the terms.
#[test]
fn a_ceiling_that_is_set_later_holds_for_what_came_before() {
    for (params, words) in [("each = 0.3\nclaimed = 0.5", "epsilon = 0.6"), ("each = 0.1", "epsilon = inf")] {
        let (liar, folder) = (Liar::new(polling(params)), tempfile::tempdir().unwrap());
        let client = Client::open(config(&known(), folder.path(), Some(&liar.url), None)).unwrap();
        until("connected", || client.status().connected);
        (0..2).for_each(|_| learn(&client, 1.0));
        until("two come", || liar.uploads() == 2);
        client.stop();
        let hellos = liar.hellos();
        let ceiling = Ceiling { max_epsilon: 0.5, ..CEILING };
        let client = Client::open(config(&known(), folder.path(), Some(&liar.url), Some(ceiling))).unwrap();
        learn(&client, 1.0);
        wait();
        let said = client.privacy().withdrawn.expect("withdrawn");
        assert!(said.contains("max_epsilon = 0.5") && said.contains(words), "{said}");
        assert_eq!((liar.uploads(), liar.hellos()), (2, hellos));
        client.stop();
        liar.stop();
    }
}

#[test]
fn a_change_of_parameters_is_held_to_the_same() {
    let terms = polling("each = 0.1\nclaimed = 1.0");
    let (liar, folder) = (Liar::new(terms), tempfile::tempdir().unwrap());
    let client = Client::open(config(&known(), folder.path(), Some(&liar.url), Some(CEILING))).unwrap();
    until("connected", || client.status().connected);
    learn(&client, 1.0);
    until("one comes", || liar.uploads() == 1);
    let change = Change { version: 1, params: "each = 0.1\nclaimed = 3.0\ndelta = 0.0".into() };
    liar.said.lock().unwrap().change = Some(change.clone());
    liar.say(Kind::Change(change));
    let declined = || {
        client
            .status()
            .problems
            .iter()
            .any(|problem| problem.contains("max_epsilon = 1") && problem.contains("epsilon = 3"))
    };
    until("it says no", declined);
    learn(&client, 1.0);
    wait();
    assert_eq!((liar.uploads(), client.status().params_version), (1, 0));
    // Taken back: nothing was lost.
    liar.said.lock().unwrap().change = None;
    until("and goes on", || liar.uploads() == 2 && client.status().connected);
    assert_eq!(client.status().problems, Vec::<String>::new());
    client.stop();
    liar.stop();
}

/// Whoever has joined keeps to the terms that it joined under, whatever the coordinator says that they are.
#[test]
fn a_coordinator_that_comes_back_with_other_terms_gets_nothing_more() {
    let terms = polling("each = 0.1\nclaimed = 1.0");
    let (liar, folder) = (Liar::new(terms.clone()), tempfile::tempdir().unwrap());
    let client = Client::open(config(&known(), folder.path(), Some(&liar.url), Some(CEILING))).unwrap();
    until("connected", || client.status().connected);
    learn(&client, 1.0);
    until("one comes", || liar.uploads() == 1);
    let loud = polling("each = 50.0\nclaimed = 1.0");
    liar.turn(loud.clone(), None);
    until("it says no", || {
        client.status().problems.iter().any(|problem| problem.contains("terms are not those"))
    });
    learn(&client, 1.0);
    wait();
    assert_eq!(liar.uploads(), 1);
    // With a lie about their hash it is let in, and goes on as it was.
    liar.turn(loud, Some(terms.hash()));
    until("the second comes", || liar.uploads() == 2 && client.status().connected);
    assert!((epsilon(&client) - 0.2).abs() < 1e-6, "{:?}", client.privacy());
    client.stop();
    liar.stop();
}

/// A real algorithm among real nodes: what it promises is enough, to the last bit, and what only its paper promises is not.
#[test]
fn what_a_federation_promises_is_what_its_clients_let_go() {
    // The paper's noise is for all clients together.
    for (privacy, clients, enough) in [("local", 1, true), ("published", 2, false)] {
        let params = format!("rounds = 3\ngap = 0.8\nprivacy = \"{privacy}\"\ndp_epsilon = 1.0");
        let setting = Setting::k_armed(clients, 2).with_horizon(200);
        let terms = terms(&known(), "cdp-mab", &params, setting);
        let federation = Federation::start(&known(), terms);
        let folder = federation.folder.path();
        let client = Client::open(config(&known(), folder, Some(&federation.url), Some(CEILING))).unwrap();
        let refused = || client.failure().or_else(|| client.privacy().withdrawn);
        until("it joins, or says no", || client.status().joined || refused().is_some());
        for _ in 0..400 {
            if refused().is_none() && client.status().uploads == 0 {
                learn(&client, 1.0);
            }
        }
        if enough {
            until("it left", || federation.status().received > 0);
            assert!(refused().is_none() && epsilon(&client) > 0.99, "{:?}", client.privacy());
        } else {
            let said = refused().expect("twice as much as is allowed");
            assert!(said.contains("max_epsilon = 1") && said.contains("epsilon = 2"), "{said}");
            assert_eq!(federation.status().received, 0);
        }
        client.stop();
        federation.stop();
    }
}

/// What algorithms promise is enough, to the last bit: none of them spends more than it says, whatever it rounds.
#[test]
fn a_ceiling_as_high_as_the_promise_lets_everything_leave() {
    let known = Arc::new(Known::new(registry::ours()));
    let promise = "dp_epsilon = 1.0\ndp_delta = 1e-5";
    for (algorithm, more, unit) in [
        ("private-linucb", "", Unit::Event),
        ("private-linucb", "unit = \"user\"\nper_user = 5", Unit::User),
        ("private-fclub", "", Unit::Event),
        ("private-fed-linucb", "batch = 4", Unit::Event),
        ("cdp-fclub-dc", "", Unit::Event),
    ] {
        let setting = Setting::linear(2, 2, 2).with_hosts([NodeId(0), NodeId(1)]).with_horizon(100);
        let terms = terms(&known, algorithm, &format!("{promise}\n{more}"), setting);
        let federation = Federation::start(&known, terms.clone());
        let folder = federation.folder.path();
        let ceiling = Ceiling { unit, ..CEILING };
        let client = Client::open(config(&known, folder, Some(&federation.url), Some(ceiling))).unwrap();
        until("it joins", || client.status().joined);
        until("some leave", || {
            let arms = [vec![0.6, 0.8], vec![1.0, 0.0]];
            let decision = client.decide(Some(0), Arms::Features(&arms)).unwrap();
            client.reward(decision.id, 0.25).unwrap();
            federation.status().received >= 3
        });
        let privacy = client.privacy();
        assert_eq!((privacy.withdrawn, privacy.unprotected), (None, 0), "{algorithm} {more}");
        let spent = &privacy.spent[0];
        assert!(spent.epsilon > 0.3 && spent.epsilon < 1.0 + 1e-9, "{algorithm} {more}: {spent:?}");
        assert_eq!(client.status().problems, Vec::<String>::new());
        client.stop();
        federation.stop();
        // What it promises for an event is nothing that holds for a user.
        let (liar, folder) = (Liar::new(terms), tempfile::tempdir().unwrap());
        let user = Ceiling { unit: Unit::User, ..CEILING };
        let client = Client::open(config(&known, folder.path(), Some(&liar.url), Some(user))).unwrap();
        until("it joins or not", || client.status().joined || client.failure().is_some());
        assert_eq!(client.failure().is_some(), unit == Unit::Event, "{algorithm} {more}");
        client.stop();
        liar.stop();
    }
}

#[test]
fn shares_of_noise_are_not_deployed_while_nothing_hides_them() {
    let terms = terms(&known(), "ddp-mab", "privacy = \"central\"", Setting::k_armed(3, 2));
    let folder = tempfile::tempdir().unwrap();
    let said = Coordinator::start(coordinator(&known(), terms.clone(), folder.path()))
        .err()
        .expect("refused")
        .to_string();
    assert!(said.contains("privacy") && said.contains("\"central\" cannot be deployed"), "{said}");
    let liar = Liar::new(terms);
    let client = Client::open(config(&known(), folder.path(), Some(&liar.url), None)).unwrap();
    until("it says no", || client.failure().is_some());
    let said = client.failure().unwrap();
    assert!(said.contains("\"central\" cannot be deployed") && said.contains("\"local\""), "{said}");
    assert!(!client.status().joined);
    client.stop();
    liar.stop();
}

#[test]
fn a_clients_file_says_its_ceiling() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("client.toml");
    let read = |privacy: &str| {
        let text = "federation = \"test\"\ncoordinator = \"http://127.0.0.1:1\"\nclient = 0\nstore = \"s\"\n";
        std::fs::write(&path, format!("{text}[privacy]\n{privacy}")).unwrap();
        ClientFile::read(&path).and_then(|file| file.config(&known(), &path)).map_err(|e| e.to_string())
    };
    assert_eq!(read("max_epsilon = 1.0").unwrap().privacy, Some(CEILING));
    let all = read("max_epsilon = 2.0\nmax_delta = 1e-6\nunit = \"user\"").unwrap().privacy;
    assert_eq!(all, Some(Ceiling { max_epsilon: 2.0, max_delta: 1e-6, unit: Unit::User }));
    for (wrong, words) in [
        ("max_epsilon = 0.0", "max_epsilon"),
        ("max_delta = 1e-5", "max_epsilon"),
        ("max_epsilon = 1.0\nunit = \"house\"", "house"),
        ("max_epsilon = 1.0\nepsilon = 1.0", "epsilon"),
    ] {
        let said = read(wrong).unwrap_err();
        assert!(said.contains(words), "{said}");
    }
}
