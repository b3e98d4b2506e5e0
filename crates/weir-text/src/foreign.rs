//! Text from outside (servers, documents, scripts, file names) as it may be printed. This is the
//! one place that decides which characters could change the text around them.

use std::borrow::Cow;
use std::fmt::Display;

/// Returns the text with `?` for every character that moves a terminal's cursor or reorders its
/// text: control characters, line ends included, and Unicode's marks of direction.
pub fn printable(text: &str) -> Cow<'_, str> {
    replaced(text, |_| false)
}

/// Head of the calls that led to an error of a script, a line of its own.
const CALLS: &str = "stack traceback:";

/// Beginnings of workflow commands of GitHub Actions, which takes them from indented lines too.
const COMMANDS: [&str; 2] = ["::", "##["];

/// Returns the same for text of several lines. Tabs are kept, and each line feed before a line that
/// is indented, as those of a message are, and is no workflow command: a line feed from outside
/// begins no line that looks like another message.
pub fn printable_lines(text: &str) -> Cow<'_, str> {
    let kept = |(at, c): (usize, char)| match c {
        '\t' => true,
        '\n' => {
            let behind = &text[at + 1..];
            let is_indented = behind.starts_with([' ', '\t']) || behind.starts_with(CALLS);
            let begin = behind.trim_start();
            is_indented && !COMMANDS.iter().any(|command| begin.starts_with(command))
        }
        _ => false,
    };
    replaced(text, kept)
}

/// Greatest length of a text in a report, in characters: more than any sensible URL or command.
const SHOWN_MAX: usize = 4_096;

/// Returns the text, cut with `…` if it is longer than 4,096 characters: a report is for people,
/// and the document has the whole.
pub fn excerpt(text: &str) -> Cow<'_, str> {
    match text.char_indices().nth(SHOWN_MAX) {
        Some((end, _)) => Cow::Owned(format!("{}…", &text[..end])),
        None => Cow::Borrowed(text),
    }
}

/// Greatest length of a text in an error, in characters.
const BRIEF_MAX: usize = 200;

/// Returns the text in one line, cut with `…` if it is longer than 200 characters: an error may
/// repeat any text of a damaged file.
pub fn brief(text: &str) -> String {
    match text.char_indices().nth(BRIEF_MAX) {
        Some((end, _)) => printable(&text[..end]).into_owned() + "…",
        None => printable(text).into_owned(),
    }
}

/// Returns an error of JSON in one line, without the list of the names that would be right; its
/// place in the file stays.
pub fn brief_json(error: &impl Display) -> String {
    let text = error.to_string();
    let (reason, place) = text.split_at(text.rfind(" at line ").unwrap_or(text.len()));
    let reason = reason.split(", expected one of ").next().unwrap_or_default();
    brief(reason) + place
}

/// True if the character is a control character (C0, DEL, C1) or a mark, embedding, override or
/// isolate of direction (Unicode Standard Annex 9, section 2).
pub fn is_unprintable(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}')
        || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Replaces the unprintable characters of a text, but those that stay, by their place.
fn replaced(text: &str, stays: impl Fn((usize, char)) -> bool) -> Cow<'_, str> {
    let is_foul = |(at, c): (usize, char)| is_unprintable(c) && !stays((at, c));
    if text.char_indices().any(is_foul) {
        let shown = |(at, c)| if is_foul((at, c)) { '?' } else { c };
        Cow::Owned(text.char_indices().map(shown).collect())
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_json_are_one_short_line() {
        #[derive(Debug, serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Known {
            #[expect(dead_code, reason = "it is only parsed")]
            one: u32,
            #[expect(dead_code, reason = "it is only parsed")]
            two: u32,
            #[expect(dead_code, reason = "it is only parsed")]
            three: u32,
        }
        let error =
            |text: &str| brief_json(&serde_json::from_str::<Known>(text).expect_err("it is wrong"));
        assert_eq!(error("{\"a\\nb\": 1}"), "unknown field `a?b` at line 1 column 7");
        let long = error(&format!("{{\"{}\": 1}}", "x".repeat(100_000)));
        assert!(
            long.ends_with("… at line 1 column 100003") && long.chars().count() < 250,
            "{long}"
        );
    }

    #[test]
    fn what_moves_or_reorders_text_is_replaced() {
        for (text, one_line, lines) in [
            ("µs → 漢字", "µs → 漢字", "µs → 漢字"),
            ("\u{1b}[31mred\u{7f}", "?[31mred?", "?[31mred?"),
            ("a\r\n\tb", "a???b", "a?\n\tb"),
            ("a\n  b\nerror: c", "a?  b?error: c", "a\n  b?error: c"),
            ("a\n \t::error::b\n##[c", "a? ?::error::b?##[c", "a? \t::error::b?##[c"),
            ("a\nstack traceback:\n\tb", "a?stack traceback:??b", "a\nstack traceback:\n\tb"),
            ("\u{85}\u{9b}1m", "??1m", "??1m"),
            ("\u{61c}\u{200e}\u{200f}\u{200d}", "???\u{200d}", "???\u{200d}"),
            ("\u{202a}\u{202e}\u{2066}\u{2069}", "????", "????"),
        ] {
            assert_eq!(printable(text), one_line, "{text:?}");
            assert_eq!(printable_lines(text), lines, "{text:?}");
        }
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        let text = "µ".repeat(SHOWN_MAX);
        assert!(matches!(excerpt(&text), Cow::Borrowed(_)));
        assert_eq!(excerpt(&format!("{text}µ")), format!("{text}…"));
    }

    #[test]
    fn clean_text_is_not_copied() {
        assert!(matches!(printable("as it is"), Cow::Borrowed(_)));
    }
}
