//! A violation of a rule, and how it is printed.

use std::fmt;

/// A violation of one rule in one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) path: String,
    /// Line number, from 1.
    pub(super) line: usize,
    pub(super) rule: &'static str,
    /// Instruction for a fix.
    pub(super) advice: String,
}

impl Finding {
    pub(super) fn new(
        path: &str,
        line: usize,
        rule: &'static str,
        advice: impl Into<String>,
    ) -> Finding {
        Finding { path: path.to_owned(), line, rule, advice: advice.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.advice)
    }
}
