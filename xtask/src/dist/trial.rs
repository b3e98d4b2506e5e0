//! The packages in clean root file systems: the .deb in a new Debian, the static program in an
//! empty directory, the image as it would be unpacked. In each the program runs a load.

mod system;

use std::env::consts::ARCH;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::checkout::Release;
use super::files::{install, renew, untar, write};
use crate::shell::{is_root, output, run};
use system::{System, debian};

/// A script with a C function of the program's own C library.
const FOREIGN: &str = "local ffi = require('ffi')\nffi.cdef('int getpid(void);')\n\
                       assert(ffi.C.getpid() > 0)\n";

/// A script with a request and a response of its own.
const SCRIPT: &str = "function request() return wrk.format('POST', '/', nil, 'x') end\n\
                      function response(status) assert(status == 200) end\n";

/// Installs the packages and runs them.
pub(super) fn trial(release: &Release) -> Result<()> {
    ensure!(is_root()?, "a root file system is made and entered by root");
    let place = release.work.join("trial");
    renew(&place)?;
    in_debian(release, &place.join("debian")).context("the .deb in a new Debian")?;
    in_nothing(release, &place.join("empty")).context("the static program in an empty root")?;
    in_image(release, &place).context("the image")
}

fn in_debian(release: &Release, root: &Path) -> Result<()> {
    debian(root)?;
    let system = System { root, program: "weir" };
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?;
    let package = format!("weir_{}_{architecture}.deb", release.version);
    install(&release.packages.join(&package), &root.join(&package), 0o644)?;
    run(&mut system.enter(&["dpkg", "--install", &format!("/{package}")]))?;
    for file in [
        "man/man1/weir.1.gz",
        "man/man1/weir-history-trend.1.gz",
        "bash-completion/completions/weir",
        "zsh/vendor-completions/_weir",
        "fish/vendor_completions.d/weir.fish",
        "doc/weir/copyright",
    ] {
        ensure!(root.join("usr/share").join(file).is_file(), "{file} is not installed");
    }
    run(&mut system.enter(&["dpkg", "--verify", "weir"]))?;
    system.check_runs(release)?;
    system.check_script("script.lua", SCRIPT)?;
    system.check_script("foreign.lua", FOREIGN)?;
    run(&mut system.enter(&["dpkg", "--purge", "weir"]))?;
    ensure!(!root.join("usr/bin/weir").exists(), "the program remains after its removal");
    Ok(())
}

fn in_nothing(release: &Release, root: &Path) -> Result<()> {
    let name = format!("weir-{}-{ARCH}-linux-static", release.version);
    let archive = release.packages.join(format!("{name}.tar.gz"));
    untar(&archive, root, &["--strip-components=1"])?;
    let system = System { root, program: "/weir" };
    system.check_runs(release)?;
    system.check_fleet()?;
    system.check_script("script.lua", SCRIPT)?;
    // As docs/PACKAGES.md says: a static program has no functions for `ffi.C`.
    write(&root.join("foreign.lua"), FOREIGN)?;
    let refused = system.load("http://127.0.0.1:1/", &["-s", "/foreign.lua"])?;
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    ensure!(error.contains("getpid"), "ffi.C has functions in the static program: {error}");
    Ok(())
}

fn in_image(release: &Release, place: &Path) -> Result<()> {
    let archive = release.packages.join(format!("weir-{}-{ARCH}-oci.tar", release.version));
    let image = format!("oci-archive:{}", archive.display());
    let inspected = output(Command::new("skopeo").args(["inspect", &image]))?;
    let inspected: Value = serde_json::from_str(&inspected)?;
    ensure!(inspected["Os"] == "linux", "skopeo reads another system: {inspected}");
    // It checks each digest on its way.
    let copied = place.join("image");
    run(Command::new("skopeo")
        .args(["copy", "--quiet", &image])
        .arg(format!("dir:{}", copied.display())))?;
    let manifest: Value = serde_json::from_str(&fs::read_to_string(copied.join("manifest.json"))?)?;
    let layers = manifest["layers"].as_array().context("the image has no layers")?;
    let root = place.join("image-root");
    for layer in layers {
        let digest = layer["digest"].as_str().and_then(|digest| digest.split(':').nth(1));
        untar(&copied.join(digest.context("a layer has no digest")?), &root, &[])?;
    }
    let system = System { root: &root, program: "/usr/bin/weir" };
    system.check_runs(release)?;
    system.check_fleet()
}
