use tiny_skia::{Color, FillRule, LineJoin, Paint, Path, PathBuilder, Pixmap, StrokeDash, Transform};
use ttf_parser::{GlyphId, OutlineBuilder};

use super::scene::Item;
use super::{Anchor, Colour, Label, Outline, Scene, Shape, Step, Stroke, Text, font};
use crate::FigureError;

/// Pixels per unit of the scene.
const SCALE: f32 = 2.0;

/// The scene as the bytes of a PNG file.
pub(crate) fn png(scene: &Scene) -> Result<Vec<u8>, FigureError> {
    let width = (scene.width as f32 * SCALE).ceil() as u32;
    let height = (scene.height as f32 * SCALE).ceil() as u32;
    let Some(pixels) = Pixmap::new(width, height) else {
        return Err(FigureError::Encode(format!("no room for {width} x {height} pixels")));
    };
    let mut canvas = Canvas { pixels };
    canvas.pixels.fill(Color::WHITE);
    for item in &scene.items {
        match item {
            Item::Open(_) | Item::Close => {}
            Item::Shape(shape) => canvas.shape(shape),
            Item::Text(text) => canvas.text(text),
        }
    }
    canvas.pixels.encode_png().map_err(|error| FigureError::Encode(error.to_string()))
}

struct Canvas {
    pixels: Pixmap,
}

impl Canvas {
    fn shape(&mut self, shape: &Shape) {
        // An outline without extent (a path of nothing) has no path.
        let Some(path) = outline(&shape.outline) else {
            return;
        };
        let transform = Transform::from_scale(SCALE, SCALE);
        if let Some((colour, opacity)) = shape.fill {
            self.fill(&path, colour, opacity, transform);
        }
        if let Some(stroke) = &shape.stroke {
            self.stroke(&path, stroke, transform);
        }
    }

    fn text(&mut self, text: &Text) {
        let back = match text.anchor {
            Anchor::Start => 0.0,
            Anchor::Middle => font::label_width(&text.label, text.size) / 2.0,
            Anchor::End => font::label_width(&text.label, text.size),
        };
        let mut glyphs = Glyphs::default();
        let Label { text: plain, superscript } = &text.label;
        let (x, y) = (text.at.x - back, text.at.y);
        glyphs.write(plain, x, y, text.size);
        let x = x + font::width(plain, text.size);
        let y = y - text.size * Label::RAISE;
        glyphs.write(superscript, x, y, text.size * Label::SHRINK);
        let Some(path) = glyphs.path.finish() else {
            return;
        };

        let mut transform = Transform::from_scale(SCALE, SCALE);
        if text.upwards {
            let (x, y) = (text.at.x as f32, text.at.y as f32);
            transform = transform.pre_concat(Transform::from_rotate_at(-90.0, x, y));
        }
        if text.halo {
            self.stroke(&path, &Stroke::solid(Colour::WHITE, 3.0), transform);
        }
        self.fill(&path, text.colour, 1.0, transform);
    }

    fn fill(&mut self, path: &Path, colour: Colour, opacity: f64, transform: Transform) {
        let paint = paint(colour, opacity);
        self.pixels.fill_path(path, &paint, FillRule::Winding, transform, None);
    }

    fn stroke(&mut self, path: &Path, stroke: &Stroke, transform: Transform) {
        let dash: Vec<f32> = stroke.dash.iter().map(|length| *length as f32).collect();
        let pen = tiny_skia::Stroke {
            width: stroke.width as f32,
            line_join: LineJoin::Round,
            dash: StrokeDash::new(dash, 0.0),
            ..tiny_skia::Stroke::default()
        };
        let paint = paint(stroke.colour, 1.0);
        self.pixels.stroke_path(path, &paint, &pen, transform, None);
    }
}

fn paint(Colour(red, green, blue): Colour, opacity: f64) -> Paint<'static> {
    let mut paint = Paint { anti_alias: true, ..Paint::default() };
    let alpha = (opacity.clamp(0.0, 1.0) * 255.0).round() as u8;
    paint.set_color_rgba8(red, green, blue, alpha);
    paint
}

fn outline(outline: &Outline) -> Option<Path> {
    let mut path = PathBuilder::new();
    match outline {
        Outline::Path(steps) => {
            for step in steps {
                match step {
                    Step::Move(spot) => path.move_to(spot.x as f32, spot.y as f32),
                    Step::Line(spot) => path.line_to(spot.x as f32, spot.y as f32),
                    Step::Close => path.close(),
                }
            }
        }
        Outline::Circle { centre, radius } => {
            path.push_circle(centre.x as f32, centre.y as f32, *radius as f32);
        }
        Outline::Rect(rect) => {
            let (left, top) = (rect.left as f32, rect.top as f32);
            let (width, height) = (rect.width as f32, rect.height as f32);
            path.push_rect(tiny_skia::Rect::from_xywh(left, top, width, height)?);
        }
    }
    path.finish()
}

/// Glyph outlines, moved to their place and turned upright (fonts count y upwards).
#[derive(Default)]
struct Glyphs {
    path: PathBuilder,
    x: f64,
    y: f64,
    unit: f64,
}

impl Glyphs {
    fn write(&mut self, text: &str, x: f64, y: f64, size: f64) {
        self.unit = font::unit(size);
        self.y = y;
        for (glyph, distance) in font::set(text).0 {
            self.x = x + distance * self.unit;
            self.glyph(glyph);
        }
    }

    fn glyph(&mut self, glyph: GlyphId) {
        // Spaces have no outline.
        let _ = font::face().outline_glyph(glyph, self);
    }

    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        let x = self.x + f64::from(x) * self.unit;
        let y = self.y - f64::from(y) * self.unit;
        (x as f32, y as f32)
    }
}

impl OutlineBuilder for Glyphs {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.place(x1, y1), self.place(x2, y2));
        let (x, y) = self.place(x, y);
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
