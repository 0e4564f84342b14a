//! Draws figures with realistic data, to be looked at: they are left in the target folder
//! (`tmp/figures`).

use std::fs;
use std::path::Path;

use cahoots_figure::{Axis, Figure, Panels, Picture, Point, Series};

const HORIZON: u32 = 30_000;

fn save(picture: &dyn Picture, name: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("figures");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name).with_extension("svg"), picture.svg().unwrap()).unwrap();
    fs::write(folder.join(name).with_extension("png"), picture.png().unwrap()).unwrap();
}

/// A small wobble that depends on nothing but its arguments.
fn wobble(seed: u64, step: u32) -> f64 {
    let mut bits = (seed << 32 | u64::from(step)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 29;
    bits = bits.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits ^= bits >> 32;
    (bits >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
}

/// Cumulative regret that grows like `scale * t^power`, with a widening band.
fn regret(scale: f64, power: f64, seed: u64) -> Vec<Point> {
    let mut drift = 0.0;
    (0..=HORIZON)
        .step_by(10)
        .map(|t| {
            drift += wobble(seed, t) * scale * 0.25;
            let mean = scale * f64::from(t).powf(power) + drift * f64::from(t).sqrt() / 170.0;
            let spread = 0.06 * mean + 2.0;
            Point::new(f64::from(t), mean.max(0.0)).with_y_range(mean - spread, mean + spread)
        })
        .collect()
}

fn regret_over_time() -> Figure {
    Figure {
        title: "Synthetic linear bandit, 20 clients, d = 25".into(),
        x: Axis::linear("Round t"),
        y: Axis::linear("Cumulative regret"),
        series: vec![
            Series::line("Independent LinUCB", regret(9.0, 0.52, 1)),
            Series::line("FedLinUCB (asynchronous)", regret(6.4, 0.5, 2)),
            Series::line("DisLinUCB", regret(6.0, 0.49, 3)),
            Series::line("Async-LinUCB-AM", regret(7.1, 0.5, 4)),
            Series::line("LinUCB on all data", regret(5.0, 0.48, 5)),
        ],
        note: Some("mean over 10 seeds, band: 95% confidence".into()),
    }
}

fn trade_off(scale: f64, seed: u64, thresholds: &[(f64, &str)]) -> Vec<Point> {
    let point = |(number, (threshold, label)): (usize, &(f64, &str))| {
        let uploads = 3.0e5 / (1.0 + 40.0 * threshold * scale);
        let step = u32::try_from(number).unwrap();
        let regret = 700.0 * scale * (1.0 + 0.55 * threshold.sqrt()) + 40.0 * wobble(seed, step);
        Point::new(uploads, regret)
            .with_y_range(regret - 35.0 * scale, regret + 40.0 * scale)
            .with_x_range(uploads * 0.88, uploads * 1.14)
            .with_label(*label)
    };
    thresholds.iter().enumerate().map(point).collect()
}

fn regret_and_communication() -> Figure {
    let thresholds = [
        (0.01, "C = 0.01"),
        (0.1, "C = 0.1"),
        (0.5, "C = 0.5"),
        (1.0, "C = 1"),
        (5.0, "C = 5"),
        (20.0, "C = 20"),
    ];
    Figure {
        title: "Regret against communication".into(),
        x: Axis::log("Numbers sent (uploads and downloads)"),
        y: Axis::linear("Final regret"),
        series: vec![
            Series::connected_dots("FedLinUCB", trade_off(1.0, 7, &thresholds)),
            Series::connected_dots("Async-LinUCB", trade_off(1.22, 8, &thresholds)),
            Series::connected_dots("DisLinUCB", trade_off(0.93, 9, &thresholds[..4])),
            Series::horizontal("No communication", 2900.0),
            Series::horizontal("All data in one place", 560.0),
        ],
        note: Some("mean over 10 seeds, bars: 95% confidence; T = 30k, 20 clients".into()),
    }
}

fn twelve_series(count: u32) -> Figure {
    let series = |number: u32| {
        let threshold = 0.01 * f64::from(2_u32.pow(number.min(12)));
        let points = regret(4.0 + 0.6 * f64::from(number), 0.5, u64::from(number) + 20);
        let points = match number % 3 {
            0 => points,
            _ => points.into_iter().map(|point| Point::new(point.x, point.y)).collect(),
        };
        Series::line(format!("FedLinUCB, threshold C = {threshold}"), points)
    };
    Figure {
        title: format!("{count} thresholds"),
        x: Axis::linear("Round t"),
        y: Axis::linear("Cumulative regret"),
        series: (0..count).map(series).collect(),
        note: Some("mean over 10 seeds, band: 95% confidence on every third line".into()),
    }
}

fn grid() -> Panels {
    let mut log = regret_over_time();
    log.title = "Logarithmic axes".into();
    log.x = Axis::log("Round t");
    log.y = Axis::log("Cumulative regret");
    log.note = None;
    let mut linear = regret_over_time();
    linear.title = "Linear axes".into();
    linear.note = None;
    let mut few = regret_over_time();
    few.title = "Per client".into();
    few.y.label = "Regret per client".into();
    few.note = None;
    few.series.remove(1);
    for series in &mut few.series {
        if let cahoots_figure::Mark::Line { points } = &mut series.mark {
            points.iter_mut().for_each(|point| {
                point.y /= 20.0;
                point.y_low = None;
                point.y_high = None;
            });
        }
    }
    let mut short = regret_over_time();
    short.title = "Few measurements".into();
    short.note = None;
    for series in &mut short.series {
        if let cahoots_figure::Mark::Line { points } = &mut series.mark {
            *points = points.iter().step_by(375).cloned().collect();
        }
    }
    Panels {
        title: "Synthetic linear bandit in four views".into(),
        columns: 2,
        panels: vec![linear, log, few, short],
    }
}

fn mixed() -> Panels {
    let mut other = regret_and_communication();
    other.title = "Trade-off".into();
    other.note = None;
    let mut lines = regret_over_time();
    lines.title = "Over time".into();
    Panels { title: String::new(), columns: 2, panels: vec![lines, other] }
}

fn crowd() -> Figure {
    let point = |number: u32| {
        let (x, y) = (wobble(1, number), wobble(2, number));
        Point::new(0.02 + x.abs() * x.abs(), 1e-6 * (1.0 + y)).with_label(format!("run {number}"))
    };
    Figure {
        title: "Sixty labelled dots: a long title that has to be broken into two lines because it \
                does not fit above the plot"
            .into(),
        x: Axis::linear("Privacy budget ε"),
        y: Axis::linear("Mean squared error of the estimate (θ̂ against θ)"),
        series: vec![Series::dots("Runs", (0..60).map(point).collect())],
        note: None,
    }
}

fn awkward() -> Figure {
    let long = "A label of unreasonable length that names the algorithm, its threshold, its number \
                of clients, its privacy budget and the phase of the moon = 0.25";
    let gap = |t: u32| match t {
        40..=50 => Point::new(f64::from(t), f64::NAN),
        70 => Point::new(f64::from(t), 0.0),
        _ => {
            let y = 1e-6 * f64::from(t).powi(3);
            Point::new(f64::from(t), y).with_y_range(y - 0.02, y * 1.5)
        }
    };
    Figure {
        title: "Gaps, zeros and a long label".into(),
        x: Axis::linear("Step"),
        y: Axis::log("Error"),
        series: vec![
            Series::line(long, (0..100).map(gap).collect()),
            Series::line("short", (1..100).map(|t| Point::new(f64::from(t), 3e-5)).collect()),
        ],
        note: Some("one seed".into()),
    }
}

#[test]
fn gallery() {
    save(&regret_over_time(), "regret-over-time");
    save(&regret_and_communication(), "regret-and-communication");
    save(&twelve_series(12), "twelve-series");
    save(&twelve_series(20), "twenty-series");
    save(&grid(), "panels");
    save(&mixed(), "mixed-panels");
    save(&crowd(), "crowd");
    save(&awkward(), "awkward");
    save(&Figure::default(), "empty");
    save(&Panels::default(), "empty-panels");
}
