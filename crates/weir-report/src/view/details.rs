//! The details below the latencies: requests, status codes, errors, connections, notes.

use weir_result::document::{DestinationSection, Results};
use weir_result::{Document, OutcomePart, Outcomes, StampChoice, errno};
use weir_text::units;

use super::{Block, Detail, Fact, Form, Line, Tone, connections, expectations, server, tls, usage};

pub(super) fn blocks(document: &Document, detail: &Detail) -> Vec<Block> {
    let verbose = detail.verbose;
    let results = &document.results;
    let mut blocks = Vec::new();
    if verbose || results.failed() > 0 {
        blocks.push(conservation(results));
        blocks.extend(parts(&document.results.outcomes));
    }
    blocks.extend(grpc_statuses(document));
    blocks.extend(status_codes(document));
    blocks.extend(expectations::blocks(document));
    blocks.extend(errors(results));
    if verbose {
        blocks.extend(first_byte(document));
    }
    blocks.extend(connections::blocks(document, verbose));
    blocks.extend(destinations(&document.connections.destinations));
    blocks.extend(tls::blocks(document, verbose));
    blocks.extend(other_origins(document, verbose));
    blocks.extend(unsent_lines(document));
    blocks.extend(openings(document).filter(|_| verbose));
    blocks.extend(server::blocks(document));
    blocks.extend(usage::blocks(document, verbose));
    blocks.extend(notes(document, detail.verdict).into_iter().map(Block::Note));
    blocks
}

/// Failure classes with a count above 0, under their names in reports.
pub(super) fn failures(results: &Results) -> Vec<(String, u64)> {
    failed_classes(&results.outcomes).filter(|(_, count)| *count > 0).collect()
}

/// Failure classes under their names in reports.
fn failed_classes(outcomes: &Outcomes) -> impl Iterator<Item = (String, u64)> + use<> {
    let failed = outcomes.classes().into_iter().skip(1);
    failed.map(|(class, count)| (words(class), count))
}

/// Returns the name of a class in reports.
fn words(class: &str) -> String {
    match class {
        "bad_response" => "bad responses".to_owned(),
        "transport_error" => "errors".to_owned(),
        "in_flight_at_end" => "in flight".to_owned(),
        class => class.replace('_', " "),
    }
}

/// Formats `10 planned = 9 ok + 1 timed out`: every class with a count above 0.
fn conservation(results: &Results) -> Block {
    let class = |count, name: &str| Fact::named(&units::count(count), name);
    let mut facts = vec![class(results.planned, "planned"), class(results.outcomes.ok, "ok")];
    let failed = failures(results).into_iter();
    facts.extend(failed.map(|(name, count)| class(count, &name).toned(Tone::Bad)));
    Block::entry("Requests", vec![Line { form: Form::Sum, facts }])
}

/// Parts of the classes with a count above 0.
fn parts(outcomes: &Outcomes) -> impl Iterator<Item = Block> {
    let block = |part: &OutcomePart| {
        let count = units::count(outcomes.part(*part));
        let whole = units::count(outcomes.of(part.whole()));
        let text = format!("{count} of {whole} {}: {}", words(part.whole().name()), part.words());
        let title = part.name()[..1].to_uppercase() + &part.name()[1..];
        Block::facts(&title, vec![Fact::text(text).toned(Tone::Bad)])
    };
    let parts = OutcomePart::ALL.iter().filter(|part| outcomes.part(**part) > 0);
    parts.map(block)
}

/// Status codes. With expectations, a code alone is neither good nor bad.
fn status_codes(document: &Document) -> Option<Block> {
    let results = &document.results;
    let plan = &document.plan;
    let fact = |(code, count): (&u16, &u64)| {
        let is_plain = plan.expect.is_some() || plan.success.accepts(*code);
        let tone = if is_plain { Tone::Plain } else { Tone::Bad };
        Fact::error(&code.to_string(), *count).toned(tone)
    };
    let codes: Vec<Fact> = results.status.iter().map(fact).collect();
    (!codes.is_empty()).then(|| Block::facts("Status codes", codes))
}

/// Statuses of calls of gRPC, OK first. With expectations of others none is good or bad by itself.
fn grpc_statuses(document: &Document) -> Option<Block> {
    let mut counts: Vec<(&String, &u64)> = document.results.grpc_status.iter().collect();
    counts.sort_by_key(|(name, _)| *name != "OK");
    let expects_ok = document.plan.expect.as_ref().is_none_or(|expect| {
        let is_of_ok = |text: &String| matches!(text.as_str(), "grpc-status=0" | "grpc-status=OK");
        expect.rows == 0 && expect.all.iter().any(is_of_ok)
    });
    let fact = |(name, count): (&String, &u64)| {
        let is_plain = name == "OK" || !expects_ok;
        Fact::error(name, *count).toned(if is_plain { Tone::Plain } else { Tone::Bad })
    };
    let facts: Vec<Fact> = counts.into_iter().map(fact).collect();
    (!facts.is_empty()).then(|| Block::facts("gRPC status", facts))
}

/// Errors by kind: `closed before response`, `ECONNRESET (connection reset by peer)`.
fn errors(results: &Results) -> Option<Block> {
    let mut errors: Vec<Fact> = Fact::errors([("timed out", results.outcomes.timed_out)]).collect();
    errors.extend(results.errors.iter().map(|(kind, count)| match errno::text_of_name(kind) {
        Some(text) => Fact::error(&format!("{kind} ({text})"), *count),
        None => Fact::error(&kind.replace('_', " ").replace("answer", "response"), *count),
    }));
    (!errors.is_empty()).then(|| Block::facts("Errors", errors))
}

/// Outcomes of each destination's share.
fn destinations(destinations: &[DestinationSection]) -> Option<Block> {
    let line = |share: &DestinationSection| {
        let mut facts = vec![
            Fact::text(&share.address),
            Fact::counted(share.connects, "connect"),
            Fact::error("ok", share.outcomes.ok).toned(Tone::Plain),
        ];
        let failed = failed_classes(&share.outcomes);
        let failed = failed.chain([("failed to connect".to_owned(), share.connects_failed)]);
        facts.extend(Fact::errors(failed));
        Line::facts(facts)
    };
    let lines: Vec<Line> = destinations.iter().map(line).collect();
    (!lines.is_empty()).then(|| Block::entry("Destinations", lines))
}

/// Greatest number of origins in a report that is not verbose.
const ORIGINS_MAX: usize = 5;

/// Greatest number of methods in a report.
const METHODS_MAX: usize = 8;

/// Requests of the list that were left out, by origin.
fn other_origins(document: &Document, verbose: bool) -> Option<Block> {
    let origins = &document.plan.list.as_ref()?.other_origins;
    let shown = if verbose { origins.len() } else { ORIGINS_MAX };
    let fact = |(origin, rows): (&String, &u64)| {
        let requests = Fact::counted(*rows, "request").text;
        Fact::text(format!("{requests} to {origin}"))
    };
    let mut facts: Vec<Fact> = origins.iter().take(shown).map(fact).collect();
    if let Some(more) = origins.len().checked_sub(shown).filter(|more| *more > 0) {
        facts.push(Fact::counted(more as u64, "more origin").toned(Tone::Aside));
    }
    (!facts.is_empty()).then(|| Block::facts("Left out", facts))
}

/// Lines of a replayed log that were left out: by method, and those without a request.
fn unsent_lines(document: &Document) -> Option<Block> {
    let replay = document.plan.load.log()?;
    let of_method =
        |(method, count): (&String, &u64)| Fact::counted(*count, &format!("{method} request"));
    let mut facts: Vec<Fact> = replay.left_out.iter().take(METHODS_MAX).map(of_method).collect();
    let more: u64 = replay.left_out.values().skip(METHODS_MAX).sum();
    facts.extend((more > 0).then(|| Fact::counted(more, "request").then(" with other methods")));
    if replay.without_request > 0 {
        facts.push(Fact::counted(replay.without_request, "line").then(" without a request"));
    }
    (!facts.is_empty()).then(|| Block::facts("Left out", facts))
}

/// Times to the first byte, which the table of a closed loop has already.
fn first_byte(document: &Document) -> Option<Block> {
    let summary = &document.latency.first_byte.ok;
    let is_wanted = document.plan.load.is_open_loop() && summary.count > 0;
    is_wanted.then(|| Block::facts("First byte", Fact::times(summary)))
}

/// Number and duration of HTTP/2's opening exchanges.
fn openings(document: &Document) -> Option<Block> {
    let openings = &document.latency.opening.as_ref()?.ok;
    let mut facts = vec![Fact::counted(openings.count, "opening")];
    facts.extend(Fact::times(openings));
    Some(Block::facts("HTTP/2", facts))
}

/// The load waited for responses, so that a slow server also slows the sends.
const CLOSED_LOOP: &str = "closed loop: latencies leave out the time a slow server delays sends";

/// Kernel time stamps were not requested, because streams share connections.
const SHARED_STAMPS: &str = "client overhead after arrival is unknown: streams share their \
                             connection's kernel timestamps; use one stream per connection";

/// Notes that the run attached to the document, and those that follow from it.
fn notes(document: &Document, verdict: bool) -> Vec<String> {
    let of_run = document.notes.iter().map(|note| &note.text);
    // `shared-host` is not part of the grade: it is printed without a verdict too.
    let shared_host = document.verdict.rules.iter().find(|rule| rule.id == "shared-host");
    let texts = of_run.chain(shared_host.map(|rule| &rule.text));
    let mut notes: Vec<String> = texts.cloned().collect();
    if !document.plan.load.is_open_loop() && document.results.responses() > 0 {
        notes.push(CLOSED_LOOP.to_owned());
    }
    let has_streams = document.occupancy.is_some_and(|occupancy| occupancy.capacity_ns > 0);
    let is_stampless = document.stamps.is_none() && document.plan.stamps != StampChoice::None;
    if verdict && has_streams && is_stampless {
        notes.push(SHARED_STAMPS.to_owned());
    }
    let unknown = document.verdict.not_judged();
    if verdict && !unknown.is_empty() {
        notes.push(format!("not judged for lack of data: {}", unknown.join(", ")));
    }
    notes
}
