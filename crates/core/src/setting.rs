//! What is given before anything is learned: who takes part, where they sit,
//! what a context looks like.

use serde::{Deserialize, Serialize};

use crate::ids::{NodeId, UserId};

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
            neighbours: Vec::new(),
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
    /// Peers I can talk to.
    pub neighbours: Vec<NodeId>,
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
