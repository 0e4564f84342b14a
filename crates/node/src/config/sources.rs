//! Where each value of a node's configuration came from.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};

use super::overlay::SECRETS;
use crate::error::NodeError;

/// A place that values come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The file, at this line.
    File(PathBuf, usize),
    /// A variable of the environment.
    Variable(String),
    /// A flag.
    Flag(String),
}

impl Source {
    /// The variable that a key can be given as.
    pub(super) fn variable_of(key: &str) -> String {
        format!("CAHOOTS_{}", key.replace('.', "__").to_uppercase())
    }

    /// How another key would be given from here.
    fn instead(&self, table: &str, key: &str) -> String {
        let whole = if table.is_empty() { key.to_string() } else { format!("{table}.{key}") };
        match self {
            Source::File(..) => key.into(),
            Source::Variable(_) => Source::variable_of(&whole),
            Source::Flag(_) => format!("--set {whole}"),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(path, line) => write!(f, "{}:{line}", path.display()),
            Source::Variable(name) => f.write_str(name),
            Source::Flag(words) => f.write_str(words),
        }
    }
}

/// Where the values of one configuration came from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    path: PathBuf,
    text: String,
    /// Places behind the file's end, and whose they are.
    extras: Vec<(Range<usize>, Source)>,
    /// Every value that was given, by its key.
    leaves: Vec<(String, Source)>,
}

impl Sources {
    pub(super) fn new(path: &Path, text: &str) -> Sources {
        Sources { path: path.into(), text: text.into(), extras: Vec::new(), leaves: Vec::new() }
    }

    pub(super) fn add(&mut self, places: Range<usize>, source: Source) {
        self.extras.push((places, source));
    }

    pub(super) fn with(mut self, leaves: Vec<(String, Source)>) -> Sources {
        self.leaves = leaves;
        self
    }

    /// Where the value of a key came from; `None` where it is a default.
    pub fn of(&self, key: &str) -> Option<&Source> {
        let inside = |leaf: &str| key.strip_prefix(leaf).is_some_and(|rest| rest.starts_with(['.', '[']));
        self.leaves.iter().find(|(leaf, _)| leaf == key || inside(leaf)).map(|(_, source)| source)
    }

    /// The folder that a path under this key is relative to: the file's where the file says it, otherwise the one that
    /// this process runs in.
    pub(crate) fn folder(&self, key: &str) -> &Path {
        match self.of(key) {
            Some(Source::Variable(_) | Source::Flag(_)) => Path::new(""),
            _ => self.path.parent().unwrap_or(Path::new("")),
        }
    }

    /// Which values of a table were not given by the file, in words; empty where none.
    pub(super) fn besides(&self, table: &str) -> String {
        let elsewhere = self.leaves.iter().filter(|(key, source)| {
            key.starts_with(&format!("{table}.")) && !matches!(source, Source::File(..))
        });
        let named: Vec<String> = elsewhere.map(|(_, source)| source.to_string()).collect();
        if named.is_empty() { String::new() } else { format!(" (given by {} too)", named.join(", ")) }
    }

    /// The extra value that an error is about.
    pub(super) fn extra_at(&self, error: &toml::de::Error) -> Option<usize> {
        let at = error.span()?.start;
        self.extras.iter().position(|(places, _)| places.contains(&at))
    }

    fn source_at(&self, at: usize) -> Source {
        let extra = self.extras.iter().find(|(places, _)| places.contains(&at));
        extra.map_or_else(
            || {
                let before = &self.text.as_bytes()[..at.min(self.text.len())];
                Source::File(self.path.clone(), 1 + before.iter().filter(|byte| **byte == b'\n').count())
            },
            |(_, source)| source.clone(),
        )
    }

    /// An error, with the place that it came from and, for an unknown key, the one that was meant.
    pub(super) fn blame(&self, error: &toml::de::Error) -> NodeError {
        let source = self.source_at(error.span().map_or(0, |span| span.start));
        NodeError::Config(format!("{source}: {}{}", error.message(), meant(error.message(), &source)))
    }

    /// All values of a table, with their sources.
    pub(super) fn leaves(&self, table: &DeTable<'_>) -> Vec<(String, Source)> {
        let mut found = Vec::new();
        self.walk("", table, &mut found);
        found
    }

    fn walk(&self, above: &str, table: &DeTable<'_>, found: &mut Vec<(String, Source)>) {
        for (key, value) in table {
            let key = format!("{above}{}", key.get_ref());
            match value.get_ref() {
                DeValue::Table(below) => self.walk(&format!("{key}."), below, found),
                _ => found.push((key, self.source_at(value.span().start))),
            }
        }
    }
}

/// "unknown field `listne`, expected one of `listen`, ...": which of them it resembles.
fn meant(message: &str, source: &Source) -> String {
    let Some(rest) = message.strip_prefix("unknown field `") else { return String::new() };
    let mut quoted = rest.split('`');
    let name = quoted.next().unwrap_or_default();
    let known = quoted.skip(1).step_by(2);
    let near = known.map(|key| (strsim::jaro_winkler(name, key), key)).max_by(|a, b| a.0.total_cmp(&b.0));
    let Some((_, near)) = near.filter(|(score, _)| *score > 0.8) else { return String::new() };
    let table = match source {
        Source::File(..) => "",
        Source::Variable(words) | Source::Flag(words) => &words
            .trim_start_matches("CAHOOTS_")
            .trim_start_matches("--set ")
            .replace("__", ".")
            .to_lowercase(),
    };
    let table = table.rsplit_once('.').map_or("", |(table, _)| table);
    format!("; did you mean `{}`?", source.instead(table, near))
}

/// A value as it may be shown.
pub(super) fn shown(key: &str, value: &toml::Value) -> String {
    let name = key.rsplit('.').next().unwrap_or(key);
    if SECRETS.contains(&name) { "(hidden)".into() } else { value.to_string() }
}
