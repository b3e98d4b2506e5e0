//! Scripts in files of their own, run as a program would run them.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use weir_script::{Errors, Main, Mode, Options, ScriptError, Statistics, Summary, WorkerState};

pub(crate) const URL: &str = "http://example.test:8080/a?b=c";

/// A directory that is removed when the value is dropped.
pub(crate) struct Directory(pub(crate) PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("weir-script-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        // A directory that remains fails no test.
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn options(file: PathBuf) -> Options {
    Options {
        file,
        url: URL.to_owned(),
        scheme: "http".to_owned(),
        host: "example.test".to_owned(),
        port: Some("8080".to_owned()),
        is_ipv4: None,
        path: "/a?b=c".to_owned(),
        headers: Vec::new(),
        args: Vec::new(),
        sends_both_lengths: false,
        mode: Mode::ClosedLoop,
        memory_limit_bytes: 64 << 20,
        source: None,
        calling: Arc::default(),
    }
}

/// A main state, and the file that its workers read again.
pub(crate) struct Script {
    pub(crate) main: Main,
    _directory: Directory,
}

impl Script {
    /// Loads the script with options changed at will; the target has two addresses.
    pub(crate) fn load(
        script: &str,
        change: impl FnOnce(&mut Options),
    ) -> Result<Self, ScriptError> {
        let directory = Directory::new();
        let mut options = options(directory.write("script.lua", script));
        change(&mut options);
        let mut main = Main::load(options)?;
        main.set_addresses(&["127.0.0.1:80".parse().unwrap(), "[::1]:80".parse().unwrap()])?;
        Ok(Self { main, _directory: directory })
    }

    /// Loads it with the given number of workers.
    pub(crate) fn with_workers(script: &str, count: usize) -> Self {
        let mut script = Self::load(script, |_| ()).unwrap();
        for _ in 0..count {
            script.main.add_worker().unwrap();
        }
        script
    }

    /// Returns the first line of the error that `done` raises.
    pub(crate) fn done_error(&mut self) -> String {
        let nothing = Statistics::default();
        let error = self.main.done(&summary(), &nothing, &nothing).unwrap_err();
        error.message.lines().next().unwrap().to_owned()
    }
}

/// Returns the only worker of a script.
pub(crate) fn worker_with(
    script: &str,
    change: impl FnOnce(&mut Options),
) -> Result<WorkerState, ScriptError> {
    let mut script = Script::load(script, change)?;
    script.main.add_worker()?;
    Ok(script.main.take_workers().remove(0))
}

pub(crate) fn worker_of(script: &str) -> WorkerState {
    worker_with(script, |_| ()).unwrap()
}

pub(crate) fn request(worker: &mut WorkerState) -> String {
    String::from_utf8_lossy(worker.request(Some(0)).unwrap()).into_owned()
}

/// Returns the result of `request()` in the only worker.
pub(crate) fn request_of(script: &str) -> String {
    request(&mut worker_of(script))
}

/// Returns the same for the body of `request` alone, with options changed at will.
pub(crate) fn returned(body: &str, change: impl FnOnce(&mut Options)) -> String {
    let script = format!("function request() {body} end");
    request(&mut worker_with(&script, change).unwrap())
}

pub(crate) fn summary() -> Summary {
    let errors = Errors { connect: 1, read: 2, write: 3, status: 4, timeout: 5 };
    Summary { duration_us: 10_000_000, requests: 1_000, bytes: 1 << 40, errors }
}
