//! At least once on the wire, exactly once in the sum: every link numbers its
//! messages, a seen number is dropped, a gap is refused. These numbers are part
//! of a machine's replicated state; what awaits confirmation is not (see
//! [`Queues`](super::Queues)).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::contract::setting::Seat;
use crate::error::Misbehaviour;
use crate::ids::NodeId;

/// The numbers of one link, at one of its ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ends {
    /// Last number given out.
    pub sent: u64,
    /// Last number received in order.
    pub received: u64,
}

/// Is this message new?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// The next one: take it.
    Next,
    /// Seen before: drop it, confirm it again.
    Seen,
}

impl Ends {
    /// Looks at an incoming number without taking it. `skipped` numbers before it belong to messages that
    /// it makes superfluous: they need not have come.
    pub fn check(&self, sequence: u64, skipped: u64) -> Result<Arrival, Misbehaviour> {
        let expected = self.received + 1;
        if sequence < expected {
            Ok(Arrival::Seen)
        } else if skipped < sequence && sequence - skipped <= expected {
            Ok(Arrival::Next)
        } else {
            Err(Misbehaviour::Gap { expected, got: sequence })
        }
    }
}

/// The numbers of all links of one machine. A server has a link to each client, a client one to its server
/// and few others, if any.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Links {
    /// By the clients' numbers; as long as it needs to be.
    OfServer(Vec<Ends>),
    /// The server's, and those of peers.
    OfClient(Ends, BTreeMap<NodeId, Ends>),
}

impl Links {
    /// No message yet.
    pub fn of(seat: &Seat) -> Links {
        if seat.me == NodeId::SERVER {
            Links::OfServer(Vec::new())
        } else {
            Links::OfClient(Ends::default(), BTreeMap::new())
        }
    }

    /// The numbers of the link to `peer`.
    pub fn get(&self, peer: NodeId) -> Ends {
        match self {
            Links::OfServer(clients) => clients.get(peer.index()).copied().unwrap_or_default(),
            Links::OfClient(server, _) if peer == NodeId::SERVER => *server,
            Links::OfClient(_, peers) => peers.get(&peer).copied().unwrap_or_default(),
        }
    }

    pub(super) fn get_mut(&mut self, peer: NodeId) -> &mut Ends {
        match self {
            Links::OfServer(clients) => {
                if clients.len() <= peer.index() {
                    clients.resize(peer.index() + 1, Ends::default());
                }
                &mut clients[peer.index()]
            }
            Links::OfClient(server, _) if peer == NodeId::SERVER => server,
            Links::OfClient(_, peers) => peers.entry(peer).or_default(),
        }
    }

    /// The other clients to whom a client has links.
    pub fn peers(&self) -> impl Iterator<Item = NodeId> + '_ {
        match self {
            Links::OfServer(_) => None,
            Links::OfClient(_, peers) => Some(peers.keys().copied()),
        }
        .into_iter()
        .flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_dropped_and_gaps_refused() {
        let ends = Ends { sent: 0, received: 1 };
        assert_eq!(ends.check(1, 0), Ok(Arrival::Seen));
        assert_eq!(ends.check(2, 0), Ok(Arrival::Next));
        assert_eq!(ends.check(3, 0), Err(Misbehaviour::Gap { expected: 2, got: 3 }));
    }

    #[test]
    fn what_is_superfluous_need_not_have_come() {
        let ends = Ends { sent: 0, received: 4 };
        assert_eq!(ends.check(7, 2), Ok(Arrival::Next));
        assert_eq!(ends.check(7, 3), Ok(Arrival::Next));
        assert_eq!(ends.check(7, 1), Err(Misbehaviour::Gap { expected: 5, got: 7 }));
        assert_eq!(ends.check(4, 3), Ok(Arrival::Seen));
        // Nothing can make more superfluous than there was.
        assert!(Ends::default().check(3, u64::MAX).is_err());
    }
}
