//! The same on real nodes: a coordinator and a client that speak over the loopback interface, with keys of their own.
//!
//! A live run takes tens of milliseconds, so that few are made: enough to see what times, counts and structure give away,
//! which is the same in every run, and too few to measure noise.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use cahoots_algorithms::dp_mab::CdpMab;
use cahoots_algorithms::fclub::{CdpFclubDc, FclubDc};
use cahoots_algorithms::private::PrivateLinucb;
use cahoots_core::{NodeId, Setting};
use cahoots_lab::audit::Observer;
use cahoots_lab::{LabError, say};
use cahoots_node::client::{Arms, Client};
use cahoots_node::coordinator::{Coordinator, CoordinatorConfig};
use cahoots_node::limits::ServeLimits;
use cahoots_node::store::Sync;
use cahoots_node::{Known, NodeError, Terms};
use cahoots_privacy::audit::{Audit, Stated, Transcript, Verdict};
use serde_json::json;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use super::super::serve::failed;
use super::watched::{self, Watched};
use crate::print;

/// Runs on each input, unless told otherwise.
const TRIALS: u64 = 60;

/// Nothing here takes longer, unless it never comes.
const PATIENCE: Duration = Duration::from_secs(20);

/// Nothing happens by the clock within a run.
const TICK: Duration = Duration::from_secs(3600);

/// Where it does: all observations are made before the first release, which is at tick 30.
const SHORT_TICK: Duration = Duration::from_millis(5);

const FEDERATION: &str = "audit";

/// What is run live.
pub(super) struct LiveSubject {
    name: &'static str,
    about: &'static str,
    stated: Stated,
    control: bool,
    /// Times alone: for an algorithm that is not private, and says nothing else.
    times_only: bool,
    algorithm: &'static str,
    params: &'static str,
    world: World,
}

/// What the audited client observes, the first time this or that.
enum World {
    /// Contexts; all but the first are e1.
    Linear { observations: u64, first: [[f64; 2]; 2] },
    /// The same, all at once; then messages come by the clock, so many of them.
    Clocked { observations: u64, first: [[f64; 2]; 2], messages: usize },
    /// Rewards of two arms; all but the first are 1/2.
    Arms { observations: u64, first: [f64; 2] },
}

impl World {
    fn observations(&self) -> u64 {
        match self {
            World::Linear { observations, .. }
            | World::Clocked { observations, .. }
            | World::Arms { observations, .. } => *observations,
        }
    }

    /// How long a tick is: where nothing happens by the clock, longer than any run.
    fn tick(&self) -> Duration {
        if matches!(self, World::Clocked { .. }) { SHORT_TICK } else { TICK }
    }

    fn setting(&self) -> Setting {
        let setting = match self {
            World::Arms { .. } => Setting::k_armed(2, 2),
            World::Linear { .. } | World::Clocked { .. } => {
                Setting::linear(2, 2, 1).with_hosts([NodeId(0), NodeId(1)])
            }
        };
        // Releases by the clock come after the observations.
        let horizon = if matches!(self, World::Clocked { .. }) { 100 } else { self.observations() };
        setting.with_horizon(horizon)
    }
}

const ZERO_OR_ONE: [[f64; 2]; 2] = [[0.0, 0.0], [1.0, 0.0]];

pub(super) static SUBJECTS: [LiveSubject; 4] = [
    LiveSubject {
        name: "cdp-mab",
        about: "a first reward of 0 or 1: the means of the first round, and when they come",
        stated: Stated { epsilon: 1.0, delta: 0.0, gaussian: false },
        control: false,
        times_only: false,
        algorithm: "cdp-mab",
        params: "dp_epsilon = 1.0\nprivacy = \"local\"\nrounds = 2\ngap = 0.9",
        world: World::Arms { observations: 400, first: [0.0, 1.0] },
    },
    LiveSubject {
        name: "cdp-fclub-dc",
        about: "a first context of 0 or e1: uploads, and after which observation they come",
        stated: Stated { epsilon: 1.0, delta: 1e-5, gaussian: true },
        control: false,
        times_only: false,
        algorithm: "cdp-fclub-dc",
        params: "dp_epsilon = 1.0\ndp_delta = 1e-5",
        world: World::Linear { observations: 60, first: ZERO_OR_ONE },
    },
    LiveSubject {
        name: "private-linucb",
        about: "a first context of 0 or e1: two releases by the clock, their counts, and what is in them",
        stated: Stated { epsilon: 1.0, delta: 1e-5, gaussian: true },
        control: false,
        times_only: false,
        algorithm: "private-linucb",
        params: "dp_epsilon = 1.0\ndp_delta = 1e-5\nfirst_release = 30\nreleases = 2",
        world: World::Clocked { observations: 8, first: ZERO_OR_ONE, messages: 2 },
    },
    LiveSubject {
        name: "trigger-broken",
        about: "the same for fclub-dc, which uploads when its exact determinant has grown twentyfold; times alone",
        stated: Stated { epsilon: 1.0, delta: 1e-5, gaussian: true },
        control: true,
        times_only: true,
        algorithm: "fclub-dc",
        params: "upload_ratio = 20.0\ndownload_ratio = 20.0",
        world: World::Linear { observations: 60, first: ZERO_OR_ONE },
    },
];

impl LiveSubject {
    /// For the help.
    pub(super) fn line(&self) -> String {
        format!("  {:24} {}", self.name, self.about)
    }

    /// `alike`: times and structure were the same in every run.
    fn words(&self, verdict: Verdict, alike: bool) -> &'static str {
        match (self.control, verdict) {
            (false, Verdict::Agrees) => "agrees with the statement",
            (false, Verdict::SaysNothing) if alike => {
                "says nothing about the noise; times and structure were the same in every run"
            }
            (false, Verdict::SaysNothing) => "says nothing",
            (false, Verdict::Contradicts) => "CONTRADICTS the statement",
            (true, Verdict::Contradicts) => "broken on purpose, and caught",
            (true, _) => "broken on purpose, and NOT caught",
        }
    }
}

/// Audits what is named, or all of it.
pub(super) fn run(name: &str, trials: Option<u64>, as_json: bool) -> Result<(), LabError> {
    let trials = trials.unwrap_or(TRIALS);
    let chosen: Vec<&LiveSubject> =
        SUBJECTS.iter().filter(|subject| name == "all" || subject.name == name).collect();
    if chosen.is_empty() {
        let known: Vec<&str> = SUBJECTS.iter().map(|subject| subject.name).collect();
        let problem = format!("there is no live audit of {name}; there are: all, {}", known.join(", "));
        return Err(LabError::Input(problem));
    }
    let known = Known::default()
        .algorithm::<Watched<CdpMab>>()
        .algorithm::<Watched<CdpFclubDc>>()
        .algorithm::<Watched<PrivateLinucb>>()
        .algorithm::<Watched<FclubDc>>();
    let nodes = Nodes::new(Arc::new(known))?;
    let mut wrong = None;
    for subject in chosen {
        let begun = Instant::now();
        let runs = |second: usize| -> Result<Vec<Transcript>, LabError> {
            let run = |trial: u64| {
                let transcript = nodes.run(subject, second).map_err(failed)?;
                if (trial + 1).is_multiple_of(20) {
                    let done = trial + 1 + second as u64 * trials;
                    say(format_args!("{}: {done} of {} live runs", subject.name, 2 * trials));
                }
                Ok(transcript)
            };
            (0..trials).map(run).collect()
        };
        let (first, second) = (runs(0)?, runs(1)?);
        if first.iter().chain(&second).any(|run| run.structure.is_empty()) {
            let problem = "nothing was sent in some run, so there is nothing to audit";
            return Err(LabError::Failed(format!("{}: {problem}", subject.name)));
        }
        let alike = first.iter().chain(&second).all(|run| run.structure == first[0].structure);
        let audit = Audit::of(subject.stated, &first, &second);
        let (verdict, seconds) = (audit.verdict(), begun.elapsed().as_secs_f64());
        let words = subject.words(verdict, alike);
        if (verdict == Verdict::Contradicts) != subject.control && wrong.is_none() {
            wrong = Some(format!("{}: {words}", subject.name));
        }
        if as_json {
            let finding = json!({ "mechanism": subject.name, "live": true, "control": subject.control,
                "verdict": verdict, "alike": alike, "seconds": seconds, "audit": audit });
            print::out(&format!("{finding}\n"))?;
        } else {
            print::out(&format!(
                "{}: stated ({}, {}), measured at least {:.3} in 2 x {trials} live runs, {seconds:.1} s: {words}\n  {}\n",
                subject.name, audit.epsilon, audit.delta, audit.measured, subject.about
            ))?;
        }
    }
    wrong.map_or(Ok(()), |problem| Err(LabError::Failed(problem)))
}

/// What live runs share.
struct Nodes {
    known: Arc<Known>,
    runtime: Runtime,
}

impl Nodes {
    fn new(known: Arc<Known>) -> Result<Nodes, LabError> {
        let runtime =
            Runtime::new().map_err(|e| LabError::Failed(format!("no runtime for live nodes: {e}")))?;
        Ok(Nodes { known, runtime })
    }

    /// One federation, from its first message to its last; a fresh store, and so a fresh key, each time.
    fn run(&self, subject: &LiveSubject, second: usize) -> Result<Transcript, NodeError> {
        let broken = |e: std::io::Error| NodeError::Stopped(format!("no place for a live run: {e}"));
        let folder = tempfile::tempdir().map_err(broken)?;
        let params = subject.params.parse::<toml::Table>().map_err(|e| NodeError::Config(e.to_string()))?;
        let terms = Terms::new(&self.known, subject.algorithm, &params, subject.world.setting(), 0)?;
        watched::take();
        let coordinator = self.coordinator(folder.path(), terms, subject.world.tick())?;
        let listener = self.runtime.block_on(TcpListener::bind("127.0.0.1:0")).map_err(broken)?;
        let url = format!("http://{}", listener.local_addr().map_err(broken)?);
        let served = coordinator.clone();
        let serving = self.runtime.spawn(async move { drop(served.serve(listener).await) });
        let client = Client::builder(self.known.clone(), FEDERATION, 0)
            .coordinator(url)
            .store(folder.path().join("client"))
            .sync(Sync::Memory)
            .tick(subject.world.tick())
            .expiry(TICK)
            .open()?;
        let observed = self.observe(subject, second, &client);
        client.stop();
        serving.abort();
        let _ = self.runtime.block_on(serving);
        if let Ok(coordinator) = Arc::try_unwrap(coordinator) {
            coordinator.stop()?;
        }
        observed
    }

    fn coordinator(
        &self,
        folder: &Path,
        terms: Terms,
        tick: Duration,
    ) -> Result<Arc<Coordinator>, NodeError> {
        let config = CoordinatorConfig {
            warm_start: None,
            plan: None,
            known: self.known.clone(),
            federation: FEDERATION.into(),
            store: folder.join("coordinator"),
            sync: Sync::Memory,
            terms,
            tick,
            snapshot_every: 1000,
            limits: ServeLimits::default(),
            security: Default::default(),
        };
        Ok(Arc::new(Coordinator::start(config)?))
    }

    /// Everything that has come to the coordinator after each observation, and after which.
    fn observe(
        &self,
        subject: &LiveSubject,
        second: usize,
        client: &Client,
    ) -> Result<Transcript, NodeError> {
        until(|| client.status().connected)?;
        let mut observer = Observer::default();
        for observation in 1..=subject.world.observations() {
            match &subject.world {
                World::Linear { first, .. } | World::Clocked { first, .. } => {
                    let context = if observation == 1 { first[second] } else { [1.0, 0.0] };
                    let decision = client.decide(Some(0), Arms::Features(&[context.to_vec()]))?;
                    client.reward(decision.id, 0.5)?;
                }
                World::Arms { first, .. } => {
                    let decision = client.decide(None, Arms::Plain(2))?;
                    let reward = if observation == 1 { first[second] } else { 0.5 };
                    client.reward(decision.id, reward)?;
                }
            }
            until(|| client.status().unconfirmed == 0)?;
            for (from, show) in watched::take() {
                if from == NodeId(0) {
                    show(&mut observer, observation);
                }
            }
        }
        if let World::Clocked { observations, messages, .. } = subject.world {
            let mut came = Vec::new();
            until(|| {
                came.extend(watched::take().into_iter().filter(|(from, _)| *from == NodeId(0)));
                came.len() >= messages
            })?;
            (1..).zip(came).for_each(|(number, (_, show))| show(&mut observer, observations + number));
        }
        let transcript = observer.transcript();
        let numbers = if subject.times_only { Vec::new() } else { transcript.numbers };
        Ok(Transcript { numbers, ..transcript })
    }
}

/// Waits until something holds.
fn until(mut holds: impl FnMut() -> bool) -> Result<(), NodeError> {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        if Instant::now() > deadline {
            return Err(NodeError::Stopped("a live run has come to a halt".into()));
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two real federations that differ in their first context alone, watched by their coordinators.
    #[test]
    fn times_that_follow_from_exact_data_are_seen_live() {
        let nodes = Nodes::new(Arc::new(Known::default().algorithm::<Watched<FclubDc>>())).unwrap();
        let broken = SUBJECTS.iter().find(|subject| subject.name == "trigger-broken").unwrap();
        let runs = |second| (0..20).map(|_| nodes.run(broken, second).unwrap()).collect::<Vec<_>>();
        let (zero, one) = (runs(0), runs(1));
        let first_upload = |run: &Transcript| run.structure.first().copied();
        assert!(first_upload(&one[0]).is_some());
        assert_eq!(first_upload(&zero[0]), first_upload(&one[0]).map(|observation| observation + 1));
        let audit = Audit::of(broken.stated, &zero, &one);
        assert_eq!(audit.verdict(), Verdict::Contradicts, "{audit:?}");
    }
}
