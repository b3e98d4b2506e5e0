//! The control plane of Kubernetes, of which few systems have a package: Go builds it from the
//! published modules, which takes eleven minutes of one CPU.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{find_program, run, tools_dir};

/// The module of which the programs are built.
const MODULE: &str = include_str!("kubernetes.mod");

const PROGRAMS: [&str; 4] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"];

/// Go where its authors' archive is unpacked.
const GO: &str = "/usr/local/go/bin/go";

/// Returns the Go that is installed.
pub(super) fn find_go() -> Option<PathBuf> {
    find_program("go").or_else(|| Some(PathBuf::from(GO)).filter(|go| go.is_file()))
}

/// Builds the programs in the build directory, unless they are there.
pub(super) fn build() -> Result<()> {
    let directory = tools_dir()?.join("kubernetes");
    let built = directory.join("built.mod");
    if fs::read_to_string(&built).is_ok_and(|module| module == MODULE) {
        return Ok(());
    }
    let go = find_go().context("failed to find go: cargo xtask setup fleet")?;
    eprintln!("setup: go builds Kubernetes into {}", directory.display());
    fs::create_dir_all(directory.join("bin"))?;
    // Go writes the sums of all modules beside it, and compares them with its public database.
    fs::write(directory.join("go.mod"), MODULE)?;
    let mut command = Command::new(go);
    command.current_dir(&directory).args(["build", "-mod=mod", "-trimpath", "-o", "bin/"]);
    command.arg(format!("-ldflags={}", flags().context("the module names no version")?));
    command.args(PROGRAMS.map(|name| format!("k8s.io/kubernetes/cmd/{name}")));
    run(&mut command)?;
    fs::write(built, MODULE).context("failed to mark what is built")
}

/// Returns the flags that leave out debug information, and tell the programs their version.
fn flags() -> Option<String> {
    let line = MODULE.lines().find_map(|line| line.strip_prefix("require k8s.io/kubernetes v"))?;
    let mut numbers = line.split('.');
    let major = numbers.next()?;
    let minor = numbers.next()?;
    let set = |name: &str, value: &str| format!("-X k8s.io/component-base/version.{name}={value}");
    let version = set("gitVersion", &format!("v{line}"));
    Some(["-s -w", &version, &set("gitMajor", major), &set("gitMinor", minor)].join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_that_of_the_module() {
        let flags = flags().expect("a version");
        assert!(flags.contains("gitVersion=v1.") && flags.contains("gitMajor=1"), "{flags}");
        let replaced = MODULE.lines().filter(|line| line.contains(" => ")).count();
        assert_eq!(replaced, 33);
    }
}
