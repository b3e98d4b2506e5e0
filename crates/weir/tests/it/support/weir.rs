//! Runs of `weir`: started with arguments, awaited, and checked by their exit code, both outputs,
//! and the document.

use std::process::Command;

use weir_result::document::{Metric, Summary};
use weir_result::quantile::{AllOutcomes, Bound};
use weir_result::{Document, FailurePhase};

use super::directory::Directory;
use super::process::{Output, Process};

/// The program under test.
pub(crate) const WEIR: &str = env!("CARGO_BIN_EXE_weir");

/// Runs `weir` with words separated by blanks, plus `more` words that may contain blanks.
pub(crate) fn weir(words: &str, more: &[&str]) -> Output {
    Process::start(Command::new(WEIR).args(words.split_whitespace()).args(more)).wait()
}

/// Flags with sources that are read within a time.
const WATCHES: [&str; 4] =
    ["--watch-nginx", "--watch-prometheus", "--access-log", "--watch-command"];

/// A load under way, whose document goes to a file.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) process: Process,
    pub(crate) directory: Directory,
}

/// A load that has ended and was reported.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    /// The report.
    pub(crate) text: String,
    pub(crate) stderr: String,
    pub(crate) document: Document,
}

/// Starts a load on `engine`.
pub(crate) fn start(engine: &str, words: &str, more: &[&str]) -> Running {
    start_by(Command::new(WEIR), engine, words, more)
}

/// Starts a load through `by`, a command that passes its further arguments to weir.
pub(crate) fn start_by(mut by: Command, engine: &str, words: &str, more: &[&str]) -> Running {
    let directory = Directory::new();
    let words: Vec<&str> = words.split_whitespace().chain(more.iter().copied()).collect();
    let output = directory.file("run.json");
    by.args(["--no-verdict", "--io", engine, "--output", &output]);
    // Two busy CPUs would spoil the verdict, and servers would count the requests of a witness. The
    // drain is long enough for every response of a window, even on busy CPUs.
    for (flag, value) in [("--witness", "off"), ("--drain", "10s")] {
        if !words.contains(&flag) {
            by.args([flag, value]);
        }
    }
    // So are the pages and logs of a watched server.
    let is_watching = words.iter().any(|word| WATCHES.contains(word));
    if is_watching && !words.contains(&"--watch-timeout") {
        by.args(["--watch-timeout", "60s"]);
    }
    by.args(words);
    Running { process: Process::start(&mut by), directory }
}

/// Runs a load, and checks that it used less than 64 MiB of memory.
pub(crate) fn load_weighed(engine: &str, words: &str, more: &[&str]) -> Ran {
    let ran = load(engine, words, more);
    ran.assert_small();
    ran
}

/// Runs a load on `engine` to its end.
pub(crate) fn load(engine: &str, words: &str, more: &[&str]) -> Ran {
    start(engine, words, more).finish()
}

impl Running {
    /// Waits for the end. There must be a document; loading it checks that its numbers add up.
    pub(crate) fn finish(self) -> Ran {
        let output = self.process.wait();
        let code = output.code();
        let Output { stdout: text, stderr, .. } = output;
        let document = Document::load(self.directory.file("run.json"))
            .unwrap_or_else(|error| panic!("{error}: exit {code}\n{text}\n{stderr}"));
        Ran { code, text, stderr, document }.checked()
    }
}

impl Ran {
    /// Checks the properties of every run.
    fn checked(self) -> Ran {
        let results = &self.document.results;
        let classes = results.outcomes.ok
            + results.outcomes.bad_response
            + results.outcomes.transport_error
            + results.outcomes.timed_out
            + results.outcomes.in_flight_at_end
            + results.outcomes.never_sent;
        assert_eq!(classes, results.planned, "{self}");
        for line in self.text.lines() {
            assert!(line.chars().count() <= 80, "too wide: {line:?}\n{self}");
        }
        let warmup_ns = self.document.plan.load.warmup.span_ns;
        let duration_ns = self.document.plan.load.duration_ns;
        let stopped = self.document.script.as_ref().is_some_and(|script| script.stopped > 0);
        let is_whole = !self.document.run.interrupted && !stopped;
        // A run without any connection ends before its window.
        let began = |phases: &&weir_result::document::Phases| phases.t0_ns > 0;
        for phases in self.document.phases.iter().filter(|_| is_whole).filter(began) {
            let t0 = phases.start_ns + warmup_ns;
            assert!(phases.t0_ns >= t0, "t0 is early: {phases:?}\n{self}");
            if let (Some(duration_ns), None) = (duration_ns, self.document.plan.load.requests) {
                assert!(phases.t1_ns >= t0 + duration_ns, "t1 is early: {phases:?}\n{self}");
            }
        }
        self
    }

    /// Checks that the run used less than 64 MiB of memory.
    pub(crate) fn assert_small(&self) {
        let most = self.document.run.client.max_resident_bytes;
        assert!(most < 64 << 20, "{most} bytes: {self}");
    }

    /// Checks that at least one request was planned, and that all of them succeeded.
    pub(crate) fn assert_all_ok(&self) {
        let results = &self.document.results;
        assert_eq!(results.outcomes.ok, results.planned, "{self}");
        assert!(results.outcomes.ok > 0 && self.code == 0, "{self}");
    }

    /// Connects of the load itself.
    pub(crate) fn connects(&self) -> u64 {
        let connections = &self.document.connections;
        connections.connects - connections.connects_probe - connections.connects_witness
    }

    /// Checks that no connection failed.
    pub(crate) fn assert_no_failure(&self) {
        assert_eq!(self.document.connections.failures, [], "{self}");
        assert!(!self.text.contains("failed"), "{self}");
    }

    /// Failures of connections in one phase with one cause, or with one errno.
    pub(crate) fn failures(&self, phase: FailurePhase, cause: &str) -> u64 {
        let failures = &self.document.connections.failures;
        let of_kind = failures.iter().filter(|failure| {
            failure.phase == phase
                && (failure.cause == cause || failure.errno.as_deref() == Some(cause))
        });
        of_kind.map(|failure| failure.count).sum()
    }

    /// Checks that the report contains `part`, regardless of line breaks.
    pub(crate) fn assert_says(&self, part: &str) {
        let text = self.text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "the report lacks {part:?}\n{self}");
    }

    /// Checks that every percentile of the response time is a bound, and at least `least_ns`.
    pub(crate) fn assert_only_bounds(&self, least_ns: u64) {
        let summary = self.response_time();
        assert!(!summary.percentiles.is_empty(), "{self}");
        for value in &summary.percentiles {
            // If the client lacked CPU time, it is unknown from above too.
            let is_bound = matches!(value.bound, Bound::Lower | Bound::Unknown);
            assert!(is_bound, "p{}\n{self}", value.p);
            assert!(value.ns >= least_ns, "p{} is {} ns\n{self}", value.p, value.ns);
        }
        let results = &self.document.results;
        self.assert_says(match (results.outcomes.ok, results.outcomes.bad_response) {
            (0, 0) => "Latency unknown: no request of the window got a response",
            (0, _) => "Latency of bad responses",
            _ => "max",
        });
    }

    /// Checks that the largest response times are at least `lower_bounds_ns`, in descending order.
    pub(crate) fn assert_tail(&self, lower_bounds_ns: &[u64]) {
        let all = AllOutcomes::of(&self.document.results.response_time.times);
        for (rank, least_ns) in (1..=all.count()).rev().zip(lower_bounds_ns) {
            let ns = all.value_at_rank(rank).map_or(0, |value| value.ns);
            assert!(ns >= *least_ns, "the one of rank {rank} is {ns} ns, not {least_ns}\n{self}");
        }
    }

    /// The headline of the response time.
    pub(crate) fn response_time(&self) -> &Summary {
        self.document.results.response_time.headline()
    }
}

impl std::fmt::Display for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Ran { code, text, stderr, document } = self;
        write!(f, "exit {code}\n{text}{stderr}{:?}\n", document.connections)?;
        writeln!(f, "{:?}", document.results.outcomes)?;
        write!(f, "{:?}\n{:?}", document.accounting, document.phases)
    }
}

/// The sum of the times of `ok` requests, in nanoseconds.
pub(crate) fn sum_ns(metric: &Metric) -> u128 {
    metric.times.ok.exact().sum_ns
}
