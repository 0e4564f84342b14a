//! `cahoots algorithms`: what can be run.

use cahoots_lab::LabError;
use cahoots_lab::experiment::{Record, remedy};
use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::simulated::Simulated;
use serde_json::json;

use super::parameters;
use crate::print;

/// The algorithms' READMEs, one per folder.
const READMES: &[&str] = include!(concat!(env!("OUT_DIR"), "/readmes.rs"));

/// List the algorithms, or show the parameters of one and how it relates to its paper.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// An algorithm, as `kind` names it in an experiment file.
    name: Option<String>,
    /// Print JSON, one object per algorithm, schemas included.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, catalogue: &Catalogue) -> Result<(), LabError> {
    let chosen: Vec<&Simulated> = match &args.name {
        Some(name) => vec![catalogue.algorithms.get(name).ok_or_else(|| {
            let remedy = remedy(name, catalogue.algorithms.names());
            LabError::Input(format!("there is no algorithm {name:?}; {remedy}"))
        })?],
        None => catalogue.algorithms.iter().collect(),
    };
    if args.json {
        let lines = chosen.into_iter().map(|about| {
            let schema = about.schema();
            let parameters = parameters::json(&Record::from_schema(schema.as_value()));
            let line = json!({
                "name": about.name, "summary": about.summary, "membership": about.membership,
                "parameters": parameters, "schema": schema,
            });
            line.to_string() + "\n"
        });
        return print::out(&lines.collect::<String>());
    }
    match (&args.name, chosen.as_slice()) {
        (Some(_), [about]) => {
            let table = parameters::table(&Record::from_schema(about.schema().as_value()));
            let readme = readme(about.name).map(|text| format!("\n{}\n", text.trim())).unwrap_or_default();
            let membership = format!("\nClients that are late, leave or come back: {}\n", about.membership);
            print::out(&format!("{}: {}\n\n{table}{membership}{readme}", about.name, about.summary))
        }
        _ => {
            let rows: Vec<Vec<String>> =
                chosen.iter().map(|about| vec![about.name.to_string(), about.summary.to_string()]).collect();
            let more = "\n`cahoots algorithms NAME` shows the parameters of one.\n";
            print::out(&(print::columns(&rows) + more))
        }
    }
}

/// The README whose heading names the algorithm.
fn readme(name: &str) -> Option<&'static str> {
    READMES.iter().copied().find(|text| {
        let heading = text.lines().next().unwrap_or_default().trim_start_matches('#');
        heading.split(',').any(|part| part.trim() == name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_readme() {
        for name in cahoots_lab::catalogue().algorithms.names() {
            assert!(readme(name).is_some(), "no README.md has {name} in its heading");
        }
    }

    #[test]
    fn every_algorithm_says_what_becomes_of_those_who_are_late_leave_or_come_back() {
        for about in cahoots_lab::catalogue().algorithms.iter() {
            let sentences = about.membership.matches(". ").count() + 1;
            assert!((2..=4).contains(&sentences), "{}: {}", about.name, about.membership);
            assert!(about.membership.contains("comes back"), "{}: {}", about.name, about.membership);
        }
    }
}
