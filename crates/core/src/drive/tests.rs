//! What every driver may rely on, with a small algorithm of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::decision::{RewardError, Taken};
use super::*;
use crate::contract::message::{control, control_len};
use crate::drive::event::{Input, Timed};
use crate::drive::link::Arrival;
use crate::{
    Algorithm, ArmBuffer, ArmIndex, ArmSet, Arrived, Choice, Cx, Effects, Fact, Keys, Kind, Learner, Machine,
    Membership, Message, Misbehaviour, NodeId, ParamError, Picked, Ruling, Seat, Seats, Setting, Stream,
    Topology, UserId, wire,
};

/// Counts what it is told; says so.
struct Counting;

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Params {
    every: u64,
    fixed: u64,
}

#[derive(Clone, Debug)]
struct Count(u64);

impl Message for Count {
    fn kind(&self) -> Kind {
        Kind::Control
    }
    fn scalars(&self) -> u64 {
        0
    }
    fn to_wire(&self) -> wire::Payload {
        control(1, self.0, 0)
    }
    fn from_wire(payload: wire::Payload, _came: Arrived) -> Result<Self, Misbehaviour> {
        match payload.shape {
            Some(wire::payload::Shape::Control(control)) => Ok(Count(control.number)),
            _ => Err(Misbehaviour::Unreadable("no count".into())),
        }
    }
    fn wire_len(&self) -> usize {
        control_len(1, self.0, 0)
    }
}

/// A reward that this machine cannot bear.
const FATAL: f64 = 13.0;

#[derive(Debug, Serialize, Deserialize)]
struct Counter {
    server: NodeId,
    every: u64,
    seen: u64,
    heard: u64,
}

impl Machine for Counter {
    type Msg = Count;

    fn on_new_secrets(&mut self) {
        self.heard += 100;
    }

    fn on_message(&mut self, _: NodeId, count: Count, cx: &mut Cx<'_, Count>) -> Result<(), Misbehaviour> {
        if count.0 == 0 {
            return Err(Misbehaviour::Unexpected("nothing".into()));
        }
        self.heard += count.0;
        cx.level("heard", self.heard as f64);
        Ok(())
    }
}

impl Learner for Counter {
    type Pending = ArmIndex;

    fn choose(&mut self, _: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<ArmIndex> {
        let arm = arms.draw(rng);
        Picked::any(arm, arms.open()).keeping(arm)
    }

    fn observe(&mut self, _: ArmIndex, reward: f64, cx: &mut Cx<'_, Count>) {
        assert!(reward != FATAL, "more than it can bear");
        self.seen += 1;
        if self.seen.is_multiple_of(self.every) {
            cx.report(Fact::Rounds(1));
            cx.send(self.server, Count(self.seen));
        }
    }
}

impl Algorithm for Counting {
    const NAME: &'static str = "counting";
    const SUMMARY: &'static str = "counts";
    const CHANGEABLE: &'static [&'static str] = &["every"];
    type Params = Params;
    type Valid = Params;
    type Msg = Count;
    type Client = Counter;
    type Server = Counter;

    fn check(params: Params, _: &Setting) -> Result<Params, ParamError> {
        if params.every > 0 { Ok(params) } else { Err(ParamError::new("every", "must be at least 1")) }
    }

    fn topology(_: &Params) -> Option<(Topology, Vec<NodeId>)> {
        Some((Topology::from_edges(3, [(0, 1)]).expect("an edge"), vec![]))
    }

    fn change_client(valid: &Params, client: &mut Counter) {
        client.every = valid.every;
    }

    fn client(valid: &Params, seat: &Seat) -> Counter {
        Counter { server: seat.server, every: valid.every, seen: 0, heard: 0 }
    }

    fn server(valid: &Params, seat: &Seat) -> Counter {
        Counting::client(valid, seat)
    }
}

const PARAMS: &str = "every = 2\nfixed = 7\n";

fn blueprint() -> Blueprint<Counting> {
    let valid = toml::from_str(PARAMS).unwrap();
    Blueprint { params: PARAMS.into(), valid, setting: Setting::k_armed(3, 4).into() }
}

fn keys() -> Keys {
    Keys::from_seed(1)
}

fn arms() -> ArmBuffer {
    ArmBuffer { plain: 4, ..ArmBuffer::default() }
}

fn say(from: NodeId, sequence: u64, count: u64) -> Event<Vec<u8>> {
    Event::Message { from, sequence, skipped: 0, message: crate::message::encode(&Count(count)) }
}

#[test]
fn clients_hear_their_server_and_their_neighbours_and_nobody_else() {
    let seats = Seats::of::<Counting>(&toml::from_str(PARAMS).unwrap(), &Setting::k_armed(3, 4));
    let hosts =
        |node| Host::new(seats.seat(node), Counter { server: NodeId::SERVER, every: 1, seen: 0, heard: 0 });
    for (to, from, heard) in [
        (NodeId(0), NodeId::SERVER, true),
        (NodeId(0), NodeId(1), true),
        (NodeId(0), NodeId(2), false),
        (NodeId(0), NodeId(0), false),
        (NodeId(0), NodeId(9), false),
        (NodeId(2), NodeId(1), false),
        (NodeId::SERVER, NodeId(2), true),
        (NodeId::SERVER, NodeId(3), false),
        (NodeId::SERVER, NodeId::SERVER, false),
    ] {
        let mut host = hosts(to);
        let before = host.save();
        let (mut effects, mut out) = (Effects::default(), Vec::new());
        let taken = host.apply(1, say(from, 1, 5).borrowed(), &keys(), &mut effects, &mut out);
        assert_eq!(seats.hears(to, from), heard, "{from} to {to}");
        if heard {
            assert_eq!((taken, host.machine().heard), (Ok(Outcome::Done), 5), "{from} to {to}");
        } else {
            assert_eq!(taken, Err(Misbehaviour::Stranger(from)), "{from} to {to}");
            assert!(host.save() == before, "{from} left a trace at {to}");
        }
    }
}

#[test]
fn facts_and_numbered_messages_come_out() {
    let mut client = blueprint().client(NodeId(0), None).unwrap();
    let mut log: Vec<Vec<u8>> = Vec::new();
    for _ in 0..4 {
        let decided = client.decide(1, 1, UserId(0), &arms(), &keys(), &mut log).unwrap();
        assert_eq!(decided.picked.probability, Some(0.25));
        client.reward(1, decided.id, 0.5, &keys(), &mut log).unwrap();
    }
    let step = client.take_step();
    assert_eq!(step.facts, [Fact::Rounds(1), Fact::Rounds(1)]);
    assert_eq!(step.posted, [(NodeId::SERVER, 1), (NodeId::SERVER, 2)]);
    assert_eq!((log.len(), client.ends(NodeId::SERVER).sent, client.queues().len(NodeId::SERVER)), (8, 2, 2));
    client.event(2, say(NodeId(1), 1, 3), &keys(), &mut log);
    assert_eq!(client.take_step().facts, [Fact::Level("heard".into(), 3.0)]);
    // What a machine refuses uses up its number and changes nothing else.
    let refused = client.event(2, say(NodeId(1), 2, 0), &keys(), &mut log);
    assert!(matches!(refused, Outcome::Refused(_)));
    assert_eq!(client.check(NodeId(1), 2, 0), Ok(Arrival::Seen));
    assert_eq!(client.check(NodeId(1), 4, 0), Err(Misbehaviour::Gap { expected: 3, got: 4 }));
}

#[test]
fn a_refused_reward_is_not_a_repeated_one() {
    let mut client = blueprint().client(NodeId(0), None).unwrap();
    let mut log: Vec<Vec<u8>> = Vec::new();
    let decided = client.decide(1, 1, UserId(0), &arms(), &keys(), &mut log).unwrap();
    let unknown = DecisionId { epoch: 9, number: 9 };
    let logged = log.len();
    assert_eq!(client.reward(1, unknown, 1.0, &keys(), &mut log), Err(RewardError::Unknown(unknown)));
    assert!(matches!(
        client.reward(1, decided.id, f64::NAN, &keys(), &mut log),
        Err(RewardError::Unusable(_))
    ));
    assert_eq!(client.abandon(1, unknown, &keys(), &mut log), Err(RewardError::Unknown(unknown)));
    assert_eq!(log.len(), logged, "what is refused is not logged");
    assert_eq!(client.reward(1, decided.id, 1.0, &keys(), &mut log), Ok(Taken::Fresh(())));
    assert_eq!(client.reward(1, decided.id, 1.0, &keys(), &mut log), Ok(Taken::Repeated));
    assert!(matches!(
        client.reward(1, decided.id, 2.0, &keys(), &mut log),
        Err(RewardError::Contradiction { .. })
    ));
    assert_eq!(log.len(), logged + 1, "a repetition is not logged again");
}

#[test]
fn an_input_is_logged_before_it_is_applied() {
    let mut client = blueprint().client(NodeId(0), None).unwrap();
    let mut log: Vec<Vec<u8>> = Vec::new();
    let decided = client.decide(1, 1, UserId(0), &arms(), &keys(), &mut log).unwrap();
    assert_eq!(log.len(), 1);
    let step = AssertUnwindSafe(|| client.reward(1, decided.id, FATAL, &keys(), &mut log));
    assert!(catch_unwind(step).is_err(), "the machine fell over");
    assert_eq!(log.len(), 2, "and yet its input is in the log");
}

#[test]
fn what_is_restored_and_replayed_is_what_was() {
    let blueprint = blueprint();
    let mut client = blueprint.client(NodeId(0), None).unwrap();
    let (mut log, mut saved): (Vec<Vec<u8>>, _) = (Vec::new(), None);
    for round in 0..7 {
        let decided = client.decide(round, 1, UserId(0), &arms(), &keys(), &mut log).unwrap();
        client.reward(round, decided.id, 0.5, &keys(), &mut log).unwrap();
        if round == 3 {
            saved = Some((client.save(), client.queues().save(), log.len()));
        }
    }
    let (state, queues, position) = saved.unwrap();
    let mut again = blueprint.client(NodeId(0), Some(Saved { state: &state, queues: &queues })).unwrap();
    for entry in &log[position..] {
        again.replay(entry, &keys()).unwrap();
    }
    assert!(again.save() == client.save() && again.queues() == client.queues());
    assert!(again.replay(&[255, 1, 2], &keys()).is_err(), "a log that is none");
}

/// Bytes of a log that is not this node's own: nobody whom it names is given a place.
#[test]
fn what_a_log_says_about_nobody_is_refused_and_leaves_no_trace() {
    let nobody = NodeId(3);
    let logged = |input: &Input<ArmIndex>| postcard::to_stdvec(&Timed { now: 1, input }).unwrap();
    let mut someone = blueprint().client(NodeId(0), None).unwrap();
    let mut log: Vec<Vec<u8>> = Vec::new();
    while someone.queues().is_empty() {
        let decided = someone.decide(1, 1, UserId(0), &arms(), &keys(), &mut log).unwrap();
        someone.reward(1, decided.id, 0.5, &keys(), &mut log).unwrap();
    }
    let waiting: Vec<Waiting> = someone.queues().after(NodeId::SERVER, 0).cloned().collect();
    let behind = |peer, sent, again: usize| {
        let again = waiting.iter().cycle().take(again).cloned().collect();
        Input::<ArmIndex>::Behind { peer, sent, again }
    };
    let about = |event| Input::<ArmIndex>::Event(event);
    for input in [
        behind(nobody, 5, 0),
        behind(NodeId(1), 2, 3),
        behind(NodeId(1), u64::MAX, 0),
        about(Event::Membership(Membership::Joined(nobody))),
        about(Event::Membership(Membership::Left(nobody))),
        about(Event::Ruling(Ruling::Quarantined(nobody))),
        about(Event::Ruling(Ruling::Restored(nobody))),
        about(Event::Ruling(Ruling::Forgotten(nobody))),
    ] {
        let mut server = blueprint().server(None).unwrap();
        let before = server.save();
        assert!(server.replay(&logged(&input), &keys()).is_err(), "{input:?}");
        assert!(server.save() == before, "{input:?}");
    }
    let mut server = blueprint().server(None).unwrap();
    for input in [behind(NodeId(1), 5, 0), about(Event::Membership(Membership::Left(NodeId(1))))] {
        server.replay(&logged(&input), &keys()).unwrap();
    }
}

/// Every start of a process, and every replay of one: this machine counts a hundred for each.
#[test]
fn machines_are_told_when_secrets_are_drawn_anew() {
    let mut client = blueprint().client(NodeId(0), None).unwrap();
    let mut log: Vec<Vec<u8>> = Vec::new();
    client.draw_from(1, [7; 32], &keys(), &mut log);
    client.draw_from(2, [8; 32], &keys(), &mut log);
    let mut again = blueprint().client(NodeId(0), None).unwrap();
    log.iter().for_each(|entry| _ = again.replay(entry, &keys()).unwrap());
    for mut client in [client, again] {
        client.event(3, say(NodeId::SERVER, 1, 5), &keys(), &mut log);
        assert_eq!(client.take_step().facts, [Fact::Level("heard".into(), 205.0)]);
    }
}

#[test]
fn what_may_change_changes_by_a_logged_input_once() {
    let blueprint = blueprint();
    let mut client = blueprint.client(NodeId(0), None).unwrap();
    let mut log: Vec<Vec<u8>> = Vec::new();
    let new = PARAMS.replace("every = 2", "every = 1");
    let refused = client.change(1, 1, &PARAMS.replace('7', "8"), &mut log).unwrap_err();
    assert_eq!(refused.to_string(), "fixed: cannot change while a federation runs; these can: every");
    assert!(client.change(1, 1, &PARAMS.replace("every = 2", "every = 0"), &mut log).is_err());
    assert!(log.is_empty(), "what is refused is not logged");
    client.change(1, 1, &new, &mut log).unwrap();
    client.change(1, 1, &new, &mut log).unwrap();
    assert_eq!((log.len(), client.params()), (1, (1, new.as_str())));
    let decided = client.decide(1, 1, UserId(0), &arms(), &keys(), &mut log).unwrap();
    client.reward(1, decided.id, 0.5, &keys(), &mut log).unwrap();
    assert_eq!(client.take_step().posted.len(), 1, "every one counts now");
    let mut again = blueprint.client(NodeId(0), None).unwrap();
    for entry in &log {
        again.replay(entry, &keys()).unwrap();
    }
    assert!(again.save() == client.save());
}
