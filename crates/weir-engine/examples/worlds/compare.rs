//! Comparison of two files of records, line by line, in every field that both have.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader};

use serde_json::Value;

/// Greatest number of differences that are printed.
const PRINTED_MAX: usize = 20;

/// Greatest length of a printed value.
const VALUE_CHARS: usize = 60;

/// The result of a comparison.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Pairs of lines.
    lines: u64,
    /// Values that both files have: numbers, texts, booleans and nulls.
    values: u64,
    /// Of `lines`: those with a difference.
    different_lines: u64,
    /// Number of differences by field, with the first ones in full.
    differences: BTreeMap<String, u64>,
    first: Vec<String>,
    /// Fields that only one file has, with the number of their occurrences.
    alone: BTreeMap<String, u64>,
}

/// Compares two files of records.
///
/// # Errors
/// If a file cannot be read, or a line is no JSON.
pub(crate) fn files(left: &str, right: &str) -> io::Result<Comparison> {
    let lines = |path| io::Result::Ok(BufReader::new(File::open(path)?).lines());
    let mut left = lines(left)?;
    let mut right = lines(right)?;
    let mut comparison = Comparison::default();
    loop {
        let pair = (left.next().transpose()?, right.next().transpose()?);
        match pair {
            (Some(left), Some(right)) => {
                comparison.line(&serde_json::from_str(&left)?, &serde_json::from_str(&right)?);
            }
            (None, None) => return Ok(comparison),
            _ => return Err(io::Error::other("one file has more lines than the other")),
        }
    }
}

impl Comparison {
    /// True if there is no difference, and something was compared.
    pub(crate) fn is_equal(&self) -> bool {
        self.values > 0 && self.differences.is_empty()
    }

    fn line(&mut self, left: &Value, right: &Value) {
        let before: u64 = self.differences.values().sum();
        self.lines += 1;
        let mut path = Path { seed: left["seed"].to_string(), steps: Vec::new() };
        self.value(&mut path, left, right);
        let after: u64 = self.differences.values().sum();
        self.different_lines += u64::from(after > before);
    }

    fn value(&mut self, path: &mut Path, left: &Value, right: &Value) {
        match (left, right) {
            (Value::Object(left), Value::Object(right)) => {
                for (name, value) in left {
                    path.within(Step::Field(name.clone()), |path| match right.get(name) {
                        Some(other) => self.value(path, value, other),
                        None => self.only(path, "first"),
                    });
                }
                for name in right.keys().filter(|name| !left.contains_key(*name)) {
                    path.within(Step::Field(name.clone()), |path| self.only(path, "second"));
                }
            }
            (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
                for (index, (left, right)) in left.iter().zip(right).enumerate() {
                    path.within(Step::Index(index), |path| self.value(path, left, right));
                }
            }
            _ => {
                self.values += 1;
                if left != right {
                    self.difference(path, left, right);
                }
            }
        }
    }

    fn only(&mut self, path: &Path, file: &str) {
        *self.alone.entry(format!("{} (only in the {file} file)", path.field())).or_default() += 1;
    }

    fn difference(&mut self, path: &Path, left: &Value, right: &Value) {
        if self.first.len() < PRINTED_MAX {
            let left = shortened(left);
            let right = shortened(right);
            self.first.push(format!("seed {}: {}: {left} and {right}", path.seed, path.full()));
        }
        *self.differences.entry(path.field()).or_default() += 1;
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.first.iter().try_for_each(|difference| writeln!(f, "{difference}"))?;
        for (field, count) in &self.differences {
            writeln!(f, "different: {field}, {count} times")?;
        }
        for (field, count) in &self.alone {
            writeln!(f, "not compared: {field}, {count} times")?;
        }
        let Comparison { lines, values, different_lines, .. } = self;
        write!(f, "{different_lines} of {lines} seeds differ; {values} values compared")
    }
}

/// The place of a value in a line.
#[derive(Debug)]
struct Path {
    seed: String,
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Field(String),
    Index(usize),
}

impl Path {
    fn within(&mut self, step: Step, visit: impl FnOnce(&mut Path)) {
        self.steps.push(step);
        visit(self);
        self.steps.pop();
    }

    /// Returns the path with all indices.
    fn full(&self) -> String {
        self.text(|index| format!("[{index}]"))
    }

    /// Returns the path without indices: the same for all elements of an array.
    fn field(&self) -> String {
        self.text(|_| "[]".to_owned())
    }

    fn text(&self, of_index: impl Fn(usize) -> String) -> String {
        let mut text = String::new();
        for step in &self.steps {
            match step {
                Step::Field(name) if text.is_empty() => text += name,
                Step::Field(name) => text += &format!(".{name}"),
                Step::Index(index) => text += &of_index(*index),
            }
        }
        text
    }
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(VALUE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
