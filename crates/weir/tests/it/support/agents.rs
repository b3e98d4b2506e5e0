//! A run on several agents, as processes: weir with its own nats-server, and what it has started.

use std::fs;
use std::process::Command;

use weir_result::Document;

use super::directory::Directory;
use super::nats::nats_server;
use super::process::Process;
use super::served::Served;
use super::wait::until;
use super::weir::WEIR;

/// Returns weir with nats-server, which `cargo xtask setup test` installs, on its PATH, and with a
/// directory of its own for temporary files.
pub(crate) fn weir_with_nats(temporary: &Directory) -> Command {
    let mut command = Command::new(WEIR);
    command
        .env("PATH", nats_server().parent().expect("a directory"))
        .env("TMPDIR", temporary.path());
    command.env_remove("WEIR_BUS");
    command
}

/// Starts a load of this many agents that weir starts itself.
pub(crate) fn start(directory: &Directory, words: &str, url: Option<&str>) -> Process {
    let mut command = weir_with_nats(directory);
    command.args(["--no-verdict", "-o", &directory.file("run.json")]);
    Process::start(command.args(words.split_whitespace()).args(url))
}

pub(crate) fn document(directory: &Directory) -> Document {
    Document::load(directory.file("run.json")).expect("it was written")
}

/// Ids of the processes that a process has started.
pub(crate) fn children(of: u32) -> Vec<u32> {
    let text = fs::read_to_string(format!("/proc/{of}/task/{of}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|id| id.parse().ok()).collect()
}

pub(crate) fn command_line(id: u32) -> String {
    let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
    String::from_utf8_lossy(&words).replace('\0', " ")
}

/// True if a process has not ended.
pub(crate) fn is_alive(id: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

pub(crate) fn kill(id: u32) {
    let killed = Command::new("sh").arg("-c").arg(format!("kill -9 {id}")).status();
    assert!(killed.is_ok_and(|status| status.success()), "{id} has ended by itself");
}

/// Waits until the load is at the server. There must be no preflight.
pub(crate) fn await_load(server: &Served) {
    until("requests at the server", || (server.requests() > 20).then_some(()));
}
