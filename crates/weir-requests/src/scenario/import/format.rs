//! Formats that scenarios are made from, and which of them a text is in.

use serde_json::Value;

/// A format of recorded or written requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// A HAR file, as browsers save it.
    Har,
    /// A collection of Postman, v2.0 or v2.1.
    Postman,
    /// A `.http` file, of VS Code's REST Client or of JetBrains.
    Http,
    /// curl command lines.
    Curl,
}

impl ImportFormat {
    /// Returns the format that a text is in; `None` if it is in none.
    pub(super) fn of(text: &str) -> Option<ImportFormat> {
        if text.trim_start().starts_with('{') {
            let value: Value = serde_json::from_str(text).ok()?;
            let has = |name: &str| value.get(name).is_some();
            // One of version 1 has `requests`, and is refused by its name.
            let is_collection = has("item") || has("collection") || has("requests");
            return match value.get("log") {
                Some(_) => Some(ImportFormat::Har),
                None if is_collection => Some(ImportFormat::Postman),
                None => None,
            };
        }
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let is_comment = |line: &&str| {
            (line.starts_with('#') && !line.starts_with("###")) || line.starts_with("//")
        };
        let first = lines.find(|line| !is_comment(line))?;
        let word = first.split_whitespace().next().unwrap_or_default();
        let is_http = first.starts_with("###")
            || word.starts_with('@')
            || word.starts_with("http://")
            || word.starts_with("https://")
            || word.starts_with("{{")
            || word.bytes().all(|byte| byte.is_ascii_uppercase());
        match word {
            "curl" | "$" => Some(ImportFormat::Curl),
            _ => is_http.then_some(ImportFormat::Http),
        }
    }

    /// Returns its name in words.
    pub(super) fn words(self) -> &'static str {
        match self {
            ImportFormat::Har => "HAR file",
            ImportFormat::Postman => "Postman collection",
            ImportFormat::Http => ".http file",
            ImportFormat::Curl => "file of curl commands",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_recognised() {
        for (text, expected) in [
            ("{\"log\": {}}", Some(ImportFormat::Har)),
            ("\n{\"info\": {}, \"item\": []}", Some(ImportFormat::Postman)),
            ("{\"collection\": {\"item\": []}}", Some(ImportFormat::Postman)),
            ("{\"requests\": []}", Some(ImportFormat::Postman)),
            ("{\"a\": 1}", None),
            ("{", None),
            ("# a comment\n\ncurl http://h/", Some(ImportFormat::Curl)),
            ("$ curl http://h/", Some(ImportFormat::Curl)),
            ("### a\nGET http://h/", Some(ImportFormat::Http)),
            ("// a\n# b\nGET http://h/", Some(ImportFormat::Http)),
            ("@a = b", Some(ImportFormat::Http)),
            ("{{host}}/a", None),
            ("https://h/", Some(ImportFormat::Http)),
            ("some text", None),
            ("", None),
        ] {
            assert_eq!(ImportFormat::of(text), expected, "{text}");
        }
    }
}
