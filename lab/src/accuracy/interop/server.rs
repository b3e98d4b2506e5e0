//! A server program of another origin below the directory of `cargo xtask setup interop`, and its
//! log: a JSON object on each line, the first of them with versions and counters.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;
use xtask::guard::Guarded;
use xtask::shell::{need_program, root, tools_dir};

use crate::rig::{Fixture, pinned};

/// Place of the servers' sources, from the root of the repository.
const SOURCES: &str = "lab/src/accuracy";

/// A server before its start.
pub(in crate::accuracy) struct ForeignServer {
    pub(in crate::accuracy) kind: ServerKind,
    /// Flags of the program, without `--log` and `--seed`.
    pub(in crate::accuracy) flags: String,
    pub(in crate::accuracy) seed: u64,
}

/// The programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::accuracy) enum ServerKind {
    /// Server-sent events by aiohttp, and a mock language model.
    Sse,
    /// gRPC by grpcio.
    Grpcio,
    /// Broken responses of gRPC, and a client by grpcio.
    BrokenGrpc,
    /// gRPC by google.golang.org/grpc.
    GrpcGo,
    /// WebSocket by `websockets` of Python.
    Websockets,
    /// WebSocket by `ws` of Node.
    Ws,
    /// A mock language model that checks conversations, by aiohttp.
    Conversations,
}

/// A running server.
pub(in crate::accuracy) struct RunningServer {
    guarded: Guarded,
    pub(in crate::accuracy) url: String,
    pub(super) log: PathBuf,
}

/// Log of a server that has ended.
pub(in crate::accuracy) struct ServerLog {
    /// The programs and libraries of the server.
    pub(in crate::accuracy) versions: String,
    /// First line: counters of the server.
    pub(in crate::accuracy) counters: Value,
    /// All other lines: requests, or connections.
    pub(in crate::accuracy) lines: Vec<Value>,
}

impl ServerKind {
    /// Returns the words that start the program.
    fn words(self) -> Result<Vec<OsString>> {
        let python = "interop/python/bin/python";
        let (program, script) = match self {
            ServerKind::Sse => (python, "interop/sse.py"),
            ServerKind::Grpcio => (python, "interop/grpc_server.py"),
            ServerKind::BrokenGrpc => (python, "interop/broken_grpc.py"),
            ServerKind::Websockets => (python, "interop/websockets_server.py"),
            ServerKind::GrpcGo => ("interop/grpc-go", "interop/service.json"),
            ServerKind::Ws => ("ws/node_modules", "interop/ws/server.js"),
            ServerKind::Conversations => {
                ("conversations/python/bin/python", "conversations/model.py")
            }
        };
        let program = tools_dir()?.join(program);
        ensure!(
            program.exists(),
            "failed to find {}: cargo xtask setup interop",
            program.display()
        );
        let script = root()?.join(SOURCES).join(script).into_os_string();
        Ok(match self {
            ServerKind::GrpcGo => vec![program.into(), "--schema".into(), script],
            ServerKind::Ws => {
                let mut modules = OsString::from("NODE_PATH=");
                modules.push(program);
                vec!["env".into(), modules, need_program("node", "interop")?.into(), script]
            }
            _ => vec![program.into(), script],
        })
    }
}

impl ForeignServer {
    /// Starts the server and waits until it listens.
    pub(in crate::accuracy) fn start(&self, fixture: &Fixture) -> Result<RunningServer> {
        let log = fixture.directory.join(format!("interop-{:?}.jsonl", self.kind));
        // A log of an earlier run would be compared.
        fs::remove_file(&log).ok();
        let [program, rest @ ..] = &self.kind.words()?[..] else { bail!("no program") };
        let mut words = pinned(fixture.placement.server, Path::new(program));
        words.extend(rest.iter().cloned());
        words.extend(["--log".into(), log.clone().into()]);
        words.extend(["--seed".into(), self.seed.to_string().into()]);
        words.extend(self.flags.split_whitespace().map(OsString::from));
        let mut guarded = Guarded::start(&words)?;
        let url = guarded.listening_url().context("failed to start a server")?;
        Ok(RunningServer { guarded, url, log })
    }
}

impl RunningServer {
    /// Ends the server, which then writes its log, and reads that.
    pub(in crate::accuracy) fn finish(self) -> Result<ServerLog> {
        let RunningServer { guarded, log, .. } = self;
        let ended = Command::new("kill").arg(guarded.pid.to_string()).status();
        ensure!(ended.context("failed to start kill")?.success(), "the server has ended by itself");
        drop(guarded);
        ServerLog::read(&fs::read_to_string(log).context("the server wrote no log")?)
    }
}

impl ServerLog {
    fn read(text: &str) -> Result<ServerLog> {
        let lines: Result<Vec<Value>, _> = text.lines().map(serde_json::from_str).collect();
        let mut lines = lines.context("failed to read the server's log")?.into_iter();
        let counters = lines.next().context("the server's log is empty")?;
        let versions = counters["versions"].as_str().unwrap_or("unknown").to_owned();
        Ok(ServerLog { versions, counters, lines: lines.collect() })
    }
}

/// Returns a number of a line.
pub(in crate::accuracy) fn number(line: &Value, name: &str) -> Result<u64> {
    line[name].as_u64().with_context(|| format!("a line of the log has no {name}: {line}"))
}

/// Returns a text of a line.
pub(in crate::accuracy) fn text<'a>(line: &'a Value, name: &str) -> Result<&'a str> {
    line[name].as_str().with_context(|| format!("a line of the log has no {name}: {line}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_begins_with_its_counters() {
        let log = "{\"versions\": \"a 1\", \"accepted\": 2}\n{\"id\": 0, \"end\": \"cut\"}\n";
        let log = ServerLog::read(log).expect("two lines");
        assert_eq!((log.versions.as_str(), log.lines.len()), ("a 1", 1));
        assert_eq!(number(&log.counters, "accepted").expect("a number"), 2);
        assert_eq!(text(&log.lines[0], "end").expect("a text"), "cut");
        assert!(number(&log.lines[0], "bytes").is_err());
        assert!(ServerLog::read("").is_err() && ServerLog::read("{").is_err());
    }
}
