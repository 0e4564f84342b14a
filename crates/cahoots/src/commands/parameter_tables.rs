//! The tables of parameters that rustdoc shows: `PARAMETERS.md` in the folder of each algorithm.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use cahoots_lab::experiment::Record;

use super::parameters::default;

/// What rustdoc shows below an algorithm's README: the keys of each algorithm of its folder.
fn markdown(names: &[&str]) -> String {
    let mut text = String::from("# Parameters\n");
    for name in names {
        let catalogue = crate::catalogue();
        let schema = catalogue.find(name).expect("a heading names algorithms").schema();
        let _ = write!(text, "\n`{name}`:\n\n| key | default | range | purpose |\n|---|---|---|---|\n");
        for field in Record::from_schema(schema.as_value()).fields {
            let cell = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
            let (key, default) = (&field.key, cell(&default(&field)));
            let (range, purpose) = (cell(&field.shape.describe()), cell(&field.purpose));
            let _ = writeln!(text, "| `{key}` | `{default}` | {range} | {purpose} |");
        }
    }
    text.replace("`-`", "-").replace("`required`", "required")
}

#[test]
fn they_are_what_the_schemas_say() {
    let folders = Path::new(env!("CARGO_MANIFEST_DIR")).join("../algorithms/src");
    let mut described = 0;
    for folder in fs::read_dir(folders).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(readme) = fs::read_to_string(folder.join("README.md")) else { continue };
        let heading = readme.lines().next().unwrap().trim_start_matches('#');
        let names: Vec<&str> = heading.split(',').map(str::trim).collect();
        described += names.len();
        let (path, expected) = (folder.join("PARAMETERS.md"), markdown(&names));
        if env::var_os("CAHOOTS_RECORD").is_some() {
            fs::write(&path, &expected).unwrap();
        }
        let said = fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(said, expected, "{} is not what the schema says; see CONTRIBUTING.md", path.display());
    }
    assert_eq!(described, crate::catalogue().algorithms.names().len(), "every algorithm, once");
}
