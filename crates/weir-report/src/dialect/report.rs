//! The lines of a report, in order.

use std::io::{self, Write};

use weir_result::Histogram;

use super::statistics::Statistics;
use super::{Dialect, Figures, OptionalBlocks, SocketErrors, spectrum, units};

/// Content of the first two lines: the run as requested on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Length of the run in whole seconds.
    pub duration_s: u64,
    /// The URL as typed.
    pub url: String,
    /// Threads requested.
    pub threads: u64,
    /// Connections requested.
    pub connections: u64,
}

/// Writes the first two lines, which appear when the run starts.
pub fn write_head(head: &Head, out: &mut dyn Write) -> io::Result<()> {
    let Head { duration_s, url, threads, connections } = head;
    writeln!(out, "Running {} test @ {url}", units::whole_seconds(*duration_s))?;
    writeln!(out, "  {threads} threads and {connections} connections")
}

/// Writes the line with which a thread of wrk2 ends its calibration. It holds the mean latency so
/// far, cut to whole microseconds, and the interval at which rates will be sampled.
pub fn write_calibration(mean_ns: u64, interval_ms: u64, out: &mut dyn Write) -> io::Result<()> {
    let us = mean_ns / 1_000;
    writeln!(
        out,
        "  Thread calibration: mean lat.: {}.{:03}ms, rate sampling interval: {interval_ms}ms",
        us / 1_000,
        us % 1_000
    )
}

/// Writes the lines after the run: the number of sent requests if selected, then `Thread Stats` to
/// `Transfer/sec`.
pub fn write_results(
    dialect: Dialect,
    figures: &Figures,
    lines: &OptionalBlocks,
    out: &mut dyn Write,
) -> io::Result<()> {
    if lines.sent {
        writeln!(out, "Sent {} requests\n", figures.sent)?;
    }
    writeln!(out, "  Thread Stats{:>6}{:>11}{:>8}{:>12}", "Avg", "Stdev", "Max", "+/- Stdev")?;
    let latency = Statistics::of(dialect, &figures.latency, 1_000);
    let rates = Statistics::of(dialect, &figures.thread_rates, 1);
    write_statistics("Latency", &latency, units::time, out)?;
    write_statistics("Req/Sec", &rates, units::metric, out)?;
    match dialect {
        Dialect::Wrk if lines.latency => write_percentiles(&figures.latency, out)?,
        Dialect::Wrk => {}
        Dialect::Wrk2 => spectrum::write(figures, lines, out)?,
    }
    write_totals(figures, out)
}

fn write_statistics(
    name: &str,
    statistics: &Statistics,
    print: fn(f64) -> String,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Statistics { mean, stdev, max, within } = *statistics;
    let [mean, stdev, max] = [(mean, 8), (stdev, 10), (max as f64, 9)]
        .map(|(number, width)| units::field(&print(number), width));
    writeln!(out, "    {name:<10}{mean}{stdev}{max}{within:>8.2}%")
}

/// Writes wrk's block of four percentiles.
fn write_percentiles(latency: &Histogram, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "  Latency Distribution")?;
    for p in [50.0, 75.0, 90.0, 99.0] {
        // Whole microseconds, rounded up so that none is under-reported.
        let us = latency.percentile(p).unwrap_or(0).div_ceil(1_000);
        writeln!(out, "{p:>7.0}%{}", units::field(&units::time(us as f64), 10))?;
    }
    Ok(())
}

/// Writes the lines that end both reports: totals, errors and rates.
fn write_totals(figures: &Figures, out: &mut dyn Write) -> io::Result<()> {
    let run_us = figures.run_time_ns as f64 / 1e3;
    writeln!(
        out,
        "  {} requests in {}, {}B read",
        figures.requests,
        units::time(run_us),
        units::binary(figures.bytes as f64)
    )?;
    let SocketErrors { connect, read, write, timeout } = figures.errors;
    if figures.errors != SocketErrors::default() {
        writeln!(
            out,
            "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}"
        )?;
    }
    if figures.bad_status > 0 {
        writeln!(out, "  Non-2xx or 3xx responses: {}", figures.bad_status)?;
    }
    let per_second = |number: u64| match figures.run_time_ns {
        // A run without time has no rate; `inf` would surprise programs that parse the report.
        0 => 0.0,
        ns => number as f64 * 1e9 / ns as f64,
    };
    writeln!(out, "Requests/sec: {:>9.2}", per_second(figures.requests))?;
    writeln!(out, "Transfer/sec: {:>10}B", units::binary(per_second(figures.bytes)))
}
