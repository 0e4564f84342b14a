//! Rounds of members and a collector, honest and otherwise.

use std::collections::BTreeSet;

use cahoots_core::{Cx, Keys, Misbehaviour, NodeId, Private, Unprotected};

use super::keys::{Purpose, Secret};
use super::*;

const TERMS: Terms = Terms { least: 5, most: 9, missing: 0.2, colluding: 0.1 };
const LENGTH: usize = 3;

/// What a liar sends, by what was said before it.
type Forge = fn(&[(NodeId, Up)], NodeId, Up) -> Up;

/// Members, and what each wants to add.
struct Round {
    members: Vec<Member>,
    collector: Collector,
    present: BTreeSet<NodeId>,
    /// What the coordinator could write down.
    seen: Vec<(NodeId, Up)>,
    sums: Vec<GroupSum>,
    failed: Vec<String>,
    /// What is sent in the place of a message, by whoever lies.
    forged: Option<Forge>,
}

fn secret(node: NodeId, round: u32) -> cahoots_core::Stream {
    Keys::from_seed(3).privacy(node, u64::from(round) << 30)
}

fn values(node: NodeId) -> Vec<u64> {
    vec![u64::from(node.0) + 1, (-5i64 * i64::from(node.0)) as u64, 1 << 40]
}

fn released(values: Vec<u64>) -> Private<Vec<u64>> {
    Cx::<()>::rehearse(NodeId(0), 1, |cx| cx.release(&mut Unprotected, values)).0
}

impl Round {
    fn new(n: u32) -> Round {
        Round {
            members: (0..n).map(|node| Member::new(NodeId(node), TERMS)).collect(),
            collector: Collector::new(TERMS, LENGTH),
            present: (0..n).map(NodeId).collect(),
            seen: Vec::new(),
            sums: Vec::new(),
            failed: Vec::new(),
            forged: None,
        }
    }

    /// All who are present begin; `lost` says which messages never come.
    fn play(&mut self, round: u32, lost: impl Fn(NodeId, &Up) -> bool) {
        for step in self.collector.begin(round, &self.present, &mut secret(NodeId::SERVER, round)) {
            let Step::Send(node, Down::Begin { .. }) = step else { panic!("{step:?}") };
            let keys = self.members[node.index()].begin(round, &mut secret(node, round)).unwrap();
            self.up(node, keys, &lost);
        }
        self.advance(0, &lost);
        for over in 1..=Collector::WAITS {
            self.advance(over, &lost);
        }
    }

    fn up(&mut self, node: NodeId, message: Up, lost: &impl Fn(NodeId, &Up) -> bool) {
        if !lost(node, &message) {
            let message = match self.forged {
                Some(forge) => forge(&self.seen, node, message),
                None => message,
            };
            self.seen.push((node, message.clone()));
            self.collector.take(node, message).unwrap();
        }
    }

    fn advance(&mut self, over: u32, lost: &impl Fn(NodeId, &Up) -> bool) {
        loop {
            let steps = self.collector.advance(&self.present, over);
            let mut sent = false;
            for step in steps {
                match step {
                    Step::Send(node, message) => {
                        sent = true;
                        if let Some(answer) = self.answer(node, &message) {
                            self.up(node, answer, lost);
                        }
                    }
                    Step::Sum(sum) => self.sums.push(sum),
                    Step::Failed(reason) => self.failed.push(reason),
                }
            }
            if !sent {
                return;
            }
        }
    }

    fn answer(&mut self, node: NodeId, message: &Down) -> Option<Up> {
        let member = &mut self.members[node.index()];
        match message {
            Down::Begin { round } => panic!("round {round} begins again"),
            Down::Roster { round, members } => {
                member.roster(*round, members, &mut secret(node, round + 100)).unwrap()
            }
            Down::Shares { round, sealed } => member.shares(*round, sealed).unwrap().map(|masks| {
                let mut hidden = values(node);
                masks.apply(&mut hidden);
                Up::Masked { round: *round, values: released(hidden) }
            }),
            Down::Unmask { round, survivors } => member.unmask(*round, survivors).unwrap(),
        }
    }

    fn masked(&self, node: NodeId) -> Vec<u64> {
        let of = |(from, up): &(NodeId, Up)| match up {
            Up::Masked { values, .. } if *from == node => Some(values.get().clone()),
            _ => None,
        };
        self.seen.iter().rev().find_map(of).unwrap()
    }
}

fn expected(nodes: impl Iterator<Item = u32>) -> Vec<i64> {
    let mut sum = vec![0u64; LENGTH];
    for node in nodes {
        sum.iter_mut().zip(values(NodeId(node))).for_each(|(sum, value)| *sum = sum.wrapping_add(value));
    }
    sum.into_iter().map(|value| value as i64).collect()
}

#[test]
fn the_sum_comes_out_and_no_message_shows_a_part_of_it() {
    let mut round = Round::new(7);
    round.play(1, |_, _| false);
    assert_eq!(round.failed, Vec::<String>::new());
    assert_eq!(round.sums.len(), 1);
    assert_eq!(round.sums[0].values, expected(0..7));
    for node in (0..7).map(NodeId) {
        assert!(round.masked(node).iter().zip(values(node)).all(|(hidden, value)| *hidden != value));
    }
    assert!(!round.collector.is_busy());
}

#[test]
fn every_step_may_lose_as_many_as_the_terms_say() {
    let kinds: [fn(&Up) -> bool; 3] = [
        |up| matches!(up, Up::Shares { .. }),
        |up| matches!(up, Up::Masked { .. }),
        |up| matches!(up, Up::Unmasking { .. }),
    ];
    for lost in kinds {
        let mut round = Round::new(9);
        round.play(1, |node, up| node.0 == 4 && lost(up));
        let in_it = (0..9).filter(|node| *node != 4 || lost(&Up::Unmasking { round: 1, pieces: Vec::new() }));
        assert_eq!(round.sums[0].values, expected(in_it), "{:?}", round.failed);
        let mut round = Round::new(9);
        round.play(1, |node, up| node.0 < 5 && lost(up));
        assert!(round.sums.is_empty() && round.failed.len() == 1, "{:?}", round.sums);
    }
}

#[test]
fn too_few_are_no_group_and_too_many_are_several() {
    let mut few = Round::new(4);
    few.play(1, |_, _| false);
    assert!(
        few.sums.is_empty() && few.failed[0].contains("4 clients, where 5 is the least"),
        "{:?}",
        few.failed
    );
    let mut many = Round::new(23);
    many.play(1, |_, _| false);
    let sizes: Vec<u32> = many.sums.iter().map(|sum| sum.size).collect();
    assert_eq!(sizes, [8, 8, 7]);
    // Neighbours do not stay together: whoever enrols many in a row has no group of its own.
    let first = &many.sums[0].members;
    assert!(first.windows(2).any(|pair| pair[1].0 > pair[0].0 + 1), "{first:?}");
    many.play(2, |_, _| false);
    assert_ne!(many.sums[3].members, *many.sums[0].members, "and are drawn anew");
    many.sums.truncate(3);
    let mut all = vec![0; LENGTH];
    many.sums.iter().for_each(|sum| all.iter_mut().zip(&sum.values).for_each(|(all, value)| *all += value));
    assert_eq!(all, expected(0..23));
}

/// The vector of one that was given up comes after all: what the others have told by then hides it still, while a single
/// mask would not have.
#[test]
fn a_vector_that_comes_late_stays_hidden() {
    let mut round = Round::new(9);
    let late = NodeId(4);
    round.play(1, |node, up| node == late && matches!(up, Up::Masked { .. }));
    assert_eq!(round.sums[0].members.len(), 8);
    // Its vector, as it was on its way.
    let mut again = Round::new(9);
    again.play(1, |_, _| false);
    let vector = again.masked(late);
    round.collector.take(late, Up::Masked { round: 1, values: released(vector.clone()) }).unwrap();
    assert!(
        round.collector.advance(&round.present, 4).is_empty() && round.sums.len() == 1,
        "it changes nothing"
    );
    // Its masking key, from the shares that the coordinator was given.
    let mut pieces = Vec::new();
    for (_, up) in &round.seen {
        if let Up::Unmasking { pieces: held, .. } = up {
            pieces.extend(held[4].clone());
        }
    }
    let pieces: Vec<&Piece> = pieces.iter().collect();
    let masking = Secret::recover(&pieces, TERMS.threshold(9)).unwrap();
    let adverts: Vec<Public> = round
        .seen
        .iter()
        .filter_map(|(_, up)| if let Up::Keys { advert, .. } = up { Some(advert.masking) } else { None })
        .collect();
    assert_eq!(masking.public(), adverts[4]);
    let mut bare = vector;
    for (other, key) in (0..9).map(NodeId).zip(&adverts).filter(|(other, _)| *other != late) {
        masking.agree(key, 1, Purpose::Masking(late, other)).unwrap().mask(&mut bare, late > other);
    }
    assert!(bare.iter().zip(values(late)).all(|(seen, value)| *seen != value), "its own mask is left");
    // With that off too, this would have been it: the test can see.
    let mut own = secret(late, 101);
    Secret::draw(&mut own).mask(&mut bare, false);
    assert_eq!(bare, values(late));
    // And nobody gives shares of that mask any more.
    let everyone: Vec<NodeId> = (0..9).map(NodeId).collect();
    for member in round.members.iter_mut().filter(|member| member.me() != late) {
        assert_eq!(member.unmask(1, &everyone), Ok(None), "{member:?}");
    }
}

/// A member as it is when masks have come off but for its answer.
fn asked(n: u32) -> (Member, Vec<NodeId>) {
    let mut round = Round::new(n);
    round.play(1, |_, up| matches!(up, Up::Masked { .. }));
    (round.members[0].clone(), (0..n).map(NodeId).collect())
}

#[test]
fn a_coordinator_cannot_ask_for_too_small_a_sum_nor_twice() {
    let (mut member, everyone) = asked(9);
    let refused = member.unmask(1, &everyone[..7]).unwrap_err();
    assert!(refused.to_string().contains("7 of a group of 9, where 8 is the least"), "{refused}");
    assert!(member.unmask(1, &[everyone.clone(), vec![NodeId(30)]].concat()).is_err());
    assert!(member.unmask(1, &[NodeId(1), NodeId(1)]).is_err());
    assert!(
        member.unmask(1, &everyone[1..]).unwrap_err().to_string().contains("no part"),
        "eight, but not this one"
    );
    assert_eq!(member.unmask(2, &everyone), Ok(None), "another round");
    assert!(member.unmask(1, &everyone[..8]).unwrap().is_some());
    assert_eq!(member.unmask(1, &everyone), Ok(None), "the other half of the secret");
}

#[test]
fn a_coordinator_cannot_make_a_group_that_hides_nobody() {
    let mut member = Member::new(NodeId(0), TERMS);
    let Some(Up::Keys { advert, .. }) = member.begin(1, &mut secret(NodeId(0), 1)) else { panic!() };
    let other = |node| (NodeId(node), Advert { sealing: [node as u8; 32], masking: [node as u8; 32] });
    let roster = |first, rest: &[u32]| [vec![first], rest.iter().map(|node| other(*node)).collect()].concat();
    let (mine, rng) = ((NodeId(0), advert), &mut secret(NodeId(0), 2));
    for (members, what) in [
        (roster(mine, &[1, 2, 3]), "a group of 4"),
        (roster(mine, &[1, 1, 2, 3]), "not in order"),
        (roster(other(5), &[6, 7, 8, 9]), "no place"),
        (roster((NodeId(0), other(9).1), &[1, 2, 3, 4]), "other keys"),
    ] {
        let refused = member.roster(1, &members, rng).unwrap_err();
        assert!(
            matches!(refused, Misbehaviour::Unexpected(_)) && refused.to_string().contains(what),
            "{refused}"
        );
    }
    let null =
        [roster(mine, &[1, 2, 3]), vec![(NodeId(4), Advert { sealing: [0; 32], masking: [0; 32] })]].concat();
    assert!(member.roster(1, &null, rng).is_err(), "a key that everyone knows");
}

/// Masks that few have in common are masks that few can take off.
#[test]
fn a_coordinator_cannot_leave_out_more_than_may_be_missing() {
    let mut round = Round::new(9);
    round.play(1, |_, up| matches!(up, Up::Shares { .. }));
    let sealed = |n: u32| (0..n).map(|node| (NodeId(node), Vec::new())).collect::<Vec<(NodeId, Vec<u8>)>>();
    let refused = round.members[0].shares(1, &sealed(7)).unwrap_err();
    assert!(refused.to_string().contains("shares of 7 of a group of 9"), "{refused}");
    assert!(round.members[0].shares(1, &sealed(8)[1..]).is_err(), "not without this client");
    assert!(
        round.members[0].shares(1, &[sealed(8), vec![(NodeId(30), Vec::new())]].concat()).is_err(),
        "a stranger"
    );
    assert!(round.members[0].shares(1, &sealed(8)).unwrap().is_some());
}

#[test]
fn rounds_have_keys_of_their_own_and_are_begun_once() {
    let mut member = Member::new(NodeId(0), TERMS);
    let rng = &mut secret(NodeId(0), 1);
    let first = member.begin(1, rng).unwrap();
    assert_eq!(member.begin(1, rng), None);
    let second = member.begin(2, rng).unwrap();
    let (Up::Keys { advert: one, .. }, Up::Keys { advert: other, .. }) = (first, second) else { panic!() };
    assert!(one.sealing != other.sealing && one.masking != other.masking);
}

/// A copy that is put back has the secrets of a vector that was sent: it must not hide another with them.
#[test]
fn who_leaves_a_round_hides_and_tells_nothing_more_in_it() {
    let mut round = Round::new(9);
    round.play(1, |_, up| matches!(up, Up::Shares { .. }));
    let mut copy = round.members[0].clone();
    copy.leave();
    let sealed: Vec<(NodeId, Vec<u8>)> = (0..9).map(|node| (NodeId(node), Vec::new())).collect();
    assert!(copy.shares(1, &sealed).unwrap().is_none(), "no masks");
    assert!(round.members[0].shares(1, &sealed).unwrap().is_some(), "there would have been");
    assert_eq!(copy.begin(1, &mut secret(NodeId(0), 7)), None, "not in this round again");
    assert!(copy.begin(2, &mut secret(NodeId(0), 8)).is_some());
}

#[test]
fn what_others_send_is_checked_and_what_is_stale_is_passed_over() {
    let mut round = Round::new(9);
    round.play(1, |_, up| matches!(up, Up::Shares { .. }));
    let mut collector = Collector::new(TERMS, LENGTH);
    assert!(collector.take(NodeId(0), round.seen[0].1.clone()).is_err(), "a round that has not begun");
    collector.begin(1, &round.present, &mut secret(NodeId::SERVER, 1));
    let none = Advert { sealing: [0; 32], masking: [0; 32] };
    assert!(
        collector.take(NodeId(0), Up::Keys { round: 1, advert: none }).is_err(),
        "nobody could agree with it"
    );
    for node in (0..9).map(NodeId) {
        let keys = round.seen.iter().find(|(from, _)| *from == node).unwrap().1.clone();
        collector.take(node, keys).unwrap();
    }
    collector.advance(&round.present, 0);
    assert!(collector.take(NodeId(0), Up::Shares { round: 1, sealed: vec![Vec::new(); 8] }).is_err());
    assert!(collector.take(NodeId(0), Up::Shares { round: 2, sealed: vec![Vec::new(); 9] }).is_err());
    assert!(
        collector.take(NodeId(40), Up::Shares { round: 1, sealed: vec![Vec::new(); 8] }).is_ok(),
        "a stranger's"
    );
    for node in (0..9).map(NodeId) {
        collector.take(node, Up::Shares { round: 1, sealed: vec![Vec::new(); 9] }).unwrap();
    }
    collector.advance(&round.present, 0);
    let long = released(vec![0; LENGTH + 1]);
    assert!(collector.take(NodeId(0), Up::Masked { round: 1, values: long }).is_err());
    let sound = released(vec![1; LENGTH]);
    assert!(collector.take(NodeId(0), Up::Masked { round: 1, values: sound.clone() }).is_ok());
    let before = format!("{collector:?}");
    assert!(collector.take(NodeId(0), Up::Masked { round: 1, values: sound }).is_ok(), "again");
    assert_eq!(format!("{collector:?}"), before);
}

/// Some answer with what another has said: they are waited for no longer, and the others still are.
#[test]
fn shares_of_another_do_not_count() {
    let mut round = Round::new(9);
    round.forged = Some(|seen, node, message| {
        let said = seen.iter().find(|(_, up)| matches!(up, Up::Unmasking { .. }));
        match (message, said) {
            (Up::Unmasking { .. }, Some((_, first))) if (1..4).contains(&node.0) => first.clone(),
            (message, _) => message,
        }
    });
    round.play(1, |_, _| false);
    assert_eq!((round.sums.len(), &round.failed), (1, &Vec::new()));
    assert_eq!(round.sums[0].values, expected(0..9));
}

/// Shares that are no shares: without them nothing is unmasked, and nothing wrong is called a sum.
#[test]
fn shares_that_are_wrong_give_no_sum() {
    let mut round = Round::new(9);
    round.play(1, |_, up| matches!(up, Up::Unmasking { .. }));
    assert_eq!((round.sums.len(), round.failed.len()), (0, 1), "nobody answers");
}
