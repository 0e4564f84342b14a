//! PDF: one page of the right size, text that stays text, the same bytes each time.

use cahoots_figure::{Axis, Figure, Picture, Point, Series};

fn figure() -> Figure {
    let points =
        (1..50).map(f64::from).map(|x| Point::new(x, x.sqrt()).with_y_range(0.9 * x.sqrt(), 1.1 * x.sqrt()));
    Figure {
        title: "Größe über ε = ½".into(),
        x: Axis::linear("Rounds"),
        y: Axis::log("Regret"),
        series: vec![Series::line("LinUCB", points.collect()), Series::horizontal("Oracle", 1.0)],
        note: None,
    }
}

/// The streams of a PDF, unpacked, in the order of the file.
fn streams(pdf: &[u8]) -> Vec<Vec<u8>> {
    let find = |from: usize, what: &[u8]| {
        pdf[from..].windows(what.len()).position(|part| part == what).map(|at| from + at)
    };
    let (mut streams, mut from) = (Vec::new(), 0);
    while let Some(begin) = find(from, b"stream\n") {
        let end = find(begin, b"\nendstream").unwrap();
        streams.push(miniz_oxide::inflate::decompress_to_vec_zlib(&pdf[begin + 7..end]).unwrap());
        from = end + 10;
    }
    streams
}

#[test]
fn a_page_of_the_size_of_the_figure_and_the_same_bytes_each_time() {
    let pdf = figure().pdf().unwrap();
    assert_eq!(pdf, figure().pdf().unwrap());
    let text = String::from_utf8_lossy(&pdf);
    // 800 by 500 at 96 to the inch is 600 by 375 at 72.
    assert!(text.contains("/MediaBox [0 0 600 375]"), "{}", &text[..600]);
    assert!(text.trim_end().ends_with("%%EOF") && text.contains("/FontFile2"));
    let small = figure().scene_in(Some((400.0, 300.0))).unwrap().pdf().unwrap();
    assert!(String::from_utf8_lossy(&small).contains("/MediaBox [0 0 300 225]"));
    assert!(pdf.len() < 40_000, "{} bytes", pdf.len());
}

#[test]
fn letters_can_be_searched_and_lines_are_lines() {
    let streams = streams(&figure().pdf().unwrap());
    let [content, font, letters] = streams.as_slice() else { panic!("{} streams", streams.len()) };
    let content = String::from_utf8_lossy(content);
    let count = |operator: &str| content.lines().filter(|line| line.ends_with(operator)).count();
    assert_eq!(count("TJ"), figure().svg().unwrap().matches("<text").count(), "every text");
    assert!(count(" l") > 50 && count(" c") > 4);
    assert!(content.contains("/A180 gs"), "the band is translucent");
    let letters = String::from_utf8_lossy(letters);
    for letter in "Größeüberε½RundsgtLiUCBOacl".chars() {
        let code = format!("<{:04X}>", u32::from(letter));
        assert!(letters.to_uppercase().contains(&code), "{letter} {code}");
    }
    assert!(font.len() < 30_000, "only what is used: {} bytes", font.len());
}
