//! Exports of histograms, read by HdrHistogram's packages for Java and for Python, and rows, read
//! by DuckDB. `cargo xtask setup test` installs them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_report::raw::{RawAbout, RawTrial, RawWriter};
use weir_result::document::{SeriesEntry, SeriesPhase};
use weir_result::{Document, Plan, RawRow};

use crate::exports::export;
use crate::fixture::{Fixture, MS, fine, with_series};

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
    // The build directory is two above this program's, target/debug/deps.
    let program = std::env::current_exe().expect("a path");
    program.ancestors().nth(3).expect("a build directory").join("tools")
}

/// Returns a script with the Python of an environment, reading a file.
fn python(environment: &str, script: &str, file: &Path) -> Command {
    let mut command = Command::new(tools().join(format!("{environment}/bin/python")));
    command.arg(format!("{READERS}/{script}")).arg(file);
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
    let encoded = spread.results.response_time.times.ok.to_text();
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
    let mut reader = python("hdrhistogram", "read_histograms.py", &log);
    assert_eq!(lines_of(&mut reader), series.collect::<Vec<_>>());
}

#[test]
fn duckdb_reads_the_rows_of_a_study() {
    let scratch = Scratch::new("duckdb");
    let path = scratch.file("rows.parquet", "");
    let file = fs::File::create(&path).expect("a file");
    let mut writer = RawWriter::of_study(file, "0.1.0").expect("a disk");
    let plan = Plan::default();
    for (number, variant, count) in [(1, "old", 3), (2, "new", 200_000), (3, "", 2)] {
        let trial = RawTrial { number, variant: variant.to_owned() };
        writer.begin_trial(trial).expect("a disk");
        writer.set_names(&["home", "=商 'x'"].map(str::to_owned)).expect("a disk");
        let rows = (1..=count).map(|at| {
            let name = (at % 2) as u16;
            RawRow { ended_at: at, status: 200, name, ..RawRow::EMPTY }
        });
        writer.write(&rows.collect::<Vec<_>>()).expect("a disk");
        let about = RawAbout {
            run_id: "3f1c",
            epoch_unix_ns: 1,
            epoch_monotonic_ns: 2,
            t0_ns: None,
            t1_ns: None,
            lost: 0,
            plan: &plan,
        };
        writer.end_run(&about).expect("a disk");
    }
    writer.finish().expect("a disk");
    let rows = ["1 old 3 3 200", "2 new 200000 200000 200", "3 - 2 2 200"];
    let metadata = ["1 3", "2 200000", "3 2"];
    let names = ["=商 'x' 100003", "home 100002"];
    let found = lines_of(&mut python("duckdb", "read_rows.py", &path));
    assert_eq!(found, [&rows[..], &metadata, &names].concat());
}
