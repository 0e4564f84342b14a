//! `cahoots plot`: the figures of earlier results again.

use std::path::PathBuf;

use cahoots_lab::files::Format;
use cahoots_lab::results::Wanted;
use cahoots_lab::{LabError, results};
use cahoots_sim::catalogue::Catalogue;

use crate::print;

/// Draw the figures of a finished run again, from its curves.
///
/// Regret over time, against communication (where anything is sent), and against every key that is swept; a heat map
/// where two are. Panels of one figure have one scale.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Folder of results, as `cahoots run` left it.
    dir: PathBuf,
    /// Only entries whose label has this in it; several are separated by commas.
    #[arg(long, value_name = "LABEL", value_delimiter = ',')]
    only: Vec<String>,
    /// Only regret against this key: one that is swept, or any in which entries differ.
    #[arg(long, value_name = "KEY")]
    against: Option<String>,
    /// Regret on a logarithmic axis.
    #[arg(long)]
    log_y: bool,
    /// Width and height of a figure, or of each panel, in pixels (96 to the inch), such as 640x400.
    #[arg(long, value_name = "WxH", value_parser = size)]
    size: Option<(f64, f64)>,
    /// Forms to write, separated by commas [default: svg,png,pdf].
    #[arg(long, value_name = "FORM", value_delimiter = ',', value_parser = format)]
    format: Vec<Format>,
    /// Folder for the figures [default: DIR].
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  cahoots plot results/thresholds                                       all figures, as after the run
  cahoots plot results/thresholds --only linucb-alone,ratio=2 --log-y   some entries, on a logarithmic axis
  cahoots plot results/thresholds --against ratio --size 480x320 --format pdf --out paper";

/// Smallest and largest side of a figure.
const SIDES: std::ops::RangeInclusive<f64> = 240.0..=4000.0;

fn size(text: &str) -> Result<(f64, f64), String> {
    let sides = text.split_once(['x', 'X', '×']);
    let parsed =
        sides.and_then(|(width, height)| Some((width.trim().parse().ok()?, height.trim().parse().ok()?)));
    match parsed {
        Some((width, height)) if SIDES.contains(&width) && SIDES.contains(&height) => Ok((width, height)),
        Some(_) => Err(format!("each side must be from {} to {} pixels", SIDES.start(), SIDES.end())),
        None => Err("write it as WIDTHxHEIGHT, such as 640x400".into()),
    }
}

fn format(text: &str) -> Result<Format, String> {
    let found = Format::ALL.into_iter().find(|format| format.ending() == text.trim().to_lowercase());
    found.ok_or_else(|| "there are svg, png and pdf".into())
}

pub(crate) fn run(args: Args, catalogue: &Catalogue) -> Result<(), LabError> {
    let Args { dir, only, against, log_y, size, format, out } = args;
    let only = only.into_iter().map(|text| text.trim().to_string()).filter(|text| !text.is_empty()).collect();
    let out = out.unwrap_or_else(|| dir.clone());
    let wanted = Wanted { only, against, log_y, size, formats: format };
    let drawn = results::redraw(catalogue, &dir, &out, cahoots_papers::lower_bounds, &wanted)?;
    let formats = if wanted.formats.is_empty() { Format::ALL.to_vec() } else { wanted.formats };
    let endings: Vec<&str> = formats.iter().map(|format| format.ending()).collect();
    let names: Vec<String> = drawn.iter().map(|name| out.join(name).display().to_string()).collect();
    print::out(&format!("drawn: {} (.{})\n", names.join(", "), endings.join(", .")))
}
