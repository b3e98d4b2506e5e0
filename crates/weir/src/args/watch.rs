//! The flags that watch the server during a run, and keep facts beside its result.

use std::path::PathBuf;

use clap::Args;
use weir_runner::WatchSpec;

use super::values::positive_duration;
use super::wrong::wrong;

/// Heading of the flags.
const HEADING: &str = "Server";

/// The flags of the watch.
#[derive(Debug, Default, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct WatchArgs {
    /// Read nginx's stub_status before, during and after the load, and compare its count of
    /// requests with weir's
    #[arg(long, value_name = "URL")]
    watch_nginx: Option<String>,
    /// Read metrics of this Prometheus page once per second
    #[arg(long, value_name = "URL", requires = "watch_metric")]
    watch_prometheus: Option<String>,
    /// Metric of that page: NAME, or 'NAME{LABEL="VALUE"}'; repeatable
    #[arg(long, value_name = "METRIC", requires = "watch_prometheus")]
    watch_metric: Vec<String>,
    /// CPU, memory, descriptors and threads of a process on this machine, or of all with this name;
    /// repeatable
    #[arg(long, value_name = "PID|NAME")]
    watch_pid: Vec<String>,
    /// Call this shell command once per second; the last line it prints is a number, or name=value
    /// pairs; repeatable
    #[arg(long, value_name = "COMMAND")]
    watch_command: Vec<String>,
    /// Compare the lines that the server appends to its access log with weir's requests and status
    /// codes
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Time limit of one reading [default: 2s for a page, 5s for a command, 2s beyond the last new
    /// line for the access log]; all readings after the load end within twice this time, or 10 s
    #[arg(long, value_name = "T", value_parser = positive_duration)]
    watch_timeout: Option<u64>,
    /// Keep the output of this shell command, called before the load: 'nginx -V'; repeatable
    #[arg(long, value_name = "COMMAND")]
    capture: Vec<String>,
    /// Keep this fact in the document; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = fact)]
    note: Vec<(String, String)>,
}

impl WatchArgs {
    /// Checks that each note has a name of its own.
    ///
    /// # Errors
    /// When two have the same.
    pub(super) fn check(&self) -> Result<(), clap::Error> {
        let names: Vec<&String> = self.note.iter().map(|(name, _)| name).collect();
        match (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            Some(at) => Err(wrong(format!("--note {} is there twice: leave one out", names[at]))),
            None => Ok(()),
        }
    }

    /// Returns the specification.
    pub(crate) fn spec(&self) -> WatchSpec {
        WatchSpec {
            nginx: self.watch_nginx.clone(),
            prometheus: self.watch_prometheus.clone(),
            metrics: self.watch_metric.clone(),
            processes: self.watch_pid.clone(),
            commands: self.watch_command.clone(),
            access_log: self.access_log.clone(),
            timeout_ns: self.watch_timeout,
            captures: self.capture.clone(),
            notes: self.note.iter().cloned().collect(),
        }
    }
}

/// Parses `NAME=VALUE`.
pub(super) fn fact(text: &str) -> Result<(String, String), String> {
    match text.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("must be NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::super::Cli;
    use super::*;

    fn spec(words: &[&str]) -> Result<WatchSpec, String> {
        let words = ["weir"].iter().chain(words).chain(&["http://h/"]);
        let argv: Vec<OsString> = words.map(OsString::from).collect();
        let cli = Cli::of_words(argv).map_err(|error| error.to_string())?;
        Ok(cli.run.spec([]).watch)
    }

    #[test]
    fn flags_are_fields_of_the_specification() {
        assert_eq!(spec(&[]), Ok(WatchSpec::default()));
        let page = "http://h/p";
        let all = [
            ["--watch-nginx", page],
            ["--watch-prometheus", page],
            ["--watch-metric", "a"],
            ["--watch-metric", "b{c=\"d\"}"],
            ["--watch-pid", "nginx"],
            ["--watch-command", "echo 1"],
            ["--access-log", "access.log"],
            ["--watch-timeout", "3s"],
            ["--capture", "nginx -V"],
            ["--note", "kernel = new=er"],
            ["--note", "run=1"],
        ];
        let text = |text: &str| vec![text.to_owned()];
        let note = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = WatchSpec {
            nginx: Some(page.to_owned()),
            prometheus: Some(page.to_owned()),
            metrics: ["a", "b{c=\"d\"}"].map(str::to_owned).to_vec(),
            processes: text("nginx"),
            commands: text("echo 1"),
            access_log: Some("access.log".into()),
            timeout_ns: Some(3_000_000_000),
            captures: text("nginx -V"),
            notes: [note("kernel", "new=er"), note("run", "1")].into(),
        };
        assert_eq!(spec(&all.concat()), Ok(expected));
    }

    #[test]
    fn incomplete_flags_are_refused() {
        for (words, part) in [
            (&["--note", "x"][..], "NAME=VALUE"),
            (&["--note", "=x"], "NAME=VALUE"),
            (&["--watch-timeout", "0"], "--watch-timeout"),
            (&["--watch-metric", "a"], "--watch-prometheus"),
            (&["--watch-prometheus", "http://h/"], "--watch-metric"),
        ] {
            let error = spec(words).expect_err(part);
            assert!(error.contains(part), "{error}");
        }
    }
}
