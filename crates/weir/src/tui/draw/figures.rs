//! The rows of figures: connections, percentiles, the client, failures.

use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use weir_result::SparseHistogram;
use weir_text::units;

use super::view::{LABEL, View, bold, dim, label};
use crate::tui::state::{Latencies, PERCENTILES, State};

/// Gap between two figures of a row.
const GAP: usize = 3;

/// Columns of a time, with the gap before it, if the terminal has room for them.
const TIME_WIDTH: usize = 11;

/// Columns from which on the client overhead is also shown in time.
const WIDE: u16 = 80;

/// Client overhead beyond this share of a percentile, and of this many nanoseconds, is marked: the
/// report may call the percentile inflated (METHOD 1.9).
const OVERHEAD_SHARE: f64 = 0.05;
const OVERHEAD_NS: u64 = 20_000;

/// Returns a row of the figures that fit into its columns, the first ones before the others.
fn row(name: &str, figures: Vec<Span<'static>>, columns: u16) -> Line<'static> {
    let mut left = usize::from(columns).saturating_sub(LABEL);
    let mut spans = vec![label(name)];
    for (index, figure) in figures.into_iter().enumerate() {
        let gap = if index > 0 { GAP } else { 0 };
        let Some(rest) = left.checked_sub(gap + figure.width()) else { break };
        left = rest;
        spans.extend([Span::raw(" ".repeat(gap)), figure]);
    }
    Line::from(spans)
}

/// The connections, and the requests on them.
pub(super) fn connections(state: &State, columns: u16) -> Line<'static> {
    let frame = &state.frames.latest;
    let open = frame.open_connections;
    let all = u64::from(state.connections);
    let of_all = if open < all { format!(" of {}", units::count(all)) } else { String::new() };
    let mut figures = vec![
        Span::raw(format!("{}{of_all} open", units::count(open))),
        Span::raw(format!("in flight {}", units::count(frame.in_flight))),
    ];
    if state.planned.is_some() {
        figures.push(Span::raw(format!("backlog {}", units::count(frame.backlog))));
    }
    row("Connections", figures, columns)
}

/// The table of percentiles: of the last interval, and of the run.
pub(super) fn percentiles(view: &View, columns: u16) -> Vec<Line<'static>> {
    let state = view.state;
    let room = usize::from(columns).saturating_sub(LABEL);
    let width = (room / PERCENTILES.len()).min(TIME_WIDTH);
    let head: String = PERCENTILES.iter().map(|p| format!("{:>width$}", head_of(*p))).collect();
    let cells = |latencies: &Latencies| {
        let cells = latencies.iter().map(|ns| ns.map_or("-".to_owned(), units::duration));
        cells.map(|cell| time_cell(&view.glyphs.text(&cell), width)).collect::<String>()
    };
    let last_name = format!("last {} s", state.interval_s());
    let last = match state.silence_s() {
        Some(silent_s) => Span::styled(format!("  no response for {silent_s} s"), bold()),
        None => Span::raw(cells(&state.last)),
    };
    vec![
        Line::from(vec![label("Latency"), Span::styled(head, dim())]),
        Line::from(vec![label(&last_name), last]),
        Line::from(vec![label("run"), Span::raw(cells(&state.run))]),
    ]
}

/// Messages within responses, if there are some: their number, and percentiles of the times to the
/// first and between two.
pub(super) fn messages(view: &View, columns: u16) -> Vec<Line<'static>> {
    let messages = &view.state.frames.latest.messages;
    if messages.received == 0 {
        return Vec::new();
    }
    let figure = |name: &str, times: &SparseHistogram, p: f64| {
        let time = times.percentile(p).map_or("-".to_owned(), units::duration);
        Span::raw(format!("{name} p{p} {}", view.glyphs.text(&time)))
    };
    let figures = vec![
        Span::raw(units::count(messages.received)),
        figure("first", &messages.first, 50.0),
        figure("gap", &messages.gap, 50.0),
        figure("first", &messages.first, 99.0),
        figure("gap", &messages.gap, 99.0),
    ];
    vec![row("Messages", figures, columns)]
}

/// Right-aligns a time in its column, which never touches the one before: a time that fills its
/// column loses the blank before the unit.
fn time_cell(time: &str, width: usize) -> String {
    match time.chars().count() < width {
        true => format!("{time:>width$}"),
        false => format!(" {}", time.replace(' ', "")),
    }
}

fn head_of(p: f64) -> String {
    if p == 100.0 { "max".to_owned() } else { format!("p{p}") }
}

/// Percentiles of the table of names.
const NAME_PERCENTILES: [f64; 2] = [50.0, 99.0];

/// The table of names, as far as `area` has room: measured responses, failures and percentiles.
pub(super) fn names(view: &View, area: Rect) -> Vec<Line<'static>> {
    let state = view.state;
    let rows = usize::from(area.height).saturating_sub(1);
    let width = usize::from(area.width).saturating_sub(4 * TIME_WIDTH);
    let line = |name: Span<'static>, cells: [String; 4], style: Style| {
        let blanks = " ".repeat(width.saturating_sub(name.width()));
        let [responses, failed, times @ ..] = cells;
        let counts = Span::raw(format!("{blanks}{responses:>TIME_WIDTH$}"));
        let failed = Span::styled(format!("{failed:>TIME_WIDTH$}"), style);
        let times = times.map(|time| time_cell(&view.glyphs.text(&time), TIME_WIDTH)).concat();
        Line::from(vec![name, counts, failed, Span::raw(times)])
    };
    let head = ["responses".to_owned(), "failed".to_owned(), "p50".to_owned(), "p99".to_owned()];
    let left_out = state.names.len().saturating_sub(rows);
    let title = match left_out {
        0 => "By name".to_owned(),
        more => format!("By name ({more} more)"),
    };
    let mut lines = vec![line(label(&title), head, Style::new()).style(dim())];
    let totals = state.names.iter().zip(&state.frames.latest.names).take(rows);
    lines.extend(totals.map(|(name, of)| {
        let failed = of.bad + of.errors + of.timed_out;
        let style = if failed > 0 { Style::new().fg(Color::Red) } else { Style::new() };
        let [p50, p99] = NAME_PERCENTILES
            .map(|p| of.latency.percentile(p).map_or("-".to_owned(), units::duration));
        let cells = [units::count(of.responses()), units::count(failed), p50, p99];
        line(cut(&view.glyphs.text(name), width.saturating_sub(1)), cells, style)
    }));
    lines
}

/// Returns a text, or as much of its beginning as `width` columns have room for.
fn cut(text: &str, width: usize) -> Span<'static> {
    let mut cut = text.to_owned();
    while Span::raw(cut.as_str()).width() > width {
        cut.pop();
    }
    Span::raw(cut)
}

/// The send lag of an open loop.
pub(super) fn send_lag(view: &View, columns: u16) -> Line<'static> {
    let frames = &view.state.frames;
    let figure = |name: &str, ns: Option<u64>| {
        let time = ns.map_or("-".to_owned(), units::duration);
        Span::raw(format!("{name} {}", view.glyphs.text(&time)))
    };
    let figures = vec![
        figure("p99 of last 1 s", frames.send_lag_p99_ns()),
        figure("of run", frames.latest.lags.send_lag.percentile(99.0)),
    ];
    row("Send lag", figures, columns)
}

/// The client's part of the latency, and its CPU use.
pub(super) fn client(view: &View, columns: u16) -> Line<'static> {
    let frame = &view.state.frames.latest;
    let overhead = match frame.client_overhead() {
        None => Span::raw("overhead of p99 unknown"),
        Some(overhead) => {
            let share = overhead.share();
            let is_high = share > OVERHEAD_SHARE && overhead.ns > OVERHEAD_NS;
            let time = match columns {
                WIDE.. => format!("{}: ", units::duration(overhead.ns)),
                _ => String::new(),
            };
            let limit = if is_high { " (limit: 5%)" } else { "" };
            let text = format!("overhead {time}{} of p99{limit}", rounded_percent(share));
            let text = view.glyphs.text(&text).into_owned();
            Span::styled(text, if is_high { warning() } else { Style::new() })
        }
    };
    let cpu = frame.worker_cpu.map(|cpu| format!("worker CPU {}", rounded_percent(cpu)));
    let figures = [overhead].into_iter().chain(cpu.map(Span::raw)).collect();
    row("Client", figures, columns)
}

/// The requests without success.
pub(super) fn failures(state: &State, columns: u16) -> Line<'static> {
    let frame = &state.frames.latest;
    let ended = &frame.ended;
    let errors = ended.transport_errors();
    let counts = |bad| [(bad, ended.bad), ("errors", errors), ("timed out", ended.timed_out)];
    let figures = |counts: &[(&str, u64)]| -> Vec<Span<'static>> {
        let spans = counts.iter().map(|(name, count)| {
            let style = if *count > 0 { Style::new().fg(Color::Red) } else { Style::new() };
            Span::styled(format!("{name} {}", units::count(*count)), style)
        });
        spans.collect()
    };
    let mut all = figures(&counts("bad responses"));
    let width = all.iter().map(|figure| figure.width() + GAP).sum::<usize>();
    if LABEL + width - GAP > usize::from(columns) {
        // The zeros are left out, not what happened.
        let happened = counts("bad").into_iter().filter(|(_, count)| *count > 0);
        all = figures(&happened.collect::<Vec<_>>());
    }
    if let Some((kind, _)) = frame.frequent_error() {
        all.push(Span::raw(format!("mostly {kind}")));
    }
    row("Failures", all, columns)
}

/// Formats a share in whole percent.
fn rounded_percent(share: f64) -> String {
    units::short_percent((share * 100.0).round() / 100.0)
}

fn warning() -> Style {
    Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_never_touch() {
        assert_eq!(time_cell("98.24 ms", 9), " 98.24 ms");
        assert_eq!(time_cell("100.41 ms", 9), " 100.41ms");
        assert_eq!(time_cell("100.41 ms", 11), "  100.41 ms");
        assert_eq!(time_cell("1,234.56 s", 9), " 1,234.56s");
    }
}
