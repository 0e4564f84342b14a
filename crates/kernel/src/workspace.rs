//! Scratch that outlives a call but belongs to no state: a small buffer per thread, and a large one
//! for those that need it.

use std::cell::RefCell;

use crate::simd::Chunk;

/// Enough to learn in 500 dimensions and to rebuild in 25.
const SMALL: usize = 320;

thread_local! {
    static BUFFER: RefCell<[Chunk; SMALL]> = const { RefCell::new([Chunk::ZERO; SMALL]) };
    static LARGE: RefCell<Vec<Chunk>> = const { RefCell::new(Vec::new()) };
}

/// Lends `len` chunks of any content. Allocates only if they are many, and more than ever before on
/// this thread.
#[inline(always)]
pub(crate) fn with<T>(len: usize, body: impl FnOnce(&mut [Chunk]) -> T) -> T {
    if len <= SMALL {
        BUFFER.with_borrow_mut(|buffer| body(&mut buffer[..len]))
    } else {
        LARGE.with_borrow_mut(|buffer| {
            if buffer.len() < len {
                buffer.resize(len, Chunk::ZERO);
            }
            body(&mut buffer[..len])
        })
    }
}
