//! The executables of tests. Cargo builds and names all of them at once; they are run here, because
//! cargo runs one after the other, and some of them mostly wait.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use crate::lint;
use crate::shell::{cargo, output, show};

/// The tests of the program, which mostly wait for servers, timeouts and the ends of runs. They
/// assert nothing about speed.
pub(crate) const PROGRAM: [&str; 2] = ["--test", "program"];

/// Part of the names of tests that take long and seldom fail, which a module `rare` gives them:
/// steps of `cargo xtask nightly`.
const RARE: &str = "rare::";

/// One executable of tests.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Suite {
    /// Crate and target, as in `weir-http it`; of unit tests, crate and kind: `weir-http lib`.
    pub(crate) name: String,
    executable: PathBuf,
    /// Directory of the crate, in which cargo runs its tests.
    directory: PathBuf,
}

impl Suite {
    /// Returns the command that runs all tests but the rare ones, as cargo would.
    pub(crate) fn command(&self) -> Command {
        let mut command = self.program();
        command.args(["--skip", RARE]);
        command
    }

    /// Returns the executable, which runs the tests whose names have a part that it is given.
    pub(crate) fn program(&self) -> Command {
        let mut program = Command::new(&self.executable);
        program.current_dir(&self.directory).env("CARGO_MANIFEST_DIR", &self.directory);
        program
    }
}

/// Builds the tests of `packages` that `targets` selects, checks their sources with clippy, and
/// returns the executables.
///
/// # Errors
/// If the build fails, clippy warns, or there are no tests.
pub(crate) fn build(packages: &[&str], targets: &[&str]) -> Result<Vec<Suite>> {
    let mut command = cargo(&["test", "--no-run", "--message-format=json-render-diagnostics"])?;
    command.args(packages).args(targets);
    let shown = show(&command);
    eprintln!("$ {shown}");
    let messages = output(lint::while_compiling(&mut command)?)?;
    let suites = messages.lines().filter_map(|line| suite(line).transpose());
    let suites = suites.collect::<Result<Vec<Suite>>>()?;
    ensure!(!suites.is_empty(), "`{shown}` has built no tests");
    Ok(suites)
}

/// Returns the executable that a message of cargo announces; `None` if it announces something else.
fn suite(message: &str) -> Result<Option<Suite>> {
    let message: Value = serde_json::from_str(message).context("failed to read cargo's message")?;
    let is_test = message["profile"]["test"].as_bool().unwrap_or_default();
    let Some(executable) = message["executable"].as_str().filter(|_| is_test) else {
        return Ok(None);
    };
    let (Some(manifest), Some(target), Some(kind)) = (
        message["manifest_path"].as_str().map(Path::new),
        message["target"]["name"].as_str(),
        message["target"]["kind"][0].as_str(),
    ) else {
        bail!("cargo does not say whose tests are in {executable}");
    };
    let directory = manifest.parent().context("a manifest is in a directory")?;
    let package = directory.file_name().context("a crate has a name")?.to_string_lossy();
    if kind == "bench" {
        return Ok(None);
    }
    let target = if kind == "test" { target } else { kind };
    Ok(Some(Suite {
        name: format!("{package} {target}"),
        executable: PathBuf::from(executable),
        directory: directory.to_owned(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, is_test: bool, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","manifest_path":"/r/crates/weir-http/Cargo.toml",
            "target":{{"kind":["{kind}"],"name":"it"}},"profile":{{"test":{is_test}}},
            "executable":{executable}}}"#
        )
    }

    #[test]
    fn tests_are_found_among_the_messages() {
        let named = |name: &str| Suite {
            name: name.to_owned(),
            executable: "/t/it-1".into(),
            directory: "/r/crates/weir-http".into(),
        };
        let check = |message: &str, expected| {
            assert_eq!(suite(message).expect("a message"), expected, "{message}");
        };
        check(&message("test", true, r#""/t/it-1""#), Some(named("weir-http it")));
        check(&message("lib", true, r#""/t/it-1""#), Some(named("weir-http lib")));
        check(&message("bin", false, r#""/t/it-1""#), None);
        check(&message("bench", true, r#""/t/it-1""#), None);
        check(&message("lib", false, "null"), None);
        check(r#"{"reason":"build-finished","success":true}"#, None);
    }

    #[test]
    fn unreadable_messages_are_errors() {
        assert!(suite("warning: unused").is_err());
        let nameless = r#"{"profile":{"test":true},"executable":"/t/it-1"}"#;
        assert!(suite(nameless).is_err());
    }
}
