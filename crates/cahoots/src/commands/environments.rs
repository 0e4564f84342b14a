//! `cahoots environments`: the worlds to run algorithms in.

use cahoots_lab::LabError;
use cahoots_lab::experiment::{Record, remedy};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::worlds::KnownWorld;
use serde_json::json;

use super::parameters;
use crate::print;

/// List the environments, or show the keys of one.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// An environment, as `kind` names it in an experiment file.
    name: Option<String>,
    /// Print JSON, schemas included.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, catalogue: &Catalogue) -> Result<(), LabError> {
    let mut kinds: Vec<&KnownWorld> = catalogue.worlds.iter().collect();
    if let Some(name) = &args.name {
        if !kinds.iter().any(|kind| kind.name == name) {
            let remedy = remedy(name, kinds.iter().map(|kind| kind.name));
            return Err(LabError::Input(format!("there is no environment {name:?}; {remedy}")));
        }
        kinds.retain(|kind| kind.name == name);
    }
    if args.json {
        let lines = kinds.into_iter().map(|kind| {
            let schema = kind.schema().to_value();
            let parameters = parameters::json(&Record::from_schema(&schema));
            let line = json!({ "name": kind.name, "summary": kind.summary, "parameters": parameters, "schema": schema });
            line.to_string() + "\n"
        });
        return print::out(&lines.collect::<String>());
    }
    match (&args.name, kinds.as_slice()) {
        (Some(_), [kind]) => {
            let record = Record::from_schema(kind.schema().as_value());
            print::out(&format!("{}: {}\n\n{}", kind.name, kind.summary, parameters::table(&record)))
        }
        _ => {
            let rows: Vec<Vec<String>> =
                kinds.iter().map(|kind| vec![kind.name.to_string(), kind.summary.to_string()]).collect();
            let more = "\n`cahoots environments NAME` shows the keys of one.\n";
            print::out(&(print::columns(&rows) + more))
        }
    }
}
