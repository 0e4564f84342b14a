//! What a client has spent, over all that became of its store: crashes, old copies that were put back, new beginnings.

use cahoots_core::Unit;
use cahoots_privacy::{Accountant, Spent};
use serde::{Deserialize, Serialize};

/// A client's account. It is written in the commit that makes a release durable, before the release can leave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Account {
    /// What the present machine has released.
    present: Accountant,
    /// What may have been released of the same data by whoever went on from a copy of this store.
    copies: Accountant,
    /// How often such a copy was charged for.
    copied: u32,
    /// The last charge is for the copy that is in use: it is charged for once.
    charged: bool,
    /// Machines before the present one, which has begun without any data.
    earlier: Vec<Accountant>,
    /// Why nothing leaves this client any more.
    withdrawn: Option<String>,
}

impl Account {
    /// The name under which a store keeps it.
    pub const KEY: &'static str = "privacy";

    /// To be kept in a store.
    pub fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("accounts can always be written")
    }

    /// As it was kept; a new one where there is none.
    pub fn restore(bytes: Option<Vec<u8>>) -> Result<Account, String> {
        let read =
            |bytes: Vec<u8>| postcard::from_bytes(&bytes).map_err(|e| format!("its privacy account: {e}"));
        bytes.map_or_else(|| Ok(Account::default()), read)
    }

    /// What the present machine has released by now. Once nothing leaves any more, nothing more is spent.
    pub fn enter(&mut self, present: &Accountant) {
        if self.withdrawn.is_none() {
            self.present = present.clone();
        }
    }

    /// The store is an old copy: from where it stands, another has gone on, and may have released as much again of the
    /// same data. All that a mechanism may spend is charged with its first release, so twice what is on record is enough.
    /// `true` if it was not charged for before.
    pub fn found_old(&mut self) -> bool {
        if self.charged {
            return false;
        }
        let life = self.life();
        self.copies.absorb(&life);
        self.copied += 1;
        self.charged = true;
        true
    }

    /// This is the account of a copy, which takes the place of a store with the account `aside`: what that had spent
    /// of the data that both know counts too. (What both had released before the copy was made counts twice.)
    pub fn put_back(self, aside: Account) -> Account {
        let mut lives = aside.earlier.clone();
        lives.push(aside.life());
        let mine = self.earlier.len().min(lives.len() - 1);
        let mut account = self;
        account.copies.absorb(&lives.remove(mine));
        // Users are known to all machines that had this number.
        account.earlier = lives;
        account.copied = account.copied.max(aside.copied) + 1;
        account.charged = true;
        account.withdrawn = account.withdrawn.or(aside.withdrawn);
        account
    }

    /// The coordinator has let this store in; `true` if that changes anything.
    pub fn let_in(&mut self) -> bool {
        std::mem::replace(&mut self.charged, false)
    }

    /// Nothing leaves any more; why.
    pub fn withdraw(&mut self, reason: String) {
        self.withdrawn.get_or_insert(reason);
    }

    /// Why nothing leaves any more.
    pub fn withdrawn(&self) -> Option<&str> {
        self.withdrawn.as_deref()
    }

    /// The account of a client that starts anew under its number, without any data.
    pub fn next_life(self) -> Account {
        let life = self.life();
        let mut earlier = self.earlier;
        earlier.push(life);
        Account { earlier, ..Account::default() }
    }

    /// What was spent of the data of the present machine.
    pub fn life(&self) -> Accountant {
        let mut life = self.present.clone();
        life.absorb(&self.copies);
        life
    }

    /// What must stay below a ceiling for this unit: events are known to one machine alone, users to all of them.
    pub fn at_stake(&self, unit: Unit) -> Accountant {
        let mut all = self.life();
        if unit == Unit::User {
            self.earlier.iter().for_each(|earlier| all.absorb(earlier));
        }
        all
    }

    /// How often an old copy was charged for.
    pub fn copied(&self) -> u32 {
        self.copied
    }

    /// Releases without any noise.
    pub fn unprotected(&self) -> u64 {
        self.life().unprotected() + self.earlier.iter().map(Accountant::unprotected).sum::<u64>()
    }

    /// What was spent, by unit and observer, stated at `delta`; the largest loss first. An event is known to one machine
    /// alone, so that the machine counts which has spent most of it; a user may be known to all of them.
    pub fn spent(&self, delta: f64) -> Vec<Spent> {
        let life = self.life();
        let of_users = self
            .at_stake(Unit::User)
            .spent(delta)
            .into_iter()
            .filter(|spent| Unit::of(&spent.unit) == Unit::User);
        let lives = self.earlier.iter().chain([&life]).flat_map(|life| life.spent(delta));
        let of_events = lives.filter(|spent| Unit::of(&spent.unit) == Unit::Event);
        Spent::largest(of_users.chain(of_events))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Composition, NodeId, Noise, ReleaseFact};

    fn released(unit: &'static str, times: u32) -> Accountant {
        let fact = ReleaseFact {
            mechanism: "discrete laplace".into(),
            scale: 4.0,
            sensitivity: 1.0,
            unit: unit.into(),
            observer: "the server".into(),
            noise: Noise::Laplace,
            composition: Composition::Adds,
        };
        let mut accountant = Accountant::default();
        (0..times).for_each(|_| accountant.record(NodeId(3), &fact));
        accountant
    }

    fn epsilon(account: &Account) -> f64 {
        account.spent(0.0).first().map_or(0.0, |spent| spent.epsilon)
    }

    #[test]
    fn an_old_copy_is_charged_for_once_and_twice_what_was_spent() {
        let mut account = Account::default();
        account.enter(&released("one reward", 2));
        assert_eq!(epsilon(&account), 0.5);
        assert!(account.found_old());
        assert!(!account.found_old());
        assert_eq!((epsilon(&account), account.copied()), (1.0, 1));
        account.enter(&released("one reward", 3));
        assert_eq!(epsilon(&account), 1.25, "and what it releases from now on");
        assert!(account.let_in() && !account.let_in());
        assert!(account.found_old());
        assert_eq!(epsilon(&account), 2.5);
        assert_eq!(Account::restore(Some(account.save())), Ok(account));
        assert!(Account::restore(Some(vec![255; 4])).is_err());
    }

    #[test]
    fn who_starts_anew_has_spent_nothing_of_new_events_and_all_of_its_users() {
        for (unit, expected) in [("one reward", 0.5), ("one user", 0.75)] {
            let mut account = Account::default();
            account.enter(&released(unit, 2));
            let mut account = account.next_life();
            assert_eq!(epsilon(&account), 0.5);
            account.enter(&released(unit, 1));
            assert_eq!(epsilon(&account), expected);
        }
    }

    #[test]
    fn a_copy_that_takes_the_place_of_a_store_owes_what_that_had_spent() {
        let copy = Account::default();
        let mut store = Account::default();
        store.enter(&released("one user", 2));
        assert_eq!(epsilon(&copy.clone().put_back(store.clone())), 0.5);
        // It has started anew since: events of the copy were known to its first life, users to both.
        let mut anew = store.clone().next_life();
        anew.enter(&released("one user", 4));
        anew.withdraw("enough".into());
        let mut account = copy.put_back(anew);
        assert_eq!(account.life(), released("one user", 2));
        assert_eq!(epsilon(&account), 1.5);
        assert_eq!(account.withdrawn(), Some("enough"));
        assert!(!account.found_old(), "it is charged for");
    }

    #[test]
    fn what_does_not_leave_is_not_spent() {
        let mut account = Account::default();
        account.enter(&released("one reward", 1));
        account.withdraw("enough".into());
        account.enter(&released("one reward", 9));
        assert_eq!((epsilon(&account), account.withdrawn()), (0.25, Some("enough")));
    }
}
