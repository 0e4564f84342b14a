//! Eight lanes in two 256-bit registers, four in one.

use std::arch::x86_64::*;

use super::Avx512;
use crate::Level;
use crate::simd::portable::{Fused, One};
use crate::simd::{Chunk, Kernel, LANES, Lanes, Registers, Simd};

/// Proof that the host has AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

/// Four lanes in one register; the same proof.
#[derive(Clone, Copy)]
pub(crate) struct Four(());

/// Eight lanes in two registers.
#[derive(Clone, Copy)]
pub(crate) struct Pair(__m256d, __m256d);

impl Avx2 {
    /// Asks the host.
    pub(crate) fn detect() -> Option<Avx2> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Avx2(()))
    }

    /// As `detect`, but from the cached answer.
    #[inline(always)]
    pub(crate) fn get() -> Option<Avx2> {
        Level::Avx2.is_available().then_some(Avx2(()))
    }

    /// AVX2 is part of what the other token proves.
    #[inline(always)]
    pub(crate) fn implied(_: Avx512) -> Avx2 {
        Avx2(())
    }

    /// Runs the operation compiled for AVX2.
    #[inline(always)]
    pub(crate) fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma")]
        fn enter<K: Kernel>(simd: Avx2, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        // SAFETY: `self` proves the features.
        unsafe { enter(self, kernel) }
    }
}

impl Lanes for Four {
    type V = __m256d;
    type Chunk = Chunk;
    #[inline(always)]
    fn splat(self, x: f64) -> __m256d {
        // SAFETY: `self` proves the features (so in every method below).
        unsafe { _mm256_set1_pd(x) }
    }
    #[inline(always)]
    fn load(self, from: &Chunk) -> __m256d {
        // SAFETY: four of the chunk's eight lanes; a chunk is aligned to 64 bytes.
        unsafe { _mm256_load_pd(from.0.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, v: __m256d, to: &mut Chunk) {
        // SAFETY: as in `load`, borrowed exclusively.
        unsafe { _mm256_store_pd(to.0.as_mut_ptr(), v) }
    }
    #[inline(always)]
    fn fma(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        // SAFETY: `self` proves the features.
        unsafe { _mm256_fmadd_pd(a, b, c) }
    }
}

/// The four row sums `(s_0 + s_1) + (s_2 + s_3)`.
#[inline(always)]
fn sums4(_: Four, s: [__m256d; 4]) -> __m256d {
    // SAFETY: the token proves the features.
    unsafe {
        // [a0+a1, b0+b1, a2+a3, b2+b3] and the same of c and d.
        let ab = _mm256_hadd_pd(s[0], s[1]);
        let cd = _mm256_hadd_pd(s[2], s[3]);
        let low = _mm256_permute2f128_pd::<0x20>(ab, cd);
        let high = _mm256_permute2f128_pd::<0x31>(ab, cd);
        _mm256_add_pd(low, high)
    }
}

#[inline(always)]
fn transpose4(_: Four, r: [__m256d; 4]) -> [__m256d; 4] {
    // SAFETY: the token proves the features.
    unsafe {
        let ab = (_mm256_unpacklo_pd(r[0], r[1]), _mm256_unpackhi_pd(r[0], r[1]));
        let cd = (_mm256_unpacklo_pd(r[2], r[3]), _mm256_unpackhi_pd(r[2], r[3]));
        [
            _mm256_permute2f128_pd::<0x20>(ab.0, cd.0),
            _mm256_permute2f128_pd::<0x20>(ab.1, cd.1),
            _mm256_permute2f128_pd::<0x31>(ab.0, cd.0),
            _mm256_permute2f128_pd::<0x31>(ab.1, cd.1),
        ]
    }
}

/// Prefix sums of four lanes.
#[inline(always)]
fn scan4(_: Four, v: __m256d) -> __m256d {
    // SAFETY: the token proves the features.
    unsafe {
        let zero = _mm256_setzero_pd();
        let v = _mm256_add_pd(v, _mm256_unpacklo_pd(zero, v));
        let total = _mm256_permute4x64_pd::<0b01_01_01_01>(v);
        _mm256_add_pd(v, _mm256_blend_pd::<0b1100>(zero, total))
    }
}

impl Lanes for Avx2 {
    type V = Pair;
    type Chunk = Chunk;
    #[inline(always)]
    fn splat(self, x: f64) -> Pair {
        let v = Four(()).splat(x);
        Pair(v, v)
    }
    #[inline(always)]
    fn load(self, from: &Chunk) -> Pair {
        let high = from.0[4..].as_ptr();
        // SAFETY: the upper four of eight lanes, at a multiple of 32 bytes.
        Pair(Four(()).load(from), unsafe { _mm256_load_pd(high) })
    }
    #[inline(always)]
    fn store(self, v: Pair, to: &mut Chunk) {
        Four(()).store(v.0, to);
        let high = to.0[4..].as_mut_ptr();
        // SAFETY: as in `load`, borrowed exclusively.
        unsafe { _mm256_store_pd(high, v.1) }
    }
    #[inline(always)]
    fn fma(self, a: Pair, b: Pair, c: Pair) -> Pair {
        Pair(Four(()).fma(a.0, b.0, c.0), Four(()).fma(a.1, b.1, c.1))
    }
}

impl Simd for Avx2 {
    type Half = Four;
    type One = One<Fused>;
    const REGISTERS: Registers = Registers::Some;
    #[inline(always)]
    fn load_any(self, from: &[f64; LANES]) -> Pair {
        let (low, high) = (from.as_ptr(), from[4..].as_ptr());
        // SAFETY: the two halves of an array of eight; unaligned loads.
        unsafe { Pair(_mm256_loadu_pd(low), _mm256_loadu_pd(high)) }
    }
    #[inline(always)]
    fn load_some(self, from: &[f64], rest: Pair) -> Pair {
        // Eight lanes from `MASK[8 - n]` on: the first n are set.
        const MASK: [i64; 2 * LANES] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
        let mask = &MASK[LANES - from.len().min(LANES)..][..LANES];
        let start = from.as_ptr();
        // SAFETY: lanes past the slice's end are masked out, hence not read, and their addresses are
        // not dereferenced; `mask` has eight entries.
        unsafe {
            let low = _mm256_loadu_si256(mask.as_ptr().cast());
            let high = _mm256_loadu_si256(mask[4..].as_ptr().cast());
            let from_low = _mm256_maskload_pd(start, low);
            let from_high = _mm256_maskload_pd(start.wrapping_add(4), high);
            Pair(
                _mm256_blendv_pd(rest.0, from_low, _mm256_castsi256_pd(low)),
                _mm256_blendv_pd(rest.1, from_high, _mm256_castsi256_pd(high)),
            )
        }
    }
    #[inline(always)]
    fn half(self) -> Four {
        Four(())
    }
    #[inline(always)]
    fn one(self) -> One<Fused> {
        One(Fused)
    }
    #[inline(always)]
    fn add(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: `self` proves the features (so in every method below).
        unsafe { Pair(_mm256_add_pd(a.0, b.0), _mm256_add_pd(a.1, b.1)) }
    }
    #[inline(always)]
    fn sub(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: see `add`.
        unsafe { Pair(_mm256_sub_pd(a.0, b.0), _mm256_sub_pd(a.1, b.1)) }
    }
    #[inline(always)]
    fn mul(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: see `add`.
        unsafe { Pair(_mm256_mul_pd(a.0, b.0), _mm256_mul_pd(a.1, b.1)) }
    }
    #[inline(always)]
    fn div(self, a: Pair, b: Pair) -> Pair {
        // SAFETY: see `add`.
        unsafe { Pair(_mm256_div_pd(a.0, b.0), _mm256_div_pd(a.1, b.1)) }
    }
    #[inline(always)]
    fn sqrt(self, a: Pair) -> Pair {
        // SAFETY: see `add`.
        unsafe { Pair(_mm256_sqrt_pd(a.0), _mm256_sqrt_pd(a.1)) }
    }
    #[inline(always)]
    fn select_greater(self, a: Pair, b: Pair, x: Pair, y: Pair) -> Pair {
        // SAFETY: see `add`.
        unsafe {
            let low = _mm256_cmp_pd::<_CMP_GT_OQ>(a.0, b.0);
            let high = _mm256_cmp_pd::<_CMP_GT_OQ>(a.1, b.1);
            Pair(_mm256_blendv_pd(y.0, x.0, low), _mm256_blendv_pd(y.1, x.1, high))
        }
    }
    #[inline(always)]
    fn at_least(self, a: Pair, b: Pair) -> u8 {
        // SAFETY: see `add`.
        unsafe {
            let low = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(a.0, b.0));
            let high = _mm256_movemask_pd(_mm256_cmp_pd::<_CMP_GE_OQ>(a.1, b.1));
            (low | high << 4) as u8
        }
    }
    #[inline(always)]
    fn add_scaled(self, to: &mut [f64], scale: f64, x: &[f64]) {
        // Four at a time, not eight: most loads of eight that start anywhere straddle two cache lines.
        let (fours, to) = to.as_chunks_mut::<4>();
        let (x_fours, x) = x.as_chunks::<4>();
        for (to, x) in fours.iter_mut().zip(x_fours) {
            // SAFETY: arrays of four; unaligned.
            unsafe {
                let product = _mm256_mul_pd(_mm256_set1_pd(scale), _mm256_loadu_pd(x.as_ptr()));
                let sum = _mm256_add_pd(_mm256_loadu_pd(to.as_ptr()), product);
                _mm256_storeu_pd(to.as_mut_ptr(), sum);
            }
        }
        // At most three are left: a loop would be vectorised again.
        let (twos, to) = to.as_chunks_mut::<2>();
        let (x_twos, x) = x.as_chunks::<2>();
        if let (Some(to), Some(x)) = (twos.first_mut(), x_twos.first()) {
            // SAFETY: arrays of two; unaligned.
            unsafe {
                let product = _mm_mul_pd(_mm_set1_pd(scale), _mm_loadu_pd(x.as_ptr()));
                let sum = _mm_add_pd(_mm_loadu_pd(to.as_ptr()), product);
                _mm_storeu_pd(to.as_mut_ptr(), sum);
            }
        }
        if let (Some(to), Some(x)) = (to.first_mut(), x.first()) {
            *to += scale * x;
        }
    }
    #[inline(always)]
    fn sums(self, rows: [Pair; LANES]) -> Pair {
        let four = Four(());
        let mut s = [four.splat(0.0); LANES];
        for r in 0..LANES {
            // SAFETY: see `add`.
            s[r] = unsafe { _mm256_add_pd(rows[r].0, rows[r].1) };
        }
        let [a, b, c, d, e, f, g, h] = s;
        Pair(sums4(four, [a, b, c, d]), sums4(four, [e, f, g, h]))
    }
    #[inline(always)]
    fn scan(self, v: Pair) -> Pair {
        let (low, high) = (scan4(Four(()), v.0), scan4(Four(()), v.1));
        // SAFETY: see `add`.
        unsafe {
            let total = _mm256_permute4x64_pd::<0xff>(low);
            Pair(_mm256_add_pd(low, _mm256_setzero_pd()), _mm256_add_pd(high, total))
        }
    }
    #[inline(always)]
    fn shift(self, v: Pair, carry: Pair) -> Pair {
        // SAFETY: see `add`.
        unsafe {
            let low = _mm256_permute4x64_pd::<0b10_01_00_00>(v.0);
            let high = _mm256_permute4x64_pd::<0b10_01_00_00>(v.1);
            let between = _mm256_permute4x64_pd::<0xff>(v.0);
            Pair(_mm256_blend_pd::<1>(low, carry.0), _mm256_blend_pd::<1>(high, between))
        }
    }
    #[inline(always)]
    fn last(self, v: Pair) -> Pair {
        // SAFETY: see `add`.
        let last = unsafe { _mm256_permute4x64_pd::<0xff>(v.1) };
        Pair(last, last)
    }
    #[inline(always)]
    fn transpose(self, rows: [Pair; LANES]) -> [Pair; LANES] {
        let four = Four(());
        let [a, b, c, d, e, f, g, h] = rows;
        let (top_left, top_right) =
            (transpose4(four, [a.0, b.0, c.0, d.0]), transpose4(four, [a.1, b.1, c.1, d.1]));
        let (low_left, low_right) =
            (transpose4(four, [e.0, f.0, g.0, h.0]), transpose4(four, [e.1, f.1, g.1, h.1]));
        let mut columns = rows;
        for j in 0..4 {
            columns[j] = Pair(top_left[j], low_left[j]);
            columns[j + 4] = Pair(top_right[j], low_right[j]);
        }
        columns
    }
}
