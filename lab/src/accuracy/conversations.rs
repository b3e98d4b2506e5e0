//! V44: conversations with a mock language model in Python. The model keeps each conversation, and
//! compares each request with it byte for byte; weir's document must equal its log.

mod conversation_load;
mod log_comparison;
mod request_log;

use std::fs;

use anyhow::{Context, Result, ensure};
use weir_result::Document;

use super::interop::server::{ForeignServer, ServerKind};
use crate::rig::{Fixture, Section, seconds, thousands};

use conversation_load::{ConversationLoad, LOADS, TURNS, scenario_file};
use log_comparison::{FIRST_LATE_MAX_NS, LogComparison, PER_TOKEN_SHARE_MAX};
use request_log::RequestLog;

/// Seed of the model's answers.
const SEED: u64 = 44;

/// Conversations of five turns in all loads together, at least.
const CONVERSATIONS_MIN: u64 = 1_000;

/// An error that is planted into the log, and that some figure must notice.
struct LogPlant {
    name: &'static str,
    plant: fn(&mut RequestLog),
}

const PLANTS: [LogPlant; 3] = [
    LogPlant { name: "a token more in one response", plant: RequestLog::plant_token },
    LogPlant { name: "a request less", plant: RequestLog::plant_loss },
    LogPlant { name: "first tokens 3 ms earlier", plant: RequestLog::plant_first },
];

/// Runs case V44 of METHOD 2.1.
pub(super) fn conversations(fixture: &Fixture) -> Result<Section> {
    let mut section = Section::new(
        "conversations with a language model",
        "Does each request have the whole conversation, and do turns, tokens and times equal the \
         server's log?",
        format!(
            "A server of aiohttp speaks the streams of OpenAI and Anthropic. It keeps each \
             conversation of {TURNS} turns, and compares each request with it, byte for byte. Its \
             answers have quotes, escapes, line ends and emoji, cut anywhere between words. \
             Requests, responses, chunks, conversations, and the tokens of prompts, cached, of \
             responses and of reasoning, in all and by turn, equal its log, as do tokens/s. The \
             first token comes later at p50 than the log has it, by {} at most; the time per token \
             at p50 differs by {:.0}% at most. Each planted error is noticed.",
            seconds(FIRST_LATE_MAX_NS / 1e9),
            PER_TOKEN_SHARE_MAX * 100.0,
        ),
    );
    let mut runs = Vec::new();
    for load in &LOADS {
        runs.push(run(fixture, load)?);
    }
    for run in &runs {
        add_counts(&mut section, run);
    }
    let five_turns = section.sum("of 5 turns");
    section.must(fixture.options.is_quick || five_turns >= CONVERSATIONS_MIN, || {
        format!("{five_turns} conversations of {TURNS} turns")
    });
    section.verdict(format!(
        "{} conversations, {} requests: {} broken rules, {} disagreements.",
        thousands(section.sum("conversations")),
        thousands(section.sum("requests")),
        thousands(section.sum("broken rules")),
        runs.iter().map(|run| run.comparison.differences.len()).sum::<usize>(),
    ));
    let later = runs.iter().map(|run| run.comparison.first.later_ns()).fold(f64::MIN, f64::max);
    section.verdict(format!(
        "At p50 the first token came {} after the log's at most.",
        seconds(later / 1e9)
    ));
    section.begin_table("Rates and times, the latter at p50. In brackets: the log.");
    for run in &runs {
        add_times(&mut section, run);
    }
    plant(fixture, &mut section, &runs[0])?;
    section.note(format!("Server: {}.", runs[0].log.versions));
    Ok(section)
}

/// A load that has ended.
struct ConversationRun {
    load: &'static ConversationLoad,
    flags: String,
    document: Document,
    log: RequestLog,
    comparison: LogComparison,
}

/// Runs a load on a fresh server.
fn run(fixture: &Fixture, load: &'static ConversationLoad) -> Result<ConversationRun> {
    let source = load.source(fixture)?;
    let conversations = load.conversations(fixture);
    let flags = load.flags(&source.display().to_string(), conversations);
    let (document, log) = run_flags(fixture, load, &flags)?;
    // Pages have no path of this machine.
    let name = source.file_name().unwrap_or_default().display().to_string();
    let flags = load.flags(&name, conversations);
    let comparison = LogComparison::of(&document, &log, load.has_all_in_window())?;
    Ok(ConversationRun { load, flags, document, log, comparison })
}

fn run_flags(
    fixture: &Fixture,
    load: &ConversationLoad,
    flags: &str,
) -> Result<(Document, RequestLog)> {
    let server =
        ForeignServer { kind: ServerKind::Conversations, flags: String::new(), seed: SEED };
    let running = server.start(fixture)?;
    let url = running.url.clone() + load.path();
    let document = fixture.start_weir(flags, &url)?.finish();
    let log = RequestLog::read(&running.finish()?)?;
    let document = document.with_context(|| format!("of {}", load.name))?;
    Ok((document, log))
}

/// Adds the row of counts.
fn add_counts(section: &mut Section, run: &ConversationRun) {
    let ConversationRun { load, flags, log, comparison, .. } = run;
    let name = load.name;
    let LogComparison { counts, differences, .. } = comparison;
    let differs = if differences.is_empty() { "–".to_owned() } else { differences.join("; ") };
    let of = |name: &str| thousands(counts.of(name));
    section.row(&[
        ("conversations with", &name),
        ("load", &format!("`{flags}`")),
        ("conversations", &of("conversations")),
        ("of 5 turns", &thousands(log.conversations_of(TURNS))),
        ("requests", &of("requests")),
        ("broken rules", &thousands(log.breaches.iter().map(|breach| breach.requests).sum())),
        ("tokens of prompts", &of("prompt tokens")),
        ("cached", &of("cached tokens")),
        ("of responses", &of("response tokens")),
        ("of reasoning", &of("reasoning tokens")),
        ("counts", &counts.len()),
        ("disagreements", &differs),
    ]);
    section.fail(log.breaches.iter().map(|breach| format!("{name}: {}", breach.describe())));
    section.fail(differences.iter().map(|difference| format!("{name}: {difference}")));
}

/// Adds the row of rates and times.
fn add_times(section: &mut Section, run: &ConversationRun) {
    let name = run.load.name;
    let LogComparison { rate, first, per_token, .. } = &run.comparison;
    let shown = [first, per_token]
        .map(|pair| format!("{} ({})", seconds(pair.weir_ns / 1e9), seconds(pair.log_ns / 1e9)));
    section.row(&[
        ("conversations with", &name),
        ("tokens/s", &rate.show()),
        ("first token", &shown[0]),
        ("later than the log", &seconds(first.later_ns() / 1e9)),
        ("time per token", &shown[1]),
    ]);
    section.must(first.later_ns() >= 0.0, || {
        format!("{name}: the first token came before it was sent: {}", shown[0])
    });
    section
        .must_if_quiet(first.is_close(), || format!("{name}: the first token came {}", shown[0]));
    section.must_if_quiet(per_token.is_close(), || format!("{name}: time per token {}", shown[1]));
}

/// Plants errors, and adds notes of what noticed them.
fn plant(fixture: &Fixture, section: &mut Section, run: &ConversationRun) -> Result<()> {
    for LogPlant { name, plant } in PLANTS {
        let mut log = run.log.clone();
        plant(&mut log);
        let planted = LogComparison::of(&run.document, &log, run.load.has_all_in_window())?;
        let noticed = planted.faults();
        section.must(noticed > 0, || format!("planted, and not noticed: {name}"));
        section.note(format!("Planted: {name}. {noticed} figures disagree."));
    }
    let name = "histories with roles in the place of answers";
    let scenario = fs::read_to_string(scenario_file("chat.toml"))?;
    ensure!(scenario.contains("delta/content"), "the scenario captures no content");
    let file = fixture.directory.join("planted.toml");
    fs::write(&file, scenario.replace("delta/content", "delta/role"))?;
    let flags = run.load.flags(&file.display().to_string(), 10);
    let (_, log) = run_flags(fixture, run.load, &flags)?;
    let found = log.breaches.iter().find(|breach| breach.rule == "conversation");
    section.must(found.is_some(), || format!("planted, and not noticed: {name}"));
    let requests = found.map_or(0, |breach| breach.requests);
    section.note(format!("Planted: {name}. {requests} requests break the rule of conversations."));
    Ok(())
}
