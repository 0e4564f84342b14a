//! A small K-armed federation that uses what the linear ones do not: planned
//! pulls, a wake, abandoned pulls. Explore every arm a fixed number of times,
//! send the sums, play what the server says is best.

use cahoots_core::plan::Schedule;
use cahoots_core::policy::Distribution;
use cahoots_core::{
    Algorithm, ArmIndex, ArmSet, ArmStats, Arrived, Choice, Cx, Fact, Gather, Kind, Learner, Machine,
    Membership, Message, Misbehaviour, NodeId, ParamError, Picked, Private, Seat, Setting, Stream,
    Unprotected, UserId, wire,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Explore, then commit.
pub struct ExploreThenCommit;

/// What a user writes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Pulls of each arm.
    pub pulls: u64,
}

/// Checked parameters.
#[derive(Clone, Debug)]
pub struct Valid {
    pulls: u64,
    arms: u32,
    clients: u32,
}

/// Sums up, the winner down.
#[derive(Clone, Debug)]
pub enum Msg {
    /// Means of a client's exploration.
    Means(Private<Vec<f64>>),
    /// The arm to play from now on.
    Winner(ArmIndex),
}

impl Message for Msg {
    fn kind(&self) -> Kind {
        match self {
            Msg::Means(_) => Kind::Upload,
            Msg::Winner(_) => Kind::Download,
        }
    }

    fn scalars(&self) -> u64 {
        match self {
            Msg::Means(means) => means.get().len() as u64,
            Msg::Winner(_) => 1,
        }
    }

    fn to_wire(&self) -> wire::Payload {
        use wire::payload::Shape;
        let shape = match self {
            Msg::Means(means) => {
                Shape::ArmValues(wire::ArmValues { values: means.get().clone(), ..Default::default() })
            }
            Msg::Winner(arm) => {
                Shape::ActiveArms(wire::ActiveArms { arms: vec![arm.0], ..Default::default() })
            }
        };
        wire::Payload { shape: Some(shape) }
    }

    fn from_wire(payload: wire::Payload, came: Arrived) -> Result<Self, Misbehaviour> {
        use wire::payload::Shape;
        match payload.shape {
            Some(Shape::ArmValues(means)) => Ok(Msg::Means(Private::received(means.values, came))),
            Some(Shape::ActiveArms(active)) if active.arms.len() == 1 => {
                Ok(Msg::Winner(ArmIndex(active.arms[0])))
            }
            _ => Err(Misbehaviour::Unreadable("neither means nor a winner".into())),
        }
    }

    fn wire_len(&self) -> usize {
        match self {
            Msg::Means(means) => wire::message_field(wire::packed_field(means.get().len(), 8)),
            Msg::Winner(arm) => wire::message_field(wire::packed_varints(std::iter::once(u64::from(arm.0)))),
        }
    }
}

/// Explores, reports, obeys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Client {
    stats: ArmStats,
    schedule: Schedule,
    outstanding: u64,
    reported: bool,
    server: NodeId,
}

impl Client {
    fn report_if_done(&mut self, cx: &mut Cx<'_, Msg>) {
        if self.schedule.is_empty() && self.outstanding == 0 && !self.reported {
            self.reported = true;
            let arms = 0..self.stats.arms() as u32;
            let means = arms.map(|arm| self.stats.mean(ArmIndex(arm)).unwrap_or(0.0)).collect();
            let means = cx.release(&mut Unprotected, means);
            cx.send(self.server, Msg::Means(means));
        }
    }
}

impl Machine for Client {
    type Msg = Msg;

    fn on_message(&mut self, _from: NodeId, message: Msg, _cx: &mut Cx<'_, Msg>) -> Result<(), Misbehaviour> {
        match message {
            Msg::Winner(arm) if arm.index() < self.stats.arms() => {
                self.schedule = Schedule::new([(arm, u64::MAX)]);
                Ok(())
            }
            _ => Err(Misbehaviour::Unexpected("not a winner among the arms".into())),
        }
    }
}

impl Learner for Client {
    /// The arm, and whether it was part of the exploration.
    type Pending = (ArmIndex, bool);

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Self::Pending> {
        match self.schedule.next() {
            Some(arm) => Picked::certain(arm).keeping((arm, true)),
            None => {
                let arm = arms.draw(rng);
                Picked::any(arm, arms.open()).keeping((arm, false))
            }
        }
    }

    fn odds(&mut self, _user: UserId, arms: ArmSet<'_>, _rng: &mut Stream) -> Option<Distribution> {
        Some(match self.schedule.next() {
            Some(arm) => Distribution::certain(arm, arms),
            None => Distribution::uniform(arms),
        })
    }

    fn commit(&mut self, pending: &Self::Pending, _cx: &mut Cx<'_, Msg>) {
        if pending.1 {
            self.schedule.take(1);
            self.outstanding += 1;
        }
    }

    fn observe(&mut self, (arm, planned): Self::Pending, reward: f64, cx: &mut Cx<'_, Msg>) {
        if planned {
            self.outstanding -= 1;
            self.stats.observe(arm, reward);
            self.report_if_done(cx);
        }
    }

    fn abandon(&mut self, (arm, planned): Self::Pending, _cx: &mut Cx<'_, Msg>) {
        if planned {
            self.outstanding -= 1;
            if !self.reported {
                self.schedule.give_back(arm);
            }
        }
    }

    fn plan(&self) -> Option<&[(ArmIndex, u64)]> {
        (!self.schedule.is_empty()).then(|| self.schedule.plan())
    }

    fn observe_block(&mut self, sums: &[(ArmIndex, u64, f64)], _cx: &mut Cx<'_, Msg>) {
        self.schedule.take(sums.iter().map(|(_, n, _)| n).sum());
        for &(arm, n, sum) in sums {
            self.stats.observe_block(arm, n, sum);
        }
    }
}

/// Waits for all, thinks for two ticks, then names the winner.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Server {
    gather: Gather<Vec<f64>>,
    arms: u32,
    clients: u32,
    answer: Option<ArmIndex>,
}

impl Machine for Server {
    type Msg = Msg;

    fn on_message(&mut self, from: NodeId, message: Msg, cx: &mut Cx<'_, Msg>) -> Result<(), Misbehaviour> {
        let Msg::Means(means) = message else { return Err(Misbehaviour::Unexpected("a winner".into())) };
        if means.get().len() != self.arms as usize || !means.get().iter().all(|mean| mean.is_finite()) {
            return Err(Misbehaviour::NotFinite("means".into()));
        }
        if !self.gather.expects(from) {
            return Err(Misbehaviour::Unexpected(format!("{from} has reported before")));
        }
        let _ = self.gather.offer(from, means.into_inner());
        if self.gather.is_complete(cx.now()) {
            let gather = std::mem::replace(&mut self.gather, Gather::open([], None));
            let mut sums = vec![0.0; self.arms as usize];
            for means in gather.into_parts().into_values() {
                sums.iter_mut().zip(means).for_each(|(sum, mean)| *sum += mean);
            }
            self.answer = Some(cahoots_core::policy::pick(sums));
            cx.wake_at(cx.now() + 2);
        }
        Ok(())
    }

    fn on_wake(&mut self, cx: &mut Cx<'_, Msg>) {
        if let Some(winner) = self.answer {
            cx.report(Fact::Rounds(1));
            for client in 0..self.clients {
                cx.send(NodeId(client), Msg::Winner(winner));
            }
        }
    }

    fn on_membership(&mut self, _change: Membership, _cx: &mut Cx<'_, Msg>) {}
}

impl Algorithm for ExploreThenCommit {
    const NAME: &'static str = "explore-then-commit";
    const SUMMARY: &'static str = "a probe of the contract";
    type Params = Params;
    type Valid = Valid;
    type Msg = Msg;
    type Client = Client;
    type Server = Server;

    fn check(params: Params, setting: &Setting) -> Result<Valid, ParamError> {
        Ok(Valid { pulls: params.pulls, arms: setting.arms as u32, clients: setting.users as u32 })
    }

    fn client(valid: &Valid, seat: &Seat) -> Client {
        Client {
            stats: ArmStats::empty(valid.arms as usize),
            schedule: Schedule::new((0..valid.arms).map(|arm| (ArmIndex(arm), valid.pulls))),
            outstanding: 0,
            reported: false,
            server: seat.server,
        }
    }

    fn server(valid: &Valid, _seat: &Seat) -> Server {
        Server {
            gather: Gather::open((0..valid.clients).map(NodeId), None),
            arms: valid.arms,
            clients: valid.clients,
            answer: None,
        }
    }
}
