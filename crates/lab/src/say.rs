//! Words on the way, for people.

use std::io::Write as _;

/// A line on the standard error. A reader that has gone away (`cahoots run 2>&1 | head`) is no failure.
pub fn say(line: impl std::fmt::Display) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
