//! Commands of `--before` and `--after`.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use weir_machine::sys::{self, unblock_in};
use weir_result::study::HookRun;

/// Greatest length of the output that is kept, in bytes: its end.
const OUTPUT_MAX: u64 = 16 << 10;

/// Interval between two looks at the command.
const EVERY: Duration = Duration::from_millis(10);

/// Runs a command with `sh -c`, until it ends, its time is over, or `is_interrupted`. A process
/// that it leaves behind, such as a server, goes on.
///
/// # Errors
/// When the shell cannot be started.
pub(super) fn run(
    command: &str,
    variables: &[(&str, String)],
    timeout: Duration,
    is_interrupted: impl Fn() -> bool,
) -> io::Result<HookRun> {
    let mut output = output_file()?;
    let from = Instant::now();
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(command)
        .envs(variables.iter().map(|(name, value)| (*name, value)))
        .stdin(Stdio::null())
        // A file and no pipe: a server that the command starts may hold it open for ever.
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        // Ctrl-C ends weir in order; the command is ended by weir.
        .process_group(0);
    let mut child = unblock_in(&mut shell).spawn()?;
    let (status, timed_out) = loop {
        match child.try_wait()? {
            Some(status) => break (status.code(), false),
            None if from.elapsed() >= timeout => break (end(&mut child)?, true),
            None if is_interrupted() => break (end(&mut child)?, false),
            None => thread::sleep(EVERY),
        }
    };
    Ok(HookRun {
        status,
        timed_out,
        elapsed_ns: u64::try_from(from.elapsed().as_nanos()).unwrap_or(u64::MAX),
        output: end_of(&mut output)?,
    })
}

/// Ends the command and its children.
fn end(child: &mut Child) -> io::Result<Option<i32>> {
    let _gone = sys::kill_group(child.id());
    let _gone = child.kill();
    child.wait().map(|status| status.code())
}

/// Opens a file without a name that this user alone can read.
fn output_file() -> io::Result<File> {
    let name = format!("weir-hook-{}-{:?}", std::process::id(), thread::current().id());
    let path = std::env::temp_dir().join(name);
    let _older = std::fs::remove_file(&path);
    let mut options = OpenOptions::new();
    let file = options.read(true).append(true).create_new(true).mode(0o600).open(&path)?;
    std::fs::remove_file(path)?;
    Ok(file)
}

/// Reads the end of the output.
fn end_of(file: &mut File) -> io::Result<String> {
    let bytes = file.metadata()?.len();
    file.seek(SeekFrom::Start(bytes.saturating_sub(OUTPUT_MAX)))?;
    let mut text = Vec::new();
    file.take(OUTPUT_MAX).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ran(command: &str, timeout: Duration) -> HookRun {
        let variables = [("WEIR_VARIANT", "A b".to_owned())];
        run(command, &variables, timeout, || false).expect("sh")
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn output_and_status_are_kept() {
        let found = ran("echo \"$WEIR_VARIANT\"; echo oops >&2; exit 3", LONG);
        assert_eq!((found.status, found.output.as_str()), (Some(3), "A b\noops\n"));
        assert!(!found.is_success() && ran("true", LONG).is_success());
    }

    #[test]
    fn long_output_keeps_its_end() {
        let found = ran("seq 1 100000", LONG);
        assert_eq!(found.output.len() as u64, OUTPUT_MAX);
        assert!(found.output.ends_with("99999\n100000\n"), "{}", found.output.len());
    }

    #[test]
    fn a_command_that_hangs_is_ended_with_its_children() {
        // The child holds a lock, which ends with it.
        let held = std::env::temp_dir().join(format!("weir-hook-held-{}", std::process::id()));
        let file = File::create(&held).expect("a temporary file");
        let child = format!("flock -s {} sleep 100", held.display());
        let found = ran(&format!("{child} & {child}; echo no"), Duration::from_millis(500));
        assert!(found.timed_out && !found.is_success(), "{found:?}");
        assert_eq!(found.output, "");
        let until = Instant::now() + LONG;
        while file.try_lock().is_err() && Instant::now() < until {
            thread::yield_now();
        }
        assert!(file.try_lock().is_ok(), "a child was left behind");
        std::fs::remove_file(held).expect("it was made above");
        let interrupted = run("sleep 100", &[], LONG, || true).expect("sh");
        assert!(!interrupted.is_success() && !interrupted.timed_out, "{interrupted:?}");
    }

    #[test]
    fn a_server_that_is_started_is_not_awaited() {
        let found = ran("sleep 2 & echo started", LONG);
        assert_eq!((found.status, found.output.as_str()), (Some(0), "started\n"));
    }
}
