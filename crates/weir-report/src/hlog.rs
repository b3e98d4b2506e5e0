//! The series as an interval log of HdrHistogram, version 1.3, which its tools and plotters read:
//! one histogram of nanoseconds for each interval. Those outside the window have a tag, by which
//! the tools leave them out.

use std::io::{self, Write};

use weir_result::Document;
use weir_result::document::{SeriesEntry, SeriesPhase};
use weir_text::printable;

/// Nanoseconds in a millisecond, the unit in which the log has the greatest value.
const MS: f64 = 1e6;

/// Writes the log. Intervals without a response have no line.
///
/// # Errors
/// Errors of `out`.
pub fn write(document: &Document, out: &mut dyn Write) -> io::Result<()> {
    let t0_s = document.phases.first().map_or(0.0, |phases| phases.t0_ns as f64 / 1e9);
    let epoch_s = document.run.epoch_unix_ns as f64 / 1e9;
    let epoch = printable(&document.run.epoch);
    writeln!(out, "#[Latencies of weir {}, in nanoseconds]", printable(&document.tool.version))?;
    writeln!(out, "#[Histogram log format version 1.3]")?;
    writeln!(out, "#[StartTime: {epoch_s:.3} (seconds since epoch), {epoch}]")?;
    let titles = ["StartTimestamp", "Interval_Length", "Interval_Max"];
    let titles: Vec<String> = titles.iter().map(|title| format!("\"{title}\"")).collect();
    writeln!(out, "{},\"Interval_Compressed_Histogram\"", titles.join(","))?;
    document.series.iter().try_for_each(|entry| interval(entry, t0_s, out))
}

/// Writes the line of an interval; `t0_s` is t0 in seconds since the epoch of the run.
fn interval(entry: &SeriesEntry, t0_s: f64, out: &mut dyn Write) -> io::Result<()> {
    let latency = &entry.latency;
    if latency.count() == 0 {
        return Ok(());
    }
    let at_s = t0_s + entry.start_s;
    let greatest_ms = latency.exact().max_ns as f64 / MS;
    let length_s = entry.length_s;
    let histogram = latency.to_text();
    let tag = match entry.phase {
        SeriesPhase::Warmup => "Tag=warmup,",
        SeriesPhase::Measured => "",
        SeriesPhase::Tail => "Tag=tail,",
    };
    writeln!(out, "{tag}{at_s:.3},{length_s:.3},{greatest_ms:.3},{histogram}")
}
