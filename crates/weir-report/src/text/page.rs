//! Lines that never exceed the page, but for words of commands: joining, wrapping and colouring.
//!
//! This file does not depend on the content of a line. Text from outside (a URL, a header) cannot
//! move the cursor or colour anything.

use std::io::{self, Write};

use weir_text::{excerpt, printable};

use crate::view::Tone;

const WIDTH_MIN: usize = 60;
const WIDTH_MAX: usize = 120;

/// Column at which text begins after its label: `  Status codes  `.
pub(super) const INDENT: usize = 16;

/// Lines to print.
pub(super) struct TextPage {
    width: usize,
    lines: Vec<Vec<Span>>,
    is_gap_due: bool,
}

/// Some text in one tone.
#[derive(Clone, Debug)]
pub(super) struct Span {
    text: String,
    tone: Tone,
}

/// The escape sequence of a tone on a terminal.
fn code(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Main => "\x1b[1m",
        Tone::Good => "\x1b[32m",
        Tone::Caution => "\x1b[33m",
        Tone::Bad => "\x1b[31m",
        Tone::Aside => "\x1b[2m",
    }
}

impl Span {
    /// Creates text in a tone; characters that a terminal would interpret become `?`.
    pub(super) fn new(text: impl Into<String>, tone: Tone) -> Span {
        Span { text: printable(&excerpt(&text.into())).into_owned(), tone }
    }

    /// Creates text without emphasis.
    pub(super) fn plain(text: impl Into<String>) -> Span {
        Span::new(text, Tone::Plain)
    }

    /// The text.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Width in columns.
    pub(super) fn width(&self) -> usize {
        columns(&self.text)
    }
}

/// A label at the start of a line.
pub(super) fn label(text: &str) -> Span {
    Span::new(format!("  {text}"), Tone::Aside)
}

impl TextPage {
    pub(super) fn new(width: usize) -> TextPage {
        TextPage { width: width.clamp(WIDTH_MIN, WIDTH_MAX), lines: Vec::new(), is_gap_due: false }
    }

    /// Columns of a line.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Adds an empty line, if another one follows.
    pub(super) fn gap(&mut self) {
        self.is_gap_due = !self.lines.is_empty();
    }

    /// Adds one line, cut at the page's edge.
    pub(super) fn line(&mut self, spans: impl IntoIterator<Item = Span>) {
        let mut left = self.width;
        let mut line = Vec::new();
        for span in spans {
            let span = Span { text: shortened(&span.text, left), tone: span.tone };
            left -= span.width();
            line.push(span);
        }
        self.push(line);
    }

    /// Adds one line as it is.
    fn push(&mut self, mut line: Vec<Span>) {
        // Blanks at the end of a line are noise in a golden file and in a paste.
        while let Some(last) = line.last_mut() {
            last.text.truncate(last.text.trim_end().len());
            if !last.text.is_empty() {
                break;
            }
            line.pop();
        }
        if std::mem::take(&mut self.is_gap_due) {
            self.lines.push(Vec::new());
        }
        self.lines.push(line);
    }

    /// Adds items side by side, `indent` columns in, with gaps between them, on as few lines as
    /// they need; the first line begins with `label`. An item wider than a line is wrapped.
    pub(super) fn items(&mut self, label: Span, indent: usize, items: Vec<Span>) {
        let room = self.width - indent;
        let items: Vec<Span> = items
            .into_iter()
            .flat_map(|item| {
                let lines = match item.width() > room {
                    true => wrapped(item.text.split_whitespace(), room),
                    false => vec![item.text],
                };
                lines.into_iter().map(move |text| Span { text, tone: item.tone })
            })
            .collect();
        let together: usize = items.iter().map(Span::width).sum();
        let gaps = items.len().saturating_sub(1);
        // Two blanks between items are better than a second line.
        let gap = if together + 3 * gaps > room && together + 2 * gaps <= room { 2 } else { 3 };
        let mut line = vec![padded(label, indent)];
        let mut used = 0;
        for item in items {
            let width = item.width();
            if used > 0 && used + gap + width > room {
                self.line(std::mem::take(&mut line));
                line.push(Span::plain(" ".repeat(indent)));
                used = 0;
            }
            if used > 0 {
                line.push(Span::plain(" ".repeat(gap)));
                used += gap;
            }
            used += width;
            line.push(item);
        }
        self.line(line);
    }

    /// Adds a sentence after a label, wrapped between words, `indent` columns in.
    pub(super) fn paragraph(&mut self, label: Span, indent: usize, text: &Span) {
        let lines = wrapped(text.text.split_whitespace(), self.width - indent);
        self.paragraph_of(label, indent, lines, text.tone);
    }

    /// Adds a shell command after a label, wrapped between words; a backslash ends each line that
    /// is continued, so that a copy of the lines is the same command.
    pub(super) fn command(&mut self, label: Span, indent: usize, command: &Span) {
        let words = shell_words(&command.text);
        let widest = words.iter().map(|word| columns(word) + CONTINUED.len()).max().unwrap_or(0);
        // A word that is cut is no command any more, so a long one begins further to the left,
        // below the label, and may exceed the page.
        let is_wide = indent + widest > self.width;
        let (indent, label) = match is_wide && indent > HANGING {
            true => {
                if !label.text.trim().is_empty() {
                    self.line([label]);
                }
                (HANGING, Span::plain(""))
            }
            false => (indent, label),
        };
        let room = self.width - indent;
        let mut lines = match command.width() <= room {
            true => vec![command.text.clone()],
            false => joined(words.into_iter(), room - CONTINUED.len()),
        };
        let continued = lines.len() - 1;
        lines.iter_mut().take(continued).for_each(|line| line.push_str(CONTINUED));
        let mut label = Some(label);
        for text in lines {
            let start = label.take().unwrap_or(Span::plain(""));
            self.push(vec![padded(start, indent), Span { text, tone: command.tone }]);
        }
    }

    /// Adds lines `indent` columns in, the first one after a label.
    fn paragraph_of(&mut self, label: Span, indent: usize, lines: Vec<String>, tone: Tone) {
        let mut label = Some(label);
        for text in lines {
            let start = label.take().unwrap_or(Span::plain(""));
            self.line([padded(start, indent), Span { text, tone }]);
        }
    }

    /// Prints all lines.
    pub(super) fn print(&self, colour: bool, out: &mut dyn Write) -> io::Result<()> {
        for line in &self.lines {
            for Span { text, tone } in line {
                if colour && *tone != Tone::Plain && !text.trim().is_empty() {
                    write!(out, "{}{text}\x1b[0m", code(*tone))?;
                } else {
                    out.write_all(text.as_bytes())?;
                }
            }
            out.write_all(b"\n")?;
        }
        Ok(())
    }
}

/// End of a line of a command that the next line continues.
const CONTINUED: &str = " \\";

/// Column of a command with a word that is too wide for the column of the text.
const HANGING: usize = 4;

/// Joins words, cut if they are wider, to lines of at most `room` columns; there is at least one
/// line.
fn wrapped<'a>(words: impl Iterator<Item = &'a str>, room: usize) -> Vec<String> {
    joined(words.map(|word| shortened(word, room)), room)
}

/// Joins words to lines of at most `room` columns, unless one word is wider; there is at least one
/// line.
fn joined(words: impl Iterator<Item = impl AsRef<str>>, room: usize) -> Vec<String> {
    let mut current = String::new();
    let mut lines = Vec::new();
    for word in words {
        let word = word.as_ref();
        if !current.is_empty() && columns(&current) + 1 + columns(word) > room {
            lines.push(std::mem::take(&mut current));
        }
        if !current.is_empty() {
            current.push(' ');
        }
        current.push_str(word);
    }
    lines.push(current);
    lines
}

/// Splits a command at blanks outside of single quotes.
fn shell_words(command: &str) -> Vec<&str> {
    let mut is_quoted = false;
    let words = command.split(|c| {
        is_quoted ^= c == '\'';
        c == ' ' && !is_quoted
    });
    words.filter(|word| !word.is_empty()).collect()
}

/// Pads the span with blanks to `width` columns.
fn padded(span: Span, width: usize) -> Span {
    let text = shortened(&span.text, width);
    let blanks = " ".repeat(width - columns(&text));
    Span { text: text + &blanks, tone: span.tone }
}

/// Returns the text, or as much of its beginning as fits before an ellipsis.
fn shortened(text: &str, room: usize) -> String {
    if columns(text) <= room {
        return text.to_owned();
    }
    let mut short = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += columns_of(c);
        if used > room {
            break;
        }
        short.push(c);
    }
    if room > 0 {
        short.push('…');
    }
    short
}

fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Columns of a character: two from the wide scripts on, which never underestimates.
fn columns_of(c: char) -> usize {
    match c {
        '\u{0}'..='\u{10ff}' | '\u{2000}'..='\u{2bff}' => 1,
        _ => 2,
    }
}
