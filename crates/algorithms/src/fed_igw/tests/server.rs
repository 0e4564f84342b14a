//! A server under scripted messages: whom it waits for, whom it tells, what is in the next model.

use super::*;

#[test]
fn an_epoch_waits_for_those_who_were_there_when_the_first_was_done_with_it() {
    let mut server = server(&valid(json!({})), 2);
    assert!(say(&mut server, 0, 5, over(1)).is_empty());
    assert!(join(&mut server, 2).is_empty(), "there is nothing to send yet");
    assert_eq!(server.waiting_for(), [NodeId(1)]);
    assert!(say(&mut server, 0, 5, over(1)).is_empty(), "heard before");
    // The newcomer counts if it is done, and is asked for what it has if it is not.
    let asked = say(&mut server, 1, 6, over(1));
    assert_eq!(short(&asked), to_all(&[0, 1, 2], &["Ask 1"]));
    assert!(say(&mut server, 2, 6, over(1)).is_empty(), "too late to say so");
    for (from, count) in [(2, 1), (0, 2)] {
        assert!(say(&mut server, from, 6, upload(1, stats([1.0, 0.0, 0.0], 1.0, count))).is_empty());
    }
    let sent = say(&mut server, 1, 6, upload(1, stats([0.0, 1.0, 0.0], 1.0, 3)));
    assert_eq!(short(&sent), to_all(&[0, 1, 2], &["view of 6", "Phase 2"]));
    assert!(say(&mut server, 0, 7, over(1)).is_empty() && server.waiting_for().is_empty(), "of the past");
}

#[test]
fn who_joins_late_is_sent_the_model_and_the_epoch_at_once_and_is_not_waited_for_before_the_next() {
    let mut server = server(&valid(json!({})), 1);
    say(&mut server, 0, 5, over(1));
    say(&mut server, 0, 5, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    say(&mut server, 0, 9, over(2));
    say(&mut server, 0, 9, upload(2, stats([1.0, 0.0, 0.0], 1.0, 4)));
    assert_eq!(short(&join(&mut server, 1)), to_all(&[1], &["view of 4", "Phase 3"]));
    let mut newcomer = client(&valid(json!({})), 1);
    take(&mut newcomer, model(2, 4));
    take(&mut newcomer, LinearMsg::signal(Signal::Phase, 3));
    let sent: Vec<usize> = (0..8).map(|_| observe(&mut newcomer, 3, [0.0, 1.0, 0.0], 1.0).len()).collect();
    assert_eq!(sent, [0, 0, 0, 0, 0, 0, 0, 1], "E_3 = 8");
}

#[test]
fn after_the_deadline_an_epoch_ends_without_those_who_are_not_done_and_they_are_asked_too() {
    let mut server = server(&valid(json!({ "deadline": 4, "quorum": 0.5 })), 3);
    say(&mut server, 0, 5, over(1));
    assert!(step(&mut server, 9, |s, cx| s.on_wake(cx)).is_empty(), "1 of 3 is no quorum");
    let asked = say(&mut server, 1, 20, over(1));
    assert_eq!(short(&asked), to_all(&[0, 1, 2], &["Ask 1"]), "2 of 3 are one, after the deadline at once");
    say(&mut server, 0, 20, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    say(&mut server, 1, 21, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    assert_eq!(server.waiting_for(), [NodeId(2)]);
    assert!(step(&mut server, 23, |s, cx| s.on_wake(cx)).is_empty(), "too early");
    let sent = step(&mut server, 24, |s, cx| s.on_wake(cx));
    assert_eq!(short(&sent), to_all(&[0, 1, 2], &["view of 4", "Phase 2"]));
    // What comes too late is part of the next model, once.
    assert!(say(&mut server, 2, 30, upload(1, stats([0.0, 1.0, 0.0], 1.0, 1))).is_empty());
    assert_eq!(server.view().stats().count, 4);
    for client in 0..3 {
        say(&mut server, client, 31, over(2));
    }
    for (client, number) in [(0, 2), (1, 2)] {
        say(&mut server, client, 31, upload(number, stats([1.0, 0.0, 0.0], 1.0, 4)));
    }
    let sent = say(&mut server, 2, 31, upload(2, stats([0.0, 1.0, 0.0], 1.0, 5)));
    assert_eq!(short(&sent), to_all(&[0, 1, 2], &["view of 14", "Phase 3"]));
    assert_eq!(server.observations(), Some(18));
}

#[test]
fn a_round_that_nobody_answered_waits_beyond_its_deadline() {
    let mut server = server(&valid(json!({ "deadline": 2 })), 1);
    say(&mut server, 0, 5, over(1));
    assert!(step(&mut server, 50, |s, cx| s.on_wake(cx)).is_empty());
    let sent = say(&mut server, 0, 60, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    assert_eq!(short(&sent), to_all(&[0], &["view of 2", "Phase 2"]));
}

#[test]
fn who_leaves_is_not_waited_for_and_what_it_uploaded_stays() {
    let mut server = server(&valid(json!({})), 3);
    say(&mut server, 0, 5, over(1));
    say(&mut server, 1, 5, over(1));
    assert_eq!(short(&leave(&mut server, 2)), to_all(&[0, 1], &["Ask 1"]));
    say(&mut server, 1, 5, upload(1, stats([0.0, 1.0, 0.0], 1.0, 3)));
    assert!(leave(&mut server, 1).is_empty());
    let sent = say(&mut server, 0, 5, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    assert_eq!(short(&sent), to_all(&[0], &["view of 5", "Phase 2"]));
    // It comes back as a newcomer, whose uploads are counted from 1.
    assert_eq!(short(&join(&mut server, 1)), to_all(&[1], &["view of 5", "Phase 2"]));
    assert!(say(&mut server, 1, 6, upload(1, stats([0.0, 1.0, 0.0], 1.0, 1))).is_empty());
}

#[test]
fn an_epoch_that_everyone_leaves_is_begun_anew_by_whoever_comes() {
    let mut server = server(&valid(json!({})), 1);
    say(&mut server, 0, 5, over(1));
    assert!(leave(&mut server, 0).is_empty());
    assert_eq!((server.epoch(), server.waiting_for()), (1, vec![]));
    join(&mut server, 1);
    assert_eq!(short(&say(&mut server, 1, 7, over(1))), to_all(&[1], &["Ask 1"]));
}

#[test]
fn what_is_drained_ahead_of_its_time_is_part_of_the_next_model() {
    let (valid, mut leaving) = (valid(json!({})), in_second_epoch(json!({}), 6));
    observe(&mut leaving, 2, [0.0, 1.0, 0.0], 1.0);
    assert_eq!(leaving.unsent(), 1);
    let sent = step(&mut leaving, 1, |c, cx| c.drain(cx));
    assert_eq!((short(&sent), leaving.unsent()), (vec![(NodeId::SERVER.0, "upload of 1".into())], 0));
    assert!(step(&mut leaving, 1, |c, cx| c.drain(cx)).is_empty());
    let mut server = server(&valid, 2);
    say(&mut server, 1, 3, upload(1, stats([0.0, 1.0, 0.0], 1.0, 1)));
    say(&mut server, 1, 3, over(1));
    say(&mut server, 0, 3, over(1));
    say(&mut server, 1, 3, upload(2, stats([0.0, 1.0, 0.0], 1.0, 2)));
    let sent = say(&mut server, 0, 3, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    assert_eq!(short(&sent), to_all(&[0, 1], &["view of 5", "Phase 2"]));
}

fn rule(server: &mut Server, ruling: Ruling) -> Vec<(NodeId, LinearMsg)> {
    step(server, 1, |s, cx| s.on_ruling(ruling, cx))
}

#[test]
fn who_was_quarantined_is_told_where_the_others_are_and_says_once_more_that_it_is_done() {
    let mut server = server(&valid(json!({})), 2);
    say(&mut server, 0, 5, over(1));
    assert_eq!(short(&rule(&mut server, Ruling::Quarantined(NodeId(1)))), to_all(&[0], &["Ask 1"]));
    let sent = say(&mut server, 0, 5, upload(1, stats([1.0, 0.0, 0.0], 1.0, 2)));
    assert_eq!(short(&sent), to_all(&[0], &["view of 2", "Phase 2"]));
    assert_eq!(
        short(&rule(&mut server, Ruling::Restored(NodeId(1)))),
        to_all(&[1], &["view of 2", "Phase 2"])
    );
    assert!(say(&mut server, 0, 9, over(2)).is_empty());
    assert_eq!(server.waiting_for(), [NodeId(1)], "it is one of them again");

    let mut client = in_second_epoch(json!({}), 6);
    for _ in 0..4 {
        observe(&mut client, 2, [0.0, 1.0, 0.0], 1.0);
    }
    let again = take(&mut client, LinearMsg::signal(Signal::Phase, 2));
    assert_eq!(short(&again), [(NodeId::SERVER.0, "Request 2".into())], "it may not have been heard");
    assert!(take(&mut client, LinearMsg::signal(Signal::Phase, 1)).is_empty(), "of the past");
    assert_eq!(client.epoch(), 2);
}

#[test]
fn who_is_forgotten_is_in_no_model_any_more_and_epochs_stay_as_long_as_they_were() {
    for (data, others, at_last) in [("epoch", 4, 11), ("all", 6, 17)] {
        let params = serde_json::from_value(json!({ "data": data })).unwrap();
        let valid = FedIgw::check(params, &setting().kept_apart()).unwrap();
        let mut server = server(&valid, 2);
        let end = |server: &mut Server, epoch: u64, counts: &[(u32, u32)]| {
            let mut sent = Vec::new();
            counts.iter().for_each(|(client, _)| drop(say(server, *client, 5, over(epoch))));
            for (client, count) in counts {
                let mut one = stats([1.0, 0.0, 0.0], 1.0, *count);
                one.merge(&stats([0.0, f64::from(*client), 0.5], 0.5, 1));
                sent = say(server, *client, 5, upload(epoch, one));
            }
            sent
        };
        end(&mut server, 1, &[(0, 1), (1, 1)]);
        end(&mut server, 2, &[(0, 3), (1, 5)]);
        // Something of it for the next model, too.
        say(&mut server, 1, 6, upload(3, stats([1.0, 0.0, 0.0], 1.0, 9)));
        say(&mut server, 1, 6, over(3));
        assert!(leave(&mut server, 1).is_empty());
        let sent = rule(&mut server, Ruling::Forgotten(NodeId(1)));
        assert_eq!(short(&sent), to_all(&[0], &[&format!("view of {others}")]), "{data}");
        assert!(server.view().stats().moment[1].abs() < 1e-15, "nothing of its second feature");
        assert_eq!(server.epoch(), 3);
        let sent = end(&mut server, 3, &[(0, 10)]);
        assert_eq!(short(&sent), to_all(&[0], &[&format!("view of {at_last}"), "Phase 4"]), "{data}");
    }
    let added_up = server(&valid(json!({})), 1);
    assert!(added_up.forgets().unwrap_err().contains("keep_apart"));
}

#[test]
fn a_prior_is_the_first_model_and_a_part_of_every_later_one() {
    let valid = valid(json!({}));
    let mut server = FedIgw::server(&valid, &Seating::PerUser.seat(&setting(), NodeId::SERVER));
    let prior = Prior::Linear(stats([1.0, 0.0, 0.0], 0.5, 40));
    server.takes_prior(&prior).unwrap();
    step(&mut server, 1, |s, cx| s.on_prior(prior.clone(), cx));
    assert_eq!(short(&join(&mut server, 0)), to_all(&[0], &["view of 40"]));
    for (epoch, count, merged) in [(1, 2, 42), (2, 4, 44)] {
        say(&mut server, 0, 5, over(epoch));
        let sent = say(&mut server, 0, 5, upload(epoch, stats([0.0, 1.0, 0.0], 1.0, count)));
        let words = [format!("view of {merged}"), format!("Phase {}", epoch + 1)];
        assert_eq!(short(&sent), to_all(&[0], &[&words[0], &words[1]]));
    }
    assert_eq!(server.observations(), Some(46));
    assert!(server.takes_prior(&prior).is_err(), "it has begun");
}

#[test]
fn uploads_out_of_turn_of_strangers_or_not_plausible_are_refused_and_change_nothing() {
    let mut server = server(&valid(json!({})), 2);
    say(&mut server, 0, 5, upload(2, stats([1.0, 0.0, 0.0], 1.0, 1)));
    let before = serde_json::to_value(&server).unwrap();
    let mut hollow = stats([1.0, 0.0, 0.0], 1.0, 1);
    hollow.count = 0;
    for (from, message) in [
        (0, upload(2, stats([1.0, 0.0, 0.0], 1.0, 1))),
        (7, upload(1, stats([1.0, 0.0, 0.0], 1.0, 1))),
        (1, upload(1, hollow)),
        (1, model(1, 3)),
    ] {
        let sent = step(&mut server, 1, |s, cx| {
            assert!(s.on_message(NodeId(from), message, cx).is_err(), "{from}");
        });
        assert!(sent.is_empty());
        assert_eq!(serde_json::to_value(&server).unwrap(), before);
    }
}

/// What they said was not heard, and an epoch without a deadline would wait for them for ever.
#[test]
fn whoever_may_not_have_been_heard_is_told_its_epoch_again() {
    let mut server = server(&valid(json!({})), 2);
    assert!(rule(&mut server, Ruling::Quarantined(NodeId(1))).is_empty());
    let told = rule(&mut server, Ruling::Restored(NodeId(1)));
    assert_eq!(short(&told), to_all(&[1], &["Phase 1"]), "of the first epoch, too");

    // Done while others were asked who then left.
    say(&mut server, 1, 5, over(1));
    assert_eq!(short(&say(&mut server, 0, 5, over(1))), to_all(&[0, 1], &["Ask 1"]));
    join(&mut server, 2);
    assert!(say(&mut server, 2, 6, over(1)).is_empty());
    assert!(leave(&mut server, 0).is_empty());
    assert_eq!(short(&leave(&mut server, 1)), to_all(&[2], &["Phase 1"]));
    assert_eq!(short(&say(&mut server, 2, 7, over(1))), to_all(&[2], &["Ask 1"]));
}

/// A matrix that rounding could give of very many observations is taken; two of them are none of any data.
#[test]
fn liars_who_add_up_to_no_data_do_not_stop_the_others_from_learning() {
    let mut lie = stats([0.0, 0.0, 0.0], 0.0, 0);
    lie.gram.packed_mut()[..3].copy_from_slice(&[30.0, 30.0 * 1.0026, 30.0]);
    lie.count = 1 << 40;
    let mut server = server(&valid(json!({})), 3);
    (0..3).for_each(|client| drop(say(&mut server, client, 5, over(1))));
    say(&mut server, 0, 5, upload(1, lie.clone()));
    say(&mut server, 1, 5, upload(1, lie.clone()));
    let sent = say(&mut server, 2, 5, upload(1, stats([0.0, 0.0, 1.0], 1.0, 2)));
    let view = format!("view of {}", (1u64 << 40) + 2);
    assert_eq!(short(&sent), to_all(&[0, 1, 2], &[&view, "Phase 2"]), "with one of them");
    assert!(server.view().check(0.1).is_ok());
}
