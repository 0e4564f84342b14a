//! What happens to the federation on the way: a client is killed and comes back, and then the coordinator.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cahoots_lab::LabError;

use super::app::Apps;
use super::federation::{Federation, Who, go_on};
use super::files;

/// What happens, and when, as a share of the time.
const STORY: [(f64, Happening); 4] = [
    (0.25, Happening::KillClient),
    (0.35, Happening::ReviveClient),
    (0.5, Happening::KillCoordinator),
    (0.6, Happening::ReviveCoordinator),
];

#[derive(Clone, Copy)]
enum Happening {
    KillClient,
    ReviveClient,
    KillCoordinator,
    ReviveCoordinator,
}

/// A federation, and how far its story has come.
pub(super) struct Story<'a, 'f> {
    federation: &'a mut Federation<'f>,
    apps: &'a Apps,
    /// The client that is killed.
    client: usize,
    /// Whether its store is to be lost, too.
    loses: bool,
    /// What it had acknowledged when the coordinator was killed.
    before: u64,
    /// How much has happened.
    happened: usize,
}

impl<'a, 'f> Story<'a, 'f> {
    pub(super) fn new(federation: &'a mut Federation<'f>, apps: &'a Apps, loses: bool) -> Story<'a, 'f> {
        let client = federation.clients() / 3;
        Story { federation, apps, client, loses, before: 0, happened: 0 }
    }

    /// Lets happen what is due after this share of the time; says what it was.
    pub(super) fn go_on(&mut self, elapsed: f64, stop: &AtomicBool) -> Result<Option<String>, LabError> {
        self.federation.look();
        match STORY.get(self.happened) {
            Some((share, happening)) if *share <= elapsed => {
                self.happened += 1;
                self.happens(*happening, stop).map(Some)
            }
            _ => Ok(None),
        }
    }

    fn happens(&mut self, what: Happening, stop: &AtomicBool) -> Result<String, LabError> {
        let victim = Who::Client(self.client);
        Ok(match what {
            Happening::KillClient => {
                self.federation.kill(victim);
                format!("{victim} was killed (kill -9); its app waits")
            }
            Happening::ReviveClient => self.revive(victim, "is back, with all that it had acknowledged")?,
            Happening::KillCoordinator => {
                self.federation.kill(Who::Coordinator);
                self.before = self.acknowledged();
                "the coordinator was killed (kill -9); clients go on alone".into()
            }
            Happening::ReviveCoordinator => {
                if self.loses {
                    self.lose_a_store(stop)?;
                }
                let back = self.revive(Who::Coordinator, "is back")?;
                if self.loses {
                    return self.revive(victim, "is back without its store");
                }
                format!("{back}, and {} clients with it", self.federation.gather()?)
            }
        })
    }

    fn revive(&mut self, who: Who, words: &str) -> Result<String, LabError> {
        let back = self.federation.revive(who)?;
        Ok(if back { format!("{who} {words}") } else { format!("{who} did not come back") })
    }

    /// Kills the client once it has acknowledged something that nobody else can have, and deletes its store.
    fn lose_a_store(&mut self, stop: &AtomicBool) -> Result<(), LabError> {
        while self.acknowledged() == self.before {
            go_on(stop)?;
            std::thread::sleep(Duration::from_millis(5));
        }
        self.federation.kill(Who::Client(self.client));
        files::delete_store(self.federation.file(Who::Client(self.client)))
    }

    fn acknowledged(&self) -> u64 {
        self.apps.account().earned[self.client].decisions
    }
}
