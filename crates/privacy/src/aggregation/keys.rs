//! Keys, shares and masks: X25519, HKDF over SHA-256, ChaCha20 and Shamir's scheme, each as its crate has it.

use blahaj::{Share, Sharks};
use cahoots_core::{NodeId, Stream};
use chacha20poly1305::aead::{Aead, KeyInit};
use chacha20poly1305::{ChaCha20Poly1305, Nonce};
use hkdf::Hkdf;
use rand_chacha::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use x25519_dalek::{PublicKey, StaticSecret};

/// What others are told.
pub type Public = [u8; 32];

/// Whether anybody can agree on a key with the owner of this one: not with a constant in disguise.
pub(super) fn is_key(public: &Public) -> bool {
    StaticSecret::from([1; 32]).diffie_hellman(&PublicKey::from(*public)).was_contributory()
}

/// A private key, or the seed of a mask. Shown to nobody.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Secret(pub(super) [u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

/// What an agreed key is for: no key serves two purposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Sealing what `from` sends to `to`.
    Sealing { from: NodeId, to: NodeId },
    /// The mask that two members have in common.
    Masking(NodeId, NodeId),
}

impl Secret {
    pub(super) fn draw(rng: &mut Stream) -> Secret {
        let mut bytes = [0; 32];
        bytes.chunks_exact_mut(8).for_each(|chunk| chunk.copy_from_slice(&rng.bits().to_le_bytes()));
        Secret(bytes)
    }

    pub(super) fn public(&self) -> Public {
        PublicKey::from(&StaticSecret::from(self.0)).to_bytes()
    }

    /// The key that this and the owner of `theirs` have in common in a round; none with a public key that is a constant
    /// in disguise.
    pub(super) fn agree(&self, theirs: &Public, round: u32, purpose: Purpose) -> Option<Secret> {
        let shared = StaticSecret::from(self.0).diffie_hellman(&PublicKey::from(*theirs));
        if !shared.was_contributory() {
            return None;
        }
        let (name, first, second) = match purpose {
            Purpose::Sealing { from, to } => (b"cahoots/aggregation/1/seal", from, to),
            Purpose::Masking(one, other) => (b"cahoots/aggregation/1/mask", one.min(other), one.max(other)),
        };
        let mut key = [0; 32];
        let info = [name.as_slice(), &round.to_le_bytes(), &first.0.to_le_bytes(), &second.0.to_le_bytes()];
        let keyed = Hkdf::<Sha256>::new(None, shared.as_bytes());
        keyed.expand_multi_info(&info, &mut key).expect("32 bytes can be had");
        Some(Secret(key))
    }

    /// Adds (or takes away) the mask that grows from this seed.
    pub(super) fn mask(&self, values: &mut [u64], add: bool) {
        let mut stream = ChaCha20Rng::from_seed(self.0);
        for value in values {
            let mask = stream.next_u64();
            *value = if add { value.wrapping_add(mask) } else { value.wrapping_sub(mask) };
        }
    }

    /// Encrypted and authenticated. A key seals one message alone, so that its nonce may be a constant.
    pub(super) fn seal(&self, plain: &[u8]) -> Vec<u8> {
        let cipher = ChaCha20Poly1305::new(&self.0.into());
        cipher.encrypt(&Nonce::default(), plain).expect("short enough")
    }

    /// What was sealed; none if it was not sealed with this key.
    pub(super) fn open(&self, sealed: &[u8]) -> Option<Vec<u8>> {
        ChaCha20Poly1305::new(&self.0.into()).decrypt(&Nonce::default(), sealed).ok()
    }

    /// Shares for so many members, of which `threshold` reveal it.
    pub(super) fn shares(&self, threshold: u32, members: usize, rng: &mut Stream) -> Vec<Piece> {
        let mut seed = ChaCha20Rng::from_seed(Secret::draw(rng).0);
        let dealer = Sharks(threshold as u8).dealer_rng(&self.0, &mut seed);
        dealer.take(members).map(|share| Piece(Vec::from(&share))).collect()
    }

    /// The secret behind shares, of which there must be `threshold`, each of another member.
    pub(super) fn recover(pieces: &[&Piece], threshold: u32) -> Option<Secret> {
        let shares: Option<Vec<Share>> = pieces
            .iter()
            .take(threshold as usize)
            .map(|piece| Share::try_from(piece.0.as_slice()).ok().filter(|_| piece.0.len() == Piece::LEN))
            .collect();
        let secret = Sharks(threshold as u8).recover(&shares?).ok()?;
        secret.try_into().ok().map(Secret)
    }
}

/// One member's share of a secret: where it lies, and 32 bytes.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece(Vec<u8>);

impl Piece {
    /// Bytes of it.
    pub(super) const LEN: usize = 33;

    /// What a member says that it holds: for the place in the roster that is its own.
    pub(super) fn read(bytes: &[u8], place: usize) -> Option<Piece> {
        let sound = bytes.len() == Self::LEN && usize::from(bytes[0]) == place + 1;
        sound.then(|| Piece(bytes.to_vec()))
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl std::fmt::Debug for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Piece(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::Keys;

    fn rng() -> Stream {
        Keys::from_seed(5).privacy(NodeId(0), 0)
    }

    fn hex(text: &str) -> [u8; 32] {
        std::array::from_fn(|at| u8::from_str_radix(&text[2 * at..2 * at + 2], 16).unwrap())
    }

    /// RFC 7748, section 6.1; RFC 8439, appendix A.1.
    #[test]
    fn the_parts_are_what_the_standards_say() {
        let alice = Secret(hex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a"));
        let bob = Secret(hex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb"));
        assert_eq!(alice.public(), hex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"));
        assert_eq!(bob.public(), hex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"));
        let mut values = [0];
        Secret([0; 32]).mask(&mut values, true);
        assert_eq!(values[0].to_le_bytes(), [0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90]);
    }

    #[test]
    fn two_agree_on_a_key_for_each_purpose_and_round() {
        let (one, other) = (Secret::draw(&mut rng()), Secret([7; 32]));
        let (a, b) = (NodeId(1), NodeId(2));
        let mut all = Vec::new();
        for round in [1, 2] {
            for purpose in [
                Purpose::Masking(a, b),
                Purpose::Sealing { from: a, to: b },
                Purpose::Sealing { from: b, to: a },
                Purpose::Masking(a, NodeId(3)),
            ] {
                let key = one.agree(&other.public(), round, purpose).unwrap();
                assert_eq!(key, other.agree(&one.public(), round, purpose).unwrap());
                assert!(!all.contains(&key), "{round} {purpose:?}");
                all.push(key);
            }
        }
        assert_eq!(one.agree(&[0; 32], 1, Purpose::Masking(a, b)), None, "a point of small order");
    }

    #[test]
    fn as_many_shares_as_it_takes_reveal_a_secret_and_fewer_do_not() {
        let secret = Secret::draw(&mut rng());
        let pieces = secret.shares(4, 7, &mut rng());
        let some: Vec<&Piece> = [6, 0, 3, 5].iter().map(|&at| &pieces[at]).collect();
        assert_eq!(Secret::recover(&some, 4), Some(secret.clone()));
        assert_eq!(Secret::recover(&some[..3], 4), None);
        assert_ne!(Secret::recover(&some[..3], 3), Some(secret), "of a polynomial of higher degree");
        assert_eq!(Secret::recover(&[some[0], some[0], some[0], some[0]], 4), None);
        assert!(Piece::read(pieces[2].bytes(), 2).is_some() && Piece::read(pieces[2].bytes(), 3).is_none());
    }

    #[test]
    fn what_was_changed_on_the_way_does_not_open() {
        let key = Secret::draw(&mut rng());
        let mut sealed = key.seal(b"shares");
        assert_eq!(key.open(&sealed).as_deref(), Some(b"shares".as_slice()));
        sealed[3] ^= 1;
        assert_eq!(key.open(&sealed), None);
    }
}
