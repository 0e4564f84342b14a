//! Descriptors: every connection takes one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors that a node needs besides its connections: stores, threads, logs.
const OTHERS: u64 = 64;

/// Raises the soft limit of open files to the hard one; says so when `connections` will not fit all the same.
/// Gives what holds now; `None` where there is no limit.
pub fn raise_files(connections: usize) -> Option<u64> {
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "the limit of open files could not be raised");
        }
    }
    let files = getrlimit(Resource::Nofile).current;
    if let Some(files) = files.filter(|files| *files < connections as u64 + OTHERS) {
        tracing::info!(
            files,
            connections,
            "this process may open fewer files than limits.connections asks for: raise the hard limit (ulimit -Hn)"
        );
    }
    files
}
