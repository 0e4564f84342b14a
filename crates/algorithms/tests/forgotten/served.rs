//! A server that is given a log through the contract.

use cahoots_algorithms::kit::linear::LinearMsg;
use cahoots_core::drive::{Event, Host, Outcome, Typed, snapshot};
use cahoots_core::{Algorithm, Effects, Keys, LinearStats, Membership, NodeId, Ruling, Seats, Setting};
use serde::Serialize;
use serde_json::Value;

pub(crate) const DIM: usize = 3;
pub(crate) const USERS: usize = 200;

/// What a coordinator logs.
#[derive(Clone, Debug)]
pub(crate) enum Entry<M = LinearMsg> {
    Join(u32),
    Leave(u32),
    Rule(Ruling),
    Say(u32, M),
    /// The next tick.
    Wake,
}

impl Entry {
    /// Whose number it is logged for, unless it is to forget that.
    pub(crate) fn of(&self) -> Option<u32> {
        match self {
            Entry::Join(client) | Entry::Leave(client) | Entry::Say(client, _) => Some(*client),
            Entry::Rule(Ruling::Quarantined(client) | Ruling::Restored(client)) => Some(client.0),
            Entry::Rule(Ruling::Forgotten(_)) | Entry::Wake => None,
        }
    }

    pub(crate) fn forgets(&self, client: Option<u32>) -> bool {
        matches!(self, Entry::Rule(Ruling::Forgotten(gone)) if client.is_none_or(|client| gone.0 == client))
    }

    pub(crate) fn is_upload(&self) -> bool {
        matches!(self, Entry::Say(_, LinearMsg::Upload { .. }))
    }

    /// The same in other words.
    pub(crate) fn map<M>(&self, message: impl FnOnce(&LinearMsg) -> M) -> Entry<M> {
        match self {
            Entry::Join(client) => Entry::Join(*client),
            Entry::Leave(client) => Entry::Leave(*client),
            Entry::Rule(ruling) => Entry::Rule(*ruling),
            Entry::Say(client, said) => Entry::Say(*client, message(said)),
            Entry::Wake => Entry::Wake,
        }
    }
}

/// A server, and the time.
pub(crate) struct Served<A: Algorithm> {
    host: Host<A::Server>,
    now: u64,
}

impl<A: Algorithm> Served<A>
where
    A::Server: Serialize,
    A::Msg: Clone,
{
    pub(crate) fn new(params: &Value) -> Self {
        let dims = if A::NAME == "async-linucb-am" { vec![1; USERS] } else { Vec::new() };
        let setting = Setting::linear(USERS, DIM, 2).with_local_dims(dims).kept_apart();
        let params: A::Params = serde_json::from_value(params.clone()).unwrap();
        let valid = A::check(params, &setting).unwrap();
        let seat = Seats::of::<A>(&valid, &setting).seat(NodeId::SERVER);
        let host = Host::new(seat.clone(), A::server(&valid, &seat));
        let mut served = Served { host, now: 0 };
        served.event(Event::Start);
        served
    }

    /// A fresh server is given these.
    pub(crate) fn fold<'a>(params: &Value, log: impl IntoIterator<Item = &'a Entry<A::Msg>>) -> Self
    where
        A::Msg: 'a,
    {
        let mut served = Self::new(params);
        log.into_iter().for_each(|entry| served.take(entry));
        served
    }

    fn event(&mut self, event: Event<Typed<A::Msg>>) {
        let keys = Keys::from_seed(1);
        let outcome = self.host.apply(self.now, event, &keys, &mut Effects::default(), &mut Vec::new());
        assert_eq!(outcome.unwrap(), Outcome::Done);
    }

    pub(crate) fn take(&mut self, entry: &Entry<A::Msg>) {
        match entry {
            Entry::Join(client) => self.event(Event::Membership(Membership::Joined(NodeId(*client)))),
            Entry::Leave(client) => self.event(Event::Membership(Membership::Left(NodeId(*client)))),
            Entry::Rule(ruling) => self.event(Event::Ruling(*ruling)),
            Entry::Say(client, message) => {
                let from = NodeId(*client);
                let sequence = self.host.ends(from).received + 1;
                let message = Typed(message.clone());
                self.event(Event::Message { from, sequence, skipped: 0, message });
            }
            Entry::Wake => {
                self.now += 1;
                self.event(Event::Wake);
            }
        }
    }

    pub(crate) fn machine(&self) -> &A::Server {
        self.host.machine()
    }

    /// The whole state of the machine, as a snapshot has it.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        snapshot::save(self.machine())
    }

    /// The same with its names: numbers are written so that they are read back with every bit.
    pub(crate) fn json(&self) -> Value {
        serde_json::to_value(self.machine()).unwrap()
    }
}

/// Every bit of a sum.
pub(crate) fn bits(stats: &LinearStats) -> Vec<u8> {
    snapshot::save(stats)
}
