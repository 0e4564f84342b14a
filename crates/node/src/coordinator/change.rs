//! Parameters that change while a federation runs: every version is on record, in the commit that makes it hold, and
//! any of them can hold again.

use cahoots_core::ParamError;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};

use super::core::Core;
use super::watch::Happening;
use crate::error::NodeError;
use crate::store::{Home, StoreError};
use crate::transport::proto::Change;
use crate::transport::{Kind, frame};

/// The name under which versions are stored.
pub(super) const PREFIX: &str = "params/";

/// Versions that are remembered, besides the terms.
const REMEMBERED: u64 = 1000;

/// One version of a federation's parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Version {
    /// Its number. 0 are the terms.
    pub version: u64,
    /// When it was made, in seconds since 1970; not known of the terms.
    pub time: Option<f64>,
    /// The version whose values it has again, where it was made to go back.
    pub reverts_to: Option<u64>,
    /// What it changed.
    pub changes: Vec<Changed>,
    /// All parameters, in TOML.
    pub params: String,
}

/// One parameter that a version changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Changed {
    /// Its key.
    pub key: String,
    /// What it was, in TOML; none where there was none.
    pub from: Option<String>,
    /// What it is, in TOML.
    pub to: Option<String>,
}

/// All versions on record, the oldest first. The terms are always among them.
pub(super) fn versions(store: &dyn Home) -> Result<Vec<Version>, StoreError> {
    Ok(restore(&store.get("terms")?.unwrap_or_default(), store.list(PREFIX)?))
}

/// The same, from what a store holds.
pub(super) fn restore(terms: &[u8], stored: Vec<(String, Vec<u8>)>) -> Vec<Version> {
    let terms: Table = std::str::from_utf8(terms).ok().and_then(|text| text.parse().ok()).unwrap_or_default();
    let params = terms.get("params").and_then(Value::as_table).map(ToString::to_string).unwrap_or_default();
    let mut all = vec![Version { version: 0, time: None, reverts_to: None, changes: Vec::new(), params }];
    all.extend(stored.iter().filter_map(|(_, record)| postcard::from_bytes::<Version>(record).ok()));
    all.sort_by_key(|version| version.version);
    all
}

/// What differs between two sets of parameters.
fn changes(before: &str, after: &str) -> Vec<Changed> {
    let read = |text: &str| text.parse::<Table>().unwrap_or_default();
    let (before, after) = (read(before), read(after));
    let keys: std::collections::BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let differ = keys.into_iter().filter(|key| before.get(*key) != after.get(*key));
    let text = |table: &Table, key: &str| table.get(key).map(ToString::to_string);
    differ.map(|key| Changed { key: key.clone(), from: text(&before, key), to: text(&after, key) }).collect()
}

impl Core {
    /// Changes parameters that may change, here and at every client. Nobody is told of a version that a crash could take
    /// back.
    pub(super) fn change(&mut self, params: &str, reverts_to: Option<u64>) -> Result<u64, NodeError> {
        let (now, before) = self.machine.params();
        let (version, before) = (now + 1, before.to_string());
        let wrong = |e: ParamError| NodeError::Config(e.to_string());
        self.machine.change(self.clock.now(), version, params, &mut self.batch).map_err(wrong)?;
        self.inputs += 1;
        let changes = changes(&before, params);
        let named = |change: &Changed| {
            let word = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".into());
            format!("{} {} -> {}", change.key, word(&change.from), word(&change.to))
        };
        let what = changes.iter().map(named).collect::<Vec<_>>().join(", ");
        let time = Some(self.store.platform().wall().as_secs_f64());
        let record = Version { version, time, reverts_to, changes, params: params.into() };
        let record = postcard::to_stdvec(&record).expect("a version can always be written");
        self.batch.set(format!("{PREFIX}{}", version % REMEMBERED), record);
        let change = Change { version, params: params.into() };
        let everyone = self.members.connected.keys();
        self.after.extend(everyone.map(|client| (*client, frame(Kind::Change(change.clone())))));
        self.flush(false)?;
        tracing::info!(version, reverts_to, what, "parameters changed");
        self.watch.note(Happening::Params, None, format!("version {version}: {what}"));
        Ok(version)
    }

    /// The values of an earlier version hold again, as a new one; without a number, those of the one before.
    pub(super) fn revert(&mut self, to: Option<u64>) -> Result<u64, NodeError> {
        let now = self.machine.params().0;
        let wanted = match to {
            Some(version) => version,
            None => now.checked_sub(1).ok_or_else(|| {
                NodeError::Request("parameters have never changed: there is nothing to go back to".into())
            })?,
        };
        if wanted == now {
            return Err(NodeError::Request(format!("version {now} is what holds")));
        }
        let versions = versions(&*self.store)?;
        let found = versions.into_iter().find(|version| version.version == wanted).ok_or_else(|| {
            NodeError::Request(format!(
                "version {wanted} is not on record: `cahoots params FILE history` lists those that are (the terms, which are \
                 version 0, and the last {REMEMBERED})"
            ))
        })?;
        self.change(&found.params, Some(wanted))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;

    use cahoots_algorithms::async_linucb::AsyncLinucb;
    use cahoots_core::Setting;
    use tokio::sync::oneshot;

    use super::super::CoordinatorConfig;
    use super::*;
    use crate::live::Known;
    use crate::platform::{Opening, Platform};
    use crate::store::Sync;
    use crate::terms::Terms;

    #[test]
    fn what_differs_is_named_with_both_values() {
        let found = changes("a = 1\nb = 2\nc = { d = 3 }\n", "a = 1\nb = 2.5\nc = { d = 4 }\ne = \"x\"\n");
        let words: Vec<_> = found.iter().map(|c| (&*c.key, c.from.as_deref(), c.to.as_deref())).collect();
        let expected = [
            ("b", Some("2"), Some("2.5")),
            ("c", Some("{ d = 3 }"), Some("{ d = 4 }")),
            ("e", None, Some("\"x\"")),
        ];
        assert_eq!(words, expected);
        assert!(changes("a = 1", "a = 1").is_empty());
    }

    #[test]
    fn what_a_full_disk_would_not_take_is_not_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let known = Arc::new(Known::default().algorithm::<AsyncLinucb>());
        let terms =
            Terms::new(&known, "async-linucb", &"ratio = 5.0".parse().unwrap(), Setting::linear(2, 2, 2), 1);
        let terms = terms.unwrap();
        let open = || {
            let config = CoordinatorConfig {
                known: known.clone(),
                federation: "shops".into(),
                store: folder.path().join("store"),
                sync: Sync::Memory,
                terms: terms.clone(),
                tick: Duration::from_secs(1),
                snapshot_every: 1000,
                limits: Default::default(),
                security: Default::default(),
                warm_start: None,
                plan: None,
            };
            Core::open(config, oneshot::channel().0, &Platform::System).unwrap()
        };
        let mut core = open();
        let full = Platform::System.open(Path::new("/dev/full"), Opening::ToWrite).unwrap();
        let sound = core.store.store().swap_log(full);
        let mut params = terms.params.clone();
        params.insert("upload_ratio".into(), 3.0.into());
        let refused = core.change(&params.to_string(), None);
        assert!(matches!(refused, Err(NodeError::Store(StoreError::Full { .. }))), "{refused:?}");
        // The next commit has what this one had, or nothing that builds on it counts.
        core.store.store().swap_log(sound);
        core.commit(false).unwrap();
        let held = core.machine.params().0;
        drop(core);
        let core = open();
        assert_eq!((held, core.machine.params().0, versions(&*core.store).unwrap().len()), (1, 1, 2));
    }
}
