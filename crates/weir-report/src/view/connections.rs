//! Connections: failed and renewed ones, and how long connects took.

use weir_result::document::{ConnectionFailure, ConnectionsSection, Summary};
use weir_result::{ConnectionEnd, Document, FailurePhase};
use weir_text::units;

use super::{Block, Fact, Line, Tone};

pub(super) fn blocks(document: &Document, verbose: bool) -> Vec<Block> {
    let connections = &document.connections;
    let mut facts = failures(connections);
    facts.extend(held(document));
    if facts.is_empty() && verbose {
        facts.push(Fact::named(&units::count(connections.open_at_t0), "open"));
    }
    facts.extend(growth(document));
    if let Some(rate) = document.plan.connection.rate {
        let span = units::duration(connections.setup_ns);
        let rate = rate.to_string();
        facts.push(Fact::text(format!("opened at {rate}, all within {span}")));
    }
    let all = units::count(connections.connects_of_load());
    let mut some = |words: &str, count: u64| {
        if count > 0 {
            facts.push(Fact::text(format!("{words}: {} of {all}", units::count(count))));
        }
    };
    some("renewed as planned", connections.renewed);
    some("closed by the server", connections.closed_by_peer);
    if connections.joined + connections.left > 0 {
        let [joined, left] = [connections.joined, connections.left].map(units::count);
        facts.push(Fact::text(format!("as planned {joined} came and {left} left")));
    }
    if connections.without_streams > 0 {
        let without = units::count(connections.without_streams);
        let text = format!("without streams (MAX_CONCURRENT_STREAMS 0): {without} of {all}");
        facts.push(Fact::text(text).toned(Tone::Bad));
    }
    facts.extend(document.allowed_streams_in_words().map(Fact::text));
    let returned = document.accounting.sent.returned;
    if returned > 0 {
        let requests = Fact::counted(returned, "request");
        let again = match document.accounting.sent.resent {
            resent if resent == returned => "and sent again".to_owned(),
            resent => format!("{} sent again", units::count(resent)),
        };
        facts.push(requests.then(&format!(" returned unprocessed by the server, {again}")));
    }
    facts.extend(compressed(document));
    facts.extend(goaways(document));
    facts.extend(window_waits(connections));
    let mut blocks = Vec::new();
    if !facts.is_empty() {
        let lines = facts.into_iter().map(Line::sentence).collect();
        blocks.push(Block::entry("Connections", lines));
    }
    blocks.extend(pushed(document));
    blocks.extend(connects(document, verbose));
    blocks
}

/// Messages that the servers of WebSocket connections sent by themselves: all of them, and the rate
/// and times of those in the window.
fn pushed(document: &Document) -> Option<Block> {
    let connections = &document.connections;
    let bytes = units::bytes(connections.pushed_bytes);
    let mut facts = vec![Fact::counted(connections.pushed, "message"), Fact::text(bytes)];
    if let Some(gap) = &document.latency.push_gap {
        let rate = connections.pushed_in_window as f64 / document.throughput.window_s;
        facts.push(Fact::text(units::rate(rate)));
        facts.extend(Fact::times(&gap.ok).into_iter().map(|time| Fact::named("gap", time.text)));
    }
    (connections.pushed > 0).then(|| Block::facts("Pushed", facts))
}

/// Connections of WebSocket that are only held, and those that the server ended.
fn held(document: &Document) -> Option<Fact> {
    document.plan.is_idle().then_some(())?;
    let connections = &document.connections;
    let [open, requested, lost] =
        [connections.open_at_t0, connections.requested, connections.lost()].map(units::count);
    Some(Fact::text(format!("held open: {open} of {requested}, {lost} lost")))
}

/// Connections of WebSocket whose messages are compressed, if that was offered.
fn compressed(document: &Document) -> Option<Fact> {
    document.plan.websocket()?.deflate.then_some(())?;
    let deflated = document.connections.deflated;
    let all = document.connections.connects_of_load();
    let tone = if deflated < all { Tone::Bad } else { Tone::Plain };
    let [deflated, all] = [deflated, all].map(units::count);
    Some(Fact::text(format!("compressed (permessage-deflate): {deflated} of {all}")).toned(tone))
}

/// Growth of the number of connections, if it is not fixed.
fn growth(document: &Document) -> Option<Fact> {
    document.plan.load.connections.grows_to()?;
    let ConnectionsSection { requested, open_at_end, grown, .. } = &document.connections;
    let [first, last, grown, most] =
        [*requested, *open_at_end, *grown, document.covered_connections_max().into()]
            .map(units::count);
    let text = format!("{first} at the start, {last} at the end (limit: {most})");
    Some(Fact::text(format!("{text}, {grown} opened during the load")))
}

/// Most reasons that are named.
const REASONS_MAX: usize = 5;

/// Reasons for which the server announced the end of connections.
fn goaways(document: &Document) -> Option<Fact> {
    let connections = &document.connections;
    let reason = |(name, count): (&String, &u64)| format!("{name} {}", units::count(*count));
    let mut counts: Vec<(&String, &u64)> = connections.goaways.iter().collect();
    let others = match counts.len().saturating_sub(REASONS_MAX) {
        0 => 0,
        _ => {
            counts.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
            counts.split_off(REASONS_MAX).into_iter().map(|(_, count)| count).sum()
        }
    };
    let mut reasons: Vec<String> = counts.into_iter().map(reason).collect();
    reasons.extend((others > 0).then(|| format!("for other reasons {}", units::count(others))));
    let is_error = connections.goaways.keys().any(|name| !ConnectionEnd::is_planned(name));
    let frame = document.plan.connection_end().frame;
    let all = units::count(connections.connects_of_load());
    let text = format!("ended by the server ({frame}): {} of {all}", reasons.join(", "));
    let tone = if is_error { Tone::Bad } else { Tone::Plain };
    (!reasons.is_empty()).then(|| Fact::text(text).toned(tone))
}

/// Waits of uploads for the server's flow-control windows.
fn window_waits(connections: &ConnectionsSection) -> Option<Fact> {
    let waits = connections.window_waits;
    let each = units::duration(connections.window_wait_ns.checked_div(waits)?);
    let times = units::count(waits);
    Some(Fact::text(format!("uploads waited for the server's windows: {times}, {each} on average")))
}

/// Connections that failed or are missing.
fn failures(connections: &ConnectionsSection) -> Vec<Fact> {
    let requested = connections.requested;
    let open = connections.open_at_t0;
    let of_phase = |phase| {
        let failed: Vec<String> = connections
            .failures
            .iter()
            .filter(|failure| failure.phase == phase)
            .map(failure_in_words)
            .collect();
        failed.join(", ")
    };
    let mut failed = Vec::new();
    let connecting = of_phase(FailurePhase::Connect);
    let requested_text = units::count(requested);
    let open_text = units::count(open);
    match (open < requested, connecting.is_empty()) {
        (true, true) if connections.were_renewed() => {}
        (true, true) => failed.push(format!("{open_text} of {requested_text} open")),
        (true, false) => failed.push(format!("{open_text} of {requested_text} open: {connecting}")),
        (false, false) => failed.push(format!("failed to connect: {connecting}")),
        (false, true) => {}
    }
    for (phase, words) in [(FailurePhase::InUse, "in use"), (FailurePhase::Idle, "idle")] {
        let kinds = of_phase(phase);
        if !kinds.is_empty() {
            failed.push(format!("failed {words}: {kinds}"));
        }
    }
    failed.into_iter().map(|text| Fact::text(text).toned(Tone::Bad)).collect()
}

/// Connects per second and their times, if any were opened in the window; in a verbose report the
/// times of all connects if not.
fn connects(document: &Document, verbose: bool) -> Option<Block> {
    let latency = &document.latency;
    let with_times = |first: Fact, summary: &Summary| {
        let mut facts = vec![first];
        facts.extend(Fact::times(summary));
        Line::facts(facts)
    };
    let mut lines = Vec::new();
    if let Some(in_window) = &latency.connect_window {
        let rate = Fact::text(units::round_rate(document.connections.connects_per_second));
        lines.push(with_times(rate, &in_window.ok));
        let setup = latency.connect_setup.as_ref();
        lines.extend(setup.map(|setup| with_times(Fact::text("before the load"), &setup.ok)));
    } else if verbose && latency.connect.ok.count > 0 {
        let connects = &latency.connect.ok;
        lines.push(with_times(Fact::counted(connects.count, "connect"), connects));
    }
    if let Some(grown) = &latency.connect_grown {
        lines.push(with_times(Fact::text("when none was free"), &grown.ok));
    }
    (!lines.is_empty()).then(|| Block::entry("Connects", lines))
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
