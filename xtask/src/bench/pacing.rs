//! How late requests leave when little else is to be done, for each way of keeping time.

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Lab, Section};
use crate::rig::clients::{self, Document};
use crate::rig::table::{self, Table};

const PACINGS: [&str; 3] = ["sleep", "hybrid", "spin"];

pub(super) fn pacing(lab: &Lab) -> Result<Section> {
    let server = lab.weir_serve()?;
    let seconds = lab.options.span(5, 2);
    let mut table = Table::new(&["pacing", "engine", "p50 µs", "p99 µs", "max µs", "client CPU"]);
    for engine in &lab.engines {
        for pacing in PACINGS {
            eprintln!("bench: pacing, --pacing {pacing} {}", engine.join(" "));
            let duration = format!("-d{seconds}s");
            let options = ["-t1", "-c20", "-R10k", &duration, "--warmup", "1s"];
            let options = [&options[..], &["--pacing", pacing], engine].concat();
            let cpu = lab.placement.client;
            let (run, document) = clients::weir(&lab.weir, cpu, &options, &server.url)?;
            table.row(&[
                pacing.to_owned(),
                engine[1].to_owned(),
                table::micros(lag_ns(&document, 50.0)?),
                table::micros(lag_ns(&document, 99.0)?),
                table::micros(document.number("latency/send_lag/ok/max_ns")?),
                format!("{:.0} %", 100.0 * run.cpu_s / run.wall_s),
            ]);
        }
    }
    let text = format!(
        "Send lag (from when a request was due to when it was sent) at 10,000/s over 20 \
         connections of one worker, against `weir serve`, {seconds} s after 1 s of warm-up. A \
         sleeping client also waits for whoever else has its CPU.\n\n{}",
        table.finish()
    );
    Ok(Section { title: "Punctuality", text, failures: Vec::new() })
}

fn lag_ns(document: &Document, p: f64) -> Result<f64> {
    let percentiles = document.list("latency/send_lag/ok/percentiles")?;
    let entry = percentiles.iter().find(|entry| entry["p"].as_f64() == Some(p));
    let ns = entry.and_then(|entry| entry.get("ns")).and_then(Value::as_f64);
    ns.with_context(|| format!("weir's document has no p{p} of the send lag"))
}
