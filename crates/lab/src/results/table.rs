//! The summary as text.

use super::Summary;

/// The summaries as a table for people. Regrets that are measured against different things are not compared.
pub fn table(summaries: &[Summary]) -> String {
    let differs =
        |summary: &Summary| summary.regret_vs_first.as_ref().is_none_or(|difference| difference.mean != 0.0);
    let compared = summaries.len() > 1 && summaries.iter().any(differs);
    let normalised = summaries.iter().any(|summary| summary.normalised_reward().is_some());
    let objectives = summaries.iter().any(|summary| summary.objective != "local");
    let mut header = vec![
        "entry",
        "objective",
        "decisions",
        "regret",
        "vs first",
        "reward",
        "times random",
        "transfers",
        "sent",
        "time per step",
    ];
    header.retain(|title| match *title {
        "objective" => objectives,
        "vs first" => compared,
        "times random" => normalised,
        _ => true,
    });
    let mut rows: Vec<Vec<String>> = vec![header.into_iter().map(String::from).collect()];
    let mut stage = None;
    for summary in summaries {
        let first = stage != Some(&summary.stage);
        stage = Some(&summary.stage);
        let regret = summary.regret();
        let mut row = vec![summary.label.clone()];
        if objectives {
            row.push(summary.objective.clone());
        }
        row.push(grouped(summary.over(|run| run.steps as f64).mean, 0));
        row.push(plus_minus(regret.mean, regret.ci95, false));
        if compared {
            row.push(match &summary.regret_vs_first {
                _ if first => "-".into(),
                Some(difference) => plus_minus(difference.mean, difference.ci95, true),
                None => "other objective".into(),
            });
        }
        row.push(readable(summary.reward().mean));
        if normalised {
            let times = summary.normalised_reward();
            row.push(times.map_or("-".into(), |times| plus_minus(times.mean, times.ci95, false)));
        }
        row.push(grouped(summary.transfers().mean, 0));
        row.push(bytes(summary.over(|run| run.traffic.bytes as f64).mean));
        row.push(duration(summary.ns_per_step));
        rows.push(row);
    }
    aligned(&rows)
}

/// What is promised about users' data, entry by entry; empty where nothing is.
pub fn promises(summaries: &[Summary]) -> String {
    let promise = |summary: &Summary| {
        let privacy = summary.privacy.as_ref()?;
        let text = privacy.in_words.replace('\n', "\n  ");
        Some(format!("privacy of {}:\n  {text}\n", summary.label))
    };
    summaries.iter().filter_map(promise).collect::<Vec<_>>().join("\n")
}

/// The first column to the left, the others to the right.
fn aligned(rows: &[Vec<String>]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column == 0 { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        cells.collect::<Vec<_>>().join("   ").trim_end().to_string() + "\n"
    };
    rows.iter().map(line).collect()
}

/// A mean and half its interval, with two digits of the latter.
pub fn plus_minus(mean: f64, half: Option<f64>, signed: bool) -> String {
    let sign = if signed && mean > 0.0 { "+" } else { "" };
    match half {
        Some(half) if half > 0.0 => {
            let decimals = (1.0 - half.log10().floor()).clamp(0.0, 4.0) as usize;
            format!("{sign}{} ± {}", grouped(mean, decimals), grouped(half, decimals))
        }
        Some(_) => format!("{sign}{} ± 0", readable(mean)),
        None => format!("{sign}{}", readable(mean)),
    }
}

/// About four digits.
pub fn readable(value: f64) -> String {
    let decimals = if value == 0.0 { 0.0 } else { (3.0 - value.abs().log10().floor()).clamp(0.0, 4.0) };
    grouped(value, decimals as usize)
}

/// 1234567.4 as 1,234,567.
pub fn grouped(value: f64, decimals: usize) -> String {
    let digits = format!("{:.decimals$}", value.abs());
    let (whole, fraction) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut out = String::new();
    for (place, digit) in whole.chars().enumerate() {
        if place > 0 && (whole.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out += fraction;
    if value < 0.0 && out.contains(|c: char| ('1'..='9').contains(&c)) { format!("-{out}") } else { out }
}

/// 2,812,345 as 2.8 MB.
pub fn bytes(value: f64) -> String {
    scaled(value, 1000.0, &["B", "kB", "MB", "GB", "TB"])
}

fn duration(nanoseconds: f64) -> String {
    scaled(nanoseconds, 1000.0, &["ns", "us", "ms", "s"])
}

fn scaled(mut value: f64, step: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while value >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    let digits = if unit == 0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.digits$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(grouped(1234567.4, 0), "1,234,567");
        assert_eq!(grouped(-999.96, 1), "-1,000.0");
        assert_eq!(grouped(-0.001, 1), "0.0");
        assert_eq!(readable(0.0), "0");
        assert_eq!(readable(0.01234), "0.0123");
        assert_eq!(readable(581.27), "581.3");
        assert_eq!(bytes(2_812_345.0), "2.8 MB");
        assert_eq!(bytes(512.0), "512 B");
        assert_eq!(duration(627.3), "627 ns");
        assert_eq!(plus_minus(-12.5, Some(3.0), true), "-12.5 ± 3.0");
        assert_eq!(plus_minus(7.712, Some(0.555), false), "7.71 ± 0.56");
        assert_eq!(plus_minus(7712.4, Some(127.3), false), "7,712 ± 127");
        assert_eq!(plus_minus(12.5, None, true), "+12.50");
    }

    #[test]
    fn columns_are_aligned() {
        let rows = [["a", "1"], ["long", "22"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(aligned(&rows), "a       1\nlong   22\n");
    }
}
