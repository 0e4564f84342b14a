//! What is given before anything is learned: who takes part, where they sit,
//! what a context looks like.

use serde::{Deserialize, Serialize};

use crate::contract::machine::Algorithm;
use crate::ids::{NodeId, UserId};
use crate::topology::Topology;

/// The facts of a federation that algorithms may know in advance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Those for whom decisions are made.
    pub users: usize,
    /// Shared features of an arm; 0 for K-armed settings.
    pub dim: usize,
    /// Features of a user's own, per user; empty where there are none.
    pub local_dims: Vec<usize>,
    /// Arms offered per decision (all of them, in K-armed settings).
    pub arms: usize,
    /// Ticks.
    pub horizon: u64,
    /// Sub-Gaussian scale of the reward noise.
    pub reward_noise: f64,
    /// Local server of each user; empty where each user is on its own.
    pub hosts: Vec<NodeId>,
    /// Gap between the best arm and the next best: known to an oracle alone, and so to nobody outside a
    /// simulation of plain arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest_gap: Option<f64>,
    /// No arm's features are longer than this (the shared ones, and a user's own): clients refuse those that are, and
    /// servers sums that they cannot have given. Absent: each feature is at most 2^100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_norm: Option<f64>,
    /// The smallest and the largest reward, for the same. Absent: all are at most 2^100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward_range: Option<(f64, f64)>,
    /// Servers that add up keep what each client has contributed apart too, so that one can be forgotten.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keep_apart: bool,
}

impl Setting {
    /// Arms with `dim` features: 1000 ticks, noise 0.1, and every user on its own, unless said otherwise.
    pub fn linear(users: usize, dim: usize, arms: usize) -> Setting {
        Setting {
            users,
            dim,
            local_dims: Vec::new(),
            arms,
            horizon: 1000,
            reward_noise: 0.1,
            hosts: Vec::new(),
            smallest_gap: None,
            context_norm: None,
            reward_range: None,
            keep_apart: false,
        }
    }

    /// Arms without features: 1000 ticks, the noise of rewards that are 0 or 1, unless said otherwise.
    pub fn k_armed(users: usize, arms: usize) -> Setting {
        Setting::linear(users, 0, arms).with_reward_noise(0.5)
    }

    /// For so many ticks.
    pub fn with_horizon(self, horizon: u64) -> Setting {
        Setting { horizon, ..self }
    }

    /// With rewards of this sub-Gaussian scale.
    pub fn with_reward_noise(self, reward_noise: f64) -> Setting {
        Setting { reward_noise, ..self }
    }

    /// With so many features of each user's own.
    pub fn with_local_dims(self, local_dims: impl Into<Vec<usize>>) -> Setting {
        Setting { local_dims: local_dims.into(), ..self }
    }

    /// With a local server for each user.
    pub fn with_hosts(self, hosts: impl IntoIterator<Item = NodeId>) -> Setting {
        Setting { hosts: hosts.into_iter().collect(), ..self }
    }

    /// With features no longer than `norm` and rewards in this interval.
    pub fn within(self, norm: f64, rewards: (f64, f64)) -> Setting {
        Setting { context_norm: Some(norm), ..self }.with_reward_range(rewards)
    }

    /// With rewards in this interval.
    pub fn with_reward_range(self, rewards: (f64, f64)) -> Setting {
        Setting { reward_range: Some(rewards), ..self }
    }

    /// With contributions that are kept apart.
    pub fn kept_apart(self) -> Setting {
        Setting { keep_apart: true, ..self }
    }

    /// Features of this user's own.
    pub fn local_dim(&self, user: UserId) -> usize {
        self.local_dims.get(user.index()).copied().unwrap_or(0)
    }
}

/// How users are mapped to learners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seating {
    /// One learner per user.
    PerUser,
    /// One learner for all users.
    Central,
    /// A learner per local server, as the setting says.
    PerHost,
}

impl Seating {
    /// Number of learners.
    pub fn clients(&self, setting: &Setting) -> usize {
        match self {
            Seating::PerUser => setting.users,
            Seating::Central => 1,
            Seating::PerHost => setting.hosts.iter().map(|h| h.index() + 1).max().unwrap_or(setting.users),
        }
    }

    /// The learner that decides for `user`.
    pub fn seat_of(&self, setting: &Setting, user: UserId) -> NodeId {
        match self {
            Seating::PerUser => NodeId(user.0),
            Seating::Central => NodeId(0),
            Seating::PerHost => setting.hosts.get(user.index()).copied().unwrap_or(NodeId(user.0)),
        }
    }

    /// Everything a learner is told about its place.
    pub fn seat(&self, setting: &Setting, me: NodeId) -> Seat {
        Seat {
            me,
            server: NodeId::SERVER,
            dim: setting.dim,
            local_dim: match self {
                Seating::PerUser if me != NodeId::SERVER => setting.local_dim(UserId(me.0)),
                // Who decides for users that differ in this is shown shared features alone.
                _ => match setting.local_dims.split_first() {
                    Some((first, rest)) if rest.iter().all(|dim| dim == first) => *first,
                    _ => 0,
                },
            },
            clients: if me == NodeId::SERVER { self.clients(setting) as u32 } else { 0 },
            neighbours: Vec::new(),
            masks: false,
            context_norm: setting.context_norm,
            reward_range: setting.reward_range,
        }
    }
}

/// The seats of one algorithm's federation.
#[derive(Clone, Debug)]
pub struct Seats {
    setting: Setting,
    seating: Seating,
    topology: Option<Topology>,
    masks: bool,
}

impl Seats {
    /// Who sits where under an algorithm with these parameters, and who hears whom.
    pub fn of<A: Algorithm>(valid: &A::Valid, setting: &Setting) -> Seats {
        Seats {
            setting: setting.clone(),
            seating: A::seats(valid, setting),
            topology: A::topology(valid).map(|(topology, _)| topology),
            masks: A::takes_masks(valid),
        }
    }

    /// Number of learners.
    pub fn clients(&self) -> usize {
        self.seating.clients(&self.setting)
    }

    /// The learner that decides for `user`.
    pub fn seat_of(&self, user: UserId) -> NodeId {
        self.seating.seat_of(&self.setting, user)
    }

    /// How users are mapped to learners.
    pub fn seating(&self) -> &Seating {
        &self.seating
    }

    /// One machine's place.
    pub fn seat(&self, me: NodeId) -> Seat {
        let seat = self.seating.seat(&self.setting, me);
        let neighbours = match &self.topology {
            Some(topology) if me.index() < topology.len() => topology.neighbours(me).to_vec(),
            _ => Vec::new(),
        };
        Seat { neighbours, masks: self.masks, ..seat }
    }

    /// Whether `to` hears what `from` says: clients the server and their neighbours, the server its clients.
    pub fn hears(&self, to: NodeId, from: NodeId) -> bool {
        let clients = self.clients();
        match (to, from) {
            (NodeId::SERVER, client) | (client, NodeId::SERVER) => client.index() < clients,
            (to, from) => self.topology.as_ref().is_some_and(|topology| {
                to.index() < topology.len() && topology.neighbours(to).binary_search(&from).is_ok()
            }),
        }
    }
}

/// One machine's place in the federation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Seat {
    /// My id.
    pub me: NodeId,
    /// My coordinator.
    pub server: NodeId,
    /// Shared features of an arm; 0 for K-armed settings.
    pub dim: usize,
    /// Features that only this client's arms have; 0 where its users differ in their number.
    pub local_dim: usize,
    /// How many clients a server has; 0 at a client's seat.
    pub clients: u32,
    /// Peers I can talk to, in order.
    pub neighbours: Vec<NodeId>,
    /// Whether arms may be offered of which some cannot be chosen.
    pub masks: bool,
    /// How long an arm's features may be, where the terms say so.
    pub context_norm: Option<f64>,
    /// What rewards there may be, where the terms say so.
    pub reward_range: Option<(f64, f64)>,
}

impl Seat {
    /// Whether this machine hears what `from` says.
    pub fn hears(&self, from: NodeId) -> bool {
        if self.me == NodeId::SERVER {
            return from.0 < self.clients;
        }
        from == self.server || self.neighbours.binary_search(&from).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seat_has_its_own_users_local_features() {
        let setting = |local_dims: &[usize]| Setting::linear(3, 2, 2).with_local_dims(local_dims);
        let local_dim = |seating: Seating, dims, seat| seating.seat(&setting(dims), NodeId(seat)).local_dim;
        assert_eq!(local_dim(Seating::PerUser, &[1, 4, 2], 1), 4);
        assert_eq!(local_dim(Seating::Central, &[4, 4, 4], 0), 4);
        assert_eq!(local_dim(Seating::Central, &[1, 4, 2], 0), 0);
        assert_eq!(local_dim(Seating::Central, &[], 0), 0);
    }
}
