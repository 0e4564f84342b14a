//! What came of it: a table, and whether anything was lost.

use cahoots_lab::results::{Estimate, bytes, grouped};

use super::federation::Merged;
use super::tastes::{DIM, Earned};
use crate::print;

/// Who decided, and what each client had of it.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) how: String,
    pub(super) earned: Vec<Earned>,
}

/// Rewards and bytes, at the end.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    /// What apps were told is on disk.
    pub(super) acknowledged: u64,
    /// What they sent and had no answer to.
    pub(super) unanswered: u64,
    /// What the coordinator has, if it is there to say so.
    pub(super) merged: Option<Merged>,
}

/// By client, of those who decided at all.
fn per_decision(earned: &[Earned], of: impl Fn(&Earned) -> f64) -> impl Iterator<Item = f64> {
    let some = earned.iter().filter(|earned| earned.decisions > 0);
    some.map(|earned| of(earned) / earned.decisions as f64).collect::<Vec<_>>().into_iter()
}

/// The table. The first row is what the others are compared with.
pub(super) fn table(rows: &[Row]) -> String {
    let heading = ["", "reward per decision", "of the best", "more than alone", ""];
    let mut cells = vec![heading.map(String::from).to_vec()];
    let Some(first) = rows.first() else { return String::new() };
    let best = Estimate::new(per_decision(&first.earned, |earned| earned.best));
    for row in rows {
        let mean = Estimate::new(per_decision(&row.earned, |earned| earned.reward));
        // Clients meet the same offers and noise in every row, so that differences are paired.
        let pairs = per_decision(&row.earned, |earned| earned.reward)
            .zip(per_decision(&first.earned, |earned| earned.reward));
        let more = Estimate::new(pairs.map(|(this, first)| this - first));
        cells.push(vec![
            row.name.into(),
            format!("{:.3}", mean.mean),
            format!("{:.0}%", 100.0 * mean.mean / best.mean),
            if std::ptr::eq(row, first) { String::new() } else { interval(&more) },
            row.how.clone(),
        ]);
    }
    let best = format!("{:.3}", best.mean);
    cells.push(vec!["the best arm each time".into(), best, "100%".into(), String::new(), String::new()]);
    let clients = first.earned.len();
    let note = "means over {clients} clients; +- is a 95% interval of the difference, client by client";
    format!("{}{}\n", print::columns(&cells), note.replace("{clients}", &clients.to_string()))
}

/// A mean over clients with its 95% interval.
fn interval(estimate: &Estimate) -> String {
    match estimate.ci95 {
        Some(half) => format!("{:+.3} +- {half:.3}", estimate.mean),
        None => format!("{:+.3}", estimate.mean),
    }
}

impl Traffic {
    /// In words.
    pub(super) fn words(&self) -> String {
        let acknowledged = grouped(self.acknowledged as f64, 0);
        let Some(merged) = self.merged else {
            return format!("rewards  {acknowledged} acknowledged to apps\n");
        };
        let raw = self.acknowledged as f64 * (DIM + 1) as f64 * 8.0;
        let share = |part: u64| format!("{} ({:.0}%)", bytes(part as f64), 100.0 * part as f64 / raw);
        format!(
            "rewards  {acknowledged} acknowledged to apps, {} merged by the coordinator\n\
             bytes    {} sent by clients, {} sent to them, where the raw data would be {}\n",
            grouped(merged.rewards as f64, 0),
            share(merged.received),
            share(merged.sent),
            bytes(raw),
        )
    }

    /// What is wrong with the rewards, if anything: each that was acknowledged must be merged, once.
    pub(super) fn wrong(&self) -> Option<String> {
        let Traffic { acknowledged, unanswered, merged, .. } = *self;
        let Some(Merged { rewards: merged, .. }) = merged else {
            return Some("the coordinator does not say how many rewards it has merged".into());
        };
        if merged < acknowledged {
            Some(format!("{} rewards were acknowledged and are not merged", acknowledged - merged))
        } else if merged > acknowledged + unanswered {
            let many = merged - acknowledged - unanswered;
            Some(format!("{many} rewards are merged that no app sent, or more than once"))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_lost_or_made_up_is_said() {
        let traffic = |rewards| Traffic {
            acknowledged: 10,
            unanswered: 1,
            merged: Some(Merged { rewards, ..Merged::default() }),
        };
        assert_eq!(traffic(9).wrong().unwrap(), "1 rewards were acknowledged and are not merged");
        assert_eq!((traffic(10).wrong(), traffic(11).wrong()), (None, None));
        assert!(Traffic::default().wrong().is_some(), "nobody says so");
        assert_eq!(traffic(12).wrong().unwrap(), "1 rewards are merged that no app sent, or more than once");
    }

    #[test]
    fn differences_are_paired_by_client() {
        let earned =
            |rewards: [f64; 2]| rewards.map(|reward| Earned { decisions: 2, reward, best: 8.0 }).to_vec();
        let row = |name, rewards| Row { name, how: String::new(), earned: earned(rewards) };
        let table = table(&[row("alone", [1.0, 5.0]), row("federated", [2.0, 6.0])]);
        let words: Vec<&str> = table.lines().nth(2).unwrap().split_whitespace().collect();
        assert_eq!(words, ["federated", "2.000", "50%", "+0.500", "+-", "0.000"], "{table}");
    }
}
