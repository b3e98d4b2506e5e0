//! A fleet whose bus lets in identities alone.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Receiver;

use weir_fleet::{Bus, BusAccess, BusMessage, Identity};

use super::directory::Directory;
use super::nats::start_nats;
use super::process::{Output, Process};
use super::weir::WEIR;

/// A fleet with three agents, and its bus.
#[derive(Debug)]
pub(crate) struct LockedFleet {
    pub(crate) place: Directory,
    pub(crate) address: String,
    pub(crate) nats: Process,
}

impl LockedFleet {
    pub(crate) fn start() -> LockedFleet {
        let place = Directory::new();
        made(&place, "fleet");
        let server = place.path().join("fleet/server");
        // The port is the test's own.
        let (nats, host) = start_nats(&server, &["-c", "nats.conf", "-a", "127.0.0.1", "-p", "-1"]);
        LockedFleet { place, address: format!("tls://{host}"), nats }
    }

    pub(crate) fn identity(&self, name: &str) -> PathBuf {
        self.place.path().join("fleet").join(name)
    }

    /// Returns weir with these words and an identity.
    pub(crate) fn weir(&self, words: &str, identity: &Path) -> Command {
        let mut command = Command::new(WEIR);
        command.args(words.split_whitespace()).args(["--bus", &self.address, "--identity"]);
        command.arg(identity).env_remove("WEIR_BUS");
        command
    }

    /// Runs weir, and returns what it printed to standard error before it ended with 2.
    #[track_caller]
    pub(crate) fn refused(&self, words: &str, identity: &Path) -> String {
        let Output { stderr, status, .. } = Process::start(&mut self.weir(words, identity)).wait();
        assert_eq!(status.code(), Some(2), "{stderr}");
        stderr
    }

    /// Connects to the bus as an identity.
    pub(crate) fn connect(&self, name: &str, subjects: &[&str]) -> (Bus, Receiver<BusMessage>) {
        let identity = Identity::read(&self.identity(name)).expect("it was made");
        let access = BusAccess { address: self.address.clone(), identity: Some(identity) };
        Bus::connect(&access, name, subjects).expect("the bus lets it in")
    }
}

/// Makes a fleet in a directory.
pub(crate) fn made(place: &Directory, name: &str) {
    let words = ["fleet", "init", name, "--agents", "3"];
    let output = Process::start(Command::new(WEIR).args(words).current_dir(place.path())).wait();
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(output.stdout.contains("weir agent --bus tls://localhost"), "{output:?}");
}
