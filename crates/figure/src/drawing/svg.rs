use std::fmt::Write;

use super::font::FAMILY;
use super::scene::Item;
use super::{Anchor, Colour, Label, Outline, Scene, Shape, Step, Text};

/// The scene as an SVG document.
pub(crate) fn svg(scene: &Scene) -> String {
    let mut out = Svg::default();
    let (width, height) = (number(scene.width), number(scene.height));
    let title = escape(&scene.title);
    out.line(&format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" font-family="{FAMILY}" role="img">"#
    ));
    out.depth = 1;
    if !title.is_empty() {
        out.line(&format!("<title>{title}</title>"));
    }
    out.line(&format!(r##"<rect width="{width}" height="{height}" fill="#ffffff"/>"##));
    for item in &scene.items {
        match item {
            Item::Open(class) => {
                out.line(&format!(r#"<g class="{class}">"#));
                out.depth += 1;
            }
            Item::Close => {
                out.depth -= 1;
                out.line("</g>");
            }
            Item::Shape(shape) => out.line(&element(shape)),
            Item::Text(text) => out.line(&text_element(text)),
        }
    }
    out.depth = 0;
    out.line("</svg>");
    out.text
}

#[derive(Default)]
struct Svg {
    text: String,
    depth: usize,
}

impl Svg {
    fn line(&mut self, line: &str) {
        for _ in 0..self.depth {
            self.text.push(' ');
        }
        self.text.push_str(line);
        self.text.push('\n');
    }
}

fn element(shape: &Shape) -> String {
    let mut out = match &shape.outline {
        Outline::Path(steps) => format!(r#"<path{} d="{}""#, class(shape.class), path(steps)),
        Outline::Circle { centre, radius } => format!(
            r#"<circle{} cx="{}" cy="{}" r="{}""#,
            class(shape.class),
            number(centre.x),
            number(centre.y),
            number(*radius)
        ),
        Outline::Rect(rect) => format!(
            r#"<rect{} x="{}" y="{}" width="{}" height="{}""#,
            class(shape.class),
            number(rect.left),
            number(rect.top),
            number(rect.width),
            number(rect.height)
        ),
    };
    match shape.fill {
        Some((colour, opacity)) => {
            attribute(&mut out, "fill", &hex(colour));
            if opacity < 1.0 {
                attribute(&mut out, "fill-opacity", &number(opacity));
            }
        }
        None => attribute(&mut out, "fill", "none"),
    }
    if let Some(stroke) = &shape.stroke {
        attribute(&mut out, "stroke", &hex(stroke.colour));
        attribute(&mut out, "stroke-width", &number(stroke.width));
        attribute(&mut out, "stroke-linejoin", "round");
        if !stroke.dash.is_empty() {
            let dash: Vec<String> = stroke.dash.iter().map(|length| number(*length)).collect();
            attribute(&mut out, "stroke-dasharray", &dash.join(" "));
        }
    }
    out.push_str("/>");
    out
}

fn path(steps: &[Step]) -> String {
    let mut out = String::with_capacity(steps.len() * 14);
    for step in steps {
        let (letter, spot) = match step {
            Step::Move(spot) => ('M', spot),
            Step::Line(spot) => ('L', spot),
            Step::Close => {
                out.push('Z');
                continue;
            }
        };
        out.push(letter);
        out.push_str(&number(spot.x));
        out.push(' ');
        out.push_str(&number(spot.y));
    }
    out
}

fn text_element(text: &Text) -> String {
    let (x, y) = (number(text.at.x), number(text.at.y));
    let mut out = format!(r#"<text{} x="{x}" y="{y}""#, class(text.class));
    attribute(&mut out, "font-size", &number(text.size));
    attribute(&mut out, "fill", &hex(text.colour));
    match text.anchor {
        Anchor::Start => {}
        Anchor::Middle => attribute(&mut out, "text-anchor", "middle"),
        Anchor::End => attribute(&mut out, "text-anchor", "end"),
    }
    if text.upwards {
        attribute(&mut out, "transform", &format!("rotate(-90 {x} {y})"));
    }
    if text.halo {
        attribute(&mut out, "stroke", &hex(Colour::WHITE));
        attribute(&mut out, "stroke-width", "3");
        attribute(&mut out, "stroke-linejoin", "round");
        attribute(&mut out, "paint-order", "stroke");
    }
    out.push('>');
    out.push_str(&escape(&text.label.text));
    if !text.label.superscript.is_empty() {
        let size = number(text.size * Label::SHRINK);
        let raise = number(-text.size * Label::RAISE);
        let raised = escape(&text.label.superscript);
        let _ = write!(out, r#"<tspan dy="{raise}" font-size="{size}">{raised}</tspan>"#);
    }
    out.push_str("</text>");
    out
}

fn class(class: &str) -> String {
    match class {
        "" => String::new(),
        _ => format!(r#" class="{class}""#),
    }
}

fn attribute(out: &mut String, name: &str, value: &str) {
    let _ = write!(out, r#" {name}="{value}""#);
}

fn hex(Colour(red, green, blue): Colour) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// At most two decimals: finer than a reader can see, and shorter.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    match text {
        "-0" => "0".to_owned(),
        _ => text.to_owned(),
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML 1.0 has no way to write these.
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            control if control.is_control() => out.push(' '),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(12.0), "12");
        assert_eq!(number(0.125), "0.12");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(100.5), "100.5");
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escape("a<b & \"c\"\u{0}\n"), "a&lt;b &amp; &quot;c&quot;  ");
    }
}
