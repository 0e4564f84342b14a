//! What happens to the federation on the way: a client is killed and comes back, and then the coordinator.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cahoots_lab::LabError;

use super::app::Apps;
use super::federation::{Federation, Who, go_on};
use super::files;

/// What happens, and when, as a share of the time.
const STORY: &[(f64, Happening)] = &[
    (0.25, Happening::KillClient),
    (0.35, Happening::ReviveClient),
    (0.5, Happening::KillCoordinator),
    (0.6, Happening::ReviveCoordinator),
];

/// The same where several coordinators share a log.
const REPLICATED: &[(f64, Happening)] = &[
    (0.1, Happening::KillClient),
    (0.2, Happening::ReviveClient),
    (0.25, Happening::KillCoordinator),
    (0.4, Happening::ReviveCoordinator),
    (0.5, Happening::KillServer),
    (0.85, Happening::ReviveServer),
];

#[derive(Clone, Copy)]
enum Happening {
    KillClient,
    ReviveClient,
    KillCoordinator,
    ReviveCoordinator,
    KillServer,
    ReviveServer,
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
    /// The coordinator and the server that were killed.
    coordinator: usize,
    server: usize,
}

impl<'a, 'f> Story<'a, 'f> {
    pub(super) fn new(federation: &'a mut Federation<'f>, apps: &'a Apps, loses: bool) -> Story<'a, 'f> {
        let client = federation.clients() / 3;
        Story { federation, apps, client, loses, before: 0, happened: 0, coordinator: 0, server: 0 }
    }

    /// Lets happen what is due after this share of the time; says what it was.
    pub(super) fn go_on(&mut self, elapsed: f64, stop: &AtomicBool) -> Result<Option<String>, LabError> {
        self.federation.look();
        let story = if self.federation.is_replicated() { REPLICATED } else { STORY };
        match story.get(self.happened) {
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
                format!("{} was killed (kill -9); its app waits", self.federation.name(victim))
            }
            Happening::ReviveClient => self.revive(victim, "is back, with all that it had acknowledged")?,
            Happening::KillCoordinator => {
                self.coordinator = self.federation.leader().unwrap_or_default();
                self.federation.kill(Who::Coordinator(self.coordinator));
                self.before = self.acknowledged();
                let name = self.federation.name(Who::Coordinator(self.coordinator));
                match self.federation.is_replicated() {
                    true => format!("{name}, which led, was killed (kill -9); another will lead"),
                    false => format!("{name} was killed (kill -9); clients go on alone"),
                }
            }
            Happening::ReviveCoordinator => {
                if self.loses {
                    self.lose_a_store(stop)?;
                }
                let back = self.revive(Who::Coordinator(self.coordinator), "is back")?;
                if self.loses {
                    return self.revive(victim, "is back without its store");
                }
                let clients = self.federation.gather()?;
                match self.federation.leader().filter(|_| self.federation.is_replicated()) {
                    Some(leader) => {
                        let leads = self.federation.name(Who::Coordinator(leader));
                        format!("{back} and stands by; {leads} leads {clients} clients")
                    }
                    None => format!("{back}, and {clients} clients with it"),
                }
            }
            Happening::KillServer => {
                self.server = self.federation.log_leader().unwrap_or_default();
                self.federation.kill(Who::Server(self.server));
                let name = self.federation.name(Who::Server(self.server));
                format!("{name}, which led the log, was killed (kill -9); the other two elect a leader")
            }
            Happening::ReviveServer => self.revive(Who::Server(self.server), "is back")?,
        })
    }

    fn revive(&mut self, who: Who, words: &str) -> Result<String, LabError> {
        let back = self.federation.revive(who)?;
        let name = self.federation.name(who);
        Ok(if back { format!("{name} {words}") } else { format!("{name} did not come back") })
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
