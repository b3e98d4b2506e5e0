//! A nats-server of a run's own, on loopback, with a password that no list of processes shows.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, io, thread};

use anyhow::{Context, Result, bail};
use weir_machine::sys;

use super::local_agent::HelperProcess;
use crate::terminal::shown;

/// Name of the server's program.
const PROGRAM: &str = "nats-server";

/// Begin of the names of directories of such servers; the process id and a random number follow.
const DIRECTORY: &str = "weir-bus-";

/// Time for the server to listen.
const STARTS_WITHIN: Duration = Duration::from_secs(10);

/// A running nats-server, which ends with this value, or with the thread that started it.
#[derive(Debug)]
pub(crate) struct PrivateBus {
    process: HelperProcess,
    directory: PathBuf,
    /// Its address, with user and password.
    pub(crate) address: String,
}

impl PrivateBus {
    /// Starts the server.
    ///
    /// # Errors
    /// When it is not installed, or does not begin to listen.
    pub(crate) fn start() -> Result<PrivateBus> {
        remove_abandoned();
        let secret = random().context("no random password can be made")?;
        let name = format!("{DIRECTORY}{}-{}", std::process::id(), &secret[..8]);
        let made = places().into_iter().find_map(|place| {
            let directory = place.join(&name);
            let made = DirBuilder::new().mode(0o700).create(&directory);
            made.is_ok().then_some(directory)
        });
        let directory = made.context("the bus has no directory: set TMPDIR to one")?;
        let started = Self::start_in(&directory, &secret);
        if started.is_err() {
            let _stays = fs::remove_dir_all(&directory);
        }
        started
    }

    fn start_in(directory: &Path, secret: &str) -> Result<PrivateBus> {
        let configuration = directory.join("nats.conf");
        let place = shown(directory);
        let text = format!(
            "listen: \"127.0.0.1:-1\"\nports_file_dir: \"{place}\"\nlogfile: \"{place}/log\"\n\
             jetstream {{ store_dir: \"{place}/jetstream\" }}\n\
             authorization {{ user: weir, password: \"{secret}\" }}\n"
        );
        let mut file = OpenOptions::new();
        let file = file.write(true).create_new(true).mode(0o600).open(&configuration);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .context("the bus has no configuration")?;
        let child = match spawn(&configuration) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => bail!(
                "--agents needs {PROGRAM}, and it is not installed: apt install nats-server, or \
                 https://nats.io/download; or give the address of one: --bus nats://HOST"
            ),
            child => child.with_context(|| format!("{PROGRAM} cannot be started"))?,
        };
        let directory = directory.to_owned();
        let mut bus =
            PrivateBus { process: HelperProcess(child), directory, address: String::new() };
        let host = bus.listening()?;
        bus.address = format!("nats://weir:{secret}@{host}");
        Ok(bus)
    }

    /// Waits until the server listens, and returns host and port.
    fn listening(&mut self) -> Result<String> {
        let ports = self.directory.join(format!("{PROGRAM}_{}.ports", self.process.0.id()));
        let begun = Instant::now();
        while begun.elapsed() < STARTS_WITHIN {
            let text = fs::read(&ports).unwrap_or_default();
            let ports: Option<serde_json::Value> = serde_json::from_slice(&text).ok();
            let url = ports.as_ref().and_then(|ports| ports["nats"][0].as_str());
            if let Some(host) = url.and_then(|url| url.strip_prefix("nats://")) {
                return Ok(host.to_owned());
            }
            if self.process.0.try_wait().is_ok_and(|ended| ended.is_some()) {
                break;
            }
            thread::sleep(Duration::from_millis(10));
        }
        let log = fs::read_to_string(self.directory.join("log")).unwrap_or_default();
        let last = log.lines().last().unwrap_or("it has logged nothing");
        bail!("{PROGRAM} does not listen: {last}");
    }
}

impl Drop for PrivateBus {
    fn drop(&mut self) {
        // The server writes until it is told to end.
        let _ended = self.process.0.kill();
        let _ended = self.process.0.wait();
        // The next start removes what stays.
        let _stays = fs::remove_dir_all(&self.directory);
    }
}

/// Starts the program that is on PATH, or the one beside weir: an archive contains both.
fn spawn(configuration: &Path) -> io::Result<Child> {
    let spawn = |program: &Path| {
        let mut command = Command::new(program);
        command.arg("-c").arg(configuration);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        sys::end_with_this_thread(&mut command).spawn()
    };
    match spawn(Path::new(PROGRAM)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            spawn(&env::current_exe()?.with_file_name(PROGRAM))
        }
        child => child,
    }
}

/// Returns the places for the files of a server: a container may have the second alone.
fn places() -> [PathBuf; 2] {
    [env::temp_dir(), PathBuf::from("/dev/shm")]
}

/// Returns 128 random bits as hexadecimal text.
fn random() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Removes the directories of servers whose weir has been killed.
fn remove_abandoned() {
    let entries = places().into_iter().filter_map(|place| fs::read_dir(place).ok());
    for entry in entries.flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix(DIRECTORY).and_then(|rest| rest.split_once('-'));
        if owner.is_some_and(|(id, _)| !Path::new("/proc").join(id).exists()) {
            // One of another user is that user's.
            let _stays = fs::remove_dir_all(entry.path());
        }
    }
}
