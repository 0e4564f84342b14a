//! What a client spends of its users' privacy, and when it is enough.

use cahoots_core::NodeId;

use super::super::telemetry::Spending;
use super::State;
use crate::privacy::Account;
use crate::transport::refusal;

impl State {
    /// A step has released something: it is on record in the commit that lets it leave. If that would be more than the
    /// ceiling, it does not leave, and nothing after it.
    pub(super) fn released(&mut self) {
        let Some(member) = &self.member else { return };
        if self.account.withdrawn().is_some() {
            return;
        }
        let mut account = self.account.clone();
        account.enter(&member.books.accountant);
        match self.ceiling.map_or(Ok(()), |ceiling| ceiling.covers(&account)) {
            Ok(()) => {
                self.account = account;
                self.keep_account();
            }
            Err(reason) => self.withdraw(reason),
        }
    }

    /// What is on record must not be above the ceiling, whatever led to it.
    pub(in crate::client) fn hold_to_ceiling(&mut self) {
        if self.account.withdrawn().is_none()
            && let Some(Err(reason)) = self.ceiling.map(|ceiling| ceiling.covers(&self.account))
        {
            self.withdraw(reason);
        }
    }

    /// From now on nothing leaves this client, in this life of its store: messages are numbered, and one that is held back
    /// would leave a gap.
    pub(in crate::client) fn withdraw(&mut self, reason: String) {
        tracing::error!(reason, "nothing leaves this client any more: it decides alone");
        self.account.withdraw(reason.clone());
        self.keep_account();
        if let Some(outbox) = self.outbox.take() {
            outbox.pass_on(refusal(reason.clone(), true));
        }
        self.trouble(format!("withdrawn: {reason}"));
        self.discard();
    }

    /// Nothing waits to be sent.
    pub(in crate::client) fn discard(&mut self) {
        let Some(member) = &mut self.member else { return };
        for peer in member.machine.peers().into_iter().chain([NodeId::SERVER]) {
            member.machine.queues().forget(peer);
        }
    }

    /// This store is an old copy, says the coordinator: whoever went on from it may have released as much again.
    pub(in crate::client) fn found_old(&mut self) {
        if self.member.is_some() && self.account.withdrawn().is_none() && self.account.found_old() {
            tracing::warn!("this store is an old copy: what was spent of users' privacy counts twice");
            self.keep_account();
            self.hold_to_ceiling();
        }
    }

    /// A message leaves: what was spent by now may be told from now on.
    pub(super) fn spent_by_now(&mut self) {
        let Some(member) = self.member.as_ref().filter(|member| member.lockstep.is_none()) else { return };
        let spending = Some(Spending::of(&self.account, &member.promised, member.books.releases));
        if self.spending != spending {
            self.spending = spending;
            let kept = self.spending.as_ref().map_or_else(Vec::new, Spending::save);
            self.journal.batch.set(Spending::KEY, kept);
        }
    }

    /// The account is in the next commit.
    pub(in crate::client) fn keep_account(&mut self) {
        self.journal.batch.set(Account::KEY, self.account.save());
        self.flush = true;
    }
}
