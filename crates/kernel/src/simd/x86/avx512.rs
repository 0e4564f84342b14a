//! Eight lanes in one 512-bit register.

use std::arch::x86_64::*;

use super::avx2::{Avx2, Four};
use crate::Level;
use crate::simd::portable::{Fused, One};
use crate::simd::{Chunk, Kernel, LANES, Lanes, Registers, Simd};

/// Proof that the host has AVX-512 F, DQ and VL, besides AVX2 and FMA.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(());

impl Avx512 {
    /// Asks the host.
    pub(crate) fn detect() -> Option<Avx512> {
        (Avx2::detect().is_some()
            && is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl"))
        .then_some(Avx512(()))
    }

    /// As `detect`, but from the cached answer.
    #[inline(always)]
    pub(crate) fn get() -> Option<Avx512> {
        Level::Avx512.is_available().then_some(Avx512(()))
    }

    /// AVX-512 implies AVX2.
    #[inline(always)]
    fn narrower(self) -> Avx2 {
        Avx2::implied(self)
    }

    /// Runs the operation compiled for AVX-512.
    #[inline(always)]
    pub(crate) fn vectorize<K: Kernel>(self, kernel: K) -> K::Output {
        #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx2,fma")]
        fn enter<K: Kernel>(simd: Avx512, kernel: K) -> K::Output {
            kernel.run(simd)
        }
        // SAFETY: `self` proves the features.
        unsafe { enter(self, kernel) }
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
    const REGISTERS: Registers = Registers::Many;
    #[inline(always)]
    fn load_any(self, from: &[f64; LANES]) -> __m512d {
        // SAFETY: an array of eight; an unaligned load.
        unsafe { _mm512_loadu_pd(from.as_ptr()) }
    }
    #[inline(always)]
    fn load_some(self, from: &[f64], rest: __m512d) -> __m512d {
        let mask = (1_u16 << from.len().min(LANES)) - 1;
        // SAFETY: lanes past the slice's end are masked out, hence not read.
        unsafe { _mm512_mask_loadu_pd(rest, mask as u8, from.as_ptr()) }
    }
    #[inline(always)]
    fn half(self) -> Four {
        self.narrower().half()
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
    fn select_greater(self, a: __m512d, b: __m512d, x: __m512d, y: __m512d) -> __m512d {
        // SAFETY: see `add`.
        unsafe { _mm512_mask_blend_pd(_mm512_cmp_pd_mask::<_CMP_GT_OQ>(a, b), y, x) }
    }
    #[inline(always)]
    fn at_least(self, a: __m512d, b: __m512d) -> u8 {
        // SAFETY: see `add`.
        unsafe { _mm512_cmp_pd_mask::<_CMP_GE_OQ>(a, b) }
    }
    #[inline(always)]
    fn add_scaled(self, to: &mut [f64], scale: f64, x: &[f64]) {
        self.narrower().add_scaled(to, scale, x);
    }
    #[inline(always)]
    fn sums(self, rows: [__m512d; LANES]) -> __m512d {
        // SAFETY: see `add`.
        unsafe {
            // Rows r and r + 4 together, so that the rows come out in order: [a.s | b.s].
            let mut s = [_mm512_setzero_pd(); 4];
            for r in 0..4 {
                let low = _mm512_shuffle_f64x2::<0b01_00_01_00>(rows[r], rows[r + 4]);
                let high = _mm512_shuffle_f64x2::<0b11_10_11_10>(rows[r], rows[r + 4]);
                s[r] = _mm512_add_pd(low, high);
            }
            // [a0+a1, b0+b1, a2+a3, b2+b3 | the same of the rows + 4].
            let ab = _mm512_add_pd(_mm512_unpacklo_pd(s[0], s[1]), _mm512_unpackhi_pd(s[0], s[1]));
            let cd = _mm512_add_pd(_mm512_unpacklo_pd(s[2], s[3]), _mm512_unpackhi_pd(s[2], s[3]));
            let low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
            let high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
            let low = _mm512_permutex2var_pd(ab, low, cd);
            _mm512_add_pd(low, _mm512_permutex2var_pd(ab, high, cd))
        }
    }
    #[inline(always)]
    fn scan(self, v: __m512d) -> __m512d {
        // SAFETY: see `add`.
        unsafe {
            let v = _mm512_add_pd(v, _mm512_unpacklo_pd(_mm512_setzero_pd(), v));
            let total = _mm512_maskz_permutex_pd::<0b01_01_01_01>(0b1100_1100, v);
            let v = _mm512_add_pd(v, total);
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
            let zero = _mm512_setzero_pd();
            let mut columns = [zero; LANES];
            for odd in 0..2 {
                // Quarter q of `p[r]`: column 2q + odd of rows 2r and 2r + 1.
                let mut p = [zero; 4];
                for r in 0..4 {
                    let (even_row, odd_row) = (rows[2 * r], rows[2 * r + 1]);
                    p[r] = if odd == 0 {
                        _mm512_unpacklo_pd(even_row, odd_row)
                    } else {
                        _mm512_unpackhi_pd(even_row, odd_row)
                    };
                }
                // What remains is to transpose 4 by 4 quarters.
                let a = _mm512_shuffle_f64x2::<0b10_00_10_00>(p[0], p[1]);
                let b = _mm512_shuffle_f64x2::<0b11_01_11_01>(p[0], p[1]);
                let c = _mm512_shuffle_f64x2::<0b10_00_10_00>(p[2], p[3]);
                let d = _mm512_shuffle_f64x2::<0b11_01_11_01>(p[2], p[3]);
                columns[odd] = _mm512_shuffle_f64x2::<0b10_00_10_00>(a, c);
                columns[2 + odd] = _mm512_shuffle_f64x2::<0b10_00_10_00>(b, d);
                columns[4 + odd] = _mm512_shuffle_f64x2::<0b11_01_11_01>(a, c);
                columns[6 + odd] = _mm512_shuffle_f64x2::<0b11_01_11_01>(b, d);
            }
            columns
        }
    }
}
