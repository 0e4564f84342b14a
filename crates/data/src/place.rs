//! Where what was prepared is kept, outside of any checkout.

use std::path::PathBuf;

/// Where the variable CAHOOTS_CACHE says; else in the user's own (XDG_CACHE_HOME, ~/.cache). None where nobody says.
pub(crate) fn usual() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("CAHOOTS_CACHE")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("cahoots")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache").join("cahoots")))
}
