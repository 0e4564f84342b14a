//! The file: JSON that says what it is, with a hash of the numbers in it.

use std::path::Path;

use cahoots_core::{LinearStats, Prior, Symmetric};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::NodeError;
use crate::identity::Private;
use crate::limits::{REASON, cut};

/// Version of the file's layout.
const LAYOUT: u32 = 1;
/// Bytes that no prior has: whoever names another file by mistake is told before it is read.
const LARGEST_FILE: u64 = 1 << 30;

/// What one federation hands on to another.
#[derive(Clone, Debug, PartialEq)]
pub struct PriorFile {
    /// What the sums are of: only federations of the same kind can use it.
    pub kind: String,
    /// Where it comes from, in words.
    pub from: String,
    /// The names of the features, where they have any.
    pub features: Vec<String>,
    /// The sums.
    pub prior: Prior,
}

/// As it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    cahoots_prior: u32,
    kind: String,
    from: String,
    observations: u64,
    dim: usize,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    features: Vec<String>,
    /// The lower triangle, row by row.
    gram: Vec<f64>,
    moment: Vec<f64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    contexts: Vec<f64>,
    hash: String,
}

impl PriorFile {
    /// Names the numbers and what they are of; words are no part of it.
    pub fn hash(&self) -> String {
        let numbers = postcard::to_stdvec(&self.prior).expect("sums can always be written");
        let digest =
            Sha256::new().chain_update(&self.kind).chain_update([0]).chain_update(numbers).finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The text of the file: a key per line.
    pub fn to_json(&self) -> String {
        let Prior::Linear(stats) = &self.prior;
        let written = Written {
            cahoots_prior: LAYOUT,
            kind: self.kind.clone(),
            from: self.from.clone(),
            observations: stats.count,
            dim: stats.dim(),
            features: self.features.clone(),
            gram: stats.gram.packed().to_vec(),
            moment: stats.moment.to_vec(),
            contexts: stats.contexts.to_vec(),
            hash: self.hash(),
        };
        let Ok(Value::Object(keys)) = serde_json::to_value(written) else {
            unreachable!("a struct is an object")
        };
        let lines: Vec<String> = keys.iter().map(|(key, value)| format!("  \"{key}\": {value}")).collect();
        format!("{{\n{}\n}}\n", lines.join(",\n"))
    }

    /// Reads the text of a file. What is wrong is said with the way to mend it.
    pub fn from_json(text: &str) -> Result<PriorFile, String> {
        const AGAIN: &str = "make it anew with `cahoots prior`, or copy it again from where it was made";
        if text.trim().is_empty() {
            return Err(format!("the file is empty: {AGAIN}"));
        }
        // The version first: another one may have other keys.
        let value: Value = serde_json::from_str(text).map_err(|e| {
            let what = if e.is_eof() {
                "it is cut short".into()
            } else {
                format!("no prior can be read from it ({e})")
            };
            format!("{what}: {AGAIN}")
        })?;
        match value.get("cahoots_prior").and_then(Value::as_u64) {
            Some(layout) if layout == u64::from(LAYOUT) => {}
            Some(newer) => {
                return Err(format!("it has version {newer}, this build reads version {LAYOUT}: {AGAIN}"));
            }
            None => return Err(format!("it is no prior, it has no `cahoots_prior`: {AGAIN}")),
        }
        let written: Written = serde_json::from_value(value).map_err(|e| format!("{e}: {AGAIN}"))?;
        let Written { kind, from, observations: count, dim, features, gram, moment, contexts, hash, .. } =
            written;
        let sizes = format!(
            "{} numbers of `gram`, {} of `moment` and {} of `contexts` are none of {dim} features: {AGAIN}",
            gram.len(),
            moment.len(),
            contexts.len()
        );
        // A dimension from a file may say anything: nothing is multiplied before it is known to be small.
        let fits = dim <= 1 << 20 && moment.len() == dim && (contexts.is_empty() || contexts.len() == dim);
        let named = features.is_empty() || features.len() == dim;
        let gram = if fits && named { Symmetric::from_packed(dim, gram) } else { None };
        let gram = gram.ok_or(sizes)?;
        let prior =
            Prior::Linear(LinearStats { gram, moment: moment.into(), contexts: contexts.into(), count });
        let file = PriorFile { kind, from: cut(&from, REASON).into_owned(), features, prior };
        if file.hash() != hash {
            return Err(format!("its numbers are not those that it was written with: {AGAIN}"));
        }
        Ok(file)
    }

    /// Reads a file.
    pub fn read(path: &Path) -> Result<PriorFile, NodeError> {
        let wrong = |what: String| NodeError::Config(format!("prior {}: {what}", path.display()));
        let length =
            std::fs::metadata(path).map_err(|e| wrong(format!("{e}; `cahoots prior` makes one")))?.len();
        if length > LARGEST_FILE {
            return Err(wrong(format!("{length} bytes are no prior; `cahoots prior` makes one of a log")));
        }
        let text =
            std::fs::read_to_string(path).map_err(|e| wrong(format!("{e}; `cahoots prior` makes one")))?;
        PriorFile::from_json(&text).map_err(wrong)
    }

    /// Writes a file, its owner's alone, where there is none yet.
    pub fn write(&self, path: &Path) -> Result<(), NodeError> {
        if path.exists() {
            return Err(NodeError::Config(format!(
                "{} is there already: give another --out, or move it aside",
                path.display()
            )));
        }
        Private::write(path, self.to_json().as_bytes())
            .map_err(|e| NodeError::Config(format!("{}: {e}; give another --out", path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> PriorFile {
        let mut stats = LinearStats::empty_with_contexts(2);
        // Numbers whose last digit counts.
        for i in 1..50 {
            stats.observe(&[1.0 / f64::from(i), 0.1 * f64::from(i)], 1.0 / 3.0);
        }
        PriorFile {
            kind: Prior::LINEAR.into(),
            from: "a test".into(),
            features: Vec::new(),
            prior: Prior::Linear(stats),
        }
    }

    #[test]
    fn every_bit_survives_and_words_are_no_part_of_the_hash() {
        let named = PriorFile { features: vec!["a".into(), "b".into()], ..file() };
        for file in [file(), named] {
            let read = PriorFile::from_json(&file.to_json()).unwrap();
            assert_eq!(read, file);
            assert_eq!(PriorFile { from: "elsewhere".into(), ..read }.hash(), file.hash());
        }
        assert_ne!(PriorFile { kind: "other".into(), ..file() }.hash(), file().hash());
        assert_eq!(file().to_json().lines().count(), 11, "a key per line");
    }

    #[test]
    fn what_is_no_prior_is_refused_with_the_way_to_mend_it() {
        let good = file().to_json();
        let swap = |key: &str, value: Value| {
            let mut keys: Value = serde_json::from_str(&good).unwrap();
            keys[key] = value;
            keys.to_string()
        };
        let cases = [
            (String::new(), "the file is empty"),
            ("\n".into(), "the file is empty"),
            (good[..good.len() / 2].into(), "cut short"),
            ("x,y,reward\n1,2,3\n".into(), "no prior can be read from it"),
            ("[1, 2]".into(), "it is no prior"),
            (swap("cahoots_prior", 2.into()), "it has version 2"),
            (swap("surprise", 2.into()), "unknown field `surprise`"),
            (swap("dim", 3.into()), "none of 3 features"),
            (swap("dim", u64::MAX.into()), "none of 18446744073709551615 features"),
            (swap("features", vec!["a"].into()), "none of 2 features"),
            (swap("gram", vec![1.0, 2.0].into()), "2 numbers of `gram`"),
            (swap("contexts", vec![1.0].into()), "1 of `contexts`"),
            (swap("moment", serde_json::json!([null, 1.0])), "invalid type: null"),
            (good.replacen("\"moment\": [", "\"moment\": [1e999,", 1), "no prior can be read from it"),
            (good.replacen("\"moment\": [", "\"moment\": [NaN,", 1), "no prior can be read from it"),
            (swap("observations", (-1).into()), "invalid value"),
            (swap("observations", 50.into()), "not those that it was written with"),
            (swap("moment", vec![1.0, 2.0].into()), "not those that it was written with"),
            (swap("kind", "other".into()), "not those that it was written with"),
        ];
        for (text, words) in cases {
            let said = PriorFile::from_json(&text).unwrap_err();
            assert!(said.contains(words) && said.contains("`cahoots prior`"), "{words}: {said}");
        }
    }
}
