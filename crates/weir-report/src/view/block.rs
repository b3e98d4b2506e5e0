//! The pieces of a section: lines with a label and without one, tables, plots, notes.

use super::{Fact, Plot, Table};

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A line without a label.
    Line(Line),
    /// Lines with a label.
    Entry(Entry),
    /// Lines that a page shows once they are opened; the label names them.
    Folded(Entry),
    /// A table.
    Table(Table),
    /// A plot. Renderers of text leave it out.
    Plot(Plot),
    /// A note.
    Note(String),
}

/// Lines with a label.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Label: `Throughput`.
    pub label: String,
    /// One line or more.
    pub lines: Vec<Line>,
}

/// Facts of one line.
#[derive(Clone, Debug)]
pub struct Line {
    /// Relation of the facts to each other.
    pub form: Form,
    /// Facts in order.
    pub facts: Vec<Fact>,
}

/// Relation of the facts of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Facts side by side.
    Facts,
    /// The first fact is the sum of the others.
    Sum,
    /// One sentence.
    Sentence,
    /// One sentence, an item of a list.
    Item,
    /// One sentence about a list, after its items.
    Remark,
    /// A shell command, which stays one when it is broken into lines.
    Command,
}

impl Block {
    /// A label with one line of facts.
    pub fn facts(label: &str, facts: Vec<Fact>) -> Block {
        Block::entry(label, vec![Line::facts(facts)])
    }

    /// A label with one sentence.
    pub fn sentence(label: &str, sentence: Fact) -> Block {
        Block::entry(label, vec![Line::sentence(sentence)])
    }

    /// A label with its lines.
    pub fn entry(label: &str, lines: Vec<Line>) -> Block {
        Block::Entry(Entry { label: label.to_owned(), lines })
    }
}

impl Line {
    /// Facts side by side.
    pub fn facts(facts: Vec<Fact>) -> Line {
        Line { form: Form::Facts, facts }
    }

    /// A sentence.
    pub fn sentence(sentence: Fact) -> Line {
        Line { form: Form::Sentence, facts: vec![sentence] }
    }

    /// An item of a list.
    pub(super) fn item(sentence: Fact) -> Line {
        Line { form: Form::Item, facts: vec![sentence] }
    }
}
