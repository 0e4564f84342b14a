//! What others would have earned in the place of the live federation: the same clients, offers and noise, the same decisions
//! in the same order, in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use cahoots_core::{Algorithm, ArmBuffer, ArmIndex, ParamError, Setting, Tick, UserId};
use cahoots_sim::arrivals::{Arrivals, Schedule};
use cahoots_sim::driver::{Options, Simulation};
use cahoots_sim::network::Network;
use cahoots_sim::rewards::Rewards;
use cahoots_sim::world::{Pull, World};
use serde::Deserialize as _;

use super::tastes::{Earned, Tastes};

/// Whose turn it was, from the first decision to the last.
pub(super) type Order = Arc<[u32]>;

/// What each client would have earned under an algorithm; less than that once `stop` is set.
pub(super) fn replay<A: Algorithm>(
    params: &toml::Table,
    tastes: Tastes,
    order: &Order,
    stop: &AtomicBool,
) -> Result<Vec<Earned>, ParamError> {
    let earned = Arc::new(Mutex::new(vec![Earned::default(); tastes.clients]));
    let world = tastes.world()?;
    let setting = Setting { horizon: order.len() as u64, ..world.setting().clone() };
    let params = A::Params::deserialize(params.clone()).map_err(|e| ParamError::unreadable(e.to_string()))?;
    let valid = A::check(params, &setting)?;
    let arrivals = Arrivals::given(Arc::new(Turns(order.clone())), tastes.clients);
    let world = Numbered { setting, world, earned: earned.clone() };
    let (network, rewards) = (Network::default(), Rewards::default());
    let mut simulation = Simulation::<A>::new(
        valid,
        Box::new(world),
        arrivals,
        network,
        rewards,
        tastes.seed,
        Options::default(),
    );
    simulation.run(&mut |_| !stop.load(Ordering::Relaxed));
    let earned = earned.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(earned.clone())
}

/// One decision per tick, as they came.
#[derive(Debug)]
struct Turns(Order);

impl Schedule for Turns {
    fn ticks(&self) -> u64 {
        self.0.len() as u64
    }

    fn at(&self, tick: Tick) -> UserId {
        UserId(self.0[tick as usize - 1])
    }
}

/// A world in which a client's offers are numbered by its own decisions and not by the clock.
struct Numbered {
    setting: Setting,
    world: Box<dyn World>,
    earned: Arc<Mutex<Vec<Earned>>>,
}

impl Numbered {
    fn next(&self, user: UserId) -> Tick {
        self.earned.lock().unwrap_or_else(PoisonError::into_inner)[user.index()].decisions + 1
    }
}

impl World for Numbered {
    fn setting(&self) -> &Setting {
        &self.setting
    }

    fn offer(&mut self, _tick: Tick, user: UserId, arms: &mut ArmBuffer) {
        self.world.offer(self.next(user), user, arms);
    }

    fn pull(&mut self, _tick: Tick, user: UserId, arms: &ArmBuffer, arm: ArmIndex) -> Pull {
        let pull = self.world.pull(self.next(user), user, arms, arm);
        self.earned.lock().unwrap_or_else(PoisonError::into_inner)[user.index()].add(&pull);
        pull
    }
}

#[cfg(test)]
mod tests {
    use cahoots_algorithms::linucb_alone::LinucbAlone;

    use super::*;

    fn replayed(order: &[u32]) -> Vec<Earned> {
        let tastes = Tastes { clients: 3, seed: 1 };
        replay::<LinucbAlone>(&toml::Table::new(), tastes, &order.into(), &AtomicBool::new(false)).unwrap()
    }

    #[test]
    fn who_learns_alone_earns_the_same_whoever_comes_between() {
        let (one, other) = (replayed(&[0, 1, 2, 0, 1, 0, 0]), replayed(&[2, 0, 0, 0, 0, 1, 1]));
        assert_eq!(one, other);
        assert_eq!(one.iter().map(|earned| earned.decisions).collect::<Vec<_>>(), [4, 2, 1]);
        assert!(one.iter().all(|earned| earned.best >= earned.reward));
    }
}
