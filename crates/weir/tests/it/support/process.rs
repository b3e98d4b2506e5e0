//! A child process that ends with its test. It can be sent signals, and its output can be awaited.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use super::wait::GUARD;

/// A child whose output is collected while it runs.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    stdout: Option<BufReader<ChildStdout>>,
    stderr: Option<JoinHandle<String>>,
}

/// The exit status and the output of a child.
#[derive(Debug)]
pub(crate) struct Output {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Process {
    pub(crate) fn start(command: &mut Command) -> Process {
        let piped = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let stdout = child.stdout.take().map(BufReader::new);
        let stderr = child.stderr.take().map(read_aside);
        Process { child, stdout, stderr }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// True if it has ended; its messages are then added to the test's output.
    pub(crate) fn has_ended(&mut self) -> bool {
        let has_ended = self.child.try_wait().expect("it is a child").is_some();
        if let Some(stderr) = self.stderr.take_if(|_| has_ended) {
            eprintln!("{}", stderr.join().expect("it is text"));
        }
        has_ended
    }

    /// Reads the next line of its standard output, without the end of the line.
    pub(crate) fn next_line(&mut self) -> String {
        let mut line = String::new();
        let stdout = self.stdout.as_mut().expect("not waited for yet");
        stdout.read_line(&mut line).expect("its output is text");
        assert!(line.ends_with('\n'), "{self:?} ended instead of printing a line: {line:?}");
        line.trim_end().to_owned()
    }

    /// Sends signals, in order, as `kill` names them.
    pub(crate) fn signal(&self, names: &[&str]) {
        let id = self.id();
        let script: Vec<String> = names.iter().map(|name| format!("kill -s {name} {id}")).collect();
        let status = Command::new("sh").arg("-c").arg(script.join(" && ")).status();
        assert!(status.is_ok_and(|status| status.success()), "{script:?}");
    }

    /// Waits for its end; the test fails if the end does not come.
    pub(crate) fn wait(mut self) -> Output {
        let id = self.id();
        let (over, is_over) = mpsc::channel::<()>();
        let guard = thread::spawn(move || {
            if is_over.recv_timeout(GUARD) == Err(mpsc::RecvTimeoutError::Timeout) {
                eprintln!("process {id} hangs and is killed");
                let _too_late = Command::new("sh").arg("-c").arg(format!("kill -9 {id}")).status();
            }
        });
        let mut stdout = String::new();
        let mut reader = self.stdout.take().expect("waited for once");
        reader.read_to_string(&mut stdout).expect("its output is text");
        let status = self.child.wait().expect("it is a child");
        drop(over);
        guard.join().expect("the guard cannot panic");
        let stderr = self.stderr.take().expect("waited for once").join().expect("it is text");
        Output { status, stdout, stderr }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail when it has ended already.
        let _ended = self.child.kill();
        let _waited = self.child.wait();
    }
}

impl Output {
    /// The exit code; a process that a signal killed has none.
    pub(crate) fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("killed by {:?}", self.status.signal()))
    }
}

fn read_aside(mut source: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut text = String::new();
        source.read_to_string(&mut text).expect("its messages are text");
        text
    })
}
