//! A kind of run within a study: its cell, and the specification with its secrets.

use weir_result::study::{Cell, Level};
use weir_runner::RunSpec;

/// A kind of run.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Its cell in the study.
    pub cell: Cell,
    /// Its specification, with secrets.
    pub spec: RunSpec,
}

impl Variant {
    /// Returns the variant of a specification. Its cell has the specification's command line.
    /// `levels` are the values of a sweep's factors.
    pub fn new(name: &str, levels: Vec<Level>, spec: RunSpec) -> Variant {
        let words = spec.command.clone().unwrap_or_default();
        Variant {
            cell: Cell { name: name.to_owned(), words, spec: spec.stored(&[]), levels },
            spec,
        }
    }
}

/// Returns a text without the secrets of any of the runs.
pub fn redacted(variants: &[Variant], text: &str) -> String {
    let without = |text: String, variant: &Variant| variant.spec.redacted_text(&text);
    variants.iter().fold(text.to_owned(), without)
}
