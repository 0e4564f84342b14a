//! What machines send each other: typed in simulation, protobuf on a network.
//! Both must give the same run.

use prost::Message as _;

use crate::contract::private::Arrived;
use crate::error::Misbehaviour;
use crate::wire;

/// Who pays for a message. Every paper's communication cost is a view of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Statistics from a client to the server.
    Upload,
    /// Statistics from the server to a client.
    Download,
    /// Statistics between clients.
    Peer,
    /// A signal without statistics: shown, never charged.
    Control,
}

/// A message of one algorithm, made of the wire's shared shapes.
pub trait Message: Clone + std::fmt::Debug + Send + Sync + 'static {
    /// Who pays.
    fn kind(&self) -> Kind;
    /// The numbers it carries, as the papers count them (a packed triangle and a moment).
    fn scalars(&self) -> u64;
    /// As a payload for the network.
    fn to_wire(&self) -> wire::Payload;
    /// From a payload; whatever a peer may send must be refused or taken, never panic. `came` shows that
    /// it was read from bytes: what it carries is as private as its sender made it.
    fn from_wire(payload: wire::Payload, came: Arrived) -> Result<Self, Misbehaviour>;
    /// Length of the encoded payload, without encoding it.
    fn wire_len(&self) -> usize;
    /// Messages that say all there is to say: a newer one on the same link and in the same slot makes an
    /// older one, if nothing was sent in between, superfluous. `None` where every message counts.
    fn slot(&self) -> Option<u32> {
        None
    }
    /// How to tell whoever sent this that it was refused, so that nothing in it is lost: the driver sends
    /// what the answer makes of the reason. `None` where nothing hangs on it.
    fn receipt(&self) -> Option<Receipt> {
        None
    }
    /// The answer to a message of this receipt that was refused.
    fn refused(_receipt: Receipt, _reason: String) -> Option<Self> {
        None
    }
}

/// Which of its sender's messages one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Counts the sender's uploads.
    pub number: u64,
    /// The sender's phase, where it has any.
    pub phase: u64,
    /// Which of the sender's clusters, where it has several.
    pub cluster: u32,
}

impl Receipt {
    /// As a payload that says why.
    pub fn to_wire(self, reason: &str) -> wire::Payload {
        let Receipt { number, phase, cluster } = self;
        let refused = wire::Refused { number, phase, cluster, reason: reason.into() };
        wire::Payload { shape: Some(wire::payload::Shape::Refused(refused)) }
    }

    /// Encoded length of [`Self::to_wire`].
    pub fn wire_len(self, reason: &str) -> usize {
        let text = if reason.is_empty() { 0 } else { wire::message_field(reason.len()) };
        wire::message_field(
            wire::varint_field(self.number)
                + wire::varint_field(self.phase)
                + wire::varint_field(self.cluster.into())
                + text,
        )
    }
}

/// A message as bytes.
pub fn encode<M: Message>(message: &M) -> Vec<u8> {
    message.to_wire().encode_to_vec()
}

/// The message that these bytes are.
pub fn decode<M: Message>(bytes: &[u8]) -> Result<M, Misbehaviour> {
    let payload = wire::Payload::decode(bytes).map_err(|e| Misbehaviour::Unreadable(e.to_string()))?;
    M::from_wire(payload, Arrived::BY_DECODING)
}

/// The message of an algorithm that sends none.
#[derive(Clone, Debug)]
pub enum Silence {}

/// Makes a type a [`Machine`](crate::Machine) that no message ever reaches.
#[macro_export]
macro_rules! hears_nothing {
    ($machine:ty) => {
        impl $crate::Machine for $machine {
            type Msg = $crate::Silence;

            fn on_message(
                &mut self,
                _from: $crate::NodeId,
                message: $crate::Silence,
                _cx: &mut $crate::Cx<'_, $crate::Silence>,
            ) -> Result<(), $crate::Misbehaviour> {
                match message {}
            }
        }
    };
}

impl Message for Silence {
    fn kind(&self) -> Kind {
        match *self {}
    }
    fn scalars(&self) -> u64 {
        match *self {}
    }
    fn to_wire(&self) -> wire::Payload {
        match *self {}
    }
    fn from_wire(_payload: wire::Payload, _came: Arrived) -> Result<Self, Misbehaviour> {
        Err(Misbehaviour::Unexpected("this algorithm sends no messages".into()))
    }
    fn wire_len(&self) -> usize {
        match *self {}
    }
}

/// A control payload: shared by all algorithms that signal.
pub fn control(signal: u32, number: u64, phase: u64) -> wire::Payload {
    wire::Payload { shape: Some(wire::payload::Shape::Control(wire::Control { signal, number, phase })) }
}

/// Encoded length of [`control`]'s payload.
pub fn control_len(signal: u32, number: u64, phase: u64) -> usize {
    wire::message_field(
        wire::varint_field(signal.into()) + wire::varint_field(number) + wire::varint_field(phase),
    )
}
