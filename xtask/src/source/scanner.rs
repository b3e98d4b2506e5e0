//! A minimal scanner for Rust: separates code from comments and literals, and finds functions.
//!
//! It relies on rustfmt (checked by another step) and is independent of the rules.

use std::ops::Range;

/// Two copies of a source text, of code and of comments, with all other bytes blanked: offsets and
/// lines agree with the original. Literals are in neither copy.
#[derive(Default)]
pub(crate) struct Masked {
    pub(crate) code: String,
    pub(crate) comments: String,
}

impl Masked {
    pub(crate) fn new(source: &str) -> Masked {
        let mut code = source.as_bytes().to_vec();
        let mut comments = source.as_bytes().to_vec();
        blank(&mut comments, 0..source.len());
        for (kind, span) in opaque_spans(source.as_bytes()) {
            blank(&mut code, span.clone());
            if kind == Opaque::Comment {
                comments[span.clone()].copy_from_slice(&source.as_bytes()[span]);
            }
        }
        let text = |bytes| String::from_utf8(bytes).expect("spans begin and end at ASCII bytes");
        Masked { code: text(code), comments: text(comments) }
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
    /// Offsets between the braces.
    pub(crate) body: Range<usize>,
}

/// Returns all functions of masked code, nested ones too, in the order of their `fn`.
pub(crate) fn functions(code: &str) -> Vec<Function> {
    let mut found = Vec::new();
    for at in words(code, "fn") {
        let name = identifier(code[at + 2..].trim_start());
        let Some(open) = body_start(code, at) else { continue };
        if name.is_empty() {
            continue; // The type of a function pointer.
        }
        let close = closing_brace(code, open);
        found.push(Function {
            name: name.to_owned(),
            first_line: line_of(code, at),
            last_line: line_of(code, close),
            body: open + 1..close,
        });
    }
    found
}

/// Returns the lines of `mod tests { … }` with its attributes, counted from 1.
pub(crate) fn tests_module(code: &str) -> Option<Range<usize>> {
    let at = words(code, "mod tests").find(|at| code[at + 9..].trim_start().starts_with('{'))?;
    let open = at + code[at..].find('{').expect("the brace was seen above");
    let attributes = code[..at].lines().rev().skip(usize::from(!code[..at].ends_with('\n')));
    let above = attributes.take_while(|line| line.trim_start().starts_with("#[")).count();
    Some(line_of(code, at) - above..line_of(code, closing_brace(code, open)) + 1)
}

/// Returns the code with all items under `#[cfg(test)]` blanked.
pub(crate) fn production(code: &str) -> String {
    without(code, test_items(code))
}

/// Returns a text without the comments and without the items under `#[cfg(test)]`, but with its
/// literals.
pub(crate) fn production_text(source: &str) -> String {
    let comments = opaque_spans(source.as_bytes()).into_iter();
    let comments = comments.filter(|(kind, _)| *kind == Opaque::Comment).map(|(_, span)| span);
    let tests = test_items(&Masked::new(source).code);
    without(source, comments.chain(tests))
}

fn test_items(code: &str) -> Vec<Range<usize>> {
    let attributes = code.match_indices("#[cfg(test)]");
    attributes.map(|(at, attribute)| at..item_end(code, at + attribute.len())).collect()
}

pub(crate) fn without(text: &str, spans: impl IntoIterator<Item = Range<usize>>) -> String {
    let mut bytes = text.as_bytes().to_vec();
    spans.into_iter().for_each(|span| blank(&mut bytes, span));
    String::from_utf8(bytes).expect("spans begin and end at ASCII bytes")
}

/// Returns the end of the item whose attributes or head begin at `at`.
fn item_end(code: &str, at: usize) -> usize {
    let mut depth = 0_i32;
    for (offset, byte) in code[at..].bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b';' if depth == 0 => return at + offset + 1,
            b'{' if depth == 0 => return (closing_brace(code, at + offset) + 1).min(code.len()),
            _ => {}
        }
    }
    code.len()
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
    let ends = move |at: usize| {
        let after = code[at + word.len()..].chars().next();
        !word.ends_with(is_word_char) || !after.is_some_and(is_word_char)
    };
    prefixes(code, word).filter(move |at| ends(*at))
}

/// Returns the offsets of `start` that are not inside a word, regardless of the text after it.
pub(crate) fn prefixes<'a>(code: &'a str, start: &'a str) -> impl Iterator<Item = usize> + 'a {
    let begins =
        move |at: usize| !start.starts_with(is_word_char) || !code[..at].ends_with(is_word_char);
    code.match_indices(start).map(|(at, _)| at).filter(move |at| begins(*at))
}

/// Returns the line of an offset, counted from 1.
pub(crate) fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Returns the identifier at the beginning of `text`, or an empty string.
pub(crate) fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !is_word_char(c)).unwrap_or(text.len());
    &text[..end]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Opaque {
    Comment,
    Literal,
}

fn opaque_spans(bytes: &[u8]) -> Vec<(Opaque, Range<usize>)> {
    let mut spans = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        match opaque_at(bytes, at) {
            Some((kind, end)) => {
                spans.push((kind, at..end));
                at = end;
            }
            None => at += 1,
        }
    }
    spans
}

/// Returns the kind and the end of the comment or literal at `at`, if there is one.
fn opaque_at(bytes: &[u8], at: usize) -> Option<(Opaque, usize)> {
    let literal = |end| (Opaque::Literal, end);
    match bytes[at..] {
        [b'/', b'/', ..] => Some((Opaque::Comment, line_end(bytes, at))),
        [b'/', b'*', ..] => Some((Opaque::Comment, block_comment_end(bytes, at))),
        [b'"', ..] => Some(literal(quoted_end(bytes, at, b'"'))),
        [b'\'', b'\\', ..] => Some(literal(quoted_end(bytes, at, b'\''))),
        [b'\'', ..] => char_end(bytes, at).map(literal),
        [b'r', b'"' | b'#', ..] if starts_raw(bytes, at) => raw_end(bytes, at).map(literal),
        _ => None,
    }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        match bytes[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] if depth == 1 => return at + 2,
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
    }
    bytes.len()
}

fn quoted_end(bytes: &[u8], start: usize, quote: u8) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Returns the end of a character literal. A quote begins one if another quote follows after
/// exactly one character; otherwise it begins a lifetime.
fn char_end(bytes: &[u8], at: usize) -> Option<usize> {
    let width = match bytes.get(at + 1)? {
        0..0x80 => 1,
        0x80..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    };
    (bytes.get(at + 1 + width) == Some(&b'\'')).then_some(at + 2 + width)
}

/// True if the `r` at `at` begins a raw string: it is not part of a name, and `b` or `c` may
/// precede it.
fn starts_raw(bytes: &[u8], at: usize) -> bool {
    match bytes[..at] {
        [.., before, b'b' | b'c'] => !is_word_byte(before),
        [b'b' | b'c'] => true,
        [.., before] => !is_word_byte(before),
        [] => true,
    }
}

fn raw_end(bytes: &[u8], at: usize) -> Option<usize> {
    let hashes = bytes[at + 1..].iter().take_while(|byte| **byte == b'#').count();
    let content = at + 2 + hashes;
    if bytes.get(content - 1) != Some(&b'"') {
        return None; // A raw identifier, such as r#type.
    }
    let closing = [b"\"".as_slice(), "#".repeat(hashes).as_bytes()].concat();
    let length = bytes[content..].windows(closing.len()).position(|window| window == closing);
    Some(length.map_or(bytes.len(), |length| content + length + closing.len()))
}

/// Returns the opening brace of the function whose `fn` is at `at`; none for a mere declaration.
fn body_start(code: &str, at: usize) -> Option<usize> {
    let mut depth = 0_i32;
    for (offset, byte) in code[at..].bytes().enumerate() {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth -= 1,
            b'{' if depth == 0 => return Some(at + offset),
            b';' | b'}' if depth == 0 => return None,
            _ if depth < 0 => return None,
            _ => {}
        }
    }
    None
}

fn blank(bytes: &mut [u8], span: Range<usize>) {
    bytes[span].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
}

fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

fn is_word_byte(byte: u8) -> bool {
    byte == b'_' || byte.is_ascii_alphanumeric() || byte >= 0x80
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
        assert_eq!(production(source).len(), source.len());
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
