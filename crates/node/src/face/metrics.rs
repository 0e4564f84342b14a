//! Numbers for Prometheus: base units, totals that only rise, one line for each.

use std::fmt::{Display, Write};

use crate::coordinator::{CoordinatorStatus, Health, MemberStatus, ReplicaStatus, Role};

/// What a member can be.
const STATES: [&str; 6] = ["here", "away", "late", "refused", "quarantined", "removed"];

struct Lines(String);

impl Lines {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl Display) {
        self.family(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn labelled(&mut self, name: &str, label: &str, value: &str, number: impl Display) {
        let value = value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
        let _ = writeln!(self.0, "{name}{{{label}=\"{value}\"}} {number}");
    }
}

/// Where a coordinator stands among several.
fn replicated(lines: &mut Lines, replica: &ReplicaStatus, now: f64) {
    let leads = u8::from(replica.role == Role::Leading);
    lines.one("cahoots_leading", "gauge", "1 while this coordinator leads.", leads);
    lines.one("cahoots_epoch", "gauge", "The how manieth leader leads.", replica.epoch);
    lines.one("cahoots_log_sequence", "gauge", "The last message of the log taken in.", replica.sequence);
    lines.one("cahoots_log_lag", "gauge", "Messages of the log not taken in yet.", replica.lag);
    let stalled = replica.stalled_since.map_or(0.0, |since| (now - since).max(0.0));
    lines.one("cahoots_log_stalled_seconds", "gauge", "How long the log has not answered.", stalled);
    if let Some(snapshot) = &replica.snapshot {
        lines.one(
            "cahoots_snapshot_time_seconds",
            "gauge",
            "When the last snapshot was made, since 1970.",
            snapshot.time,
        );
        lines.one("cahoots_snapshot_bytes", "gauge", "Bytes of the last snapshot.", snapshot.bytes);
    }
}

/// All of them.
pub(super) fn written(status: &CoordinatorStatus, members: &[&MemberStatus], watchers: usize) -> String {
    let mut lines = Lines(String::with_capacity(8 << 10));
    lines.family("cahoots_info", "gauge", "What runs here; always 1.");
    let escape = |text: &str| text.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    let _ = writeln!(
        lines.0,
        "cahoots_info{{federation=\"{}\",algorithm=\"{}\",version=\"{}\"}} 1",
        escape(&status.federation),
        escape(&status.algorithm),
        status.version
    );
    let healthy = u8::from(status.health == Health::Ok);
    lines.one("cahoots_healthy", "gauge", "1 while nothing needs attention.", healthy);
    lines.one("cahoots_attention", "gauge", "Things that need attention.", status.attention.len());
    lines.one(
        "cahoots_start_time_seconds",
        "gauge",
        "When this process started, since 1970.",
        status.started,
    );
    lines.one("cahoots_seats", "gauge", "Clients that there can be.", status.seats);
    lines.family("cahoots_clients", "gauge", "Clients that ever joined, by state.");
    for state in STATES {
        let count = members.iter().filter(|member| member.state == state).count();
        lines.labelled("cahoots_clients", "state", state, count);
    }
    lines.one("cahoots_connected_clients", "gauge", "Clients that are connected.", status.connected);
    lines.one(
        "cahoots_waited_for_clients",
        "gauge",
        "Clients that a round waits for.",
        status.waiting_for.len(),
    );
    if let Some(observations) = status.observations {
        let help = "Rewards in all that is merged; it falls when a client is forgotten.";
        lines.one("cahoots_merged_observations", "gauge", help, observations);
    }
    let counters = [
        ("cahoots_messages_merged_total", "Messages of clients that were merged.", status.received),
        (
            "cahoots_messages_not_merged_total",
            "Messages of clients that came and were not.",
            status.not_merged,
        ),
        ("cahoots_messages_sent_total", "Messages to clients.", status.sent),
        (
            "cahoots_messages_refused_total",
            "All that was refused of clients, confirmations too.",
            status.refused,
        ),
        ("cahoots_received_bytes_total", "Bytes of frames from clients.", status.bytes_received),
        ("cahoots_sent_bytes_total", "Bytes of frames to clients.", status.bytes_sent),
        ("cahoots_turned_away_total", "Hellos that were refused.", status.turned_away),
        ("cahoots_commits_total", "Commits to disk.", status.commits),
        ("cahoots_rounds_total", "Rounds held.", status.rounds),
    ];
    for (name, help, value) in counters {
        lines.one(name, "counter", help, value);
    }
    lines.one(
        "cahoots_unconfirmed_messages",
        "gauge",
        "Messages that wait for a client.",
        status.unconfirmed,
    );
    lines.one("cahoots_log_entries", "gauge", "Log entries that a restart would replay.", status.log);
    lines.one("cahoots_params_version", "gauge", "How often parameters have changed.", status.params_version);
    if let Some(clusters) = status.clusters {
        lines.one("cahoots_clusters", "gauge", "Clusters as they stand.", clusters);
    }
    if let Some(most) = &status.most_spent {
        let help = "The largest privacy loss that a client says it has spent.";
        lines.one("cahoots_privacy_epsilon_spent_max", "gauge", help, most.epsilon);
    }
    if let Some(replica) = &status.replica {
        replicated(&mut lines, replica, status.now);
    }
    let limits = &status.limits;
    lines.family("cahoots_limits_reached_total", "counter", "What the limits refused, by kind.");
    let kinds = [
        ("connections", limits.connections),
        ("accept_errors", limits.accept_errors),
        ("late", limits.late),
        ("too_large", limits.too_large),
        ("open_decisions", limits.open_decisions),
        ("identities", limits.identities),
    ];
    for (kind, count) in kinds {
        lines.labelled("cahoots_limits_reached_total", "kind", kind, count);
    }
    lines.one("cahoots_watchers", "gauge", "Pages that watch.", watchers);
    lines.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_one_that_prometheus_reads() {
        let status = CoordinatorStatus {
            federation: "a \"b\"\\\nc".into(),
            observations: Some(3),
            clusters: Some(2),
            ..CoordinatorStatus::default()
        };
        let text = written(&status, &[], 1);
        assert!(text.contains(r#"federation="a \"b\"\\\nc""#), "{text}");
        let mut family = "";
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                family = name;
            } else if !line.starts_with('#') {
                assert!(line.starts_with(family), "{line} is of another family than {family}");
                let value = line.rsplit_once(' ').unwrap().1;
                assert!(value.parse::<f64>().unwrap().is_finite(), "{line}");
            }
        }
        assert!(text.ends_with('\n'));
    }
}
