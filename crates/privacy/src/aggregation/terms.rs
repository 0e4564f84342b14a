//! How large a group is, how many of it may fail, and how many may be against the others.

use cahoots_core::ParamError;
use serde::{Deserialize, Serialize};

/// What all members of a group count on. Fractions are of those who were there when the group was made.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Terms {
    /// The smallest group: fewer hide nobody.
    pub least: u32,
    /// The largest group; more clients are split.
    pub most: u32,
    /// The part that may fail or be late after the group was made.
    pub missing: f64,
    /// The part that may tell the coordinator all they know.
    pub colluding: f64,
}

/// From whom sums over a group are protected, for the accountant.
pub const OBSERVER: &str =
    "all parties outside its client that keep to the protocol, the stated part of its group among them";

/// What sums over a group do not protect, for a claim.
pub const NOT_PROTECTED: [&str; 2] = [
    "anyone from a coordinator that breaks the protocol: one that hands out keys of its own, makes clients up, or \
     tells members of different sums sees a client's sum under less noise than that",
    "that a client takes part in a round, and how many do",
];

impl Terms {
    /// Shares are points of a field of 256 elements, of which 0 is the secret's.
    pub const LARGEST: u32 = 255;

    /// What holds where nothing else is said.
    pub const USUAL: Terms = Terms { least: 5, most: 100, missing: 0.2, colluding: 0.2 };

    /// Refuses terms under which some group could not be summed, or not hidden.
    pub fn check(self) -> Result<Terms, ParamError> {
        let Terms { least, most, missing, colluding } = self;
        for (key, part) in [("missing", missing), ("colluding", colluding)] {
            if !(0.0..1.0).contains(&part) {
                return Err(ParamError::new(
                    key,
                    format!("must be a part of a group, from 0 to below 1, not {part}"),
                ));
            }
        }
        if least < 3 {
            let problem = format!("a sum over {least} hides nobody: at least 3");
            return Err(ParamError::new("group_least", problem));
        }
        if most > Self::LARGEST || most < 2 * least - 1 {
            // Whoever cannot be split into groups of at least `least` would be refused.
            let problem = format!(
                "must be {} to {} with group_least = {least}, not {most}",
                2 * least - 1,
                Self::LARGEST
            );
            return Err(ParamError::new("group_most", problem));
        }
        for n in least..=most {
            if self.threshold(n) > n - self.missing(n).min(n) {
                let problem = format!(
                    "of {n} clients {} may be missing and {} may collude: then no number of shares can be had of those who \
                     are left and not of two halves. 2 missing + colluding must stay below 1, and groups larger",
                    self.missing(n),
                    self.colluding(n)
                );
                return Err(ParamError::new("missing", problem));
            }
        }
        Ok(self)
    }

    /// How many of n may be missing.
    pub fn missing(&self, n: u32) -> u32 {
        libm::floor(self.missing * f64::from(n) + 1e-9) as u32
    }

    /// How many of n may collude.
    pub fn colluding(&self, n: u32) -> u32 {
        libm::floor(self.colluding * f64::from(n) + 1e-9) as u32
    }

    /// Shares that reveal a secret of a group of n: so many that a coordinator with all colluders on its side cannot
    /// have them from two sets of honest members that have no one in common. It can then not be told by some that a
    /// member is in the sum and by others that it is not, which would reveal both of its masks.
    pub fn threshold(&self, n: u32) -> u32 {
        (n + self.colluding(n)) / 2 + 1
    }

    /// Those of n whose noise is in the sum for certain, and unknown to whoever looks: the coordinator with all who
    /// collude, or another member, who knows its own share of the noise.
    pub fn honest(&self, n: u32) -> u32 {
        n.saturating_sub(self.missing(n) + self.colluding(n).max(1)).max(1)
    }

    /// Whether a group of n is one.
    pub fn allows(&self, n: u32) -> bool {
        (self.least..=self.most).contains(&n)
    }

    /// Sizes of the groups that n clients are split into, as equal as can be; none where they are too few.
    pub fn split(&self, n: u32) -> Vec<u32> {
        if n < self.least {
            return Vec::new();
        }
        let groups = n.div_ceil(self.most);
        (0..groups).map(|group| n / groups + u32::from(group < n % groups)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { least: 5, most: 100, missing: 0.2, colluding: 0.2 };

    #[test]
    fn no_two_disjoint_sets_of_honest_members_can_reveal_a_secret_each() {
        for n in 5..=100 {
            let (threshold, against) = (TERMS.threshold(n), TERMS.colluding(n));
            assert!(2 * (threshold - against) > n - against, "{n}");
            assert!(threshold <= n - TERMS.missing(n), "{n}: those who are left are enough");
        }
    }

    #[test]
    fn everyone_has_a_place_in_a_group_that_is_allowed() {
        TERMS.check().unwrap();
        for n in 0..700 {
            let sizes = TERMS.split(n);
            assert_eq!(sizes.iter().sum::<u32>(), if n < 5 { 0 } else { n });
            assert!(sizes.into_iter().all(|size| TERMS.allows(size)), "{n}");
        }
    }

    #[test]
    fn terms_that_cannot_be_kept_are_refused_with_the_key_to_change() {
        for (terms, key) in [
            (Terms { least: 2, ..TERMS }, "group_least"),
            (Terms { most: 256, ..TERMS }, "group_most"),
            (Terms { most: 6, ..TERMS }, "group_most"),
            (Terms { missing: 0.5, ..TERMS }, "missing"),
            (Terms { missing: 0.3, colluding: 0.4, ..TERMS }, "missing"),
            (Terms { colluding: 1.0, ..TERMS }, "colluding"),
            (Terms { missing: f64::NAN, ..TERMS }, "missing"),
        ] {
            assert_eq!(terms.check().unwrap_err().key, key, "{terms:?}");
        }
    }
}
