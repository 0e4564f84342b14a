//! Which coordinator is tried next, and after what pause.

use std::time::Duration;

use super::super::coordinators::{Coordinators, same};
use super::Ended;
use crate::limits::{REASON, cut};

/// First pause after a failed attempt.
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The addresses of a client, and how attempts went.
pub(in crate::client) struct Addresses {
    all: Vec<Address>,
    /// The one that is tried.
    at: usize,
    /// Attempts since the last whole round.
    tried: usize,
    /// Someone's word was followed since the last whole round: two that send a client to each other do not keep it busy.
    followed: bool,
    /// After the next whole round.
    pause: Duration,
    longest: Duration,
}

struct Address {
    url: String,
    /// Why the last attempt failed, if it has since there was a connection.
    failed: Option<String>,
}

impl Addresses {
    pub(in crate::client) fn new(coordinators: &Coordinators, longest: Duration) -> Addresses {
        let all = coordinators.all().iter().map(|url| Address { url: url.clone(), failed: None });
        Addresses { all: all.collect(), at: 0, tried: 0, followed: false, pause: FIRST_PAUSE, longest }
    }

    /// The one to be tried.
    pub(in crate::client) fn current(&self) -> &str {
        &self.all[self.at].url
    }

    /// Are there others?
    pub(in crate::client) fn several(&self) -> bool {
        self.all.len() > 1
    }

    /// There was a connection: all is as at first.
    pub(in crate::client) fn greeted(&mut self) {
        (self.tried, self.followed, self.pause) = (0, false, FIRST_PAUSE);
        for address in &mut self.all {
            address.failed = None;
        }
    }

    /// The next pause is the longest.
    pub(in crate::client) fn wait_long(&mut self) {
        self.pause = self.longest;
        self.tried = self.all.len();
    }

    /// An attempt has failed: moves on to the next address. In words for who looks after this client, so that they say
    /// the same as long as the same goes wrong.
    pub(in crate::client) fn failed(&mut self, ended: Ended) -> Ended {
        self.tried += 1;
        let next = (self.at + 1) % self.all.len();
        let (failed, to) = match ended {
            Ended::Elsewhere { reason, leader } => self.directed(reason, &leader),
            Ended::Broken(reason) => (reason, None),
            other => {
                self.at = next;
                return other;
            }
        };
        self.all[self.at].failed = Some(failed.clone());
        self.followed |= to.is_some();
        self.at = to.unwrap_or(next);
        if !self.several() {
            return Ended::Broken(failed);
        }
        let share = REASON / self.all.len();
        let words = self.all.iter().filter_map(|address| {
            let failed = address.failed.as_ref()?;
            Some(cut(&format!("{}: {failed}", address.url), share).into_owned())
        });
        Ended::Broken(words.collect::<Vec<_>>().join("; "))
    }

    /// Who is refused may be told who leads. Only who is known to be a coordinator is believed to be one: otherwise whoever
    /// answers at one address could lead a client anywhere.
    fn directed(&self, reason: String, leader: &str) -> (String, Option<usize>) {
        let Some(to) = self.all.iter().position(|address| same(&address.url, leader)) else {
            let leader = cut(leader, REASON / 4);
            let words = format!(
                "{leader:?} is said to lead and is not in this client's `coordinator`: add it there if it is right ({reason})"
            );
            return (words, None);
        };
        (reason, Some(to).filter(|to| *to != self.at && !self.followed))
    }

    /// How long to wait before the next attempt. Within a round, hardly: another coordinator may be well.
    pub(in crate::client) fn pause(&mut self) -> Duration {
        if self.tried < self.all.len() {
            return FIRST_PAUSE;
        }
        let pause = self.pause;
        (self.tried, self.followed) = (0, false);
        self.pause = (pause * 2).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_millis(100);

    fn three() -> Addresses {
        Addresses::new(&Coordinators::from("http://a:1,http://b:1,http://c:1"), LONGEST)
    }

    fn broken() -> Ended {
        Ended::Broken("no answer".into())
    }

    fn led_by(leader: &str) -> Ended {
        Ended::Elsewhere { reason: "I stand by".into(), leader: leader.into() }
    }

    fn millis(addresses: &mut Addresses) -> u128 {
        addresses.pause().as_millis()
    }

    #[test]
    fn all_are_tried_in_turn_and_the_pause_grows_by_the_round() {
        let mut addresses = three();
        let mut seen = Vec::new();
        for _ in 0..9 {
            seen.push(addresses.current().to_string());
            addresses.failed(broken());
            seen.push(millis(&mut addresses).to_string());
        }
        let round = |pause: &str| {
            ["http://a:1", "20", "http://b:1", "20", "http://c:1", pause].map(String::from).to_vec()
        };
        assert_eq!(seen, [round("20"), round("40"), round("80")].concat());
        for _ in 0..3 {
            addresses.failed(broken());
        }
        assert_eq!(millis(&mut addresses), 100, "no longer than the longest");
        addresses.greeted();
        for _ in 0..3 {
            addresses.failed(broken());
        }
        assert_eq!(millis(&mut addresses), 20, "and after a connection as at first");
    }

    #[test]
    fn one_address_is_tried_with_a_pause_that_doubles() {
        let mut one = Addresses::new(&Coordinators::from("http://a:1"), LONGEST);
        for pause in [20, 40, 80, 100, 100] {
            assert_eq!(one.failed(broken()), broken(), "in the same words as ever");
            assert_eq!((millis(&mut one), one.current()), (pause, "http://a:1"));
        }
    }

    #[test]
    fn who_leads_is_tried_next() {
        let mut addresses = three();
        addresses.failed(led_by("HTTP://C:1/"));
        assert_eq!((millis(&mut addresses), addresses.current()), (20, "http://c:1"));
        // The round goes on behind it.
        addresses.failed(broken());
        assert_eq!(addresses.current(), "http://a:1");
    }

    #[test]
    fn two_that_name_each_other_are_not_followed_without_end() {
        let mut addresses = three();
        let mut visits = Vec::new();
        for _ in 0..3 {
            let there = addresses.current().to_string();
            let other = if there == "http://a:1" { "http://b:1" } else { "http://a:1" };
            visits.push(there);
            addresses.failed(led_by(other));
            addresses.pause();
        }
        assert_eq!(visits, ["http://a:1", "http://b:1", "http://c:1"], "the third was not forgotten");
        let (mut waited, mut attempts) = (Duration::ZERO, 0);
        let mut two = Addresses::new(&Coordinators::from("http://a:1,http://b:1"), LONGEST);
        while waited < 10 * LONGEST {
            let other = if two.current() == "http://a:1" { "http://b:1" } else { "http://a:1" };
            two.failed(led_by(other));
            waited += two.pause();
            attempts += 1;
        }
        assert!(attempts < 30, "{attempts} attempts in {waited:?}");
    }

    #[test]
    fn who_is_not_known_is_not_followed_and_named_as_trouble() {
        let mut addresses = three();
        let Ended::Broken(words) = addresses.failed(led_by("http://liar:1")) else {
            panic!("it is tried again")
        };
        assert_eq!(addresses.current(), "http://b:1", "the next one, as if nothing had been said");
        assert!(words.contains("http://liar:1") && words.contains("`coordinator`"), "{words}");
        let long = addresses.failed(led_by(&"x".repeat(1 << 20)));
        assert!(matches!(long, Ended::Broken(words) if words.len() <= 2 * REASON));
    }

    #[test]
    fn who_says_that_it_leads_itself_and_refuses_is_left() {
        let mut addresses = three();
        addresses.failed(led_by("http://a:1"));
        assert_eq!(addresses.current(), "http://b:1");
    }

    #[test]
    fn trouble_is_told_by_address_and_stays_the_same_while_it_is() {
        let mut addresses = three();
        let round =
            |addresses: &mut Addresses| [broken(), broken(), broken()].map(|ended| addresses.failed(ended));
        let [.., first] = round(&mut addresses);
        assert!(round(&mut addresses).iter().all(|again| *again == first));
        let Ended::Broken(words) = first else { panic!("it is tried again") };
        assert!(words.starts_with("http://a:1: no answer; http://b:1: "), "{words}");
    }

    #[test]
    fn a_refusal_that_is_final_stays_so_and_the_pause_is_long() {
        let mut addresses = three();
        let refused = Ended::Refused("no such client".into());
        assert_eq!(addresses.failed(refused.clone()), refused);
        addresses.wait_long();
        assert_eq!((millis(&mut addresses), addresses.current()), (100, "http://b:1"));
    }
}
