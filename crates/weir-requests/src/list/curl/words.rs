//! Words of command lines, quoted as for a POSIX shell and as bash's `$'…'`, which browsers write.
//!
//! No shell is started, and nothing is expanded: text that a shell would expand is an error.

use std::io::BufRead;

use crate::list::RowError;
use crate::list::lines::Lines;

/// The error of a line that is quoted for another shell.
const OF_CMD: &str = "it is quoted for Windows' cmd (^): copy it as cURL for bash; text with ^ for \
                      a POSIX shell belongs in '…'";

/// A command line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// Line of its start, from 1.
    pub(super) line: u64,
    /// Its words; bytes, because quoted text may be no UTF-8.
    pub(super) words: Vec<Vec<u8>>,
}

/// Reads the command lines of the next line that has some, with the lines on which they go on.
/// `None` at the end.
///
/// # Errors
/// If a quote is not closed, or a shell would expand, redirect or pipe.
pub(super) fn read<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<Vec<CommandLine>>, RowError> {
    let Some(first) = lines.take_content()? else { return Ok(None) };
    let mut scanner = Scanner {
        lines,
        line: first.number,
        text: first.text,
        at: 0,
        begin: first.number,
        word: None,
        words: Vec::new(),
        commands: Vec::new(),
    };
    scanner.scan()?;
    Ok(Some(scanner.commands))
}

struct Scanner<'a, R> {
    lines: &'a mut Lines<R>,
    /// Number of the current line.
    line: u64,
    text: String,
    /// Place in `text`.
    at: usize,
    /// Line of the start of the current command.
    begin: u64,
    word: Option<Vec<u8>>,
    words: Vec<Vec<u8>>,
    commands: Vec<CommandLine>,
}

impl<R: BufRead> Scanner<'_, R> {
    fn scan(&mut self) -> Result<(), RowError> {
        while let Some(next) = self.next() {
            match next {
                ' ' | '\t' => self.end_word(),
                '#' if self.word.is_none() => self.at = self.text.len(),
                '\'' => self.single()?,
                '"' => self.double()?,
                '$' if self.peek() == Some('\'') => self.ansi_c()?,
                '$' if self.expands() => return Err(self.shell("expand", "$")),
                '\\' => match self.next() {
                    Some(next) => self.push(next),
                    None => self.next_line("behind its backslash")?,
                },
                ';' | '&' => self.end_command(),
                '`' | '|' | '<' | '>' | '(' | ')' => {
                    return Err(self.shell("act on", &next.to_string()));
                }
                '^' if self.is_of_cmd() => return Err(self.error(OF_CMD)),
                next => self.push(next),
            }
        }
        self.end_command();
        Ok(())
    }

    fn single(&mut self) -> Result<(), RowError> {
        self.begin_word();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some(next) => self.push(next),
                None => self.quoted_line()?,
            }
        }
    }

    fn double(&mut self) -> Result<(), RowError> {
        self.begin_word();
        loop {
            match self.next() {
                Some('"') => return Ok(()),
                Some('\\') => match self.next() {
                    Some(next @ ('$' | '`' | '"' | '\\')) => self.push(next),
                    Some(next) => {
                        self.push('\\');
                        self.push(next);
                    }
                    None => self.next_line("behind its backslash")?,
                },
                Some('$') if self.expands() => return Err(self.shell("expand", "$")),
                Some('`') => return Err(self.shell("act on", "`")),
                Some('^') if self.is_of_cmd() => return Err(self.error(OF_CMD)),
                Some(next) => self.push(next),
                None => self.quoted_line()?,
            }
        }
    }

    /// Reads `$'…'` (bash manual, "ANSI-C Quoting").
    fn ansi_c(&mut self) -> Result<(), RowError> {
        self.begin_word();
        self.next();
        loop {
            match self.next() {
                Some('\'') => return Ok(()),
                Some('\\') => self.escape()?,
                Some(next) => self.push(next),
                None => self.quoted_line()?,
            }
        }
    }

    fn escape(&mut self) -> Result<(), RowError> {
        let Some(next) = self.next() else {
            self.push('\\');
            return self.quoted_line();
        };
        match next {
            'a' => self.push('\x07'),
            'b' => self.push('\x08'),
            'e' | 'E' => self.push('\x1b'),
            'f' => self.push('\x0c'),
            'n' => self.push('\n'),
            'r' => self.push('\r'),
            't' => self.push('\t'),
            'v' => self.push('\x0b'),
            '0'..='7' => {
                self.at -= 1;
                let code = self.digits(8, 3);
                self.push_byte(code as u8);
            }
            'x' => {
                let code = self.digits(16, 2);
                self.push_byte(code as u8);
            }
            'u' | 'U' => {
                let code = self.digits(16, if next == 'u' { 4 } else { 8 });
                let code = self.with_low_half(code);
                let Some(next) = char::from_u32(code) else {
                    return Err(self.error("an escape in it is no character"));
                };
                self.push(next);
            }
            '\\' | '\'' | '"' | '?' => self.push(next),
            _ => {
                self.push('\\');
                self.push(next);
            }
        }
        Ok(())
    }

    /// Returns the character of a surrogate pair, which browsers write as two escapes.
    fn with_low_half(&mut self, code: u32) -> u32 {
        let is_high = (0xd800..0xdc00).contains(&code);
        if !is_high || !self.text[self.at..].starts_with("\\u") {
            return code;
        }
        self.at += 2;
        let low = self.digits(16, 4);
        match (0xdc00..0xe000).contains(&low) {
            true => 0x1_0000 + ((code - 0xd800) << 10) + (low - 0xdc00),
            false => code,
        }
    }

    /// Reads at most `most` digits.
    fn digits(&mut self, radix: u32, most: usize) -> u32 {
        let mut code = 0;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|next| next.to_digit(radix)) else { break };
            code = code * radix + digit;
            self.at += 1;
        }
        code
    }

    /// True if a `^` that was just read escapes what follows, as in Windows' cmd: a line's end, or
    /// a character that cmd or its programs act on.
    fn is_of_cmd(&self) -> bool {
        self.peek().is_none_or(|next| "\"\\^&|<>(){}[]%!@#$".contains(next))
    }

    /// True if a `$` that was just read begins something that a shell would expand.
    fn expands(&self) -> bool {
        let starts = |next: char| next.is_ascii_alphanumeric() || "_{(@*#?$!-".contains(next);
        self.peek().is_some_and(starts)
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    /// Goes on in the next line, within quotes.
    fn quoted_line(&mut self) -> Result<(), RowError> {
        self.next_line("with a quote that is not closed")?;
        self.push('\n');
        Ok(())
    }

    fn next_line(&mut self, place: &str) -> Result<(), RowError> {
        let begin = self.begin;
        let Some(line) = self.lines.take()? else {
            return Err(RowError::new(begin, format!("the list ends {place}")));
        };
        (self.line, self.text, self.at) = (line.number, line.text, 0);
        Ok(())
    }

    fn begin_word(&mut self) {
        self.word.get_or_insert_default();
    }

    fn push(&mut self, next: char) {
        let mut bytes = [0; 4];
        let bytes = next.encode_utf8(&mut bytes).as_bytes();
        self.word.get_or_insert_default().extend_from_slice(bytes);
    }

    fn push_byte(&mut self, byte: u8) {
        self.word.get_or_insert_default().push(byte);
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = std::mem::take(&mut self.words);
        if !words.is_empty() {
            self.commands.push(CommandLine { line: self.begin, words });
        }
        self.begin = self.line;
    }

    fn shell(&self, act: &str, what: &str) -> RowError {
        self.error(&format!("a shell would {act} {what:?}, and none is run: quote it with '…'"))
    }

    fn error(&self, text: &str) -> RowError {
        RowError::new(self.line, text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<(u64, Vec<String>)>, RowError> {
        let mut lines = Lines::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some(commands) = read(&mut lines)? {
            for CommandLine { line, words } in commands {
                let words = words.iter().map(|word| String::from_utf8_lossy(word).into_owned());
                all.push((line, words.collect()));
            }
        }
        Ok(all)
    }

    #[test]
    fn words_are_those_of_bash() {
        let check = |text: &str, expected: &[&str]| {
            let found = all(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(found.len(), 1, "{text}");
            assert_eq!(found[0].1, expected, "{text}");
        };
        check("curl  a\tb", &["curl", "a", "b"]);
        check(r#"'a b'c"d e"\ f"#, &["a bcd e f"]);
        check(r#""\$\"\\\n" '' """#, &[r#"$"\\n"#, "", ""]);
        check("a \\\n  b", &["a", "b"]);
        check("'a\nb' \"c\\\nd\"", &["a\nb", "cd"]);
        check("a#b # c 'd", &["a#b"]);
        check(r"$'a\n\t\'\\\x41\101\u0021\u00fc\ud83d\ude00\q'", &["a\n\t'\\AA!ü😀\\q"]);
        check("$ curl 5$ a$,", &["$", "curl", "5$", "a$,"]);
        check("http://h/?a=b*[c]{d}", &["http://h/?a=b*[c]{d}"]);
    }

    #[test]
    fn commands_end_with_the_line_or_an_operator() {
        let found = all("a b; c &\nd\n\ne && f\n").expect("commands");
        let lines: Vec<u64> = found.iter().map(|(line, _)| *line).collect();
        assert_eq!(lines, [1, 1, 2, 4, 4]);
        let found = all("a \\\n;\nb 'c\nd' ; e").expect("commands");
        assert_eq!(found[1], (3, vec!["b".to_owned(), "c\nd".to_owned()]));
        assert_eq!(found[2].0, 4);
    }

    #[test]
    fn nothing_is_expanded_or_run() {
        for text in
            ["$HOME", "\"${A}\"", "$(id)", "`id`", "\"`id`\"", "a | b", "a > b", "a <b", "(a)"]
        {
            let error = all(text).expect_err(text);
            assert!(error.text.contains("a shell would"), "{text}: {error}");
        }
        assert_eq!(all("a\nb 'c").expect_err("open").position, 2.into());
        assert!(all("a \\").is_err() && all("a \"b").is_err() && all(r"$'\ud800'").is_err());
        for text in [
            "curl ^\n",
            "curl ^\"http://h/^\"",
            r#"curl "http://h/?page=1^&size=2""#,
            r#"curl h --data-raw "^{^\^"note^\^":1^}""#,
            "curl http://h/?a=1^&b=2",
        ] {
            assert!(all(text).expect_err(text).text.contains("copy it as cURL for bash"), "{text}");
        }
        assert!(all("curl 'http://h/^&' -d \"a^b\" c^d").is_ok(), "text of a POSIX shell");
        let bytes = read(&mut Lines::new(&br"$'\xfc'"[..])).expect("words").expect("a command");
        assert_eq!(bytes[0].words, [vec![0xfc]]);
    }
}
