//! What came back, what went wrong and why, and what a reader should know.

use weir_run::document::{
    ConnectionFailure, DestinationSection, Phases, ScriptSection, Summary, Verdict,
};
use weir_run::{Document, FailurePhase, Load, Wait, WorkerUsage, errno, units};

use super::TextOptions;
use super::head::counted;
use super::page::{Page, Span, Style};

/// Where the details begin, after their labels.
const INDENT: usize = 15;

pub(super) fn write(document: &Document, options: &TextOptions, page: &mut Page) {
    let verbose = options.verbose;
    page.gap();
    if options.verdict {
        limit(&document.verdict, page);
    }
    let accounting = &document.accounting;
    let status: Vec<Span> = accounting
        .status
        .iter()
        .map(|(code, count)| {
            let style = if *code < 400 { Style::Plain } else { Style::Red };
            Span::new(format!("{code}: {}", units::count(*count)), style)
        })
        .collect();
    if !status.is_empty() {
        page.items(label("status"), INDENT, status);
    }
    let mut errors = Vec::new();
    if accounting.timed_out > 0 {
        errors.push(error("timed out", accounting.timed_out));
    }
    errors.extend(accounting.errors.iter().map(|(kind, n)| error(&kind_in_words(kind), *n)));
    if !errors.is_empty() {
        page.items(label("errors"), INDENT, errors);
    }
    connections(document, verbose, page);
    destinations(&document.connections.destinations, page);
    if verbose && let Some(handshakes) = &document.latency.tls_handshake {
        tls(&handshakes.ok, page);
    }
    if let Some(script) = &document.script {
        script_usage(script, load_time_ns(&document.phases), page);
    }
    if verbose {
        client(document, page);
        machine(document, page);
        document.phases.iter().for_each(|phases| worker(phases, page));
    }
    notes(document, options.verdict, page);
}

fn label(text: &str) -> Span {
    Span::new(format!("  {text}"), Style::Dim)
}

fn error(kind: &str, count: u64) -> Span {
    Span::new(format!("{kind}: {}", units::count(count)), Style::Red)
}

/// `closed before answer`, `ECONNRESET (connection reset by peer)`.
fn kind_in_words(kind: &str) -> String {
    match errno::text_of_name(kind) {
        Some(text) => format!("{kind} ({text})"),
        None => kind.replace('_', " "),
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
    // At any time some of those that are renewed are not up.
    let are_renewed = connections.renewed > 0 || connections.closed_by_peer > 0;
    match (open < asked, connecting.is_empty()) {
        (true, true) if are_renewed => {}
        (true, true) => failed(format!("asked {asked_text}, open {open_text}")),
        (true, false) => failed(format!("asked {asked_text}, open {open_text}: {connecting}")),
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
        sentences.push(Span::plain(format!("opened at {rate}, all in {span}")));
    }
    if connections.renewed > 0 {
        let renewed = units::count(connections.renewed);
        let connects = units::count(connections.connects);
        sentences.push(Span::plain(format!("renewed by plan: {renewed} of {connects} connects")));
    }
    if connections.closed_by_peer > 0 {
        let closed = units::count(connections.closed_by_peer);
        let connects = units::count(connections.connects);
        let text = format!("closed by the peer: {closed} of {connects} connects");
        sentences.push(Span::plain(text));
    }
    let mut label_once = Some(label("connections"));
    for sentence in sentences {
        let start = label_once.take().unwrap_or(Span::plain(""));
        page.paragraph(start, INDENT, &sentence);
    }
}

/// What became of each destination's share.
fn destinations(destinations: &[DestinationSection], page: &mut Page) {
    let mut label_once = Some(label("to"));
    for share in destinations {
        let mut items = vec![
            Span::plain(&share.address),
            Span::plain(counted(share.connects, "connect")),
            Span::plain(format!("ok {}", units::count(share.ok))),
        ];
        let failures = [
            ("bad", share.bad_response),
            ("errors", share.transport_error),
            ("timed out", share.timed_out),
            ("in flight", share.in_flight_at_end),
            ("failed to connect", share.connects_failed),
        ];
        items.extend(failures.into_iter().filter(|(_, n)| *n > 0).map(|(name, n)| error(name, n)));
        page.items(label_once.take().unwrap_or(Span::plain("")), INDENT, items);
    }
}

/// `EMFILE (too many open files) 5,913`.
fn failure_in_words(failure: &ConnectionFailure) -> String {
    let count = units::count(failure.count);
    // An error without a usual name is its number, which the words tell as well.
    match failure.errno.as_ref().filter(|name| name.starts_with('E')) {
        Some(name) => format!("{name} ({}) {count}", failure.text),
        None => format!("{} {count}", failure.text),
    }
}

/// How long TLS handshakes took.
fn tls(handshakes: &Summary, page: &mut Page) {
    let mut items = vec![Span::plain(counted(handshakes.count, "handshake"))];
    let percentiles = [50.0, 99.0].into_iter().filter_map(|p| handshakes.percentile(p));
    items.extend(
        percentiles.map(|value| Span::plain(format!("p{} {}", value.p, units::duration(value.ns)))),
    );
    items.extend(handshakes.max_ns.map(|ns| Span::plain(format!("max {}", units::duration(ns)))));
    page.items(label("TLS"), INDENT, items);
}

/// What the script took, callback by callback; a share is one of the time in which the workers'
/// load ran.
fn script_usage(script: &ScriptSection, load_time_ns: u64, page: &mut Page) {
    let mut items: Vec<Span> = script.file.iter().map(Span::plain).collect();
    items.push(Span::plain(counted(script.states.into(), "state")));
    items.push(Span::plain(format!("up to {} each", units::bytes(script.memory_max_bytes))));
    if script.ran_dry > 0 {
        items.push(error("not ready in time", script.ran_dry));
    }
    if script.bodies_cut > 0 {
        items.push(error("bodies cut", script.bodies_cut));
    }
    page.items(label("script"), INDENT, items);
    for (callback, usage) in &script.callbacks {
        let Some(mean_ns) = usage.time_ns.checked_div(usage.calls) else {
            continue;
        };
        let mut items = vec![
            Span::plain(format!("{}() {}", callback.name(), counted(usage.calls, "call"))),
            Span::plain(format!("mean {}", units::duration(mean_ns))),
            Span::plain(format!("max {}", units::duration(usage.longest_ns))),
        ];
        if load_time_ns > 0 {
            let share = units::percent(usage.time_ns as f64 / load_time_ns as f64);
            items.push(Span::plain(format!("{share} of time")));
        }
        page.items(Span::plain(""), INDENT, items);
    }
}

/// The time in which the load ran, warm-up and tail included, summed over the workers.
fn load_time_ns(phases: &[Phases]) -> u64 {
    let spans = phases.iter().map(|phases| phases.tail_end_ns.saturating_sub(phases.start_ns));
    spans.fold(0, u64::saturating_add)
}

/// Who was the limit, and how much of the times is weir's own.
fn limit(verdict: &Verdict, page: &mut Page) {
    if !verdict.limit.text.is_empty() {
        page.paragraph(label("limit"), INDENT, &Span::plain(&verdict.limit.text));
    }
    let mut items: Vec<Span> = verdict
        .attribution
        .iter()
        .map(|of| {
            let (client, all) = (units::duration(of.client_ns), units::duration(of.ns));
            Span::plain(format!("{client} of p{} {all}", of.p))
        })
        .collect();
    if items.is_empty() {
        return;
    }
    if verdict.attribution.iter().all(|of| of.is_partial) {
        items.push(Span::new("(before the send)", Style::Dim));
    }
    page.items(label("weir's part"), INDENT, items);
}

/// What the run took of its own machine.
fn client(document: &Document, page: &mut Page) {
    let usage = &document.run.client;
    let cpu_ns = usage.cpu_user_ns.saturating_add(usage.cpu_system_ns);
    let mut items = Vec::new();
    if cpu_ns > 0 {
        items.push(Span::plain(format!("CPU time {}", units::duration(cpu_ns))));
        items.push(Span::plain(format!("user {}", units::duration(usage.cpu_user_ns))));
        items.push(Span::plain(format!("resident {}", units::bytes(usage.max_resident_bytes))));
    }
    let sum = |of: fn(&WorkerUsage) -> u64| document.phases.iter().map(|p| of(&p.usage)).sum();
    let (wakes, events): (u64, u64) = (sum(|usage| usage.wakes), sum(|usage| usage.events));
    if wakes > 0 {
        let each = events as f64 / wakes as f64;
        items.push(Span::plain(format!("{each:.1} events each time it woke{}", wait(document))));
    }
    if !items.is_empty() {
        page.items(label("client"), INDENT, items);
    }
}

/// How answers were awaited, where the user has chosen.
fn wait(document: &Document) -> &'static str {
    match document.plan.wait {
        Wait::Auto => "",
        Wait::Latency => " (--wait latency)",
        Wait::Throughput => " (--wait throughput)",
        Wait::Spin => " (--wait spin)",
    }
}

/// CPU time of a worker as a share of its life.
fn busy_share(phases: &Phases) -> f64 {
    let life_ns = phases.drained_ns.saturating_sub(phases.connect_ns);
    if life_ns == 0 { 0.0 } else { phases.cpu_time_ns as f64 / life_ns as f64 }
}

fn machine(document: &Document, page: &mut Page) {
    let environment = &document.environment;
    let mut items: Vec<Span> = Vec::new();
    let texts = [&environment.os, &environment.kernel, &environment.cpu_model];
    items.extend(texts.into_iter().flatten().map(Span::plain));
    items.extend(environment.cpus_usable.map(|n| Span::plain(counted(n.into(), "CPU"))));
    let named = [
        ("governor", &environment.cpu_governor),
        ("clock", &environment.clock_source),
        ("congestion control", &environment.congestion_control),
    ];
    for (name, value) in named {
        items.extend(value.as_ref().map(|value| Span::plain(format!("{name} {value}"))));
    }
    if !items.is_empty() {
        page.items(label("machine"), INDENT, items);
    }
}

fn worker(phases: &Phases, page: &mut Page) {
    let span = |from: u64, to: u64| units::duration(to.saturating_sub(from));
    let mut items = vec![
        Span::plain(counted(phases.connections.into(), "connection")),
        Span::plain(format!("up in {}", span(phases.connect_ns, phases.connected_ns))),
        Span::plain(format!("window {}", span(phases.t0_ns, phases.t1_ns))),
        Span::plain(format!("tail {}", span(phases.t1_ns, phases.tail_end_ns))),
        Span::plain(format!("busy {}", units::percent(busy_share(phases)))),
    ];
    items.extend(phases.cpu.map(|cpu| Span::plain(format!("CPU {cpu}"))));
    page.items(label(&format!("worker {}", phases.worker)), INDENT, items);
}

fn notes(document: &Document, verdict: bool, page: &mut Page) {
    let mut notes: Vec<String> = document.notes.iter().map(|note| note.text.clone()).collect();
    // Whoever measures a server beside it must know, whatever else is told.
    let mut rules = document.verdict.rules.iter();
    notes.extend(rules.find(|rule| verdict && rule.id == "C9").map(|rule| rule.text.clone()));
    if document.plan.load == Load::ClosedLoop && document.answered() > 0 {
        let text = "closed loop: requests that a slow server held back are in no latency";
        notes.push(text.to_owned());
    }
    for note in notes {
        page.paragraph(Span::new("  note: ", Style::Dim), 8, &Span::new(note, Style::Dim));
    }
}
