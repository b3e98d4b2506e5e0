//! V4, V16: the time stamps of every request are in causal order, and the report agrees with the
//! requests.

use std::collections::BTreeMap;

use anyhow::Result;
use weir_result::Document;

use super::distribution::Distribution;
use super::rows::{self, RequestRow};
use crate::rig::{Fixture, Section, thousands};

const LOADS: [&str; 4] =
    ["-c50 -R5000", "-c50 -R5000 --arrivals poisson", "-c50", "-c10 --pipeline 8"];

/// Runs case V4 of METHOD 2.1.
pub(super) fn causality(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(5.0, 2.0);
    let mut section = Section::new(
        "cause before effect",
        "Is each request sent before the server reads it, read before it is answered, and \
         answered before weir reads the response?",
        "Ts ≤ read ≤ answered ≤ Te for every request, in warm-up, window and tail.",
    );
    let loads: &[&str] = if fixture.options.is_quick { &LOADS[..1] } else { &LOADS };
    for load in loads {
        for io in ["epoll", "uring"] {
            for server_flags in ["", "--delay exp:1ms"] {
                let flags = format!("-t2 {load} -d{window_s}s --warmup 500ms --io {io}");
                let (_, rows, log) = rows::run(fixture, server_flags, &flags)?;
                let pairs = rows::join(&rows.list, &log)?;
                let wrong = pairs.iter().filter(|pair| !pair.is_causal()).count();
                let server = if server_flags.is_empty() { "at once" } else { server_flags };
                section.row(&[
                    ("load", &format!("`{load} --io {io}`")),
                    ("server", &server),
                    ("requests", &thousands(pairs.len() as u64)),
                    ("out of order", &thousands(wrong as u64)),
                ]);
                section.must(wrong == 0, || format!("`{load} --io {io}`: {wrong} out of order"));
            }
        }
    }
    let wrong = section.sum("out of order");
    let all = section.sum("requests");
    section.verdict(format!("{wrong} of {} requests are out of order.", thousands(all)));
    Ok(section)
}

/// Runs case V16 of METHOD 2.1.
pub(super) fn report(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(5.0, 2.0);
    let mut section = Section::new(
        "the report is its requests",
        "Do percentiles and counts of the report equal those of all requests, sorted by other \
         code?",
        "Every percentile of the document is in the bucket of the exact one (0.1%), and no less; \
         every class has the same count; least, greatest and sum agree to the nanosecond.",
    );
    for (load, server_flags) in [
        ("-c50 -R5000", "--delay exp:1ms"),
        ("-c20", "--delay pareto:100us,1.2"),
        ("-c20 -R2000", "--fault reset:1/100 --fault close:1/77"),
        ("-c5 -R2000 -T200ms", "--stall 2s+1s"),
    ] {
        let flags = format!("-t2 {load} -d{window_s}s --warmup 500ms");
        let (document, rows, _) = rows::run(fixture, server_flags, &flags)?;
        let measured: Vec<&RequestRow> = rows.list.iter().filter(|row| row.is_measured).collect();
        let (compared, off) = percentiles_off(&document, &measured)?;
        let classes = classes_off(&document, &measured);
        let load = format!("`{load}`, {server_flags}");
        section.row(&[
            ("load", &load),
            ("requests", &thousands(measured.len() as u64)),
            ("percentiles compared", &thousands(compared)),
            ("off", &thousands(off)),
            ("classes off", &thousands(classes)),
        ]);
        section.must(off == 0 && classes == 0, || format!("{load}: the report differs"));
        section.must(compared > 0, || format!("{load}: nothing to compare"));
    }
    section.verdict(format!(
        "{} of {} percentiles and {} counts differ.",
        section.sum("off"),
        section.sum("percentiles compared"),
        section.sum("classes off")
    ));
    Ok(section)
}

/// Returns the number of percentiles of completed requests, and the number of wrong ones.
fn percentiles_off(document: &Document, measured: &[&RequestRow]) -> Result<(u64, u64)> {
    let ok = || measured.iter().filter(|row| row.outcome == "ok");
    let response: Vec<u64> = ok().map(|row| row.ended_at - row.intended_at).collect();
    let service: Vec<u64> = ok().filter_map(|row| row.ended_at.checked_sub(row.sent_at?)).collect();
    let mut compared = 0;
    let mut off = 0;
    let results = &document.results;
    for (time, mut exact) in [(&results.response_time, response), (&results.service_time, service)]
    {
        exact.sort_unstable();
        let sum_ns: u128 = exact.iter().copied().map(u128::from).sum();
        let whole = time.times.ok.exact();
        let is_same = whole.sum_ns == sum_ns
            && Some(&whole.max_ns) == exact.last()
            && Some(&whole.min_ns) == exact.first();
        compared += 1;
        off += u64::from(!is_same);
        let histogram = Distribution::of(time)?;
        for percentile in &time.ok.percentiles {
            let p = percentile.p;
            let ns = percentile.ns;
            let rank = (p / 100.0 * exact.len() as f64 - 1e-6).ceil() as usize;
            let truth = exact[rank.clamp(1, exact.len()) - 1];
            compared += 1;
            off += u64::from(ns < truth || !histogram.is_one_bucket(truth, ns));
        }
    }
    Ok((compared, off))
}

/// Returns the number of classes with a wrong count.
fn classes_off(document: &Document, measured: &[&RequestRow]) -> u64 {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for row in measured {
        *counts.entry(&row.outcome).or_default() += 1;
    }
    let mut off = 0;
    for (class, count) in document.results.outcomes.classes() {
        off += u64::from(counts.remove(class).unwrap_or(0) != count);
    }
    // Remaining outcomes belong to no class.
    off + counts.len() as u64
}
