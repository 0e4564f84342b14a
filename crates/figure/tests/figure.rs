//! What a figure's SVG contains, what it leaves out, and that no input breaks it.

use std::collections::BTreeSet;

use cahoots_figure::{Axis, Figure, Mark, Panels, Picture as _, Point, Scale, Series};
use proptest::prelude::*;
use roxmltree::{Document, Node};
use tiny_skia::Pixmap;

fn rising(scale: f64) -> Vec<Point> {
    let point = |t: i32| {
        let y = scale * f64::from(t).sqrt();
        Point::new(f64::from(t) * 100.0, y).with_y_range(0.9 * y, 1.1 * y)
    };
    (0..=300).map(point).collect()
}

fn two_lines() -> Figure {
    Figure {
        title: "Regret & its <bounds>".into(),
        x: Axis::linear("Rounds"),
        y: Axis::linear("Cumulative regret"),
        series: vec![
            Series::line("LinUCB", rising(10.0)),
            Series::line("FedLinUCB", rising(7.0)),
            Series::horizontal("Oracle", 20.0),
        ],
        note: Some("mean over 10 seeds, band: 95% confidence".into()),
    }
}

fn with_series(x: Axis, y: Axis, series: Vec<Series>) -> Figure {
    Figure { title: "Test".into(), x, y, series, note: None }
}

fn dots(points: Vec<Point>) -> Figure {
    with_series(Axis::linear("x"), Axis::linear("y"), vec![Series::dots("Runs", points)])
}

fn count(svg: &str, class: &str) -> usize {
    let document = Document::parse(svg).unwrap();
    document.descendants().filter(|node| node.attribute("class") == Some(class)).count()
}

fn texts(svg: &str, class: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let written = |node: Node| -> String { node.descendants().filter_map(|n| n.text_if_text()).collect() };
    let nodes = document.descendants().filter(|node| node.has_tag_name("text"));
    nodes.filter(|node| node.attribute("class") == Some(class)).map(written).collect()
}

trait TextOnly<'a> {
    fn text_if_text(&self) -> Option<&'a str>;
}

impl<'a> TextOnly<'a> for Node<'a, '_> {
    fn text_if_text(&self) -> Option<&'a str> {
        if self.is_text() { self.text() } else { None }
    }
}

/// All places that are drawn, from the attributes of every shape and text.
fn places(document: &Document) -> Vec<(f64, f64)> {
    let number = |node: &Node, name: &str| node.attribute(name).map(|value| value.parse::<f64>().unwrap());
    let mut places = Vec::new();
    for node in document.descendants() {
        if let Some(path) = node.attribute("d") {
            places.extend(path_places(path));
        }
        for (x, y) in [("x", "y"), ("cx", "cy")] {
            if let (Some(x), Some(y)) = (number(&node, x), number(&node, y)) {
                places.push((x, y));
                let (width, height) = (number(&node, "width"), number(&node, "height"));
                places.push((x + width.unwrap_or(0.0), y + height.unwrap_or(0.0)));
            }
        }
    }
    places
}

fn path_places(path: &str) -> Vec<(f64, f64)> {
    let steps = path.split(['M', 'L', 'Z']).filter(|step| !step.is_empty());
    let place = |step: &str| {
        let (x, y) = step.split_once(' ').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    steps.map(place).collect()
}

/// The figure can be drawn, and everything lies within the picture.
fn check(figure: &Figure) -> String {
    let svg = figure.svg().unwrap();
    let document = Document::parse(&svg).unwrap();
    for (x, y) in places(&document) {
        assert!((-10.0..=810.0).contains(&x) && (-10.0..=510.0).contains(&y), "({x}, {y}) in {svg}");
    }
    svg
}

#[test]
fn the_same_description_gives_the_same_bytes() {
    let (first, second) = (two_lines(), two_lines());
    assert_eq!(first.svg().unwrap(), second.svg().unwrap());
    assert_eq!(first.png().unwrap(), second.png().unwrap());
}

#[test]
fn every_word_of_the_description_is_text() {
    let svg = check(&two_lines());
    assert_eq!(texts(&svg, "title"), ["Regret & its <bounds>"]);
    assert_eq!(texts(&svg, "x-label"), ["Rounds"]);
    assert_eq!(texts(&svg, "y-label"), ["Cumulative regret"]);
    assert_eq!(texts(&svg, "entry"), ["LinUCB", "FedLinUCB", "Oracle"]);
    assert_eq!(texts(&svg, "note"), ["mean over 10 seeds, band: 95% confidence"]);
    let ticks = texts(&svg, "tick");
    for tick in ["0", "5k", "30k", "50", "150"] {
        assert!(ticks.iter().any(|text| text == tick), "{tick} in {ticks:?}");
    }
    assert!(svg.contains("Liberation Sans") && svg.contains("sans-serif"));
}

#[test]
fn each_series_is_drawn_once() {
    let svg = check(&two_lines());
    assert_eq!(count(&svg, "series"), 3);
    assert_eq!(count(&svg, "line"), 2);
    assert_eq!(count(&svg, "band"), 2);
    assert_eq!(count(&svg, "reference"), 1);
    assert_eq!(count(&svg, "error-bar"), 0);
}

#[test]
fn dots_have_error_bars_and_labels() {
    let point = |i: i32| {
        let (x, y) = (f64::from(i), f64::from(i * i));
        let point = Point::new(x, y).with_label(format!("C = {i}"));
        point.with_x_range(x - 0.2, x + 0.2).with_y_range(y - 1.0, y + 2.0)
    };
    let mut figure = dots((0..5).map(point).collect());
    let svg = check(&figure);
    assert_eq!(count(&svg, "error-bar"), 10);
    assert_eq!(count(&svg, "line"), 0);
    let mut labels = texts(&svg, "dot-label");
    labels.sort();
    assert_eq!(labels, ["C = 0", "C = 1", "C = 2", "C = 3", "C = 4"]);

    let Mark::Dots { connect, .. } = &mut figure.series[0].mark else { unreachable!() };
    *connect = true;
    assert_eq!(count(&check(&figure), "line"), 1);
}

#[test]
fn labels_without_room_are_left_out_and_the_note_says_so() {
    let point = |i: i32| Point::new(1.0 + 1e-4 * f64::from(i), 1.0).with_label("the same place");
    let mut points: Vec<Point> = (0..200).map(point).collect();
    points.extend([Point::new(0.0, 0.0), Point::new(2.0, 2.0)]);
    let svg = check(&dots(points));
    assert!(texts(&svg, "dot-label").len() < 100);
    assert!(texts(&svg, "note").concat().contains("labels are left out"));
}

#[test]
fn a_logarithmic_axis_drops_zeros_and_says_so() {
    let points =
        vec![Point::new(0.0, 1.0), Point::new(10.0, -1.0), Point::new(10.0, 2.0), Point::new(1e3, 4.0)];
    let mut figure = with_series(Axis::log("x"), Axis::log("y"), vec![Series::dots("Runs", points)]);
    figure.note = Some("one seed".into());
    let svg = check(&figure);
    let note = "one seed. 2 values are not drawn: at or below zero on a logarithmic axis.";
    assert_eq!(texts(&svg, "note").join(" "), note);
    let ticks = texts(&svg, "tick");
    assert!(ticks.contains(&"100".to_owned()) && ticks.contains(&"1k".to_owned()), "{ticks:?}");
}

#[test]
fn values_that_are_not_finite_leave_a_gap() {
    let point = |t: i32| match t {
        20 | 21 => Point::new(f64::from(t), f64::NAN),
        30 => Point::new(f64::INFINITY, 1.0),
        _ => Point::new(f64::from(t), f64::from(t)),
    };
    let points = (0..50).map(point).collect();
    let svg = check(&with_series(Axis::linear("x"), Axis::linear("y"), vec![Series::line("a", points)]));
    let document = Document::parse(&svg).unwrap();
    let line = document.descendants().find(|node| node.attribute("class") == Some("line")).unwrap();
    assert_eq!(line.attribute("d").unwrap().matches('M').count(), 3);
    assert_eq!(texts(&svg, "note"), ["3 values are not drawn: not finite."]);
}

#[test]
fn nothing_to_draw_says_no_data() {
    let empty = [
        Figure::default(),
        dots(Vec::new()),
        dots(vec![Point::new(f64::NAN, 1.0)]),
        with_series(Axis::log("x"), Axis::log("y"), vec![Series::line("a", vec![Point::new(1.0, 0.0)])]),
    ];
    for figure in empty {
        let svg = check(&figure);
        assert_eq!(texts(&svg, "empty"), ["no data"]);
        Pixmap::decode_png(&figure.png().unwrap()).unwrap();
    }
    assert!(texts(&check(&two_lines()), "empty").is_empty());
}

#[test]
fn one_point_and_constant_values_are_drawn() {
    let one = Point::new(5.0, 7.0).with_y_range(6.0, 8.0);
    let svg = check(&with_series(Axis::linear("x"), Axis::log("y"), vec![Series::line("a", vec![one])]));
    assert_eq!((count(&svg, "line"), count(&svg, "error-bar")), (0, 1));
    for constant in [0.0, 3.0, -1e9, 1e-12] {
        let points = (0..100).map(|t| Point::new(f64::from(t), constant)).collect();
        let figure = with_series(Axis::linear("x"), Axis::linear("y"), vec![Series::line("a", points)]);
        let svg = check(&figure);
        assert_eq!(count(&svg, "line"), 1);
        assert!(texts(&svg, "tick").len() >= 6, "{constant}");
    }
    let svg = check(&with_series(Axis::linear("x"), Axis::linear("y"), vec![Series::horizontal("a", 2.0)]));
    assert_eq!(count(&svg, "reference"), 1);
}

#[test]
fn a_million_points_make_a_small_file() {
    let points = (0..1_000_000).map(|t| Point::new(f64::from(t), f64::from(t % 1000))).collect();
    let svg = check(&with_series(Axis::linear("x"), Axis::linear("y"), vec![Series::line("a", points)]));
    assert!(svg.len() < 200_000, "{}", svg.len());
}

#[test]
fn the_legend_never_lies_over_the_data() {
    for power in [0.2, 0.5, 1.0, 2.0, 5.0] {
        for falling in [false, true] {
            let point = |t: i32| {
                let x = f64::from(t) / 200.0;
                let y = if falling { (1.0 - x).powf(power) } else { x.powf(power) };
                Point::new(x, y)
            };
            let line = Series::line("A line with a label", (0..=200).map(point).collect());
            let figure = with_series(Axis::linear("x"), Axis::linear("y"), vec![line]);
            let svg = check(&figure);
            let document = Document::parse(&svg).unwrap();
            let class = |name: &'static str| {
                let mut nodes = document.descendants();
                nodes.find(move |node| node.attribute("class") == Some(name)).unwrap()
            };
            let legend = class("legend").children().find(|node| node.has_tag_name("rect"));
            let Some(legend) = legend else { continue };
            let side = |name: &str| legend.attribute(name).unwrap().parse::<f64>().unwrap();
            let (left, top) = (side("x"), side("y"));
            let (right, bottom) = (left + side("width"), top + side("height"));
            for (x, y) in path_places(class("line").attribute("d").unwrap()) {
                let inside = (left..=right).contains(&x) && (top..=bottom).contains(&y);
                assert!(!inside, "power {power}, falling {falling}");
            }
        }
    }
}

#[test]
fn twenty_series_all_have_an_entry() {
    let label = |i: i32| format!("Asynchronous federated bandit, C = {i}");
    let series = (0..20).map(|i| Series::line(label(i), rising(f64::from(i + 1)))).collect();
    let svg = check(&with_series(Axis::linear("x"), Axis::linear("y"), series));
    let entries: BTreeSet<String> = texts(&svg, "entry").into_iter().collect();
    assert_eq!(entries.len(), 20);
}

#[test]
fn a_hundred_series_are_counted() {
    let series = (0..100).map(|i| Series::line(format!("Run {i}"), rising(f64::from(i)))).collect();
    let svg = check(&with_series(Axis::linear("x"), Axis::linear("y"), series));
    let entries = texts(&svg, "entry");
    assert!(entries.last().unwrap().ends_with("more"), "{entries:?}");
}

#[test]
fn long_words_are_cut_to_fit() {
    let long = "unreasonable ".repeat(40);
    let mut figure = two_lines();
    figure.title.clone_from(&long);
    figure.x.label.clone_from(&long);
    figure.y.label = "x".repeat(400);
    figure.series[0].label.clone_from(&long);
    figure.note = Some(long.repeat(5));
    let svg = check(&figure);
    assert_eq!(texts(&svg, "title").len(), 3);
    assert_eq!(texts(&svg, "note").len(), 4);
}

#[test]
fn png_has_twice_the_size() {
    let picture = Pixmap::decode_png(&two_lines().png().unwrap()).unwrap();
    assert_eq!((picture.width(), picture.height()), (1600, 1000));
    let colours: BTreeSet<[u8; 3]> =
        picture.pixels().iter().map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
    assert!(colours.contains(&[0x00, 0x72, 0xb2]), "the first series is blue");
    assert!(picture.pixels().iter().all(|pixel| pixel.is_opaque()));
}

fn awkward_number() -> impl Strategy<Value = f64> {
    prop_oneof![
        4 => -1e3..1e3,
        1 => Just(0.0),
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => proptest::num::f64::ANY,
    ]
}

fn awkward_point() -> impl Strategy<Value = Point> {
    let end = || proptest::option::of(awkward_number());
    let label = proptest::option::of("[a-zε <&\u{0}]{0,8}");
    (awkward_number(), awkward_number(), end(), end(), end(), end(), label).prop_map(
        |(x, y, y_low, y_high, x_low, x_high, label)| Point { x, y, y_low, y_high, x_low, x_high, label },
    )
}

fn awkward_series() -> impl Strategy<Value = Series> {
    let points = || proptest::collection::vec(awkward_point(), 0..20);
    let mark = prop_oneof![
        points().prop_map(|points| Mark::Line { points }),
        (points(), any::<bool>()).prop_map(|(points, connect)| Mark::Dots { points, connect }),
        awkward_number().prop_map(|y| Mark::Horizontal { y }),
    ];
    (".{0,30}", mark).prop_map(|(label, mark)| Series { label, mark })
}

fn awkward_figure() -> impl Strategy<Value = Figure> {
    let axis = || {
        let scale = prop_oneof![Just(Scale::Linear), Just(Scale::Log)];
        let range = proptest::option::of((awkward_number(), awkward_number()));
        let names = proptest::collection::vec(".{0,12}", 0..4);
        (".{0,40}", scale, range, names).prop_map(|(label, scale, range, names)| Axis {
            label,
            scale,
            range,
            names,
        })
    };
    let series = proptest::collection::vec(awkward_series(), 0..6);
    (".{0,60}", axis(), axis(), series, proptest::option::of(".{0,60}"))
        .prop_map(|(title, x, y, series, note)| Figure { title, x, y, series, note })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_breaks_a_figure(figure in awkward_figure()) {
        check(&figure);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_breaks_a_png(figures in proptest::collection::vec(awkward_figure(), 0..3), columns in 0_usize..4) {
        let panels = Panels { title: "Any".into(), columns, panels: figures }.on_one_scale();
        prop_assert!(panels.pdf().unwrap().starts_with(b"%PDF-"));
        prop_assert!(Pixmap::decode_png(&panels.png().unwrap()).is_ok());
    }
}
