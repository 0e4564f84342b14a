//! An algorithm whose server can ask for the sum of all rewards as often as it likes, with noise each time.

use std::sync::Arc;

use cahoots_algorithms::dp_mab::{CdpMab, DdpMab};
use cahoots_core::{
    Algorithm, ArmSet, Choice, Claim, Composition, Custom, Cx, Kind, Learner, Machine, Misbehaviour, NodeId,
    ParamError, Picked, Private, Seat, Setting, Stream, UserId, custom, message,
};
use cahoots_node::{Known, Terms};
use cahoots_privacy::{Laplace, LaplaceRelease};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::common::terms;

pub(super) struct Polling;

/// What it takes.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
pub(super) struct Params {
    /// The epsilon of one release.
    each: f64,
    /// The epsilon that is claimed of all of them; none where it claims nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claimed: Option<f64>,
    /// The delta of that claim.
    #[serde(default)]
    delta: f64,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum Note {
    /// The sum of all rewards.
    Sum(Private<f64>),
    /// "And again?"
    Again,
}

impl custom::Body for Note {
    const NAME: &'static str = "polling";
    fn kind(&self) -> Kind {
        if matches!(self, Note::Sum(_)) { Kind::Upload } else { Kind::Control }
    }
    fn scalars(&self) -> u64 {
        1
    }
}

impl Algorithm for Polling {
    const NAME: &'static str = "polling";
    const SUMMARY: &'static str = "For this test.";
    const CHANGEABLE: &'static [&'static str] = &["claimed"];
    type Params = Params;
    type Valid = Params;
    type Msg = Custom<Note>;
    type Client = Client;
    type Server = Server;

    fn check(params: Params, _setting: &Setting) -> Result<Params, ParamError> {
        Laplace::calibrated("each", params.each, 1.0, 1)?;
        Ok(params)
    }

    fn privacy(valid: &Params) -> Option<Claim> {
        let claim = |epsilon| Claim {
            epsilon,
            delta: valid.delta,
            calibration: "per release".into(),
            not_protected: Vec::new(),
        };
        valid.claimed.map(claim)
    }

    fn client(valid: &Params, _seat: &Seat) -> Client {
        Client { each: valid.each, sum: 0.0 }
    }

    fn server(_valid: &Params, _seat: &Seat) -> Server {
        Server
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Client {
    each: f64,
    sum: f64,
}

impl Client {
    fn release(&self, cx: &mut Cx<'_, Custom<Note>>) {
        let mut mechanism = LaplaceRelease {
            noise: Laplace::calibrated("each", self.each, 1.0, 1).expect("checked"),
            sensitivity: 1.0,
            values: 1,
            unit: "one reward".into(),
            observer: "the server".into(),
            composition: Composition::Adds,
        };
        let sum = cx.release(&mut mechanism, self.sum);
        cx.send(NodeId::SERVER, Custom(Note::Sum(sum)));
    }
}

impl Machine for Client {
    type Msg = Custom<Note>;

    fn on_message(
        &mut self,
        _: NodeId,
        message: Custom<Note>,
        cx: &mut Cx<'_, Custom<Note>>,
    ) -> Result<(), Misbehaviour> {
        match message.0 {
            Note::Again => self.release(cx),
            Note::Sum(_) => return Err(Misbehaviour::Unexpected("a sum".into())),
        }
        Ok(())
    }
}

impl Learner for Client {
    type Pending = ();

    fn choose(&mut self, _: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<()> {
        Picked::arm(arms.draw(rng)).keeping(())
    }

    fn observe(&mut self, (): (), reward: f64, cx: &mut Cx<'_, Custom<Note>>) {
        self.sum += reward;
        self.release(cx);
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Server;

impl Machine for Server {
    type Msg = Custom<Note>;

    fn on_message(
        &mut self,
        _: NodeId,
        _: Custom<Note>,
        _: &mut Cx<'_, Custom<Note>>,
    ) -> Result<(), Misbehaviour> {
        Ok(())
    }
}

/// What this test's programs can run.
pub(super) fn known() -> Arc<Known> {
    Arc::new(Known::default().algorithm::<Polling>().algorithm::<CdpMab>().algorithm::<DdpMab>())
}

/// Terms with these parameters.
pub(super) fn polling(params: &str) -> Terms {
    terms(&known(), "polling", params, Setting::k_armed(2, 2))
}

/// "And again?", as bytes.
pub(super) fn again() -> Vec<u8> {
    message::encode(&Custom(Note::Again))
}

/// The sum in an upload.
pub(super) fn sum(payload: &[u8]) -> f64 {
    match message::decode::<Custom<Note>>(payload).unwrap().0 {
        Note::Sum(sum) => *sum.get(),
        Note::Again => panic!("no upload"),
    }
}
