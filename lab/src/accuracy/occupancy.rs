//! V17: Little's law, computed three times: requests on the wire over time, and the time that each
//! spent there.

use anyhow::{Context, Result};
use weir_result::Document;

use super::rows::{self, Rows};
use crate::rig::{Fixture, Section};

/// Largest relative difference of the counts.
const TOLERANCE: f64 = 0.001;

/// Runs case V17 of METHOD 2.1.
pub(super) fn occupancy(fixture: &Fixture) -> Result<Section> {
    let window_s = fixture.span(5.0, 2.0);
    let mut section = Section::new(
        "Little's law",
        "Do three counts of the requests on the wire agree, as Little's law demands?",
        format!("All three within {}% of each other.", TOLERANCE * 100.0),
    );
    let mut worst = 0.0_f64;
    for (load, server_flags) in [
        ("-c100 -R5000", "--delay exp:5ms"),
        ("-c20", "--delay uniform:1ms..3ms"),
        ("-c20 -R2000", "--delay 2ms --fault reset:1/100"),
        ("-c5 -R2000", "--mode fifo --delay 1ms"),
        ("-c10 -R500 -T200ms", "--fault blackhole:1/50"),
    ] {
        let flags = format!("-t2 {load} -d{window_s}s --warmup 1s");
        let (document, rows, _) = rows::run(fixture, server_flags, &flags)?;
        let occupancy = document.occupancy.context("weir counted no occupancy")?;
        let in_file = file_ns(&document, &rows)?;
        let counts_ns = [occupancy.integral_ns as f64, occupancy.sum_ns as f64, in_file];
        let greatest = counts_ns.into_iter().fold(0.0, f64::max);
        let least = counts_ns.into_iter().fold(f64::INFINITY, f64::min);
        let difference = (greatest - least) / greatest;
        worst = worst.max(difference);
        let [over_time, by_requests, by_file] =
            counts_ns.map(|ns| format!("{:.4}", ns / 1e9 / window_s));
        section.row(&[
            ("load", &format!("`{load}`, {server_flags}")),
            ("mean on the wire, over time", &over_time),
            ("by requests", &by_requests),
            ("by their file", &by_file),
            ("greatest difference", &format!("{:.4} %", difference * 100.0)),
        ]);
        section.must(difference <= TOLERANCE, || {
            format!("`{load}`, {server_flags}: they differ by {:.3} %", difference * 100.0)
        });
    }
    section.verdict(format!(
        "Over {} loads they differ by at most {:.4} % (limit: {}).",
        section.rows(),
        worst * 100.0,
        TOLERANCE * 100.0
    ));
    Ok(section)
}

/// Returns the total time inside the window that the requests in the file spent on the wire, in
/// nanoseconds.
fn file_ns(document: &Document, rows: &Rows) -> Result<f64> {
    let t1_at = rows.t0_at + document.plan.load.length_ns().context("the plan has no duration")?;
    let inside = rows
        .list
        .iter()
        .filter_map(|row| row.ended_at.min(t1_at).checked_sub(row.sent_at?.max(rows.t0_at)));
    Ok(inside.sum::<u64>() as f64)
}
