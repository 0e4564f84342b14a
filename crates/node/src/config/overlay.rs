//! What a node is given: its file, then variables of the environment, then flags. Later ones win, and whatever is wrong
//! is said with the place that it came from.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::sources::{Source, Sources};
use crate::error::NodeError;

/// How variables that are configuration begin. What follows is the key, in capitals; two underscores stand for a dot.
const PREFIX: &str = "CAHOOTS_";

/// Variables with that beginning that mean something else: to other commands, to logs, to builds and tests.
const OTHERS: &[&str] = &[
    "CAHOOTS_CACHE",
    "CAHOOTS_DATA",
    "CAHOOTS_GALLERY",
    "CAHOOTS_LOG",
    "CAHOOTS_LOG_FORMAT",
    "CAHOOTS_LOGS",
    "CAHOOTS_MEMORY",
    "CAHOOTS_SCREENSHOTS",
    "CAHOOTS_VERSION",
];

/// The same for all that begin so: tests, and what Kubernetes gives every pod beside a service named "cahoots".
const OTHERS_BEGIN: &[&str] = &["CAHOOTS_RECORD", "CAHOOTS_TEST_", "CAHOOTS_SERVICE_", "CAHOOTS_PORT"];

/// Keys whose values nobody else may see. Command lines are seen by everyone on the machine.
pub(super) const SECRETS: &[&str] = &["token", "invitation"];

/// Where a node's configuration comes from.
///
/// ```
/// use cahoots_node::config::{Given, ServeFile};
///
/// # let folder = tempfile::tempdir().unwrap();
/// # let path = folder.path().join("serve.toml");
/// std::fs::write(&path, "federation = 'shop'\nstore = 's'\nlisten = '127.0.0.1:1'\n[algorithm]\nkind = 'random'\n").unwrap();
/// let variables = [("CAHOOTS_LISTEN".into(), "127.0.0.1:2".into()), ("CAHOOTS_LIMITS__CONNECTIONS".into(), "7".into())];
/// let given = Given::file(&path).variables(variables).unwrap().flag("listen", "127.0.0.1:3", "--listen").unwrap();
/// let file = ServeFile::given(&given).unwrap();
/// assert_eq!((&*file.listen, file.limits.connections), ("127.0.0.1:3", 7));
/// ```
#[derive(Clone, Debug)]
pub struct Given {
    path: PathBuf,
    extras: Vec<Extra>,
}

/// One value that is not in the file.
#[derive(Clone, Debug)]
struct Extra {
    source: Source,
    /// The key, its parts between dots.
    key: String,
    /// As it was given.
    text: String,
    /// As TOML, if it can be read so.
    toml: Option<String>,
}

impl Given {
    /// A file alone.
    pub fn file(path: impl Into<PathBuf>) -> Given {
        Given { path: path.into(), extras: Vec::new() }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether any of them says something under this key, which is in no table.
    pub(crate) fn says(&self, key: &str) -> bool {
        let text = std::fs::read_to_string(&self.path).unwrap_or_default();
        // What is wrong with the file is said by who reads it whole.
        let in_file = text.parse::<toml::Table>().is_ok_and(|table| table.contains_key(key));
        in_file || self.extras.iter().any(|extra| extra.key == key)
    }

    /// This process's environment over it.
    pub fn with_environment(self) -> Result<Given, NodeError> {
        self.variables(std::env::vars_os())
    }

    /// These variables over it, as far as they are configuration.
    pub fn variables(
        mut self,
        variables: impl IntoIterator<Item = (OsString, OsString)>,
    ) -> Result<Given, NodeError> {
        let mut ours: Vec<(String, OsString)> = variables
            .into_iter()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value)))
            .filter(|(name, _)| is_configuration(name))
            .collect();
        ours.sort();
        for (name, value) in ours {
            let key = name[PREFIX.len()..].to_lowercase().replace("__", ".");
            let value = value
                .into_string()
                .map_err(|_| NodeError::Config(format!("{name} is no text: it must be UTF-8")))?;
            self.add(Source::Variable(name), &key, value)?;
        }
        Ok(self)
    }

    /// A flag over it; `words` is how it is called.
    pub fn flag(mut self, key: &str, value: &str, words: &str) -> Result<Given, NodeError> {
        if SECRETS.contains(&key) {
            let variable = Source::variable_of(key);
            return Err(NodeError::Config(format!(
                "{words}: everyone on this machine can read command lines, so no secret is taken from one: put it into a file that \
                 {key}_file names, or into the variable {variable}"
            )));
        }
        self.add(Source::Flag(words.into()), key, value.into())?;
        Ok(self)
    }

    /// `--set KEY=VALUE` over it.
    pub fn set(self, pair: &str) -> Result<Given, NodeError> {
        let wrong = || {
            NodeError::Config(format!(
                "--set {pair:?} is not KEY=VALUE, such as tick=0.5 or limits.connections=100"
            ))
        };
        let (key, value) = pair.split_once('=').ok_or_else(wrong)?;
        let key = key.trim();
        if key.is_empty() {
            return Err(wrong());
        }
        self.flag(key, value.trim(), &format!("--set {key}"))
    }

    fn add(&mut self, source: Source, key: &str, text: String) -> Result<(), NodeError> {
        if key.split('.').any(|part| part.is_empty() || part.contains(|c: char| c.is_control() || c == '"')) {
            return Err(NodeError::Config(format!("{source}: {key:?} is no key")));
        }
        let toml = as_toml(&text);
        self.extras.push(Extra { source, key: key.into(), text, toml });
        Ok(())
    }

    /// What all of them say together, and where each value is from.
    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<(T, Sources), NodeError> {
        let path = &self.path;
        let text = std::fs::read_to_string(path).map_err(|e| {
            NodeError::Config(format!("{}: {e}; give the path of a configuration file", path.display()))
        })?;
        let mut extras = self.extras.clone();
        let mut first = None;
        loop {
            let (documents, sources) = documents(path, &text, &extras);
            let merged = merge(&documents, &extras).map_err(|e| sources.blame(&e))?;
            let leaves = sources.leaves(merged.get_ref());
            let read = T::deserialize(toml::de::Deserializer::from(merged));
            let error = match read {
                Ok(read) => return Ok((read, sources.with(leaves))),
                Err(error) => error,
            };
            // A text may look like a number: `CAHOOTS_TOKEN=12345`. Where no number fits, it was meant as it stands.
            let misread = sources.extra_at(&error).filter(|extra| extras[*extra].toml.take().is_some());
            let error = sources.blame(&error);
            match misread {
                Some(_) => _ = first.get_or_insert(error),
                None => return Err(first.unwrap_or(error)),
            }
        }
    }
}

impl From<&Path> for Given {
    fn from(path: &Path) -> Given {
        Given::file(path)
    }
}

impl From<&PathBuf> for Given {
    fn from(path: &PathBuf) -> Given {
        Given::file(path)
    }
}

impl From<&Given> for Given {
    fn from(given: &Given) -> Given {
        given.clone()
    }
}

/// Whether a variable is for `serve` and `client`.
fn is_configuration(name: &str) -> bool {
    name.starts_with(PREFIX)
        && !OTHERS.contains(&name)
        && !OTHERS_BEGIN.iter().any(|begin| name.starts_with(begin))
}

/// A value as TOML has it, if all of the text is one.
fn as_toml(text: &str) -> Option<String> {
    const KEY: &str = "x = ";
    let value = text.trim();
    let document = format!("{KEY}{value}");
    let table = DeTable::parse(&document).ok()?;
    let whole = table.get_ref().get("x").is_some_and(|found| found.span() == (KEY.len()..document.len()));
    (whole && table.get_ref().len() == 1).then(|| value.to_string())
}

/// The file's text, then one document for every extra value, each indented so that places in it follow those in the
/// ones before: a place then says which it is in.
fn documents(path: &Path, text: &str, extras: &[Extra]) -> (Vec<String>, Sources) {
    let mut sources = Sources::new(path, text);
    let mut documents = vec![text.to_string()];
    let mut from = text.len() + 1;
    for extra in extras {
        let value = extra.toml.clone().unwrap_or_else(|| toml::Value::String(extra.text.clone()).to_string());
        let key: Vec<String> = extra.key.split('.').map(|part| format!("{part:?}")).collect();
        let document = format!("{}{} = {value}", " ".repeat(from), key.join("."));
        let next = document.len() + 1;
        sources.add(from..next, extra.source.clone());
        documents.push(document);
        from = next;
    }
    (documents, sources)
}

/// One table of all documents.
fn merge<'a>(documents: &'a [String], extras: &[Extra]) -> Result<Spanned<DeTable<'a>>, toml::de::Error> {
    let mut all = DeTable::parse(&documents[0])?;
    for (document, extra) in documents[1..].iter().zip(extras) {
        let given = DeTable::parse(document)?.into_inner();
        overlay(all.get_mut(), given, extra.key.split('.').count());
    }
    Ok(all)
}

/// Puts the one value that lies `depth` keys below into the place of what is there; tables on the way are kept.
fn overlay<'a>(into: &mut DeTable<'a>, given: DeTable<'a>, depth: usize) {
    for (key, value) in given {
        let deeper = if depth > 1 { into.get_mut(&**key.get_ref()).map(Spanned::get_mut) } else { None };
        match (deeper, value.get_ref()) {
            (Some(DeValue::Table(there)), DeValue::Table(_)) => {
                if let DeValue::Table(below) = value.into_inner() {
                    overlay(there, below, depth - 1);
                }
            }
            _ => {
                into.remove(&**key.get_ref());
                into.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
#[path = "overlay/tests.rs"]
mod tests;
