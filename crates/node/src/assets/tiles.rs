//! The four tiles that come first, as `web/src/tiles.ts` makes them once there are scripts: a browser test holds the two
//! against each other.

use serde_json::Value;

use super::escaped;
use crate::limits::thousands;

/// The state of a federation, by shape and word.
pub(super) fn health(health: &str) -> &'static str {
    match health {
        "ok" => "● healthy",
        "attention" => "▲ needs attention",
        _ => "✕ failing",
    }
}

/// What is merged, who is here, what was sent, what was spent.
pub(super) fn tiles(status: &Value) -> String {
    let at = &status["replica"];
    let first = match at["role"].as_str() {
        None | Some("leading") => [merged(status), clients(status), traffic(status)],
        Some(_) => [read(status), leader(at), log(at)],
    };
    first.concat() + &privacy(status)
}

/// Of who stands by: what the log amounts to so far.
fn read(s: &Value) -> String {
    let rewards = s["observations"].as_u64().map(|rewards| several(rewards, "reward"));
    let lines = [
        "read from the log, by the same machine".into(),
        format!("{} in all", several(number(&s["seats"]), "seat")),
    ];
    tile("merged", "merged by the leader", &rewards.unwrap_or("not known".into()), &lines)
}

fn leader(at: &Value) -> String {
    let known = |key: &str, otherwise: &str| at[key].as_str().unwrap_or(otherwise).to_owned();
    let lines = [
        known("leader_address", "its address is not known yet"),
        format!("epoch {}", thousands(number(&at["epoch"]))),
    ];
    tile("leader", "leader", &known("leader", "nobody known"), &lines)
}

fn log(at: &Value) -> String {
    let of = |key: &str| thousands(number(&at[key]));
    let behind = match number(&at["lag"]) {
        0 => "all is read".into(),
        lag => format!("{} behind", several(lag, "message")),
    };
    let snapshot = &at["snapshot"];
    let kept = match snapshot["bytes"].as_f64() {
        Some(size) => {
            format!("snapshot of message {}, {}", thousands(number(&snapshot["sequence"])), bytes(size))
        }
        None => "no snapshot yet".into(),
    };
    tile("log", "log", &behind, &[format!("message {} of {}", of("sequence"), of("end")), kept])
}

fn merged(s: &Value) -> String {
    let what = match s["observations"].as_u64() {
        Some(rewards) => several(rewards, "reward"),
        None => several(number(&s["received"]), "upload"),
    };
    let waiting = thousands(number(&s["unconfirmed"]));
    let refused = thousands(number(&s["refused"]));
    let line = format!("{waiting} to be confirmed · {refused} refused");
    tile("merged", "merged", &what, &["each exactly once".into(), line])
}

fn clients(s: &Value) -> String {
    let many = |key: &str| s[key].as_array().map_or(0, |all| all.len() as u64);
    let mark =
        |n: u64, words: &str, shape: char| (n > 0).then(|| format!("{shape} {} {words}", thousands(n)));
    let marks = [mark(number(&s["late"]), "late", '▲'), mark(many("quarantined"), "quarantined", '■')];
    let waiting = match many("waiting_for") {
        1 => Some(format!("◆ waiting for {}", s["waiting_for"][0])),
        n => mark(n, "waited for", '◆'),
    };
    let others = [waiting, mark(number(&s["turned_away"]), "turned away", '✕')];
    let joined = |marks: [Option<String>; 2], calm: String| {
        let marks: Vec<String> = marks.into_iter().flatten().collect();
        if marks.is_empty() { calm } else { marks.join(" · ") }
    };
    let here = format!("{} of {} here", thousands(number(&s["connected"])), thousands(number(&s["members"])));
    let lines = [
        joined(marks, format!("{} in all", several(number(&s["seats"]), "seat"))),
        joined(others, "nobody is waited for".into()),
    ];
    tile("clients", "clients", &here, &lines)
}

fn traffic(s: &Value) -> String {
    let (received, sent) = (number(&s["bytes_received"]), number(&s["bytes_sent"]));
    let used = (received + sent) as f64;
    let all = s["observations"].as_f64().zip(s["observation_bytes"].as_f64()).map(|(n, each)| n * each);
    let first = match all.filter(|all| *all > 0.0) {
        Some(all) => format!("all data would be {}", bytes(all)),
        None => format!("{} in, {} out", bytes(received as f64), bytes(sent as f64)),
    };
    let messages = number(&s["received"]) + number(&s["sent"]);
    let positive = |key: &str| s["plan"][key].as_f64().filter(|planned| *planned > 0.0);
    let plan = match (positive("messages"), positive("bytes")) {
        (Some(planned), _) => format!("{} of {} messages", thousands(messages), thousands(planned as u64)),
        (None, Some(planned)) => format!("{} of the plan's {}", share(used, planned), bytes(planned)),
        (None, None) => format!("{}, no plan", several(messages, "message")),
    };
    tile("traffic", "sent", &bytes(used), &[first, plan])
}

fn privacy(s: &Value) -> String {
    let most = s["most_spent"]["epsilon"].as_f64().zip(s["most_spent"]["client"].as_u64());
    let Some(promised) = s["privacy"]["epsilon"].as_f64() else {
        let mut lines = vec!["statistics leave clients without noise".to_owned()];
        lines.extend(
            most.map(|(epsilon, client)| format!("most spent: ε {}, client {client}", figure(epsilon))),
        );
        return tile("privacy", "privacy", "none promised", &lines);
    };
    let unit = format!("unit: {}", s["privacy"]["unit"].as_str().unwrap_or("–"));
    let Some((epsilon, client)) = most else {
        let number = format!("ε {} promised", figure(promised));
        let spent = match s["replica"]["role"].as_str() {
            None | Some("leading") => "nothing has been spent yet",
            Some(_) => "the leader knows what is spent",
        };
        return tile("privacy", "privacy", &number, &[spent.into(), unit]);
    };
    let ceiling = s["most_spent"]["ceiling"].as_f64().unwrap_or(promised);
    let number = format!("ε {} of {}", figure(epsilon), figure(ceiling));
    tile("privacy", "privacy", &number, &[format!("client {client} has spent most"), unit])
}

fn tile(id: &str, title: &str, number: &str, lines: &[String]) -> String {
    let lines: String = lines.iter().map(|line| format!("<p>{}</p>", escaped(line))).collect();
    let number = escaped(number);
    format!(
        r#"<article class="tile" id="tile-{id}"><h2>{title}</h2><p class="figure">{number}</p>{lines}</article>"#
    )
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn several(n: u64, what: &str) -> String {
    format!("{} {what}{}", thousands(n), if n == 1 { "" } else { "s" })
}

fn share(part: f64, whole: f64) -> String {
    let percent = 100.0 * part / whole;
    if percent >= 1000.0 {
        format!("{} times", figure(part / whole))
    } else {
        format!("{}%", figure(percent))
    }
}

/// Three digits that matter: 0.000123, 12.3, 1,230.
fn figure(x: f64) -> String {
    let rounded: f64 = format!("{x:.2e}").parse().unwrap_or(x);
    let size = x.abs();
    let text = if size != 0.0 && !(1e-4..1e9).contains(&size) {
        format!("{rounded:e}")
    } else if size >= 100.0 {
        let whole = thousands(size.round() as u64);
        if x < 0.0 { format!("-{whole}") } else { whole }
    } else {
        rounded.to_string()
    };
    text.replace('-', "−")
}

/// 12.3 MB
fn bytes(mut n: f64) -> String {
    let mut units = ["B", "kB", "MB", "GB", "TB", "PB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    if n < 999.5 {
        return format!("{} {unit}", thousands(n.round() as u64));
    }
    while n >= 999.5
        && let Some(next) = units.next()
    {
        n /= 1000.0;
        unit = next;
    }
    let rounded: f64 = format!("{n:.2e}").parse().unwrap_or(n);
    let digits = if rounded < 10.0 { 2 } else { usize::from(rounded < 100.0) };
    format!("{rounded:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as `web/src/words.ts` writes.
    #[test]
    fn numbers_are_short() {
        for (n, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_204_331, "1,204,331")] {
            assert_eq!(thousands(n), text);
        }
        let figures = [
            (0.8, "0.8"),
            (3.0, "3"),
            (0.12345, "0.123"),
            (1e-5, "1e−5"),
            (-2.5, "−2.5"),
            (1234.4, "1,234"),
            (0.0, "0"),
        ];
        for (x, text) in figures {
            assert_eq!(figure(x), text);
        }
        let sizes = [
            (0.0, "0 B"),
            (999.0, "999 B"),
            (1000.0, "1.00 kB"),
            (9999.0, "10.0 kB"),
            (12_340_000.0, "12.3 MB"),
            (999_600.0, "1.00 MB"),
        ];
        for (n, text) in sizes {
            assert_eq!(bytes(n), text);
        }
    }
}
