//! Signs of life: who leads says so, again and again. They serve liveness alone; what keeps two from leading is the log.

use serde::{Deserialize, Serialize};

use super::key::LogKey;
use crate::platform::Platform;

const BESIDE: &[u8] = b"pulse";

/// What a leader says of itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pulse {
    /// Random, of its process.
    pub instance: u64,
    /// Its name among the coordinators.
    pub name: String,
    /// Where clients find it.
    pub address: String,
    /// Where its page is, if others can look at it.
    pub page: Option<String>,
    /// Its epoch.
    pub epoch: u64,
    /// The last message of its log.
    pub sequence: u64,
    /// It leads no longer: whoever stands by need not wait.
    pub resigns: bool,
}

impl Pulse {
    /// As it travels: whoever carries it can neither read nor make one.
    pub fn seal(&self, key: &LogKey, platform: &Platform) -> std::io::Result<Vec<u8>> {
        let plain = postcard::to_stdvec(self).map_err(std::io::Error::other)?;
        key.seal(platform, BESIDE, &plain)
    }

    /// One that came.
    pub fn open(sealed: &[u8], key: &LogKey) -> Option<Pulse> {
        postcard::from_bytes(&key.open(BESIDE, sealed)?).ok()
    }
}

/// How coordinators hear of each other.
pub trait Beacon: Send {
    /// This is said from now on, several times a second, until there is something else to say.
    fn say(&mut self, pulse: Option<Pulse>);

    /// The next of what others said.
    fn heard(&mut self) -> Option<Pulse>;
}
