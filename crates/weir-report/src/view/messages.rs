//! Messages within responses: their rates, the table of their times, the client's share of these,
//! and the goodput.

use std::borrow::Cow;

use weir_result::Document;
use weir_result::document::{
    Latency, MessagesSection, Metric, PercentileValue, Range, ScopeMessages, ShareRange, Summary,
};
use weir_result::quantile::Bound;
use weir_text::units;

use super::message_figures::{SHORT, each, time};
use super::names::is_explained;
use super::percentiles::{self, PercentileColumn};
use super::throughput::margin;
use super::tokens;
use super::{Block, CellValue, Fact, Row, Table, TableKind, Tone};

/// Percentiles with a line of their own.
const LINES: [f64; 4] = [50.0, 90.0, 99.0, 99.9];

/// Builds the blocks; none if messages are not measured. `explained` has the explanations of marks
/// that precede them.
pub(super) fn blocks(document: &Document, explained: &[Block]) -> Vec<Block> {
    let Some(messages) = &document.messages else { return Vec::new() };
    let noun = noun(document);
    let mut blocks: Vec<Block> = tokens::rates(document, messages).into_iter().collect();
    let rates = rates(document, messages, blocks.is_empty());
    blocks.push(Block::facts(title(noun), rates));
    blocks.extend(parts(document));
    blocks.extend(goodput(document, messages));
    blocks.extend(table(document, explained));
    blocks.extend(client(messages));
    blocks.extend(tokens::by_prompt(messages));
    blocks.extend(by_name(document));
    blocks.extend(tokens::by_name(document));
    blocks.extend(by_stage(document));
    blocks
}

/// Returns the noun of a message: one with tokens is a chunk, which may hold several.
pub(super) fn noun(document: &Document) -> &'static str {
    if counts_tokens(document) { "chunk" } else { "message" }
}

/// True if only messages with tokens count.
pub(super) fn counts_tokens(document: &Document) -> bool {
    document.plan.messages.as_ref().is_some_and(|messages| !messages.tokens.is_empty())
}

/// Returns the titles of the times to the first message and between messages.
pub(super) fn titles(document: &Document) -> [&'static str; 2] {
    match counts_tokens(document) {
        true => ["first token (TTFT)", "gap (ITL)"],
        false => ["first message", "gap"],
    }
}

fn title(noun: &str) -> &'static str {
    if noun == "chunk" { "Chunks" } else { "Messages" }
}

/// The times to the first message of the reasoning and to that of the answer.
fn parts(document: &Document) -> Option<Block> {
    let Latency { first_reasoning, first_answer, .. } = &document.latency;
    let part = |name: &str, metric: &Option<Metric>| {
        let times = metric.as_ref()?.headline();
        let at = |p: f64| Some(format!("p{p} {}", units::duration(times.percentile(p)?.ns)));
        let figures: Vec<String> = SHORT.into_iter().filter_map(at).collect();
        let count = units::count(times.count);
        Some(Fact::text(format!("{name} {} of {count} responses", figures.join(", "))))
    };
    let parts = [part("reasoning", first_reasoning), part("answer", first_answer)];
    let parts: Vec<Fact> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| Block::facts("First of", parts))
}

/// The rate, the bytes, and the messages of a response: `800/s ± 0.7%, 26 kB/s, 20 per response`.
fn rates(document: &Document, messages: &MessagesSection, is_main: bool) -> Vec<Fact> {
    let Some(all) = &document.results.messages else { return Vec::new() };
    let noun = noun(document);
    let MessagesSection { measured, streams, per_response, .. } = messages;
    let ScopeMessages { per_second, interval, .. } = &**all;
    let rate = Fact::text(units::round_rate(*per_second) + &margin(*per_second, *interval));
    let mut facts = vec![
        if is_main { rate.toned(Tone::Main) } else { rate },
        Fact::text(units::byte_rate(all.bytes_per_second)),
    ];
    if let Some(each) = each(per_response) {
        facts.push(Fact::named(&each, "per response"));
    }
    let in_all =
        format!("{} in {} of the requests", units::count(*measured), units::count(*streams));
    let mean = messages.mean_gap.as_ref().and_then(|metric| metric.ok.percentile(50.0));
    facts.extend((*streams > 0).then(|| Fact::text(in_all)));
    let open = all.open;
    facts.extend((open > 0).then(|| {
        let noun = if open == 1 { "stream" } else { "streams" };
        Fact::text(format!("{} {noun} open at the end", units::count(open)))
    }));
    facts.extend(
        mean.map(|value| Fact::text(format!("{} per {noun} after the first", mean_time(value)))),
    );
    let kinds =
        [(messages.errors, "error"), (messages.others, "other event"), (all.end_marks, "end mark")];
    facts.extend(
        kinds.into_iter().filter(|(count, _)| *count > 0).map(|(n, noun)| Fact::counted(n, noun)),
    );
    let ends = [
        (all.unended, "without the end mark of others"),
        (messages.too_long, "above 64 KiB, not read"),
    ];
    let ends = ends.into_iter().filter(|(count, _)| *count > 0);
    facts.extend(ends.map(|(n, text)| Fact::text(format!("{} {text}", units::count(n)))));
    facts
}

/// Formats a mean gap, or the range that holds it.
fn mean_time(value: &PercentileValue) -> String {
    match value.range {
        None => units::duration(value.ns),
        Some(Range { low_ns, high_ns }) => {
            format!("{} to {}", units::duration(low_ns), units::duration(high_ns))
        }
    }
}

/// The share of the requests that met the goodput, and their rate.
fn goodput(document: &Document, messages: &MessagesSection) -> Option<Block> {
    let goodput = messages.goodput.as_ref()?;
    let rule = document.plan.messages.as_ref()?.goodput.as_ref()?;
    let rate = units::round_rate(goodput.per_second);
    let rate = match goodput.bound {
        Bound::Exact => rate + &margin(goodput.per_second, goodput.interval),
        Bound::Lower => format!("≥ {rate}"),
        Bound::Upper => format!("≤ {rate}"),
        Bound::Unknown => "unknown".to_owned(),
    };
    let share = match goodput.range {
        None => units::short_percent(goodput.share),
        Some(ShareRange { low, high }) => {
            format!("{} to {}", units::short_percent(low), units::short_percent(high))
        }
    };
    let mut facts = vec![
        Fact::text(rate).toned(Tone::Main),
        Fact::text(format!("{share} of the requests with {rule}")),
    ];
    facts.extend(goodput.range.map(|_| Fact::text("the client was late").toned(Tone::Caution)));
    Some(Block::facts("Goodput", facts))
}

/// The times to the first message and between messages, each with its interval.
fn table(document: &Document, explained: &[Block]) -> Option<Block> {
    let first = document.results.first_message();
    let first = first.filter(|metric| metric.headline().count > 0)?;
    let titles = titles(document);
    let mut columns = of_metric(titles[0], first);
    // If failures hide the usual percentiles, those of the requests with a message get a column.
    let mut listed = LINES.iter().filter_map(|p| first.headline().percentile(*p));
    let is_hidden = listed.any(|value| matches!(value.bound, Bound::Lower | Bound::Unknown));
    if is_hidden && first.ok.count > 0 {
        columns.insert(1, PercentileColumn::of("ok only", &first.ok, &LINES));
    }
    let gap = document.results.message_gap();
    columns.extend(gap.into_iter().flat_map(|gap| of_metric(titles[1], gap)));
    let row = |index: usize, label: String| {
        Row::new(label, columns.iter().map(|column| column.cells[index].clone()))
    };
    let labels = LINES.iter().map(|p| format!("p{p}"));
    let labels = labels.chain(["max".to_owned(), "mean".to_owned()]);
    let rows: Vec<Row> = labels.enumerate().map(|(index, label)| row(index, label)).collect();
    let titles = columns.iter().map(|column| column.title);
    let mut table = Table::new(TableKind::Latency, "Timing", titles, rows);
    let shown = [Some(first), gap].into_iter().flatten();
    let shown: Vec<_> = shown.map(|metric| ("", Cow::Borrowed(metric.headline()))).collect();
    table.legend = percentiles::legend(document, &shown, &LINES);
    table.legend.retain(|note| !is_explained(note, explained));
    Some(Block::Table(table))
}

fn of_metric(title: &'static str, metric: &Metric) -> Vec<PercentileColumn> {
    let summary = metric.headline();
    let mut columns = vec![PercentileColumn::of(title, summary, &LINES)];
    columns.extend(PercentileColumn::of_intervals(summary, &LINES));
    columns
}

/// The time that the client added, from kernel time stamps: to the first message and to gaps.
fn client(messages: &MessagesSection) -> Option<Block> {
    let stamps = messages.stamps.as_ref()?;
    let share = |p: f64| stamps.gap_share.ok.percentile(p).map(|value| value.ns);
    let of_gaps = share(99.0).or_else(|| share(100.0))?;
    let gaps = units::count(stamps.gap.ok.count);
    let of_gaps = format!("{} of a gap at p99, of {gaps} timestamped", units::duration(of_gaps));
    Some(Block::facts("Client share", vec![Fact::text(of_gaps)]))
}

/// A line of a table by name or by stage: messages per second, and the times to the first message
/// and between messages.
struct MessageLine<'d> {
    label: String,
    per_second: f64,
    first: &'d Summary,
    gap: Option<&'d Summary>,
}

/// The messages of each name of a list.
fn by_name(document: &Document) -> Option<Block> {
    let shares = document.names.iter().filter_map(|name| {
        let messages = name.results.messages.as_ref()?;
        Some(MessageLine {
            label: name.name.clone(),
            per_second: messages.per_second,
            first: messages.first.headline(),
            gap: messages.gap.as_ref().map(|gap| gap.headline()),
        })
    });
    let has_users = document.plan.users().is_some();
    let title = if has_users { "Messages by step" } else { "Messages by name" };
    of_shares(title, shares.collect())
}

/// The messages of each stage of the load.
fn by_stage(document: &Document) -> Option<Block> {
    let shares = document.stages.iter().enumerate().filter_map(|(index, stage)| {
        let messages = stage.results.messages.as_ref()?;
        Some(MessageLine {
            label: format!("{}: {}", index + 1, stage.load),
            per_second: messages.per_second,
            first: messages.first.headline(),
            gap: messages.gap.as_ref().map(Metric::headline),
        })
    });
    of_shares("Messages by stage", shares.collect())
}

fn of_shares(title: &'static str, shares: Vec<MessageLine<'_>>) -> Option<Block> {
    let titles = ["messages/s", "first p50", "first p99", "gap p50", "gap p99"];
    let row = |share: &MessageLine<'_>| {
        let rate = units::rate(share.per_second).trim_end_matches("/s").to_owned();
        let times = SHORT.map(|p| time(share.first, p));
        let gaps = SHORT.map(|p| share.gap.map_or_else(CellValue::default, |gap| time(gap, p)));
        let cells = [CellValue::from(rate)].into_iter().chain(times).chain(gaps);
        Row::new(&share.label, cells)
    };
    let rows: Vec<Row> = shares.iter().map(row).collect();
    (!rows.is_empty()).then(|| Block::Table(Table::new(TableKind::Names, title, titles, rows)))
}
