//! Ten thousand connections at a rate, with a script that keeps up and with one that cannot.

use anyhow::{Context, Result};
use weir_result::document::ScriptSection;
use weir_result::{Callback, Note};

use super::flag::flag;
use crate::rig::{Fixture, Section, clients, table};

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

pub(super) fn rate(fixture: &Fixture, section: &mut Section) -> Result<()> {
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
            fixture.timed_weir(&format!("{load} {}", flag(script)?), &server.url)?;
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
            ("never sent", &table::thousands(document.accounting.never_sent)),
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
