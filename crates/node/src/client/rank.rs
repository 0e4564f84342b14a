//! The best arms of a decision, in order: the one that is taken, then the others by falling probability, and among equals by
//! what the policy would take were the ones above not there.

use cahoots_core::arms::ArmError;
use cahoots_core::drive::Looked;
use cahoots_core::policy::Distribution;
use cahoots_core::{ArmBuffer, ArmIndex, Picked};

use super::offer;

/// Arms that can be ranked in one decision: for each, what is known is asked twice.
pub(super) const MOST: usize = 100;

/// What would be decided of these arms.
pub(super) type Look<'a> = dyn FnMut(&ArmBuffer) -> Result<Looked, ArmError> + 'a;

/// The best `top` of the arms that can be chosen, with their odds in this decision. `first` is the one that is taken.
pub(super) fn rank(
    arms: &mut ArmBuffer,
    top: usize,
    first: Picked,
    odds: Option<&Distribution>,
    look: &mut Look<'_>,
) -> Result<Vec<Picked>, ArmError> {
    let len = offer::len(arms);
    let masked = std::mem::take(&mut arms.masked);
    let mut left: Vec<bool> = (0..len).map(|arm| !masked.get(arm).copied().unwrap_or(false)).collect();
    let ranked = by_preference(arms, top, first, odds, &mut left, look);
    arms.masked = masked;
    ranked
}

fn by_preference(
    arms: &mut ArmBuffer,
    top: usize,
    first: Picked,
    odds: Option<&Distribution>,
    left: &mut [bool],
    look: &mut Look<'_>,
) -> Result<Vec<Picked>, ArmError> {
    let probability = |arm| odds.map(|odds| odds.of(arm));
    left[first.arm.index()] = false;
    let mut ranked = vec![first];
    while ranked.len() < top && left.contains(&true) {
        let arm = next(arms, odds, left, look)?;
        left[arm.index()] = false;
        // What is known of an arm is what is said when there is no other.
        arms.mask_all_but(arm);
        ranked.push(Picked { probability: probability(arm), ..look(arms)?.picked });
    }
    Ok(ranked)
}

/// The best of those that are left.
fn next(
    arms: &mut ArmBuffer,
    odds: Option<&Distribution>,
    left: &[bool],
    look: &mut Look<'_>,
) -> Result<ArmIndex, ArmError> {
    let likelihood = |arm: usize| odds.map_or(0.0, |odds| odds.probabilities()[arm]);
    let open = (0..left.len()).filter(|arm| left[*arm]);
    let highest = open.clone().map(likelihood).fold(0.0, f64::max);
    let likeliest: Vec<usize> = open.filter(|arm| likelihood(*arm) >= highest).collect();
    if let [one] = likeliest[..] {
        return Ok(ArmIndex(one as u32));
    }
    arms.masked.clear();
    arms.masked.resize(left.len(), true);
    likeliest.iter().for_each(|arm| arms.masked[*arm] = false);
    let Looked { picked, odds } = look(arms)?;
    let Some(odds) = odds else { return Ok(picked.arm) };
    let best = |best: usize, arm: usize| {
        if odds.probabilities()[arm] > odds.probabilities()[best] { arm } else { best }
    };
    Ok(ArmIndex(likeliest[1..].iter().copied().fold(likeliest[0], best) as u32))
}
