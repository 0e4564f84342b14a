//! What one federation hands on to the next.

use cahoots_core::drive::{Event, Host, Outcome, Typed};
use cahoots_core::{Algorithm, Effects, Keys, LinearStats, Machine, NodeId, Prior, Seats};
use cahoots_sim::driver::Options;
use cahoots_sim::run::Scenario;
use cahoots_sim::worlds::Worlds;
use serde_json::Value;

use super::{SEED, finished};

/// Who hands something on begins from it, and then hands on the same; what no federation can have handed on is refused,
/// and so is a second beginning. Who hands nothing on begins from nothing else.
pub fn what_is_handed_on_is_begun_from<A: Algorithm>(worlds: &Worlds, params: &Value, scenario: &Scenario) {
    let old = finished::<A>(worlds, params, scenario, Options::default());
    let (world, _) = scenario.build(worlds, SEED).expect("checked");
    let valid = A::check(serde_json::from_value(params.clone()).expect("checked"), world.setting());
    let valid = valid.expect("checked");
    let seat = Seats::of::<A>(&valid, world.setting()).seat(NodeId::SERVER);
    let mut new = Host::new(seat.clone(), A::server(&valid, &seat));
    step(&mut new, Event::Start).expect("every machine starts");
    let handed_on = old.server().prior();
    assert_eq!(handed_on.is_ok(), A::prior_kind(&valid).is_ok(), "{}: it says both", A::NAME);
    let Ok(prior) = handed_on else {
        let before = new.save();
        let any = Prior::Linear(LinearStats::empty(world.setting().dim.max(1)));
        assert!(step(&mut new, Event::Prior(any.into())).is_err(), "{}: begins from anything", A::NAME);
        assert!(new.save() == before, "{}: what it does not take has changed it", A::NAME);
        return;
    };
    if prior.observations() == 0 {
        return;
    }
    let before = new.save();
    for (what, hostile) in hostile(&prior) {
        assert!(new.machine().takes_prior(&hostile).is_err(), "{}: begins from {what}", A::NAME);
        assert!(step(&mut new, Event::Prior(hostile.into())).is_err(), "{}: {what}", A::NAME);
        assert!(new.save() == before, "{}: {what} has changed it", A::NAME);
    }
    step(&mut new, Event::Prior(prior.clone().into())).expect("it takes what it hands on");
    assert_eq!(new.machine().prior().as_ref(), Ok(&prior), "{}: hands on what it began from", A::NAME);
    let restored = Host::<A::Server>::restore(seat, &new.save()).expect("its own snapshot");
    assert_eq!(restored.machine().prior().as_ref(), Ok(&prior), "{}: and after a restart", A::NAME);
    assert!(new.machine().takes_prior(&prior).is_err(), "{}: begins twice", A::NAME);
    assert!(old.server().takes_prior(&prior).is_err(), "{}: begins in the middle", A::NAME);
}

fn step<M: Machine>(host: &mut Host<M>, event: Event<Typed<M::Msg>>) -> Result<(), String> {
    let (mut effects, mut out) = (Effects::default(), Vec::new());
    match host.apply(0, event, &Keys::from_seed(SEED), &mut effects, &mut out) {
        Ok(Outcome::Done) => Ok(()),
        Ok(other) => Err(format!("{other:?}")),
        Err(error) => Err(error.to_string()),
    }
}

/// What no data of this federation's can have led to.
fn hostile(prior: &Prior) -> Vec<(&'static str, Prior)> {
    let Prior::Linear(good) = prior;
    let changed = |change: fn(&mut LinearStats)| {
        let mut stats = good.clone();
        change(&mut stats);
        Prior::Linear(stats)
    };
    vec![
        ("another dimension", Prior::Linear(LinearStats::empty(good.dim() + 1))),
        ("nothing", Prior::Linear(good.emptied())),
        ("what is no number", changed(|stats| stats.moment[0] = f64::NAN)),
        ("an infinite sum", changed(|stats| stats.gram.packed_mut()[0] = f64::INFINITY)),
        ("an indefinite matrix", changed(|stats| stats.gram.packed_mut()[0] = -1e9)),
        ("rewards that nobody had", changed(|stats| stats.moment[0] = 1e200)),
        ("more observations than there can be", changed(|stats| stats.count = u64::MAX)),
        ("sums of no observations", changed(|stats| stats.count = 0)),
    ]
}
