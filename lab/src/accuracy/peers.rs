//! Other load generators: their command lines for the same load at a rate, as far as they support
//! one.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};

use crate::rig::{Fixture, Peer, Printed, pinned};

/// A load, independent of any program's command line.
#[derive(Clone, Copy, Debug)]
pub(super) struct RatedLoad {
    pub(super) connections: u32,
    pub(super) duration_s: u32,
    /// Rate, for programs that support one.
    pub(super) rate_rps: u32,
    pub(super) timeout_s: u32,
}

/// All programs, in the order of tables.
pub(super) const PEERS: [Peer; 6] =
    [Peer::Weir, Peer::Wrk2, Peer::Wrk, Peer::Ab, Peer::H2load, Peer::Hey];

impl Peer {
    /// True if the program sends by a plan, false if it waits for responses.
    pub(super) fn has_rate(self) -> bool {
        !matches!(self, Peer::Wrk | Peer::Ab)
    }

    fn flags(self, load: RatedLoad) -> String {
        let RatedLoad { connections, duration_s, rate_rps, timeout_s } = load;
        // These two expect a rate per connection.
        let share = f64::from(rate_rps) / f64::from(connections);
        match self {
            Peer::Weir => format!(
                "-t1 -c{connections} -d{duration_s}s --warmup 0 -R{rate_rps} -T{timeout_s}s \
                 --no-preflight --format json"
            ),
            Peer::Wrk => {
                format!("-t1 -c{connections} -d{duration_s}s --timeout {timeout_s}s --latency")
            }
            Peer::Wrk2 => format!(
                "-t1 -c{connections} -d{duration_s}s -R{rate_rps} --timeout {timeout_s}s --latency"
            ),
            Peer::Ab => {
                format!("-q -k -c {connections} -t {duration_s} -n 5000000 -s {timeout_s}")
            }
            Peer::H2load => {
                format!("--h1 -t1 -c {connections} -D {duration_s} --rps {share} -N {timeout_s}")
            }
            _ => format!("-z {duration_s}s -c {connections} -q {share} -t {timeout_s}"),
        }
    }

    /// Runs the program to its end, at most 30 s longer than the load, with the maximum number of
    /// open files.
    pub(super) fn run(self, fixture: &Fixture, load: RatedLoad, url: &str) -> Result<Printed> {
        let program = self.find().with_context(|| format!("failed to find {}", self.name()))?;
        let limit = (load.duration_s + 30).to_string();
        let flags = self.flags(load);
        eprintln!("accuracy: {} {flags}", self.name());
        let output = Command::new("sh")
            .args(["-c", r#"ulimit -n "$(ulimit -Hn)"; exec "$@""#, "peer"])
            .args(["timeout", "--signal", "INT", "--kill-after", "5", &limit])
            .args(pinned(fixture.placement.client, &program))
            .args(flags.split_whitespace())
            .arg(url)
            .stdin(Stdio::null())
            .output()
            .with_context(|| format!("failed to start {}", self.name()))?;
        let stdout = String::from_utf8_lossy(&output.stdout);
        let mut printed = self.read(&stdout);
        let is_failure = !output.status.success() && self != Peer::Weir;
        if is_failure {
            let stderr = String::from_utf8_lossy(&output.stderr);
            let last = stderr.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
            printed.failure = Some(format!("{}: {last}", output.status));
        }
        Ok(printed)
    }
}
