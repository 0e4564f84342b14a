//! An algorithm whose machines write down what they took: to compare with what was sent.

use std::marker::PhantomData;

use cahoots_core::policy::Distribution;
use cahoots_core::{
    Algorithm, ArmIndex, ArmSet, Choice, Claim, Cx, Learner, Machine, Membership, Message, Misbehaviour,
    NodeId, ParamError, Prior, ReadFile, Ruling, Seat, Seating, Setting, Stream, Topology, Traffic, UserId,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// `A`, watched: it does what `A` does.
pub struct Watched<A>(PhantomData<A>);

/// A machine, and all that it has taken.
#[derive(Serialize, Deserialize)]
#[serde(bound = "M: Serialize + DeserializeOwned")]
pub struct Witness<M> {
    machine: M,
    taken: Taken,
}

/// Messages that were taken, control messages included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// How many.
    pub messages: u64,
    /// Their encoded bytes.
    pub bytes: u64,
}

impl Taken {
    /// What a ledger says was sent, in the same terms.
    pub fn of(sent: &Traffic) -> Taken {
        Taken { messages: sent.transfers() + sent.control_messages, bytes: sent.bytes + sent.control_bytes }
    }

    /// Both together.
    pub fn plus(self, other: Taken) -> Taken {
        Taken { messages: self.messages + other.messages, bytes: self.bytes + other.bytes }
    }
}

impl<M> Witness<M> {
    fn new(machine: M) -> Self {
        Witness { machine, taken: Taken::default() }
    }

    /// The machine itself.
    pub fn machine(&self) -> &M {
        &self.machine
    }

    /// What it took.
    pub fn taken(&self) -> Taken {
        self.taken
    }
}

impl<M: Machine> Machine for Witness<M> {
    type Msg = M::Msg;

    fn on_start(&mut self, cx: &mut Cx<'_, M::Msg>) {
        self.machine.on_start(cx);
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: M::Msg,
        cx: &mut Cx<'_, M::Msg>,
    ) -> Result<(), Misbehaviour> {
        let bytes = message.wire_len() as u64;
        self.machine.on_message(from, message, cx)?;
        self.taken = self.taken.plus(Taken { messages: 1, bytes });
        Ok(())
    }

    fn on_wake(&mut self, cx: &mut Cx<'_, M::Msg>) {
        self.machine.on_wake(cx);
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, M::Msg>) {
        self.machine.on_membership(change, cx);
    }

    const RESUMES: bool = M::RESUMES;

    fn forgets(&self) -> Result<(), String> {
        self.machine.forgets()
    }

    fn prior(&self) -> Result<Prior, String> {
        self.machine.prior()
    }

    fn takes_prior(&self, prior: &Prior) -> Result<(), String> {
        self.machine.takes_prior(prior)
    }

    fn on_prior(&mut self, prior: Prior, cx: &mut Cx<'_, M::Msg>) {
        self.machine.on_prior(prior, cx);
    }

    fn on_ruling(&mut self, ruling: Ruling, cx: &mut Cx<'_, M::Msg>) {
        self.machine.on_ruling(ruling, cx);
    }
}

impl<L: Learner> Learner for Witness<L> {
    type Pending = L::Pending;

    fn choose(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Choice<L::Pending> {
        self.machine.choose(user, arms, rng)
    }

    fn odds(&mut self, user: UserId, arms: ArmSet<'_>, rng: &mut Stream) -> Option<Distribution> {
        self.machine.odds(user, arms, rng)
    }

    fn commit(&mut self, pending: &L::Pending, cx: &mut Cx<'_, L::Msg>) {
        self.machine.commit(pending, cx);
    }

    fn observe(&mut self, pending: L::Pending, reward: f64, cx: &mut Cx<'_, L::Msg>) {
        self.machine.observe(pending, reward, cx);
    }

    fn abandon(&mut self, pending: L::Pending, cx: &mut Cx<'_, L::Msg>) {
        self.machine.abandon(pending, cx);
    }

    fn plan(&self) -> Option<&[(ArmIndex, u64)]> {
        self.machine.plan()
    }

    fn waits(&self) -> bool {
        self.machine.waits()
    }

    fn observe_block(&mut self, sums: &[(ArmIndex, u64, f64)], cx: &mut Cx<'_, L::Msg>) {
        self.machine.observe_block(sums, cx);
    }
}

impl<A: Algorithm> Algorithm for Watched<A> {
    const NAME: &'static str = A::NAME;
    const SUMMARY: &'static str = A::SUMMARY;
    type Params = A::Params;
    type Valid = A::Valid;
    type Msg = A::Msg;
    type Client = Witness<A::Client>;
    type Server = Witness<A::Server>;

    fn read_files(params: A::Params, read: ReadFile<'_>) -> Result<A::Params, ParamError> {
        A::read_files(params, read)
    }

    fn check(params: A::Params, setting: &Setting) -> Result<A::Valid, ParamError> {
        A::check(params, setting)
    }

    fn cost(valid: &A::Valid, traffic: &Traffic) -> f64 {
        A::cost(valid, traffic)
    }

    fn personalization(valid: &A::Valid) -> Option<f64> {
        A::personalization(valid)
    }

    fn privacy(valid: &A::Valid) -> Option<Claim> {
        A::privacy(valid)
    }

    fn prior_kind(valid: &A::Valid) -> Result<String, String> {
        A::prior_kind(valid)
    }

    fn clips(valid: &A::Valid) -> Option<(f64, f64)> {
        A::clips(valid)
    }

    fn topology(valid: &A::Valid) -> Option<(Topology, Vec<NodeId>)> {
        A::topology(valid)
    }

    fn takes_masks(valid: &A::Valid) -> bool {
        A::takes_masks(valid)
    }

    const CHANGEABLE: &'static [&'static str] = A::CHANGEABLE;

    fn change_client(valid: &A::Valid, client: &mut Self::Client) {
        A::change_client(valid, &mut client.machine);
    }

    fn change_server(valid: &A::Valid, server: &mut Self::Server) {
        A::change_server(valid, &mut server.machine);
    }

    fn seats(valid: &A::Valid, setting: &Setting) -> Seating {
        A::seats(valid, setting)
    }

    fn client(valid: &A::Valid, seat: &Seat) -> Self::Client {
        Witness::new(A::client(valid, seat))
    }

    fn server(valid: &A::Valid, seat: &Seat) -> Self::Server {
        Witness::new(A::server(valid, seat))
    }
}
