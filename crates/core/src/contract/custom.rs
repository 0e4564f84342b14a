//! Messages for which the wire's shared shapes do not serve: a name and bytes, whose meaning is between an
//! algorithm's own machines. [`Custom`] sends any serde type that way; [`payload`], [`payload_len`] and
//! [`body`] are for those who write their bytes themselves.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::contract::message::{Kind, Message, Receipt};
use crate::contract::private::{Arrived, while_receiving};
use crate::error::Misbehaviour;
use crate::wire::{self, payload::Shape};

/// What a type says about itself to be sent as it is, inside [`Custom`].
pub trait Body: Clone + std::fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// What the wire calls it. Bytes under another name are refused unread.
    const NAME: &'static str;
    /// Who pays.
    fn kind(&self) -> Kind;
    /// The numbers it carries, as papers count them.
    fn scalars(&self) -> u64;
    /// See [`Message::slot`].
    fn slot(&self) -> Option<u32> {
        None
    }
    /// See [`Message::receipt`].
    fn receipt(&self) -> Option<Receipt> {
        None
    }
    /// See [`Message::refused`].
    fn refused(_receipt: Receipt, _reason: String) -> Option<Self> {
        None
    }
}

/// A serde type as a message: what `derive(Serialize, Deserialize)` makes of it is what is sent, in postcard's
/// format. Whatever in it comes from data is a [`Private`](crate::Private): it is read back as received, here
/// and nowhere else.
///
/// ```
/// use cahoots_core::{Custom, Cx, Kind, NodeId, Private, Unprotected, custom, message};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
/// enum Note {
///     Sums(Private<Vec<f64>>),
///     Play(u32),
/// }
///
/// impl custom::Body for Note {
///     const NAME: &'static str = "notes";
///     fn kind(&self) -> Kind {
///         if matches!(self, Note::Sums(_)) { Kind::Upload } else { Kind::Download }
///     }
///     fn scalars(&self) -> u64 {
///         if let Note::Sums(sums) = self { sums.get().len() as u64 } else { 1 }
///     }
/// }
///
/// // What leaves a client has been released; the driver's record says by what.
/// let step = |cx: &mut Cx<'_, Custom<Note>>| cx.release(&mut Unprotected, vec![1.5, 0.5]);
/// let (sums, effects) = Cx::rehearse(NodeId(0), 1, step);
/// assert_eq!(effects.facts.len(), 1);
///
/// let bytes = message::encode(&Custom(Note::Sums(sums.clone())));
/// let Custom(read) = message::decode::<Custom<Note>>(&bytes).unwrap();
/// assert_eq!(read, Note::Sums(sums));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Custom<T>(pub T);

impl<T: Body> Message for Custom<T> {
    fn kind(&self) -> Kind {
        self.0.kind()
    }

    fn scalars(&self) -> u64 {
        self.0.scalars()
    }

    fn to_wire(&self) -> wire::Payload {
        payload(T::NAME, postcard::to_stdvec(&self.0).expect("a type whose derived bytes can be written"))
    }

    fn from_wire(payload: wire::Payload, came: Arrived) -> Result<Self, Misbehaviour> {
        let body = body(payload, T::NAME)?;
        let unreadable = |why: &str| Misbehaviour::Unreadable(format!("{}: {why}", T::NAME));
        match while_receiving(came, || postcard::take_from_bytes(&body)) {
            Ok((value, [])) => Ok(Custom(value)),
            Ok((_, rest)) => Err(unreadable(&format!("{} bytes too many", rest.len()))),
            Err(error) => Err(unreadable(&error.to_string())),
        }
    }

    fn wire_len(&self) -> usize {
        let size = postcard::ser_flavors::Size::default();
        let body = postcard::serialize_with_flavor(&self.0, size);
        payload_len(T::NAME, body.expect("a type whose derived bytes can be written"))
    }

    fn slot(&self) -> Option<u32> {
        self.0.slot()
    }

    fn receipt(&self) -> Option<Receipt> {
        self.0.receipt()
    }

    fn refused(receipt: Receipt, reason: String) -> Option<Self> {
        T::refused(receipt, reason).map(Custom)
    }
}

/// Bytes under a name, as a payload.
pub fn payload(name: &str, body: Vec<u8>) -> wire::Payload {
    wire::Payload { shape: Some(Shape::Custom(wire::Custom { name: name.into(), body })) }
}

/// Encoded length of [`payload`] with a body of `body` bytes.
pub fn payload_len(name: &str, body: usize) -> usize {
    wire::message_field(wire::packed_field(name.len(), 1) + wire::packed_field(body, 1))
}

/// The bytes of a payload that must have this name.
pub fn body(payload: wire::Payload, name: &str) -> Result<Vec<u8>, Misbehaviour> {
    match payload.shape {
        Some(Shape::Custom(custom)) if custom.name == name => Ok(custom.body),
        Some(Shape::Custom(custom)) => {
            Err(Misbehaviour::Unreadable(format!("a message {:?} where {name:?} is spoken", custom.name)))
        }
        _ => Err(Misbehaviour::Unreadable(format!("one of the shared shapes where {name:?} is spoken"))),
    }
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use serde::Deserialize;

    use super::*;
    use crate::contract::message;
    use crate::{Cx, NodeId, Private, Unprotected};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct Sums {
        number: u64,
        sums: Private<Vec<f64>>,
    }

    impl Body for Sums {
        const NAME: &'static str = "sums";
        fn kind(&self) -> Kind {
            Kind::Upload
        }
        fn scalars(&self) -> u64 {
            self.sums.get().len() as u64
        }
    }

    fn sums(values: Vec<f64>) -> Custom<Sums> {
        let (sums, _) = Cx::<()>::rehearse(NodeId(0), 1, |cx| cx.release(&mut Unprotected, values));
        Custom(Sums { number: 7, sums })
    }

    #[test]
    fn what_is_sent_is_what_is_read_and_as_long_as_it_says() {
        for values in [vec![], vec![0.1, f64::MIN_POSITIVE, -0.0], vec![1.0; 40]] {
            let message = sums(values);
            let bytes = message::encode(&message);
            assert_eq!(bytes.len(), message.wire_len());
            assert_eq!(message::decode::<Custom<Sums>>(&bytes).unwrap(), message);
        }
        for (name, body) in [("", 0), ("", 3), ("x", 0), ("name", 200)] {
            assert_eq!(
                payload(name, vec![1; body]).encoded_len(),
                payload_len(name, body),
                "{name:?} {body}"
            );
        }
    }

    #[test]
    fn what_nobody_sent_is_refused_with_the_reason() {
        let honest = postcard::to_stdvec(&sums(vec![0.5, 2.0]).0).unwrap();
        let refused = |payload: wire::Payload| {
            message::decode::<Custom<Sums>>(&payload.encode_to_vec()).unwrap_err().to_string()
        };
        for cut in 0..honest.len() {
            refused(payload("sums", honest[..cut].to_vec()));
        }
        let longer = [&honest[..], &[0]].concat();
        assert!(refused(payload("sums", longer)).contains("1 bytes too many"));
        assert!(refused(payload("other", honest)).contains("a message \"other\" where \"sums\" is spoken"));
        assert!(refused(message::control(1, 2, 3)).contains("one of the shared shapes"));
        assert!(refused(wire::Payload { shape: None }).contains("one of the shared shapes"));
    }

    /// Only the decoder opens released values, and closes them behind itself, whatever it read.
    #[test]
    fn reading_a_message_leaves_no_door_open() {
        let bytes = message::encode(&sums(vec![0.5]));
        message::decode::<Custom<Sums>>(&bytes).unwrap();
        message::decode::<Custom<Sums>>(&payload("sums", vec![255; 3]).encode_to_vec()).unwrap_err();
        let body = postcard::to_stdvec(&sums(vec![0.5]).0).unwrap();
        assert!(postcard::from_bytes::<Sums>(&body).is_err());
    }
}
