//! Decisions that apps have names for: asked for twice, deferred, rewarded in parts.

use cahoots_core::DecisionId;
use cahoots_core::decision::{RewardError, Taken};
use cahoots_node::NodeError;
use cahoots_node::client::{Ack, Arms, Ask, Reward, TicketError, Which};
use cahoots_node::inside::{Durable, SteppedClient};

use super::super::app::{Step, Way};
use super::super::computer::Micros;
use super::super::dice::Dice;
use super::super::plan::Fault;
use super::{Broken, EXPIRY, Event, TICK, World};

/// The name of the part that a reward is given as.
const PART: &str = "all of it";

/// Takes a decision under a name, and asks once more.
pub(super) fn decide(
    node: &SteppedClient,
    way: &Way,
    user: u32,
    arms: Arms<'_>,
) -> Result<DecisionId, NodeError> {
    let ask = Ask { user: Some(user), event: Some(&way.event), deferred: way.is_deferred(), ..Ask::of(arms) };
    let told = node.app().ask(&ask)?;
    let again = node.app().ask(&ask)?;
    assert_eq!(told, again, "who asks again is told something else");
    Ok(told.id)
}

fn give(node: &SteppedClient, way: &Way, value: f64) -> Result<(Ack, Durable), NodeError> {
    let of = Which::Event(&way.event);
    let in_parts = way.steps.contains(&Step::Part);
    match way.step() {
        Step::Part => node.reward(&Reward { part: Some(PART), ..Reward::of(of, value) }),
        Step::Reward => node.reward(&Reward::of(of, if in_parts { 0.0 } else { value })),
        Step::Activate => node.activate(of).map(|(taken, durable)| {
            (if taken == Taken::Repeated { Ack::Repeated } else { Ack::Kept }, durable)
        }),
    }
}

impl World<'_> {
    /// How an app goes about its next decision: for most, plainly.
    pub(super) fn draw_way(&self, client: usize) -> Option<Way> {
        let place = self.clients[client].app.rewards.len() as u64;
        let mut dice = Dice::new(self.plan.seed, 1000 + 1000 * client as u64 + place);
        let steps = if dice.one_in(3) { None } else { Some(dice.pick(&Way::ALL)) }?;
        let event = format!("{place} of {client}");
        Some(Way { event, steps, next: 0, decided: self.now, before: None })
    }

    /// The app takes its next step about a decision that it has a name for, or the last one again.
    pub(super) fn step(&mut self, client: usize, place: usize, later: Micros) -> Result<(), Broken> {
        let jumped = self.plan.has(|fault| matches!(fault, Fault::ClockJump { .. }));
        let peer = &mut self.clients[client];
        let reward = &mut peer.app.rewards[place];
        let (Some(way), value) = (&mut reward.way, reward.value) else { return Ok(()) };
        let Some(node) = &peer.node else {
            self.after(later, Event::Reward(client, place));
            return Ok(());
        };
        let life = peer.site.computer.tape().life();
        let branched = peer.site.branched;
        let excused =
            |(then, at): (usize, Micros)| then != life || branched.is_some_and(|branched| branched >= at);
        if reward.acknowledged.is_none() && way.before.is_some_and(excused) {
            // What was on disk may not be any more: from the beginning.
            (way.next, way.before) = (0, None);
        }
        let expired = jumped || self.now + 2 * TICK >= way.decided + EXPIRY;
        // All of it, or what came before, was said to be on disk.
        let complete = reward.acknowledged.is_some_and(|then| !excused(then));
        let begun = complete || !expired && way.before.is_some_and(|then| !excused(then));
        let what = format!("{:?} of {:?}", way.step(), way.event);
        if complete && place.is_multiple_of(3) {
            let ask = Ask { event: Some(&way.event), ..Ask::of(Arms::Plain(0)) };
            match node.app().ask(&ask) {
                Ok(told) if told.id == reward.id => {}
                Err(NodeError::Stopped(_)) => {}
                other => return Err(format!("client {client} is asked again for {what}: {other:?}")),
            }
        }
        let given = give(node, way, value);
        let words = given.as_ref().map(|(ack, _)| *ack).map_err(ToString::to_string);
        match given {
            Ok((ack, _)) if complete && ack != Ack::Repeated => {
                return Err(format!("client {client} takes the acknowledged {what} again: {ack:?}"));
            }
            Ok((_, waiting)) => {
                reward.sent |= way.step() != Step::Activate;
                reward.waiting = Some(waiting);
            }
            Err(
                NodeError::Reward(RewardError::Unknown(_))
                | NodeError::Ticket(TicketError::UnknownEvent(_))
                | NodeError::NotJoined,
            ) if !begun => reward.over = true,
            // A part was there when it expired, and was learned.
            Err(NodeError::Reward(RewardError::Contradiction { before, .. }))
                if before == value && expired && !complete && way.steps.contains(&Step::Part) =>
            {
                reward.over = true;
            }
            Err(NodeError::Stopped(_)) => {
                self.aloud(client, "it takes no inputs")?;
                self.after(later, Event::Reward(client, place));
            }
            Err(other) => return Err(format!("client {client} has forgotten, or refuses, {what}: {other}")),
        }
        self.say(|| format!("client {client} is given {what}, {value:e}: {words:?}"));
        self.touched(client)
    }
}
