//! `cahoots environments`: the worlds to run algorithms in, and what else an experiment says about them.

use cahoots_lab::LabError;
use cahoots_lab::experiment::{Record, Shape, remedy};
use cahoots_sim::arrivals::ArrivalLaw;
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::network::Network;
use cahoots_sim::rewards::Rewards;
use schemars::{Schema, schema_for};
use serde_json::{Value as Json, json};

use super::parameters;
use crate::print;

/// List the environments, or show the keys of one; also of network, rewards and arrivals.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// An environment, as `kind` names it in an experiment file; or `network`, `rewards`, `arrivals`.
    name: Option<String>,
    /// Print JSON, schemas included.
    #[arg(long)]
    json: bool,
}

/// Something that an experiment file can say about its world.
struct Section {
    name: &'static str,
    summary: &'static str,
    schema: Schema,
    /// Whether it is a section of its own, or a key: not a world.
    beside: bool,
}

const BESIDE: [(&str, &str); 3] = [
    (
        "network",
        "the section [network]: messages that take time, get lost, come twice; clients that are offline",
    ),
    ("rewards", "the section [rewards]: rewards that come late, or never, or as lies"),
    ("arrivals", "the key `arrivals` of every environment: who decides at a tick"),
];

fn sections(catalogue: &Catalogue) -> Vec<Section> {
    let worlds = catalogue.worlds.iter();
    let worlds = worlds.map(|kind| Section {
        name: kind.name,
        summary: kind.summary,
        schema: kind.schema(),
        beside: false,
    });
    let beside = BESIDE.into_iter().map(|(name, summary)| {
        let schema = match name {
            "network" => schema_for!(Network),
            "rewards" => schema_for!(Rewards),
            _ => schema_for!(ArrivalLaw),
        };
        Section { name, summary, schema, beside: true }
    });
    worlds.chain(beside).collect()
}

pub(crate) fn run(args: &Args, catalogue: &Catalogue) -> Result<(), LabError> {
    let mut sections = sections(catalogue);
    if let Some(name) = &args.name {
        if !sections.iter().any(|section| section.name == name) {
            let remedy = remedy(name, sections.iter().map(|section| section.name));
            return Err(LabError::Input(format!("there is no environment {name:?}; {remedy}")));
        }
        sections.retain(|section| section.name == name);
    }
    if args.json {
        let shown = sections.into_iter().filter(|section| args.name.is_some() || !section.beside);
        let lines = shown.map(|section| {
            let schema = section.schema.to_value();
            let parameters = parameters::json(&Record::from_schema(&schema));
            let line = json!({ "name": section.name, "summary": section.summary, "parameters": parameters, "schema": schema });
            line.to_string() + "\n"
        });
        return print::out(&lines.collect::<String>());
    }
    match (&args.name, sections.as_slice()) {
        (Some(_), [section]) => {
            let keys = match section.name {
                "arrivals" => laws(section.schema.as_value()),
                _ => parameters::table(&Record::from_schema(section.schema.as_value())),
            };
            print::out(&format!("{}: {}\n\n{keys}", section.name, section.summary))
        }
        _ => {
            let rows: Vec<Vec<String>> = sections
                .iter()
                .map(|section| vec![section.name.to_string(), section.summary.to_string()])
                .collect();
            let worlds = sections.iter().filter(|section| !section.beside).count();
            let heading = |row: usize| (row == worlds).then(|| "\nand for all of them:\n".to_string());
            let more = "\n`cahoots environments NAME` shows the keys of one.\n";
            print::out(&(print::columns_under(&rows, heading) + more))
        }
    }
}

/// The laws of arrivals: what to write, and what it means.
fn laws(schema: &Json) -> String {
    let mut rows = vec![["arrivals =", "takes", "who decides at a tick"].map(String::from).to_vec()];
    for law in schema["oneOf"].as_array().into_iter().flatten() {
        let purpose = law["description"].as_str().unwrap_or_default();
        let purpose = purpose.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut with_references = law.clone();
        with_references["$defs"] = schema["$defs"].clone();
        match Shape::from_schema(&with_references) {
            Shape::Choice(words) => rows.extend(words.into_iter().map(|(word, _)| {
                let usual = if json!(ArrivalLaw::default()) == word { " (when nothing is said)" } else { "" };
                vec![format!("\"{word}\""), String::new(), format!("{purpose}{usual}")]
            })),
            Shape::Record(record) => rows.extend(record.fields.into_iter().map(|field| {
                let takes = match &field.shape {
                    Shape::Record(inner) => {
                        let key = |field: &cahoots_lab::experiment::Field| {
                            format!("{}: {}", field.key, field.shape.describe())
                        };
                        inner.fields.iter().map(key).collect::<Vec<_>>().join("; ")
                    }
                    other => other.describe(),
                };
                vec![format!("{{ {} = ... }}", field.key), takes, purpose.clone()]
            })),
            _ => {}
        }
    }
    print::columns(&rows)
}
