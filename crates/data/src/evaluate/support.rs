//! Whether a log is one that rejection sampling can learn from.

use super::columns::Columns;
use super::log::Log as _;
use super::verdict::FALSE_ALARM;

/// Arms (in positions) that were on offer and never taken.
pub(crate) struct NeverShown {
    /// A few of them by name.
    pub(crate) names: String,
    /// Whether chance alone explains it, where every arm has a propensity of at least p_min.
    pub(crate) by_chance: bool,
}

/// What the log never shows; none where it shows all.
pub(crate) fn never_shown(log: &Columns, least: f64) -> Option<NeverShown> {
    let shape = log.shape();
    let (mut taken, mut offered) = (vec![0u64; shape.cells()], vec![0u64; shape.cells()]);
    for row in 0..shape.rows as usize {
        let event = log.event(row);
        let first = shape.cell(event.position, 0);
        taken[first + event.arm as usize] += 1;
        (0..shape.arms.len()).filter(|arm| event.offers(*arm)).for_each(|arm| offered[first + arm] += 1);
    }
    let never: Vec<usize> = (0..taken.len()).filter(|cell| taken[*cell] == 0 && offered[*cell] > 0).collect();
    let most_offered = never.iter().map(|cell| offered[*cell]).max()?;
    let few: Vec<String> = never.iter().take(5).map(|cell| shape.cell_name(*cell)).collect();
    let more = match never.len() - few.len() {
        0 => String::new(),
        rest => format!(", and {rest} more"),
    };
    // An arm is missed n times with a chance of at most (1 - p_min)^n; any one of so many, with so many times that.
    let missed = libm::exp(most_offered as f64 * libm::log1p(-least)) * taken.len() as f64;
    Some(NeverShown { names: few.join(", ") + &more, by_chance: missed >= FALSE_ALARM })
}

/// Whether so many of so many events are too few, or too many, for a chance of `least` each: Chernoff's bound on both tails
/// of the binomial law, exp(-n KL(k/n, p)), which holds for every n.
pub(crate) fn is_off(taken: u64, events: u64, least: f64) -> bool {
    let (n, share) = (events as f64, taken as f64 / events as f64);
    let part = |seen: f64, expected: f64| if seen > 0.0 { seen * libm::log(seen / expected) } else { 0.0 };
    let divergence = part(share, least) + part(1.0 - share, 1.0 - least);
    2.0 * libm::exp(-n * divergence) < FALSE_ALARM
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_held_against_the_binomial_law() {
        // Standard deviation 30: 100 off either way is 3.3 of them and may be, 130 is 4.3 and is not.
        for (taken, off) in [(1000, false), (900, false), (1100, false), (870, true), (1130, true), (0, true)]
        {
            assert_eq!(is_off(taken, 10_000, 0.1), off, "{taken}");
        }
        assert!(!is_off(0, 10, 0.1));
        assert!(is_off(10, 10, 0.1));
        assert!(!is_off(1_000_000_000, 10_000_000_000, 0.1));
    }
}
