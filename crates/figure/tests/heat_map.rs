//! Heat maps: a cell and a number per pair of settings, one scale over all maps.

use cahoots_figure::{HeatMap, HeatMaps, Picture, Scale};

fn names(of: &str, count: usize) -> (String, Vec<String>) {
    (of.into(), (0..count).map(|n| format!("{}", 2 * n)).collect())
}

fn map(title: &str, columns: usize, rows: usize, value: impl Fn(usize, usize) -> Option<f64>) -> HeatMap {
    let row = |y: usize| (0..columns).map(|x| value(x, y)).collect();
    HeatMap {
        title: title.into(),
        x: names("ratio", columns),
        y: names("ridge", rows),
        rows: (0..rows).map(row).collect(),
    }
}

fn maps(maps: Vec<HeatMap>, scale: Scale) -> HeatMaps {
    HeatMaps {
        title: "Regret".into(),
        columns: 2,
        value: "regret at the horizon".into(),
        scale,
        maps,
        note: None,
    }
}

#[test]
fn every_cell_has_its_value_and_the_least_is_framed() {
    let one = map("one", 4, 3, |x, y| Some((x * 3 + y) as f64 + 1.0));
    let svg = maps(vec![one], Scale::Linear).svg().unwrap();
    let count = |class: &str| svg.matches(&format!("class=\"{class}\"")).count();
    assert_eq!((count("cell"), count("cell-value"), count("least")), (12, 12, 1));
    for text in ["ratio", "ridge", "regret at the horizon", ">12<", ">8<"] {
        assert!(svg.contains(text), "{text}");
    }
}

#[test]
fn one_value_has_one_colour_in_every_map() {
    let colours = |svg: &str| -> Vec<String> {
        let cells = svg.lines().filter(|line| line.contains("class=\"cell\""));
        cells.map(|line| line.split("fill=\"").nth(1).unwrap()[..7].to_string()).collect()
    };
    let two = maps(
        vec![map("a", 2, 1, |x, _| Some(10.0 * x as f64)), map("b", 2, 1, |x, _| Some(20.0 * x as f64))],
        Scale::Linear,
    );
    let colours = colours(&two.svg().unwrap());
    assert_eq!(colours[0], colours[2], "zero is zero in both");
    assert_ne!(colours[1], colours[3], "10 is half of 20");
    assert_eq!(two.scene().unwrap().readings().len(), 2);
}

#[test]
fn what_cannot_be_shown_is_left_empty_and_nothing_breaks() {
    let values =
        [None, Some(f64::NAN), Some(0.0), Some(-1.0), Some(f64::INFINITY), Some(1e-300), Some(1e300)];
    for scale in [Scale::Linear, Scale::Log] {
        let awkward = map("awkward", values.len(), 1, |x, _| values[x]);
        assert!(maps(vec![awkward], scale).pdf().is_ok());
    }
    for (columns, rows) in [(0, 0), (1, 1), (40, 40), (1, 60)] {
        let picture = maps(vec![map("many", columns, rows, |x, y| Some((x + y) as f64))], Scale::Linear);
        let (width, height) = picture.scene().unwrap().size();
        assert!(width < 1200.0 && height < 1100.0, "{width} by {height}");
    }
}
