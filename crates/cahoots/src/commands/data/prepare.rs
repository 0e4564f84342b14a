//! `cahoots data prepare`: features of a set's items, ahead of time.

use std::time::{Duration, Instant};

use cahoots_data::datasets::{Folder, Kind, load};
use cahoots_data::features::{Cache, Features, Kept, RESIDUAL, Variant};
use cahoots_lab::experiment::remedy;
use cahoots_lab::{LabError, say};
use cahoots_sim::files::Here;
use serde_json::json;

use crate::commands::stop;
use crate::print;

/// Compute the features of a dataset's items and keep them, so that experiments need not wait.
///
/// The words of an item are those of its tags (for movies its genres, too): TF-IDF, then the first DIM principal
/// components, all divided by the largest norm (`gob`), or the first DIM singular vectors with columns standardised (`svd`). The
/// same data give the same bits on every machine. Files go to $CAHOOTS_CACHE, else to $XDG_CACHE_HOME/cahoots or
/// ~/.cache/cahoots, named by a hash of the data; they can be removed at any time.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Which set it is: lastfm, delicious, delicious-reduced, hetrec-movielens, ml-latest-small, ml-20m, ml-25m, movielens.
    name: String,
    /// Its folder.
    dir: String,
    /// Which features.
    #[arg(long, value_parser = ["gob", "svd", "both"], default_value = "both")]
    features: String,
    /// Features of an item.
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u16).range(1..=1000))]
    dim: u16,
    /// Compute them even if they are there.
    #[arg(long)]
    anew: bool,
    /// Print one JSON object per kind of features.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  cahoots data prepare lastfm hetrec2011-lastfm-2k
  cahoots data prepare ml-20m ml-20m --features gob --dim 50
  CAHOOTS_CACHE=/scratch/cache cahoots data prepare delicious hetrec2011-delicious-2k";

pub(super) fn run(args: &Args) -> Result<(), LabError> {
    stop::exit_on_ctrl_c();
    let kind = Kind::named(&args.name).ok_or_else(|| {
        let remedy = remedy(&args.name, Kind::ALL.into_iter().map(Kind::name));
        LabError::Input(format!("there is no dataset {:?}; {remedy}", args.name))
    })?;
    let cache = Cache::usual().ok_or_else(|| {
        LabError::Input("nobody says where files can be kept: set CAHOOTS_CACHE to a folder".into())
    })?;
    say(format_args!("reading {}", args.dir));
    let set = load(&Folder::new(&Here, &args.dir), Some(kind))
        .map_err(|error| LabError::Input(error.to_string()))?;
    let variants = match args.features.as_str() {
        "gob" => &[Variant::Gob][..],
        "svd" => &[Variant::Svd],
        _ => &[Variant::Gob, Variant::Svd],
    };
    let dim = usize::from(args.dim);
    for &variant in variants {
        let path = cache.path(&set, variant, dim);
        let state = cache.state(&set, variant, dim);
        if state == Kept::Damaged {
            say(format_args!("{} is damaged or of another version, and made anew", path.display()));
        }
        let known = cache.get(&set, variant, dim).filter(|_| !args.anew);
        let fresh = known.is_none();
        let features = match known {
            Some(features) => features,
            None => {
                let features = compute(&set, variant, dim);
                if !cache.put(&set, variant, &features) {
                    let problem =
                        format!("cannot write {}: set CAHOOTS_CACHE to another folder", path.display());
                    return Err(LabError::Failed(problem));
                }
                features
            }
        };
        let kept = 100.0 * features.kept;
        let text = if args.json {
            let line = json!({
                "dataset": set.kind.name(), "features": variant.name(), "dim": dim, "items": set.items.len(),
                "words": set.documents.words.len(), "kept": features.kept, "rounds": features.rounds,
                "residual": features.residual, "computed": fresh, "content": set.content,
                "file": path.to_string_lossy(),
            });
            format!("{line}\n")
        } else {
            format!(
                "{} {}: {} items, {} words, {dim} features that keep {kept:.1}%{} ({})\n",
                set.kind.name(),
                variant.name(),
                set.items.len(),
                set.documents.words.len(),
                if fresh { "" } else { ", there already" },
                path.display()
            )
        };
        print::out(&text)?;
    }
    Ok(())
}

fn compute(set: &cahoots_data::datasets::Dataset, variant: Variant, dim: usize) -> Features {
    say(format_args!("computing {} features ({})", dim, variant.name()));
    let mut last = Instant::now();
    Features::compute(set, variant, dim, &mut |round, residual| {
        if last.elapsed() >= Duration::from_secs(2) {
            last = Instant::now();
            say(format_args!("round {round}: {residual:.1e} from exact, {RESIDUAL:.0e} is near enough"));
        }
    })
}
