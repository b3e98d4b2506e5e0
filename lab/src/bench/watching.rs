//! Cost of watching a run: the screen, metrics that are scraped, and a line per second, against a
//! run that no one watches.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use std::{fs, thread};
use weir_result::Document;

use anyhow::{Context, Result, ensure};
use xtask::shell::find_program;

use crate::rig::{Fixture, MedianInterval, Section, Server, Table, free_address, pinned, timed};

/// Pairs of a comparison.
const PAIRS: u32 = 20;

/// Flags of the load, common to both sides.
const LOAD: &str = "-t1 -c20 -R10k --warmup 1s";

/// Most that watching may add to the 99th percentile of the send lag.
const LAG_MAX_US: f64 = 10.0;

/// Most that watching may add to the CPU time, in percent of one CPU.
const CPU_MAX_PERCENT: f64 = 3.0;

/// Figures of one run.
#[derive(Clone, Copy, Debug)]
struct Figures {
    lag_us: f64,
    cpu_percent: f64,
}

const QUESTION: &str = "What do `--tui`, `--listen` and `--format jsonl` together cost a run?";

pub(super) fn watching(fixture: &Fixture) -> Result<Section> {
    ensure!(find_program("script").is_some(), "failed to find script, which makes a terminal");
    let method = format!(
        "`{LOAD}` on `weir serve`, {PAIRS} pairs of runs of {} s one after the other, in an order \
         that alternates. One run is watched in three ways at once: `--tui` on a terminal of \
         140 × 40, `--listen` with a reader that fetches the metrics once per second, and \
         `--format jsonl`. The other is not watched (`--quiet`). Medians; in brackets the 95% \
         interval of the median difference. CPU time is that of the whole process and of \
         script(1), which makes the terminal, in percent of one CPU. Wanted: at most \
         {LAG_MAX_US:.0} µs and {CPU_MAX_PERCENT:.0} points more.",
        seconds(fixture)
    );
    let mut section =
        Section::new("the cost of a screen and of metrics", QUESTION, method).reported();
    let mut changes = Table::default();
    for (name, is_pinned) in [("on any CPU", false), ("on one CPU", true)] {
        let pairs = pairs(fixture, is_pinned)?;
        let of = |figure: fn(&(Figures, Figures)) -> f64| {
            MedianInterval::of(pairs.iter().map(figure).collect())
        };
        let alone_us = of(|pair| pair.0.lag_us);
        let watched_us = of(|pair| pair.1.lag_us);
        let alone = of(|pair| pair.0.cpu_percent);
        let watched = of(|pair| pair.1.cpu_percent);
        let lag = with_interval(of(|pair| pair.1.lag_us - pair.0.lag_us), " µs");
        let cpu = with_interval(of(|pair| pair.1.cpu_percent - pair.0.cpu_percent), " points");
        changes.add(&[("client", &name), ("send lag p99", &lag), ("CPU", &cpu)]);
        section.row(&[
            ("client", &name),
            ("send lag p99, alone", &format!("{:.1} µs", alone_us.median)),
            ("watched", &format!("{:.1} µs", watched_us.median)),
            ("difference", &lag),
            ("CPU, alone", &format!("{:.1} %", alone.median)),
            ("watched", &format!("{:.1} %", watched.median)),
            ("difference", &cpu),
        ]);
    }
    section.verdict(format!(
        "p99 of the send lag and CPU time change by (wanted: at most +{LAG_MAX_US:.0} µs and \
         +{CPU_MAX_PERCENT:.0} points):"
    ));
    section.show(changes);
    Ok(section)
}

fn seconds(fixture: &Fixture) -> u32 {
    fixture.span(5, 2)
}

/// Formats a difference with its interval.
fn with_interval(estimate: MedianInterval, unit: &str) -> String {
    let median = estimate.median;
    match estimate.interval {
        Some((low, high)) => format!("{median:+.1}{unit} ({low:+.1} to {high:+.1})"),
        None => format!("{median:+.1}{unit}"),
    }
}

/// Runs the pairs: for each, the run alone and the one watched.
fn pairs(fixture: &Fixture, is_pinned: bool) -> Result<Vec<(Figures, Figures)>> {
    let placement = &fixture.placement;
    let (server_cpu, cpu) =
        if is_pinned { (placement.server, placement.client) } else { (None, None) };
    let server = Server::weir(&fixture.weir, server_cpu, "--threads 1")?;
    let pairs = fixture.span(PAIRS, 2);
    let pair = |number: u32| {
        let run = |is_watched| run(fixture, cpu, &server.url, is_watched);
        let (alone, watched) = if number.is_multiple_of(2) {
            let watched = run(true)?;
            (run(false)?, watched)
        } else {
            (run(false)?, run(true)?)
        };
        eprintln!("bench: watching, pair {}: {alone:?}, {watched:?}", number + 1);
        Ok((alone, watched))
    };
    (0..pairs).map(pair).collect()
}

/// Runs the load once, on a terminal of its own.
fn run(fixture: &Fixture, cpu: Option<u32>, url: &str, is_watched: bool) -> Result<Figures> {
    let document = fixture.directory.join("watching.json");
    let lines = fixture.directory.join("watching.jsonl");
    let endpoint = free_address()?;
    let watch = match is_watched {
        true => format!("--tui --listen {endpoint} --format jsonl"),
        false => "--quiet".to_owned(),
    };
    let weir = fixture.weir.display();
    let seconds = seconds(fixture);
    let command = format!(
        "stty rows 40 cols 140; exec env TERM=xterm-256color LC_ALL=C.UTF-8 '{weir}' {LOAD} \
         -d{seconds}s {watch} -o '{}' {url} > '{}'",
        document.display(),
        lines.display()
    );
    let mut words = pinned(cpu, &find_program("script").context("failed to find script")?);
    words.extend(["-qec", &command, "/dev/null"].map(OsString::from));
    let reader = is_watched.then(|| Reader::start(endpoint));
    let timed = timed(&words, &[0, 3])?;
    let fetched = reader.map_or(0, Reader::finish);
    let document = Document::load(&document).context("failed to read weir's document")?;
    if is_watched {
        // A run that no one reads costs less.
        let lines = fs::read_to_string(&lines).context("failed to read weir's lines")?;
        ensure!(lines.lines().count() > seconds as usize, "too few lines: {lines}");
        ensure!(fetched + 1 >= seconds, "the metrics were fetched {fetched} times only");
        ensure!(timed.stdout.contains("\x1b[?1049h"), "no screen was drawn");
    }
    let lag = document.latency.send_lag.ok.percentile(99.0);
    let lag_ns = lag.context("the run carries no 99th percentile")?.ns;
    Ok(Figures {
        lag_us: lag_ns as f64 / 1e3,
        cpu_percent: 100.0 * timed.cost.cpu_s / timed.cost.wall_s,
    })
}

/// A thread that fetches metrics once per second.
struct Reader {
    over: mpsc::Sender<()>,
    thread: thread::JoinHandle<u32>,
}

impl Reader {
    fn start(endpoint: SocketAddr) -> Reader {
        let (over, ended) = mpsc::channel();
        let thread = thread::spawn(move || {
            let mut fetched = 0;
            while ended.recv_timeout(Duration::from_secs(1)) == Err(RecvTimeoutError::Timeout) {
                fetched += u32::from(fetch(endpoint).is_ok());
            }
            fetched
        });
        Reader { over, thread }
    }

    /// Ends the thread. Returns how often it has fetched the metrics.
    fn finish(self) -> u32 {
        drop(self.over);
        self.thread.join().expect("the reader does not panic")
    }
}

/// Fetches the metrics.
fn fetch(endpoint: SocketAddr) -> Result<()> {
    let mut stream = TcpStream::connect(endpoint)?;
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {endpoint}\r\nConnection: close\r\n\r\n")?;
    let mut page = String::new();
    stream.read_to_string(&mut page)?;
    ensure!(page.contains("weir_live_"), "no metrics: {page}");
    Ok(())
}
