//! `cargo xtask plots`: builds the plot library of the HTML report from its locked packages. It is
//! Observable Plot and the parts of d3 that it needs, in one file behind their licences. The
//! repository has it compressed, so that no build of weir needs npm; `ci` compares.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{Read, Write as _};
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use flate2::{Compression, GzBuilder};

use crate::npm::PLOTS;
use crate::shell::{output, root};

/// The committed file, from the root of a checkout.
const BUNDLE: &str = "crates/weir-report/src/html/plot.js.gz";

/// Packages whose code is in the bundle, but for the parts of d3, which share one licence.
const LICENSED: [&str; 5] =
    ["@observablehq/plot", "d3", "interval-tree-1d", "isoformat", "binary-search-bounds"];

/// Writes the committed file anew.
pub(crate) fn write() -> Result<()> {
    let file = File::create(root()?.join(BUNDLE)).context("failed to write the bundle")?;
    let mut compressed = GzBuilder::new().write(file, Compression::best());
    compressed.write_all(build()?.as_bytes())?;
    compressed.finish()?;
    Ok(())
}

/// Compares the committed file with a build.
pub(crate) fn check() -> Result<()> {
    ensure!(
        committed(&root()?)? == build()?,
        "{BUNDLE} differs from a build of its lock file: run `cargo xtask plots` and commit"
    );
    Ok(())
}

/// Returns the committed file of a checkout, inflated.
pub(crate) fn committed(checkout: &Path) -> Result<String> {
    let file = File::open(checkout.join(BUNDLE)).context("failed to open the bundle")?;
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).context("failed to inflate the bundle")?;
    Ok(text)
}

fn build() -> Result<String> {
    ensure!(PLOTS.are_installed()?, "run `cargo xtask setup test`, which installs the packages");
    let place = PLOTS.place()?;
    let entry = "entry.js";
    fs::copy(PLOTS.source(entry)?, place.join(entry)).context("failed to copy the entry")?;
    let mut bundle = licences(&place.join("node_modules"))?;
    let mut esbuild = Command::new(place.join("node_modules/.bin/esbuild"));
    esbuild.current_dir(&place).args([entry, "--bundle", "--minify", "--format=iife"]);
    esbuild.args(["--global-name=Plot", "--target=es2020", "--legal-comments=none"]);
    bundle += &output(esbuild.arg("--log-level=error"))?;
    bundle.push('\n');
    Ok(bundle)
}

/// Returns the licences as a comment of JavaScript.
fn licences(modules: &Path) -> Result<String> {
    let mut comment =
        "/*!\n * Observable Plot and the packages that it needs, bundled by esbuild.\n".to_owned();
    for package in LICENSED {
        let file = format!("{package}/LICENSE");
        let text = fs::read_to_string(modules.join(&file))
            .with_context(|| format!("failed to read {file}"))?;
        writeln!(comment, " *\n * {file}")?;
        text.lines()
            .for_each(|line| comment += &(format!(" * {line}").trim_end().to_owned() + "\n"));
    }
    Ok(comment + " */\n")
}
