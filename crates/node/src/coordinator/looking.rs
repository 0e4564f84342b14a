//! Questions of those who watch: answered at once, from what is in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use cahoots_core::{Fact, Learnt, NodeId};
use tokio::sync::oneshot;

use super::core::Core;
use super::membership::MemberStatus;
use super::status::CoordinatorStatus;
use super::watch::{Columns, Curves, Entry, Happening};
use super::{Command, Coordinator};
use crate::error::NodeError;

/// A question, and where its answer goes.
pub(super) enum Look {
    Status(oneshot::Sender<CoordinatorStatus>),
    /// Members that have changed since.
    Members(u64, oneshot::Sender<(u64, Vec<(u64, MemberStatus)>)>),
    /// At most so many models.
    Model(usize, oneshot::Sender<Model>),
    Curves(oneshot::Sender<Curves>),
    /// What happened, newest first.
    Journal(oneshot::Sender<Vec<Arc<Entry>>>),
}

/// What was learned.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Models, or some of them.
    pub models: Vec<Learnt>,
    /// How many there are.
    pub all: usize,
    /// Scale of a reward's noise, as the terms have it.
    pub reward_noise: f64,
}

/// Who watches may take one part in so many of the machine's time.
const SHARE: u32 = 50;

/// What was learned, as it was last computed: that takes a factorisation for each model, and the machine waits meanwhile.
#[derive(Debug, Default)]
pub(super) struct Models(Option<Made>);

#[derive(Debug)]
struct Made {
    model: Model,
    /// How many inputs the machine had taken.
    inputs: u64,
    /// How many models were asked for.
    most: usize,
    /// Until when it is good enough, whatever has come since.
    until: Duration,
}

impl Models {
    /// The same as long as the machine is the same, and for as long as computing it anew would take too much of its time.
    fn get(
        &mut self,
        inputs: u64,
        most: usize,
        elapsed: impl Fn() -> Duration,
        make: impl FnOnce() -> Model,
    ) -> &Model {
        let begun = elapsed();
        let good = |made: &Made| made.most == most && (made.inputs == inputs || begun < made.until);
        if !self.0.as_ref().is_some_and(good) {
            let model = make();
            let done = elapsed();
            let until = done + SHARE * done.saturating_sub(begun);
            self.0 = Some(Made { model, inputs, most, until });
        }
        &self.0.as_ref().expect("made above").model
    }
}

impl Coordinator {
    /// What it is doing.
    pub async fn status(&self) -> Option<CoordinatorStatus> {
        let status = self.look(Look::Status).await.ok()?;
        let mut limits = self.counters.read();
        limits.identities += status.limits.identities;
        Some(CoordinatorStatus { limits, ..status })
    }

    /// How often the machine's thread was asked by those who watch, since the start of this process.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }

    async fn look<T>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Look) -> Result<T, NodeError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.ask(|answer| Command::Look(question(answer))).await
    }

    /// Who ever joined, and is not forgotten.
    pub async fn members(&self) -> Result<Vec<MemberStatus>, NodeError> {
        Ok(self.members_since(0).await?.1)
    }

    /// Who has changed since a revision, and the present one.
    pub async fn members_since(&self, revision: u64) -> Result<(u64, Vec<MemberStatus>), NodeError> {
        let (now, changed) = self.member_changes(revision).await?;
        Ok((now, changed.into_iter().map(|(_, member)| member).collect()))
    }

    /// The same, each with the revision that it changed with.
    pub(crate) async fn member_changes(
        &self,
        revision: u64,
    ) -> Result<(u64, Vec<(u64, MemberStatus)>), NodeError> {
        self.look(|answer| Look::Members(revision, answer)).await
    }

    /// What was learned: at most so many models of it.
    pub async fn model(&self, most: usize) -> Result<Model, NodeError> {
        self.look(|answer| Look::Model(most, answer)).await
    }

    /// How it went in the last so many seconds; since the start of this process without.
    pub async fn curves(&self, window: Option<f64>) -> Result<Columns, NodeError> {
        Ok(self.all_curves().await?.columns(window))
    }

    /// How it went, to be looked at through any window.
    pub(crate) async fn all_curves(&self) -> Result<Curves, NodeError> {
        self.look(Look::Curves).await
    }

    /// What happened, to one client or at all, newest first.
    pub async fn journal(&self, client: Option<u32>, most: usize) -> Result<Vec<Entry>, NodeError> {
        let all = self.whole_journal().await?;
        let of = |entry: &&Arc<Entry>| client.is_none_or(|client| entry.client == Some(client));
        Ok(all.iter().filter(of).take(most).map(|entry| Entry::clone(entry)).collect())
    }

    /// All that happened, newest first.
    pub(crate) async fn whole_journal(&self) -> Result<Vec<Arc<Entry>>, NodeError> {
        self.look(Look::Journal).await
    }
}

impl Core {
    pub(super) fn look(&mut self, look: Look) {
        match look {
            Look::Status(answer) => drop(answer.send(self.status())),
            Look::Members(since, answer) => {
                let members = self.list_members(since);
                let _ = answer.send((self.watch.revision, members));
            }
            Look::Model(most, answer) => {
                let platform = self.store.platform();
                let made = self.models.get(
                    self.inputs,
                    most,
                    || platform.elapsed(),
                    || {
                        let (models, all) = self.machine.learnt(most);
                        Model { models, all, reward_noise: self.terms.setting.reward_noise }
                    },
                );
                let _ = answer.send(made.clone());
            }
            Look::Curves(answer) => drop(answer.send(self.watch.curves())),
            Look::Journal(answer) => drop(answer.send(self.watch.journal())),
        }
    }

    /// What the machine reported is entered in the books, and told where it is news.
    pub(super) fn enter(&mut self, facts: Vec<Fact>) {
        let (rounds, clusters) = (self.books.rounds, self.books.clusters);
        self.watch.regrouped |= facts.iter().any(|fact| matches!(fact, Fact::Clusters(_)));
        self.books.enter(NodeId::SERVER, facts);
        if self.books.rounds != rounds {
            let words = format!("{} rounds were held", self.books.rounds);
            self.watch.note(Happening::Round, None, words);
        }
        if self.books.clusters != clusters {
            let words = match self.books.clusters.unwrap_or_default() {
                1 => "all learn in one group".into(),
                groups => format!("clients learn in {groups} groups"),
            };
            self.watch.note(Happening::Clusters, None, words);
        }
    }

    /// Who came and who went is told.
    pub(super) fn note_moves(&mut self) {
        for (client, here) in std::mem::take(&mut self.members.moves) {
            let now = self.watch.now;
            let seen = self.watch.change(client);
            seen.since = now;
            if here {
                (seen.last_contact, seen.shown_contact) = (Some(now), now);
                seen.turned_away = None;
                seen.gone = false;
                self.watch.note(Happening::Connected, Some(client), "is here");
            } else {
                self.watch.note(Happening::Disconnected, Some(client), "is away");
            }
        }
    }

    /// Once a second: a moment of the curves, and what changes by itself.
    pub(super) fn sample(&mut self) {
        let observations = self.observations();
        self.watch.sample(self.members.connected.len(), observations);
        let waited_for: BTreeSet<NodeId> = self.machine.waiting_for().into_iter().collect();
        let mut changed: BTreeSet<NodeId> =
            self.watch.waited_for.symmetric_difference(&waited_for).copied().collect();
        self.watch.waited_for = waited_for;
        if std::mem::take(&mut self.watch.regrouped) {
            let mut groups: BTreeMap<NodeId, Vec<usize>> = BTreeMap::new();
            for (place, group) in self.machine.groups().iter().enumerate() {
                group.iter().for_each(|client| groups.entry(*client).or_default().push(place));
            }
            let moved = |client: &&NodeId| groups.get(client) != self.watch.groups.get(client);
            changed.extend(groups.keys().chain(self.watch.groups.keys()).filter(moved));
            self.watch.groups = groups;
        }
        // Who has become late a moment ago.
        let (now, late) = (self.watch.now, self.late);
        let became = self.watch.seen.iter().filter(|(client, seen)| {
            let away = now - seen.since;
            away >= late && away < late + 2.5 && !self.members.connected.contains_key(client)
        });
        changed.extend(became.map(|(client, _)| *client));
        for client in changed {
            self.watch.change(client);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_model_is_made_once_for_a_machine_and_not_more_often_than_it_has_time_for() {
        let (mut models, clock, made) = (Models::default(), Cell::new(0), Cell::new(0));
        let mut ask = |inputs, most, millis: u64| {
            clock.set(millis);
            let make = || {
                // It takes a second.
                clock.set(clock.get() + 1000);
                made.set(made.get() + 1);
                Model::default()
            };
            models.get(inputs, most, || Duration::from_millis(clock.get()), make);
            made.get()
        };
        assert_eq!(ask(7, 20, 0), 1);
        assert_eq!(ask(7, 20, 1_000_000), 1, "the machine is the same");
        assert_eq!(ask(8, 20, 1_000_000), 2, "it is another");
        assert_eq!(ask(9, 20, 1_050_999), 2, "it has had less than 50 seconds for itself");
        assert_eq!(ask(9, 20, 1_051_000), 3);
        assert_eq!(ask(9, 1, 1_051_000), 4, "another question");
    }
}
