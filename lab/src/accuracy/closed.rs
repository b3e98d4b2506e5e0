//! V6: a server that stalls under a load that waits for it. Only the requests on the wire at that
//! moment meet the stall, one for each connection. Nothing is added for requests that were not
//! sent.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use weir_result::Document;

use super::distribution::Distribution;
use crate::rig::{Fixture, RunningWeir, Section, freeze, seconds, thousands};

const CONNECTIONS: u32 = 20;
const WARMUP_S: f64 = 1.0;

/// Largest difference of the maximum from the stall.
const MAX_TOLERANCE_S: f64 = 0.005;

/// Runs case V6 of METHOD 2.1.
pub(super) fn stall(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(10.0, 4.0);
    let stall_s = fixture.span(1.4, 0.7);
    let mut section = Section::new(
        "a stall in a closed loop",
        "Does a closed loop report a stall once for each connection, without invented \
         samples?",
        format!(
            "With {CONNECTIONS} connections exactly {CONNECTIONS} requests take as long as the \
             stall (S = {stall_s} s in {window_s} s), and no other takes half as long; the maximum \
             is S, give or take what an answer takes; every percentile below 1 − {CONNECTIONS}/N \
             shows nothing of it."
        ),
    );
    let at_s = WARMUP_S + window_s * 0.4;
    let load = format!("-t1 -c{CONNECTIONS} -d{window_s}s --warmup {WARMUP_S}s");
    let stopped = |client: RunningWeir, server: u32| {
        thread::sleep(Duration::from_secs_f64(at_s));
        let bracket_s = freeze(server, Duration::from_secs_f64(stall_s))?;
        Ok::<_, anyhow::Error>((bracket_s.into(), client.finish()?))
    };

    let (document, _) = fixture.run(&format!("--stall {at_s}s+{stall_s}s --log-max 1"), &load)?;
    judge(&mut section, "`weir serve --stall`", [stall_s, stall_s], document)?;
    let server = fixture.serve("--log-max 1")?;
    let (stall_s, document) = stopped(fixture.start_weir(&load, &server.url)?, server.pid())?;
    judge(&mut section, "SIGSTOP, `weir serve`", stall_s, document)?;
    let server = fixture.nginx()?;
    let (stall_s, document) = stopped(fixture.start_weir(&load, &server.url)?, server.worker)?;
    judge(&mut section, "SIGSTOP, nginx", stall_s, document)?;

    let longer = section.sum("longer than S/2");
    section.verdict(format!("{longer} requests met the {} stalls.", section.rows()));
    section.show_columns(&["stall by", "longer than S/2", "S", "max", "p99"]);
    Ok(section)
}

/// Judges a run whose stall took between two times, and adds its row.
fn judge(section: &mut Section, name: &str, stall_s: [f64; 2], document: Document) -> Result<()> {
    let [least_s, most_s] = stall_s;
    let times = Distribution::of(&document.results.service_time)?;
    let long = times.above((least_s / 2.0 * 1e9) as u64);
    let max_s = times.max_ns() / 1e9;
    let [least, most] = stall_s.map(seconds);
    let stall = if least_s == most_s { least } else { format!("{least} to {most}") };
    section.row(&[
        ("stall by", &name),
        ("requests", &thousands(times.count())),
        ("longer than S/2", &thousands(long)),
        ("S", &stall),
        ("max", &seconds(max_s)),
        ("p50", &seconds(times.quantile_ns(0.5) / 1e9)),
        ("p99", &seconds(times.quantile_ns(0.99) / 1e9)),
    ]);
    section.must(long == u64::from(CONNECTIONS), || format!("{name}: {long} met the stall"));
    // Requests that met the stall may have been sent a little after its begin.
    let is_near = max_s >= least_s - MAX_TOLERANCE_S && max_s <= most_s + MAX_TOLERANCE_S;
    section.must_if_quiet(is_near, || format!("{name}: the maximum is {}", seconds(max_s)));
    section.must(document.latency.send_lag.ok.count == 0, || {
        format!("{name}: a closed loop has no plan to be behind")
    });
    let planned = document.results.planned;
    section.must(planned == times.count(), || {
        format!("{name}: {planned} requests were sent and {} answered", times.count())
    });
    Ok(())
}
