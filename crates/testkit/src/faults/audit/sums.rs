//! What a sum says of the rewards in it.

use cahoots_core::LinearStats;

use super::super::app::App;
use super::super::world::Broken;

/// Every reward is a power of two in a coordinate of its user's, so the sum says which were merged, and how often. Where the client's
/// store is all its own (`exact`), all that were acknowledged must be.
pub(in crate::faults) fn merged_once(
    client: usize,
    users: &[u32],
    app: &App,
    merged: &LinearStats,
    exact: bool,
) -> Result<(), Broken> {
    for user in users {
        let mut sum = 0;
        for at in [2 * *user as usize, 2 * *user as usize + 1] {
            // In units of the smallest reward.
            let moment = merged.moment[at] * (1u64 << 50) as f64;
            let count = merged.gram.packed()[at * (at + 1) / 2 + at];
            let bits = moment as u64;
            if bits as f64 != moment || f64::from(bits.count_ones()) != count || sum & bits != 0 {
                return Err(format!(
                    "{count} rewards of client {client} give {}: one was merged twice or in part",
                    merged.moment[at]
                ));
            }
            sum |= bits;
        }
        for reward in app.rewards.iter().filter(|reward| reward.user == *user) {
            let bit = (reward.value * (1u64 << 50) as f64) as u64;
            let is_merged = sum & bit != 0;
            sum &= !bit;
            if is_merged && !reward.sent {
                return Err(format!("a reward of client {client} was merged that nobody gave"));
            }
            if exact && reward.acknowledged.is_some() && !is_merged {
                return Err(format!("the acknowledged reward of {} was never merged", reward.id));
            }
        }
        if sum != 0 {
            return Err(format!("rewards of client {client} were merged that nobody gave"));
        }
    }
    Ok(())
}
