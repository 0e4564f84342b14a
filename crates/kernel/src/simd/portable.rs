//! The lanes as arrays: the definition that the other levels must match bit for bit.

use std::array::from_fn;

use super::{Chunk, LANES, Lanes, Registers, Simd};

/// `f64::mul_add` in every lane.
#[derive(Clone, Copy)]
pub(crate) struct Fused;

/// Separate multiply and add in every lane.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

/// The first `N` lanes of a chunk.
#[derive(Clone, Copy)]
pub(crate) struct First<A, const N: usize>(A);

/// A single number.
#[derive(Clone, Copy)]
pub(crate) struct One<A>(pub A);

/// What tells the two portable levels apart.
pub(crate) trait Arithmetic: Copy {
    fn fma(a: f64, b: f64, c: f64) -> f64;
}

impl Arithmetic for Fused {
    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        a.mul_add(b, c)
    }
}

impl Arithmetic for Plain {
    #[inline(always)]
    fn fma(a: f64, b: f64, c: f64) -> f64 {
        a * b + c
    }
}

impl<A: Arithmetic, const N: usize> Lanes for First<A, N> {
    type V = [f64; N];
    type Chunk = Chunk;
    #[inline(always)]
    fn splat(self, x: f64) -> [f64; N] {
        [x; N]
    }
    #[inline(always)]
    fn load(self, from: &Chunk) -> [f64; N] {
        from_fn(|k| from.0[k])
    }
    #[inline(always)]
    fn store(self, v: [f64; N], to: &mut Chunk) {
        to.0[..N].copy_from_slice(&v);
    }
    #[inline(always)]
    fn fma(self, a: [f64; N], b: [f64; N], c: [f64; N]) -> [f64; N] {
        from_fn(|k| A::fma(a[k], b[k], c[k]))
    }
}

impl<A: Arithmetic> Lanes for One<A> {
    type V = f64;
    type Chunk = f64;
    #[inline(always)]
    fn splat(self, x: f64) -> f64 {
        x
    }
    #[inline(always)]
    fn load(self, from: &f64) -> f64 {
        *from
    }
    #[inline(always)]
    fn store(self, v: f64, to: &mut f64) {
        *to = v;
    }
    #[inline(always)]
    fn fma(self, a: f64, b: f64, c: f64) -> f64 {
        A::fma(a, b, c)
    }
}

macro_rules! level {
    ($level:ident) => {
        impl Lanes for $level {
            type V = [f64; LANES];
            type Chunk = Chunk;
            #[inline(always)]
            fn splat(self, x: f64) -> Self::V {
                [x; LANES]
            }
            #[inline(always)]
            fn load(self, from: &Chunk) -> Self::V {
                from.0
            }
            #[inline(always)]
            fn store(self, v: Self::V, to: &mut Chunk) {
                to.0 = v;
            }
            #[inline(always)]
            fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                from_fn(|k| <$level as Arithmetic>::fma(a[k], b[k], c[k]))
            }
        }

        impl Simd for $level {
            type Half = First<$level, 4>;
            type One = One<$level>;
            const REGISTERS: Registers = Registers::Few;
            #[inline(always)]
            fn load_any(self, from: &[f64; LANES]) -> Self::V {
                *from
            }
            #[inline(always)]
            fn load_some(self, from: &[f64], rest: Self::V) -> Self::V {
                let mut v = rest;
                for (lane, &number) in v.iter_mut().zip(from) {
                    *lane = number;
                }
                v
            }
            #[inline(always)]
            fn half(self) -> Self::Half {
                First(self)
            }
            #[inline(always)]
            fn one(self) -> Self::One {
                One(self)
            }
            #[inline(always)]
            fn add(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|k| a[k] + b[k])
            }
            #[inline(always)]
            fn sub(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|k| a[k] - b[k])
            }
            #[inline(always)]
            fn mul(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|k| a[k] * b[k])
            }
            #[inline(always)]
            fn div(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|k| a[k] / b[k])
            }
            #[inline(always)]
            fn sqrt(self, a: Self::V) -> Self::V {
                a.map(f64::sqrt)
            }
            #[inline(always)]
            fn select_greater(self, a: Self::V, b: Self::V, x: Self::V, y: Self::V) -> Self::V {
                from_fn(|k| if a[k] > b[k] { x[k] } else { y[k] })
            }
            #[inline(always)]
            fn at_least(self, a: Self::V, b: Self::V) -> u8 {
                (0..LANES).fold(0, |bits, k| bits | u8::from(a[k] >= b[k]) << k)
            }
            #[inline(always)]
            fn sums(self, rows: [Self::V; LANES]) -> Self::V {
                rows.map(|l| {
                    let s: [f64; 4] = from_fn(|k| l[k] + l[k + 4]);
                    (s[0] + s[1]) + (s[2] + s[3])
                })
            }
            #[inline(always)]
            fn scan(self, v: Self::V) -> Self::V {
                // The zeros are added too: they turn a negative zero positive at every level.
                let v: Self::V = from_fn(|k| v[k] + if k % 2 == 1 { v[k - 1] } else { 0.0 });
                let v: Self::V = from_fn(|k| v[k] + if k % 4 >= 2 { v[k / 4 * 4 + 1] } else { 0.0 });
                from_fn(|k| v[k] + if k >= 4 { v[3] } else { 0.0 })
            }
            #[inline(always)]
            fn shift(self, v: Self::V, carry: Self::V) -> Self::V {
                from_fn(|k| if k == 0 { carry[7] } else { v[k - 1] })
            }
            #[inline(always)]
            fn last(self, v: Self::V) -> Self::V {
                [v[7]; LANES]
            }
            #[inline(always)]
            fn transpose(self, rows: [Self::V; LANES]) -> [Self::V; LANES] {
                from_fn(|j| from_fn(|r| rows[r][j]))
            }
        }
    };
}

level!(Fused);
level!(Plain);
