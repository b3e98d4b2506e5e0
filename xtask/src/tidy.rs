//! `cargo xtask tidy`: checks the rules of STYLE.md that neither rustc nor clippy checks.
//!
//! Every rule is a pure function from the tree of files to findings, so that its tests are short
//! strings. Known violations are listed in `xtask/tidy-exceptions.txt`, which may only shrink.

mod bindings;
mod circles;
mod exceptions;
mod files;
mod finding;
mod flags;
mod identifiers;
mod journey;
mod language;
mod layers;
mod manifests;
mod measured;
mod methods;
mod names;
mod pages;
mod parameters;
mod printing;
mod rooms;
mod rust;
mod shapes;

use anyhow::{Result, ensure};

use crate::shell;
use crate::source::Tree;
use finding::Finding;

/// Checks the whole repository and prints the findings.
pub(crate) fn tidy() -> Result<()> {
    let tree = Tree::read(&shell::root()?)?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort_by(|a, b| (&a.path, a.line, a.rule).cmp(&(&b.path, b.line, b.rule)));
    let findings = exceptions::apply(&tree, findings);
    for finding in &findings {
        eprintln!("{finding}");
    }
    ensure!(findings.is_empty(), "{} findings", findings.len());
    Ok(())
}

/// All rules.
const RULES: [fn(&Tree) -> Vec<Finding>; 23] = [
    rust::check,
    files::text,
    manifests::check,
    layers::check,
    journey::check,
    circles::check,
    rooms::check,
    bindings::check,
    parameters::check,
    pages::citations,
    printing::check,
    pages::decisions,
    measured::check,
    pages::commits,
    pages::word_limits,
    methods::check,
    names::check,
    shapes::check,
    language::check,
    flags::check,
    identifiers::check,
    files::integration,
    files::blobs,
];
