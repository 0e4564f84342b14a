//! What all commands take that name a node: its file, and what is given over it; and how they answer.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

use cahoots_lab::LabError;
use cahoots_node::NodeError;
use cahoots_node::commands::exit_code;
use cahoots_node::config::Given;
use cahoots_node::logs::{self, Format};
use serde_json::Value;

use super::serve::failed;
use crate::print;

/// Values over those of a node's file.
#[derive(clap::Args)]
pub(crate) struct Over {
    /// A value over the file's and the environment's (CAHOOTS_TICK=0.5, CAHOOTS_LIMITS__HELLO=3): tick=0.5,
    /// limits.hello=3. Can be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    values: Vec<String>,
    /// The store, in place of the file's.
    #[arg(long, value_name = "PATH")]
    store: Option<String>,
}

impl Over {
    /// The file, the environment over it, and these over both.
    pub(crate) fn given(&self, file: &Path) -> Result<Given, LabError> {
        self.with(file, &[])
    }

    /// The same, with other flags: key, value.
    pub(crate) fn with(&self, file: &Path, flags: &[(&str, &Option<String>)]) -> Result<Given, LabError> {
        let mut given = Given::file(file).with_environment().map_err(failed)?;
        for pair in &self.values {
            given = given.set(pair).map_err(failed)?;
        }
        for (key, value) in flags.iter().copied().chain([("store", &self.store)]) {
            if let Some(value) = value {
                given = given.flag(key, value, &format!("--{key}")).map_err(failed)?;
            }
        }
        Ok(given)
    }
}

/// A node by its file.
#[derive(clap::Args)]
pub(crate) struct Node {
    /// The file that it is started with.
    file: PathBuf,
    #[command(flatten)]
    over: Over,
}

impl Node {
    pub(crate) fn given(&self) -> Result<Given, LabError> {
        self.over.given(&self.file)
    }

    /// The node's address, where it is named by that and not by a file.
    pub(crate) fn url(&self) -> Option<&str> {
        self.file.to_str().filter(|text| text.starts_with("http://") || text.starts_with("https://"))
    }
}

/// How much is logged, and how.
#[derive(clap::Args)]
pub(crate) struct Log {
    /// How much is logged: off, error, warn, info, debug, trace, or a filter such as cahoots_node=debug,h2=info
    /// [default: CAHOOTS_LOG, then RUST_LOG, then info].
    #[arg(long, value_name = "LEVEL")]
    log: Option<String>,
    /// Log lines for people (text) or for machines (json) [default: CAHOOTS_LOG_FORMAT, then text].
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<Format>,
}

impl Log {
    /// Logs from now on; a failure of `run` is then the last line of the log.
    pub(crate) fn around(&self, run: impl FnOnce() -> Result<(), NodeError>) -> Result<(), LabError> {
        let format = logs::start(self.log.as_deref(), self.log_format).map_err(failed)?;
        let ended = run();
        if let (Err(error), Format::Json) = (&ended, format) {
            logs::last_words(error);
            // Said: lines that are no JSON are nothing to who reads these.
            return Err(match exit_code(error) {
                2 => LabError::Input(String::new()),
                _ => LabError::Failed(String::new()),
            });
        }
        ended.map_err(failed)
    }
}

/// How a command answers.
#[derive(clap::Args)]
pub(crate) struct Answer {
    /// As JSON, also on a terminal.
    #[arg(long, conflicts_with = "text")]
    json: bool,
    /// As text for people, also where it is not a terminal.
    #[arg(long)]
    text: bool,
}

impl Answer {
    /// As JSON for programs, as text for people.
    pub(crate) fn say(&self, answer: &Value, text: impl FnOnce(&Value) -> String) -> Result<(), LabError> {
        if self.text || (!self.json && std::io::stdout().is_terminal()) {
            return print::out(&text(answer));
        }
        say(answer)
    }
}

/// An answer as JSON.
pub(crate) fn say(answer: &Value) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(answer).map_err(|e| LabError::Failed(e.to_string()))?;
    print::out(&format!("{text}\n"))
}
