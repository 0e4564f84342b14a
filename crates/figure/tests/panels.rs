//! Several figures in one picture.

use cahoots_figure::{Axis, Figure, FigureError, Panels, Picture as _, Point, Series};
use roxmltree::{Document, Node};
use tiny_skia::Pixmap;

fn panel(title: &str, labels: &[&str]) -> Figure {
    let series = |(number, label): (usize, &&str)| {
        let points = (0..50).map(|t| Point::new(f64::from(t), f64::from(t) * (number + 1) as f64));
        Series::line(*label, points.collect())
    };
    Figure {
        title: title.into(),
        x: Axis::linear("Round"),
        y: Axis::linear("Regret"),
        series: labels.iter().enumerate().map(series).collect(),
        note: None,
    }
}

fn grid(panels: Vec<Figure>) -> Panels {
    Panels { title: "A grid".into(), columns: 2, panels }
}

fn of_class<'a>(document: &'a Document, class: &str) -> Vec<Node<'a, 'a>> {
    document.descendants().filter(|node| node.attribute("class") == Some(class)).collect()
}

fn number(node: &Node, name: &str) -> f64 {
    node.attribute(name).unwrap().parse().unwrap()
}

#[test]
fn panels_with_the_same_series_share_a_legend() {
    let labels = ["LinUCB", "FedLinUCB", "DisLinUCB"];
    let four = ["a", "b", "c", "d"].map(|title| panel(title, &labels)).to_vec();
    let svg = grid(four).svg().unwrap();
    let document = Document::parse(&svg).unwrap();
    assert_eq!(of_class(&document, "chart").len(), 4);
    assert_eq!(of_class(&document, "legend").len(), 1);
    assert_eq!(of_class(&document, "entry").len(), 3);
    assert_eq!(of_class(&document, "title").len(), 5);
}

#[test]
fn panels_with_different_series_have_their_own_legends() {
    let panels = vec![panel("a", &["one", "two"]), panel("b", &["three", "four"])];
    let svg = grid(panels).svg().unwrap();
    let document = Document::parse(&svg).unwrap();
    assert_eq!(of_class(&document, "legend").len(), 2);
    assert_eq!(of_class(&document, "entry").len(), 4);
}

#[test]
fn a_label_looks_the_same_in_every_panel() {
    let panels = vec![panel("a", &["LinUCB", "FedLinUCB"]), panel("b", &["FedLinUCB"])];
    let svg = grid(panels).svg().unwrap();
    let document = Document::parse(&svg).unwrap();
    let lines = of_class(&document, "line");
    let look = |node: &Node| {
        (node.attribute("stroke").map(str::to_owned), node.attribute("stroke-dasharray").map(str::to_owned))
    };
    assert_eq!(lines.len(), 3);
    assert_ne!(look(&lines[0]), look(&lines[1]));
    assert_eq!(look(&lines[1]), look(&lines[2]));
}

#[test]
fn frames_line_up() {
    let mut panels = ["a", "b", "c", "d"].map(|title| panel(title, &["LinUCB"])).to_vec();
    panels[0].note = Some("only here".into());
    panels[2].title.clear();
    let steep = vec![Point::new(0.0, 0.0), Point::new(1.0, 49e6)];
    panels[3].series[0] = Series::line("LinUCB", steep);
    let svg = grid(panels).svg().unwrap();
    let document = Document::parse(&svg).unwrap();
    let frames = of_class(&document, "frame");
    for name in ["x", "width"] {
        assert_eq!(number(&frames[0], name), number(&frames[2], name));
        assert_eq!(number(&frames[1], name), number(&frames[3], name));
    }
    for name in ["y", "height"] {
        assert_eq!(number(&frames[0], name), number(&frames[1], name));
        assert_eq!(number(&frames[2], name), number(&frames[3], name));
    }
}

#[test]
fn degenerate_grids_are_drawn() {
    let empty = Panels::default();
    assert!(empty.svg().unwrap().contains("no data"));
    let none = Panels { columns: 0, ..grid(vec![panel("a", &["LinUCB"]), Figure::default()]) };
    let one = Panels { columns: usize::MAX, ..grid(vec![panel("a", &["LinUCB"])]) };
    for panels in [empty, none, one] {
        let picture = Pixmap::decode_png(&panels.png().unwrap()).unwrap();
        let svg = panels.svg().unwrap();
        let document = Document::parse(&svg).unwrap();
        let root = document.root_element();
        assert_eq!(f64::from(picture.width()), 2.0 * number(&root, "width"));
        assert_eq!(f64::from(picture.height()), 2.0 * number(&root, "height"));
        assert_eq!(panels.png().unwrap(), panels.png().unwrap());
    }
}

#[test]
fn a_grid_beyond_measure_is_refused() {
    let panels = Panels { columns: 1, ..grid(vec![Figure::default(); 60]) };
    let error = panels.svg().unwrap_err();
    assert!(matches!(error, FigureError::TooLarge { .. }));
    assert!(error.to_string().contains("fewer panels"));
}

#[test]
fn on_one_scale_equal_heights_mean_equal_values() {
    let panel = |top: f64| Figure {
        y: Axis::linear("Regret"),
        series: vec![Series::line("a", vec![Point::new(0.0, 0.0), Point::new(10.0, top)])],
        ..Figure::default()
    };
    let panels = Panels { title: String::new(), columns: 2, panels: vec![panel(10.0), panel(100.0)] };
    let heights = |panels: &Panels| -> Vec<f64> {
        let scene = panels.scene().unwrap();
        scene.readings().iter().map(|reading| reading.points[1].at.1 - reading.points[0].at.1).collect()
    };
    let apart = heights(&panels);
    assert!((apart[0] - apart[1]).abs() < 1.0, "without, both fill their frame");
    let together = heights(&panels.on_one_scale());
    assert!((together[1] / together[0] - 10.0).abs() < 0.1, "{together:?}");
}

#[test]
fn an_axis_of_names_shows_them_in_place_of_numbers() {
    let names: Vec<String> = ["uniform", "zipf", "inf"].map(String::from).to_vec();
    let points = (0..3).map(|n| Point::new(f64::from(n), 1.0 + f64::from(n))).collect();
    let figure = Figure {
        x: Axis::names("arrivals", names.clone()),
        series: vec![Series::connected_dots("a", points)],
        ..Figure::default()
    };
    let scene = figure.scene().unwrap();
    let svg = scene.svg();
    assert!(names.iter().all(|name| svg.contains(&format!(">{name}<"))), "{svg}");
    let read: Vec<&str> = scene.readings()[0].points.iter().map(|point| point.x.as_str()).collect();
    assert_eq!(read, ["uniform", "zipf", "inf"]);
}
