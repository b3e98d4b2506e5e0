//! Names under which the requests of a list are counted.

use std::borrow::Cow;
use std::collections::HashMap;

/// Greatest number of names; requests with others are counted together.
pub const NAMES_MAX: usize = 256;

/// Name of the requests beyond [`NAMES_MAX`] names.
pub const OTHER: &str = "(other)";

/// A pattern of requests that have one name: `METHOD PATH`, or `PATH` for every method. In it `*`
/// stands for one or more characters but `/`, and `**` for any text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    text: String,
    method: Option<String>,
    path: String,
}

impl Group {
    /// Parses a pattern.
    ///
    /// # Errors
    /// If its path does not begin with `/` or `*`; the text is the reason.
    pub fn parse(text: &str) -> Result<Group, String> {
        let text = text.trim();
        let (method, path) = match text.split_once(' ') {
            Some((method, path)) => (Some(method.to_owned()), path.trim()),
            None => (None, text),
        };
        if !path.starts_with(['/', '*']) {
            return Err(format!("{text:?} is no group: write 'GET /item/*' or '/item/*'"));
        }
        Ok(Group { text: text.to_owned(), method, path: path.to_owned() })
    }

    /// True if requests of this method and path, without its query, are in the group.
    pub fn contains(&self, method: &str, path: &str) -> bool {
        self.method.as_deref().is_none_or(|own| own == method)
            && matches(self.path.as_bytes(), path.as_bytes())
    }
}

/// The names of a list, in the order in which rows brought them.
#[derive(Clone, Debug, Default)]
pub struct Names {
    groups: Vec<Group>,
    names: Vec<String>,
    numbers: HashMap<String, u16>,
}

impl Names {
    /// Returns no names yet; paths in one of `groups` will share its text as their name, those in
    /// several the first one's.
    pub fn new(groups: Vec<Group>) -> Names {
        Names { groups, ..Names::default() }
    }

    /// Returns the number of the name of a row: its own, that of its group, or its method and path
    /// without the query.
    pub fn number(&mut self, own: Option<&str>, method: &str, path: &str) -> u16 {
        let name = self.name(own, method, path).into_owned();
        self.of(&name)
    }

    /// Returns the number of the name of a row if the list has the name; else that of [`OTHER`],
    /// `None` if it has not that either.
    pub fn known(&self, own: Option<&str>, method: &str, path: &str) -> Option<u16> {
        let name = self.name(own, method, path);
        self.numbers.get(name.as_ref()).or_else(|| self.numbers.get(OTHER)).copied()
    }

    /// Adds [`OTHER`], if it is not there.
    pub fn add_other(&mut self) {
        self.of(OTHER);
    }

    /// Returns the names by number; [`OTHER`] is the last if a row has it.
    pub fn all(&self) -> &[String] {
        &self.names
    }

    /// Returns the text of the first group in which no row is.
    pub fn unused_group(&self) -> Option<&str> {
        let texts = self.groups.iter().map(|group| group.text.as_str());
        texts.into_iter().find(|text| !self.numbers.contains_key(*text))
    }

    /// Returns the name of a row, though the list may not have it.
    fn name<'a>(&'a self, own: Option<&'a str>, method: &str, path: &str) -> Cow<'a, str> {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let group = || self.groups.iter().find(|group| group.contains(method, path));
        match own.or_else(|| group().map(|group| group.text.as_str())) {
            Some(name) => Cow::Borrowed(name),
            None => Cow::Owned(format!("{method} {path}")),
        }
    }

    fn of(&mut self, name: &str) -> u16 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let is_other = name == OTHER || self.names.len() >= NAMES_MAX;
        let name = if is_other { OTHER } else { name };
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u16::try_from(self.names.len()).expect("names are limited");
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

/// True if `text` matches `pattern`. Backtracks to the last wildcard alone, of each kind, so that
/// the time is at most the product of the lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    // reachable[p]: the pattern before p matches the text so far.
    let tokens = tokens(pattern);
    let mut reachable = vec![false; tokens.len() + 1];
    reachable[0] = true;
    pass_empty(&tokens, &mut reachable);
    for &byte in text {
        let mut next = vec![false; tokens.len() + 1];
        for (at, token) in tokens.iter().enumerate().filter(|(at, _)| reachable[*at]) {
            match token {
                PatternToken::Byte(own) => next[at + 1] |= *own == byte,
                PatternToken::Any => next[at] = true,
                PatternToken::Some if byte != b'/' => (next[at], next[at + 1]) = (true, true),
                PatternToken::Some => {}
            }
        }
        pass_empty(&tokens, &mut next);
        reachable = next;
    }
    reachable[tokens.len()]
}

#[derive(Clone, Copy)]
enum PatternToken {
    Byte(u8),
    /// One or more bytes but `/`.
    Some,
    /// Any bytes, or none.
    Any,
}

fn tokens(pattern: &[u8]) -> Vec<PatternToken> {
    let mut tokens = Vec::new();
    let mut rest = pattern;
    while let [first, after @ ..] = rest {
        let (token, after) = match (first, after) {
            (b'*', [b'*', after @ ..]) => (PatternToken::Any, after),
            (b'*', after) => (PatternToken::Some, after),
            (byte, after) => (PatternToken::Byte(*byte), after),
        };
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// Goes past wildcards that may stand for nothing.
fn pass_empty(tokens: &[PatternToken], reachable: &mut [bool]) {
    for (at, token) in tokens.iter().enumerate() {
        if reachable[at] && matches!(token, PatternToken::Any) {
            reachable[at + 1] = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_paths() {
        let check = |pattern: &str, path: &str, expected| {
            assert_eq!(matches(pattern.as_bytes(), path.as_bytes()), expected, "{pattern} {path}");
        };
        check("/item/*", "/item/7", true);
        check("/item/*", "/item/", false);
        check("/item/*", "/item/7/8", false);
        check("/item/*/x", "/item/7/x", true);
        check("/item/**", "/item/7/8", true);
        check("/item/**", "/item/", true);
        check("**", "", true);
        check("/a*b*c", "/axbbxc", true);
        check("/a*b*c", "/abc", false);
        check("/a", "/a", true);
        check("/a", "/ab", false);
        check("/a", "/", false);
    }

    #[test]
    fn groups_may_have_a_method() {
        let group = Group::parse("GET /item/*").expect("a group");
        assert!(group.contains("GET", "/item/1") && !group.contains("PUT", "/item/1"));
        assert!(Group::parse("/item/*").expect("a group").contains("PUT", "/item/1"));
        assert!(Group::parse("item").is_err() && Group::parse("GET item").is_err());
    }

    #[test]
    fn rows_have_names() {
        let groups = ["GET /item/*", "/item/**"].map(|text| Group::parse(text).expect("a group"));
        let mut names = Names::new(groups.to_vec());
        assert_eq!(names.number(None, "GET", "/a?b=c"), 0);
        assert_eq!(names.number(None, "PUT", "/a"), 1);
        assert_eq!(names.number(Some("cart"), "GET", "/item/1"), 2);
        assert_eq!(names.number(None, "GET", "/item/1?x"), 3);
        assert_eq!(names.number(None, "GET", "/item/2"), 3);
        assert_eq!(names.number(None, "PUT", "/item/2"), 4);
        assert_eq!(names.all(), ["GET /a", "PUT /a", "cart", "GET /item/*", "/item/**"]);
    }

    #[test]
    fn names_beyond_the_limit_are_one() {
        let mut names = Names::default();
        for number in 0..NAMES_MAX {
            assert_eq!(usize::from(names.number(None, "GET", &format!("/{number}"))), number);
        }
        let other = names.number(None, "GET", "/x");
        assert_eq!((usize::from(other), names.number(None, "GET", "/y")), (NAMES_MAX, other));
        assert_eq!(names.number(None, "GET", "/7"), 7);
        assert_eq!(names.all().last().map(String::as_str), Some(OTHER));
    }
}
