//! Log lines: one per event that matters, on stderr, as text for people or as JSON for machines. What others can cause
//! is limited by kind, and nothing that they say can begin a line of its own.

mod limit;
mod line;

use std::io::{self, Write};
use std::str::FromStr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tracing::{Event, Subscriber};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::error::NodeError;
use limit::{Limit, Verdict};
use line::Line;

/// How a line looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `2026-11-16T18:53:21.042Z INFO connected client=31`
    #[default]
    Text,
    /// `{"time":"2026-11-16T18:53:21.042Z","level":"info","message":"connected","client":31}`
    Json,
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Format, String> {
        match text {
            "text" => Ok(Format::Text),
            "json" => Ok(Format::Json),
            other => Err(format!("{other:?} is no format of log lines: there are \"text\" and \"json\"")),
        }
    }
}

/// What is logged where nobody says.
const USUAL: &str = "info";

/// Other crates' lines are for who looks for them.
const OTHERS: &str = "warn";

const LEVELS: &[&str] = &["off", "error", "warn", "info", "debug", "trace"];

/// Begins to log. `filter` is a level or a filter such as "cahoots_node=debug,h2=info"; without one, the variables
/// CAHOOTS_LOG and then RUST_LOG say it, and otherwise it is "info". Without a format, CAHOOTS_LOG_FORMAT says it; gives
/// the one that holds.
pub fn start(filter: Option<&str>, format: Option<Format>) -> Result<Format, NodeError> {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (given, from) = match (filter, variable("CAHOOTS_LOG"), variable("RUST_LOG")) {
        (Some(filter), ..) => (filter.to_string(), "--log"),
        (None, Some(filter), _) => (filter, "CAHOOTS_LOG"),
        (None, None, Some(filter)) => (filter, "RUST_LOG"),
        (None, None, None) => (USUAL.into(), "--log"),
    };
    let wrong = |from: &str, e: String| NodeError::Config(format!("{from}: {e}"));
    let filter = filter_of(&given, from == "RUST_LOG").map_err(|e| wrong(from, e))?;
    let format = match (format, variable("CAHOOTS_LOG_FORMAT")) {
        (Some(format), _) => format,
        (None, Some(text)) => text.parse().map_err(|e| wrong("CAHOOTS_LOG_FORMAT", e))?,
        (None, None) => Format::default(),
    };
    // Whoever has started to log before goes on.
    let _ = tracing_subscriber::registry().with(filter).with(Lines::new(format, io::stderr())).try_init();
    Ok(format)
}

/// Why this process ends, where lines are all that is read.
pub fn last_words(error: &NodeError) {
    tracing::error!(%error, "failed");
}

/// For programs of tests: warnings, unless RUST_LOG asks for more.
pub(crate) fn quiet() {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| OTHERS.into());
    let lines = Lines::new(Format::Text, io::stderr());
    let _ = tracing_subscriber::registry().with(filter).with(lines).try_init();
}

fn filter_of(text: &str, any: bool) -> Result<EnvFilter, String> {
    let level = text.to_lowercase();
    let text = match &*level {
        "off" | "error" | "warn" => level,
        _ if LEVELS.contains(&&*level) => format!("{OTHERS},cahoots_node={level}"),
        // A bare word would be taken for the name of a crate, and nothing logged.
        _ if !any && !text.contains(['=', ',', ':', '[']) => {
            return Err(format!(
                "{text:?} is no level ({}) and no filter, such as cahoots_node=debug,h2=info",
                LEVELS.join(", ")
            ));
        }
        _ => text.to_string(),
    };
    EnvFilter::try_new(&text).map_err(|e| format!("{text:?} is no filter of log lines: {e}"))
}

/// Writes lines.
pub struct Lines<W>(Arc<Inner<W>>);

struct Inner<W> {
    format: Format,
    limit: Limit,
    out: Mutex<W>,
}

impl<W: Write + Send + 'static> Lines<W> {
    /// In this format, to there.
    pub fn new(format: Format, out: W) -> Lines<W> {
        let inner = Arc::new(Inner { format, limit: Limit::default(), out: Mutex::new(out) });
        // What was held back is said when its second is over, whether or not more of it comes.
        let held = Arc::downgrade(&inner);
        let _ = std::thread::Builder::new().name("cahoots-logs".into()).spawn(move || {
            while let Some(inner) = held.upgrade() {
                drop(inner);
                std::thread::sleep(limit::WINDOW);
                if let Some(inner) = held.upgrade() {
                    inner.say(inner.limit.over(Instant::now()));
                }
            }
        });
        Lines(inner)
    }
}

impl<W: Write> Inner<W> {
    fn say(&self, lines: impl IntoIterator<Item = Line>) {
        let mut text = String::new();
        for line in lines {
            text.push_str(&line.written(self.format));
            text.push('\n');
        }
        if !text.is_empty() {
            // Whoever reads has gone away: nothing to be done, and nothing to be said to.
            let mut out = self.out.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        }
    }
}

impl<S: Subscriber, W: Write + Send + 'static> Layer<S> for Lines<W> {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let kind = event.metadata().callsite();
        match self.0.limit.next(kind, Instant::now(), || Line::of(event)) {
            Verdict::Say(lines) => self.0.say(lines),
            Verdict::Hold => {}
        }
    }
}

#[cfg(test)]
mod tests;
