//! What a coordinator tells about itself.

use cahoots_core::{NodeId, Setting};
use serde::{Deserialize, Serialize};

use super::core::Core;
use super::membership::MemberStatus;
use super::replica::ReplicaStatus;
use crate::limits::{Refusals, thousands};
use crate::prior::Began;
use crate::privacy::PromiseStatus;

/// What a coordinator tells about itself. Counts are of the life of the federation, unless they say otherwise.
#[derive(Clone, Debug, Default, Serialize)]
pub struct CoordinatorStatus {
    /// Name of the federation.
    pub federation: String,
    /// Name of the algorithm.
    pub algorithm: String,
    /// Version of this program.
    pub version: &'static str,
    /// Now, in seconds since 1970; so are all times.
    pub now: f64,
    /// When this process was started.
    pub started: f64,
    /// How it is.
    pub health: Health,
    /// How it is, in words.
    pub sentence: String,
    /// Observations of clients in all that is merged, where the algorithm counts them; without those that the federation began from.
    pub observations: Option<u64>,
    /// What one observation would take on the wire: features and reward, 8 bytes each.
    pub observation_bytes: u64,
    /// Clients that there can be.
    pub seats: usize,
    /// Clients that are members.
    pub members: usize,
    /// Clients that are connected now.
    pub connected: usize,
    /// Members that have been away for longer than `late` in [limits].
    pub late: usize,
    /// Clients that were told to leave.
    pub removed: usize,
    /// Messages of clients that were merged.
    pub received: u64,
    /// Messages of clients that came and were not merged: the machine refused them, or their sender is quarantined.
    pub not_merged: u64,
    /// Messages sent by the machine.
    pub sent: u64,
    /// Messages between clients that were passed on, since the start of this process.
    pub relayed: u64,
    /// Messages and confirmations that were refused: by the machine, or before they reached it or anyone.
    pub refused: u64,
    /// Messages that wait for a client's confirmation.
    pub unconfirmed: usize,
    /// Bytes of the frames that came from members, without what TLS and TCP add; signs of life count as if they were the longest.
    pub bytes_received: u64,
    /// The same of frames to members.
    pub bytes_sent: u64,
    /// What was planned, where the file says.
    pub plan: Option<Plan>,
    /// Messages of members with what no honest data give, since they joined or were restored.
    pub implausible: u64,
    /// Members of whom nothing is merged for that; `cahoots members FILE restore` lifts it.
    pub quarantined: Vec<u32>,
    /// Hellos that were refused since the start of this process.
    pub turned_away: u64,
    /// Commits since the start of this process.
    pub commits: u64,
    /// Log entries that a restart would replay.
    pub log: u64,
    /// Synchronous rounds held.
    pub rounds: u64,
    /// Clusters as they now stand, where there are any.
    pub clusters: Option<u64>,
    /// Clients whose answer a round waits for: `deadline` and `quorum`, where the algorithm has them, let it go on
    /// without; `cahoots members FILE remove` excuses one for good.
    pub waiting_for: Vec<u32>,
    /// How often parameters that may change have changed.
    pub params_version: u64,
    /// What is promised of users' data.
    pub privacy: PromiseStatus,
    /// The member that has spent most of it, as it says.
    pub most_spent: Option<MostSpent>,
    /// What someone should look after, and how.
    pub attention: Vec<Attention>,
    /// What the limits refused since the start of this process.
    pub limits: Refusals,
    /// What the federation began from, if not from nothing.
    pub began_from: Option<Began>,
    /// Rises with every change of any member.
    pub revision: u64,
    /// Where it stands among the coordinators of its federation, if its log has replicas.
    pub replica: Option<ReplicaStatus>,
}

/// How a coordinator is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Health {
    /// All is well.
    #[default]
    Ok,
    /// It works, and someone should look after something.
    Attention,
}

/// What a federation is planned to send in its life: `[plan]` in the coordinator's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// Messages, both ways.
    pub messages: Option<u64>,
    /// Bytes, both ways.
    pub bytes: Option<u64>,
}

/// Who has spent most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MostSpent {
    /// The member.
    pub client: u32,
    /// What it has spent.
    pub epsilon: f64,
    /// The most that its owner allows.
    pub ceiling: Option<f64>,
}

/// Something to look after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Attention {
    /// What kind of thing.
    pub kind: &'static str,
    /// Whom it is about, if it is about one client.
    pub client: Option<u32>,
    /// Since when, if that is known.
    pub since: Option<f64>,
    /// What is the matter.
    pub words: String,
    /// What to do about it.
    pub remedy: String,
}

/// Matters of one kind that are listed one by one; further ones are counted.
const LISTED: usize = 20;

/// Bytes of one observation, as a client would send it.
pub(super) fn observation_bytes(setting: &Setting) -> u64 {
    let local = setting.local_dims.iter().copied().max().unwrap_or(0);
    8 * (1 + (setting.dim + local).max(1)) as u64
}

impl Core {
    pub(super) fn status(&mut self) -> CoordinatorStatus {
        let members = self.all_members();
        let attention = self.attention(&members);
        let connected = self.members.connected.len();
        let late = members.iter().filter(|member| member.state == "late").count();
        let health = if attention.is_empty() { Health::Ok } else { Health::Attention };
        let spent = members.iter().filter_map(|member| {
            let spent = member.spent.as_ref()?;
            Some(MostSpent { client: member.client, epsilon: spent.epsilon?, ceiling: spent.ceiling })
        });
        let traffic = self.watch.traffic;
        CoordinatorStatus {
            federation: self.header.federation.clone(),
            algorithm: self.terms.algorithm.clone(),
            version: env!("CARGO_PKG_VERSION"),
            now: self.watch.now,
            started: self.watch.started,
            health,
            sentence: sentence(self.members.len(), connected, late, attention.len()),
            observations: self.observations(),
            observation_bytes: observation_bytes(&self.terms.setting),
            seats: self.seats.clients(),
            members: self.members.len(),
            connected,
            late,
            removed: members.iter().filter(|member| member.removed).count(),
            received: traffic.received,
            not_merged: traffic.not_merged,
            sent: traffic.sent,
            refused: traffic.refused,
            unconfirmed: members.iter().map(|member| member.waiting).sum(),
            bytes_received: traffic.bytes_received,
            bytes_sent: traffic.bytes_sent,
            plan: self.plan,
            rounds: self.books.rounds,
            clusters: self.books.clusters,
            waiting_for: self.machine.waiting_for().into_iter().map(|client| client.0).collect(),
            params_version: self.machine.params().0,
            implausible: self.conduct.implausible(),
            quarantined: self.conduct.quarantined().map(|client| client.0).collect(),
            log: self.store.entries(),
            privacy: self.promised.clone(),
            most_spent: spent.max_by(|a, b| a.epsilon.total_cmp(&b.epsilon)),
            attention,
            revision: self.watch.revision,
            replica: self.replica(),
            ..self.status.clone()
        }
    }

    /// Observations that came here and are merged: what the federation began from nobody has sent.
    pub(super) fn observations(&self) -> Option<u64> {
        let began = self.status.began_from.as_ref().map_or(0, |began| began.observations);
        self.machine.observations().map(|merged| merged.saturating_sub(began))
    }

    /// What someone should look after.
    fn attention(&self, members: &[MemberStatus]) -> Vec<Attention> {
        let mut all = Vec::new();
        let mut list = |kind: &'static str, found: Vec<Attention>, rest: &str| {
            let more = found.len().saturating_sub(LISTED);
            all.extend(found.into_iter().take(LISTED));
            if more > 0 {
                let words = format!("{more} more {rest}");
                let remedy = "see the list of clients, or `cahoots members FILE`".into();
                all.push(Attention { kind, client: None, since: None, words, remedy });
            }
        };
        let about = |kind, member: &MemberStatus, words: String, remedy: String| Attention {
            kind,
            client: Some(member.client),
            since: Some(member.since),
            words,
            remedy,
        };
        let quarantined = members.iter().filter(|member| member.quarantined).map(|member| {
            let words = format!(
                "client {} is quarantined: {} of its messages held what no honest data give, the last one {}",
                member.client, member.implausible, member.reason
            );
            let remedy = format!(
                "look at the scale of its features and rewards; then `cahoots members FILE restore {}`",
                member.client
            );
            about("quarantined", member, words, remedy)
        });
        list("quarantined", quarantined.collect(), "clients are quarantined");
        let refused = members.iter().filter(|member| member.state == "refused").map(|member| {
            let words = format!("client {} was not let in: {}", member.client, member.reason);
            about("refused", member, words, "do what it is told there, at the client".into())
        });
        list("refused", refused.collect(), "clients are not let in");
        let lately = |member: &&MemberStatus| self.watch.refused_lately(NodeId(member.client));
        let unmerged = members.iter().filter(lately).filter(|member| !member.quarantined);
        let unmerged = unmerged.filter(|member| member.state != "refused").map(|member| {
            let words = format!(
                "{} messages of client {} were refused, the last one because of: {}",
                member.refused, member.client, member.reason
            );
            let remedy = "its data are kept there; look at the scale of its features and rewards".into();
            about("refused", member, words, remedy)
        });
        list("refused", unmerged.collect(), "clients had messages refused");
        let waiting = members.iter().filter(|member| member.waited_for && !member.connected).map(|member| {
            let words = format!("a round waits for client {}, who is away", member.client);
            let remedy = format!(
                "bring it back, or `cahoots members FILE remove {}`; `deadline` and `quorum` let rounds go on without",
                member.client
            );
            about("waiting", member, words, remedy)
        });
        list("waiting", waiting.collect(), "clients are waited for and away");
        let late = members.iter().filter(|member| member.state == "late").map(|member| {
            let words = format!("client {} has been away for long", member.client);
            let remedy = "look at its log; what it has learned is kept there and sent when it is back".into();
            about("late", member, words, remedy)
        });
        list("late", late.collect(), "clients are late");
        let withdrawn = members.iter().filter_map(|member| {
            let reason = member.spent.as_ref()?.withdrawn.as_ref()?;
            let words = format!("client {} sends nothing any more: {reason}", member.client);
            let remedy = "its owner may raise [privacy] in its file and `cahoots rejoin` it".into();
            Some(about("privacy", member, words, remedy))
        });
        list("privacy", withdrawn.collect(), "clients send nothing any more");
        all.extend(self.watch.strangers.attention(self.watch.now));
        all.extend(self.stalled.as_ref().map(super::replica::stalled));
        all
    }

    /// A client that has shown who it is was not let in.
    pub(super) fn turned_away(&mut self, client: NodeId, reason: &str) {
        self.status.turned_away += 1;
        // Numbers that there are not are as many as a stranger likes.
        if client.index() >= self.seats.clients() {
            return;
        }
        let now = self.watch.now;
        let seen = self.watch.change(client);
        let known = seen.turned_away.as_ref().is_some_and(|(_, known)| known == reason);
        seen.turned_away = Some((now, reason.into()));
        // It will try again and again.
        if !known {
            self.watch.note(super::watch::Happening::TurnedAway, Some(client), reason);
        }
    }
}

fn sentence(members: usize, connected: usize, late: usize, attention: usize) -> String {
    let matters = match attention {
        0 => "nothing needs attention".into(),
        1 => "one thing needs attention".into(),
        n => format!("{n} things need attention"),
    };
    let of = format!("{} of {} clients are here", thousands(connected as u64), thousands(members as u64));
    match members {
        0 => "It is running, and no client has joined yet.".into(),
        1 if connected == 1 => format!("The one client that has joined is here, and {matters}."),
        1 => format!("The one client that has joined is away, and {matters}."),
        _ if late > 0 => format!("{of}, {} are late, and {matters}.", thousands(late as u64)),
        _ => format!("{of}, and {matters}."),
    }
}
