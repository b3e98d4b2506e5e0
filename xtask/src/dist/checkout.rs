//! A clone of the commit and the programs built in it. Nothing of its place is in them: cargo's
//! and the C compiler's paths are replaced, so two clones give the same bytes.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{cargo, host, output, root, run, target_dir};

/// Package of the program.
pub(super) const PACKAGE: &str = "weir-load";

/// A clone of the commit.
pub(super) struct Checkout<'a> {
    pub(super) release: &'a Release,
    pub(super) source: PathBuf,
    /// Directory for what is built, not below the source.
    pub(super) work: PathBuf,
    /// Directory of the files beside the program: texts, `man/*.1`, `completions/*`.
    pub(super) files: PathBuf,
    /// Directory of the finished packages.
    pub(super) packages: PathBuf,
    /// Target triple of the machine.
    pub(super) triple: String,
}

impl<'a> Checkout<'a> {
    /// Clones the commit into the directory of this name, or updates the clone there.
    pub(super) fn of(release: &'a Release, name: &str, packages: &Path) -> Result<Checkout<'a>> {
        let work = release.work.join(name);
        let source = work.join("source");
        if !source.join(".git").exists() {
            run(Command::new("git")
                .args(["clone", "--quiet", "--shared", "--no-checkout"])
                .args([&root()?, &source]))?;
        }
        let git = |words: &[&str]| run(Command::new("git").args(words).current_dir(&source));
        git(&["fetch", "--quiet", "origin", &release.commit])?;
        git(&["checkout", "--quiet", "--force", "--detach", &release.commit])?;
        git(&["clean", "-dffxq"])?;
        let files = work.join("files");
        let packages = packages.to_owned();
        Ok(Checkout { release, source, work, files, packages, triple: host()? })
    }

    /// Path of the file with the commit whose packages were last made here.
    pub(super) fn made(&self) -> PathBuf {
        self.work.join("made")
    }

    /// Returns cargo in the clone, for reproducible output into the directory `target` of the work.
    pub(super) fn cargo(&self, words: &[&str], target: &str, flags: &[&str]) -> Result<Command> {
        let target = self.work.join(target);
        let prefixes =
            [(&*self.source, "/weir"), (&*target, "/build"), (&*cargo_home()?, "/cargo")];
        let remap = |option: &str| {
            prefixes.map(|(from, to)| format!("{option}={}={to}", from.display())).to_vec()
        };
        let mut rust_flags = remap("--remap-path-prefix");
        rust_flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let mut command = cargo(words)?;
        command
            .current_dir(&self.source)
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_INCREMENTAL", "0")
            .env("CARGO_ENCODED_RUSTFLAGS", rust_flags.join("\x1f"))
            .env("CFLAGS", remap("-ffile-prefix-map").join(" "))
            .env("SOURCE_DATE_EPOCH", &self.release.epoch)
            .env("LC_ALL", "C")
            .env_remove("RUSTFLAGS");
        Ok(command)
    }

    /// Builds the program and returns its path.
    pub(super) fn build(&self, linking: &str, flags: &[&str]) -> Result<PathBuf> {
        let words = ["build", "--locked", "--release", "--package", PACKAGE, "--target"];
        run(self.cargo(&words, linking, flags)?.arg(&self.triple))?;
        Ok(self.work.join(linking).join(&self.triple).join("release/weir"))
    }
}

fn cargo_home() -> Result<PathBuf> {
    let home = || Some(Path::new(&env::var_os("HOME")?).join(".cargo"));
    let named = env::var_os("CARGO_HOME").map(PathBuf::from);
    named.or_else(home).context("failed to find cargo's directory: set CARGO_HOME")
}

/// The commit of which packages are made, and the places of the work.
pub(super) struct Release {
    pub(super) version: String,
    pub(super) commit: String,
    /// Time of the commit, in seconds since 1970: the time of every file in a package.
    pub(super) epoch: String,
    /// The same time as RFC 3339 text.
    pub(super) created: String,
    /// Directory of everything but the finished packages.
    pub(super) work: PathBuf,
    /// Directory of the finished packages.
    pub(super) packages: PathBuf,
}

impl Release {
    /// The checkout of the packages in `target/dist`.
    pub(super) fn checkout(&self) -> Result<Checkout<'_>> {
        Checkout::of(self, "a", &self.packages)
    }

    pub(super) fn of_head() -> Result<Release> {
        let git = |words: &[&str]| {
            output(Command::new("git").args(words).env("TZ", "UTC").current_dir(root()?))
        };
        let format = "--date=format-local:%Y-%m-%dT%H:%M:%SZ";
        if !git(&["status", "--porcelain"])?.is_empty() {
            eprintln!("dist: there are uncommitted changes; packages are made of the last commit");
        }
        Ok(Release {
            // All crates have the workspace's version.
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: git(&["rev-parse", "HEAD"])?,
            epoch: git(&["show", "--no-patch", "--format=%ct"])?,
            created: git(&["show", "--no-patch", "--format=%cd", format])?,
            work: target_dir()?.join("dist-work"),
            packages: target_dir()?.join("dist"),
        })
    }
}
