//! The bundled font: the width of a text and the outlines of its glyphs.
//!
//! Liberation Sans has the same widths as Arial and Helvetica, so an SVG laid out with it keeps
//! its layout on systems that only have one of those.

use std::sync::LazyLock;

use ttf_parser::{Face, GlyphId};

use super::Label;

/// The font list written into SVG files: fonts of the same widths, then one nearly so.
pub(super) const FAMILY: &str =
    "'Liberation Sans', Arial, Helvetica, Arimo, 'DejaVu Sans Condensed', sans-serif";

/// The file of the font.
pub(super) const BYTES: &[u8] = include_bytes!("../../assets/LiberationSans-Regular.ttf");

static FACE: LazyLock<Face<'static>> =
    LazyLock::new(|| Face::parse(BYTES, 0).expect("the bundled font is well-formed"));

/// The font itself.
pub(super) fn face() -> &'static Face<'static> {
    &FACE
}

/// Size of a font unit when the text has the given size.
pub(super) fn unit(size: f64) -> f64 {
    size / f64::from(face().units_per_em())
}

/// Each glyph of `text` with its distance from the start, in font units, and the whole advance.
pub(super) fn set(text: &str) -> (Vec<(GlyphId, f64)>, f64) {
    let mut pen = 0.0;
    let mut previous = None;
    let mut glyphs = Vec::with_capacity(text.len());
    for character in text.chars() {
        let glyph = face().glyph_index(character).unwrap_or(GlyphId(0));
        if let Some(previous) = previous {
            pen += kerning(previous, glyph);
        }
        glyphs.push((glyph, pen));
        pen += f64::from(face().glyph_hor_advance(glyph).unwrap_or(0));
        previous = Some(glyph);
    }
    (glyphs, pen)
}

fn kerning(left: GlyphId, right: GlyphId) -> f64 {
    let Some(table) = face().tables().kern else {
        return 0.0;
    };
    table
        .subtables
        .into_iter()
        .filter(|subtable| subtable.horizontal && !subtable.variable)
        .find_map(|subtable| subtable.glyphs_kerning(left, right))
        .map_or(0.0, f64::from)
}

/// The width of `text` at the given size.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    set(text).1 * unit(size)
}

/// The width of a label at the given size.
pub(crate) fn label_width(label: &Label, size: f64) -> f64 {
    width(&label.text, size) + width(&label.superscript, size * Label::SHRINK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_font_knows_the_letters_of_the_field() {
        for character in "aZ09 .,:;()[]{}=+×·−–—…±≤≥≈∞√αβγδεηθκλμρστφχψωΔΣΩ²³°→ℓ".chars()
        {
            assert!(face().glyph_index(character).is_some(), "{character}");
        }
    }

    #[test]
    fn width_grows_with_text_and_size() {
        assert!(width("regret", 12.0) < width("regrets", 12.0));
        assert!((2.0 * width("regret", 12.0) - width("regret", 24.0)).abs() < 1e-9);
        assert_eq!(width("", 12.0), 0.0);
    }

    #[test]
    fn pairs_are_kerned() {
        assert!(width("AV", 10.0) < width("A", 10.0) + width("V", 10.0));
    }
}
