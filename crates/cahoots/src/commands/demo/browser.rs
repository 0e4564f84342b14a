//! The page in the user's browser.

use std::process::{Command, Stdio};

/// Opens an address where there is a screen to show it on. Whether that works is the desktop's affair: it is printed too.
pub(super) fn open(address: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let screen = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| std::env::var_os(name).is_some());
    if !screen && !cfg!(target_os = "macos") {
        return;
    }
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if let Ok(mut opening) = command.spawn() {
        std::thread::spawn(move || opening.wait());
    }
}
