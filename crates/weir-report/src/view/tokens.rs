//! Tokens of language models by the server's count: their rate and times, those of each name, and
//! the time to the first by the length of the prompt.

use weir_result::Document;
use weir_result::document::{
    CountSummary, FirstByPrompt, MessagesSection, Metric, NameSection, ScopeMessages, TokensSection,
};
use weir_text::units;

use super::message_figures::{SHORT, each, time};
use super::throughput::margin;
use super::{Block, CellValue, Fact, Row, Table, TableKind, Tone};

/// Their rate, those of a response, the time of each, and the parts of them; `None` if the server
/// states none.
pub(super) fn rates(document: &Document, messages: &MessagesSection) -> Option<Block> {
    let TokensSection { per_second, interval, per_response, .. } = messages.tokens.as_ref()?;
    let rate = units::round_rate(*per_second) + &margin(*per_second, *interval);
    let mut facts = vec![Fact::text(rate).toned(Tone::Main)];
    facts.extend(of_responses(per_response));
    if let Some(times) = document.latency.time_per_token.as_ref().map(Metric::headline) {
        let at = |p| times.percentile(p).map(|value| units::duration(value.ns));
        let texts = [at(50.0).map(|p50| format!("{p50} per token after the first (TPOT)"))];
        let texts = texts.into_iter().chain([at(99.0).map(|p99| format!("p99 {p99}"))]);
        facts.extend(texts.flatten().map(Fact::text));
    }
    facts.extend(parts(document).map(Fact::text));
    facts.push(Fact::text("by the server's count"));
    Some(Block::facts("Tokens", facts))
}

fn of_responses(per_response: &CountSummary) -> Option<Fact> {
    each(per_response).map(|each| Fact::named(&each, "per response"))
}

/// Returns the prompts with the share that was cached, and the reasoning.
fn parts(document: &Document) -> impl Iterator<Item = String> {
    let all = document.results.messages.as_ref();
    let totals = all.and_then(|all| all.totals).unwrap_or_default();
    let cached = match (totals.input, totals.cached) {
        (0, 0) => None,
        (0, cached) => Some(format!("{} cached of the requests", units::count(cached))),
        (input, cached) => {
            let share = units::short_percent(cached as f64 / input as f64);
            Some(format!("{} of the prompts, {share} of them cached", units::count(input)))
        }
    };
    let reasoning = totals.reasoning;
    let reasoning = (reasoning > 0).then(|| format!("{} of reasoning", units::count(reasoning)));
    cached.into_iter().chain(reasoning)
}

/// The tokens of the requests with each name, in means, and the times per token.
pub(super) fn by_name(document: &Document) -> Option<Block> {
    let has_users = document.plan.users().is_some();
    let named = document.names.iter().filter(|name| !name.is_of_users());
    let rows: Vec<Row> = named.filter_map(row).collect();
    let columns = ["of prompt", "cached", "of response", "TPOT p50", "TPOT p99"];
    let title = if has_users { "Tokens by step" } else { "Tokens by name" };
    (!rows.is_empty()).then(|| {
        let mut table = Table::new(TableKind::Names, title, columns, rows);
        table.caption = "(means of a request; times include client overhead)".to_owned();
        Block::Table(table)
    })
}

fn row(name: &NameSection) -> Option<Row> {
    let ScopeMessages { totals, per_token, .. } = name.results.messages.as_deref()?;
    let totals = totals.filter(|totals| totals.responses > 0)?;
    let mean = |tokens: u64| {
        let mean = units::rate(tokens as f64 / totals.responses as f64);
        mean.trim_end_matches("/s").to_owned()
    };
    let (prompt, cached) = match totals.input {
        0 => (String::new(), String::new()),
        input => (mean(input), units::short_percent(totals.cached as f64 / input as f64)),
    };
    let counts = [prompt, cached, mean(totals.output)].map(CellValue::from);
    let times = SHORT.map(|p| {
        per_token.as_ref().map_or_else(CellValue::default, |times| time(times.headline(), p))
    });
    Some(Row::new(&name.name, counts.into_iter().chain(times)))
}

/// The time to the first token by the length of the prompt.
pub(super) fn by_prompt(messages: &MessagesSection) -> Option<Block> {
    let lengths = &messages.tokens.as_ref()?.first_by_prompt;
    let rows: Vec<Row> = lengths.iter().map(row_of_length).collect();
    let columns = ["requests", "first p50", "first p99", "max"];
    (!rows.is_empty()).then(|| {
        let mut table = Table::new(TableKind::Names, "Prompt length", columns, rows);
        table.caption = "(tokens; ok requests; times include client overhead)".to_owned();
        Block::Table(table)
    })
}

fn row_of_length(length: &FirstByPrompt) -> Row {
    let FirstByPrompt { least, greatest, first } = length;
    let label = match least == greatest {
        true => units::count(*least),
        false => format!("{}–{}", units::count(*least), units::count(*greatest)),
    };
    let summary = first.headline();
    let times = [SHORT[0], SHORT[1], 100.0].map(|p| time(summary, p));
    let count = CellValue::from(units::count(summary.count));
    Row::new(&label, [count].into_iter().chain(times))
}
