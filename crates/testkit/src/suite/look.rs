//! What would be decided now: the same that is, with the odds that it is drawn with; and having looked is as if one had not.

use cahoots_core::drive::{ClientNode, Decided, Looked};
use cahoots_core::{Algorithm, ArmBuffer, Keys, UserId};
use cahoots_sim::driver::Options;
use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use serde_json::Value;

use super::{SEED, finished};
use crate::crash::Crashing;

/// What was seen of the decisions of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Looks {
    /// How many were looked at.
    pub decisions: u64,
    /// Those whose arm had a probability that was stated.
    pub stated: u64,
    /// Those of which the odds of all arms were.
    pub odds: u64,
    /// Times that arms were masked to ask again.
    pub masked: u64,
}

impl Looks {
    /// Looks at the decision that comes next, a few times and under masks.
    pub fn before(
        &mut self,
        client: &mut dyn ClientNode,
        user: UserId,
        arms: &ArmBuffer,
        keys: &Keys,
    ) -> Looked {
        let looked = look(client, user, arms, keys);
        let state = client.state();
        let mut others = arms.clone();
        others.mask_all_but(looked.picked.arm);
        others.masked.iter_mut().zip(0..).for_each(|(masked, arm)| {
            *masked = !*masked || arms.masked.get(arm).copied().unwrap_or(false);
        });
        if client.seat().masks && others.masked.contains(&false) {
            self.masked += 1;
            let other = look(client, user, &others, keys);
            assert!(!others.masked[other.picked.arm.index()], "a masked arm would be taken");
        }
        assert_eq!(look(client, user, arms, keys), looked, "another look sees another thing");
        assert!(client.state() == state, "to look again changes the state");
        looked
    }

    /// The decision was taken.
    pub fn after(&mut self, looked: &Looked, decided: &Decided) {
        assert_eq!(decided.picked, looked.picked, "another arm was taken than was to be");
        self.decisions += 1;
        self.stated += u64::from(decided.picked.probability.is_some());
        self.odds += u64::from(looked.odds.is_some());
    }
}

fn look(client: &mut dyn ClientNode, user: UserId, arms: &ArmBuffer, keys: &Keys) -> Looked {
    let looked = client.look(user, arms, keys).expect("worlds offer arms that fit");
    let len = arms.features.len().max(arms.plain);
    if let Some(odds) = &looked.odds {
        assert_eq!(odds.probabilities().len(), len, "odds of other arms than those that were offered");
        let stated = looked.picked.probability;
        assert_eq!(
            Some(odds.of(looked.picked.arm)),
            stated,
            "the odds and the pick state different probabilities"
        );
        let sum: f64 = odds.probabilities().iter().sum();
        assert!((sum - 1.0).abs() < 1e-14 * len as f64, "odds add up to {sum}");
        for (arm, &p) in odds.probabilities().iter().enumerate() {
            let masked = arms.masked.get(arm).copied().unwrap_or(false);
            assert!((0.0..=1.0 + 1e-15).contains(&p) && !(masked && p > 0.0), "arm {arm} has {p}");
        }
    }
    looked
}

/// A run in which every decision is looked at before it is taken, killed at every third input or never, ends in the bytes of
/// one without; and what was seen is what was decided.
pub fn to_look_is_to_decide_and_changes_nothing<A: Algorithm>(
    worlds: &Worlds,
    params: &Value,
    scenario: &Scenario,
) -> Looks {
    let simulated =
        finished::<A>(worlds, params, scenario, Options { single_steps: true, ..Options::default() });
    let mut seen = Looks::default();
    for killed in [false, true] {
        let (mut world, mut arrivals) = scenario.build(worlds, SEED).expect("checked");
        let valid = A::check(serde_json::from_value(params.clone()).expect("checked"), world.setting());
        let kill = Box::new(move |_, input| killed && input % 3 == 0);
        let mut crashing = Crashing::<A>::new(&valid.expect("checked"), &*world, SEED, 16, kill);
        crashing.looks = Some(Looks::default());
        crashing.run(&mut *world, &mut arrivals);
        assert!(crashing.states() == simulated.states(), "{}: looked at, it ends in other bytes", A::NAME);
        seen = crashing.looks.expect("it looked");
        assert!(seen.decisions > 0 && seen.odds <= seen.stated, "{}: {seen:?}", A::NAME);
    }
    seen
}
