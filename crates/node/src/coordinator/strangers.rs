//! Those who say hello and do not show whose it is. Nothing that they say is about anyone else: they are counted, all in one.

use cahoots_core::NodeId;

use super::core::Core;
use super::members::Refused;
use super::status::Attention;
use super::watch::{Happening, REPEATED};
use crate::identity::Peer;
use crate::transport::proto::Hello;

/// Hellos that were not known to be anyone's, since there was last none for long.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Strangers {
    count: u64,
    since: f64,
    last: f64,
    /// The number that the last one claimed.
    claimed: u32,
}

impl Strangers {
    /// One more; `true` for the first.
    fn came(&mut self, now: f64, claimed: u32) -> bool {
        if self.count == 0 || now - self.last >= REPEATED {
            *self = Strangers { since: now, ..Strangers::default() };
        }
        self.count += 1;
        (self.last, self.claimed) = (now, claimed);
        self.count == 1
    }

    /// The clock was set back.
    pub(super) fn shift(&mut self, by: f64) {
        self.since += by;
        self.last += by;
    }

    /// One line for all of them, while there are any.
    pub(super) fn attention(&self, now: f64) -> Option<Attention> {
        if self.count == 0 || now - self.last >= REPEATED {
            return None;
        }
        let hellos = if self.count == 1 { "1 hello".into() } else { format!("{} hellos", self.count) };
        Some(Attention {
            kind: "limits",
            client: None,
            since: Some(self.since),
            words: format!(
                "{hellos} did not show whose they are, and were refused; the last one said that it is client {}",
                self.claimed
            ),
            remedy: "nothing, if none of your clients is missing: strangers change nothing. A client of yours that is not let in \
                     says why in its own log and status"
                .into(),
        })
    }
}

impl Core {
    /// Whether whoever says this hello has shown that the number is, or was, its own.
    pub(super) fn is_known(&self, hello: &Hello, peer: &Peer, admitted: bool) -> bool {
        admitted && (peer.certificate().is_some() || self.members.knows(hello))
    }

    /// Someone was not let in.
    pub(super) fn turn_away(&mut self, client: NodeId, known: bool, refused: &Refused) {
        if known {
            return self.turned_away(client, &refused.reason);
        }
        self.status.turned_away += 1;
        self.status.limits.identities += 1;
        if self.watch.strangers.came(self.watch.now, client.0) {
            let words = format!("a hello as client {} did not show whose it is, and was refused", client.0);
            self.watch.note(Happening::TurnedAway, None, words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_one_line_until_there_have_been_none_for_long() {
        let mut strangers = Strangers::default();
        assert_eq!(strangers.attention(0.0), None);
        assert!(strangers.came(10.0, 3));
        assert!((0..1000).all(|n| !strangers.came(20.0 + f64::from(n), n as u32)));
        let words = strangers.attention(2000.0).unwrap().words;
        assert!(words.starts_with("1001 hellos"), "{words}");
        assert_eq!(strangers.attention(1019.0 + REPEATED), None);
        assert!(strangers.came(1019.0 + REPEATED, 3), "news again");
    }
}
