//! The client of a load, as this machine allows it: threads, CPUs, send strategy and I/O engine.

use anyhow::{Result, anyhow};
use weir_io::{Engine, EngineChoice};
use weir_machine::Root;
use weir_result::{IoEngine, Note, Pacing};
use weir_text::setting::IO;

use crate::prepare::connections;
use crate::prepare::planned::Planned;
use crate::prepare::threads::{Cpus, Threads};
use crate::spec::RunSpec;

/// The client of a load.
#[derive(Debug)]
pub(crate) struct PlannedClient {
    /// CPUs to which workers are pinned, in turn: none without `--pin`.
    pub(crate) cpus: Vec<u32>,
    /// Worker threads.
    pub(crate) threads: Threads,
    /// Send strategy.
    pub(crate) pacing: Pacing,
    /// I/O engine.
    pub(crate) io: IoEngine,
    /// True if workers may busy-poll in a closed loop: a CPU is left for the server.
    pub(crate) may_poll: bool,
}

impl PlannedClient {
    /// Returns the client for a load on a server that runs on this machine or not
    /// (`is_server_local`), with a script or without, on an I/O engine of `io`.
    ///
    /// # Errors
    /// When this machine does not allow its threads, or lacks the engine.
    pub(crate) fn of(
        spec: &RunSpec,
        cpus: Cpus,
        is_server_local: bool,
        has_scripts: bool,
        io: EngineChoice,
    ) -> Result<Planned<PlannedClient>> {
        let least = connections::threads_min(spec.load.connections.most(), has_scripts);
        let threads = cpus.threads(spec, is_server_local, least);
        let own = threads.within_limits(&Root::machine())?;
        let pacing = spec.engine.pacing.unwrap_or_else(|| cpus.pacing(own));
        let may_poll = is_server_local && spec.compat.is_none() && cpus.may_poll(pacing, own);
        let engine = engine(io, own)?;
        let mut notes = cpus.notes(spec, &threads);
        notes.extend(engine.notes);
        let cpus = cpus.pinned;
        let client = PlannedClient { cpus, threads, pacing, io: engine.value, may_poll };
        Ok(Planned::noted(client, notes))
    }
}

/// Maximum threads for which `auto` uses io_uring. Setting up 5,000 rings took 3.2 s, as many epoll
/// descriptors 0.7 s, and both carried the load equally well (two CPUs, Linux 6.18).
const RINGS_MAX: u32 = 1_024;

fn engine(choice: EngineChoice, threads: u32) -> Result<Planned<IoEngine>> {
    if let EngineChoice::Only(engine) = choice {
        let word = engine.info().word;
        let failed = |error| anyhow!("{IO} {word} does not work here: {error}; use {IO} epoll");
        return engine.probe().map(|()| Planned::of(in_documents(engine))).map_err(failed);
    }
    let (id, reason) = if std::env::var_os("LD_PRELOAD").is_some_and(|value| !value.is_empty()) {
        let reason = format!(
            "LD_PRELOAD is set: epoll is used, since preloaded libraries do not see io_uring; {IO} \
             uring forces it"
        );
        ("epoll_for_preload", reason)
    } else if threads > RINGS_MAX {
        let reason = format!(
            "epoll is used: {threads} threads start sooner with it; {IO} uring forces io_uring"
        );
        ("epoll_for_threads", reason)
    } else if let Err(error) = Engine::Uring.probe() {
        ("epoll_fallback", format!("epoll is used: {error}"))
    } else {
        return Ok(Planned::of(IoEngine::IoUring));
    };
    Ok(Planned::noted(IoEngine::Epoll, vec![Note::new(id, reason)]))
}

/// Returns the engine by which documents name one of weir-io.
fn in_documents(engine: Engine) -> IoEngine {
    IoEngine::named(engine.name()).expect("documents have every engine, as a test demands")
}

#[cfg(test)]
mod tests {
    use weir_io::ENGINES;

    use super::*;

    #[test]
    fn documents_have_every_engine() {
        for info in ENGINES {
            assert_eq!(in_documents(info.engine).to_string(), info.name);
        }
    }
}
