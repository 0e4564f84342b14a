//! The apps: they decide, give every reward until it is acknowledged, and give some again.

use cahoots_core::decision::RewardError;
use cahoots_node::NodeError;
use cahoots_node::client::{self, Ack, Arms};
use tokio::sync::oneshot::error::TryRecvError;

use super::super::app::Reward;
use super::super::computer::Micros;
use super::super::world::Broken;
use super::world::{Event, World};

impl World<'_> {
    /// The app makes a decision, or tries to.
    pub(super) fn act(&mut self, client: usize) -> Result<(), Broken> {
        if self.clients[client].app.left == 0 {
            return Ok(());
        }
        let wait = self.plan.pace / 2 + self.dice.below(self.plan.pace);
        self.after(wait, Event::App(client));
        let users = &self.case.users[client];
        let user = users[self.dice.below(users.len() as u64) as usize];
        let Some(node) = &self.clients[client].node else { return Ok(()) };
        let id = match self.case.offer(user, |arms: Arms<'_>| node.app().decide(Some(user), arms)) {
            Ok(decision) => decision.id,
            Err(NodeError::NotJoined) => return Ok(()),
            Err(other) => return Err(format!("client {client} does not decide: {other}")),
        };
        let app = &mut self.clients[client].app;
        app.left -= 1;
        let (value, place) = (app.next_value(user), app.rewards.len());
        app.rewards.push(Reward {
            id,
            user,
            value,
            way: None,
            sent: false,
            acknowledged: None,
            over: false,
            again: false,
            waiting: None,
        });
        let soon = self.dice.below(self.plan.pace);
        self.after(soon, Event::Reward(client, place));
        self.touched(client)
    }

    /// The app gives a reward, or gives it again.
    pub(super) fn reward(&mut self, client: usize, place: usize) -> Result<(), Broken> {
        let later = self.dice.between(1000, 200_000);
        let peer = &mut self.clients[client];
        let reward = &mut peer.app.rewards[place];
        if reward.over || reward.waiting.is_some() {
            return Ok(());
        }
        let (id, value, before) = (reward.id, reward.value, reward.acknowledged.is_some());
        let Some(node) = &peer.node else {
            self.after(later, Event::Reward(client, place));
            return Ok(());
        };
        match node.reward(&client::Reward::of(id, value)) {
            Ok((Ack::Learned, _)) if before => {
                return Err(format!("client {client} learns the acknowledged reward of {id} again"));
            }
            Ok((_, waiting)) => (reward.sent, reward.waiting) = (true, Some(waiting)),
            // The decision was not on disk when it was killed.
            Err(NodeError::Reward(RewardError::Unknown(_)) | NodeError::NotJoined) if !before => {
                reward.over = true;
            }
            Err(other) => return Err(format!("client {client}: reward for {id}: {other}")),
        }
        self.say(|| format!("client {client} is given {value:e} for {id}"));
        self.touched(client)
    }

    /// What the app was promised by now.
    pub(super) fn answers(&mut self, client: usize) {
        let now = self.now;
        let mut again = Vec::new();
        for (place, reward) in self.clients[client].app.rewards.iter_mut().enumerate() {
            let Some(waiting) = &mut reward.waiting else { continue };
            match waiting.try_recv() {
                Err(TryRecvError::Empty) => continue,
                Ok(Ok(())) if reward.acknowledged.is_none() => {
                    reward.acknowledged = Some((0, now));
                    reward.over = !place.is_multiple_of(5);
                }
                Ok(Ok(())) => reward.over = true,
                Ok(Err(_)) | Err(TryRecvError::Closed) => {}
            }
            reward.waiting = None;
            if !reward.over {
                again.push(place);
            }
        }
        for place in again {
            let later = self.dice.between(1000, 300_000);
            self.after(later, Event::Reward(client, place));
        }
    }

    /// Its client is down for so long: whatever was not answered is tried again.
    pub(super) fn unanswered(&mut self, client: usize, down: Micros) {
        let rewards = &mut self.clients[client].app.rewards;
        rewards.iter_mut().for_each(|reward| reward.waiting = None);
        let open: Vec<usize> = (0..rewards.len()).filter(|place| !rewards[*place].over).collect();
        for place in open {
            let later = down + self.dice.below(300_000);
            self.after(later, Event::Reward(client, place));
        }
    }
}
