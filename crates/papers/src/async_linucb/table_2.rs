//! Table 2: who uploads and who gains, by how active users are.

use cahoots_figure::{Axis, Figure, Panels, Point, Series};
use cahoots_lab::LabError;
use cahoots_lab::results::{Estimate, plus_minus, readable, with_band};
use cahoots_lab::run::Record;
use cahoots_sim::ledger::ClientTotals;

use crate::reproduce::replay::{World, in_every_world};
use crate::reproduce::{ExperimentFile, Item, Measured, ReportBuilder, Runs, Seconds, Verdict};

/// Table 2.
pub(super) const ITEM: Item = Item {
    name: "async-linucb/table-2",
    title: "Delicious (reduced): uploads and reward by how active users are",
    experiments: &[ExperimentFile {
        name: "activity",
        text: include_str!("experiments/table-2.toml"),
        quick_seeds: 2,
    }],
    seconds: Seconds { full: 60.0, quick: 30.0 },
    check_claims,
};

const ASYNC: &str = "Async-LinUCB";

/// The paper's rows: users, data, uploads at gamma = 6001 and 3, reward at both.
const PAPER: [[u64; 6]; 10] = [
    [161, 680, 118, 24, 21, 22],
    [102, 1514, 75, 117, 123, 61],
    [103, 2575, 79, 202, 214, 103],
    [114, 3988, 92, 308, 290, 124],
    [185, 8253, 144, 764, 704, 298],
    [243, 13330, 185, 751, 680, 424],
    [352, 22693, 280, 1576, 1419, 978],
    [336, 24972, 252, 1701, 1628, 1351],
    [213, 17785, 167, 1369, 1185, 1341],
    [38, 3456, 31, 448, 414, 389],
];

/// Users with at least ten times this many interactions and fewer than ten more; the last has all above.
fn group(client: &ClientTotals) -> usize {
    (client.steps as usize / 10).min(PAPER.len() - 1)
}

/// Something summed over the clients of a group, one value per seed.
fn total(runs: &Runs, which: usize, value: fn(&ClientTotals) -> f64) -> Estimate {
    Estimate::new(runs.records.iter().map(|record| sum(record, which..which + 1, value)))
}

fn sum(record: &Record, groups: std::ops::Range<usize>, value: fn(&ClientTotals) -> f64) -> f64 {
    let clients = record.clients.iter().flatten();
    clients.filter(|client| groups.contains(&group(client))).map(value).sum()
}

fn check_claims(measured: &Measured, report: &mut ReportBuilder) -> Result<(), LabError> {
    let part = measured.experiment("activity")?;
    in_every_world(part, report, check)?;
    let (users, data) = counts(&part.runs[0].records[0]);
    let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(", ");
    let column = |at: usize| PAPER.map(|row| row[at]);
    report.note(format!(
        "Users by interactions, 0 to 9, 10 to 19, ..., 90 and more: here {}; in the paper {}. Their data: here {}; in the \
         paper {}. The set is reduced here.",
        list(&users),
        list(&column(0)),
        list(&data),
        list(&column(1)),
    ));
    report.note(
        "The paper's column of rewards at gamma = inf adds up to 11, which is not the 1.6891 times random (some 6,700) that \
         its text gives for the same runs; it is not compared.",
    );
    for stage in part.stages() {
        report.note(table(&World { part, stage })?);
    }
    report.figure(
        "table-2",
        picture(&part.stages().iter().map(|stage| World { part, stage }).collect::<Vec<_>>())?,
    );
    Ok(())
}

fn counts(record: &Record) -> (Vec<u64>, Vec<u64>) {
    let of = |value: fn(&ClientTotals) -> f64| {
        (0..PAPER.len()).map(|which| sum(record, which..which + 1, value) as u64).collect()
    };
    (of(|_| 1.0), of(|client| client.steps as f64))
}

fn check(world: &World<'_>, report: &mut ReportBuilder) -> Result<(), LabError> {
    let at = |ratio| world.swept(ASYNC, "ratio", ratio);
    let (none, some, much) = (at(f64::INFINITY)?, at(6001.0)?, at(3.0)?);
    let gained = |one: &Runs, other: &Runs, groups: std::ops::Range<usize>| {
        let of = |record: &Record| sum(record, groups.clone(), |client| client.reward);
        Estimate::new(one.records.iter().zip(&other.records).map(|(one, other)| of(one) - of(other)))
    };
    let (mut better, mut worse) = (0, 0);
    for which in 0..PAPER.len() {
        let gain = gained(some, none, which..which + 1);
        match Verdict::below_zero(&Estimate { mean: -gain.mean, ..gain }) {
            Verdict::Holds => better += 1,
            Verdict::DoesNotHold => worse += 1,
            Verdict::Undecided => {}
        }
    }
    // Almost all: all but two.
    let verdict = match (better, worse) {
        (8.., _) => Verdict::Holds,
        (_, 3..) => Verdict::DoesNotHold,
        _ => Verdict::Undecided,
    };
    report.claim(
        "gamma = 6001 against inf",
        "almost all groups improve",
        format!("{better} of {} do beyond doubt, {worse} lose", PAPER.len()),
        verdict,
    );
    // Relative to what they had, so that groups can be compared.
    let lost = |groups: std::ops::Range<usize>| {
        let of = |record: &Record| sum(record, groups.clone(), |client| client.reward);
        Estimate::new(much.records.iter().zip(&some.records).map(|(much, some)| of(much) / of(some) - 1.0))
    };
    let (less, most) = (lost(1..8), lost(8..10));
    let percent = |lost: &Estimate| plus_minus(100.0 * lost.mean, lost.ci95.map(|half| 100.0 * half), true);
    report.below_zero(
        "gamma = 3 against 6001, users with 10 to 79 interactions",
        "rewards drop dramatically: -34% by its table",
        format!("{}%", percent(&less)),
        &less,
    );
    let beside = Estimate::new((0..much.records.len()).map(|seed| {
        let of = |groups: std::ops::Range<usize>| {
            let sum = |runs: &Runs| sum(&runs.records[seed], groups.clone(), |client| client.reward);
            sum(much) / sum(some)
        };
        of(1..8) - of(8..10)
    }));
    report.below_zero(
        "the same, users with 80 and more",
        "much less negative impact: +8% by its table",
        format!("{}%", percent(&most)),
        &beside,
    );
    let uploads = |runs: &Runs| {
        Estimate::new(runs.records.iter().map(|record| {
            let of = |groups| sum(record, groups, |client| client.sent as f64);
            let users = |groups| sum(record, groups, |_| 1.0);
            of(0..5) / users(0..5) - of(5..10) / users(5..10)
        }))
    };
    let fewer = uploads(some);
    report.below_zero(
        "uploads per user at gamma = 6001, below 50 interactions against the rest",
        "most uploads come from active users",
        plus_minus(fewer.mean, fewer.ci95, true),
        &fewer,
    );
    Ok(())
}

/// All of it, in one line a ratio.
fn table(world: &World<'_>) -> Result<String, LabError> {
    let mut text = format!("{}:", world.stage);
    for (ratio, name) in [(f64::INFINITY, "inf"), (6001.0, "6001"), (3.0, "3")] {
        let runs = world.swept(ASYNC, "ratio", ratio)?;
        let all = |value: fn(&ClientTotals) -> f64| {
            let each = (0..PAPER.len()).map(|which| readable(total(runs, which, value).mean));
            each.collect::<Vec<_>>().join(", ")
        };
        text += &format!(" gamma = {name}: reward {}", all(|client| client.reward));
        if ratio.is_finite() {
            text += &format!("; uploads {}", all(|client| client.sent as f64));
        }
        text.push('.');
    }
    Ok(text)
}

fn picture(worlds: &[World<'_>]) -> Result<Panels, LabError> {
    let mut panels = Vec::new();
    for world in worlds {
        let mut series = Vec::new();
        for (ratio, name) in [(f64::INFINITY, "gamma = inf"), (6001.0, "gamma = 6001"), (3.0, "gamma = 3")] {
            let runs = world.swept(ASYNC, "ratio", ratio)?;
            let points = (0..PAPER.len()).map(|which| {
                let reward = total(runs, which, |client| client.reward);
                with_band(Point::new(10.0 * which as f64 + 5.0, reward.mean), &reward)
            });
            series.push(Series::connected_dots(name, points.collect()));
        }
        panels.push(Figure {
            title: world.stage.to_string(),
            x: Axis::linear("Interactions of a user"),
            y: Axis::linear("Reward of the group"),
            series,
            note: None,
        });
    }
    Ok(Panels { title: "Delicious, reduced: reward by activity".into(), columns: 2, panels })
}
