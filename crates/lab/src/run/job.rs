//! One run: an entry and a seed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use cahoots_sim::catalogue::Catalogue;
use cahoots_sim::driver::Options;
use cahoots_sim::memory::peak_resident_bytes;
use cahoots_sim::run::{Report, RunError};

use super::record::{Curve, Effort, Privacy, Record};
use crate::error::LabError;
use crate::experiment::Entry;

/// Runs an entry for a seed; `None` when `progress` stopped it. `progress` sees
/// the tick now and then.
pub(super) fn run(
    catalogue: &Catalogue,
    entry: &Entry,
    key: &str,
    seed: u64,
    per_client: bool,
    progress: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Record>, LabError> {
    let failed = |why: String| LabError::Failed(format!("{}, seed {seed}: {why}", entry.label));
    let mut begun = Instant::now();
    // The clock starts at the first tick, when the world has been built.
    let mut timed = |tick| {
        if tick == 0 {
            begun = Instant::now();
        }
        progress(tick)
    };
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let Entry { algorithm, params, stage, .. } = entry;
        let options = Options { per_client, ..Options::default() };
        catalogue.simulate(algorithm, params, &stage.scenario, seed, options, &mut timed)
    }));
    let nanoseconds = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
    match ran {
        Ok(Ok(report)) => {
            let effort = Effort { nanoseconds, peak_rss_bytes: peak_resident_bytes().unwrap_or_default() };
            let record = record(key, seed, &report, effort);
            match overflow(&report) {
                None => Ok(Some(record)),
                Some(why) => Err(failed(why.into())),
            }
        }
        Ok(Err(RunError::Stopped)) => Ok(None),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_string());
            let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            Err(failed(format!("an internal error, which should be reported: {text}")))
        }
    }
}

/// Whose numbers have become too large, if anyone's have. What an algorithm learned is in none of them: it decides
/// which arm is pulled, and the world what comes of it.
fn overflow(report: &Report) -> Option<&'static str> {
    let ledger = &report.ledger;
    if !ledger.communication_loss.is_finite() {
        Some("the loss for communication is too large for a number: lower `communication_loss`")
    } else if !(ledger.regret.is_finite() && ledger.reward.is_finite()) {
        Some(
            "the rewards of this world are too large for a number: lower what it is made of (`reward_noise`, `means`)",
        )
    } else if !report.cost.is_finite() {
        Some("the cost of communication is too large for a number: lower the algorithm's link costs")
    } else {
        None
    }
}

fn record(key: &str, seed: u64, report: &Report, effort: Effort) -> Record {
    let ledger = &report.ledger;
    let metrics = ledger.metrics.iter().filter(|(_, value)| value.is_finite());
    Record {
        entry: key.to_string(),
        seed,
        totals: ledger.totals,
        cost: report.cost,
        metrics: metrics.map(|(name, value)| ((*name).to_string(), *value)).collect(),
        privacy: report.privacy.as_ref().map(Privacy::from),
        curve: Curve::new(&ledger.curve),
        clients: (!ledger.clients.is_empty()).then(|| ledger.clients.clone()),
        effort,
    }
}
