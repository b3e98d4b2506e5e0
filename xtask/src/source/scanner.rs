//! A minimal scanner for Rust: separates code from comments and literals, and finds functions.
//!
//! It relies on rustfmt (checked by another step) and is independent of the rules.

use std::iter::once;
use std::ops::Range;

/// Copies of a source text, of code and of comments, with all other bytes blanked: offsets and
/// lines agree with the original. Literals are in no copy.
#[derive(Default)]
pub(crate) struct Masked {
    pub(crate) code: String,
    /// The code without the items under `#[cfg(test)]`.
    pub(crate) production: String,
    pub(crate) comments: String,
}

impl Masked {
    pub(crate) fn new(source: &str) -> Masked {
        let Opaque { comments, literals } = opaque(source);
        let code = without(source, comments.iter().chain(&literals).cloned());
        let mut only_comments = without(source, once(0..source.len())).into_bytes();
        for span in comments {
            only_comments[span.clone()].copy_from_slice(&source.as_bytes()[span]);
        }
        let production = without(&code, test_items(&code));
        Masked { code, production, comments: text_of(only_comments) }
    }
}

/// A function with a body. Lines are counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Line of `fn`.
    pub(crate) first_line: usize,
    /// Line of the closing brace.
    pub(crate) last_line: usize,
    /// Offsets between the parentheses.
    pub(crate) parameters: Range<usize>,
    /// Offsets between the braces.
    pub(crate) body: Range<usize>,
}

/// Returns all functions of masked code, nested ones too, in the order of their `fn`.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for at in words(code, "fn") {
        let name = identifier(code[at + 2..].trim_start());
        let open = head_end(code, at);
        // A mere declaration has no body, and the type of a function pointer no name.
        if name.is_empty() || !code[open..].starts_with('{') {
            continue;
        }
        let close = closing_brace(code, open);
        found.push(Function {
            name: name.to_owned(),
            first_line: line_of(code, at),
            last_line: line_of(code, close),
            parameters: parentheses(code, at),
            body: open + 1..close,
        });
    }
    found
}

/// Returns the offsets between the first parentheses behind `at` that are outside other brackets.
fn parentheses(code: &str, at: usize) -> Range<usize> {
    let mut ends = outside(&code[at..]).filter(|(_, c)| matches!(c, '(' | ')'));
    let mut next = || ends.next().map_or(code.len(), |(offset, _)| at + offset);
    let open = next();
    (open + 1).min(code.len())..next()
}

/// Returns the parts of a list, which commas outside brackets separate, without spaces around them.
pub(crate) fn listed(code: &str) -> Vec<&str> {
    let commas = outside(code).filter(|(_, c)| *c == ',').map(|(at, _)| at);
    let mut begin = 0;
    let parts = commas.chain(once(code.len())).map(|end| {
        let part = code[begin..end].trim();
        begin = end + 1;
        part
    });
    parts.filter(|part| !part.is_empty()).collect()
}

/// Returns the name or pattern of `name: Type`, with all before it, and the type.
pub(crate) fn typed(code: &str) -> Option<(&str, &str)> {
    let is_lone = |at: usize| !code[..at].ends_with(':') && !code[at + 1..].starts_with(':');
    let (at, _) = outside(code).find(|(at, c)| *c == ':' && is_lone(*at))?;
    Some((code[..at].trim(), code[at + 1..].trim()))
}

/// Returns the characters outside brackets, the outermost brackets included, up to a bracket that
/// closes none of them.
fn outside(code: &str) -> impl Iterator<Item = (usize, char)> + '_ {
    let mut depth = 0_i32;
    let with_depth = code.char_indices().map(move |(at, c)| {
        let is_arrow = c == '>' && code[..at].ends_with(['-', '=']);
        let before = depth;
        match c {
            '(' | '[' | '{' | '<' => depth += 1,
            ')' | ']' | '}' | '>' if !is_arrow => depth -= 1,
            _ => {}
        }
        (at, c, before.min(depth))
    });
    let inside = with_depth.take_while(|(_, _, depth)| *depth >= 0);
    inside.filter(|(_, _, depth)| *depth == 0).map(|(at, c, _)| (at, c))
}

/// Returns the lines of `mod tests { … }` with its attributes, counted from 1.
pub(crate) fn tests_module(code: &str) -> Option<Range<usize>> {
    let at = words(code, "mod tests").find(|at| code[at + 9..].trim_start().starts_with('{'))?;
    let open = at + code[at..].find('{').expect("the brace was seen above");
    let attributes = code[..at].lines().rev().skip(usize::from(!code[..at].ends_with('\n')));
    let above = attributes.take_while(|line| line.trim_start().starts_with("#[")).count();
    Some(line_of(code, at) - above..line_of(code, closing_brace(code, open)) + 1)
}

/// Returns a text without the comments and without the items under `#[cfg(test)]`, but with its
/// literals.
pub(crate) fn production_text(source: &str) -> String {
    let tests = test_items(&Masked::new(source).code);
    without(source, opaque(source).comments.into_iter().chain(tests))
}

fn test_items(code: &str) -> Vec<Range<usize>> {
    let attributes = code.match_indices("#[cfg(test)]");
    attributes.map(|(at, attribute)| at..item_end(code, at + attribute.len())).collect()
}

pub(crate) fn without(text: &str, spans: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for span in spans {
        bytes[span].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    text_of(bytes)
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).expect("spans begin and end at ASCII bytes")
}

/// Returns the end of the item whose attributes or head begin at `at`.
fn item_end(code: &str, at: usize) -> usize {
    let end = head_end(code, at);
    match code.as_bytes().get(end) {
        Some(b'{') => (closing_brace(code, end) + 1).min(code.len()),
        Some(b';') => end + 1,
        _ => end,
    }
}

/// Returns the first brace or semicolon outside brackets behind `at`, or the end of what is around
/// the item there.
pub(crate) fn head_end(code: &str, at: usize) -> usize {
    let mut depth = 0_i32;
    let end = code[at..].bytes().position(|byte| {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            _ => {}
        }
        depth < 0 || (depth == 0 && matches!(byte, b'{' | b'}' | b';'))
    });
    end.map_or(code.len(), |length| at + length)
}

/// Returns the offset of the brace that closes the one at `open`, or the end of the text.
pub(crate) fn closing_brace(code: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in code[open..].bytes().enumerate() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 1 => return open + offset,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

/// Returns the offsets of `word`, except within longer words.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_name = word.ends_with(is_word_char);
    let goes_on = move |at: &usize| is_name && code[at + word.len()..].starts_with(is_word_char);
    prefixes(code, word).filter(move |at| !goes_on(at))
}

/// Returns the offsets of `start` that are not inside a word, regardless of the text after it.
pub(crate) fn prefixes<'a>(code: &'a str, start: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_name = start.starts_with(is_word_char);
    let is_inside = move |at: &usize| is_name && code[..*at].ends_with(is_word_char);
    code.match_indices(start).map(|(at, _)| at).filter(move |at| !is_inside(at))
}

/// Returns the line of an offset, counted from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Returns the identifier at the beginning of `text`, or an empty string.
pub(crate) fn identifier(text: &str) -> &str {
    text.split(|c| !is_word_char(c)).next().unwrap_or_default()
}

/// The places of what is no code.
#[derive(Default)]
struct Opaque {
    comments: Vec<Range<usize>>,
    literals: Vec<Range<usize>>,
}

fn opaque(text: &str) -> Opaque {
    let mut found = Opaque::default();
    let mut at = 0;
    while let Some(skipped) = text[at..].find(['/', '"', '\'', 'r']) {
        at += skipped;
        let (before, rest) = text.split_at(at);
        if let Some(length) = comment(rest) {
            found.comments.push(at..at + length);
            at += length;
        } else if let Some(length) = literal(before, rest) {
            found.literals.push(at..at + length);
            at += length;
        } else {
            at += 1;
        }
    }
    found
}

/// Returns the length of the comment at the beginning of `text`, if there is one.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        match text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return Some(at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    Some(text.len())
}

/// Returns the length of the literal at the beginning of `text`, if there is one.
fn literal(before: &str, text: &str) -> Option<usize> {
    match text.as_bytes() {
        [b'"', ..] => Some(quoted(text, '"')),
        [b'\'', b'\\', ..] => Some(quoted(text, '\'')),
        // If no quote follows after exactly one character, a lifetime begins.
        [b'\'', ..] => {
            let end = 1 + text[1..].chars().next()?.len_utf8();
            text[end..].starts_with('\'').then_some(end + 1)
        }
        // The `r` is not part of a name, and `b` or `c` may precede it.
        [b'r', ..]
            if !before.strip_suffix(['b', 'c']).unwrap_or(before).ends_with(is_word_char) =>
        {
            raw(text)
        }
        _ => None,
    }
}

fn quoted(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    let end = text[1..].find(|c| {
        let is_end = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |length| length + 2)
}

/// Returns the length of a raw string; none for a raw identifier, such as `r#type`.
fn raw(text: &str) -> Option<usize> {
    let hashes = text[1..].split(|c| c != '#').next()?;
    let content = 1 + hashes.len() + 1;
    let closing = format!("\"{hashes}");
    text[1 + hashes.len()..].strip_prefix('"')?;
    let length = text[content..].find(&closing);
    Some(length.map_or(text.len(), |length| content + length + closing.len()))
}

/// True for a part of a name.
pub(crate) fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Words that begin an item with a name.
const KEYWORDS: [&str; 10] =
    ["struct", "enum", "union", "trait", "type", "fn", "const", "static", "mod", "macro_rules"];

/// Returns the keyword and the name of the item that begins in a line of code.
pub(crate) fn item(line: &str) -> Option<(&'static str, &str)> {
    let mut rest = line;
    loop {
        let word = identifier(rest);
        let behind = rest[word.len()..].trim_start();
        match (word, identifier(behind)) {
            ("pub", _) if behind.starts_with('(') => {
                rest = behind.split_once(')')?.1.trim_start();
            }
            ("pub" | "async" | "unsafe" | "extern", _)
            | ("const", "fn" | "async" | "unsafe" | "extern") => rest = behind,
            _ => {
                let keyword = KEYWORDS.into_iter().find(|keyword| *keyword == word)?;
                let name = identifier(behind.trim_start_matches(['!', ' ']));
                return (!name.is_empty()).then_some((keyword, name));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the code of `source` with whitespace collapsed: `_` is one or more blanks.
    fn check_code(source: &str, expected: &str) {
        let code = Masked::new(source).code;
        assert_eq!(code.len(), source.len());
        assert_eq!(code.split_whitespace().collect::<Vec<_>>().join("_"), expected, "of {source}");
    }

    #[test]
    fn comments_are_not_code() {
        check_code("a // b\nc", "a_c");
        check_code("a /* b /* c */ d */ e", "a_e");
        check_code("/* never closed {", "");
        assert_eq!(Masked::new("a // b\n\"c\" /* d */").comments, "  // b\n    /* d */");
    }

    #[test]
    fn literals_are_not_code() {
        check_code(r#"f("{ // \" }")+1"#, "f(_)+1");
        check_code(r##"f(r#"{ " } "#)+1"##, "f(_)+1");
        check_code(r##"f(br"\",'{')"##, "f(b_,_)");
        check_code(r"f('\'','\u{7d}','}','é','→','😀')", "f(_,_,_,_,_,_)");
        check_code("\"never closed {", "");
    }

    #[test]
    fn lifetimes_and_raw_identifiers_are_code() {
        check_code("f<'a>(x:&'a str,r:&'static u8)", "f<'a>(x:&'a_str,r:&'static_u8)");
        check_code("let r#type=bar\"x\";", "let_r#type=bar_;");
    }

    #[test]
    fn functions_are_found_with_their_lines() {
        let code = "\
impl A {
    fn b(c: [u8; 2]) -> fn(u8) -> u8
    where
        D: E,
    {
        if x {
            y
        }
    }
}
trait T {
    fn only_declared();
}
";
        let found = functions(code);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].name.as_str(), found[0].first_line, found[0].last_line), ("b", 2, 9));
    }

    #[test]
    fn nested_functions_are_found() {
        let names: Vec<_> =
            functions("fn a() {\n fn b() {}\n}\nfn c() {}").into_iter().map(|f| f.name).collect();
        assert_eq!(names, ["a", "b", "c"]);
    }

    #[test]
    fn functions_are_found_with_their_parameters() {
        let check = |code: &str, expected: &[&str]| {
            let found = functions(code);
            assert_eq!(listed(&code[found[0].parameters.clone()]), expected, "of {code}");
        };
        check("fn a() {}", &[]);
        check("fn a(b: u8, c: [(u8, u16); 2],) -> (u8, u8) {}", &["b: u8", "c: [(u8, u16); 2]"]);
        check("fn a<F: Fn(u8) -> (u8, u8)>(f: F) where F: G<(u8, u8)> {}", &["f: F"]);
        check("pub(crate) fn a(m: Map<u8, u16>, n: u8) {}", &["m: Map<u8, u16>", "n: u8"]);
    }

    #[test]
    fn a_type_stands_behind_the_first_colon_of_its_own() {
        assert_eq!(typed("pub(crate) a: B"), Some(("pub(crate) a", "B")));
        assert_eq!(typed("a::B { c: d }: &e::F"), Some(("a::B { c: d }", "&e::F")));
        assert_eq!(typed("&mut self"), None);
    }

    #[test]
    fn the_tests_module_is_found_with_its_attributes() {
        let code = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        assert_eq!(tests_module(code), Some(3..7));
        assert_eq!(tests_module("mod tests;\n"), None);
        assert_eq!(tests_module("mod tests {}\n"), Some(1..2));
    }

    #[test]
    fn production_has_no_tests() {
        let source = "a(\"b\"); // c\n#[cfg(test)]\nmod d;\n#[cfg(test)]\nfn e() {\n}\nf();\n";
        assert_eq!(
            production_text(source).split_whitespace().collect::<Vec<_>>(),
            ["a(\"b\");", "f();"]
        );
        assert_eq!(Masked::new(source).production.len(), source.len());
    }

    #[test]
    fn words_stand_alone() {
        assert_eq!(words("fn afn fn_ fn", "fn").collect::<Vec<_>>(), [0, 11]);
        assert_eq!(words("x.todo!() my_todo!()", "todo!").collect::<Vec<_>>(), [2]);
    }

    #[test]
    fn items_are_found_behind_their_qualifiers() {
        let check = |line, expected| assert_eq!(item(line), expected, "in {line}");
        check("struct A {", Some(("struct", "A")));
        check("pub(crate) enum A<T> {", Some(("enum", "A")));
        check("pub(in crate::a) const fn a() {", Some(("fn", "a")));
        check("pub unsafe extern fn a();", Some(("fn", "a")));
        check("const A: u8 = 1;", Some(("const", "A")));
        check("macro_rules! a {", Some(("macro_rules", "a")));
        check("pub mod a;", Some(("mod", "a")));
        check("    fn a() {", None);
        check("impl A {", None);
        check("pub use a::b;", None);
    }
}
