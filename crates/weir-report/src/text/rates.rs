//! Whether it all adds up, and how fast it was.

use weir_run::Document;
use weir_run::document::{Accounting, RateInterval, Summary};
use weir_run::units;

use super::page::{Page, Span, Style};

pub(super) fn write(document: &Document, page: &mut Page) {
    page.gap();
    conservation(&document.accounting, page);
    if document.answered() == 0 {
        let text = no_answer(document);
        page.paragraph(Span::plain(""), 2, &Span::new(text, Style::Red));
    }
    let rates = rates(document);
    if document.throughput.window_s > 0.0 && !rates.is_empty() {
        page.items(Span::plain(""), 2, rates);
    }
    let connects = connects(document);
    if !connects.is_empty() {
        page.items(Span::plain(""), 2, connects);
    }
}

/// Connections per second, where some were opened in the window, and how long that took.
fn connects(document: &Document) -> Vec<Span> {
    let latency = &document.latency;
    let Some(in_window) = &latency.connect_window else { return Vec::new() };
    let per_second = units::rate(document.connections.connects_per_second);
    let mut items = vec![Span::new(format!("connections {per_second}"), Style::Bold)];
    items.push(Span::plain(format!("connect {}", times(&in_window.ok))));
    if let Some(setup) = &latency.connect_setup {
        items.push(Span::new(format!("at set-up {}", times(&setup.ok)), Style::Dim));
    }
    items
}

/// `p50 85 µs p99 310 µs max 1.2 ms`, as far as the values go.
fn times(summary: &Summary) -> String {
    let percentiles = [50.0, 99.0].into_iter().filter_map(|p| summary.percentile(p));
    let mut words: Vec<String> =
        percentiles.map(|value| format!("p{} {}", value.p, units::duration(value.ns))).collect();
    words.extend(summary.max_ns.map(|ns| format!("max {}", units::duration(ns))));
    words.join(" ")
}

/// `planned 10 = ok 9 + timed out 1`: every class that was hit, continued under its equals sign
/// where the page ends.
fn conservation(accounting: &Accounting, page: &mut Page) {
    let planned = format!("  planned {} ", units::count(accounting.planned));
    let indent = planned.len();
    let failures = [
        ("bad", accounting.bad_response),
        ("errors", accounting.transport_error),
        ("timed out", accounting.timed_out),
        ("in flight", accounting.in_flight_at_end),
        ("never sent", accounting.never_sent),
    ];
    let hit = failures.into_iter().filter(|(_, count)| *count > 0);
    let mut line = vec![Span::new(planned, Style::Bold)];
    let mut used = indent;
    for (index, (name, count)) in std::iter::once(("ok", accounting.ok)).chain(hit).enumerate() {
        let sign = if index == 0 { "= " } else { "+ " };
        let style = if index > 0 { Style::Red } else { Style::Plain };
        let term = Span::new(format!("{name} {}", units::count(count)), style);
        let blank = usize::from(index > 0);
        if used + blank + 2 + term.width() > page.width() {
            page.line(std::mem::take(&mut line));
            line.push(Span::plain(" ".repeat(indent)));
            used = indent;
        } else {
            line.push(Span::plain(" ".repeat(blank)));
            used += blank;
        }
        used += 2 + term.width();
        line.push(Span::plain(sign));
        line.push(term);
    }
    page.line(line);
}

fn no_answer(document: &Document) -> String {
    let accounting = &document.accounting;
    let timeout = units::exact_duration(document.plan.timeout_ns);
    match accounting.planned {
        0 if accounting.sent.total == accounting.sent.preflight => {
            "no answer at all: no request was sent".to_owned()
        }
        0 => "no answer at all: no request was measured".to_owned(),
        planned if planned == accounting.timed_out => {
            format!("no answer at all: every request timed out after {timeout}")
        }
        planned if planned == accounting.never_sent && document.throughput.completed > 0 => {
            "no measured request was sent: the backlog of the warm-up took all the time".to_owned()
        }
        planned if planned == accounting.never_sent => {
            "no answer at all: no request could be sent".to_owned()
        }
        _ => "no answer at all".to_owned(),
    }
}

fn rates(document: &Document) -> Vec<Span> {
    let throughput = &document.throughput;
    let planned = document.accounting.planned;
    let mut rates = Vec::new();
    if let Some(offered) = throughput.offered_rps {
        // One request more or less is the edge of the window, not a plan that was missed.
        let behind = planned.saturating_sub(throughput.sent);
        if behind > 1 && behind > planned / 1000 {
            let (sent, offered) = (units::rate(throughput.sent_rps), units::rate(offered));
            rates.push(Span::new(format!("sent {sent} of {offered}"), Style::Red));
        }
    }
    if throughput.completed == 0 && document.answered() == 0 {
        return rates;
    }
    let mut completed = format!("completed {}", units::rate(throughput.completed_rps));
    if let Some(RateInterval { low_rps, high_rps }) = throughput.completed_interval {
        let half_width = (high_rps - low_rps) / 2.0;
        completed = format!("{completed} ± {}", units::rate(half_width));
    }
    rates.push(Span::new(completed, Style::Bold));
    rates.push(Span::plain(format!("good {}", units::rate(throughput.good_rps))));
    rates.push(Span::plain(units::byte_rate(throughput.bytes_per_second)));
    rates
}
