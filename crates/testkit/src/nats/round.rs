//! A round: a federation whose coordinators have a log with replicas, apps that go on all the time, one fault after another; in the end
//! what was acknowledged is merged once, and all coordinators have the same.

use std::path::Path;
use std::time::{Duration, Instant};

use cahoots_core::{Keys, NodeId};

use super::apps::{self, Apps, POWERS};
use super::audit::{balance, same_state};
use super::cluster::NatsCluster;
use super::coordinators::{Coordinators, Serving};
use super::fault::Fault;
use super::log_url;
use super::outputs::{Outputs, Said};
use super::proxy::NatsProxy;
use super::trouble::{Federation, Harm, PATIENCE};
use super::watch::{Seen, Watch};
use crate::soak::{Balance, Diary, Powers};

/// How large a federation, and what happens to it.
#[derive(Clone, Debug)]
pub struct NatsRound {
    /// NATS servers: one or three.
    pub servers: usize,
    /// Coordinators.
    pub coordinators: usize,
    /// Clients, each with an app.
    pub clients: usize,
    /// Coordinates per client; each takes 30 rewards.
    pub coordinates: usize,
    /// How long an app rests after each reward.
    pub pace: Duration,
    /// Seconds without a sign of the leader after which a standby tries to lead.
    pub lease: f64,
    /// Seed of the pauses between faults.
    pub seed: u64,
    /// What goes wrong.
    pub faults: Vec<Fault>,
}

/// What was counted.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What was done.
    pub harm: Harm,
    /// What became of the rewards.
    pub balance: Balance,
    /// What was seen meanwhile.
    pub seen: Seen,
    /// What coordinators said to a client, each compared with the others.
    pub said: Said,
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome { harm, balance, seen, said } = self;
        write!(
            f,
            "{} kills, {} of servers, {} stops, {} cuts, {} appends or answers lost or late, {} disks, {} halts, {} clocks; {} sent, {} acknowledged, {} \
             merged, each once; {} epochs, {} states and {} of {} outputs compared, longest without a leader {:.1} s, longest without a record {:.1} s",
            harm.kills,
            harm.server_kills,
            harm.stops,
            harm.cuts,
            harm.lost,
            harm.disks,
            harm.halts,
            harm.jumps,
            balance.sent,
            balance.acknowledged,
            balance.merged,
            seen.epochs,
            seen.compared,
            said.by_several,
            said.numbers,
            seen.longest_without_leader.as_secs_f64(),
            seen.longest_still.as_secs_f64()
        )
    }
}

impl NatsRound {
    /// Faults as a seed has them, for a federation of the usual size.
    pub fn of(seed: u64, faults: usize) -> NatsRound {
        let (servers, clients) = (3, 2);
        NatsRound {
            servers,
            coordinators: 3,
            clients,
            coordinates: 40,
            pace: Duration::from_millis(150),
            lease: 1.0,
            seed,
            faults: Fault::schedule(seed, faults, servers, clients),
        }
    }

    /// Runs it in `folder`; what was counted, if all held. `progress` hears of every fault.
    pub fn run(&self, exe: &Path, folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<Outcome, String> {
        let mut federation = self.begin(exe, folder)?;
        let mut dice = Keys::from_seed(self.seed).policy(NodeId(1), 0);
        let begun = Instant::now();
        for (i, fault) in self.faults.iter().enumerate() {
            std::thread::sleep(Duration::from_millis(200 + dice.below(1_500)));
            progress(&format!("{:6.1} s: {fault:?}", begun.elapsed().as_secs_f64()));
            let told = |error: String| format!("fault {i} ({fault:?}): {error}");
            federation.suffer(*fault).map_err(told)?;
            federation.coordinators.alive().map_err(told)?;
            federation.watch.seen().map_err(told)?;
            federation.outputs.said().map_err(told)?;
        }
        federation.servers.start_all()?;
        federation.servers.await_current(PATIENCE)?;
        federation.coordinators.await_one_leader(PATIENCE)?;
        let diaries = federation.apps.finish(PATIENCE)?;
        progress(&format!("{:6.1} s: all is merged", begun.elapsed().as_secs_f64()));
        let (seen, said) = (federation.watch.seen()?, federation.outputs.said()?);
        let balance = self.audit(&mut federation, &diaries)?;
        federation.apps.stop()?;
        (0..federation.coordinators.count()).try_for_each(|i| federation.coordinators.stop(i))?;
        Ok(Outcome { harm: federation.harm, balance, seen, said })
    }

    fn powers(&self) -> Powers {
        Powers { clients: self.clients, coordinates: self.coordinates, powers: POWERS }
    }

    fn begin(&self, exe: &Path, folder: &Path) -> Result<Federation, String> {
        let servers = NatsCluster::start(&folder.join("nats"), self.servers)?;
        let serving = Serving {
            serve: apps::serve(&self.powers())?,
            lease: self.lease,
            single: self.servers == 1,
            monitor: servers.monitor_urls(),
        };
        let mut coordinators = Coordinators::new(exe, &folder.join("coordinators"), serving)?;
        if self.faults.iter().any(|fault| matches!(fault, Fault::ClockJump(..))) {
            coordinators.have_clocks();
        }
        let mut lines = Vec::new();
        for _ in 0..self.coordinators {
            let own: Result<Vec<_>, String> =
                (0..self.servers).map(|server| NatsProxy::start(servers.address(server))).collect();
            let own = own?;
            coordinators.add(&log_url(own.iter().map(NatsProxy::address)))?;
            lines.push(own);
        }
        coordinators.start_all()?;
        coordinators.await_one_leader(PATIENCE)?;
        // An app may be without an answer for as long as a round lasts.
        let patience = PATIENCE * (2 + self.faults.len() as u32);
        let folder = folder.to_path_buf();
        let apps =
            Apps::start(exe, &folder.join("clients"), &coordinators, self.powers(), self.pace, patience)?;
        let watch = Watch::start((0..self.coordinators).map(|i| coordinators.asker(i)));
        let outputs = Outputs::start(self.clients as u32, coordinators.addresses())?;
        let harm = Harm::default();
        Ok(Federation { servers, lines, coordinators, apps, watch, outputs, folder, harm })
    }

    /// All coordinators, and one that knows nothing but the log, have the same, and it is what apps were told.
    fn audit(&self, federation: &mut Federation, diaries: &[Diary]) -> Result<Balance, String> {
        let coordinators = &mut federation.coordinators;
        let fresh = coordinators.add(&federation.servers.urls())?;
        coordinators.start_all()?;
        coordinators.await_one_leader(PATIENCE)?;
        same_state(coordinators)?;
        let mut first = None;
        for i in 0..=fresh {
            let balance = balance(coordinators, i, &self.powers(), diaries)?;
            if *first.get_or_insert(balance) != balance {
                let name = coordinators.name(i);
                return Err(format!("coordinator {name} has merged {balance:?}, others {first:?}"));
            }
        }
        first.ok_or_else(|| "no coordinators".into())
    }
}
