//! V8: more load than the server can serve. The backlog grows throughout the test, and every
//! quantile is known.

use anyhow::Result;

use super::curve::{self, Curve};
use super::distribution::Distribution;
use super::plan::UniformPlan;
use super::{rows, theory};
use crate::rig::{Fixture, Section, table};

const RATE_RPS: f64 = 1_500.0;
const CAPACITY_RPS: f64 = 1_000.0;

/// Largest difference of a quantile from the server's log and from theory, as a share of the
/// longest wait.
const TOLERANCE: f64 = 0.01;

/// Runs case V8 of METHOD 2.1.
pub(super) fn overload(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(10.0, 4.0);
    let longest_s = theory::overload_wait_s(RATE_RPS, CAPACITY_RPS, window_s);
    let mut section = Section::new(
        "more load than the server can serve",
        "1,500 requests/s come to a server of 1,000/s. Are the waits of those still queued at \
         the end reported?",
        format!(
            "Q(p) = p·D·(R/µ − 1), the longest {longest_s} s; D = {window_s} s; 1,000 answers a \
             second inside the window. Within {}% of the longest of theory and of the server's \
             log.",
            TOLERANCE * 100.0
        ),
    );
    // The last requests of the window wait longer than the default drain.
    let drain_s = longest_s + 3.0;
    let load = format!("-t1 -c100 -R{RATE_RPS} -d{window_s}s --warmup 0 --drain {drain_s}s");
    let (document, rows, log) = rows::run(fixture, "--mode fifo --delay 1ms", &load)?;
    let reported = Distribution::responses(&document)?;
    let plan = UniformPlan { rate_rps: RATE_RPS, warmup_s: 0.0, duration_s: window_s };
    let truth_ns = plan.responses_ns(&rows.list, &log)?;
    let mut truth_s: Vec<f64> = truth_ns.iter().map(|ns| ns / 1e9).collect();
    truth_s.sort_by(f64::total_cmp);
    let curve = Curve {
        above: "R = 1,500/s, µ = 1,000/s".to_owned(),
        truth_s: &truth_s,
        reported: &reported,
        log_tolerance_s: TOLERANCE * longest_s,
        theory_tolerance_s: TOLERANCE * longest_s,
    };
    let off_s = curve.add_to(
        &mut section,
        &[0.1, 0.5, 0.9, 0.99],
        |p| theory::overload_wait_s(RATE_RPS, CAPACITY_RPS, p * window_s),
        Some(longest_s / 2.0),
    );
    curve::verdict(&mut section, off_s, TOLERANCE * longest_s);
    let completed_rps = document.results.completed_rps;
    section.note(format!("Completed in the window: {}/s.", table::rate(completed_rps)));
    section.must_if_quiet((completed_rps / CAPACITY_RPS - 1.0).abs() <= TOLERANCE, || {
        format!("{} answers a second were completed", table::rate(completed_rps))
    });
    // A third of the requests ended after the window; they count as measured.
    let planned = document.results.planned;
    section.must(planned == reported.count(), || format!("{planned} requests were planned"));
    Ok(section)
}
