//! The heat map: latency over time.

use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use weir_text::units;

use super::view::{LABEL, View, dim, label};
use crate::tui::heat::{HeatSteps, Rows};

/// Describes the map in the columns beside its label.
pub(super) fn title(view: &View, columns: u16) -> Line<'static> {
    let [.., full] = view.glyphs.shades();
    let mut text = format!("responses by latency; a column is {} s", view.state.interval_s());
    for more in [", the newest on the right", &format!("; {full} has the most")] {
        if text.chars().count() + more.chars().count() <= usize::from(columns) {
            text += more;
        }
    }
    Line::from(vec![label("Heat map"), Span::styled(text, dim())])
}

/// Latency over time: the latest interval on the right, the slowest responses on top.
pub(super) fn plot(frame: &mut Frame, view: &View, area: Rect) {
    let areas = Layout::horizontal([Constraint::Length(LABEL as u16), Constraint::Min(0)]);
    let [labels, plot] = areas.areas(area);
    let skipped = view.state.past.len().saturating_sub(plot.width.into());
    let columns: Vec<&HeatSteps> =
        view.state.past.iter().skip(skipped).map(|past| &past.latency).collect();
    let Some(rows) = Rows::of(columns.iter().copied(), plot.height) else { return };
    let counts = |row: u16| {
        let (from, to) = rows.steps(row);
        columns.iter().map(move |column| column.count(from, to))
    };
    let most = (0..rows.count).flat_map(counts).max().unwrap_or(0);
    let lines = |row: &dyn Fn(u16) -> Line<'static>| -> Vec<Line<'static>> {
        (0..rows.count).rev().map(row).collect()
    };
    let shades = view.glyphs.shades();
    let picture = lines(&|row| {
        counts(row).map(|count| shades[level(count, most)]).collect::<String>().into()
    });
    let begins = lines(&|row| {
        let begin = units::short_duration(rounded(rows.begin_ns(row)));
        format!("{:>1$} ", view.glyphs.text(&begin), LABEL - 1).into()
    });
    // The latest interval is at the right edge, as in the plot of the rate.
    let picture = Paragraph::new(picture).alignment(Alignment::Right);
    frame.render_widget(picture.style(Style::new().fg(Color::Cyan)), plot);
    frame.render_widget(Paragraph::new(begins).style(dim()), labels);
}

/// Returns the shade of a cell: by the logarithm, because a few slow responses matter.
fn level(count: u64, most: u64) -> usize {
    let share = (count as f64).ln_1p() / (most.max(1) as f64).ln_1p();
    ((share * 4.0).ceil() as usize).min(4)
}

/// Rounds to two digits.
fn rounded(ns: u64) -> u64 {
    let unit = 10_u64.pow(ns.max(1).ilog10().saturating_sub(1));
    (ns + unit / 2) / unit * unit
}
