//! An algorithm as it is, whose server remembers what it is told: the coordinator as the adversary.

use std::sync::{Mutex, PoisonError};

use cahoots_core::{
    Algorithm, Claim, Cx, Machine, Membership, Message, Misbehaviour, NodeId, ParamError, Ruling, Seat,
    Seating, Setting, wire,
};
use serde::{Deserialize, Serialize};

/// What all watched servers of this process have been told: by whom, what. Live runs are made one after the other.
static TOLD: Mutex<Vec<(NodeId, wire::Payload)>> = Mutex::new(Vec::new());

/// Takes what has been told since the last time.
pub(super) fn take() -> Vec<(NodeId, wire::Payload)> {
    std::mem::take(&mut *TOLD.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The algorithm `A`, watched.
pub(super) struct Watched<A>(std::marker::PhantomData<A>);

/// A server that remembers what it is told.
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound(serialize = "S: Serialize", deserialize = "S: serde::de::DeserializeOwned"))]
pub(super) struct Server<S>(S);

impl<A: Algorithm> Algorithm for Watched<A> {
    const NAME: &'static str = A::NAME;
    const SUMMARY: &'static str = A::SUMMARY;
    const MEMBERSHIP: &'static str = A::MEMBERSHIP;
    type Params = A::Params;
    type Valid = A::Valid;
    type Msg = A::Msg;
    type Client = A::Client;
    type Server = Server<A::Server>;

    fn check(params: A::Params, setting: &Setting) -> Result<A::Valid, ParamError> {
        A::check(params, setting)
    }

    fn privacy(valid: &A::Valid) -> Option<Claim> {
        A::privacy(valid)
    }

    fn clips(valid: &A::Valid) -> Option<(f64, f64)> {
        A::clips(valid)
    }

    fn seats(valid: &A::Valid, setting: &Setting) -> Seating {
        A::seats(valid, setting)
    }

    fn client(valid: &A::Valid, seat: &Seat) -> A::Client {
        A::client(valid, seat)
    }

    fn server(valid: &A::Valid, seat: &Seat) -> Server<A::Server> {
        Server(A::server(valid, seat))
    }
}

impl<S: Machine> Machine for Server<S> {
    type Msg = S::Msg;

    fn on_start(&mut self, cx: &mut Cx<'_, S::Msg>) {
        self.0.on_start(cx);
    }

    fn on_message(
        &mut self,
        from: NodeId,
        message: S::Msg,
        cx: &mut Cx<'_, S::Msg>,
    ) -> Result<(), Misbehaviour> {
        TOLD.lock().unwrap_or_else(PoisonError::into_inner).push((from, message.to_wire()));
        self.0.on_message(from, message, cx)
    }

    fn on_wake(&mut self, cx: &mut Cx<'_, S::Msg>) {
        self.0.on_wake(cx);
    }

    fn on_membership(&mut self, change: Membership, cx: &mut Cx<'_, S::Msg>) {
        self.0.on_membership(change, cx);
    }

    fn on_ruling(&mut self, ruling: Ruling, cx: &mut Cx<'_, S::Msg>) {
        self.0.on_ruling(ruling, cx);
    }

    fn waiting_for(&self) -> Vec<NodeId> {
        self.0.waiting_for()
    }
}
