//! Events of a fleet that weir starts itself, with a bus of its own.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use super::row::Row;
use super::trial::{Scene, TroubledRun};
use crate::accuracy::fleet::processes::{children, is_alive};

/// Longest time from the coordinator's end to that of all its processes, and from its start to the
/// first request, in seconds.
const END_MAX_S: f64 = 12.0;
const BEGIN_MAX_S: f64 = 5.0;

/// Kills the coordinator in the load.
pub(super) fn killed_coordinator(scene: &mut Scene<'_>) -> Result<Row> {
    let mut trial = TroubledRun::begin_private(scene, "-d 60s")?;
    let processes = children(trial.load.pid());
    ensure!(processes.len() == 3, "{} processes, not two agents and a bus", processes.len());
    trial.load.kill()?;
    let since = Instant::now();
    let left = || processes.iter().filter(|id| is_alive(**id)).count();
    while left() > 0 && since.elapsed().as_secs_f64() < END_MAX_S {
        thread::sleep(Duration::from_millis(1));
    }
    let ended_s = since.elapsed().as_secs_f64();
    let left = left();
    // Whatever still sent would be seen.
    thread::sleep(Duration::from_secs(1));
    let seen = trial.end()?;
    let ended = match left {
        0 => format!("all 3 processes ended within {:.0} ms", (ended_s * 1e3).ceil()),
        left => format!("{left} of 3 processes are left"),
    };
    let mut row = Row::of("weir --agents 2 is killed", &seen, &ended);
    row.must(left == 0, || ended.clone());
    row.must(seen.last_s() < 1.0, || format!("a request after {:.2} s", seen.last_s()));
    Ok(row)
}

/// Measures the time to the first request.
pub(super) fn first_request(scene: &mut Scene<'_>) -> Result<Row> {
    let trial = TroubledRun::begin_private(scene, "-d 1s")?;
    let started_ns = trial.load.started_ns;
    let mut seen = trial.end()?;
    seen.event_ns = started_ns;
    let first = seen.log.first().context("the log is empty")?;
    let first_s = (first.received_ns as f64 - started_ns as f64) / 1e9;
    let text = format!("first request {first_s:.2} s after the start");
    let mut row = Row::of("weir --agents 2, without preparation", &seen, &text);
    row.must_if_quiet(first_s < BEGIN_MAX_S, || text.clone());
    row.must_be_complete(&seen)?;
    let temporary = scene.fixture.directory.join("temporary");
    let left = fs::read_dir(temporary).context("the directory is gone")?.count();
    row.must(left == 0, || format!("{left} directories of a bus are left"));
    Ok(row)
}
