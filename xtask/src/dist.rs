//! `cargo xtask dist`: the packages of weir in `target/dist`, and the checks that they are what
//! docs/PACKAGES.md says. Packages are made from the commit that is checked out.

mod archive;
mod checkout;
mod crates;
mod deb;
mod files;
mod image;
mod licences;
mod minimal;
mod reproduce;
mod supply;
mod trial;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{output, root, target_dir};
use checkout::Checkout;

/// A part of the task. Later ones use what the packages part has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Licences, sources, duplicates; advisories if there is a database.
    Deny,
    /// All packages, in `target/dist`.
    Packages,
    /// Installation of the packages in clean root file systems, and a run in each.
    Trial,
    /// The build without default features, and the C compilers it calls.
    Minimal,
    /// `cargo package` of each crate, and `cargo install` from the packaged program.
    Crates,
    /// All packages again, from another directory: equal digests.
    Reproduce,
}

const PARTS: [(&str, Part); 6] = [
    ("deny", Part::Deny),
    ("packages", Part::Packages),
    ("trial", Part::Trial),
    ("minimal", Part::Minimal),
    ("crates", Part::Crates),
    ("reproduce", Part::Reproduce),
];

/// The parts to carry out.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Options {
    parts: Vec<(&'static str, Part)>,
}

impl Options {
    /// Parses `--only PART,…`.
    pub(crate) fn parse(words: &[&str]) -> Result<Options> {
        match words {
            [] => Ok(Options { parts: PARTS.to_vec() }),
            ["--only", names] => {
                let names: Vec<&str> = names.split(',').collect();
                if let Some(unknown) = names.iter().find(|name| PARTS.iter().all(|p| p.0 != **name))
                {
                    let known = PARTS.map(|(name, _)| name).join(", ");
                    bail!("failed to find the part `{unknown}`: the parts are {known}");
                }
                let chosen = PARTS.into_iter().filter(|(name, _)| names.contains(name));
                Ok(Options { parts: chosen.collect() })
            }
            _ => bail!("usage: cargo xtask dist [--only PART,…]"),
        }
    }
}

/// Makes the packages and checks them.
pub(crate) fn dist(options: &Options) -> Result<()> {
    let release = Release::of_head()?;
    let mut times = Vec::new();
    for (name, part) in &options.parts {
        eprintln!("dist: {name}");
        let start = Instant::now();
        release.carry_out(*part).with_context(|| format!("dist: {name} failed"))?;
        times.push(format!("{name} {} s", start.elapsed().as_secs()));
    }
    println!("{}", release.listing()?);
    eprintln!("dist: {}", times.join(", "));
    Ok(())
}

/// The commit of which packages are made, and the places of the work.
#[derive(Debug)]
struct Release {
    version: String,
    commit: String,
    /// Time of the commit, in seconds since 1970: the time of every file in a package.
    epoch: String,
    /// The same time as RFC 3339 text.
    created: String,
    /// Directory of everything but the finished packages.
    work: PathBuf,
    /// Directory of the finished packages.
    packages: PathBuf,
}

/// Parts of every package, and the directory of the packages.
#[derive(Clone, Copy, Debug)]
struct Order<'a> {
    release: &'a Release,
    checkout: &'a Checkout,
    files: &'a files::Files,
    packages: &'a Path,
}

impl Release {
    fn of_head() -> Result<Release> {
        let git = |words: &[&str]| output(Command::new("git").args(words).current_dir(root()?));
        let format = "--date=format-local:%Y-%m-%dT%H:%M:%SZ";
        let created = Command::new("git")
            .args(["show", "--no-patch", "--format=%cd", format])
            .current_dir(root()?)
            .env("TZ", "UTC")
            .output()
            .context("failed to start git")?;
        if !git(&["status", "--porcelain"])?.is_empty() {
            eprintln!("dist: there are uncommitted changes; packages are made of the last commit");
        }
        let manifest = fs::read_to_string(root()?.join("Cargo.toml"))?;
        Ok(Release {
            version: version_in(&manifest).context("failed to find the workspace's version")?,
            commit: git(&["rev-parse", "HEAD"])?,
            epoch: git(&["show", "--no-patch", "--format=%ct"])?,
            created: String::from_utf8(created.stdout)?.trim().to_owned(),
            work: target_dir()?.join("dist-work"),
            packages: target_dir()?.join("dist"),
        })
    }

    fn carry_out(&self, part: Part) -> Result<()> {
        match part {
            Part::Deny => supply::deny(),
            Part::Packages => self.make(&self.checkout()?, &self.packages),
            Part::Trial => trial::trial(self),
            Part::Minimal => minimal::minimal(&self.checkout()?),
            Part::Crates => crates::crates(self, &self.checkout()?),
            Part::Reproduce => reproduce::reproduce(self),
        }
    }

    /// The checkout of the packages in `target/dist`.
    fn checkout(&self) -> Result<Checkout> {
        Checkout::of(self, "a")
    }

    /// Makes all packages from a checkout.
    fn make(&self, checkout: &Checkout, packages: &Path) -> Result<()> {
        files::renew(packages)?;
        let program = checkout.build(checkout::Linking::Dynamic)?;
        let fixed = checkout.build(checkout::Linking::Static)?;
        let files = files::Files::generate(checkout, &program)?;
        let order = Order { release: self, checkout, files: &files, packages };
        archive::make(&order, &program, "gnu")?;
        archive::make(&order, &fixed, "static")?;
        deb::make(&order, &program)?;
        image::make(&order, &fixed)?;
        supply::sbom(self, checkout, packages)?;
        files::write_sums(packages)?;
        files::write(&checkout.made(), &self.commit)
    }

    /// The finished packages with their sizes and digests.
    fn listing(&self) -> Result<String> {
        let sums = fs::read_to_string(self.packages.join(files::SUMS));
        let Ok(sums) = sums else { return Ok("there is no package in target/dist".to_owned()) };
        let mut lines = Vec::new();
        for line in sums.lines() {
            let (digest, name) = line.split_once("  ").context("failed to read the checksums")?;
            let bytes = fs::metadata(self.packages.join(name))?.len();
            lines.push(format!("{digest}  {bytes:>10}  {name}"));
        }
        ensure!(!lines.is_empty(), "there is no checksum");
        Ok(lines.join("\n"))
    }
}

/// The version in the workspace's manifest.
fn version_in(manifest: &str) -> Option<String> {
    let (_, package) = manifest.split_once("[workspace.package]")?;
    let line = package.lines().find(|line| line.starts_with("version = "))?;
    Some(line.split('"').nth(1)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_chosen_by_name_and_keep_their_order() {
        let names = |words: &[&str]| -> Vec<&str> {
            let options = Options::parse(words).expect("parts");
            options.parts.iter().map(|(name, _)| *name).collect()
        };
        assert_eq!(names(&[]).len(), PARTS.len());
        assert_eq!(names(&["--only", "trial,deny"]), ["deny", "trial"]);
        let error = Options::parse(&["--only", "rpm"]).expect_err("no such part");
        assert!(error.to_string().contains("the parts are deny, packages"), "{error}");
    }

    #[test]
    fn the_version_is_that_of_the_workspace() {
        let manifest = "[workspace]\n[workspace.package]\nversion = \"1.2.3\"\n";
        assert_eq!(version_in(manifest).as_deref(), Some("1.2.3"));
        assert_eq!(version_in("version = \"1\""), None);
    }
}
