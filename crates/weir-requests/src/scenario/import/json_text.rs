//! The strings and numbers of a JSON text and where they stand, so that one can be replaced and the
//! rest stays as it was written.

use std::ops::Range;

/// A value of JSON, with its members in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JsonNode<'t> {
    /// A number, `true`, `false` or `null`, as written, and where it begins.
    Plain(usize, &'t str),
    /// A string: its place with its quotes, and its value.
    Text(Range<usize>, String),
    /// An array.
    Array(Vec<JsonNode<'t>>),
    /// An object.
    Object(Vec<(String, JsonNode<'t>)>),
}

/// A string or a number of a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonLeaf {
    /// JSON pointer (RFC 6901).
    pub(super) pointer: String,
    /// Name of the innermost member that it is or is in; empty if there is none.
    pub(super) name: String,
    /// Its place, with the quotes of a string, in bytes.
    pub(super) place: Range<usize>,
    /// Its value; a number is as it is written.
    pub(super) value: String,
}

/// Returns the body of a GraphQL query (GraphQL over HTTP §5.4); `variables` is a text of JSON,
/// empty without any.
pub(super) fn graphql(query: &str, variables: &str) -> String {
    let query = serde_json::Value::from(query);
    let variables = if variables.trim().is_empty() { "{}" } else { variables.trim() };
    format!("{{\"query\":{query},\"variables\":{variables}}}")
}

impl<'t> JsonNode<'t> {
    /// Reads a text; `None` if it is no JSON, or too deep.
    pub(super) fn parse(text: &'t str) -> Option<JsonNode<'t>> {
        // Its limit of depth is this reader's too.
        serde_json::from_str::<serde_json::Value>(text).ok()?;
        JsonReader { text, at: 0 }.node()
    }

    /// Returns the text without blanks between its parts.
    pub(super) fn compact(&self) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        match self {
            JsonNode::Plain(_, text) => (*text).to_owned(),
            JsonNode::Text(_, value) => quoted(value),
            JsonNode::Array(items) => {
                let items: Vec<String> = items.iter().map(JsonNode::compact).collect();
                format!("[{}]", items.join(","))
            }
            JsonNode::Object(members) => {
                let member = |(name, node): &(String, JsonNode<'_>)| {
                    format!("{}:{}", quoted(name), node.compact())
                };
                let members: Vec<String> = members.iter().map(member).collect();
                format!("{{{}}}", members.join(","))
            }
        }
    }

    /// Returns its strings, in the order of the text.
    pub(super) fn strings(&self) -> Vec<JsonLeaf> {
        self.leaves(|leaf| match leaf {
            JsonNode::Text(place, value) => Some((place.clone(), value)),
            _ => None,
        })
    }

    /// Returns its numbers, in the order of the text.
    pub(super) fn numbers(&self) -> Vec<JsonLeaf> {
        let is_number = |text: &str| text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
        self.leaves(|leaf| match leaf {
            JsonNode::Plain(begin, text) if is_number(text) => {
                Some((*begin..begin + text.len(), text))
            }
            _ => None,
        })
    }

    /// Returns the values without others below them that `of` returns place and text of.
    fn leaves(
        &self,
        of: impl for<'n> Fn(&'n JsonNode<'t>) -> Option<(Range<usize>, &'n str)>,
    ) -> Vec<JsonLeaf> {
        let mut found = Vec::new();
        self.visit_leaves("", "", &mut |pointer, name, leaf| {
            let Some((place, value)) = of(leaf) else { return };
            let [pointer, name, value] = [pointer, name, value].map(str::to_owned);
            found.push(JsonLeaf { pointer, name, place, value });
        });
        found
    }

    /// Calls `visit` with the pointer, the name and the value of each value that has none below it.
    fn visit_leaves(
        &self,
        pointer: &str,
        name: &str,
        visit: &mut dyn FnMut(&str, &str, &JsonNode<'t>),
    ) {
        match self {
            JsonNode::Plain(..) | JsonNode::Text(..) => visit(pointer, name, self),
            JsonNode::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    item.visit_leaves(&format!("{pointer}/{index}"), name, visit);
                }
            }
            JsonNode::Object(members) => {
                for (name, node) in members {
                    let token = name.replace('~', "~0").replace('/', "~1");
                    node.visit_leaves(&format!("{pointer}/{token}"), name, visit);
                }
            }
        }
    }
}

/// A JSON text, which is valid, and the place up to which it is read.
struct JsonReader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> JsonReader<'t> {
    fn node(&mut self) -> Option<JsonNode<'t>> {
        match self.peek()? {
            b'"' => {
                let begin = self.at;
                let value = self.string()?;
                Some(JsonNode::Text(begin..self.at, value))
            }
            b'[' => self.array(),
            b'{' => self.object(),
            _ => {
                let rest = &self.text[self.at..];
                let is_end = |c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace();
                let plain = &rest[..rest.find(is_end).unwrap_or(rest.len())];
                let begin = self.at;
                self.at += plain.len();
                Some(JsonNode::Plain(begin, plain))
            }
        }
    }

    fn array(&mut self) -> Option<JsonNode<'t>> {
        self.at += 1;
        let mut items = Vec::new();
        loop {
            match self.peek()? {
                b']' => break,
                b',' => self.at += 1,
                _ => items.push(self.node()?),
            }
        }
        self.at += 1;
        Some(JsonNode::Array(items))
    }

    fn object(&mut self) -> Option<JsonNode<'t>> {
        self.at += 1;
        let mut members = Vec::new();
        loop {
            match self.peek()? {
                b'}' => break,
                b',' => self.at += 1,
                _ => {
                    let name = self.string()?;
                    self.peek().filter(|byte| *byte == b':')?;
                    self.at += 1;
                    members.push((name, self.node()?));
                }
            }
        }
        self.at += 1;
        Some(JsonNode::Object(members))
    }

    /// Reads a string, which begins here.
    fn string(&mut self) -> Option<String> {
        let rest = &self.text.as_bytes()[self.at..];
        let mut end = 1;
        while *rest.get(end)? != b'"' {
            end += if rest[end] == b'\\' { 2 } else { 1 };
        }
        let quoted = self.text.get(self.at..=self.at + end)?;
        self.at += end + 1;
        serde_json::from_str(quoted).ok()
    }

    /// Returns the next byte behind blanks.
    fn peek(&mut self) -> Option<u8> {
        let rest = &self.text.as_bytes()[self.at..];
        let blanks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.at += blanks;
        rest.get(blanks).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_have_pointers_and_places() {
        let text = r#" { "a/b": "x\"\u00fc", "n" : [1e5, {"id": "7"}, "z", null], "e": {} } "#;
        let node = JsonNode::parse(text).expect("JSON");
        let found: Vec<_> = node
            .strings()
            .into_iter()
            .map(|it| (it.pointer, it.name, text[it.place].to_owned(), it.value))
            .collect();
        let of = |pointer: &str, name: &str, written: &str, value: &str| {
            (pointer.to_owned(), name.to_owned(), written.to_owned(), value.to_owned())
        };
        assert_eq!(
            found,
            [
                of("/a~1b", "a/b", r#""x\"\u00fc""#, "x\"ü"),
                of("/n/1/id", "id", "\"7\"", "7"),
                of("/n/2", "n", "\"z\"", "z"),
            ]
        );
        let [number] = &node.numbers()[..] else { panic!("{node:?}") };
        assert_eq!((&*number.pointer, &text[number.place.clone()]), ("/n/0", "1e5"));
        assert_eq!(node.compact(), r#"{"a/b":"x\"ü","n":[1e5,{"id":"7"},"z",null],"e":{}}"#);
    }

    #[test]
    fn other_texts_are_none() {
        for text in ["", "{", "{\"a\" 1}", "x", &"[".repeat(100_000)] {
            assert_eq!(JsonNode::parse(text), None);
        }
        assert_eq!(JsonNode::parse("7"), Some(JsonNode::Plain(0, "7")));
    }
}
