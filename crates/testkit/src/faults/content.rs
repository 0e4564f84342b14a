//! What is in a file, and what of it a power cut may take back.

use super::dice::Dice;

/// One change of a file, with what takes it back.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// Bytes were written at a place; this was there before, and the file was so long.
    Write { at: usize, bytes: usize, before: Vec<u8>, length: usize },
    /// The file was cut off; this was behind.
    Cut { tail: Vec<u8> },
    /// It was made longer; it was so long.
    Grow { length: usize },
}

/// What is in a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Content {
    /// What is read.
    pub(super) bytes: Vec<u8>,
    /// What a power cut may take back, oldest first.
    pub(super) unsynced: Vec<Change>,
    /// Someone has it for itself.
    pub(super) locked: bool,
}

impl Content {
    /// Bytes at a place.
    pub(super) fn write(&mut self, bytes: &[u8], at: usize) {
        let (length, end) = (self.bytes.len(), at + bytes.len());
        let before = self.bytes.get(at..end.min(length)).unwrap_or_default().to_vec();
        self.unsynced.push(Change::Write { at, bytes: bytes.len(), before, length });
        if end > length {
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(bytes);
    }

    /// Cuts it off, or makes it longer.
    pub(super) fn set_len(&mut self, length: usize) {
        let before = self.bytes.len();
        if length < before {
            self.unsynced.push(Change::Cut { tail: self.bytes.split_off(length) });
        } else if length > before {
            self.unsynced.push(Change::Grow { length: before });
            self.bytes.resize(length, 0);
        }
    }

    /// What was not synced is lost from some change on, which may be torn or scrambled.
    pub(super) fn tear(&mut self, dice: &mut Dice) {
        let kept = match dice.below(4) {
            0 => 0,
            1 => self.unsynced.len(),
            _ => dice.below(self.unsynced.len() as u64 + 1) as usize,
        };
        while self.unsynced.len() > kept {
            let last = self.unsynced.len() == kept + 1;
            match self.unsynced.pop().expect("more than are kept") {
                Change::Cut { tail } => self.bytes.extend(tail),
                Change::Grow { length } => self.bytes.truncate(length),
                Change::Write { at, bytes, before, length } if last && !dice.one_in(4) => {
                    // Part of it came to the disk.
                    let came = dice.below(bytes as u64 + 1) as usize;
                    let scrambled = dice.one_in(2);
                    for i in came..bytes {
                        self.bytes[at + i] =
                            if scrambled { dice.bits() as u8 } else { before.get(i).copied().unwrap_or(0) };
                    }
                    if !scrambled {
                        self.bytes.truncate(length.max(at + came));
                    }
                }
                Change::Write { at, before, length, .. } => {
                    self.bytes[at..at + before.len()].copy_from_slice(&before);
                    self.bytes.truncate(length);
                }
            }
        }
        self.unsynced.clear();
    }
}
