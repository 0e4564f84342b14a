//! Clocks that jump: a process whose date comes from a file, by libfaketime, where that is installed. How much time has passed is not
//! its to tell: that comes from the system.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Where systems put it.
const LIBRARIES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
];

/// The clock of one process.
pub(super) struct Clock(PathBuf);

impl Clock {
    /// Whether there can be one on this machine.
    pub(super) fn is_here() -> bool {
        library().is_some()
    }

    /// A program that starts `exe` under this clock and becomes it; both lie in `folder`.
    pub(super) fn of(exe: &Path, folder: &Path, name: &str) -> Result<(Clock, PathBuf), String> {
        let library = library().ok_or("libfaketime is not installed")?;
        let clock = Clock(folder.join(format!("{name}.clock")));
        clock.jump(0)?;
        let script = folder.join(format!("{name}.program"));
        let text = format!(
            "#!/bin/sh\nexport LD_PRELOAD='{library}' FAKETIME_TIMESTAMP_FILE='{}' FAKETIME_NO_CACHE=1 FAKETIME_DONT_FAKE_MONOTONIC=1\n\
             exec '{}' \"$@\"\n",
            clock.0.display(),
            exe.display()
        );
        let failed = |e: std::io::Error| format!("{}: {e}", script.display());
        std::fs::write(&script, text).map_err(failed)?;
        std::fs::set_permissions(&script, Permissions::from_mode(0o700)).map_err(failed)?;
        Ok((clock, script))
    }

    /// It is so many seconds fast from now on; slow, where they are less than none.
    pub(super) fn jump(&self, seconds: i64) -> Result<(), String> {
        let draft = self.0.with_extension("new");
        let written = std::fs::write(&draft, format!("{seconds:+}\n"));
        written
            .and_then(|()| std::fs::rename(&draft, &self.0))
            .map_err(|e| format!("{}: {e}", self.0.display()))
    }
}

fn library() -> Option<&'static str> {
    LIBRARIES.into_iter().find(|library| Path::new(library).exists())
}
