//! Ctrl-C: what is done is kept.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// The flag that Ctrl-C sets. The first lets finished runs be kept, the second ends the program at once.
pub(super) fn on_ctrl_c() -> &'static AtomicBool {
    let handled = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        eprintln!("\nstopping; finished runs are kept (once more: at once)");
    });
    if handled.is_err() {
        eprintln!("note: Ctrl-C will end the program at once");
    }
    &STOP
}

/// Threads to use when none are asked for.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
