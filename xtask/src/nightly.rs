//! `cargo xtask nightly`: steps that take minutes and seldom fail. Each covers some sources, and
//! has a stamp: the digest of these sources when it was last green. A step whose digest differs has
//! to run, here or in `cargo xtask ci`; this task writes the stamps, which are committed with the
//! change. A stamp is its author's word, which `--all` checks.

mod digest;
mod sources;
mod stamps;

use anyhow::{Context, Result, bail, ensure};

use crate::lint::{self, EVERYTHING};
use crate::shell::{cargo, output, root, run, target_dir};
use crate::{instructions, suites};
use digest::digest;
use sources::{Sources, members};
use stamps::Stamps;

/// A step, and the sources it covers.
struct RareStep {
    name: &'static str,
    sources: Sources,
    run: fn() -> Result<()>,
}

/// All steps, the shortest first.
const STEPS: [RareStep; 11] = [
    // Examples, benchmarks, and the crates without their features.
    RareStep {
        name: "clippy",
        sources: Sources { crates: &[], paths: &[] },
        run: lint::clippy_of_the_rest,
    },
    // Links between pages of documentation.
    RareStep { name: "docs", sources: Sources { crates: &[], paths: &[] }, run: lint::docs },
    RareStep {
        name: "unsafe",
        sources: Sources { crates: &UNSAFE, paths: &["crates/weir-io/tests"] },
        run: checked_pointers,
    },
    RareStep {
        name: "instructions",
        sources: Sources {
            crates: &["weir-engine", "weir-serve"],
            paths: &["xtask/src/instructions.rs", "xtask/src/instructions"],
        },
        run: || instructions::instructions(&[]),
    },
    // Theory, and random worlds in full number. No rare test of weir-study has a conductor, so the
    // runner is not covered; what else that crate imports the engine and its tests do too.
    RareStep {
        name: "simulations",
        sources: Sources {
            crates: &["weir-engine"],
            paths: &[
                "crates/weir-engine/tests",
                "crates/weir-study/src",
                "crates/weir-study/tests",
                "crates/weir-sim/tests",
            ],
        },
        run: || {
            rare_tests("weir-engine simulated", &["rare::", "wild_worlds"])?;
            rare_tests("weir-study it", &["rare::"])
        },
    },
    RareStep { name: "lab", sources: Sources { crates: &["lab"], paths: &["lab"] }, run: lab },
    RareStep {
        name: "fuzz",
        sources: Sources {
            crates: &["weir-fuzz"],
            paths: &[
                "fuzz/Cargo.lock",
                "fuzz/fuzz_targets",
                "crates/weir/tests/it/checks",
                "crates/weir-http/tests/it/check",
            ],
        },
        run: fuzz_targets,
    },
    // The HTML page in a browser, and exports in programs of others.
    RareStep {
        name: "pages",
        sources: Sources { crates: &["weir-report"], paths: &["crates/weir-report/tests"] },
        run: || rare_tests("weir-report it", &["rare::"]),
    },
    // Agents in trouble, with a real bus.
    RareStep {
        name: "fleets",
        sources: Sources {
            crates: &["weir-fleet"],
            paths: &[
                "crates/weir/src/commands/agent.rs",
                "crates/weir/src/commands/fleet.rs",
                "crates/weir/src/fleet",
                "crates/weir/src/fleet.rs",
                "crates/weir/tests/it/rare",
                "crates/weir/tests/it/support",
            ],
        },
        run: || rare_tests("weir program", &["rare::", "--skip", "guides::", "--skip", "readme::"]),
    },
    // Commands on pages.
    RareStep {
        name: "commands",
        sources: Sources {
            crates: &["weir-load"],
            paths: &[
                "README.md",
                "docs",
                "crates/weir/tests/it/rare",
                "crates/weir/tests/it/readme.rs",
            ],
        },
        run: || rare_tests("weir program", &["readme::rare::", "rare::guides::"]),
    },
    RareStep {
        name: "engines",
        sources: Sources { crates: &["weir-io"], paths: &["crates/weir/tests/it/support/mod.rs"] },
        run: other_engine,
    },
];

/// Crates with `unsafe`.
const UNSAFE: [&str; 3] = ["weir-io", "weir-machine", "weir-script"];

/// How a run of this task differs from one of the steps whose digest differs.
#[derive(Debug, Default, PartialEq, Eq)]
struct NightlyOptions {
    /// Runs the steps whose digest is that of their stamp too.
    is_all: bool,
    /// Writes no stamps.
    is_check: bool,
    /// Selected steps by name; empty for all.
    only: Vec<String>,
}

/// Runs the steps that have to run, even after one has failed.
pub(crate) fn nightly(words: &[&str]) -> Result<()> {
    let options = NightlyOptions::parse(words)?;
    let root = root()?;
    let members = members()?;
    let mut stamps = Stamps::read(&root)?;
    stamps.retain(&STEPS.each_ref().map(|step| step.name));
    let mut failed = Vec::new();
    for step in STEPS.iter().filter(|step| options.wants(step.name)) {
        let digest = digest(&root, &step.sources.all_paths(&members)?)?;
        if stamps.has(step.name, &digest) && !options.is_all {
            eprintln!("nightly: {} was green with these sources", step.name);
            continue;
        }
        eprintln!("nightly: {}", step.name);
        if let Err(error) = (step.run)() {
            eprintln!("nightly: {} failed: {error:#}", step.name);
            failed.push(step.name);
        } else if !options.is_check {
            // At once, so that a step that fails later loses none.
            stamps.set(step.name, &digest);
            stamps.write(&root)?;
        }
    }
    ensure!(failed.is_empty(), "failed: {}", failed.join(", "));
    if !options.is_check {
        eprintln!("nightly: commit {} with the change that it is for", stamps::FILE);
    }
    Ok(())
}

impl NightlyOptions {
    fn parse(words: &[&str]) -> Result<NightlyOptions> {
        let mut options = NightlyOptions::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            match *word {
                "--all" => options.is_all = true,
                "--check" => options.is_check = true,
                "--only" => {
                    let names = words.next().context("no steps named; use --only STEP,STEP")?;
                    options.only.extend(names.split(',').map(str::to_owned));
                }
                other => bail!("failed to read `{other}`; use [--all] [--check] [--only STEP,…]"),
            }
        }
        let known = STEPS.each_ref().map(|step| step.name);
        let unknown = options.only.iter().find(|name| !known.contains(&name.as_str()));
        ensure!(unknown.is_none(), "no such step; there are {}", known.join(", "));
        Ok(options)
    }

    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == name)
    }
}

/// Tests the crates with `unsafe` as rustc compiles them: it checks that pointers are aligned and
/// not null, and clippy's driver, with which `ci` builds, leaves that out.
fn checked_pointers() -> Result<()> {
    let mut test = cargo(&["test", "--locked", "--all-features", "--tests"])?;
    test.args(UNSAFE.iter().flat_map(|name| ["--package", name]));
    run(&mut test)
}

/// Lints and tests the laboratory. It measures nothing.
fn lab() -> Result<()> {
    let mut test = cargo(&["test", "--locked", "--all-features"])?;
    run(lint::while_compiling(&mut test)?.current_dir(root()?.join("lab")))
}

/// Lints the fuzz targets, which a nightly compiler builds when they run. Each uses a part of the
/// checks that they share.
fn fuzz_targets() -> Result<()> {
    let mut clippy = cargo(&["clippy", "--locked", "--", "-D", "warnings"])?;
    clippy.args(["-A", "dead_code", "-A", "unused_imports"]);
    run(clippy.current_dir(root()?.join("fuzz")).env("CARGO_TARGET_DIR", target_dir()?))
}

/// Runs those tests of a suite that the words select.
fn rare_tests(name: &str, words: &[&str]) -> Result<()> {
    let target = name.rsplit(' ').next().unwrap_or(name);
    let suites = suites::build(&EVERYTHING, &["--test", target])?;
    let suite = suites.iter().find(|suite| suite.name == name);
    let suite = suite.with_context(|| format!("there are no tests {name}"))?;
    let selected = output(suite.program().args(words).arg("--list"))?;
    ensure!(selected.contains(": test"), "{name} has no test of {}", words.join(" "));
    run(suite.program().args(words))
}

/// Runs the program's tests on the engines that their names do not choose.
fn other_engine() -> Result<()> {
    for suite in suites::build(&EVERYTHING, &suites::PROGRAM)? {
        run(suite.command().env("WEIR_TEST_ENGINES", "other"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{File, Tree};

    #[test]
    fn every_step_covers_sources_that_are_there() {
        let root = root().expect("the root");
        let members = members().expect("the crates");
        for step in &STEPS {
            let paths = step.sources.all_paths(&members).expect("its crates exist");
            digest(&root, &paths).expect("its sources have a digest");
            for path in step.sources.paths {
                assert!(root.join(path).exists(), "{} covers {path}, which is gone", step.name);
            }
        }
    }

    #[test]
    fn counts_are_of_the_engine_and_what_it_imports() {
        let step = STEPS.iter().find(|step| step.name == "instructions").expect("a step");
        let paths = step.sources.all_paths(&members().expect("the crates")).expect("its crates");
        let covers = |path: &str| paths.iter().any(|covered| covered == path);
        for covered in ["crates/weir-engine/src", "crates/weir-http/src", "crates/weir-sim/src"] {
            assert!(covers(covered), "{covered}");
        }
        assert!(!covers("crates/weir-report/src") && !covers("crates/weir-engine/tests"));
    }

    #[test]
    fn suites_with_rare_tests_have_a_step() {
        let tree = Tree::read(&root().expect("the root")).expect("the repository");
        let rare = tree.rust().filter(|file| file.name() == "rare.rs");
        let mut crates: Vec<&str> = rare.map(File::crate_name).collect();
        crates.sort_unstable();
        assert_eq!(crates, ["weir", "weir-engine", "weir-report", "weir-study"]);
    }

    #[test]
    fn options_are_read() {
        let only = NightlyOptions::parse(&["--all", "--only", "docs,lab"]).expect("known steps");
        assert!(only.is_all && !only.is_check && only.wants("lab") && !only.wants("clippy"));
        let all = NightlyOptions::parse(&["--check"]).expect("an option");
        assert!(all.is_check && all.wants("clippy"));
        for wrong in [&["--only"] as &[&str], &["--only", "none"], &["docs"]] {
            assert!(NightlyOptions::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
