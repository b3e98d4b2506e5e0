//! A violation of a rule, and how it is printed.

use std::fmt;

use crate::source::{File, line_of};

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

    /// Returns a finding for each of these offsets in a text that has the lines of the file.
    pub(super) fn at_each(
        file: &File,
        text: &str,
        places: impl Iterator<Item = usize>,
        rule: &'static str,
        advice: &str,
    ) -> Vec<Finding> {
        places.map(|at| Finding::new(&file.path, line_of(text, at), rule, advice)).collect()
    }

    /// Returns a finding for each line of a file for which there is advice.
    pub(super) fn in_lines(
        file: &File,
        rule: &'static str,
        advice: impl Fn(&str) -> Option<String>,
    ) -> Vec<Finding> {
        let finding = |(text, line)| Some(Finding::new(&file.path, line, rule, advice(text)?));
        file.text.lines().zip(1..).filter_map(finding).collect()
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.path, self.line, self.rule, self.advice)
    }
}
