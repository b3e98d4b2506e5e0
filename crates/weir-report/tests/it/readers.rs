//! Exports of histograms, read by HdrHistogram's packages for Java and for Python, which `cargo
//! xtask setup test` installs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_result::Document;
use weir_result::document::{SeriesEntry, SeriesPhase};

use crate::exports::export;
use crate::fixture::{Fixture, MS, fine};
use crate::page::with_series;

const READERS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/readers");

/// A directory that is removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let directory = format!("weir-readers-{name}-{}", std::process::id());
        let directory = std::env::temp_dir().join(directory);
        fs::create_dir_all(&directory).expect("a directory");
        Scratch(directory)
    }

    fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, content).expect("a file");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _gone = fs::remove_dir_all(&self.0);
    }
}

/// Returns the lines that a reader prints.
fn lines_of(command: &mut Command) -> Vec<String> {
    let advice = "run `cargo xtask setup test`, which installs the readers";
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; {advice}"));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {stderr}\n{advice}");
    let text = String::from_utf8(output.stdout).expect("it is UTF-8");
    text.lines().map(str::to_owned).collect()
}

fn java(log: &Path, encoded: &Path) -> Command {
    let jars = ["/usr/share/java/hdrhistogram.jar", "/usr/share/java/HdrHistogram.jar"];
    let jar = jars.into_iter().find(|jar| Path::new(jar).exists());
    let jar = jar.expect("run `cargo xtask setup test`, which installs HdrHistogram's jar");
    let mut command = Command::new("java");
    command.args(["-XX:TieredStopAtLevel=1", "-cp", jar]);
    command.arg(format!("{READERS}/ReadHistograms.java")).args([log, encoded]);
    command
}

/// Returns the directory in which `cargo xtask setup` installs what is no package of the system.
pub(crate) fn tools() -> PathBuf {
    // The build directory is two above that of this program, target/debug/deps.
    let program = std::env::current_exe().expect("a path");
    program.ancestors().nth(3).expect("a build directory").join("tools")
}

fn python(log: &Path) -> Command {
    let mut command = Command::new(tools().join("hdrhistogram/bin/python"));
    command.arg(format!("{READERS}/read_histograms.py")).arg(log);
    command
}

/// The line that a reader prints for an interval. Times are rounded to milliseconds.
fn expected(document: &Document, entry: &SeriesEntry) -> String {
    let epoch_ms = document.run.epoch_unix_ns as f64 / 1e6;
    let t0_ms = document.phases[0].t0_ns as f64 / 1e6;
    let start = epoch_ms + t0_ms + 1e3 * entry.start_s;
    let known = |ns: Option<u64>| ns.expect("the interval has responses");
    let tag = match entry.phase {
        SeriesPhase::Warmup => "warmup",
        SeriesPhase::Measured => "-",
        SeriesPhase::Tail => "tail",
    };
    format!(
        "{tag} {:.0} {:.0} {} {} {} {}",
        start,
        start + 1e3 * entry.length_s,
        entry.completed,
        known(entry.p50_ns),
        known(entry.p90_ns),
        known(entry.p99_ns)
    )
}

fn run() -> Document {
    with_series(fine(Fixture::open_loop(20_000)).evidence().document(), 4, 1.0)
}

#[test]
fn java_reads_what_was_written() {
    let document = run();
    let scratch = Scratch::new("java");
    let log = scratch.file("run.hlog", &export("hlog", &document));
    // A total at which no step of the distribution is met exactly.
    let spread = Fixture::closed_loop().spread(9_973, 20_000, 90 * MS).document();
    let encoded = spread.latency.response_time.times.ok.to_text();
    let found = lines_of(&mut java(&log, &scratch.file("encoded", &encoded)));
    let (intervals, distribution) = found.split_at(document.series.len());
    let series = document.series.iter().map(|entry| expected(&document, entry));
    assert_eq!(intervals, series.collect::<Vec<_>>());
    let ours = export("hgrm", &spread);
    assert_eq!(distribution[0], "distribution");
    assert_eq!(distribution[1..], ours.lines().collect::<Vec<_>>());
}

#[test]
fn python_reads_what_was_written() {
    let document = run();
    let scratch = Scratch::new("python");
    let log = scratch.file("run.hlog", &export("hlog", &document));
    let series = document.series.iter().map(|entry| expected(&document, entry));
    assert_eq!(lines_of(&mut python(&log)), series.collect::<Vec<_>>());
}
