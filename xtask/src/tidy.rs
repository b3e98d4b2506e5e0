//! `cargo xtask tidy`: checks the rules of STYLE.md that neither rustc nor clippy checks.
//!
//! Every rule is a pure function from the tree of files to findings, so that its tests are short
//! strings. Known violations are listed in `xtask/tidy-exceptions.txt`, which may only shrink.

mod blob;
mod circles;
mod citations;
mod commits;
mod decisions;
mod exceptions;
mod finding;
mod flags;
mod identifiers;
mod integration;
mod journey;
mod language;
mod layers;
mod manifests;
mod measured;
mod methods;
mod names;
mod printing;
mod rust;
mod text;
mod words;

use anyhow::{Result, ensure};

use crate::shell;
use crate::source::Tree;
use finding::Finding;

/// Checks the whole repository and prints the findings.
pub(crate) fn tidy() -> Result<()> {
    let tree = Tree::read(&shell::root()?)?;
    let findings = exceptions::apply(&tree, findings(&tree));
    for finding in &findings {
        eprintln!("{finding}");
    }
    ensure!(findings.is_empty(), "{} findings", findings.len());
    Ok(())
}

/// All rules.
const RULES: [fn(&Tree) -> Vec<Finding>; 19] = [
    rust::check,
    text::check,
    manifests::check,
    layers::check,
    journey::check,
    circles::check,
    citations::check,
    printing::check,
    decisions::check,
    measured::check,
    commits::check,
    words::check,
    methods::check,
    names::check,
    language::check,
    flags::check,
    identifiers::check,
    integration::check,
    blob::check,
];

fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort_by(|a, b| (&a.path, a.line, a.rule).cmp(&(&b.path, b.line, b.rule)));
    findings
}
