//! `cahoots prior`: what a federation has learned, or what was logged, for a new federation to begin from.

use std::path::{Path, PathBuf};

use cahoots_core::Prior;
use cahoots_data::rows::Format;
use cahoots_data::sums::{Columns, of_log};
use cahoots_lab::LabError;
use cahoots_lab::results::grouped;
use cahoots_node::Known;
use cahoots_node::config::Given;
use cahoots_node::prior::{PriorFile, of_store};

use super::serve::failed;
use crate::print;

/// Write what a federation has learned, or what was logged before there was one, for a new federation to begin from.
///
/// INPUT is the store of a coordinator that does not run, a copy from `cahoots backup`, or the coordinator's file; or, with
/// --features and --reward, a log: CSV (plain or gzipped) or Parquet, a row per decision, with the features of the arm that was
/// taken and its reward. Nothing is written to it. A new coordinator begins from FILE by `[warm_start] prior = "FILE"`.
///
/// async-linucb and sync-linucb begin from each other's sums and from logs, async-linucb-am from its own alone; the other
/// algorithms have no sums that are everyone's, or promise privacy for what they add up.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A coordinator's store, a copy of one, a coordinator's file; or a log.
    input: PathBuf,
    /// Where the prior goes; there must be nothing.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Of a log: the columns of features, in the order that clients give them in; 1 is a feature that is always 1.
    #[arg(long, value_name = "COLUMN", value_delimiter = ',', requires = "reward")]
    features: Vec<String>,
    /// Of a log: the column of the reward.
    #[arg(long, value_name = "COLUMN", requires = "features")]
    reward: Option<String>,
    /// Of a log: multiply a column by a number, as clients do.
    #[arg(long, value_name = "COLUMN=NUMBER", value_delimiter = ',', requires = "features")]
    scale: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  cahoots prior serve.toml --out shops.prior
  cahoots prior decisions.csv --features 1,age,price --reward paid --scale age=0.01 --out shops.prior";

pub(crate) fn run(args: &Args, known: &Known) -> Result<(), LabError> {
    let (file, left_out) = match &args.reward {
        Some(reward) => logged(args, reward)?,
        None => (of_store(known, &given(&args.input)?).map_err(|e| no_log(&args.input, e))?, 0),
    };
    file.write(&args.out).map_err(failed)?;
    let left = match left_out {
        0 => String::new(),
        rows => format!("; rows left out because a cell was empty: {rows}"),
    };
    print::out(&format!("{}: {}{left}\n", args.out.display(), file.from))
}

/// The file, with what the environment says of a node.
fn given(input: &Path) -> Result<Given, LabError> {
    Given::file(input).with_environment().map_err(failed)
}

fn logged(args: &Args, reward: &str) -> Result<(PriorFile, u64), LabError> {
    let scales = args.scale.iter().map(|text| scale(text)).collect::<Result<_, _>>()?;
    let columns = Columns { features: args.features.clone(), reward: reward.into(), scales };
    let sums =
        of_log(&args.input, &Format::default(), &columns).map_err(|e| LabError::Input(e.to_string()))?;
    let name = args.input.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let from = format!(
        "{} rows of {name} ({} -> {reward})",
        grouped(sums.stats.count as f64, 0),
        args.features.join(", ")
    );
    let prior = Prior::Linear(sums.stats);
    Ok((PriorFile { kind: Prior::LINEAR.into(), from, features: columns.features, prior }, sums.left_out))
}

fn scale(text: &str) -> Result<(String, f64), LabError> {
    let parts = text.rsplit_once('=').and_then(|(name, number)| Some((name, number.parse::<f64>().ok()?)));
    match parts {
        Some((name, number)) if number.is_finite() && number != 0.0 => Ok((name.into(), number)),
        _ => Err(LabError::Input(format!("--scale {text:?} is not COLUMN=NUMBER, such as age=0.01"))),
    }
}

/// Whoever names a log without its columns is told what is missing.
fn no_log(input: &Path, error: cahoots_node::NodeError) -> LabError {
    let table = |ending: &str| ["csv", "tsv", "gz", "parquet"].contains(&ending);
    if input.is_file() && input.extension().and_then(|ending| ending.to_str()).is_some_and(table) {
        return LabError::Input(format!(
            "{} is no store: of a log, --features and --reward say which columns are what",
            input.display()
        ));
    }
    failed(error)
}
