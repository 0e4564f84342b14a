//! What algorithms with many users at one learner share.

use cahoots_core::{Context, Setting, UserId};
use serde::{Deserialize, Serialize};

/// What a decision for one of many users keeps until its reward comes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChosenFor {
    /// Whom it was made for.
    pub user: UserId,
    /// Features of the chosen arm.
    pub context: Context,
}

/// Users of each local server; where there are none, every user is on its own.
pub fn users_by_host(setting: &Setting) -> Vec<Vec<UserId>> {
    if setting.hosts.is_empty() {
        return (0..setting.users as u32).map(|user| vec![UserId(user)]).collect();
    }
    let servers = setting.hosts.iter().map(|host| host.index() + 1).max().unwrap_or(0);
    let mut users = vec![Vec::new(); servers];
    for (user, host) in setting.hosts.iter().enumerate() {
        users[host.index()].push(UserId(user as u32));
    }
    users
}

/// F(x) = sqrt((1 + ln(1 + x)) / (1 + x)): how far off an estimate from x observations may be.
pub fn novelty(count: u64) -> f64 {
    let more = 1.0 + count as f64;
    ((1.0 + libm::log(more)) / more).sqrt()
}

/// How far apart two estimates may be before they differ: `cut` (F(x) + F(y)), from so many observations each.
pub fn reach(cut: f64, one: u64, other: u64) -> f64 {
    cut * (novelty(one) + novelty(other))
}

/// Euclidean distance.
pub fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| (x - y) * (x - y)).sum::<f64>().sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_from_more_data_are_closer() {
        assert_eq!(novelty(0), 1.0);
        // sqrt((1 + ln 100) / 100)
        assert!((novelty(99) - 0.236_752).abs() < 1e-6, "{}", novelty(99));
    }
}
