//! `cargo xtask dist`: the packages of weir in `target/dist`, and the checks that they are what
//! docs/PACKAGES.md says. Packages are made from the commit that is checked out.

mod bus;
mod checkout;
mod containers;
mod crates;
mod deb;
mod files;
mod image;
mod licences;
mod minimal;
mod reproduce;
mod supply;
mod trial;

use std::env::consts::ARCH;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use checkout::{Checkout, Release};

use crate::shell::run;
use files::{gzip, install, renew, tar};

type Part = (&'static str, fn(&Release) -> Result<()>);

const PARTS: [Part; 7] = [
    ("deny", |_| supply::deny()),
    ("packages", |release| release.checkout()?.make()),
    ("trial", trial::trial),
    ("containers", containers::containers),
    ("minimal", |release| minimal::minimal(&release.checkout()?)),
    ("crates", |release| crates::crates(&release.checkout()?)),
    ("reproduce", reproduce::reproduce),
];

/// Part that only a name chooses: the image alone, which takes half the time of all packages.
const IMAGE: Part = ("image", |release| release.checkout()?.make_image());

/// Makes the packages and checks them.
pub(crate) fn dist(words: &[&str]) -> Result<()> {
    let (words, writes) = match words {
        [parts @ .., "--write"] => (parts, true),
        parts => (parts, false),
    };
    let parts = parts(words)?;
    let release = Release::of_head()?;
    let mut times = Vec::new();
    for (name, part) in parts {
        eprintln!("dist: {name}");
        let start = Instant::now();
        part(&release).with_context(|| format!("dist: {name} failed"))?;
        times.push(format!("{name} {} s", start.elapsed().as_secs()));
    }
    if writes {
        containers::write_table(&release)?;
    }
    println!("{}", listing(&release.packages)?);
    eprintln!("dist: {}", times.join(", "));
    Ok(())
}

/// Returns the parts of `--only PART,…`, or all.
fn parts(words: &[&str]) -> Result<Vec<Part>> {
    let names: Vec<&str> = match words {
        [] => return Ok(PARTS.to_vec()),
        ["--only", names] => names.split(',').collect(),
        _ => bail!("usage: cargo xtask dist [--only PART,…] [--write]"),
    };
    let known = || [IMAGE].into_iter().chain(PARTS);
    if let Some(unknown) = names.iter().find(|name| known().all(|part| part.0 != **name)) {
        let known: Vec<&str> = known().map(|(name, _)| name).collect();
        bail!("failed to find the part `{unknown}`: the parts are {}", known.join(", "));
    }
    Ok(known().filter(|(name, _)| names.contains(name)).collect())
}

impl Checkout<'_> {
    /// Makes all packages.
    fn make(&self) -> Result<()> {
        renew(&self.packages)?;
        let program = self.build("dynamic", &[])?;
        let fixed = self.build_static()?;
        files::generate(self, &program)?;
        archive(self, &program, "gnu")?;
        archive(self, &fixed, "static")?;
        deb::make(self, &program)?;
        image::make(self, &fixed)?;
        supply::sbom(self)?;
        files::write_sums(&self.packages)?;
        files::write(&self.made(), &self.release.commit)
    }

    /// Makes the image in the place of the packages, without checksums.
    fn make_image(&self) -> Result<()> {
        renew(&self.packages)?;
        let fixed = self.build_static()?;
        files::generate(self, &fixed)?;
        image::make(self, &fixed)
    }

    fn build_static(&self) -> Result<PathBuf> {
        self.build("static", &["-Ctarget-feature=+crt-static"])
    }
}

/// The finished packages with their sizes and digests.
fn listing(packages: &Path) -> Result<String> {
    let sums = fs::read_to_string(packages.join(files::SUMS));
    let Ok(sums) = sums else { return Ok("there is no package in target/dist".to_owned()) };
    let mut lines = Vec::new();
    for line in sums.lines() {
        let (digest, name) = line.split_once("  ").context("failed to read the checksums")?;
        let bytes = fs::metadata(packages.join(name))?.len();
        lines.push(format!("{digest}  {bytes:>10}  {name}"));
    }
    ensure!(!lines.is_empty(), "there is no checksum");
    Ok(lines.join("\n"))
}

/// Makes `weir-VERSION-ARCH-linux-KIND.tar.gz`.
fn archive(checkout: &Checkout<'_>, program: &Path, kind: &str) -> Result<()> {
    let name = format!("weir-{}-{ARCH}-linux-{kind}", checkout.release.version);
    let place = checkout.work.join("archive");
    renew(&place)?;
    let mut copy = std::process::Command::new("cp");
    run(copy.arg("--recursive").arg(&checkout.files).arg(place.join(&name)))?;
    install(program, &place.join(&name).join("weir"), 0o755)?;
    bus::install_bus(&place.join(&name), &place.join(&name))?;
    let archive = place.join("archive.tar");
    tar(checkout.release, &place, &[&name], &archive)?;
    gzip(&archive, &checkout.packages.join(format!("{name}.tar.gz")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name_and_keep_their_order() {
        let names = |words: &[&str]| -> Vec<&str> {
            let parts = parts(words).expect("parts");
            parts.into_iter().map(|(name, _)| name).collect()
        };
        assert_eq!(names(&[]).len(), PARTS.len());
        assert_eq!(names(&["--only", "trial,deny"]), ["deny", "trial"]);
        assert_eq!(names(&["--only", "containers,image"]), ["image", "containers"]);
        let error = parts(&["--only", "rpm"]).expect_err("no such part");
        assert!(error.to_string().contains("the parts are image, deny, packages"), "{error}");
    }
}
