//! The contract. A [`Machine`] is deterministic: the same state and the same
//! input give the same state and the same effects. An [`Algorithm`] is one
//! folder and one registry line.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::contract::arms::ArmSet;
use crate::contract::choice::Choice;
use crate::contract::context::Cx;
use crate::contract::learnt::Learnt;
use crate::contract::message::{Kind, Message};
use crate::contract::prior::Prior;
use crate::contract::private::{Claim, Unit};
use crate::contract::setting::{Seat, Seating, Setting};
use crate::error::{Misbehaviour, ParamError};
use crate::gain::Alone;
use crate::ids::{ArmIndex, NodeId, UserId};
use crate::policy::Distribution;
use crate::rng::Stream;
use crate::topology::Topology;

/// Someone came or left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Membership {
    /// A client's first arrival. After [`Membership::Left`] it is a new machine under an old number, whose
    /// uploads are counted from 1 again.
    Joined(NodeId),
    /// A client that is not to be waited for or written to any more.
    Left(NodeId),
}

/// What whoever runs a federation has decided about a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Ruling {
    /// It is not believed: its messages are refused before they come here, nobody waits for it, and it is sent
    /// nothing. It is still there, and keeps its place where it can.
    Quarantined(NodeId),
    /// It is believed again, and goes on where it is ([`Machine::RESUMES`]).
    Restored(NodeId),
    /// What came under its number is taken out again, as far as [`Machine::forgets`] says; it has left before.
    Forgotten(NodeId),
}

/// A coordinator, a global server, a synchroniser; and the half of a learner
/// that talks.
pub trait Machine: Serialize + DeserializeOwned + Send + 'static {
    /// What it sends and takes.
    type Msg: Message;

    /// Called once, before anything else.
    fn on_start(&mut self, _cx: &mut Cx<'_, Self::Msg>) {}

    /// A message came, from someone whom this machine's seat names: drivers refuse all others. `Err` means
    /// that nothing has changed.
    fn on_message(
        &mut self,
        from: NodeId,
        message: Self::Msg,
        cx: &mut Cx<'_, Self::Msg>,
    ) -> Result<(), Misbehaviour>;

    /// The tick asked for with [`Cx::wake_at`] has come.
    fn on_wake(&mut self, _cx: &mut Cx<'_, Self::Msg>) {}

    /// Someone joined or left.
    fn on_membership(&mut self, _change: Membership, _cx: &mut Cx<'_, Self::Msg>) {}

    /// Whether a client that was quarantined can go on with the machine that it has: `false` where the others have
    /// gone on without it in a way that it cannot make up for, so that it has to start anew.
    const RESUMES: bool = false;

    /// Whether what a client contributed can be taken out again; why not, in words.
    fn forgets(&self) -> Result<(), String> {
        Err("this algorithm's server does not keep apart what clients have contributed".into())
    }

    /// It was decided about a client. Unless an algorithm says otherwise, a quarantine is a farewell.
    fn on_ruling(&mut self, ruling: Ruling, cx: &mut Cx<'_, Self::Msg>) {
        if let Ruling::Quarantined(client) = ruling {
            self.on_membership(Membership::Left(client), cx);
        }
    }

    /// A process starts: secrets are drawn from a new key from now on, and this state may be a copy of one that has
    /// gone on elsewhere. Secrets that were drawn and may have been used since must not be used again.
    fn on_new_secrets(&mut self) {}

    /// What it could hand on to a federation that begins; why nothing, in words.
    fn prior(&self) -> Result<Prior, String> {
        Err(NOTHING_IN_COMMON.into())
    }

    /// Whether it could begin from this now; why not, in words.
    fn takes_prior(&self, _prior: &Prior) -> Result<(), String> {
        Err(NOTHING_IN_COMMON.into())
    }

    /// It begins from what others have handed on, which it has said that it takes: once, after [`Self::on_start`] and
    /// before anybody joins.
    fn on_prior(&mut self, _prior: Prior, _cx: &mut Cx<'_, Self::Msg>) {}

    /// Those whose answers it waits for before it can go on, in rising order.
    fn waiting_for(&self) -> Vec<NodeId> {
        Vec::new()
    }

    /// Observations in all that this server has merged, where it knows. Cheap: it is asked every second.
    fn observations(&self) -> Option<u64> {
        None
    }

    /// Clients that learn together, where some do and others do not; they may overlap.
    fn groups(&self) -> Vec<Vec<NodeId>> {
        Vec::new()
    }

    /// What it has learned, at most so many models of it, and how many there are: for whoever watches.
    fn learnt(&self, _most: usize) -> (Vec<Learnt>, usize) {
        (Vec::new(), 0)
    }
}

const NOTHING_IN_COMMON: &str = "its server holds no sums that are everyone's";

/// A client, a peer, a sink, a local server: whoever makes decisions.
pub trait Learner: Machine {
    /// What a decision keeps until its reward comes.
    type Pending: Clone + std::fmt::Debug + Serialize + DeserializeOwned + Send + 'static;

    /// Picks an arm. May refresh caches; must not change anything else.
    fn choose(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<Self::Pending>;

    /// How likely [`Self::choose`] is to take each arm, given the same stream at the same position; `None` where that is
    /// not known. Like it, may refresh caches and nothing else. Whoever draws an arm says more than this does by itself:
    /// what is certain.
    fn odds(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        Distribution::if_certain(self.choose(user, arms, rng).picked, arms)
    }

    /// Sends what has been observed and not sent yet, ahead of its time: this learner may be gone for long.
    /// Where an algorithm's messages mean nothing before their time, it sends nothing.
    fn drain(&mut self, _cx: &mut Cx<'_, Self::Msg>) {}

    /// Observations that have not been sent yet, where they are to be.
    fn unsent(&self) -> u64 {
        0
    }

    /// The decision is taken. Replay calls this without `choose`.
    fn commit(&mut self, _pending: &Self::Pending, _cx: &mut Cx<'_, Self::Msg>) {}

    /// The reward came.
    fn observe(&mut self, pending: Self::Pending, reward: f64, cx: &mut Cx<'_, Self::Msg>);

    /// The reward never came.
    fn abandon(&mut self, _pending: Self::Pending, _cx: &mut Cx<'_, Self::Msg>) {}

    /// The pulls that are already fixed, per arm and taken round-robin unless
    /// stated (`u64::MAX`: until told otherwise). Only K-armed learners have a plan.
    fn plan(&self) -> Option<&[(ArmIndex, u64)]> {
        None
    }

    /// Whether the next pull is made only because others are waited for: its regret is shown apart.
    fn waits(&self) -> bool {
        false
    }

    /// What a planned block returned: arm, pulls, sum of rewards.
    fn observe_block(&mut self, _sums: &[(ArmIndex, u64, f64)], _cx: &mut Cx<'_, Self::Msg>) {}
}

/// Gives the text of a file, or says why not.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// A way to learn together: parameters, a client, a server.
pub trait Algorithm: Sized + 'static {
    /// Its name in experiment files.
    const NAME: &'static str;
    /// One line for `cahoots algorithms`.
    const SUMMARY: &'static str;
    /// What it does when a client is late, leaves, or comes back, in two or three sentences.
    const MEMBERSHIP: &'static str = "Nothing is stated about clients that are late, leave or come back.";
    /// The least that a user has to write, as JSON: what cannot have a default. Whoever tries an algorithm without
    /// further words tries it with this.
    const LEAST: &'static str = "{}";
    /// What a user writes.
    type Params: Clone + Serialize + DeserializeOwned + JsonSchema + Send + Sync;
    /// What has been checked.
    type Valid: Clone + Send + Sync;
    /// What machines send.
    type Msg: Message;
    /// Who decides.
    type Client: Learner<Msg = Self::Msg>;
    /// Who coordinates.
    type Server: Machine<Msg = Self::Msg>;

    /// Puts what is in the files that parameters name into the parameters, which then say it all. The
    /// only place where an algorithm sees a file, and `read` is the caller's.
    fn read_files(params: Self::Params, _read: ReadFile<'_>) -> Result<Self::Params, ParamError> {
        Ok(params)
    }

    /// Checks parameters against the setting.
    fn check(params: Self::Params, setting: &Setting) -> Result<Self::Valid, ParamError>;

    /// Communication in the unit of the algorithm's own paper; transfers of
    /// statistics unless it counts otherwise.
    fn cost(_valid: &Self::Valid, traffic: &Traffic) -> f64 {
        traffic.transfers() as f64
    }

    /// How much of what it pursues is the client's own reward, the rest being the average of all
    /// clients'; where it does not say, regret is measured against the environment's objective.
    fn personalization(_valid: &Self::Valid) -> Option<f64> {
        None
    }

    /// What it claims about its users' data; nothing unless it says so.
    fn privacy(_valid: &Self::Valid) -> Option<Claim> {
        None
    }

    /// What one unit of that claim is.
    fn unit(_valid: &Self::Valid) -> Unit {
        Unit::Event
    }

    /// Whether it can be deployed at all: `Err` says which parameter cannot hold among real machines what it promises in
    /// the simulator.
    fn deployable(_valid: &Self::Valid) -> Result<(), ParamError> {
        Ok(())
    }

    /// The interval that clients clip rewards to. Where a world's rewards may lie outside, they come one
    /// by one: the sum of a block cannot be clipped.
    fn clips(_valid: &Self::Valid) -> Option<(f64, f64)> {
        None
    }

    /// How many models a learner holds at most once it has learned something, each as large as the setting's features or
    /// arms make it: what a run will take is told from this.
    fn models(_valid: &Self::Valid, _setting: &Setting) -> usize {
        1
    }

    /// Who can talk to whom, and who of them collects for others; none where all talk to the server.
    fn topology(_valid: &Self::Valid) -> Option<(Topology, Vec<NodeId>)> {
        None
    }

    /// Whether its learners can leave out arms that are masked; those who explore by a fixed schedule cannot.
    fn takes_masks(_valid: &Self::Valid) -> bool {
        false
    }

    /// Whether arms with features are told apart by their position, and must all be offered in the same order each time.
    const BY_POSITION: bool = false;

    /// How a client would choose by its own data alone, which its choices are held against to know what federation gains it;
    /// `None` where no linear model of its own data stands for that.
    fn alone(_valid: &Self::Valid, _seat: &Seat) -> Option<Alone> {
        None
    }

    /// Keys that may change while a federation runs.
    const CHANGEABLE: &'static [&'static str] = &[];

    /// A running client under parameters that differ in [`Self::CHANGEABLE`] keys alone.
    fn change_client(_valid: &Self::Valid, _client: &mut Self::Client) {}

    /// A running server under parameters that differ in [`Self::CHANGEABLE`] keys alone.
    fn change_server(_valid: &Self::Valid, _server: &mut Self::Server) {}

    /// What the sums are of that its server hands on and begins from ([`Machine::prior`]): only those of one kind can
    /// stand in for each other. `Err` says why it has none, in words.
    fn prior_kind(_valid: &Self::Valid) -> Result<String, String> {
        Err(NOTHING_IN_COMMON.into())
    }

    /// Who sits where.
    fn seats(_valid: &Self::Valid, _setting: &Setting) -> Seating {
        Seating::PerUser
    }

    /// A client for this seat.
    fn client(valid: &Self::Valid, seat: &Seat) -> Self::Client;

    /// The server.
    fn server(valid: &Self::Valid, seat: &Seat) -> Self::Server;
}

/// Messages of one run, added up: what cost functions look at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traffic {
    /// Statistics from clients to the server.
    pub uploads: u64,
    /// Statistics from the server to clients.
    pub downloads: u64,
    /// Statistics between clients.
    pub peer_messages: u64,
    /// Signals; never charged.
    pub control_messages: u64,
    /// Numbers in charged messages.
    pub scalars: u64,
    /// Those of them in uploads. For cost functions alone, which see a run that has just ended: not stored.
    #[serde(skip)]
    pub upload_scalars: u64,
    /// Encoded bytes of charged messages.
    pub bytes: u64,
    /// Encoded bytes of signals.
    pub control_bytes: u64,
    /// Synchronous rounds.
    pub rounds: u64,
}

impl Traffic {
    /// Charged messages of any kind.
    pub fn transfers(&self) -> u64 {
        self.uploads + self.downloads + self.peer_messages
    }

    /// Adds one message.
    pub fn count(&mut self, message: &impl Message) {
        let bytes = message.wire_len() as u64;
        match message.kind() {
            Kind::Upload => {
                self.uploads += 1;
                self.upload_scalars += message.scalars();
            }
            Kind::Download => self.downloads += 1,
            Kind::Peer => self.peer_messages += 1,
            Kind::Control => {
                self.control_messages += 1;
                self.control_bytes += bytes;
                return;
            }
        }
        self.scalars += message.scalars();
        self.bytes += bytes;
    }
}

/// The server of an algorithm that has none.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(bound = "")]
pub struct Silent<M>(std::marker::PhantomData<M>);

impl<M> Default for Silent<M> {
    fn default() -> Self {
        Silent(std::marker::PhantomData)
    }
}

impl<M: Message> Machine for Silent<M> {
    type Msg = M;

    fn on_message(&mut self, from: NodeId, _message: M, _cx: &mut Cx<'_, M>) -> Result<(), Misbehaviour> {
        Err(Misbehaviour::Unexpected(format!("{from} wrote to a server that takes no messages")))
    }
}
