//! The details below the latencies: requests, status codes, errors, connections, notes.

use weir_result::document::{Accounting, ConnectionFailure, DestinationSection, Summary};
use weir_result::{Document, FailurePhase, Load, SuccessRule, errno, units};

use super::head::counted;
use super::page::{INDENT, Page, Span, Style, label};
use super::{TextOptions, usage};

pub(super) fn write(document: &Document, options: &TextOptions, page: &mut Page) {
    let verbose = options.verbose;
    page.gap();
    let accounting = &document.accounting;
    if verbose || document.failed() > 0 {
        conservation(accounting, page);
    }
    status_codes(accounting, document.plan.success, page);
    errors(accounting, page);
    connections(document, verbose, page);
    connects(document, page);
    destinations(&document.connections.destinations, page);
    if verbose && let Some(handshakes) = &document.latency.tls_handshake {
        tls(&handshakes.ok, page);
    }
    usage::write(document, verbose, page);
    notes(document, options.verdict, page);
}

/// Failure classes with a count above 0, under their names in reports.
pub(super) fn failures(accounting: &Accounting) -> Vec<(&'static str, u64)> {
    let classes = [
        ("bad responses", accounting.bad_response),
        ("errors", accounting.transport_error),
        ("timed out", accounting.timed_out),
        ("in flight", accounting.in_flight_at_end),
        ("never sent", accounting.never_sent),
    ];
    classes.into_iter().filter(|(_, count)| *count > 0).collect()
}

/// Writes `10 planned = 9 ok + 1 timed out`: every class with a count above 0. Further lines
/// continue under the equals sign.
fn conservation(accounting: &Accounting, page: &mut Page) {
    let planned = format!("{} planned ", units::count(accounting.planned));
    let indent = INDENT + planned.len();
    let label = label(&format!("{:<1$}", "Requests", INDENT - 2));
    let mut line = vec![label, Span::plain(planned)];
    let mut used = indent;
    let terms = std::iter::once(("ok", accounting.ok)).chain(failures(accounting));
    for (index, (name, count)) in terms.enumerate() {
        let sign = if index == 0 { "= " } else { "+ " };
        let style = if index > 0 { Style::Red } else { Style::Plain };
        let term = Span::new(format!("{} {name}", units::count(count)), style);
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

fn status_codes(accounting: &Accounting, success: SuccessRule, page: &mut Page) {
    let item = |(code, count): (&u16, &u64)| {
        let style = if success.accepts(*code) { Style::Plain } else { Style::Red };
        Span::new(format!("{code}: {}", units::count(*count)), style)
    };
    let codes: Vec<Span> = accounting.status.iter().map(item).collect();
    if !codes.is_empty() {
        page.items(label("Status codes"), INDENT, codes);
    }
}

fn errors(accounting: &Accounting, page: &mut Page) {
    let mut errors = Vec::new();
    if accounting.timed_out > 0 {
        errors.push(Span::error("timed out", accounting.timed_out));
    }
    errors.extend(accounting.errors.iter().map(|(kind, n)| Span::error(&kind_in_words(kind), *n)));
    if !errors.is_empty() {
        page.items(label("Errors"), INDENT, errors);
    }
}

/// Formats a kind of error: `closed before response`, `ECONNRESET (connection reset by peer)`.
fn kind_in_words(kind: &str) -> String {
    match errno::text_of_name(kind) {
        Some(text) => format!("{kind} ({text})"),
        None => kind.replace('_', " ").replace("answer", "response"),
    }
}

fn connections(document: &Document, verbose: bool, page: &mut Page) {
    let connections = &document.connections;
    let (asked, open) = (connections.asked, connections.open_at_t0);
    let of_phase = |phase| {
        let failed: Vec<String> = connections
            .failures
            .iter()
            .filter(|failure| failure.phase == phase)
            .map(failure_in_words)
            .collect();
        failed.join(", ")
    };
    let mut sentences = Vec::new();
    let mut failed = |text| sentences.push(Span::new(text, Style::Red));
    let connecting = of_phase(FailurePhase::Connect);
    let (asked_text, open_text) = (units::count(asked), units::count(open));
    // While connections are renewed, some of them are not open.
    let are_renewed = connections.renewed > 0 || connections.closed_by_peer > 0;
    match (open < asked, connecting.is_empty()) {
        (true, true) if are_renewed => {}
        (true, true) => failed(format!("{open_text} of {asked_text} open")),
        (true, false) => failed(format!("{open_text} of {asked_text} open: {connecting}")),
        (false, false) => failed(format!("failed to connect: {connecting}")),
        (false, true) => {}
    }
    for (phase, words) in [(FailurePhase::InUse, "in use"), (FailurePhase::Idle, "idle")] {
        let kinds = of_phase(phase);
        if !kinds.is_empty() {
            failed(format!("failed {words}: {kinds}"));
        }
    }
    if sentences.is_empty() && verbose {
        sentences.push(Span::plain(format!("{open_text} open")));
    }
    if let Some(rate) = document.plan.connection.rate {
        let (span, rate) = (units::duration(connections.setup_ns), units::exact_rate(rate));
        sentences.push(Span::plain(format!("opened at {rate}, all within {span}")));
    }
    let connects = units::count(connections.connects_of_load());
    if connections.renewed > 0 {
        let renewed = units::count(connections.renewed);
        sentences.push(Span::plain(format!("renewed as planned: {renewed} of {connects}")));
    }
    if connections.closed_by_peer > 0 {
        let closed = units::count(connections.closed_by_peer);
        sentences.push(Span::plain(format!("closed by the server: {closed} of {connects}")));
    }
    let mut label_once = Some(label("Connections"));
    for sentence in sentences {
        let start = label_once.take().unwrap_or(Span::plain(""));
        page.paragraph(start, INDENT, &sentence);
    }
}

/// Writes connections per second and their connect times, if any were opened in the window.
fn connects(document: &Document, page: &mut Page) {
    let latency = &document.latency;
    let Some(in_window) = &latency.connect_window else { return };
    let rate = units::round_rate(document.connections.connects_per_second);
    let mut items = vec![Span::plain(rate)];
    items.extend(times(&in_window.ok));
    page.items(label("Connects"), INDENT, items);
    if let Some(setup) = &latency.connect_setup {
        let mut items = vec![Span::plain("before the load")];
        items.extend(times(&setup.ok));
        page.items(Span::plain(""), INDENT, items);
    }
}

/// Items `p50 85 µs`, `p99 310 µs` and `max 1.2 ms`, as far as there are values.
fn times(summary: &Summary) -> Vec<Span> {
    let percentiles = [50.0, 99.0].into_iter().filter_map(|p| summary.percentile(p));
    let mut items: Vec<Span> = percentiles
        .map(|value| Span::plain(format!("p{} {}", value.p, units::duration(value.ns))))
        .collect();
    items.extend(summary.max_ns.map(|ns| Span::plain(format!("max {}", units::duration(ns)))));
    items
}

/// Writes the outcomes of each destination's share.
fn destinations(destinations: &[DestinationSection], page: &mut Page) {
    let mut label_once = Some(label("Destinations"));
    for share in destinations {
        let mut items = vec![
            Span::plain(&share.address),
            Span::plain(counted(share.connects, "connect")),
            Span::plain(format!("ok: {}", units::count(share.ok))),
        ];
        let failures = [
            ("bad responses", share.bad_response),
            ("errors", share.transport_error),
            ("timed out", share.timed_out),
            ("in flight", share.in_flight_at_end),
            ("failed to connect", share.connects_failed),
        ];
        items.extend(
            failures.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| Span::error(name, n)),
        );
        page.items(label_once.take().unwrap_or(Span::plain("")), INDENT, items);
    }
}

/// Formats a failure: `EMFILE (too many open files) 5,913`.
fn failure_in_words(failure: &ConnectionFailure) -> String {
    let count = units::count(failure.count);
    // An error without a usual name is its number, which its text includes.
    match failure.errno.as_ref().filter(|name| name.starts_with('E')) {
        Some(name) => format!("{name} ({}) {count}", failure.text),
        None => format!("{} {count}", failure.text),
    }
}

/// Writes durations of TLS handshakes.
fn tls(handshakes: &Summary, page: &mut Page) {
    let mut items = vec![Span::plain(counted(handshakes.count, "handshake"))];
    items.extend(times(handshakes));
    page.items(label("TLS"), INDENT, items);
}

fn notes(document: &Document, verdict: bool, page: &mut Page) {
    let mut notes: Vec<String> = document.notes.iter().map(|note| note.text.clone()).collect();
    // `shared-host` is not part of the grade: it is printed without a verdict too.
    let mut rules = document.verdict.rules.iter();
    notes.extend(rules.find(|rule| rule.id == "shared-host").map(|rule| rule.text.clone()));
    if document.plan.load == Load::ClosedLoop && document.answered() > 0 {
        let text = "closed loop: latencies leave out the time a slow server delays sends";
        notes.push(text.to_owned());
    }
    let unknown = document.verdict.not_judged();
    if verdict && !unknown.is_empty() {
        notes.push(format!("not judged for lack of data: {}", unknown.join(", ")));
    }
    for note in notes {
        page.paragraph(Span::new("  note: ", Style::Dim), 8, &Span::new(note, Style::Dim));
    }
}
