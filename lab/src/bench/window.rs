//! Checks that a run matches the request: the window as each worker recorded it, and the requests
//! as the server counted them.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Lab, Section};
use crate::rig::clients::{self, Document};
use crate::rig::table::{self, Table};

/// Largest difference of a worker's window from the requested length.
const DEVIATION_MAX_MS: f64 = 10.0;

pub(super) fn window(lab: &Lab) -> Result<Section> {
    let server = lab.nginx()?;
    let seconds = lab.options.span(5, 2);
    let mut table = Table::new(&[
        "load",
        "engine",
        "t1 − t0 off by at most",
        "sent in all",
        "counted by nginx",
        "never sent",
        "errors",
    ]);
    let mut failures = Vec::new();
    for engine in &lab.engines {
        for rate in [None, Some("-R20k")] {
            let duration = format!("-d{seconds}s");
            let mut options = vec!["-t2", "-c100", &duration];
            options.extend(*engine);
            options.extend(rate);
            eprintln!("bench: window, {}", options.join(" "));
            let before = server.counts()?;
            let (_, document) = clients::weir(&lab.weir, None, &options, &server.url)?;
            let counted = server.counts_since(before)?.requests;
            let sent = document.count("accounting/sent/total")?;
            let deviation_ms = deviation_ns(&document)? / 1e6;
            table.row(&[
                rate.map_or("closed loop", |_| "20,000/s").to_owned(),
                engine[1].to_owned(),
                format!("{deviation_ms:.3} ms"),
                table::thousands(sent),
                table::thousands(counted),
                table::thousands(document.count("accounting/never_sent")?),
                table::thousands(document.failures()?),
            ]);
            let options = options.join(" ");
            if counted != sent {
                failures.push(format!("{options}: sent {sent}, but nginx counted {counted}"));
            }
            if deviation_ms > DEVIATION_MAX_MS {
                eprintln!("bench: {options}: the window is off by {deviation_ms:.1} ms");
            }
        }
    }
    let text = format!(
        "`weir -t2 -c100 -d{seconds}s`, alone and with `-R 20k`, on nginx: the largest difference \
         over the workers between the window each observed and the one asked for (at most \
         {DEVIATION_MAX_MS} ms is wanted), and every request put on the wire against nginx's own \
         count (they must be equal).\n\n{}",
        table.finish()
    );
    Ok(Section { title: "truth of the window and the count", text, failures })
}

/// Returns the largest deviation over the workers, in nanoseconds.
fn deviation_ns(document: &Document) -> Result<f64> {
    let asked_ns = document.number("plan/duration_ns")?;
    let mut largest: f64 = 0.0;
    for worker in document.list("phases")? {
        let at = |name: &str| worker.get(name).and_then(Value::as_f64);
        let (t0, t1) = at("t0_ns").zip(at("t1_ns")).context("a worker has no window")?;
        largest = largest.max((t1 - t0 - asked_ns).abs());
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_worker_counts() {
        let document = Document::of(serde_json::json!({
            "plan": {"duration_ns": 1_000},
            "phases": [{"t0_ns": 10, "t1_ns": 1_012}, {"t0_ns": 20, "t1_ns": 1_015}],
        }));
        assert_eq!(deviation_ns(&document).expect("all is there"), 5.0);
        assert!(deviation_ns(&Document::of(serde_json::json!({}))).is_err());
    }
}
