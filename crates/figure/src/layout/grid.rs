//! Charts in a grid; a figure of its own is a grid of one.

use super::chart::{Chart, LegendPlace, Margins};
use super::data::{Data, Ends};
use super::legend::{Entry, Legend};
use super::look::{LEADING, Look};
use crate::drawing::{Anchor, Pen, Rect, Scene, Spot, Text, wrap};
use crate::{Figure, FigureError, Mark, Panels, Size};

/// Size of a figure of its own.
const FIGURE: (f64, f64) = (800.0, 500.0);

/// Size of one panel, and of one that has its own legend beside it.
const PANEL: (f64, f64) = (500.0, 350.0);
const PANEL_WITH_LEGEND: (f64, f64) = (660.0, 350.0);

/// The longest side of a picture.
const LIMIT: f64 = 16_000.0;

/// A figure as a scene.
pub(crate) fn figure(figure: &Figure, size: Option<Size>) -> Result<Scene, FigureError> {
    let (width, height) = size.unwrap_or(FIGURE);
    within_limit(width, height)?;
    let pens = pens(std::slice::from_ref(figure)).remove(0);
    let chart = Chart::new(figure, pens, Look::FIGURE, LegendPlace::Anywhere);
    let mut scene = Scene::new(width, height, figure.title.trim());
    let mut grid = Grid { charts: vec![chart], columns: 1, cell: (width, height) };
    grid.draw(&mut scene, Spot::new(0.0, 0.0));
    scene.readings.iter_mut().for_each(|reading| reading.panel.clear());
    Ok(scene)
}

/// A grid of figures as a scene.
pub(crate) fn panels(panels: &Panels, size: Option<Size>) -> Result<Scene, FigureError> {
    let columns = panels.columns.clamp(1, panels.panels.len().max(1));
    let rows = panels.panels.len().div_ceil(columns).max(1);
    let look = Look::FIGURE;
    let padding = look.padding;
    let pens = pens(&panels.panels);
    let shared = shared_entries(&panels.panels, &pens);
    let (place, cell) = match &shared {
        Some(_) => (LegendPlace::Nowhere, size.unwrap_or(PANEL)),
        None => (LegendPlace::Right, size.unwrap_or(PANEL_WITH_LEGEND)),
    };
    let shared = shared.unwrap_or_default();
    let width = columns as f64 * cell.0 + padding;

    let legend = Legend::rows(&shared, &Look::PANEL, width - 2.0 * padding);
    let title = wrap(&panels.title, look.title, width - 2.0 * padding, 3);
    let title_height = match title.len() {
        0 => 0.0,
        lines => padding * 0.7 + lines as f64 * look.title * LEADING,
    };
    let legend_height = match shared.is_empty() {
        true => padding * 0.5,
        false => legend.height + padding,
    };
    let height = title_height + rows as f64 * cell.1 + legend_height;
    within_limit(width, height)?;

    let mut scene = Scene::new(width, height.ceil(), panels.title.trim());
    for (number, line) in title.into_iter().enumerate() {
        let y = padding * 0.7 + look.title * (1.0 + number as f64 * LEADING);
        let text = Text::new("title", line, Spot::new(width / 2.0, y), look.title);
        scene.text(text.anchored(Anchor::Middle));
    }
    let empty = Figure::default();
    let charts = match panels.panels.is_empty() {
        true => vec![Chart::new(&empty, Vec::new(), Look::PANEL, place)],
        false => (panels.panels.iter().zip(pens))
            .map(|(figure, pens)| Chart::new(figure, pens, Look::PANEL, place))
            .collect(),
    };
    let mut grid = Grid { charts, columns, cell };
    grid.draw(&mut scene, Spot::new(padding / 2.0, title_height));
    if !shared.is_empty() {
        let at = Spot::new((width - legend.width) / 2.0, height - legend_height);
        scene.group("legend", |scene| legend.draw(scene, at, &Look::PANEL));
    }
    Ok(scene)
}

/// Refuses what no viewer would open.
pub(crate) fn within_limit(width: f64, height: f64) -> Result<(), FigureError> {
    if width > LIMIT || height > LIMIT {
        let (width, height, limit) = (width as u64, height as u64, LIMIT as u64);
        return Err(FigureError::TooLarge { width, height, limit });
    }
    Ok(())
}

/// The least and the greatest value of all figures, across and upwards.
pub(crate) fn extents(figures: &[Figure]) -> (Option<Ends>, Option<Ends>) {
    let join = |one: Option<Ends>, other: Option<Ends>| match (one, other) {
        (Some((a, b)), Some((c, d))) => Some((a.min(c), b.max(d))),
        (one, other) => one.or(other),
    };
    let each = figures.iter().map(|figure| Data::new(figure).extents());
    each.fold((None, None), |(x, y), (own_x, own_y)| (join(x, own_x), join(y, own_y)))
}

/// Charts whose frames line up.
struct Grid<'a> {
    charts: Vec<Chart<'a>>,
    columns: usize,
    cell: (f64, f64),
}

impl Grid<'_> {
    fn draw(&mut self, scene: &mut Scene, at: Spot) {
        let areas: Vec<Rect> = (0..self.charts.len())
            .map(|number| {
                let (column, row) = (number % self.columns, number / self.columns);
                let (left, top) = (column as f64 * self.cell.0, row as f64 * self.cell.1);
                Rect::new(at.x + left, at.y + top, self.cell.0, self.cell.1)
            })
            .collect();
        let mut margins = self.margins(&areas);
        let mut news = false;
        for ((chart, area), margins) in self.charts.iter_mut().zip(&areas).zip(&margins) {
            news |= chart.notice_crowding(*area, margins);
        }
        if news {
            margins = self.margins(&areas);
        }
        for ((chart, area), margins) in self.charts.iter().zip(&areas).zip(&margins) {
            chart.draw(scene, *area, margins);
        }
    }

    fn margins(&self, areas: &[Rect]) -> Vec<Margins> {
        let mut margins = vec![Margins::default(); self.charts.len()];
        for (chart, margins) in self.charts.iter().zip(&mut margins) {
            (margins.top, margins.bottom) = chart.vertical(self.cell.0);
        }
        for row in margins.chunks_mut(self.columns) {
            let top = row.iter().map(|m| m.top).fold(0.0, f64::max);
            let bottom = row.iter().map(|m| m.bottom).fold(0.0, f64::max);
            for margins in row {
                (margins.top, margins.bottom) = (top, bottom);
            }
        }
        for ((chart, margins), area) in self.charts.iter().zip(&mut margins).zip(areas) {
            chart.set_horizontal(*area, margins);
        }
        for column in 0..self.columns {
            let in_column = || (column..areas.len()).step_by(self.columns);
            let left = in_column().map(|i| margins[i].left).fold(0.0, f64::max);
            let right = in_column().map(|i| margins[i].right).fold(0.0, f64::max);
            for index in in_column() {
                (margins[index].left, margins[index].right) = (left, right);
            }
        }
        margins
    }
}

/// The pens of every series of every figure: the same label has the same pen everywhere.
fn pens(figures: &[Figure]) -> Vec<Vec<Pen>> {
    // Within a figure a label may occur twice; then its second occurrence is another series.
    let mut series: Vec<(&str, usize)> = Vec::new();
    let mut references: Vec<(&str, usize)> = Vec::new();
    let mut pens = Vec::with_capacity(figures.len());
    for figure in figures {
        let mut chosen = Vec::with_capacity(figure.series.len());
        for (number, one) in figure.series.iter().enumerate() {
            let label = one.label.as_str();
            let is_reference = |mark: &Mark| matches!(mark, Mark::Horizontal { .. });
            let earlier = figure.series[..number]
                .iter()
                .filter(|other| other.label == label && is_reference(&other.mark) == is_reference(&one.mark));
            let key = (label, earlier.count());
            chosen.push(match is_reference(&one.mark) {
                true => Pen::reference(number_of(&mut references, key)),
                false => Pen::series(number_of(&mut series, key)),
            });
        }
        pens.push(chosen);
    }
    pens
}

fn number_of<'a>(known: &mut Vec<(&'a str, usize)>, key: (&'a str, usize)) -> usize {
    let found = known.iter().position(|other| *other == key);
    found.unwrap_or_else(|| {
        known.push(key);
        known.len() - 1
    })
}

/// The entries of one legend for all panels; none if most panels show different series.
fn shared_entries(figures: &[Figure], pens: &[Vec<Pen>]) -> Option<Vec<Entry>> {
    let mut shared: Vec<Entry> = Vec::new();
    let mut most = 0;
    for (figure, pens) in figures.iter().zip(pens) {
        let entries = Entry::of(figure, pens);
        most = most.max(entries.len());
        for entry in entries {
            let same = |other: &&Entry| other.label == entry.label && other.pen == entry.pen;
            if !shared.iter().any(|other| same(&other)) {
                shared.push(entry);
            }
        }
    }
    (shared.len() <= most + most.div_ceil(2)).then_some(shared)
}
