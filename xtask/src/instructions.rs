//! `cargo xtask instructions`: weir's instructions per request, compared with the committed
//! baseline. Times vary between runs by more than the effect of most changes; instructions hardly
//! do.
//!
//! Each scenario of the engine's `hot_path` example and of the server's `request_path` runs twice
//! under valgrind, the second time twice as long. The difference in instructions divided by the
//! difference in requests excludes the cost of start and end. A count beyond the tolerance, in
//! either direction, needs a new baseline with its reason, so the file documents the reason for
//! every count.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::shell::{self, cargo, need_program, root, run, show, target_dir};

/// Measured programs: packages and their examples.
const PROGRAMS: [(&str, &str); 2] = [("weir-engine", "hot_path"), ("weir-serve", "request_path")];

/// Largest relative difference of a count from its baseline.
const TOLERANCE: f64 = 0.02;

/// Architecture of the baseline; other processors need other instructions.
const ARCHITECTURE: &str = "x86_64";

/// Setting with which the C library chooses the same routines on every processor.
const TUNABLES: &str = "glibc.cpu.hwcaps=-AVX2,-AVX2_Usable,-AVX512F,-AVX512VL,-ERMS,-FSRM";

/// Counts, prints and compares.
pub(crate) fn instructions(words: &[&str]) -> Result<()> {
    let reason = reason(words)?;
    if std::env::consts::ARCH != ARCHITECTURE {
        eprintln!("instructions: counted on {ARCHITECTURE} only, so not here");
        return Ok(());
    }
    let valgrind = need_program("valgrind", "test")?;
    let mut scenarios = Vec::new();
    for program in build()? {
        let names = output(Command::new(&program).arg("list"))?.0;
        scenarios.extend(names.lines().map(|name| (program.clone(), name.to_owned())));
    }
    let compiler = shell::output(Command::new("rustc").arg("--version"))?;
    let mut baseline = Baseline::read()?;
    let mut changed = Vec::new();
    println!("{:<22} {:>10} {:>10}", "per request", "baseline", "now");
    for (program, name) in &scenarios {
        let count = per_request(&valgrind, program, name)?;
        let before = baseline.count(name);
        let shown = before.map_or("none".to_owned(), |before| format!("{before:.1}"));
        let is_changed = !before.is_some_and(|before| is_within(count, before));
        let mark = if is_changed { "  changed" } else { "" };
        println!("{name:<22} {shown:>10} {count:>10.1}{mark}");
        if is_changed {
            changed.push((name.clone(), count));
        }
    }
    let is_gone = |known: &&String| scenarios.iter().all(|(_, name)| name != *known);
    let gone: Vec<String> = baseline.scenarios.keys().filter(is_gone).cloned().collect();
    if let Some(reason) = reason {
        baseline.scenarios.retain(|name, _| !gone.contains(name));
        changed.iter().for_each(|(name, count)| baseline.set(name, *count, reason));
        baseline.compiler = Some(compiler);
        return baseline.write();
    }
    if baseline.compiler.as_ref() != Some(&compiler) {
        eprintln!("instructions: the baseline is another compiler's; this is {compiler}");
    }
    let differing: Vec<String> = changed.into_iter().map(|(name, _)| name).chain(gone).collect();
    ensure!(
        differing.is_empty(),
        "{} beyond {} of the baseline: if that is meant, write a new one with \
         `cargo xtask instructions --write 'REASON'` and commit it",
        differing.join(", "),
        format_args!("{:.0}%", TOLERANCE * 100.0)
    );
    Ok(())
}

/// Returns the reason to make counts that differ the new baseline; none to fail.
fn reason<'w>(words: &[&'w str]) -> Result<Option<&'w str>> {
    match words {
        [] => Ok(None),
        ["--write", reason] if !reason.trim().is_empty() => Ok(Some(reason.trim())),
        _ => bail!("failed to read `{}`; use [--write REASON]", words.join(" ")),
    }
}

/// True if the count is within the tolerance of its baseline.
fn is_within(count: f64, baseline: f64) -> bool {
    (count - baseline).abs() <= TOLERANCE * baseline
}

/// Builds the measured programs, without what their loads do not use and takes minutes to build,
/// and returns their paths. One command builds both: apart, the crates below them would have
/// different features, and most of them would be built twice.
fn build() -> Result<Vec<PathBuf>> {
    let mut command = cargo(&["build", "--locked", "--profile", "instructions"])?;
    command.arg("--no-default-features");
    for (package, example) in PROGRAMS {
        command.args(["--package", package, "--example", example]);
    }
    run(&mut command)?;
    let examples = target_dir()?.join("instructions/examples");
    Ok(PROGRAMS.iter().map(|(_, example)| examples.join(example)).collect())
}

/// Returns the instructions per request of one scenario.
fn per_request(valgrind: &Path, program: &Path, name: &str) -> Result<f64> {
    let once = count(valgrind, program, name, 1)?;
    let twice = count(valgrind, program, name, 2)?;
    ensure!(twice.1 > once.1, "{name}: twice the span has no more requests");
    Ok((twice.0 - once.0) as f64 / (twice.1 - once.1) as f64)
}

/// Returns the instructions and requests of one run.
fn count(valgrind: &Path, program: &Path, name: &str, times: u32) -> Result<(u64, u64)> {
    let mut command = Command::new(valgrind);
    command.args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]);
    command.arg(program).args(["count", name, &times.to_string()]);
    command.env("GLIBC_TUNABLES", TUNABLES);
    let (requests, reported) = output(&mut command)?;
    let counted =
        instruction_count(&reported).with_context(|| format!("no count in `{reported}`"))?;
    Ok((counted, requests.trim().parse().context("failed to read a number of requests")?))
}

/// Returns the number in valgrind's line `==1== I refs: 14,107,282`.
fn instruction_count(reported: &str) -> Option<u64> {
    let line = reported.lines().find(|line| line.contains("refs:"))?;
    line.rsplit(' ').next()?.replace(',', "").parse().ok()
}

/// Returns the standard output and standard error of a command.
fn output(command: &mut Command) -> Result<(String, String)> {
    let shown = show(command);
    let output = command.output().with_context(|| format!("failed to start `{shown}`"))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let written = text(output.stdout);
    let reported = text(output.stderr);
    ensure!(output.status.success(), "`{shown}` ended with {}: {reported}", output.status);
    Ok((written, reported))
}

/// Path of the baseline, from the root of the repository.
const FILE: &str = "xtask/src/instructions/baseline.json";

/// The committed counts.
#[derive(Default, Deserialize, Serialize)]
struct Baseline {
    /// Compiler version of the counts.
    compiler: Option<String>,
    scenarios: BTreeMap<String, ScenarioCount>,
}

/// The count of a scenario.
#[derive(Deserialize, Serialize)]
struct ScenarioCount {
    /// Instructions per request.
    instructions: f64,
    /// Reason for the last change of the count.
    reason: String,
}

impl Baseline {
    /// Reads the committed baseline; empty if there is none.
    fn read() -> Result<Baseline> {
        let path = path()?;
        if !path.exists() {
            return Ok(Baseline::default());
        }
        let text = fs::read_to_string(&path).context("failed to read the baseline")?;
        serde_json::from_str(&text).with_context(|| format!("failed to understand {FILE}"))
    }

    /// Returns a scenario's count, if it has one.
    fn count(&self, name: &str) -> Option<f64> {
        Some(self.scenarios.get(name)?.instructions)
    }

    fn set(&mut self, name: &str, count: f64, reason: &str) {
        let instructions = (count * 10.0).round() / 10.0;
        self.scenarios
            .insert(name.to_owned(), ScenarioCount { instructions, reason: reason.to_owned() });
    }

    /// Writes the file, which must then be committed.
    fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path()?, text).context("failed to write the baseline")?;
        eprintln!("instructions: wrote {FILE}; commit it with the change that it is for");
        Ok(())
    }
}

fn path() -> Result<PathBuf> {
    Ok(root()?.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read() {
        let reported = "==7== Cachegrind\n==7== \n==7== I   refs:      14,107,282\n";
        assert_eq!(instruction_count(reported), Some(14_107_282));
        assert_eq!(instruction_count("==7== D refs\n"), None);
    }

    #[test]
    fn both_directions_count() {
        for (count, expected) in [(97.0, false), (98.0, true), (102.0, true), (103.0, false)] {
            assert_eq!(is_within(count, 100.0), expected, "{count}");
        }
    }

    #[test]
    fn a_new_baseline_needs_a_reason() {
        let given = reason(&["--write", "less copying"]).expect("a reason");
        assert_eq!(given, Some("less copying"));
        assert!(reason(&["--write"]).is_err());
        assert!(reason(&["--write", " "]).is_err());
    }

    #[test]
    fn what_is_written_is_read() {
        let mut baseline = Baseline { compiler: Some("rustc 1".to_owned()), ..Baseline::default() };
        baseline.set("one", 12.34, "it is new");
        baseline.set("two", 2.0, "so is this");
        baseline.scenarios.remove("two");
        let text = serde_json::to_string(&baseline).expect("it has no maps with other keys");
        let read: Baseline = serde_json::from_str(&text).expect("as written");
        assert_eq!((read.count("one"), read.count("two")), (Some(12.3), None));
        assert_eq!(read.compiler.as_deref(), Some("rustc 1"));
        assert!(serde_json::from_str::<Baseline>("{}").is_err());
    }
}
