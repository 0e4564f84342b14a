//! One member's side of a round.

use cahoots_core::{Misbehaviour, NodeId, Stream};
use serde::{Deserialize, Serialize};

use super::keys::{Piece, Purpose, Secret};
use super::message::{Advert, Down, Up};
use super::terms::Terms;

/// A client that adds to sums. Every round has keys of its own; what is said about a round that is over, or was never
/// begun, is passed over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Member {
    me: NodeId,
    terms: Terms,
    /// The last round begun.
    round: u32,
    stage: Stage,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Stage {
    Away,
    Keyed {
        sealing: Secret,
        masking: Secret,
    },
    Dealt {
        sealing: Secret,
        masking: Secret,
        own: Secret,
        /// Its shares of its own secrets, which count like those of any other.
        kept: (Piece, Piece),
        roster: Vec<(NodeId, Advert)>,
    },
    Masked {
        size: u32,
        held: Vec<Held>,
    },
}

/// What a member holds of another's secrets.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Held {
    of: NodeId,
    /// Shares of its own mask and of its masking key; none where what came could not be read.
    pieces: Option<(Piece, Piece)>,
}

/// The masks of one vector, to be used once.
#[derive(Debug)]
pub struct Masks {
    /// Members of the group, for the size of their noise.
    pub size: u32,
    own: Secret,
    pairs: Vec<(Secret, bool)>,
}

impl Masks {
    /// Hides values. Nothing is left that could hide others in the same way.
    pub fn apply(self, values: &mut [u64]) {
        self.own.mask(values, true);
        for (seed, add) in &self.pairs {
            seed.mask(values, *add);
        }
    }
}

/// Of two members, the lower adds the mask that they have in common, and the higher takes it away.
pub(super) fn adds(member: NodeId, other: NodeId) -> bool {
    member < other
}

fn unexpected<T>(what: impl Into<String>) -> Result<T, Misbehaviour> {
    Err(Misbehaviour::Unexpected(what.into()))
}

impl Member {
    /// Takes part in nothing yet.
    pub fn new(me: NodeId, terms: Terms) -> Member {
        Member { me, terms, round: 0, stage: Stage::Away }
    }

    /// Who it is.
    pub fn me(&self) -> NodeId {
        self.me
    }

    /// The last round begun.
    pub fn round(&self) -> u32 {
        self.round
    }

    /// Leaves a round that is under way. Others go on without it; what it had masked and what it holds are of no more use.
    pub fn leave(&mut self) {
        self.stage = Stage::Away;
    }

    /// What it says to a step of a round that it has left.
    pub fn away(&self, message: &Down) -> Option<Up> {
        let round = message.round();
        let left = matches!(self.stage, Stage::Away) && round == self.round;
        (left && !matches!(message, Down::Begin { .. })).then_some(Up::Left { round })
    }

    /// New keys for a round; none for one that was begun already.
    pub fn begin(&mut self, round: u32, rng: &mut Stream) -> Option<Up> {
        if round <= self.round {
            return None;
        }
        let (sealing, masking) = (Secret::draw(rng), Secret::draw(rng));
        let advert = Advert { sealing: sealing.public(), masking: masking.public() };
        (self.round, self.stage) = (round, Stage::Keyed { sealing, masking });
        Some(Up::Keys { round, advert })
    }

    /// The group is made: shares of this member's secrets for all of it.
    pub fn roster(
        &mut self,
        round: u32,
        members: &[(NodeId, Advert)],
        rng: &mut Stream,
    ) -> Result<Option<Up>, Misbehaviour> {
        let Stage::Keyed { sealing, masking } = &self.stage else { return Ok(None) };
        if round != self.round {
            return Ok(None);
        }
        let size = members.len() as u32;
        if !self.terms.allows(size) {
            return unexpected(format!("a group of {size}, where {} is the least", self.terms.least));
        }
        if members.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return unexpected("a group whose members are not in order");
        }
        let mine = Advert { sealing: sealing.public(), masking: masking.public() };
        if members.iter().find(|(node, _)| *node == self.me).is_none_or(|(_, advert)| *advert != mine) {
            return unexpected("a group in which this client has other keys, or no place");
        }
        let own = Secret::draw(rng);
        let threshold = self.terms.threshold(size);
        let of_own = own.shares(threshold, members.len(), rng);
        let of_key = masking.shares(threshold, members.len(), rng);
        let (mut sealed, mut kept) = (Vec::with_capacity(members.len()), None);
        for ((node, advert), (own, key)) in members.iter().zip(of_own.iter().zip(&of_key)) {
            if *node == self.me {
                sealed.push(Vec::new());
                kept = Some((own.clone(), key.clone()));
                continue;
            }
            let purpose = Purpose::Sealing { from: self.me, to: *node };
            let Some(agreed) = sealing.agree(&advert.sealing, round, purpose) else {
                return unexpected(format!("a key of {node} that is none"));
            };
            sealed.push(agreed.seal(&[own.bytes(), key.bytes()].concat()));
        }
        let (sealing, masking) = (sealing.clone(), masking.clone());
        let kept = kept.expect("it has a place");
        self.stage = Stage::Dealt { sealing, masking, own, kept, roster: members.to_vec() };
        Ok(Some(Up::Shares { round, sealed }))
    }

    /// Everyone's shares are here: the masks for this member's vector, which is the last thing they are good for.
    pub fn shares(
        &mut self,
        round: u32,
        sealed: &[(NodeId, Vec<u8>)],
    ) -> Result<Option<Masks>, Misbehaviour> {
        let Stage::Dealt { sealing, masking, own, kept, roster } = &self.stage else { return Ok(None) };
        if round != self.round {
            return Ok(None);
        }
        let size = roster.len() as u32;
        if sealed.windows(2).any(|pair| pair[0].0 >= pair[1].0)
            || !sealed.iter().any(|(node, _)| *node == self.me)
        {
            return unexpected("shares that are not in order, or not of this client");
        }
        if (sealed.len() as u32) < size - self.terms.missing(size) {
            return unexpected(format!("shares of {} of a group of {size}", sealed.len()));
        }
        let place = roster.iter().position(|(node, _)| *node == self.me).expect("it was looked up");
        let (mut held, mut pairs) = (Vec::with_capacity(sealed.len()), Vec::with_capacity(sealed.len()));
        for (node, bytes) in sealed {
            if *node == self.me {
                held.push(Held { of: *node, pieces: Some(kept.clone()) });
                continue;
            }
            let Ok(at) = roster.binary_search_by_key(node, |(node, _)| *node) else {
                return unexpected(format!("shares of {node}, who is not in the group"));
            };
            let advert = &roster[at].1;
            let purpose = Purpose::Sealing { from: *node, to: self.me };
            let opened = sealing.agree(&advert.sealing, round, purpose).and_then(|key| key.open(bytes));
            let pieces = opened.filter(|plain| plain.len() == 2 * Piece::LEN).and_then(|plain| {
                let (own, key) = plain.split_at(Piece::LEN);
                Some((Piece::read(own, place)?, Piece::read(key, place)?))
            });
            held.push(Held { of: *node, pieces });
            let Some(seed) = masking.agree(&advert.masking, round, Purpose::Masking(self.me, *node)) else {
                return unexpected(format!("a key of {node} that is none"));
            };
            pairs.push((seed, adds(self.me, *node)));
        }
        let masks = Masks { size, own: own.clone(), pairs };
        self.stage = Stage::Masked { size, held };
        Ok(Some(masks))
    }

    /// Whose values are in the sum: shares that take their masks off, and of the others' keys, once. Never both for one
    /// member, and never where fewer are in the sum than its noise was made for.
    pub fn unmask(&mut self, round: u32, survivors: &[NodeId]) -> Result<Option<Up>, Misbehaviour> {
        let Stage::Masked { size, held } = &self.stage else { return Ok(None) };
        if round != self.round {
            return Ok(None);
        }
        if survivors.windows(2).any(|pair| pair[0] >= pair[1])
            || survivors.iter().any(|node| held.binary_search_by_key(node, |held| held.of).is_err())
        {
            return unexpected("a sum over members that are not in order, or not in the group");
        }
        if survivors.binary_search(&self.me).is_err() {
            return unexpected("a sum in which this client has no part");
        }
        let least = size - self.terms.missing(*size);
        if (survivors.len() as u32) < least {
            return unexpected(format!(
                "a sum over {} of a group of {size}, where {least} is the least",
                survivors.len()
            ));
        }
        let pieces = held.iter().map(|Held { of, pieces }| {
            let (own, key) = pieces.as_ref()?;
            Some(if survivors.binary_search(of).is_ok() { own } else { key }.clone())
        });
        let pieces = pieces.collect();
        self.stage = Stage::Away;
        Ok(Some(Up::Unmasking { round, pieces }))
    }
}
