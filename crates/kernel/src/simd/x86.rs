//! AVX2 with FMA, and AVX-512.
//!
//! Safety, for every block here: an [`Avx2`] or [`Avx512`] is only made by `detect`, after the host was
//! seen to have the instructions, so whoever holds one may execute them. Loads and stores go through
//! references to whole [`Chunk`]s, of which they touch at most the eight lanes.
#![allow(unsafe_code)]

use std::arch::x86_64::*;
use std::array::from_fn;

use super::portable::{Fused, One};
use super::{Chunk, Kernel, LANES, Lanes, Simd};

/// Proof that the host has AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(());

/// Proof that the host has AVX-512 F, DQ and VL, besides AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

/// Four lanes in one 256-bit register; holding a token as proof.
#[derive(Clone, Copy)]
pub(crate) struct Four(());

impl Avx2 {
    #[inline(always)]
    pub fn detect() -> Option<Avx2> {
        (is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")).then_some(Avx2(()))
    }

    /// Runs the operation compiled for AVX2.
    #[inline(always)]
    pub fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx2,fma")]
        fn enter<K: Kernel>(simd: Avx2, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        // SAFETY: `self` proves the features.
        unsafe { enter(self, kernel) }
    }
}

impl Avx512 {
    #[inline(always)]
    pub fn detect() -> Option<Avx512> {
        (Avx2::detect().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl"))
        .then_some(Avx512(()))
    }

    /// Runs the operation compiled for AVX-512.
    #[inline(always)]
    pub fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
        fn enter<K: Kernel>(simd: Avx512, kernel: K) -> K::Output {
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

/// Eight lanes in two registers.
#[derive(Clone, Copy)]
pub(crate) struct Pair(__m256d, __m256d);

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

/// Prefix sums by doubling.
#[inline(always)]
fn scan4(_: Four, v: __m256d) -> __m256d {
    // SAFETY: the token proves the features.
    unsafe {
        let zero = _mm256_setzero_pd();
        let by_one = _mm256_permute4x64_pd::<0b10_01_00_00>(v);
        let v = _mm256_add_pd(v, _mm256_blend_pd::<0b0001>(by_one, zero));
        let by_two = _mm256_permute2f128_pd::<0x08>(v, v);
        _mm256_add_pd(v, by_two)
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
    const TILES: usize = 1;
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
    fn sums(self, rows: [Pair; LANES]) -> Pair {
        // SAFETY: see `add`.
        let s = rows.map(|l| unsafe { _mm256_add_pd(l.0, l.1) });
        let four = Four(());
        Pair(sums4(four, [s[0], s[1], s[2], s[3]]), sums4(four, [s[4], s[5], s[6], s[7]]))
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
        let quarter =
            |first: usize, of: fn(Pair) -> __m256d| transpose4(four, from_fn(|r| of(rows[first + r])));
        let (a, b) = (quarter(0, |p| p.0), quarter(4, |p| p.0));
        let (c, d) = (quarter(0, |p| p.1), quarter(4, |p| p.1));
        from_fn(|j| if j < 4 { Pair(a[j], b[j]) } else { Pair(c[j - 4], d[j - 4]) })
    }
}

impl Lanes for Avx512 {
    type V = __m512d;
    type Chunk = Chunk;
    #[inline(always)]
    fn splat(self, x: f64) -> __m512d {
        // SAFETY: `self` proves the features (so in every method below).
        unsafe { _mm512_set1_pd(x) }
    }
    #[inline(always)]
    fn load(self, from: &Chunk) -> __m512d {
        // SAFETY: the chunk's eight lanes; a chunk is aligned to 64 bytes.
        unsafe { _mm512_load_pd(from.0.as_ptr()) }
    }
    #[inline(always)]
    fn store(self, v: __m512d, to: &mut Chunk) {
        // SAFETY: as in `load`, borrowed exclusively.
        unsafe { _mm512_store_pd(to.0.as_mut_ptr(), v) }
    }
    #[inline(always)]
    fn fma(self, a: __m512d, b: __m512d, c: __m512d) -> __m512d {
        // SAFETY: see `splat`.
        unsafe { _mm512_fmadd_pd(a, b, c) }
    }
}

impl Simd for Avx512 {
    type Half = Four;
    type One = One<Fused>;
    const TILES: usize = 4;
    #[inline(always)]
    fn half(self) -> Four {
        Four(())
    }
    #[inline(always)]
    fn one(self) -> One<Fused> {
        One(Fused)
    }
    #[inline(always)]
    fn add(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: `self` proves the features (so in every method below).
        unsafe { _mm512_add_pd(a, b) }
    }
    #[inline(always)]
    fn sub(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: see `add`.
        unsafe { _mm512_sub_pd(a, b) }
    }
    #[inline(always)]
    fn mul(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: see `add`.
        unsafe { _mm512_mul_pd(a, b) }
    }
    #[inline(always)]
    fn div(self, a: __m512d, b: __m512d) -> __m512d {
        // SAFETY: see `add`.
        unsafe { _mm512_div_pd(a, b) }
    }
    #[inline(always)]
    fn sqrt(self, a: __m512d) -> __m512d {
        // SAFETY: see `add`.
        unsafe { _mm512_sqrt_pd(a) }
    }
    #[inline(always)]
    fn sums(self, rows: [__m512d; LANES]) -> __m512d {
        // SAFETY: see `add`.
        unsafe {
            // s_k = l_k + l_(k+4) of two rows: [a.s, b.s].
            let fold = |a, b| {
                let low = _mm512_shuffle_f64x2::<0b01_00_01_00>(a, b);
                let high = _mm512_shuffle_f64x2::<0b11_10_11_10>(a, b);
                _mm512_add_pd(low, high)
            };
            // Rows 0 and 4 together, so that the rows come out in order.
            let s: [__m512d; 4] = from_fn(|r| fold(rows[r], rows[r + 4]));
            // [a0+a1, b0+b1, a2+a3, b2+b3 | the same of the rows + 4].
            let pairs = |a, b| _mm512_add_pd(_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b));
            let (ab, cd) = (pairs(s[0], s[1]), pairs(s[2], s[3]));
            let low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
            let high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
            let (p0, p1) = (_mm512_permutex2var_pd(ab, low, cd), _mm512_permutex2var_pd(ab, high, cd));
            // Lanes are now rows 0 1 2 3 4 5 6 7.
            _mm512_add_pd(p0, p1)
        }
    }
    #[inline(always)]
    fn scan(self, v: __m512d) -> __m512d {
        // SAFETY: see `add`.
        unsafe {
            let by_one = _mm512_maskz_permutex_pd::<0b10_01_00_00>(0b1110_1110, v);
            let v = _mm512_add_pd(v, by_one);
            let by_two = _mm512_maskz_permutex_pd::<0b01_00_00_00>(0b1100_1100, v);
            let v = _mm512_add_pd(v, by_two);
            let total = _mm512_maskz_permutexvar_pd(0b1111_0000, _mm512_set1_epi64(3), v);
            _mm512_add_pd(v, total)
        }
    }
    #[inline(always)]
    fn shift(self, v: __m512d, carry: __m512d) -> __m512d {
        // SAFETY: see `add`.
        unsafe {
            let (v, carry) = (_mm512_castpd_si512(v), _mm512_castpd_si512(carry));
            _mm512_castsi512_pd(_mm512_alignr_epi64::<7>(v, carry))
        }
    }
    #[inline(always)]
    fn last(self, v: __m512d) -> __m512d {
        // SAFETY: see `add`.
        unsafe { _mm512_permutexvar_pd(_mm512_set1_epi64(7), v) }
    }
    #[inline(always)]
    fn transpose(self, rows: [__m512d; LANES]) -> [__m512d; LANES] {
        // SAFETY: see `add`.
        unsafe {
            // Columns j and j + 1 of rows 2r, 2r + 1, in 128-bit quarters of even (odd) columns.
            let even: [__m512d; 4] = from_fn(|r| _mm512_unpacklo_pd(rows[2 * r], rows[2 * r + 1]));
            let odd: [__m512d; 4] = from_fn(|r| _mm512_unpackhi_pd(rows[2 * r], rows[2 * r + 1]));
            let quarters = |p: [__m512d; 4]| {
                // [p0.q0, p0.q2, p1.q0, p1.q2] and so on: a 4 by 4 transpose of quarters.
                let a = _mm512_shuffle_f64x2::<0b10_00_10_00>(p[0], p[1]);
                let b = _mm512_shuffle_f64x2::<0b11_01_11_01>(p[0], p[1]);
                let c = _mm512_shuffle_f64x2::<0b10_00_10_00>(p[2], p[3]);
                let d = _mm512_shuffle_f64x2::<0b11_01_11_01>(p[2], p[3]);
                [
                    _mm512_shuffle_f64x2::<0b10_00_10_00>(a, c),
                    _mm512_shuffle_f64x2::<0b10_00_10_00>(b, d),
                    _mm512_shuffle_f64x2::<0b11_01_11_01>(a, c),
                    _mm512_shuffle_f64x2::<0b11_01_11_01>(b, d),
                ]
            };
            let (even, odd) = (quarters(even), quarters(odd));
            from_fn(|j| if j % 2 == 0 { even[j / 2] } else { odd[j / 2] })
        }
    }
}
