//! The scene as a PDF file. Text stays text, in the bundled font cut down to the letters that are used.

use std::collections::BTreeMap;

use pdf_writer::types::{CidFontType, FontFlags, LineJoinStyle, SystemInfo, TextRenderingMode, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish as _, Name, Pdf, Rect as PdfRect, Ref, Str, TextStr};
use subsetter::GlyphRemapper;

use super::scene::Item;
use super::{Anchor, Colour, Label, Outline, Scene, Shape, Spot, Step, Stroke, Text, font};
use crate::FigureError;

/// Points of a PDF per unit of the scene: 72 against 96 to the inch.
const SCALE: f32 = 0.75;

const CATALOG: Ref = Ref::new(1);
const PAGES: Ref = Ref::new(2);
const PAGE: Ref = Ref::new(3);
const CONTENT: Ref = Ref::new(4);
const FONT: Ref = Ref::new(5);
const CID_FONT: Ref = Ref::new(6);
const DESCRIPTOR: Ref = Ref::new(7);
const FONT_FILE: Ref = Ref::new(8);
const CMAP: Ref = Ref::new(9);
const INFO: Ref = Ref::new(10);
/// Opacities come after everything else.
const FIRST_STATE: i32 = 11;

const FONT_NAME: Name<'static> = Name(b"F");
/// Six letters before a plus sign say that the font is a part of another.
const BASE_FONT: Name<'static> = Name(b"CAHOOT+LiberationSans");
const ENCODING: SystemInfo<'static> =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

/// The scene as the bytes of a PDF file of one page.
pub(super) fn pdf(scene: &Scene) -> Result<Vec<u8>, FigureError> {
    let mut page = Page::new(scene.height);
    for item in &scene.items {
        match item {
            Item::Open(_) | Item::Close => {}
            Item::Shape(shape) => page.shape(shape),
            Item::Text(text) => page.text(text),
        }
    }
    page.finish(scene)
}

struct Page {
    content: Content,
    glyphs: GlyphRemapper,
    /// What the glyphs of the subset stand for.
    letters: BTreeMap<u16, char>,
    /// Advances of the glyphs of the subset, in thousandths of the size.
    widths: BTreeMap<u16, f32>,
    /// Opacities that occur, in thousandths.
    opacities: Vec<u32>,
}

impl Page {
    fn new(height: f64) -> Page {
        let mut content = Content::new();
        // The scene counts y downwards, a PDF upwards.
        content.transform([SCALE, 0.0, 0.0, -SCALE, 0.0, height as f32 * SCALE]);
        content.set_line_join(LineJoinStyle::RoundJoin);
        Page {
            content,
            glyphs: GlyphRemapper::new(),
            letters: BTreeMap::new(),
            widths: BTreeMap::new(),
            opacities: vec![1000],
        }
    }

    fn shape(&mut self, shape: &Shape) {
        if let Some((colour, opacity)) = shape.fill {
            self.content.save_state();
            let state = self.opacity(opacity);
            self.content.set_parameters(Name(state.as_bytes()));
            self.fill_colour(colour);
            self.outline(&shape.outline);
            self.content.fill_nonzero().restore_state();
        }
        if let Some(stroke) = &shape.stroke {
            self.content.save_state();
            self.pen(stroke);
            self.outline(&shape.outline);
            self.content.stroke().restore_state();
        }
    }

    fn opacity(&mut self, opacity: f64) -> String {
        let thousandths = (opacity.clamp(0.0, 1.0) * 1000.0).round() as u32;
        if !self.opacities.contains(&thousandths) {
            self.opacities.push(thousandths);
        }
        format!("A{thousandths}")
    }

    fn fill_colour(&mut self, colour: Colour) {
        let [red, green, blue] = parts(colour);
        self.content.set_fill_rgb(red, green, blue);
    }

    fn pen(&mut self, stroke: &Stroke) {
        let [red, green, blue] = parts(stroke.colour);
        self.content.set_stroke_rgb(red, green, blue).set_line_width(stroke.width as f32);
        if !stroke.dash.is_empty() {
            self.content.set_dash_pattern(stroke.dash.iter().map(|length| *length as f32), 0.0);
        }
    }

    fn outline(&mut self, outline: &Outline) {
        match outline {
            Outline::Path(steps) => {
                for step in steps {
                    match step {
                        Step::Move(spot) => self.content.move_to(near(spot.x), near(spot.y)),
                        Step::Line(spot) => self.content.line_to(near(spot.x), near(spot.y)),
                        Step::Close => self.content.close_path(),
                    };
                }
            }
            Outline::Circle { centre, radius } => self.circle(*centre, *radius),
            Outline::Rect(rect) => {
                let (left, top) = (near(rect.left), near(rect.top));
                self.content.rect(left, top, near(rect.width), near(rect.height));
            }
        }
    }

    /// Four curves; off a circle by less than a thousandth of its radius.
    fn circle(&mut self, centre: Spot, radius: f64) {
        const BEND: f64 = 0.552_284_75;
        let place = |x: f64, y: f64| (near(centre.x + x * radius), near(centre.y + y * radius));
        let (x, y) = place(1.0, 0.0);
        self.content.move_to(x, y);
        let mut from = (1.0_f64, 0.0_f64);
        for to in [(0.0, 1.0), (-1.0, 0.0), (0.0, -1.0), (1.0, 0.0)] {
            let (x1, y1) = place(from.0 + BEND * to.0, from.1 + BEND * to.1);
            let (x2, y2) = place(to.0 + BEND * from.0, to.1 + BEND * from.1);
            let (x3, y3) = place(to.0, to.1);
            self.content.cubic_to(x1, y1, x2, y2, x3, y3);
            from = to;
        }
        self.content.close_path();
    }

    fn text(&mut self, text: &Text) {
        let back = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => font::label_width(&text.label, text.size) / 2.0,
            Anchor::End => font::label_width(&text.label, text.size),
        };
        let Label { text: plain, superscript } = &text.label;
        let along = font::width(plain, text.size) - back;
        let parts = [
            (plain, -back, 0.0, text.size),
            (superscript, along, -text.size * Label::RAISE, text.size * Label::SHRINK),
        ];
        self.content.save_state();
        self.fill_colour(text.colour);
        for (part, along, down, size) in parts.into_iter().filter(|(part, ..)| !part.is_empty()) {
            if text.halo {
                self.pen(&Stroke::solid(Colour::WHITE, 3.0));
                self.line(part, text, (along, down), size, TextRenderingMode::Stroke);
            }
            self.line(part, text, (along, down), size, TextRenderingMode::Fill);
        }
        self.content.restore_state();
    }

    /// Shows letters from a place that is given relative to the text's own, as it reads.
    fn line(&mut self, letters: &str, text: &Text, at: (f64, f64), size: f64, mode: TextRenderingMode) {
        let (along, down) = at;
        // Letters stand upright: the page is upside down.
        let matrix = if text.upwards {
            let (x, y) = (text.at.x + down, text.at.y - along);
            [0.0, -1.0, -1.0, 0.0, near(x), near(y)]
        } else {
            [1.0, 0.0, 0.0, -1.0, near(text.at.x + along), near(text.at.y + down)]
        };
        let (set, _) = font::set(letters);
        let thousandth = 1000.0 / f64::from(font::face().units_per_em());
        // Each glyph with the way from the end of the one before it.
        let mut shown: Vec<(f32, u16)> = Vec::with_capacity(set.len());
        let mut pen = 0.0;
        for ((glyph, distance), letter) in set.into_iter().zip(letters.chars()) {
            let advance = f64::from(font::face().glyph_hor_advance(glyph).unwrap_or(0));
            let own = self.glyphs.remap(glyph.0);
            self.letters.entry(own).or_insert(letter);
            self.widths.insert(own, (advance * thousandth) as f32);
            shown.push((((distance - pen) * thousandth) as f32, own));
            pen = distance + advance;
        }
        self.content.begin_text().set_font(FONT_NAME, size as f32);
        self.content.set_text_rendering_mode(mode).set_text_matrix(matrix);
        {
            let mut positioned = self.content.show_positioned();
            let mut items = positioned.items();
            for (way, glyph) in shown {
                if way.abs() > 0.01 {
                    items.adjust(-way);
                }
                items.show(Str(&glyph.to_be_bytes()));
            }
        }
        self.content.end_text();
    }

    fn finish(self, scene: &Scene) -> Result<Vec<u8>, FigureError> {
        let Page { content, glyphs, letters, widths, opacities } = self;
        let subset = subsetter::subset(font::BYTES, 0, &glyphs);
        let subset = subset.map_err(|error| FigureError::Encode(error.to_string()))?;
        let mut pdf = Pdf::new();
        pdf.catalog(CATALOG).pages(PAGES);
        pdf.pages(PAGES).kids([PAGE]).count(1);
        let mut page = pdf.page(PAGE);
        let (width, height) = (scene.width as f32 * SCALE, scene.height as f32 * SCALE);
        page.media_box(PdfRect::new(0.0, 0.0, width, height)).parent(PAGES).contents(CONTENT);
        let mut resources = page.resources();
        resources.fonts().pair(FONT_NAME, FONT);
        let mut states = resources.ext_g_states();
        for (number, thousandths) in (FIRST_STATE..).zip(&opacities) {
            states.pair(Name(format!("A{thousandths}").as_bytes()), Ref::new(number));
        }
        states.finish();
        resources.finish();
        page.finish();
        for (number, thousandths) in (FIRST_STATE..).zip(&opacities) {
            pdf.ext_graphics(Ref::new(number)).non_stroking_alpha(*thousandths as f32 / 1000.0);
        }
        compressed(&mut pdf, CONTENT, &content.finish());
        write_font(&mut pdf, &letters, &widths, &subset);
        pdf.document_info(INFO).title(TextStr(&scene.title)).producer(TextStr("cahoots"));
        Ok(pdf.finish())
    }
}

fn write_font(pdf: &mut Pdf, letters: &BTreeMap<u16, char>, widths: &BTreeMap<u16, f32>, subset: &[u8]) {
    let face = font::face();
    let thousandth = 1000.0 / f32::from(face.units_per_em());
    pdf.type0_font(FONT)
        .base_font(BASE_FONT)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(CID_FONT)
        .to_unicode(CMAP);
    let mut cid = pdf.cid_font(CID_FONT);
    cid.subtype(CidFontType::Type2).base_font(BASE_FONT).system_info(ENCODING).font_descriptor(DESCRIPTOR);
    cid.cid_to_gid_map_predefined(Name(b"Identity")).default_width(0.0);
    let mut listed = cid.widths();
    for (glyph, width) in widths {
        listed.consecutive(*glyph, [*width]);
    }
    listed.finish();
    cid.finish();
    let bounds = face.global_bounding_box();
    let [left, bottom, right, top] =
        [bounds.x_min, bounds.y_min, bounds.x_max, bounds.y_max].map(|end| f32::from(end) * thousandth);
    pdf.font_descriptor(DESCRIPTOR)
        .name(BASE_FONT)
        .flags(FontFlags::NON_SYMBOLIC)
        .bbox(PdfRect::new(left, bottom, right, top))
        .italic_angle(0.0)
        .ascent(f32::from(face.ascender()) * thousandth)
        .descent(f32::from(face.descender()) * thousandth)
        .cap_height(f32::from(face.capital_height().unwrap_or(face.ascender())) * thousandth)
        .stem_v(80.0)
        .font_file2(FONT_FILE);
    compressed(pdf, FONT_FILE, subset);
    let mut cmap = UnicodeCmap::new(Name(b"Custom"), ENCODING);
    for (glyph, letter) in letters {
        cmap.pair(*glyph, *letter);
    }
    compressed(pdf, CMAP, &cmap.finish());
}

fn compressed(pdf: &mut Pdf, id: Ref, bytes: &[u8]) {
    let small = miniz_oxide::deflate::compress_to_vec_zlib(bytes, 6);
    let mut stream = pdf.stream(id, &small);
    stream.filter(Filter::FlateDecode);
    if id == FONT_FILE {
        stream.pair(Name(b"Length1"), bytes.len() as i32);
    }
}

fn parts(Colour(red, green, blue): Colour) -> [f32; 3] {
    [red, green, blue].map(|part| f32::from(part) / 255.0)
}

/// Two decimals, as in the SVG.
fn near(value: f64) -> f32 {
    ((value * 100.0).round() / 100.0) as f32
}
