//! Messages within responses, of real servers: counts equal the server's, and reports show them.

use serde_json::Value;
use weir_result::Document;
use weir_result::document::{
    AssertionOutcome, MessagesSection, Metric, ScopeMessages, TargetState,
};

use crate::support::directory::Directory;
use crate::support::raw::Raw;
use crate::support::serve::Serve;
use crate::support::weir::{self, Ran, weir};

/// Requests that no load of these tests sends: all others are measured.
const ALONE: &str = "--no-preflight";

fn of_run(document: &Document) -> &ScopeMessages {
    document.results.messages.as_ref().expect("messages are measured")
}

fn messages(document: &Document) -> &MessagesSection {
    document.messages.as_ref().expect("messages are measured")
}

/// Runs a load against a server of event streams, and returns it with the server's counters.
fn load(engine: &str, serve: &[&str], words: &str, more: &[&str]) -> (Ran, Value) {
    let server = Serve::start(serve);
    let url = server.url();
    let more = [more, &[url.as_str()]].concat();
    let ran = weir::load(engine, &format!("{ALONE} {words}"), &more);
    (ran, server.stop_with_stats())
}

#[test]
fn events_are_counted_as_the_server_does() {
    let events = ["--events", "8", "--first", "exp:3ms", "--gap", "exp:1ms"];
    for (engine, words) in [
        ("epoll", "--sse -n 60 -c 6"),
        ("uring", "--sse -n 60 -c 6 -R 300"),
        ("epoll", "--sse -n 60 -c 2 --http 2 --streams 5"),
        ("uring", "--sse -n 60 -c 4 --http 2 -R 300"),
    ] {
        let (ran, stats) = load(engine, &events, words, &[]);
        let section = messages(&ran.document);
        assert_eq!(ran.document.results.outcomes.ok, 60, "{words}: {ran}");
        assert_eq!((section.measured, section.streams), (480, 60), "{words}: {ran}");
        assert_eq!(stats["events"], 480, "{words}: {stats}");
        let each = &section.per_response;
        assert_eq!((each.min, each.max, each.count), (Some(8), Some(8), 60), "{words}");
        let gaps = ran.document.results.message_gap().expect("there are gaps");
        assert_eq!(gaps.ok.count, 420, "{words}");
    }
}

/// Streams that outlast the run and deliver are alive: no failure, and no growing backlog.
#[test]
fn an_endless_stream_that_delivers_is_alive() {
    let events = ["--events", "100000", "--gap", "10ms"];
    for words in ["-c 2", "-c 40 -R 10", "-c 1 --http 2 --streams 3"] {
        let words = format!("--sse -d 1s --warmup 0 --drain 200ms {words}");
        let (ran, _) = load("epoll", &events, &words, &["--assert", "errors == 0"]);
        let results = &ran.document.results;
        let open = results.open_streams();
        assert_eq!(ran.code, 0, "{words}: {ran}");
        assert_eq!((results.outcomes.ok, open), (0, results.outcomes.in_flight_at_end), "{ran}");
        assert_eq!(open, results.planned - results.outcomes.never_sent, "{words}: {ran}");
        let target = &ran.document.verdict.target;
        assert_eq!(target.state, TargetState::Ok, "{words}: {ran}");
        let noun = if open == 1 { "stream" } else { "streams" };
        let open = format!("{open} {noun} open at the end");
        assert!(ran.text.contains(&open) && !ran.text.contains("growing backlog"), "{ran}");
    }
}

#[test]
fn streams_that_are_open_are_no_failures_of_their_name_or_stage() {
    let directory = Directory::new();
    let routes = directory.file("routes.jsonl");
    let list = directory.file("list.jsonl");
    std::fs::write(&routes, r#"{"path": "/short", "size": 10}"#).expect("a file");
    let rows = ["short", "long"].map(|name| format!(r#"{{"url": "/{name}", "name": "{name}"}}"#));
    std::fs::write(&list, rows.join("\n")).expect("a file");
    let events = ["--events", "100000", "--gap", "10ms", "--routes", routes.as_str()];
    let words = "--sse --warmup 0 --drain 200ms -c 40 --stages 500ms@20,500ms@40";
    let mut more = vec!["--from", &list];
    for claim in ["long: errors == 0", "stage 1: errors == 0"] {
        more.extend(["--assert", claim]);
    }
    let (ran, _) = load("epoll", &events, words, &more);
    assert_eq!(ran.code, 0, "{ran}");
    let results = &ran.document.results;
    let names = &ran.document.names;
    let open: Vec<u64> = names.iter().map(|name| name.results.open_streams()).collect();
    assert_eq!(open, [0, results.open_streams()], "{ran}");
    assert!(open[1] > 0 && names.iter().all(|name| name.results.failed() == 0), "{ran}");
    let stages = &ran.document.stages;
    let open: u64 = stages.iter().map(|stage| stage.results.open_streams()).sum();
    assert_eq!((open, stages.len()), (results.open_streams(), 2), "{ran}");
    for stage in stages {
        let target = &stage.verdict.as_ref().expect("it is judged").target;
        assert_eq!((stage.results.failed(), target.state), (0, TargetState::Ok), "{ran}");
    }
    assert!(ran.text.contains("open"), "{ran}");
}

/// One that never sends an event is not.
#[test]
fn a_silent_stream_has_failed() {
    let events = ["--events", "5", "--first", "60s"];
    let (ran, _) = load("epoll", &events, "--sse -d 1s --warmup 0 --drain 200ms -c 2", &[]);
    assert_eq!(ran.code, 1, "{ran}");
    assert_eq!(ran.document.results.open_streams(), 0, "{ran}");
    assert_eq!(ran.document.verdict.target.state, TargetState::Failed, "{ran}");
}

#[test]
fn bad_responses_do_not_hide_the_first_tokens_of_the_others() {
    let directory = Directory::new();
    let routes = directory.file("routes.jsonl");
    let list = directory.file("list.jsonl");
    std::fs::write(&routes, r#"{"path": "/busy", "status": 429, "size": 10}"#).expect("a file");
    let rows =
        (0..10).map(|row| format!(r#"{{"url": "/{}"}}"#, if row < 3 { "busy" } else { "a" }));
    std::fs::write(&list, rows.collect::<Vec<_>>().join("\n")).expect("a file");
    let events = ["--events", "5", "--first", "5ms", "--gap", "1ms", "--routes", routes.as_str()];
    let (ran, _) = load("epoll", &events, "--sse -n 60 -c 3", &["--from", &list]);
    assert_eq!(
        (ran.document.results.outcomes.ok, messages(&ran.document).streams),
        (42, 42),
        "{ran}"
    );
    let timing = ran.text.split("Timing").nth(1).expect("a table of times");
    assert!(timing.contains("ok only"), "{ran}");
}

/// Without a stream conditions on the whole response are those of plain responses.
#[test]
fn goodput_and_shares_below_a_limit_are_those_of_plain_responses_too() {
    let server = Serve::start(&["--delay", "5ms"]);
    let more = [&server.url(), "--goodput=total < 10s", "--assert", "under 10s > 90%"];
    let ran = weir::load("epoll", &format!("{ALONE} -n 200 -c 4"), &more);
    let goodput = messages(&ran.document).goodput.as_ref().expect("there are conditions");
    assert_eq!((goodput.good, goodput.share, ran.code), (200, 1.0, 0), "{ran}");
    let more = [&server.url(), "--assert", "under 1ms > 90%"];
    let ran = weir::load("epoll", &format!("{ALONE} -n 200 -c 4"), &more);
    assert_eq!(ran.code, 3, "{ran}");
}

#[test]
fn the_words_of_language_models_are_metrics() {
    let events = ["--events", "5", "--first", "5ms", "--gap", "2ms", "--event-data", "tokens"];
    let tokens = "--tokens=json:/choices/0/delta/content";
    let goodput = "--goodput=TTFT < 10s and itl p99 < 10s and tpot < 10s";
    let asserts = ["ttft.p50 < 10s", "ITL.p50 < 10s", "tpot.p50 < 10s", "goodput > 90%"];
    let more = asserts.iter().flat_map(|claim| ["--assert", claim]);
    let more: Vec<&str> = [tokens, goodput].into_iter().chain(more).collect();
    let (ran, _) = load("epoll", &events, "-n 40 -c 4", &more);
    let results: Vec<_> = ran.document.assertions.iter().map(|of| of.outcome).collect();
    assert_eq!(results, [AssertionOutcome::Pass; 4], "{ran}");
    for part in ["first token (TTFT)", "gap (ITL)", "per chunk after the first"] {
        assert!(ran.text.contains(part), "{part}: {ran}");
    }
}

#[test]
fn streams_that_are_cut_have_failed_and_their_events_count() {
    let events = ["--events", "6", "--first", "1ms", "--gap", "1ms", "--event-cut", "1/3@4"];
    for words in ["--sse -n 30 -c 3", "--sse -n 30 -c 1 --http 2 --streams 3"] {
        let (ran, stats) = load("epoll", &events, words, &[]);
        let results = &ran.document.results;
        assert_eq!(
            (results.outcomes.ok, results.outcomes.transport_error),
            (20, 10),
            "{words}: {ran}"
        );
        assert_eq!(stats["event_streams_cut"], 10, "{stats}");
        assert_eq!(messages(&ran.document).measured, 20 * 6 + 10 * 4, "{words}: {ran}");
        assert_eq!(stats["events"], 160, "{stats}");
    }
}

#[test]
fn tokens_alone_count_and_goodput_is_theirs() {
    let events = ["--events", "5", "--first", "20ms", "--gap", "5ms", "--event-data", "tokens"];
    let tokens = "--tokens=json:/choices/0/delta/content";
    let goodput = "--goodput=first < 10s and gap max < 10s";
    let (ran, stats) = load("epoll", &events, "-n 20 -c 4", &[tokens, goodput]);
    let section = messages(&ran.document);
    assert_eq!(
        (section.measured, section.others, of_run(&ran.document).end_marks),
        (100, 0, 20),
        "{ran}"
    );
    assert_eq!(stats["events"], 100, "{stats}");
    let good = section.goodput.as_ref().expect("there are conditions");
    assert_eq!((good.good, good.share, good.completed), (20, 1.0, 20), "{ran}");
    for part in ["Chunks", "first token", "5 per response", "Goodput", "100% of the requests"] {
        assert!(ran.text.contains(part), "{part}: {ran}");
    }
    let goodput = "--goodput=first < 20ms";
    let (ran, _) = load("epoll", &events, "-n 10 -c 2", &["--tokens=json:/none", goodput]);
    let section = messages(&ran.document);
    assert_eq!((section.measured, section.others, section.streams), (0, 50, 0), "{ran}");
    assert_eq!(section.goodput.as_ref().map(|good| good.good), Some(0), "{ran}");
    let first = ran.document.results.first_message().expect("ages");
    assert_eq!((first.ok.count, first.times.censored.count()), (0, 10), "{ran}");
    // A wrong place is no success, and the report says what the events have.
    let results = &ran.document.results;
    let accounting = &ran.document.accounting;
    assert_eq!((results.outcomes.ok, results.outcomes.bad_response), (0, 10), "{ran}");
    let example = &accounting.miss_examples["stream_without_token"];
    assert_eq!(example.expected, "a value at json:/none", "{ran}");
    assert!(example.found.starts_with(r#"{"choices""#), "{ran}");
    let line = "no event has a value at json:/none; the first event is {\"choices\"";
    assert!(ran.document.verdict.target.text.contains(line), "{:?}", ran.document.verdict);
}

/// Runs a load of POST requests against a server that sends one of these bodies after the other.
fn posts(bodies: &[&str], words: &str, more: &[&str]) -> Ran {
    let bodies: Vec<String> = bodies.iter().map(|&body| body.to_owned()).collect();
    let server = Raw::start(move |peer| {
        for body in bodies.iter().cycle() {
            if peer.read_request()?.is_none() {
                return Ok(());
            }
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n";
            peer.write(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()))?;
        }
        Ok(())
    });
    weir::load("epoll", &format!("-X POST {words}"), &[more, &[server.url().as_str()]].concat())
}

/// Chunks of a chat completion with these deltas, each an event.
fn chat(deltas: &[&str]) -> String {
    let event = |delta: &&str| format!("data: {{\"choices\": [{{\"delta\": {{{delta}}}}}]}}\n\n");
    deltas.iter().map(event).collect()
}

const WORD: &str = r#""content": "w""#;

const CONTENT: &str = "--tokens=json:/choices/0/delta/content";

const DONE: &str = "data: [DONE]\n\n";

#[test]
fn tokens_are_what_the_server_counts() {
    let usage = r#"{"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 40,
        "prompt_tokens_details": {"cached_tokens": 7},
        "completion_tokens_details": {"reasoning_tokens": 9}}}"#;
    let last = format!("data: {}\n\n{DONE}", usage.replace('\n', " "));
    let body = chat(&[WORD; 10]) + &last;
    let ran = posts(&[&body], "-n 20 -c 1", &[CONTENT]);
    let section = messages(&ran.document);
    assert_eq!(
        (section.measured, section.others, of_run(&ran.document).end_marks),
        (200, 20, 20),
        "{ran}"
    );
    let tokens = section.tokens.as_ref().expect("the server counts");
    let all = of_run(&ran.document).totals.expect("counts");
    assert_eq!((tokens.received, all.reasoning, all.cached), (800, 180, 140), "{ran}");
    assert_eq!((all.responses, all.output, all.input), (20, 800, 180), "{ran}");
    let [first] = &tokens.first_by_prompt[..] else { panic!("prompts of 9 tokens: {ran}") };
    assert_eq!((first.least, first.greatest, first.first.ok.count), (8, 15, 20), "{ran}");
    assert_eq!((tokens.per_response.min, tokens.per_response.max), (Some(40), Some(40)), "{ran}");
    let latency = &ran.document.latency;
    assert_eq!(latency.time_per_token.as_ref().map(|times| times.ok.count), Some(20), "{ran}");
    for part in ["Tokens", "40 per response", "per token after the first", "10 per response"] {
        assert!(ran.text.contains(part), "{part}: {ran}");
    }
    // A count of each event, which adds up, and one at another place.
    let each = |n: u32| format!("data: {{\"c\": \"w\", \"n\": {n}}}\n\n");
    let body = [each(4), each(8), each(9)].concat();
    let flags = ["--tokens=json:/c", "--usage=json:/n"];
    let ran = posts(&[&body], "-n 20 -c 1", &flags);
    let tokens = messages(&ran.document).tokens.as_ref().expect("the server counts");
    assert_eq!((tokens.received, tokens.per_response.max), (180, Some(9)), "{ran}");
}

#[test]
fn streams_with_an_error_or_without_their_end_are_bad() {
    let words = chat(&[WORD; 3]);
    let good = format!("{words}{DONE}");
    let cut = words.as_str();
    let named = format!("{words}event: error\ndata: {{\"message\": \"m\"}}\n\n");
    let at_the_top = format!("data: {{\"error\": {{\"message\": \"engine stopped\"}}}}\n\n{DONE}");
    let bodies = [&good[..], cut, &named[..], &at_the_top[..]];
    for (tokens, assertion) in [(true, "errors == 0"), (false, "errors < 50%")] {
        let flag = if tokens { CONTENT } else { "--sse" };
        let ran = posts(&bodies, "-n 40 -c 1", &[flag, "--assert", assertion]);
        let results = &ran.document.results;
        let accounting = &ran.document.accounting;
        assert_eq!((results.outcomes.ok, results.outcomes.bad_response), (10, 30), "{ran}");
        assert_eq!(results.missed["stream_error"], 20, "{ran}");
        assert_eq!(results.missed["stream_without_end"], 10, "{ran}");
        assert_eq!(messages(&ran.document).errors, 20, "{ran}");
        assert_eq!(ran.code, 3, "{ran}");
        let found = &accounting.miss_examples["stream_error"].found;
        assert_eq!(found, r#"{"message": "m"}"#, "{ran}");
        for part in ["stream error: 20", "stream without end: 10", "an end after 3 messages"] {
            assert!(ran.text.contains(part), "{part}: {ran}");
        }
    }
    // One that ended before any mark was seen is ok for its worker, and failed in the end.
    let ran =
        posts(&[cut, &good, &good, &good], "-n 8 -c 1", &[CONTENT, "--assert", "errors < 1%"]);
    let results = &ran.document.results;
    assert_eq!((results.outcomes.ok, results.outcomes.bad_response), (7, 1), "{ran}");
    assert_eq!((of_run(&ran.document).unmarked, ran.document.results.failed()), (1, 2), "{ran}");
    assert_eq!(ran.document.verdict.target.failed_share, 0.25, "{ran}");
    assert_eq!(ran.document.assertions[0].value, Some(0.25), "{ran}");
    assert!(ran.text.contains("1 without the end mark of others"), "{ran}");
    // Where no stream has an end mark, none lacks it.
    let ran = posts(&[cut], "-n 10 -c 1", &[CONTENT]);
    assert_eq!((ran.document.results.outcomes.ok, ran.document.results.failed()), (10, 0), "{ran}");
}

/// A feed without end marks beside streams of a model, which have them, has not failed.
#[test]
fn end_marks_are_those_of_a_name() {
    let cut = chat(&[WORD]);
    let good = chat(&[WORD]) + DONE;
    let bodies = [good.as_str(), &cut, &good, &cut, &cut, &cut];
    let directory = Directory::new();
    let list = directory.file("list.jsonl");
    let row = |name: &str| format!(r#"{{"method": "POST", "url": "/", "name": "{name}"}}"#);
    let rows = ["chat", "feed", "chat", "feed", "chat", "feed"].map(row);
    std::fs::write(&list, rows.join("\n")).expect("a file");
    let ran = posts(&bodies, "-n 6 -c 1", &[CONTENT, "--from", &list, "--order", "sequential"]);
    let failed = |name: usize| ran.document.names[name].results.outcomes.bad_response;
    assert_eq!((failed(0), failed(1)), (1, 0), "{ran}");
    let unended = ran.document.names.iter().filter_map(|name| name.results.messages.as_ref());
    let marks: Vec<_> = unended.map(|of| (of.end_marks, of.unmarked, of.unended)).collect();
    assert_eq!((marks, ran.document.results.failed()), (vec![(2, 0, 0), (0, 3, 0)], 1), "{ran}");
}

#[test]
fn reasoning_and_answer_have_first_tokens_of_their_own() {
    let body = chat(&[r#""reasoning": "r""#, r#""reasoning": "r""#, WORD]) + DONE;
    let flags = ["--tokens=json:/choices/0/delta/reasoning", CONTENT];
    let ran = posts(
        &[&body],
        "-n 20 -c 1",
        &[&flags[..], &["--assert", "first_answer.p50 < 10s"]].concat(),
    );
    assert_eq!((ran.code, messages(&ran.document).measured), (0, 60), "{ran}");
    let latency = &ran.document.latency;
    let count = |metric: &Option<Metric>| metric.as_ref().map(|metric| metric.ok.count);
    assert_eq!(count(&latency.first_reasoning), Some(20), "{ran}");
    assert_eq!(count(&latency.first_answer), Some(20), "{ran}");
    assert!(ran.text.contains("reasoning p50") && ran.text.contains("answer p50"), "{ran}");
}

#[test]
fn long_messages_are_counted_by_name() {
    let long = "l".repeat(70_000);
    let body = chat(&[WORD, &format!("\"content\": \"{long}\"")]) + DONE;
    let ran = posts(&[&body], "-n 5 -c 1", &[CONTENT]);
    let section = messages(&ran.document);
    assert_eq!((section.measured, section.too_long, section.others), (5, 5, 0), "{ran}");
    assert!(ran.text.contains("5 above 64 KiB, not read"), "{ran}");
}

#[test]
fn streams_found_in_the_load_have_a_note() {
    let body = chat(&[WORD]) + DONE;
    let note = |words: &str| posts(&[&body], &format!("-n 6 -c 2 {words}"), &[]);
    for words in ["", "-R 100", "--expect body~data"] {
        let ran = note(words);
        assert!(ran.document.messages.is_none() && ran.document.results.outcomes.ok == 6, "{ran}");
        let notes = ran.document.notes.iter().filter(|note| note.code == "event_streams");
        let texts: Vec<&str> = notes.map(|note| note.text.as_str()).collect();
        assert!(matches!(texts[..], [text] if text.contains("--sse") && text.contains("--tokens")));
    }
    let server = Serve::start(&["--events", "2"]);
    let ran = weir::load("epoll", "-n 6 -c 1 -X POST --http 2", &[&server.url()]);
    assert!(ran.document.notes.iter().any(|note| note.code == "event_streams"), "{ran}");
    let directory = Directory::new();
    let script = directory.file("bodies.lua");
    std::fs::write(&script, "function response(status, headers, body) end").expect("a script");
    let server = Serve::start(&["--events", "2"]);
    let ran = weir::load("epoll", &format!("-n 6 -c 1 -s {script}"), &[&server.url()]);
    assert!(ran.document.notes.iter().any(|note| note.code == "event_streams"), "{ran}");
    assert!(note("--sse").document.notes.iter().all(|note| note.code != "event_streams"));
}

#[test]
fn a_stream_of_events_is_found_by_its_type() {
    let server = Serve::start(&["--events", "3", "--gap", "1ms"]);
    let ran = weir::load("epoll", "-n 10 -c 2", &[&server.url()]);
    assert_eq!(messages(&ran.document).measured, 30, "{ran}");
    assert!(ran.text.contains("the response is a stream of events"), "{ran}");
    drop(server);
    let server = Serve::start(&[]);
    let ran = weir::load("epoll", "-n 10 -c 2", &[&server.url()]);
    assert!(ran.document.messages.is_none(), "{ran}");
    let ran = weir::load("epoll", "-n 10 -c 2 --sse", &[&server.url()]);
    assert!(ran.text.contains("no stream of events"), "{ran}");
    assert_eq!(messages(&ran.document).measured, 0, "{ran}");
}

/// First events come after 60 ms, and then one each 10 ms, with one stall of 300 ms. The loopback
/// and a busy machine add to that, never less than nothing.
#[test]
fn times_are_those_of_the_server_and_a_stall_is_in_them() {
    let events = ["--events", "10", "--first", "60ms", "--gap", "10ms"];
    let stall = ["--event-stall", "1/20@5+300ms"];
    let flags = [&events[..], &stall[..]].concat();
    let (ran, _) = load("epoll", &flags, "--sse -n 40 -c 20 -R 100", &[]);
    let results = &ran.document.results;
    let first = results.first_message().expect("there are some");
    let gap = results.message_gap().expect("there are some");
    let response = &results.response_time;
    assert!(first.ok.min_ns >= Some(60_000_000), "{ran}");
    assert!(gap.ok.max_ns >= Some(290_000_000), "{ran}");
    assert!(response.ok.max_ns >= Some(450_000_000), "{ran}");
    let mean_ns = gap.ok.mean_ns.expect("there are gaps");
    // 40 streams of 150 ms, of which two last 300 ms longer, have 360 gaps.
    let true_ns = (40.0 * 90e6 + 2.0 * 300e6) / 360.0;
    assert!((0.95 * true_ns..2.0 * true_ns).contains(&mean_ns), "{mean_ns}: {ran}");
}

#[test]
fn files_and_assertions_have_messages() {
    let server = Serve::start(&["--events", "5", "--first", "2ms", "--gap", "1ms"]);
    let directory = Directory::new();
    let json = directory.file("run.json");
    let csv = directory.file("run.csv");
    let prometheus = directory.file("run.prom");
    let jsonl = directory.file("run.jsonl");
    let k6 = directory.file("run.k6");
    let output = weir(
        "-n 50 -c 5 --io epoll --witness off --sse",
        &[
            &server.url(),
            "--export",
            &format!("json={json}"),
            "--export",
            &format!("percentiles={csv}"),
            "--export",
            &format!("prometheus={prometheus}"),
            "--export",
            &format!("jsonl={jsonl}"),
            "--export",
            &format!("k6={k6}"),
            "--assert",
            "first_message.p90 < 10s",
            "--assert",
            "gap.p90 < 10s",
            "--assert",
            "messages.measured >= 250",
            "--assert",
            "first_message.p90 < 1ms",
        ],
    );
    assert_eq!(output.code(), 3, "one assertion fails: {output:?}");
    let text = |file: &str| std::fs::read_to_string(file).expect("it was written");
    assert!(text(&csv).contains("\nfirst_message,90,") && text(&csv).contains("\nmessage_gap,90,"));
    assert!(text(&prometheus).contains("weir_messages_total 250\n"), "{}", text(&prometheus));
    assert!(text(&prometheus).contains("weir_message_gap_seconds"), "{}", text(&prometheus));
    let parsed = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let summary = parsed(text(&jsonl).lines().last().expect("a line"));
    assert_eq!(summary["messages"]["received"], 250, "{summary}");
    assert!(summary["messages"]["first_message_p90_ns"].is_u64(), "{summary}");
    assert!(summary["messages"]["message_gap_p99_ns"].is_u64(), "{summary}");
    let metrics = parsed(&text(&k6))["metrics"].clone();
    assert_eq!(metrics["messages"]["values"]["count"], 250, "{metrics}");
    assert!(metrics["message_gap"]["values"]["med"].is_f64(), "{metrics}");
    let document = parsed(&text(&json));
    assert_eq!(document["plan"]["messages"]["protocol"], "sse");
    assert_eq!(document["results"]["messages"]["gap"]["ok"]["count"], 200);
}

#[test]
fn messages_by_name_and_by_stage_add_up() {
    let server = Serve::start(&["--events", "4", "--first", "2ms", "--gap", "1ms"]);
    let directory = Directory::new();
    let list = directory.file("list.jsonl");
    let rows = [("a", "one"), ("b", "two"), ("c", "one")];
    let rows = rows.map(|(path, name)| format!(r#"{{"url": "/{path}", "name": "{name}"}}"#));
    std::fs::write(&list, rows.join("\n")).expect("a file");
    let url = server.url();
    let ran = weir::load("epoll", &format!("{ALONE} --sse -c 3 -n 60"), &[&url, "--from", &list]);
    let section = messages(&ran.document);
    let names = ran
        .document
        .names
        .iter()
        .map(|name| name.results.messages.as_ref().expect("each has some"));
    let firsts: u64 = names.clone().map(|name| name.first.ok.count).sum();
    let gaps = names.map(|name| name.gap.as_ref().map_or(0, |gap| gap.ok.count));
    assert_eq!((firsts, gaps.sum::<u64>(), section.measured), (60, 180, 240), "{ran}");
    assert!(ran.text.contains("Messages by name"), "{ran}");
    let ran =
        weir::load("epoll", &format!("{ALONE} --sse -c 4 --stages 300ms@100,300ms@200"), &[&url]);
    let stages = ran.document.stages.iter().filter_map(|stage| stage.results.messages.as_ref());
    assert_eq!(
        stages.map(|stage| stage.received).sum::<u64>(),
        of_run(&ran.document).received,
        "{ran}"
    );
    assert!(ran.text.contains("Messages by stage"), "{ran}");
}

#[test]
fn messages_are_refused_with_the_reason() {
    for (words, part) in [
        ("--sse --pipeline 2", "--sse cannot be used with --pipeline"),
        ("--tokens=/choices", "--tokens is json: and a JSON pointer"),
        ("--usage=json:/n", "--tokens says which messages carry them"),
        ("--tokens=json:choices", "begin it with /"),
        ("--goodput=p99", "is no condition"),
    ] {
        let output = weir(words, &["http://127.0.0.1:9/"]);
        assert_eq!(output.code(), 2, "{words}: {output:?}");
        assert!(output.stderr.contains(part), "{words}: {output:?}");
    }
}
