//! Users and the groups they learn in.

use cahoots_core::{LinearStats, Seat, UserId};
use serde::{Deserialize, Serialize};

use super::params::Valid;
use crate::kit::clusters::Knowledge;

/// A user: its own data, its estimate, and the group it is in.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Member {
    pub id: UserId,
    pub own: Knowledge,
    pub estimate: Vec<f64>,
    pub group: u32,
}

impl Member {
    /// The users of a local server, who all know nothing.
    pub(super) fn of_host(valid: &Valid, seat: &Seat) -> Vec<Member> {
        let nothing = valid.linear.nothing.stats();
        let ids = valid.users.get(seat.me.index()).into_iter().flatten();
        ids.map(|id| Member::new(*id, nothing, valid.linear.ridge)).collect()
    }

    pub(super) fn new(id: UserId, nothing: &LinearStats, ridge: f64) -> Self {
        let own = Knowledge::of(nothing.clone(), ridge);
        Member { id, estimate: vec![0.0; nothing.dim()], own, group: 0 }
    }

    pub(super) fn observe(&mut self, x: &[f64], reward: f64) {
        self.own.observe(x, reward);
        self.estimate = self.own.factor.theta();
    }

    pub(super) fn count(&self) -> u64 {
        self.own.stats.count
    }
}

/// The summed statistics of some users.
pub(super) fn sum(members: &[Member], users: &[u32], nothing: &LinearStats) -> LinearStats {
    let mut sum = nothing.clone();
    users.iter().for_each(|&user| sum.merge(&members[user as usize].own.stats));
    sum
}
