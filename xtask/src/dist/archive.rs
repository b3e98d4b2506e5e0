//! The archive for any distribution: the program, man pages, completions and texts in one
//! directory.

use std::env::consts::ARCH;
use std::path::Path;

use anyhow::Result;

use super::files::{Files, gzip, install, renew, tar};
use crate::shell::run;

/// Makes `weir-VERSION-ARCH-linux-KIND.tar.gz`.
pub(super) fn make(files: &Files<'_>, program: &Path, kind: &str) -> Result<()> {
    let Files { release, packages, .. } = *files;
    let name = format!("weir-{}-{ARCH}-linux-{kind}", release.version);
    let place = files.place.with_file_name("archive");
    renew(&place)?;
    let mut copy = std::process::Command::new("cp");
    run(copy.arg("--recursive").arg(&files.place).arg(place.join(&name)))?;
    install(program, &place.join(&name).join("weir"), 0o755)?;
    let archive = place.join("archive.tar");
    tar(release, &place, &[&name], &archive)?;
    gzip(&archive, &packages.join(format!("{name}.tar.gz")))
}
