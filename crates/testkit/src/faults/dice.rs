//! Where a schedule's chances come from: a small generator with a stream for every purpose.

/// Draws.
#[derive(Clone, Debug)]
pub(super) struct Dice(u64);

impl Dice {
    /// For this purpose of this seed.
    pub(super) fn new(seed: u64, purpose: u64) -> Dice {
        let mut dice = Dice(seed ^ purpose.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        dice.bits();
        Dice(dice.bits() ^ seed)
    }

    /// 64 bits: splitmix64.
    pub(super) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// In 0..n; 0 where n is 0.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.bits() % n }
    }

    /// In `from..to`.
    pub(super) fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to.saturating_sub(from))
    }

    /// Once in so many times.
    pub(super) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of these.
    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }
}
