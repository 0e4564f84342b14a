//! Scratch that outlives a call but belongs to no state: one buffer per thread.

use std::cell::RefCell;

use crate::simd::Chunk;

thread_local! {
    static BUFFER: RefCell<Vec<Chunk>> = const { RefCell::new(Vec::new()) };
}

/// Lends at least `len` chunks of any content; allocates only when this thread never needed as many.
#[inline]
pub(crate) fn with<T>(len: usize, body: impl FnOnce(&mut [Chunk]) -> T) -> T {
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < len {
            buffer.resize(len, Chunk::ZERO);
        }
        body(&mut buffer[..len])
    })
}
