//! A client under scripted rewards and messages.

use super::*;

#[test]
fn a_client_says_when_its_epoch_is_over_and_goes_on_with_the_same_policy() {
    let mut client = in_second_epoch(json!({}), 6);
    let arms = arms();
    let odds = |client: &mut Client| {
        let mut rng = Keys::from_seed(1).choice(NodeId(0), 0);
        client.odds(UserId(0), ArmSet::featured(&arms).unwrap(), &mut rng).unwrap()
    };
    let before = odds(&mut client);
    let sent: Vec<usize> = (0..6).map(|_| observe(&mut client, 2, [0.0, 1.0, 0.0], 1.0).len()).collect();
    assert_eq!(sent, [0, 0, 0, 1, 0, 0], "E_2 = 4, and it says so once");
    assert_eq!(odds(&mut client), before, "its own data do not move the model");
    // What came after the fourth is the epoch's too.
    let sent = take(&mut client, LinearMsg::signal(Signal::Ask, 2));
    assert_eq!(short(&sent), [(NodeId::SERVER.0, "upload of 6".into())]);
    assert_eq!(odds(&mut client), before, "until the next model comes");
}

#[test]
fn late_rewards_are_part_of_the_next_upload_and_make_no_epoch_shorter() {
    let mut client = in_second_epoch(json!({}), 6);
    for _ in 0..10 {
        assert!(observe(&mut client, 1, [0.0, 1.0, 0.0], 1.0).is_empty(), "decided in the first epoch");
    }
    let sent: Vec<usize> = (0..4).map(|_| observe(&mut client, 2, [1.0, 0.0, 0.0], 1.0).len()).collect();
    assert_eq!(sent, [0, 0, 0, 1]);
    let sent = take(&mut client, LinearMsg::signal(Signal::Ask, 2));
    assert_eq!(short(&sent), [(NodeId::SERVER.0, "upload of 14".into())]);
}

#[test]
fn who_was_not_done_uploads_what_it_has_and_nobody_uploads_anything_twice() {
    let mut client = in_second_epoch(json!({}), 6);
    observe(&mut client, 2, [0.0, 1.0, 0.0], 1.0);
    for expected in ["upload of 1", "upload of 0"] {
        let sent = take(&mut client, LinearMsg::signal(Signal::Ask, 2));
        assert_eq!(short(&sent), [(NodeId::SERVER.0, expected.into())]);
    }
    for _ in 0..8 {
        assert!(observe(&mut client, 2, [0.0, 1.0, 0.0], 1.0).is_empty(), "it has been asked");
    }
}

#[test]
fn what_the_server_refuses_is_reported_and_the_round_is_answered_all_the_same() {
    let mut client = in_second_epoch(json!({}), 6);
    observe(&mut client, 2, [0.0, 1.0, 0.0], 1.0);
    take(&mut client, LinearMsg::signal(Signal::Ask, 2));
    let again = take(&mut client, LinearMsg::Refused { number: 1, reason: "no".into() });
    assert_eq!(short(&again), [(NodeId::SERVER.0, "upload of 0".into())]);
    let nothing = take(&mut client, LinearMsg::Refused { number: 2, reason: "no".into() });
    assert!(nothing.is_empty(), "there was nothing in it");
}

#[test]
fn downloads_that_cannot_be_are_refused_and_older_ones_change_nothing() {
    let mut client = in_second_epoch(json!({}), 6);
    take(&mut client, model(5, 8));
    let before = serde_json::to_value(&client).unwrap();
    let flat = LinearMsg::Download { view: View::new(9, LinearStats::empty(DIM + 1)), merged: 0 };
    let unheard = LinearMsg::Download { view: View::new(9, stats([1.0, 0.0, 0.0], 1.0, 1)), merged: 1 };
    for message in [flat, unheard, over(2)] {
        step(&mut client, 1, |c, cx| assert!(c.on_message(NodeId::SERVER, message, cx).is_err()));
        assert_eq!(serde_json::to_value(&client).unwrap(), before);
    }
    take(&mut client, model(4, 3));
    assert_eq!(serde_json::to_value(&client).unwrap(), before);
}
