//! A round: a federation whose coordinators have a log with replicas, apps that go on all the time, one fault after another; in the end
//! what was acknowledged is merged once, and all coordinators have the same.

use std::path::Path;
use std::time::{Duration, Instant};

use cahoots_core::{Keys, NodeId};

use super::apps::{self, Apps, POWERS, merged};
use super::asker::Replica;
use super::cluster::NatsCluster;
use super::coordinators::{Coordinators, Serving};
use super::fault::Fault;
use super::log_url;
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
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Outcome { harm, balance, seen } = self;
        write!(
            f,
            "{} kills, {} of servers, {} stops, {} cuts, {} appends or answers lost or late, {} disks; {} sent, {} acknowledged, {} \
             merged, each once; {} epochs, {} states compared, longest without a leader {:.1} s, longest without a record {:.1} s",
            harm.kills,
            harm.server_kills,
            harm.stops,
            harm.cuts,
            harm.lost,
            harm.disks,
            balance.sent,
            balance.acknowledged,
            balance.merged,
            seen.epochs,
            seen.compared,
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
            pace: Duration::from_millis(60),
            lease: 1.0,
            seed,
            faults: Fault::schedule(seed, faults, servers, clients),
        }
    }

    /// Runs it in `folder`; what was counted, if all held. `progress` hears of every fault.
    pub fn run(&self, exe: &Path, folder: &Path, progress: &mut dyn FnMut(&str)) -> Result<Outcome, String> {
        let mut federation = self.begin(exe, folder)?;
        let watch = Watch::start((0..self.coordinators).map(|i| federation.coordinators.asker(i)));
        let mut dice = Keys::from_seed(self.seed).policy(NodeId(1), 0);
        let begun = Instant::now();
        for (i, fault) in self.faults.iter().enumerate() {
            std::thread::sleep(Duration::from_millis(200 + dice.below(1_500)));
            progress(&format!("{:6.1} s: {fault:?}", begun.elapsed().as_secs_f64()));
            let told = |error: String| format!("fault {i} ({fault:?}): {error}");
            federation.suffer(*fault).map_err(told)?;
            federation.coordinators.alive().map_err(told)?;
            watch.seen().map_err(told)?;
        }
        federation.servers.start_all()?;
        federation.servers.await_current(PATIENCE)?;
        federation.coordinators.await_one_leader(PATIENCE)?;
        let diaries = federation.apps.finish(PATIENCE)?;
        progress(&format!("{:6.1} s: all is merged", begun.elapsed().as_secs_f64()));
        let seen = watch.seen()?;
        drop(watch);
        let balance = self.audit(&mut federation, &diaries)?;
        federation.apps.stop()?;
        (0..federation.coordinators.count()).try_for_each(|i| federation.coordinators.stop(i))?;
        Ok(Outcome { harm: federation.harm, balance, seen })
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
        Ok(Federation { servers, lines, coordinators, apps, folder, harm: Harm::default() })
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
            let balance = self.balance(coordinators, i, diaries)?;
            if *first.get_or_insert(balance) != balance {
                let name = coordinators.name(i);
                return Err(format!("coordinator {name} has merged {balance:?}, others {first:?}"));
            }
        }
        first.ok_or_else(|| "no coordinators".into())
    }

    /// A page may show what was a moment ago, so one looks again before one complains.
    fn balance(&self, coordinators: &Coordinators, i: usize, diaries: &[Diary]) -> Result<Balance, String> {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let model = coordinators.page(i).get("/model");
            let balance = model
                .and_then(|(_, model)| merged(&model))
                .and_then(|merged| self.powers().balance(diaries, &merged));
            match balance {
                Ok(balance) => return Ok(balance),
                Err(error) if Instant::now() > deadline => {
                    return Err(format!("coordinator {}: {error}", coordinators.name(i)));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(200)),
            }
        }
    }
}

/// Waits until all coordinators have read to the same end; their states must be the same there.
fn same_state(coordinators: &Coordinators) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let said: Result<Vec<Replica>, String> =
            (0..coordinators.count()).map(|i| coordinators.replica(i)).collect();
        if let Ok(said) = &said
            && said.iter().all(|one| one.sequence == said[0].sequence && one.end == one.sequence)
        {
            return match said.iter().all(|one| one.state.is_some() && one.state == said[0].state) {
                true => Ok(()),
                false => Err(format!("states differ at the same sequence: {said:?}")),
            };
        }
        if Instant::now() > deadline {
            return Err(format!("coordinators do not come to the same end: {said:?}"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}
