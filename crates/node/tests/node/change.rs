//! Parameters that may change while a federation runs: here they do, whoever is connected and whoever is away,
//! and stay so when everyone has been restarted. The others cannot.

use std::sync::Arc;

use cahoots_algorithms::kit::linear::{LinearMsg, Signal};
use cahoots_core::{
    Algorithm, ArmSet, Choice, Cx, Learner, Machine, Misbehaviour, NodeId, ParamError, Picked, Seat, Setting,
    Stream, UserId,
};
use cahoots_node::Known;
use cahoots_node::client::{Arms, Client};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::common;
use crate::common::{Federation, terms, until};

/// Tells its server of every reward that is large enough.
struct Telling;

#[derive(Clone, Serialize, Deserialize, JsonSchema)]
struct Params {
    /// From which reward on: may change.
    threshold: f64,
    /// What it says: may not.
    word: u32,
}

impl Algorithm for Telling {
    const NAME: &'static str = "telling";
    const SUMMARY: &'static str = "For this test.";
    const CHANGEABLE: &'static [&'static str] = &["threshold"];
    type Params = Params;
    type Valid = Params;
    type Msg = LinearMsg;
    type Client = Teller;
    type Server = Listener;

    fn check(params: Params, _setting: &Setting) -> Result<Params, ParamError> {
        ParamError::positive("threshold", params.threshold)?;
        Ok(params)
    }

    fn change_client(valid: &Params, client: &mut Teller) {
        client.threshold = valid.threshold;
    }

    fn client(valid: &Params, _seat: &Seat) -> Teller {
        Teller { threshold: valid.threshold, word: valid.word }
    }

    fn server(_valid: &Params, _seat: &Seat) -> Listener {
        Listener
    }
}

#[derive(Serialize, Deserialize)]
struct Teller {
    threshold: f64,
    word: u32,
}

impl Machine for Teller {
    type Msg = LinearMsg;

    fn on_message(
        &mut self,
        _: NodeId,
        message: LinearMsg,
        _: &mut Cx<'_, LinearMsg>,
    ) -> Result<(), Misbehaviour> {
        Err(message.unexpected())
    }
}

impl Learner for Teller {
    type Pending = ();

    fn choose(&mut self, _: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<()> {
        Picked::arm(arms.draw(rng)).keeping(())
    }

    fn observe(&mut self, (): (), reward: f64, cx: &mut Cx<'_, LinearMsg>) {
        if reward >= self.threshold {
            cx.send(NodeId::SERVER, LinearMsg::signal(Signal::Request, u64::from(self.word)));
        }
    }
}

#[derive(Serialize, Deserialize)]
struct Listener;

impl Machine for Listener {
    type Msg = LinearMsg;

    fn on_message(&mut self, _: NodeId, _: LinearMsg, _: &mut Cx<'_, LinearMsg>) -> Result<(), Misbehaviour> {
        Ok(())
    }
}

/// What a reward of one half makes a client say.
fn tells(client: &Client) -> bool {
    let before = client.status().uploads;
    let decision = client.decide(None, Arms::Plain(2)).unwrap();
    client.reward(decision.id, 0.5).unwrap();
    client.status().uploads > before
}

#[test]
fn a_change_reaches_who_is_here_and_who_is_away_and_outlives_restarts() {
    let known = Arc::new(Known::default().algorithm::<Telling>());
    let terms = terms(&known, "telling", "threshold = 0.9\nword = 3", Setting::k_armed(2, 2));
    let federation = Federation::start(&known, terms.clone());
    let (here, away) = (federation.client(0), federation.client(1));
    assert!(!tells(&here) && !tells(&away), "a reward below the threshold");
    away.stop();

    assert_eq!(federation.change("threshold = 0.1\nword = 3"), Ok(1));
    until("the one who is here has heard of it", || here.status().params_version == 1);
    assert!(tells(&here), "what it is told is what it does");
    let away = federation.client(1);
    until("the one who was away has heard of it", || away.status().params_version == 1);
    assert!(tells(&away));
    assert_eq!(federation.status().params_version, 1);
    assert!(here.status().attempts == 1, "a change costs nobody its connection");

    // Everyone is stopped and comes back, a client before its coordinator.
    away.stop();
    here.stop();
    let address = federation.address();
    let folder = federation.stop();
    let here = common::open(&known, folder.path(), &format!("http://{address}"), 0);
    assert_eq!(here.status().params_version, 1, "it knows without being told again");
    assert!(tells(&here), "offline too");
    let federation = Federation::resume(&known, terms, folder, &address);
    assert_eq!(federation.status().params_version, 1);
    let away = federation.client(1);
    assert_eq!(away.status().params_version, 1);
    assert!(tells(&away));
    until("the first one is back", || here.status().connected);

    // And it can change back.
    assert_eq!(federation.change("threshold = 0.9\nword = 3"), Ok(2));
    until("both have heard", || [&here, &away].iter().all(|client| client.status().params_version == 2));
    assert!(!tells(&here) && !tells(&away));
}

#[test]
fn what_may_not_change_is_refused_with_what_may() {
    let known = Arc::new(Known::default().algorithm::<Telling>());
    let terms = terms(&known, "telling", "threshold = 0.9\nword = 3", Setting::k_armed(1, 2));
    let federation = Federation::start(&known, terms);
    let client = federation.client(0);
    let refused = federation.change("threshold = 0.1\nword = 4").unwrap_err();
    assert!(refused.contains("word") && refused.contains("these can: threshold"), "{refused}");
    let refused = federation.change("threshold = -1.0\nword = 3").unwrap_err();
    assert!(refused.contains("threshold") && refused.contains("above 0"), "{refused}");
    let refused = federation.change("threshold = ").unwrap_err();
    assert!(refused.contains("telling"), "{refused}");
    assert_eq!(federation.status().params_version, 0);
    assert!(!tells(&client) && client.status().params_version == 0, "nothing has changed");
    // What is taken afterwards is the first change.
    assert_eq!(federation.change("threshold = 0.1\nword = 3"), Ok(1));
}
