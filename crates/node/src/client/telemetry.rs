//! What a client tells its coordinator beside its messages: what was spent of its users' privacy, always, and what its owner
//! chose to show, where no privacy is promised.

use cahoots_core::gain::Gain;
use serde::{Deserialize, Serialize};

use crate::privacy::{Account, Ceiling, Promised};
use crate::transport::proto;

/// `[telemetry]` in a client's file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Telemetry {
    /// What is shown to who runs the coordinator; nothing unless it is listed.
    pub share: Vec<Share>,
}

/// Something of its own that a client may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Share {
    /// How many rewards came, and their sum.
    Rewards,
    /// How many observations are not sent, and how many decisions wait for their reward.
    Pending,
    /// What federation gained it.
    Gain,
}

/// What a client tells its coordinator whatever its owner says.
const ALWAYS: [&str; 2] = [
    "to the coordinator: what was spent by the last message",
    "to the coordinator: that this client is there, and how often its store was written, which tells how busy it is",
];

impl Share {
    fn words(self) -> &'static str {
        match self {
            Share::Rewards => "how many rewards came and their sum",
            Share::Pending => {
                "how many observations are not sent and how many decisions wait for their reward"
            }
            Share::Gain => "what federation gained it",
        }
    }
}

impl Telemetry {
    /// Whether anything of this kind is told under terms that promise this. Numbers like these follow from users' data without
    /// any noise: they would break a promise.
    pub(super) fn tells(&self, what: Share, promised: &Promised) -> bool {
        promised.claim.is_none() && self.share.contains(&what)
    }

    /// What a coordinator is told beside messages, once there is one.
    pub(super) fn beside(&self, promised: Option<&Promised>) -> Vec<String> {
        let Some(promised) = promised else { return Vec::new() };
        let mut shown: Vec<String> = ALWAYS.map(Into::into).into();
        let told = self.share.iter().filter(|share| self.tells(**share, promised));
        let told: Vec<&str> = told.map(|share| share.words()).collect();
        if !told.is_empty() {
            let listed = told.join("; ");
            shown.push(format!(
                "to the coordinator, as `[telemetry] share` asks, and without noise: {listed}"
            ));
        }
        shown
    }

    /// What was asked for and is not told, in words.
    pub(super) fn untold(&self, promised: Option<&Promised>) -> Option<String> {
        let claimed = promised.is_some_and(|promised| promised.claim.is_some());
        if self.share.is_empty() || !claimed {
            return None;
        }
        let listed: Vec<&str> = self.share.iter().map(|share| share.words()).collect();
        Some(format!(
            "`[telemetry] share` asks to show the coordinator {}: none of it is told, because the federation's terms promise privacy.",
            listed.join("; ")
        ))
    }

    /// What someone should look after: a wish that is not fulfilled.
    pub(super) fn problem(&self, promised: Option<&Promised>) -> Option<String> {
        let refused = !self.share.is_empty() && promised.is_some_and(|promised| promised.claim.is_some());
        refused.then(|| {
            "[telemetry] share is ignored: the federation's terms promise privacy, and what it lists has no noise. Remove it from \
             this client's file"
                .into()
        })
    }

    /// What leaves.
    pub(super) fn told(&self, promised: &Promised, now: &Now) -> Option<proto::Telemetry> {
        let if_told =
            |what: Share| -> Option<()> { if self.tells(what, promised) { Some(()) } else { None } };
        let (rewards, pending) = (if_told(Share::Rewards), if_told(Share::Pending));
        let gain = if_told(Share::Gain).and(now.gain.as_ref());
        let told = proto::Telemetry {
            rewards: rewards.map(|()| now.rewards),
            reward_sum: rewards.map(|()| now.reward_sum),
            unsent: pending.map(|()| now.unsent),
            open_decisions: pending.map(|()| now.open_decisions),
            gain: gain.map(|gain| proto::Gain { low: gain.low, estimate: gain.estimate, high: gain.high }),
        };
        (told != proto::Telemetry::default()).then_some(told)
    }
}

/// How things stand, to be told or not.
pub(super) struct Now {
    pub(super) rewards: u64,
    pub(super) reward_sum: f64,
    pub(super) unsent: u64,
    pub(super) open_decisions: u64,
    pub(super) gain: Option<Gain>,
}

/// What was spent, as it stood when the last message left.
///
/// The coordinator is told this of every client. It tells nothing that messages have not: what a release costs follows from the
/// terms, and how many there were from the messages that hold them. In `async-linucb`, `sync-linucb`, `hetofed`, `fclub` and
/// `pf-ucb` a release is sent in the step that makes it, in `cdp-mab` and its relatives at the end of an epoch, whose length the
/// terms give, and in groups one goes with every round. Where every observation is released on its own and their sum is sent
/// at public times (`trust = "nobody"`), there are as many as the exact count in that sum says; in between there are more,
/// which is why this is not how things stand now: it changes with messages alone.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Spending {
    epsilon: Option<f64>,
    delta: f64,
    unit: String,
    releases: u64,
    unprotected: u64,
}

impl Spending {
    /// The name under which a store keeps it.
    pub(super) const KEY: &'static str = "spending";

    /// As things stand, when a message leaves.
    pub(super) fn of(account: &Account, promised: &Promised, releases: u64) -> Spending {
        let spent = account.spent(promised.delta()).into_iter().next();
        Spending {
            epsilon: spent.as_ref().map(|spent| spent.epsilon).filter(|epsilon| epsilon.is_finite()),
            delta: spent.as_ref().map_or(promised.delta(), |spent| spent.delta),
            unit: spent.map_or_else(String::new, |spent| spent.unit.into_owned()),
            releases,
            unprotected: account.unprotected(),
        }
    }

    /// To be kept in a store.
    pub(super) fn save(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("it can always be written")
    }

    /// As it was kept; none where nothing has left.
    pub(super) fn restore(bytes: Option<Vec<u8>>) -> Option<Spending> {
        bytes.and_then(|bytes| postcard::from_bytes(&bytes).ok())
    }

    /// What leaves. The ceiling is its owner's and has nothing to do with data.
    pub(super) fn told(&self, ceiling: Option<&Ceiling>) -> proto::Spent {
        proto::Spent {
            epsilon: self.epsilon,
            delta: self.delta,
            unit: self.unit.clone(),
            releases: self.releases,
            unprotected: self.unprotected,
            ceiling: ceiling.map(|ceiling| ceiling.max_epsilon),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cahoots_core::{Claim, Unit};

    fn promised(claims: bool) -> Promised {
        let claim = Claim { epsilon: 1.0, delta: 0.0, calibration: "test".into(), not_protected: Vec::new() };
        Promised { claim: claims.then_some(claim), unit: Unit::Event }
    }

    fn now() -> Now {
        let gain = Gain { decisions: 3, differed: 2, low: -1.0, estimate: 0.5, high: 2.0, confidence: 0.95 };
        Now { rewards: 3, reward_sum: 1.5, unsent: 1, open_decisions: 2, gain: Some(gain) }
    }

    fn asking(share: &str) -> Telemetry {
        toml::from_str(&format!("share = {share}")).unwrap()
    }

    #[test]
    fn nothing_is_told_that_was_not_asked_for() {
        assert_eq!(Telemetry::default().told(&promised(false), &now()), None);
        let told = asking(r#"["pending"]"#).told(&promised(false), &now()).unwrap();
        assert_eq!((told.unsent, told.open_decisions), (Some(1), Some(2)));
        assert_eq!((told.rewards, told.reward_sum, told.gain), (None, None, None));
        let all = asking(r#"["rewards", "pending", "gain"]"#);
        let told = all.told(&promised(false), &now()).unwrap();
        assert_eq!((told.rewards, told.gain.map(|gain| gain.high)), (Some(3), Some(2.0)));
        assert!(all.beside(Some(&promised(false))).iter().any(|shown| shown.contains("their sum")));
        assert_eq!(all.untold(Some(&promised(false))), None);
        assert_eq!(all.problem(Some(&promised(false))), None);
    }

    #[test]
    fn where_privacy_is_promised_nothing_is_told_whatever_is_asked_for() {
        let all = asking(r#"["rewards", "pending", "gain"]"#);
        assert_eq!(all.told(&promised(true), &now()), None);
        assert!(all.untold(Some(&promised(true))).unwrap().contains("none of it is told"));
        assert!(!all.beside(Some(&promised(true))).iter().any(|shown| shown.contains("their sum")));
        assert!(all.problem(Some(&promised(true))).unwrap().contains("[telemetry] share is ignored"));
    }

    #[test]
    fn unknown_wishes_are_refused() {
        assert!(toml::from_str::<Telemetry>(r#"share = ["everything"]"#).is_err());
        assert!(toml::from_str::<Telemetry>("shares = []").is_err());
    }
}
