//! Ctrl-C: what is done is kept.

use std::sync::atomic::{AtomicBool, Ordering};

use cahoots_lab::say;

/// Set by Ctrl-C.
static STOP: AtomicBool = AtomicBool::new(false);

/// The flag that Ctrl-C sets. The first lets finished runs be kept, the second ends the program at once.
pub(super) fn on_ctrl_c() -> &'static AtomicBool {
    on_ctrl_c_saying("stopping; finished runs are kept (once more: at once)")
}

/// The same, in other words.
pub(super) fn on_ctrl_c_saying(words: &'static str) -> &'static AtomicBool {
    let handled = ctrlc::set_handler(move || {
        if STOP.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
        say(format_args!("\n{words}"));
    });
    if handled.is_err() {
        say("note: Ctrl-C will end the program at once");
    }
    &STOP
}

/// For what keeps nothing: Ctrl-C ends the program, with the code that says so.
pub(super) fn exit_on_ctrl_c() {
    let _ = ctrlc::set_handler(|| std::process::exit(130));
}

/// Threads to use when none are asked for.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}
