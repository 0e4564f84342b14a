//! A simulated world in place of a client's app.

use std::collections::BTreeMap;

use cahoots_core::{ArmBuffer, ArmIndex, Tick, UserId};
use cahoots_node::NodeError;
use cahoots_node::lockstep::StandIn;
use cahoots_sim::world::World;

/// Pulls of plain arms by user, those made while waiting apart: their noise is numbered.
type Pulls = BTreeMap<(bool, u32, u32), u64>;

/// The world and the progress in it.
pub(super) struct Simulated {
    world: Box<dyn World>,
    pulls: Pulls,
}

impl Simulated {
    /// A world in which this has happened.
    pub(super) fn new(mut world: Box<dyn World>, progress: Option<&[u8]>) -> Result<Simulated, NodeError> {
        let pulls: Pulls = match progress {
            Some(bytes) => postcard::from_bytes(bytes)
                .map_err(|e| NodeError::Config(format!("lockstep progress: {e}")))?,
            None => Pulls::default(),
        };
        for (&(waiting, user, arm), &pulls) in &pulls {
            world.set_waiting(waiting);
            world.pull_block(UserId(user), ArmIndex(arm), pulls);
        }
        Ok(Simulated { world, pulls })
    }
}

impl StandIn for Simulated {
    fn offer(&mut self, tick: Tick, user: UserId, arms: &mut ArmBuffer) {
        self.world.offer(tick, user, arms);
    }

    fn reward(&mut self, tick: Tick, user: UserId, arms: &ArmBuffer, arm: ArmIndex, waiting: bool) -> f64 {
        self.world.set_waiting(waiting);
        if self.world.setting().dim == 0 {
            *self.pulls.entry((waiting, user.0, arm.0)).or_default() += 1;
        }
        self.world.pull(tick, user, arms, arm).reward
    }

    fn progress(&self) -> Vec<u8> {
        postcard::to_stdvec(&self.pulls).expect("progress can always be written")
    }
}
