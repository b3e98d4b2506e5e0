//! The committed counts: for each scenario the instructions per request and why they last changed.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::shell::root;

/// Path of the baseline, from the root of the repository.
const FILE: &str = "xtask/src/instructions/baseline.json";

/// The counts, in the order of their names.
pub(super) struct Baseline {
    /// Compiler version of the counts.
    pub(super) compiler: Option<String>,
    pub(super) scenarios: Map<String, Value>,
}

impl Baseline {
    /// Reads the committed baseline; empty if there is none.
    pub(super) fn read() -> Result<Baseline> {
        let path = path()?;
        if !path.exists() {
            return Ok(Baseline { compiler: None, scenarios: Map::new() });
        }
        let text = fs::read_to_string(&path).context("failed to read the baseline")?;
        Baseline::parse(&text).with_context(|| format!("failed to understand {FILE}"))
    }

    fn parse(text: &str) -> Result<Baseline> {
        let value: Value = serde_json::from_str(text)?;
        let scenarios = value["scenarios"].as_object().context("there are no scenarios")?;
        let compiler = value["compiler"].as_str().map(str::to_owned);
        Ok(Baseline { compiler, scenarios: scenarios.clone() })
    }

    /// Returns a scenario's count, if it has one.
    pub(super) fn count(&self, name: &str) -> Option<f64> {
        self.scenarios.get(name)?["instructions"].as_f64()
    }

    pub(super) fn set(&mut self, name: &str, count: f64, reason: &str) {
        let count = (count * 10.0).round() / 10.0;
        self.scenarios.insert(name.to_owned(), json!({ "instructions": count, "reason": reason }));
    }

    /// Writes the file, which must then be committed.
    pub(super) fn write(&self, compiler: &str) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.to_value(compiler))? + "\n";
        fs::write(path()?, text).context("failed to write the baseline")?;
        eprintln!("instructions: wrote {FILE}; commit it with the change that it is for");
        Ok(())
    }

    fn to_value(&self, compiler: &str) -> Value {
        json!({ "compiler": compiler, "scenarios": self.scenarios })
    }
}

fn path() -> Result<PathBuf> {
    Ok(root()?.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut baseline = Baseline { compiler: None, scenarios: Map::new() };
        baseline.set("one", 12.34, "it is new");
        baseline.set("two", 2.0, "so is this");
        baseline.scenarios.remove("two");
        let read = Baseline::parse(&baseline.to_value("rustc 1").to_string()).expect("as written");
        assert_eq!((read.count("one"), read.count("two")), (Some(12.3), None));
        assert_eq!(read.compiler.as_deref(), Some("rustc 1"));
        assert!(Baseline::parse("{}").is_err());
    }
}
