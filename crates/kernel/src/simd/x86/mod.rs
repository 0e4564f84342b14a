//! AVX2 with FMA, and AVX-512.
//!
//! Safety, for every block here: an [`Avx2`], [`Four`](avx2::Four) or [`Avx512`] is only made once the
//! host was seen to have the instructions (`detect`, `get`), or from another such token, so whoever
//! holds one may execute them. Loads and stores go through references to [`Chunk`](super::Chunk)s and
//! arrays of eight numbers, or are masked to the length of a slice.
#![allow(unsafe_code)]

mod avx2;
mod avx512;

pub(crate) use avx2::Avx2;
pub(crate) use avx512::Avx512;
