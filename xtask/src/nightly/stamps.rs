//! The committed stamps: the digest of what each step covered when it was last green.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Path of the file, from the root of the repository.
pub(super) const FILE: &str = "xtask/nightly.txt";

/// Its first lines.
const HEAD: &str = "\
# The digest of the sources that each step of `cargo xtask nightly` covers, at its last green run.
# That task writes this file; `cargo xtask ci` runs the steps whose digest differs.
";

/// Digests by step.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Stamps(BTreeMap<String, String>);

impl Stamps {
    /// Reads the file; none if there is none.
    pub(super) fn read(root: &Path) -> Result<Stamps> {
        let file = root.join(FILE);
        if !file.exists() {
            return Ok(Stamps::default());
        }
        let text = fs::read_to_string(file).with_context(|| format!("failed to read {FILE}"))?;
        Ok(Stamps::parse(&text))
    }

    pub(super) fn write(&self, root: &Path) -> Result<()> {
        fs::write(root.join(FILE), self.text()).with_context(|| format!("failed to write {FILE}"))
    }

    /// True if the step was green with this digest.
    pub(super) fn has(&self, step: &str, digest: &str) -> bool {
        self.0.get(step).is_some_and(|known| known == digest)
    }

    pub(super) fn set(&mut self, step: &str, digest: &str) {
        self.0.insert(step.to_owned(), digest.to_owned());
    }

    /// Keeps those of these steps alone.
    pub(super) fn retain(&mut self, steps: &[&str]) {
        self.0.retain(|step, _| steps.contains(&step.as_str()));
    }

    fn parse(text: &str) -> Stamps {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let stamps = lines.filter_map(|line| line.split_once(' '));
        Stamps(stamps.map(|(step, digest)| (step.to_owned(), digest.to_owned())).collect())
    }

    fn text(&self) -> String {
        let lines = self.0.iter().map(|(step, digest)| format!("{step} {digest}\n"));
        HEAD.to_owned() + &lines.collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_read_as_they_were_written() {
        let mut stamps = Stamps::default();
        stamps.set("docs", "12ab");
        stamps.set("gone", "00");
        stamps.retain(&["docs", "lab"]);
        let read = Stamps::parse(&stamps.text());
        assert_eq!(read, stamps);
        assert!(read.has("docs", "12ab") && !read.has("docs", "12ac") && !read.has("gone", "00"));
    }
}
