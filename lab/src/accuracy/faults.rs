//! V10, V12: servers that never respond or that drop connections on purpose, counted on both sides.

use anyhow::{Context, Result};
use weir_result::quantile::Bound;

use crate::rig::{Fixture, Section, seconds, thousands};

/// Runs case V10 of METHOD 2.1.
pub(super) fn black_hole(fixture: &Fixture) -> Result<Section> {
    let rate_rps = 200.0;
    let window_s = 3.0;
    let timeout_s = 1.0;
    let mut section = Section::new(
        "a server that never answers",
        "What is reported of a server that reads and never answers?",
        format!(
            "No answer: 0 completed, every planned request timed out, in flight at the end or \
             never sent, every percentile a lower bound of at least the timeout ({timeout_s} s)."
        ),
    );
    let load = format!("-t1 -c10 -R{rate_rps} -d{window_s}s --warmup 0 -T{timeout_s}s");
    let (document, log) = fixture.run("--fault blackhole:1", &load)?;
    let planned = document.results.planned;
    section.row(&[("", &"planned"), ("requests", &thousands(planned))]);
    let mut total = 0;
    for (class, count) in document.results.outcomes.classes() {
        section.row(&[("", &class), ("requests", &thousands(count))]);
        total += count;
        let must_be_none = ["ok", "bad_response", "transport_error"].contains(&class);
        section.must(!must_be_none || count == 0, || format!("{count} are {class}"));
    }
    section.begin_table("");
    let all = document.results.response_time.all.as_ref().context("no request has failed")?;
    for percentile in &all.percentiles {
        let p = percentile.p;
        let ns = percentile.ns as f64;
        let least = format!("> {}", seconds(ns / 1e9));
        section.row(&[("percentile", &format!("p{p}")), ("at least", &least)]);
        // `unknown` is right if the client was disturbed as well (METHOD 1.9).
        let is_bound = || format!("p{p} is not a lower bound");
        section.must_if_quiet(percentile.bound == Bound::Lower, is_bound);
        section.must([Bound::Lower, Bound::Unknown].contains(&percentile.bound), is_bound);
        section.must(ns >= timeout_s * 1e9, || format!("p{p} is less than the timeout"));
    }
    section.must(!all.percentiles.is_empty(), || "there are no percentiles".to_owned());
    let completed = document.results.completed;
    section.verdict(format!("{completed} of {planned} requests were completed."));
    section.show_rows(&[("percentile", &["p50", "p90", "p99"])], &["percentile", "at least"]);
    section.must(completed == 0, || format!("{completed} were completed"));
    section.must(planned == (rate_rps * window_s) as u64 && total == planned, || {
        format!("{planned} were planned, and {total} are accounted for")
    });
    let sent = document.accounting.sent.total;
    section.must(log.len() as u64 == sent, || {
        format!("weir sent {sent} requests and the server read {}", log.len())
    });
    Ok(section)
}

/// Runs case V12 of METHOD 2.1.
pub(super) fn resets(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(5.0, 2.0);
    let mut section = Section::new(
        "a server that breaks off",
        "The server resets, closes or stops within every hundredth response. Is each fault \
         one error, and no other request lost or repeated?",
        "As many errors as the server has made, in warm-up, window and tail together; inside the \
         window exactly the requests that the server's log has no answer for; as many requests \
         sent as the server has read.",
    );
    for load in ["-t1 -c10 -R2000", "-t1 -c10"] {
        for faults in ["reset:1/100", "close:1/100", "partial:1/100"] {
            let load = format!("{load} -d{window_s}s --warmup 0");
            let (document, log) = fixture.run(&format!("--fault {faults}"), &load)?;
            let unanswered = |count: usize| {
                log.iter().take(count).filter(|record| record.sent_ns.is_none()).count() as u64
            };
            let sent = document.accounting.sent.total;
            let planned = document.results.planned;
            let errors = document.results.outcomes.transport_error;
            let made = unanswered(usize::MAX);
            let seen = document.series.iter().map(|of| of.errors).sum::<u64>();
            let broken = unanswered(planned as usize);
            let name = format!("`{load}`, {faults}");
            section.row(&[
                ("load", &format!("`{load}`")),
                ("faults", &faults),
                ("sent", &thousands(sent)),
                ("read", &thousands(log.len() as u64)),
                ("made by the server", &thousands(made)),
                ("seen by weir", &thousands(seen)),
                ("planned", &thousands(planned)),
                ("without answer in the log", &thousands(broken)),
                ("errors of the planned", &thousands(errors)),
            ]);
            section.must(made == seen, || format!("{name}: made {made} faults, seen {seen}"));
            section.must(sent == log.len() as u64, || format!("{name}: sent {sent}"));
            // In a closed loop the last requests of the window and the first after it may arrive in
            // another order than they were sent.
            let slack = if load.contains("-R") { 0 } else { 1 };
            section.must(broken.abs_diff(errors) <= slack, || {
                format!("{name}: {errors} errors, and {broken} in the log")
            });
        }
    }
    section.verdict(format!(
        "The server made {} faults, and weir reports {}.",
        thousands(section.sum("made by the server")),
        thousands(section.sum("seen by weir"))
    ));
    Ok(section)
}
