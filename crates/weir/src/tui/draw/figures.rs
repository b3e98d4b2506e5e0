//! The rows of figures: connections, percentiles, the client, failures.

use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use weir_result::{Histogram, units};
use weir_runner::ClientOverhead;

use super::{LABEL, View, bold, dim, label};
use crate::tui::state::{PERCENTILES, State};

/// Gap between two figures of a row.
const GAP: usize = 3;

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
    let frame = state.frame_now();
    let (open, all) = (frame.open_connections, u64::from(state.connections));
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
pub(super) fn percentiles(view: &View) -> Vec<Line<'static>> {
    let state = view.state;
    let mut heads: Vec<String> = PERCENTILES.iter().map(|p| format!("p{p}")).collect();
    heads.push("max".to_owned());
    let head: String = heads.iter().map(|head| format!("{head:>9}")).collect();
    let cells = |times: &Histogram| {
        let all = PERCENTILES.into_iter().chain([100.0]);
        let cells = all.map(|p| times.percentile(p).map_or("-".to_owned(), units::duration));
        cells.map(|cell| format!("{:>9}", view.glyphs.text(&cell))).collect::<String>()
    };
    let last_name = format!("last {} s", state.interval_s());
    let last = match state.silence_s() {
        Some(silent_s) => Span::styled(format!("  no response for {silent_s} s"), bold()),
        None => Span::raw(cells(&state.last)),
    };
    vec![
        Line::from(vec![label("Latency"), Span::styled(head, dim())]),
        Line::from(vec![label(&last_name), last]),
        Line::from(vec![label("run"), Span::raw(cells(&state.all))]),
    ]
}

/// The send lag of an open loop.
pub(super) fn send_lag(view: &View, columns: u16) -> Line<'static> {
    let frame = view.state.frame_now();
    let figure = |name: &str, ns: Option<u64>| {
        let time = ns.map_or("-".to_owned(), units::duration);
        Span::raw(format!("{name} {}", view.glyphs.text(&time)))
    };
    let figures = vec![
        figure("p99 of last 1 s", frame.send_lag_p99_ns),
        figure("of run", frame.send_lag_p99_all_ns),
    ];
    row("Send lag", figures, columns)
}

/// The client's part of the latency, and its CPU use.
pub(super) fn client(view: &View, columns: u16) -> Line<'static> {
    let frame = view.state.frame_now();
    let share = frame.client_overhead.map_or(0.0, ClientOverhead::share);
    let is_high = share > OVERHEAD_SHARE
        && frame.client_overhead.is_some_and(|overhead| overhead.ns > OVERHEAD_NS);
    let overhead = match frame.client_overhead {
        None => Span::raw("overhead of p99 unknown"),
        Some(_) if is_high => {
            let text = format!("overhead {} of p99 (limit: 5%)", rounded_percent(share));
            Span::styled(text, Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD))
        }
        Some(_) => Span::raw(format!("overhead {} of p99", rounded_percent(share))),
    };
    let mut figures = vec![overhead];
    if let Some(cpu) = frame.worker_cpu {
        figures.push(Span::raw(format!("worker CPU {}", rounded_percent(cpu))));
    }
    // The same in time, where there is room.
    if let Some(overhead) = frame.client_overhead {
        let time = units::duration(overhead.ns);
        figures.push(Span::raw(format!("{} of overhead", view.glyphs.text(&time))));
    }
    row("Client", figures, columns)
}

/// The requests without success.
pub(super) fn failures(state: &State, columns: u16) -> Line<'static> {
    let frame = state.frame_now();
    let errors = frame.errors.saturating_sub(frame.bad + frame.timed_out);
    let counts = |bad| [(bad, frame.bad), ("errors", errors), ("timed out", frame.timed_out)];
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
    if let Some((kind, _)) = frame.frequent_error {
        all.push(Span::raw(format!("mostly {}", kind.name())));
    }
    row("Failures", all, columns)
}

/// Formats a share in whole percent.
fn rounded_percent(share: f64) -> String {
    units::short_percent((share * 100.0).round() / 100.0)
}
