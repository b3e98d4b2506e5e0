//! The formats of lists, and which of them a text is in.

use crate::list::lines::NumberedLine;

/// Format of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListFormat {
    /// A URL or a path on each line.
    Urls,
    /// The body of a request on each line.
    BodyLines,
    /// A JSON object on each line, with weir's fields.
    JsonLines,
    /// vegeta's targets: a request line, header fields and `@FILE`, and a blank line.
    VegetaHttp,
    /// vegeta's targets: a JSON object on each line, with the body in base64.
    VegetaJson,
    /// curl command lines.
    Curl,
    /// A HAR file: an archive of a browser's requests.
    Har,
}

/// Names of the formats.
const FORMATS: [(ListFormat, &str); 7] = [
    (ListFormat::Urls, "urls"),
    (ListFormat::BodyLines, "body-lines"),
    (ListFormat::JsonLines, "jsonl"),
    (ListFormat::VegetaHttp, "vegeta-http"),
    (ListFormat::VegetaJson, "vegeta-json"),
    (ListFormat::Curl, "curl"),
    (ListFormat::Har, "har"),
];

impl ListFormat {
    /// Returns all formats.
    pub fn all() -> impl Iterator<Item = ListFormat> {
        FORMATS.iter().map(|(format, _)| *format)
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        let named = FORMATS.iter().find(|(format, _)| *format == self);
        named.expect("every format has a name").1
    }

    /// Returns the format with this name.
    pub fn named(name: &str) -> Option<ListFormat> {
        FORMATS.iter().find(|(_, known)| *known == name).map(|(format, _)| *format)
    }

    /// True if each row is a line.
    pub(super) fn has_row_lines(self) -> bool {
        matches!(
            self,
            ListFormat::Urls
                | ListFormat::BodyLines
                | ListFormat::JsonLines
                | ListFormat::VegetaJson
        )
    }

    /// Returns the format of a text whose first line with content is `line`.
    ///
    /// An object that begins here and does not end is a HAR file. One with vegeta's `header`
    /// is a target of vegeta's; one with fields that both formats have is weir's, where a body is
    /// text.
    pub(super) fn of(line: &NumberedLine) -> ListFormat {
        let text = line.text.trim();
        if text.starts_with('{') {
            return match serde_json::from_str::<serde_json::Value>(text) {
                Ok(object) if object.get("log").is_some() => ListFormat::Har,
                Ok(object) if object.get("header").is_some() => ListFormat::VegetaJson,
                Ok(_) => ListFormat::JsonLines,
                // A damaged line of an object has a field's end in it, the start of a HAR not.
                Err(error) if error.is_eof() => ListFormat::Har,
                Err(_) => ListFormat::JsonLines,
            };
        }
        let (first, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        match first {
            "curl" | "$" => ListFormat::Curl,
            _ if is_method(first) && !rest.is_empty() => ListFormat::VegetaHttp,
            _ => ListFormat::Urls,
        }
    }
}

/// True if `word` is a method as vegeta writes it.
pub(super) fn is_method(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised() {
        let check = |text: &str, expected| {
            let line = NumberedLine { number: 1, text: text.to_owned() };
            assert_eq!(ListFormat::of(&line), expected, "{text}");
        };
        check("http://h/", ListFormat::Urls);
        check("/a b", ListFormat::Urls);
        check("GET http://h/", ListFormat::VegetaHttp);
        check("GET", ListFormat::Urls);
        check(r#"{"url": "/a", "body": "e30="}"#, ListFormat::JsonLines);
        check(r#"{"url": "/a", "header": {}}"#, ListFormat::VegetaJson);
        check(r#"{"url": "/a", x}"#, ListFormat::JsonLines);
        check(r#"{"log": {}}"#, ListFormat::Har);
        check("{", ListFormat::Har);
        check(r#"{"log": {"entries": ["#, ListFormat::Har);
        check("curl 'http://h/'", ListFormat::Curl);
        check("$ curl http://h/", ListFormat::Curl);
    }

    #[test]
    fn names_lead_back_to_their_formats() {
        for format in ListFormat::all() {
            assert_eq!(ListFormat::named(format.name()), Some(format));
        }
        assert_eq!(ListFormat::named("csv"), None);
    }
}
