//! Cost of scripts, the number of script states that fit, and the accuracy of the rate with a
//! script.

use anyhow::{Context, Result, ensure};
use weir_result::document::ScriptSection;
use weir_result::{Callback, Document, Note};
use xtask::shell::root;

use super::paired::Paired;
use crate::rig::{ClientRun, Fixture, Peer, Section, Server, Table, clients, table};

const METHOD: &str = "The cost of a script, the memory of a thousand states, and a constant rate.";

pub(super) fn scripts(fixture: &Fixture) -> Result<Section> {
    let mut section =
        Section::new("what scripts cost", "What do Lua scripts cost, beside wrk's?", METHOD);
    for part in [cost, states, rate] {
        part(fixture, &mut section)?;
    }
    section.verdict("Requests per CPU-second, divided by wrk's with the same script:");
    Ok(section)
}

/// Scripts that both programs run.
const SCRIPTS: [&str; 4] = ["request.lua", "response.lua", "both.lua", "fields.lua"];

/// Flags that send the same request as the static script. Not a POST, to which the flags alone
/// would add a `Content-Length`.
const STATIC: [&str; 4] = ["-X", "OPTIONS", "-H", "X-Kind: static"];

/// Target ratio of requests per CPU-second to wrk's with a request() and a response().
const AIM: f64 = 1.3;

const RATIO: &str = "requests per CPU-second, ratio";

/// The client's cost of a script: a static one against none, and others against wrk with the same
/// script.
fn cost(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let server = fixture.nginx()?;
    let mut table = Table::default();
    let script = "static.lua";
    let by_flags = STATIC.to_vec();
    let flag = script_flag(script)?;
    let sides = [("weir", "none", by_flags), ("weir", script, flag.split(' ').collect())];
    let paired = compare(fixture, &server, script, &sides, &mut table)?;
    let throughput = table::estimate(&paired.throughput(1));
    for script in SCRIPTS {
        let flag = script_flag(script)?;
        let clients = Peer::Wrk.find().map(|_| "wrk").into_iter().chain(["weir"]);
        let sides: Vec<ScriptClient> =
            clients.map(|client| (client, script, flag.split(' ').collect())).collect();
        compare(fixture, &server, script, &sides, &mut table)?;
    }
    let above = format!(
        "Cost of a script: a closed loop on nginx, `-t2 -c100`, {} rounds of {} s; start and end \
         of the process count. The static script is held to flags that send the same (throughput: \
         {} of theirs), each other script to wrk with that script. {AIM} is aimed at where there \
         are `request()` and `response()`.",
        fixture.options.rounds,
        seconds(fixture),
        throughput
    );
    let own = table.filter("script", &SCRIPTS).filter("client", &["weir"]);
    section.show(own.select(&["script", RATIO]));
    section.table(&above, table);
    Ok(())
}

/// A program, the script that its row names, and the flags that it gets.
type ScriptClient<'a> = (&'static str, &'static str, Vec<&'a str>);

/// Compares the sides with the first of them, and adds a row for each.
fn compare(
    fixture: &Fixture,
    server: &Server,
    what: &str,
    sides: &[ScriptClient],
    table: &mut Table,
) -> Result<Paired> {
    let duration = format!("-d{}s", seconds(fixture));
    let names: Vec<String> =
        sides.iter().map(|(client, script, _)| format!("{client}, {script}")).collect();
    let run = |at: usize| match &sides[at] {
        ("wrk", _, flags) => {
            let options = [&["-t2", "-c100", &duration], &flags[..]].concat();
            clients::wrk(fixture.placement.client, &options, &server.url)
        }
        (_, _, flags) => weir(fixture, server, &duration, flags),
    };
    let paired = Paired::run(&format!("scripts, {what}"), fixture.options.rounds, &names, run)?;
    for (at, (client, script, _)) in sides.iter().enumerate() {
        let ratio = match sides.len() {
            1 => "wrk is absent".to_owned(),
            _ => paired.efficiency_cell(at),
        };
        table.add(&[
            ("client", client),
            ("script", script),
            (RATIO, &ratio),
            ("µs CPU per request", &format!("{:.2}", paired.cost_us(at))),
            ("requests/s", &table::rate(paired.requests_per_second(at))),
        ]);
    }
    Ok(paired)
}

fn weir(fixture: &Fixture, server: &Server, duration: &str, flags: &[&str]) -> Result<ClientRun> {
    let options = ["-t2", "-c100", duration, "--warmup", "0", "--no-preflight"];
    let options = [&options[..], flags].concat();
    let (run, document) =
        clients::weir(&fixture.weir, fixture.placement.client, &options, &server.url)?;
    let failures = clients::failures(&document);
    ensure!(failures == 0, "{failures} requests of weir failed");
    Ok(run)
}

/// Returns the length of one side of a round. There are many comparisons, and many short rounds are
/// more precise than few long ones if the machine drifts.
fn seconds(fixture: &Fixture) -> u32 {
    fixture.options.seconds.div_ceil(3)
}

const THREADS: u64 = 1_000;

const STATES_SCRIPT: &str = "both.lua";

/// Largest memory that a state without data may hold, and add to the process. Every state may use
/// at least this much, however many share the machine.
const STATE_MAX_KIB: f64 = 4_096.0;

/// A thousand threads with a script each: the memory of a state.
fn states(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let server = fixture.weir_serve()?;
    let seconds = fixture.span(3, 2);
    let load = |script: &str| -> Result<Document> {
        let load = format!("-t{THREADS} -c{THREADS} -d{seconds}s --warmup 0 --no-preflight");
        Ok(fixture.timed_weir(&format!("{load} {script}"), &server.url)?.1)
    };
    let bare = load("")?;
    let scripted = load(&script_flag(STATES_SCRIPT)?)?;
    let usage = scripted.script.as_ref().context("weir ran no script")?;
    let states = u64::from(usage.states);
    let largest_kib = usage.memory_max_bytes as f64 / 1_024.0;
    let [before_kib, after_kib] =
        [&bare, &scripted].map(|document| clients::resident_mib(document) * 1_024.0);
    let more_kib = (after_kib - before_kib) / THREADS as f64;
    let [largest, more] = [largest_kib, more_kib].map(|kib| format!("{kib:.0}"));
    let limit = table::rate(STATE_MAX_KIB);
    let above = format!(
        "A thousand states: {} threads with a connection and a state each, a closed loop on \
         `weir serve` for {seconds} s. At most {limit} KiB may be held by a state, and be resident \
         for it.",
        table::thousands(THREADS)
    );
    section.begin_table(&above);
    let lines = [
        (&bare, "none", 0, "—".to_owned(), "—".to_owned()),
        (&scripted, STATES_SCRIPT, states, largest, more),
    ];
    for (document, script, states, largest, more) in lines {
        section.row(&[
            ("script", &script),
            ("states", &table::thousands(states)),
            ("largest state KiB", &largest),
            ("resident MiB", &format!("{:.1}", clients::resident_mib(document))),
            ("resident per state KiB", &more),
            ("sent/s", &table::rate(document.throughput.sent_rps)),
            ("errors", &table::thousands(clients::failures(document))),
        ]);
    }
    let most_kib = largest_kib.max(more_kib);
    section.must(states == THREADS, || format!("{states} of {THREADS} states"));
    section.must(most_kib <= STATE_MAX_KIB, || format!("a state takes {most_kib:.0} KiB"));
    let errors = clients::failures(&scripted);
    section.must(errors == 0, || format!("{errors} errors with {THREADS} states"));
    section.verdict(format!("A state takes {most_kib:.0} KiB (limit: {limit})."));
    Ok(())
}

const CONNECTIONS: u64 = 10_000;

/// A script that takes about a microsecond per call, and one that takes 200.
const QUICK: &str = "request.lua";
const SLOW: &str = "slow.lua";

/// Rate above the 10,000/s that two threads can send with the slow script.
const RATE_RPS: u64 = 20_000;

/// Largest deviation of the rate from the plan with the fast script.
const DEVIATION_MAX_PERCENT: f64 = 0.1;

/// Notes that weir must attach to the run with the slow script.
const NOTES: [&str; 2] = ["script_holds_worker", "script_too_slow"];

/// Ten thousand connections at a rate, with a script that keeps up and with one that cannot.
fn rate(fixture: &Fixture, section: &mut Section) -> Result<()> {
    let server = fixture.weir_serve()?;
    let seconds = fixture.span(6, 3);
    let above = format!(
        "A script at a rate: {} connections on 2 threads, {seconds} s at a constant rate after 2 s \
         of warm-up, against `weir serve`. The quick script may be off the plan by \
         {DEVIATION_MAX_PERCENT} %; of the slow one, which two threads can call at most 10,000 \
         times a second, weir must tell that it was too slow and held its threads.",
        table::thousands(CONNECTIONS)
    );
    section.begin_table(&above);
    for script in [QUICK, SLOW] {
        let load = format!("-t2 -c{CONNECTIONS} -R{RATE_RPS} -d{seconds}s --warmup 2s");
        let (_, document) =
            fixture.timed_weir(&format!("{load} {}", script_flag(script)?), &server.url)?;
        let sent_rps = document.throughput.sent_rps;
        let deviation = (sent_rps / RATE_RPS as f64 - 1.0) * 100.0;
        let codes = codes(&document.notes);
        let usage = document.script.as_ref().context("weir ran no script")?;
        let notes = if codes.is_empty() { "none".to_owned() } else { codes.join(", ") };
        section.row(&[
            ("script", &script),
            ("request() µs", &format!("{:.1}", request_us(usage)?)),
            ("planned/s", &table::thousands(RATE_RPS)),
            ("sent/s", &table::rate(sent_rps)),
            ("off the plan", &format!("{deviation:+.3} %")),
            ("made too late", &table::thousands(usage.ran_dry)),
            ("never sent", &table::thousands(document.results.outcomes.never_sent)),
            ("errors", &table::thousands(clients::failures(&document))),
            ("notes", &notes),
        ]);
        section.must(script == SLOW || deviation.abs() <= DEVIATION_MAX_PERCENT, || {
            format!("{script}: {deviation:+.3} % off the plan")
        });
        for note in NOTES {
            section.must(script == QUICK || codes.contains(&note), || {
                format!("{script}: no note {note}")
            });
        }
    }
    Ok(())
}

/// Returns the mean time of a call, in microseconds.
fn request_us(usage: &ScriptSection) -> Result<f64> {
    let request = usage.callbacks.get(&Callback::Request).context("request() was not called")?;
    Ok(request.time_ns as f64 / request.calls as f64 / 1e3)
}

/// Returns the codes of the run's notes about scripts.
fn codes(notes: &[Note]) -> Vec<&str> {
    let codes = notes.iter().map(|note| note.code.as_str());
    codes.filter(|code| code.starts_with("script_")).collect()
}

/// Directory of the scripts, from the root of the repository.
const DIRECTORY: &str = "lab/src/bench/scripts";

/// Returns the words `-s FILE`.
fn script_flag(script: &str) -> Result<String> {
    Ok(format!("-s {}", root()?.join(DIRECTORY).join(script).display()))
}

#[cfg(test)]
mod tests {
    use weir_result::CallbackUsage;

    use super::*;

    #[test]
    fn documents_name_the_script() {
        let notes = ["script_too_slow", "busy"].map(|code| Note::new(code, ""));
        assert_eq!(codes(&notes), ["script_too_slow"]);
        let mut script = ScriptSection::default();
        assert!(request_us(&script).is_err());
        let usage = CallbackUsage { calls: 4, time_ns: 10_000, ..CallbackUsage::default() };
        script.callbacks.insert(Callback::Request, usage);
        assert_eq!(request_us(&script).expect("it was called"), 2.5);
    }
}
