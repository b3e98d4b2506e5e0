//! Checks that a run matches the request: the window as each worker recorded it, and the requests
//! as the server counted them.

use anyhow::{Context, Result};
use weir_result::document::Phases;

use crate::rig::{Fixture, Section, clients, table};

/// Largest difference of a worker's window from the requested length.
const DEVIATION_MAX_MS: f64 = 10.0;

const QUESTION: &str = "Has the window the length asked for, and is every request counted?";

pub(super) fn window(fixture: &Fixture) -> Result<Section> {
    let server = fixture.nginx()?;
    let seconds = fixture.span(5, 2);
    let method = format!(
        "`weir -t2 -c100 -d{seconds}s`, alone and with `-R 20k`, on nginx: the largest difference \
         over the workers between the window each observed and the one asked for (at most \
         {DEVIATION_MAX_MS} ms is wanted), and every request put on the wire against nginx's own \
         count (they must be equal)."
    );
    let mut section = Section::new("truth of the window and the count", QUESTION, method);
    let mut worst_ms = 0.0_f64;
    for engine in fixture.engines()? {
        for (load, rate) in [("closed loop", ""), ("20,000/s", "-R20k")] {
            let flags = format!("-t2 -c100 -d{seconds}s {} {rate}", engine.join(" "));
            eprintln!("bench: window, {flags}");
            let before = server.counts()?;
            let words: Vec<&str> = flags.split_whitespace().collect();
            let (_, document) = clients::weir(&fixture.weir, None, &words, &server.url)?;
            let counted = server.counts_since(before)?.requests;
            let sent = document.accounting.sent.total;
            let requested_ns = document.plan.duration_ns.context("the plan has no duration")?;
            let deviation_ms = deviation_ns(requested_ns, &document.phases) / 1e6;
            worst_ms = worst_ms.max(deviation_ms);
            section.row(&[
                ("load", &load),
                ("engine", &engine[1]),
                ("t1 − t0 off by at most", &format!("{deviation_ms:.3} ms")),
                ("sent in all", &table::thousands(sent)),
                ("counted by nginx", &table::thousands(counted)),
                ("never sent", &table::thousands(document.accounting.never_sent)),
                ("errors", &table::thousands(clients::failures(&document))),
            ]);
            section.must(counted == sent, || {
                format!("{flags}: sent {sent}, but nginx counted {counted}")
            });
            if deviation_ms > DEVIATION_MAX_MS {
                eprintln!("bench: {flags}: the window is off by {deviation_ms:.1} ms");
            }
        }
    }
    section.verdict(format!(
        "weir sent {} requests, and nginx counted {}. The window is off by at most {worst_ms:.3} \
         ms (wanted: {DEVIATION_MAX_MS}).",
        table::thousands(section.sum("sent in all")),
        table::thousands(section.sum("counted by nginx"))
    ));
    Ok(section)
}

/// Returns the largest deviation over the workers from the length asked for, in nanoseconds.
fn deviation_ns(requested_ns: u64, workers: &[Phases]) -> f64 {
    let windows = workers.iter().map(|worker| worker.t1_ns - worker.t0_ns);
    windows.map(|window_ns| window_ns.abs_diff(requested_ns)).max().unwrap_or(0) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_worker_counts() {
        let worker = |t0_ns, t1_ns| Phases { t0_ns, t1_ns, ..Phases::default() };
        assert_eq!(deviation_ns(1_000, &[worker(10, 1_012), worker(20, 1_015)]), 5.0);
    }
}
