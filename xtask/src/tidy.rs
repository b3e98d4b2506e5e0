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
use crate::source::tree::Tree;
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

fn findings(tree: &Tree) -> Vec<Finding> {
    let rules = [rust::check, text::check, manifests::check, layers::check, journey::check];
    let mut findings: Vec<Finding> = rules.iter().flat_map(|rule| rule(tree)).collect();
    findings.extend(circles::check(tree));
    findings.extend(citations::check(tree));
    findings.extend(printing::check(tree));
    findings.extend(decisions::check(tree));
    findings.extend(measured::check(tree));
    findings.extend(commits::check(tree));
    findings.extend(words::check(tree));
    findings.extend(methods::check(tree));
    findings.extend(names::check(tree));
    findings.extend(language::check(tree));
    findings.extend(flags::check(tree));
    findings.extend(identifiers::check(tree));
    findings.extend(integration::check(tree));
    findings.extend(blob::check(tree));
    findings.sort_by(|a, b| (&a.path, a.line, a.rule).cmp(&(&b.path, b.line, b.rule)));
    findings
}
