//! What algorithms with many users at one learner share.

use cahoots_core::graph::Graph;
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

/// Components of a graph in the order of their first nodes, each in order.
pub fn components(graph: &Graph) -> Vec<Vec<u32>> {
    let mut seen = vec![false; graph.len()];
    let mut components = Vec::new();
    for start in 0..graph.len() {
        if seen[start] {
            continue;
        }
        seen[start] = true;
        let mut component = vec![start as u32];
        let mut next = 0;
        while next < component.len() {
            let node = component[next] as usize;
            for other in 0..graph.len() {
                if !seen[other] && graph.has(node, other) {
                    seen[other] = true;
                    component.push(other as u32);
                }
            }
            next += 1;
        }
        component.sort_unstable();
        components.push(component);
    }
    components
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn components_are_what_hangs_together() {
        let mut graph = Graph::new(5);
        graph.set(0, 3, true);
        graph.set(3, 4, true);
        assert_eq!(components(&graph), [vec![0, 3, 4], vec![1], vec![2]]);
    }

    #[test]
    fn estimates_from_more_data_are_closer() {
        assert_eq!(novelty(0), 1.0);
        // sqrt((1 + ln 100) / 100)
        assert!((novelty(99) - 0.236_752).abs() < 1e-6, "{}", novelty(99));
    }
}
