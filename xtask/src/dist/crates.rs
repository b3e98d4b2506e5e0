//! The crates as the registry would have them: each is packaged and built from its package, and the
//! program is installed from them.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::checkout::{Checkout, PACKAGE};
use super::files::{renew, untar};
use crate::shell::{cargo, output, run};

/// Packages all crates, and installs the program from its package.
pub(super) fn crates(checkout: &Checkout<'_>) -> Result<()> {
    let members = members()?;
    // cargo keeps what it once unpacked from this directory under a version, whatever has changed.
    renew(&checkout.work.join("crates"))?;
    let target = format!("crates/{}", checkout.release.commit);
    let mut package = checkout.cargo(&["package", "--locked", "--workspace"], &target, &[])?;
    for private in names(&members, false) {
        package.args(["--exclude", private]);
    }
    run(&mut package)?;
    install(checkout, &target, &names(&members, true))
}

/// Installs the program. The packages that it needs are not in the registry yet, so cargo is told
/// where they are unpacked.
fn install(checkout: &Checkout<'_>, target: &str, crates: &[&str]) -> Result<()> {
    let version = &checkout.release.version;
    let unpacked = checkout.work.join("unpacked");
    renew(&unpacked)?;
    let packaged = checkout.work.join(target).join("package");
    let place = |name: &str| unpacked.join(format!("{name}-{version}"));
    let mut patches: Vec<String> = Vec::new();
    for name in crates {
        let file = packaged.join(format!("{name}-{version}.crate"));
        untar(&file, &unpacked, &[])?;
        if *name != PACKAGE {
            let path = place(name).display().to_string();
            patches.push(format!("patch.crates-io.{name}.path={path:?}"));
        }
    }
    let installed = checkout.work.join("installed");
    renew(&installed)?;
    let mut command = checkout.cargo(&["install", "--debug", "--path"], target, &[])?;
    command.arg(place(PACKAGE)).arg("--root").arg(&installed);
    run(command.args(patches.iter().flat_map(|patch| ["--config", patch])))?;
    let printed = output(Command::new(installed.join("bin/weir")).arg("--version"))?;
    ensure!(printed == format!("weir {version}"), "the installed program is {printed}");
    let left: Vec<_> = fs::read_dir(installed.join("bin"))?.collect::<Result<_, _>>()?;
    ensure!(left.len() == 1, "cargo install gives more than the program: {left:?}");
    Ok(())
}

/// The crates of the workspace, as cargo describes them.
fn members() -> Result<Vec<Value>> {
    let words = ["metadata", "--locked", "--offline", "--no-deps", "--format-version=1"];
    let metadata: Value = serde_json::from_str(&output(&mut cargo(&words)?)?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    Ok(packages.clone())
}

/// Names of the crates that are published, or of the others.
fn names(members: &[Value], published: bool) -> Vec<&str> {
    let chosen = members.iter().filter(|member| member["publish"].is_null() == published);
    let mut names: Vec<&str> = chosen.filter_map(|member| member["name"].as_str()).collect();
    names.sort_unstable();
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::root;

    #[test]
    fn crates_of_the_program_are_published_with_their_licence() {
        let members = members().expect("the workspace");
        assert_eq!(names(&members, false), ["weir-sim", "xtask"]);
        for member in members.iter().filter(|member| member["publish"].is_null()) {
            let has = |key: &str| member[key].is_string();
            assert!(has("description") && has("license"), "{member}");
        }
        for name in names(&members, true) {
            let directory = if name == PACKAGE { "weir" } else { name };
            let place = root().expect("the root").join("crates").join(directory);
            for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
                assert!(place.join(licence).is_file(), "{name} lacks {licence}");
            }
        }
    }
}
