//! The text after the flags of a help page, as sections of a man page.

use std::io::{self, Write};

use roff::{Roff, bold, roman};

/// A block: a paragraph, or lines that stay as they are.
#[derive(Debug, Default, PartialEq, Eq)]
struct NoteBlock {
    /// Text before a colon at the start.
    heading: Option<String>,
    /// The remaining text of a paragraph.
    text: String,
    /// Lines below a heading that stands alone.
    lines: Vec<String>,
}

/// Writes the sections of the text after the flags: notes, then examples. The list of commands is
/// left out, since a man page has its own.
pub(super) fn render(help: &str, out: &mut dyn Write) -> io::Result<()> {
    let mut roff = Roff::new();
    let blocks = blocks(help);
    let is_headed = |block: &&NoteBlock, heading| block.heading.as_deref() == Some(heading);
    let (examples, notes): (Vec<&NoteBlock>, Vec<&NoteBlock>) =
        blocks.iter().partition(|block| is_headed(block, "Examples"));
    let notes = notes.into_iter().filter(|block| !is_headed(block, "Commands"));
    for (index, block) in notes.enumerate() {
        if index == 0 {
            roff.control("SH", ["NOTES"]);
        }
        match &block.heading {
            Some(heading) => roff.control("TP", []).text([bold(heading)]),
            None if index == 0 => &mut roff,
            None => roff.control("PP", []),
        };
        block.render(&mut roff);
    }
    for block in examples {
        roff.control("SH", ["EXAMPLES"]);
        block.render(&mut roff);
    }
    roff.to_writer(out)
}

/// Reads the text. A block begins after an empty line, and at a line with a heading.
fn blocks(help: &str) -> Vec<NoteBlock> {
    let mut blocks: Vec<NoteBlock> = Vec::new();
    let mut is_after_gap = true;
    for line in help.lines() {
        if line.trim().is_empty() {
            is_after_gap = true;
            continue;
        }
        let heading = heading(line);
        match blocks.last_mut().filter(|_| heading.is_none() && !is_after_gap) {
            Some(block) => block.add(line),
            None => blocks.push(NoteBlock::starting(line, heading)),
        }
        is_after_gap = false;
    }
    blocks
}

impl NoteBlock {
    fn starting(line: &str, heading: Option<&str>) -> NoteBlock {
        let text = heading.map_or(line, |heading| &line[heading.len() + 1..]);
        let heading = heading.map(str::to_owned);
        let text = text.trim().to_owned();
        NoteBlock { heading, text, lines: Vec::new() }
    }

    fn add(&mut self, line: &str) {
        if self.text.is_empty() {
            self.lines.push(line.trim().to_owned());
        } else {
            self.text.push(' ');
            self.text.push_str(line.trim());
        }
    }

    fn render(&self, roff: &mut Roff) {
        if !self.text.is_empty() {
            roff.text([roman(&self.text)]);
        }
        if !self.lines.is_empty() {
            roff.control("nf", []);
            for line in &self.lines {
                roff.text([roman(line)]);
            }
            roff.control("fi", []);
        }
    }
}

/// The heading at the start of a line, without its colon: at most five words, the first one
/// capitalised.
fn heading(line: &str) -> Option<&str> {
    let (heading, rest) = line.split_once(':')?;
    let ends = rest.is_empty() || rest.starts_with(' ');
    let is_sentence = heading.contains(['.', ',']) || heading.split(' ').count() > 5;
    let is_capitalised = heading.starts_with(|c: char| c.is_ascii_uppercase());
    (ends && is_capitalised && !is_sentence).then_some(heading)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(help: &str) -> String {
        let mut out = Vec::new();
        render(help, &mut out).expect("writing to memory");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn paragraphs_are_joined_and_examples_are_not() {
        let help = "Each finding has\nits evidence.\n\nDelays: 5ms,\n  exp:2ms\n";
        let examples = "Examples:\n  weir a\n  weir b\n";
        let page = rendered(&[help, examples].concat());
        for part in [
            ".SH NOTES\nEach finding has its evidence.\n",
            ".TP\n\\fBDelays\\fR\n5ms, exp:2ms\n",
            ".SH EXAMPLES\n.nf\nweir a\nweir b\n.fi\n",
        ] {
            assert!(page.contains(part), "{part:?} is not in {page}");
        }
    }

    #[test]
    fn the_list_of_commands_is_left_out() {
        assert!(!rendered("Commands:\n  weir ab    Compare\n").contains("Compare"));
        assert_eq!(blocks(""), []);
    }
}
