//! The command for programs of one's own: the same, with more in its lists.

use std::process::ExitCode;
use std::sync::Arc;

use cahoots_algorithms::registry::ours;
use cahoots_core::Algorithm;
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::world::WorldKind;

use crate::arguments::{self, Known};

/// What a deployment can run.
#[cfg(not(feature = "contract"))]
type Live = cahoots_node::Known;
/// The same, also in the simulator's order.
#[cfg(feature = "contract")]
type Live = Catalogue<cahoots_testkit::lockstep::Deployed>;

/// The command, with algorithms and worlds of one's own beside ours.
///
/// ```no_run
/// # fn start<Mine: cahoots::Algorithm, MyWorld: cahoots::world::WorldKind>() -> std::process::ExitCode {
/// cahoots::Cli::new().algorithm::<Mine>().world::<MyWorld>().main()
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Cli {
    simulated: Catalogue,
    live: Live,
    #[cfg(feature = "contract")]
    suites: cahoots_core::Registry<cahoots_testkit::suite::Suite>,
}

impl Default for Cli {
    fn default() -> Self {
        Cli::new()
    }
}

impl Cli {
    /// Our algorithms and our worlds.
    pub fn new() -> Cli {
        Cli {
            simulated: crate::catalogue(),
            live: Live::new(ours()),
            #[cfg(feature = "contract")]
            suites: ours(),
        }
    }

    /// One more algorithm, for whatever takes one by name.
    ///
    /// # Panics
    /// If its name is taken.
    #[track_caller]
    pub fn algorithm<A: Algorithm>(mut self) -> Cli {
        self.simulated.algorithms.add::<A>();
        self.live = self.live.algorithm::<A>();
        #[cfg(feature = "contract")]
        self.suites.add::<A>();
        self
    }

    /// One more world, for whatever takes one by name.
    ///
    /// # Panics
    /// If its name is taken.
    #[track_caller]
    pub fn world<W: WorldKind>(mut self) -> Cli {
        self.simulated.worlds.add::<W>();
        #[cfg(feature = "contract")]
        self.live.worlds.add::<W>();
        self
    }

    /// Does what the program's arguments say: 0 done, 1 it failed, 2 the input was wrong, 130 interrupted.
    pub fn main(self) -> ExitCode {
        #[cfg(not(feature = "contract"))]
        let live = Arc::new(self.live);
        #[cfg(feature = "contract")]
        let live = cahoots_testkit::lockstep::known(self.live);
        arguments::main(&Known {
            simulated: Arc::new(self.simulated),
            live,
            #[cfg(feature = "contract")]
            suites: self.suites,
        })
    }
}
