//! Shell commands with a time limit and a limit of their output.

use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use weir_machine::sys::{self, unblock_in};

use crate::patience::{Over, Patience};

/// Maximum bytes of output that are kept.
const OUTPUT_MAX_BYTES: usize = 64 << 10;

/// Interval between two looks at a command that has closed its output.
const EVERY: Duration = Duration::from_millis(5);

/// Longest wait for the output of a command that was killed: a busy machine lets its reader wait.
const OUTPUT_WITHIN: Duration = Duration::from_secs(2);

/// The result of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ran {
    /// Exit status; `None` if a signal ended it.
    pub(super) exit_status: Option<i32>,
    /// First bytes of its output.
    pub(super) output: String,
    /// True if the output was longer.
    pub(super) truncated: bool,
    /// The limit that ended it, if one did.
    pub(super) over: Option<Over>,
}

/// Runs `command` in `sh`, in a process group of its own, which a signal to weir does not reach and
/// which is killed at the end of `patience`. With `errors`, the output has its standard error too.
///
/// # Errors
/// When the shell or a thread cannot be started.
pub(super) fn run(command: &str, patience: &Patience, errors: bool) -> io::Result<Ran> {
    let text = match errors {
        true => format!("exec 2>&1\n{command}"),
        false => command.to_owned(),
    };
    let mut shell = Command::new("sh");
    shell
        .args(["-c", &text])
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut child = unblock_in(&mut shell).spawn()?;
    let pipe = child.stdout.take();
    let (sender, receiver) = mpsc::channel();
    let read = move || {
        let read = pipe.map_or_else(Default::default, read_all);
        let _gone = sender.send(read);
    };
    let reader = thread::Builder::new().name("weir-command".to_owned()).spawn(read);
    if let Err(error) = reader {
        kill(&mut child);
        return Err(error);
    }
    let mut read = None;
    let status = loop {
        let slice = match patience.slice() {
            Ok(slice) => slice,
            Err(over) => break Err(over),
        };
        if read.is_none() {
            read = receiver.recv_timeout(slice).ok();
        } else if let Some(status) = child.try_wait()? {
            break Ok(status);
        } else {
            thread::sleep(EVERY);
        }
    };
    if status.is_err() {
        kill(&mut child);
    }
    // After the kill nothing holds the pipe open, unless a process has left the group.
    let read = read.or_else(|| receiver.recv_timeout(OUTPUT_WITHIN).ok());
    let (output, truncated) = read.unwrap_or_default();
    Ok(Ran {
        exit_status: status.ok().and_then(|status| status.code()),
        output: String::from_utf8_lossy(&output).into_owned(),
        truncated,
        over: status.err(),
    })
}

/// Reads to the end, and keeps the first bytes; true if there were more.
fn read_all(mut pipe: impl Read) -> (Vec<u8>, bool) {
    let mut kept = Vec::new();
    let mut bytes = [0; 4_096];
    let mut truncated = false;
    while let Ok(count @ 1..) = pipe.read(&mut bytes) {
        let room = OUTPUT_MAX_BYTES.saturating_sub(kept.len());
        truncated |= count > room;
        kept.extend_from_slice(&bytes[..count.min(room)]);
    }
    (kept, truncated)
}

/// Kills the process group of a child. The standard library can only kill the child itself.
fn kill(child: &mut Child) {
    if sys::kill_group(child.id()).is_err() {
        let _ended_by_itself = child.kill();
    }
    let _reaped = child.wait();
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::patience::Hurry;

    const GUARD: Duration = Duration::from_secs(60);

    fn run(command: &str, limit: Duration, errors: bool) -> io::Result<Ran> {
        super::run(command, &Patience::new(limit, &Hurry::default()), errors)
    }

    #[test]
    fn output_and_status_are_kept() {
        let ran = run("echo one; echo two >&2; exit 3", GUARD, true).expect("a shell");
        assert_eq!((ran.exit_status, ran.output.as_str()), (Some(3), "one\ntwo\n"));
        assert!(ran.over.is_none() && !ran.truncated);
        let ran = run("echo one; echo two >&2", GUARD, false).expect("a shell");
        assert_eq!((ran.exit_status, ran.output.as_str()), (Some(0), "one\n"));
    }

    #[test]
    fn output_has_a_limit() {
        let ran = run("head -c 100000 /dev/zero", GUARD, false).expect("a shell");
        assert_eq!((ran.output.len(), ran.truncated), (OUTPUT_MAX_BYTES, true));
    }

    #[test]
    fn a_command_that_does_not_end_is_killed_with_its_children() {
        let began = Instant::now();
        // A busy machine takes longer to start a shell.
        let spans = (0..6).map(|doubled| Duration::from_millis(500 << doubled));
        let runs = spans.map(|span| run("echo $$; sleep 1000 & sleep 1000", span, false));
        let ran = runs.map(|ran| ran.expect("a shell")).find(|ran| !ran.output.is_empty());
        let ran = ran.expect("a shell that has started");
        assert!(ran.over.is_some() && ran.exit_status.is_none(), "{ran:?}");
        assert!(began.elapsed() < GUARD);
        let group: u32 = ran.output.trim().parse().expect("the shell's number");
        while !living(group).is_empty() && began.elapsed() < GUARD {
            thread::yield_now();
        }
        assert_eq!(living(group), Vec::<u32>::new(), "left behind");
    }

    #[test]
    fn a_signal_ends_a_command() {
        let hurry = Hurry::default();
        hurry.set();
        let ran = super::run("sleep 1000", &Patience::new(GUARD, &hurry), false);
        assert_eq!(ran.expect("a shell").over, Some(Over::Signal));
    }

    /// Returns the processes of a group that have not ended.
    fn living(group: u32) -> Vec<u32> {
        let ids = std::fs::read_dir("/proc").expect("/proc");
        let ids = ids.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let is_living = |id: &u32| {
            // proc_pid_stat(5): behind the name in parentheses the state, the parent, the group.
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            let fields = stat.rsplit_once(") ").map_or("", |(_, fields)| fields);
            let fields: Vec<&str> = fields.split(' ').collect();
            fields.get(2) == Some(&group.to_string().as_str()) && fields[0] != "Z"
        };
        ids.filter(is_living).collect()
    }
}
