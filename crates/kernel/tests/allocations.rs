//! The hot step does not allocate.
#![allow(unsafe_code)]

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use cahoots_kernel::{Factor, Scores};
use common::{Statistics, Uniform, tiles};

struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn score_pick_and_learn_do_not_allocate() {
    for dim in [1, 10, 25, 100, 256] {
        let arms = Uniform(1).vectors(25, dim);
        let packed = tiles(dim, &arms);
        let mut factor = Factor::ridge(dim, 1.0);
        let mut scores = Scores::default();
        let mut data = Statistics::new(dim);
        data.add(&arms[0], 1.0);
        factor.score(&packed, &mut scores);
        // Learning never does, not even the first time.
        let before = COUNT.get();
        for _ in 0..10 {
            factor.score(&packed, &mut scores);
            let k = scores.highest_bound(1.0, None).arm;
            factor.learn(&arms[k], 0.5);
        }
        assert_eq!(COUNT.get(), before);
        // Rebuilding may, the first time that a thread needs so much.
        factor.rebuild(&data.gram, &data.moment, 1.0).unwrap();
        let before = COUNT.get();
        factor.rebuild(&data.gram, &data.moment, 1.0).unwrap();
        assert_eq!(COUNT.get(), before);
    }
}
