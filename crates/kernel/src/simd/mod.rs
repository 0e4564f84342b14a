//! Eight lanes of `f64`, whatever the host offers.
//!
//! An implementation of [`Simd`] is a token: holding one proves that the host has the instructions, so
//! the operations are safe to call. Every operation is defined lane by lane, and the few that cross
//! lanes ([`Simd::sums`], [`Simd::scan`]) have a fixed tree of additions; hence equal bits everywhere.
//! All `unsafe` code of the project is in `x86` and `chunk` below.

pub(crate) mod chunk;
pub(crate) mod portable;
#[cfg(target_arch = "x86_64")]
pub(crate) mod x86;

use crate::Level;
pub(crate) use chunk::{Chunk, LANES, flat, flat_mut};

/// Lane-wise arithmetic: all that scoring needs.
pub(crate) trait Lanes: Copy {
    /// A register, or as many as hold the lanes.
    type V: Copy;
    /// What one `V` is loaded from.
    type Chunk;
    /// The same number in every lane.
    fn splat(self, x: f64) -> Self::V;
    /// Reads the leading lanes.
    fn load(self, from: &Self::Chunk) -> Self::V;
    /// Writes the leading lanes.
    fn store(self, v: Self::V, to: &mut Self::Chunk);
    /// `a b + c`, with one rounding or (plain arithmetic) two.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
}

/// How many vectors of eight lanes fit in the registers.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(crate) enum Registers {
    /// Four.
    Few,
    /// Eight.
    Some,
    /// Thirty-two.
    Many,
}

/// Eight lanes, with the operations along a row.
pub(crate) trait Simd: Lanes<Chunk = Chunk> {
    /// The first four lanes of a chunk.
    type Half: Lanes<Chunk = Chunk>;
    /// A single number.
    type One: Lanes<Chunk = f64>;
    /// Decides how much is scored at a time.
    const REGISTERS: Registers;
    /// Reads numbers that need not start on a cache line.
    fn load_any(self, from: &[f64; LANES]) -> Self::V;
    /// Reads fewer than eight numbers; the other lanes are those of `rest`.
    fn load_some(self, from: &[f64], rest: Self::V) -> Self::V;
    fn half(self) -> Self::Half;
    fn one(self) -> Self::One;
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    fn sqrt(self, a: Self::V) -> Self::V;
    /// In every lane, `x` where `a > b` (so never for NaN), else `y`.
    fn select_greater(self, a: Self::V, b: Self::V, x: Self::V, y: Self::V) -> Self::V;
    /// Bit `k` is set where lane `k` of `a` is at least that of `b` (so never for NaN).
    fn at_least(self, a: Self::V, b: Self::V) -> u8;
    /// Lane `r` is the sum over `rows[r]`: with `s_k = l_k + l_(k+4)`, `(s_0 + s_1) + (s_2 + s_3)`.
    fn sums(self, rows: [Self::V; LANES]) -> Self::V;
    /// Inclusive prefix sums: within pairs, then the low pair's total onto the high pair, then the low
    /// half's onto the high half. A zero lane leaves the sum of the lane before exactly as it was.
    fn scan(self, v: Self::V) -> Self::V;
    /// `[carry, v_0, .., v_6]`; `carry` is a splat.
    fn shift(self, v: Self::V, carry: Self::V) -> Self::V;
    /// Lane 7 in every lane.
    fn last(self, v: Self::V) -> Self::V;
    /// Lane `r` of output `j` is lane `j` of input `r`.
    fn transpose(self, rows: [Self::V; LANES]) -> [Self::V; LANES];
}

/// An operation written once for all levels. `run` must be `#[inline(always)]`, as must all it calls:
/// only code inlined into the level's entry point is compiled with the level's instructions. Closures
/// (and `from_fn`, `map`) are therefore out of the question wherever vectors are at hand.
pub(crate) trait Kernel {
    type Output;
    fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Runs the operation at the level.
///
/// Inlined, and the operation behind one call, so that its arguments are written once: copying them
/// from place to place would cost as much as a small operation.
///
/// # Panics
/// If this host lacks the level.
#[inline(always)]
pub(crate) fn dispatch<K: Kernel>(level: Level, kernel: K) -> K::Output {
    match level {
        Level::Plain => enter(portable::Plain, kernel),
        Level::Scalar => enter(portable::Fused, kernel),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => x86::Avx2::get().expect(LACKING).vectorize(kernel),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => x86::Avx512::get().expect(LACKING).vectorize(kernel),
        #[cfg(not(target_arch = "x86_64"))]
        Level::Avx2 | Level::Avx512 => panic!("{LACKING}"),
    }
}

#[inline(never)]
fn enter<S: Simd, K: Kernel>(simd: S, kernel: K) -> K::Output {
    kernel.run(simd)
}

const LACKING: &str = "this host lacks the instructions of the requested level";
