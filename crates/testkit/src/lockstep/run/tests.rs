//! Scripted answers, and the steps that are handed out for them: without machines and without a network.

use cahoots_node::transport::proto;
use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use serde_json::json;

use super::*;
use crate::lockstep;

/// Two clients, both of whom decide at every tick, for two ticks.
fn run(progress: Option<Vec<u8>>) -> Run {
    let scenario: Scenario = serde_json::from_value(json!({ "horizon": 2, "environment":
        { "kind": "arms", "means": [[0.9, 0.1], [0.2, 0.8]], "arrivals": "all" } }))
    .unwrap();
    let known = lockstep::ours();
    let terms = lockstep::terms(&known, "ucb-alone", &toml::Table::new(), &scenario, 1).unwrap();
    let (_, arrivals) = scenario.build(&Worlds::ours(), 1).unwrap();
    Run::new(arrivals, terms.seats(&known).unwrap(), 2, progress).unwrap()
}

fn answer(order: &Order) -> Done {
    let state = if order.step == Step::Report { vec![order.client.0 as u8] } else { Vec::new() };
    Done { order: order.number, state, ..Done::default() }
}

/// Goes on until a client must answer: what the coordinator's machine took, and the step.
fn next(run: &mut Run) -> (Vec<Event<Vec<u8>>>, Option<Order>) {
    let mut taken = Vec::new();
    loop {
        match run.next(None) {
            Next::Event(event) => taken.push(event),
            Next::Wait | Next::Finished(_) => return (taken, run.waiting()),
        }
    }
}

/// Answers the step that waits, with messages to these clients (or the server), numbered from 1.
fn answered(run: &mut Run, to: &[NodeId]) -> Option<(NodeId, u64)> {
    let order = run.waiting().expect("a step waits");
    let letters = to.iter().map(|to| proto::Letter { to: to.0, sequence: 1 }).collect();
    run.done(order.client, Done { letters, ..answer(&order) })
}

/// The steps from here to the end, in words.
fn rest(run: &mut Run) -> Vec<String> {
    let mut steps = Vec::new();
    loop {
        match run.next(None) {
            Next::Event(event) => steps.push(format!("{event:?}")),
            Next::Wait => {
                let order = run.waiting().expect("nobody owes a message");
                steps.push(format!("{} at {}: {:?}", order.client, order.tick, order.step));
                run.done(order.client, answer(&order));
            }
            Next::Finished(states) => {
                steps.push(format!("{states:?}"));
                return steps;
            }
        }
    }
}

#[test]
fn steps_are_handed_out_in_the_simulators_order() {
    let user = |user| format!("Decide(UserId({user}))");
    let steps = [
        "Start".to_string(),
        "client 0 at 0: Start".into(),
        "client 1 at 0: Start".into(),
        "Membership(Joined(NodeId(0)))".into(),
        format!("client 0 at 1: {}", user(0)),
        "Membership(Joined(NodeId(1)))".into(),
        format!("client 1 at 1: {}", user(1)),
        format!("client 0 at 2: {}", user(0)),
        format!("client 1 at 2: {}", user(1)),
        "client 0 at 2: Report".into(),
        "client 1 at 2: Report".into(),
        "[[0], [1]]".into(),
    ];
    assert_eq!(rest(&mut run(None)), steps);
}

#[test]
fn one_step_at_a_time_and_only_its_own_answer_counts() {
    let mut run = run(None);
    let (taken, first) = next(&mut run);
    assert_eq!(taken, [Event::Start]);
    let first = first.unwrap();
    assert_eq!((first.number, first.client, first.step), (1, NodeId(0), Step::Start));
    run.done(NodeId(1), answer(&first));
    run.done(first.client, Done { order: 2, ..answer(&first) });
    assert_eq!(next(&mut run), (vec![], Some(first)), "someone else's answer, and one to another step");
    run.done(first.client, answer(&first));
    let (_, second) = next(&mut run);
    assert_eq!(second.map(|order| (order.number, order.client)), Some((2, NodeId(1))));
    run.done(first.client, answer(&first));
    assert_eq!(next(&mut run), (vec![], second), "an answer that comes again");
}

#[test]
fn what_was_sent_is_delivered_before_anything_else_happens_in_the_order_of_sending() {
    let mut run = run(None);
    // At the start messages wait until everyone has started.
    next(&mut run);
    answered(&mut run, &[NodeId(1), NodeId::SERVER]);
    assert_eq!((run.known(NodeId(0)), run.known(NodeId(1))), (2, 0));
    let (_, order) = next(&mut run);
    assert_eq!(order.map(|order| order.step), Some(Step::Start));
    answered(&mut run, &[]);
    // First the one between clients.
    let (taken, order) = next(&mut run);
    let deliver = Step::Deliver { from: NodeId(0), sequence: 1 };
    assert_eq!((taken.len(), order.map(|order| (order.client, order.step))), (0, Some((NodeId(1), deliver))));
    assert_eq!(run.letter(NodeId(0), NodeId(1), 1), None, "it has not come yet");
    run.came(NodeId(0), NodeId(1), 1, vec![7]);
    assert_eq!(run.letter(NodeId(0), NodeId(1), 1), Some(&[7][..]));
    assert_eq!(run.delivered(NodeId(0), NodeId(1)), 0);
    assert_eq!(answered(&mut run, &[]), Some((NodeId(0), 1)), "its sender need not keep it");
    assert_eq!(run.delivered(NodeId(0), NodeId(1)), 1);
    assert_eq!(run.letter(NodeId(0), NodeId(1), 1), None);
    // Then the server's, which everyone waits for.
    assert_eq!(next(&mut run), (vec![], None));
    run.came(NodeId(0), NodeId::SERVER, 1, vec![8]);
    let message = Event::Message { from: NodeId(0), sequence: 1, skipped: 0, message: vec![8] };
    assert_eq!(run.next(None), Next::Event(message));
    // And what the server's machine says to it.
    run.sent(&[(NodeId(1), 1)]);
    let (_, order) = next(&mut run);
    let deliver = Step::Deliver { from: NodeId::SERVER, sequence: 1 };
    assert_eq!(order.map(|order| (order.client, order.step)), Some((NodeId(1), deliver)));
    assert_eq!(answered(&mut run, &[]), None, "the server keeps its own");
}

#[test]
fn wakes_come_after_the_decisions_of_their_tick() {
    let mut run = run(None);
    for _ in 0..4 {
        next(&mut run);
        let order = run.waiting().unwrap();
        // Client 0 wants to be woken at tick 1, client 1 at tick 2.
        run.done(order.client, Done { wake: Some(u64::from(order.client.0) + 1), ..answer(&order) });
    }
    let (_, order) = next(&mut run);
    let woken = order.unwrap();
    assert_eq!((woken.client, woken.tick, woken.step), (NodeId(0), 1, Step::Wake));
    answered(&mut run, &[]);
    assert_eq!(run.next(Some(1)), Next::Event(Event::Wake), "the coordinator's comes last");
    let (_, order) = next(&mut run);
    assert_eq!(order.map(|order| (order.tick, order.step)), Some((2, Step::Decide(UserId(0)))));
}

#[test]
fn a_coordinator_that_was_killed_goes_on_where_it_was() {
    for steps in 0..8 {
        let mut whole = run(None);
        for _ in 0..steps {
            next(&mut whole);
            answered(&mut whole, &[]);
        }
        next(&mut whole);
        let progress = whole.progress().expect("something has happened");
        assert_eq!(whole.progress(), None, "and nothing since");
        let mut resumed = run(Some(progress));
        let (expected, got) = (rest(&mut whole), rest(&mut resumed));
        // States are not kept: they are asked for again.
        let ends: Vec<_> = expected.iter().filter(|step| !step.contains("Report")).collect();
        assert_eq!(
            got.iter().filter(|step| !step.contains("Report")).collect::<Vec<_>>(),
            ends,
            "after {steps}"
        );
        assert_eq!(got.iter().filter(|step| step.contains("Report")).count(), 2, "after {steps}");
    }
}
