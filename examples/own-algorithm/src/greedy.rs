//! An algorithm of one's own: the arm that is best by what all have seen and, now and then, any. Every so many
//! rewards a client sends what is new, and is told what all have sent.

use cahoots::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub struct FederatedGreedy;

/// What `[[algorithm]]` says.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Params {
    /// Chance of any arm.
    #[schemars(range(min = 0.0, max = 1.0))]
    epsilon: f64,
    /// Rewards between two uploads.
    #[schemars(range(min = 1))]
    every: u64,
}

impl Default for Params {
    fn default() -> Self {
        Params { epsilon: 0.1, every: 10 }
    }
}

/// The messages. What comes from data is `Private`, which only `cx.release` can make.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Note {
    New(Private<ArmStats>),
    All(ArmStats),
}

impl custom::Body for Note {
    const NAME: &'static str = "federated-greedy";

    fn kind(&self) -> Kind {
        if let Note::New(_) = self { Kind::Upload } else { Kind::Download }
    }

    fn scalars(&self) -> u64 {
        2 * match self {
            Note::New(new) => new.get().arms() as u64,
            Note::All(all) => all.arms() as u64,
        }
    }
}

#[derive(Serialize, Deserialize)]
pub struct Client {
    params: Params,
    server: NodeId,
    /// What all have seen, as far as known here.
    all: ArmStats,
    /// The part of it that nobody else knows yet.
    new: ArmStats,
}

impl Machine for Client {
    type Msg = Custom<Note>;

    fn on_message(
        &mut self,
        _: NodeId,
        note: Self::Msg,
        _: &mut Cx<'_, Self::Msg>,
    ) -> Result<(), Misbehaviour> {
        let Custom(Note::All(told)) = note else { return Err(Misbehaviour::Unexpected("an upload".into())) };
        let mut all = self.new.clone();
        all.merge_received(&told)?;
        self.all = all;
        Ok(())
    }
}

impl Learner for Client {
    type Pending = ArmIndex;

    fn choose(&mut self, _user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<ArmIndex> {
        let mean = |arm| self.all.mean(ArmIndex(arm)).unwrap_or(f64::INFINITY);
        let any = rng.uniform() < self.params.epsilon;
        let arm = if any { arms.draw(rng) } else { policy::pick((0..arms.len() as u32).map(mean)) };
        Picked::arm(arm).keeping(arm)
    }

    fn observe(&mut self, arm: ArmIndex, reward: f64, cx: &mut Cx<'_, Self::Msg>) {
        self.all.observe(arm, reward);
        self.new.observe(arm, reward);
        if self.new.pulls() >= self.params.every {
            let nothing = ArmStats::empty(self.new.arms());
            let new = cx.release(&mut Unprotected, std::mem::replace(&mut self.new, nothing));
            cx.send(self.server, Custom(Note::New(new)));
        }
    }
}

#[derive(Serialize, Deserialize)]
pub struct Server {
    all: ArmStats,
}

impl Machine for Server {
    type Msg = Custom<Note>;

    fn on_message(
        &mut self,
        from: NodeId,
        note: Self::Msg,
        cx: &mut Cx<'_, Self::Msg>,
    ) -> Result<(), Misbehaviour> {
        let Custom(Note::New(new)) = note else { return Err(Misbehaviour::Unexpected("a download".into())) };
        self.all.merge_received(new.get())?;
        cx.send(from, Custom(Note::All(self.all.clone())));
        Ok(())
    }
}

impl Algorithm for FederatedGreedy {
    const NAME: &'static str = "federated-greedy";
    const SUMMARY: &'static str = "the best arm by what all have seen, now and then any";
    type Params = Params;
    type Valid = (Params, ArmStats);
    type Msg = Custom<Note>;
    type Client = Client;
    type Server = Server;

    fn check(params: Params, setting: &Setting) -> Result<Self::Valid, ParamError> {
        if setting.dim > 0 {
            return Err(ParamError::new("kind", "needs arms without features, as in `coins` and `arms`"));
        }
        if !(0.0..=1.0).contains(&params.epsilon) {
            return Err(ParamError::new("epsilon", format!("must lie in 0 to 1, not {}", params.epsilon)));
        }
        Ok((params, ArmStats::empty(setting.arms)))
    }

    fn client((params, nothing): &Self::Valid, seat: &Seat) -> Client {
        Client { params: params.clone(), server: seat.server, all: nothing.clone(), new: nothing.clone() }
    }

    fn server((_, nothing): &Self::Valid, _seat: &Seat) -> Server {
        Server { all: nothing.clone() }
    }
}
