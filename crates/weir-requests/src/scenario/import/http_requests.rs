//! The requests of a `.http` file as they are written, and its variables.

use std::collections::HashMap;

use crate::list::RowError;

/// The content of a file.
#[derive(Debug, Default)]
pub(super) struct HttpFile {
    pub(super) requests: Vec<HttpRequest>,
    /// Variables by name: `@name = value`. The last one of a name counts.
    pub(super) variables: HashMap<String, String>,
    /// Number of scripts.
    pub(super) scripts: u64,
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HttpRequest {
    /// Line of its request line, from 1.
    pub(super) line: u64,
    /// Name: `# @name login`.
    pub(super) name: Option<String>,
    /// Text behind `###`.
    pub(super) title: Option<String>,
    pub(super) method: String,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
    /// Path of a file with the body.
    pub(super) body_file: Option<String>,
}

/// Header field by which VS Code's REST Client knows a GraphQL request, in lower case.
pub(super) const GRAPHQL_HEADER: &str = "x-request-type";

impl HttpRequest {
    /// True for a query of GraphQL, which editors send as JSON.
    pub(super) fn is_graphql(&self) -> bool {
        let is_graphql = |value: &str| value.eq_ignore_ascii_case("graphql");
        let mut headers = self.headers.iter();
        is_graphql(&self.method)
            || headers.any(|(name, value)| {
                name.eq_ignore_ascii_case(GRAPHQL_HEADER) && is_graphql(value.trim())
            })
    }
}

/// Parts of a request, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HttpPart {
    /// Before the request line.
    Before,
    /// The request line, which may go on.
    Url,
    Headers,
    Body,
    /// Behind the body, where only scripts follow.
    After,
}

/// Reads a file.
///
/// # Errors
/// If a line is no part of a request; the error names it.
pub(super) fn read(text: &str) -> Result<HttpFile, RowError> {
    let mut reader = RequestsReader {
        file: HttpFile::default(),
        request: HttpRequest::default(),
        part: HttpPart::Before,
        body: Vec::new(),
        is_in_script: false,
    };
    for (number, line) in (1..).zip(text.lines()) {
        reader.line(number, line).map_err(|text| RowError::new(number, text))?;
    }
    reader.end();
    Ok(reader.file)
}

struct RequestsReader<'t> {
    file: HttpFile,
    request: HttpRequest,
    part: HttpPart,
    body: Vec<&'t str>,
    is_in_script: bool,
}

impl<'t> RequestsReader<'t> {
    fn line(&mut self, number: u64, line: &'t str) -> Result<(), String> {
        if self.is_in_script {
            self.is_in_script = !line.contains("%}");
            return Ok(());
        }
        if let Some(title) = line.strip_prefix("###") {
            self.end();
            let title = title.trim_matches(|c: char| c == '#' || c.is_whitespace());
            self.request.title = Some(title.to_owned()).filter(|title| !title.is_empty());
            return Ok(());
        }
        match self.part {
            HttpPart::Before => self.before(number, line),
            HttpPart::Url | HttpPart::Headers => self.head(line),
            HttpPart::Body | HttpPart::After => {
                self.body(line);
                Ok(())
            }
        }
    }

    /// Takes a line before the request line.
    fn before(&mut self, number: u64, line: &str) -> Result<(), String> {
        let line = line.trim();
        if line.is_empty() {
            return Ok(());
        }
        let comment = line.strip_prefix('#').or_else(|| line.strip_prefix("//"));
        if let Some(comment) = comment {
            let setting = comment.trim().strip_prefix("@name");
            let name = setting.map(|name| name.trim_start_matches('=').trim());
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                self.request.name = Some(name.trim_start_matches('=').trim().to_owned());
            }
            return Ok(());
        }
        if line.starts_with('<') {
            return self.script(line);
        }
        if let Some((name, value)) = definition(line) {
            self.file.variables.insert(name.to_owned(), value.to_owned());
            return Ok(());
        }
        self.request.line = number;
        self.part = HttpPart::Url;
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or(("", line));
        let is_method = !first.is_empty() && first.bytes().all(|it| it.is_ascii_alphabetic());
        self.request.method = if is_method { first } else { "GET" }.to_ascii_uppercase();
        let url = if is_method { rest } else { line };
        self.request.url = without_version(url.trim()).to_owned();
        match self.request.url.contains(char::is_whitespace) && !self.request.url.contains("{{") {
            true => Err(format!("{:?} is no request line: METHOD URL", weir_text::brief(line))),
            false => Ok(()),
        }
    }

    /// Takes a line behind the request line: more of the URL, or a header field.
    fn head(&mut self, line: &'t str) -> Result<(), String> {
        let text = line.trim();
        if text.is_empty() {
            self.part = HttpPart::Body;
            return Ok(());
        }
        if self.part == HttpPart::Url && line.starts_with([' ', '\t']) {
            self.request.url += without_version(text);
            return Ok(());
        }
        self.part = HttpPart::Headers;
        if is_comment(text) {
            return Ok(());
        }
        if text.starts_with('>') {
            self.body(line);
            return Ok(());
        }
        let (name, value) = text.split_once(':').ok_or_else(|| {
            format!("{:?} is no header field: NAME: VALUE", weir_text::brief(text))
        })?;
        self.request.headers.push((name.trim().to_owned(), value.trim().to_owned()));
        Ok(())
    }

    /// Takes a line of the body, or of what follows it.
    fn body(&mut self, line: &'t str) {
        let begin = line.trim();
        if begin.starts_with("> ") || begin.starts_with(">>") || begin.starts_with("<> ") {
            self.part = HttpPart::After;
            if begin.starts_with("> ") {
                self.file.scripts += 1;
                self.is_in_script = begin.contains("{%") && !begin.contains("%}");
            }
            return;
        }
        if self.part == HttpPart::After {
            return;
        }
        let is_first = self.body.iter().all(|line| line.trim().is_empty());
        match begin.strip_prefix('<').filter(|_| is_first) {
            Some(path) if path.starts_with([' ', '@']) && self.request.body_file.is_none() => {
                // `<@latin1 PATH` has an encoding.
                let path = match path.strip_prefix('@') {
                    Some(rest) => rest.split_once(' ').map_or("", |(_, path)| path),
                    None => path,
                };
                self.request.body_file = Some(path.trim().to_owned());
            }
            _ => self.body.push(line),
        }
    }

    /// Takes the first line of a script before a request.
    fn script(&mut self, line: &str) -> Result<(), String> {
        match line.contains("{%") || !line.starts_with("<>") {
            true => {
                self.file.scripts += 1;
                self.is_in_script = line.contains("{%") && !line.contains("%}");
                Ok(())
            }
            false => Ok(()),
        }
    }

    /// Ends a request, if there is one.
    fn end(&mut self) {
        let mut request = std::mem::take(&mut self.request);
        let mut body = std::mem::take(&mut self.body);
        // Comments and variables behind a body belong to the file.
        let is_behind = |line: &&str| {
            let line = line.trim();
            line.is_empty() || is_comment(line) || definition(line).is_some()
        };
        let kept = body.iter().rposition(|line| !is_behind(line)).map_or(0, |last| last + 1);
        for (name, value) in body.drain(kept..).filter_map(|line| definition(line.trim())) {
            self.file.variables.insert(name.to_owned(), value.to_owned());
        }
        if self.part != HttpPart::Before {
            request.body = body.join("\n").trim_end().to_owned();
            self.file.requests.push(request);
        }
        self.part = HttpPart::Before;
    }
}

/// True for a line that is a comment.
fn is_comment(line: &str) -> bool {
    line.starts_with('#') || line.starts_with("//")
}

/// Returns the name and the value of a variable: `@name = value`.
fn definition(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.strip_prefix('@')?.split_once('=')?;
    Some((name.trim(), value.trim()))
}

/// Returns a URL without the version of HTTP behind it.
fn without_version(url: &str) -> &str {
    match url.rsplit_once(char::is_whitespace) {
        Some((url, version)) if version.starts_with("HTTP/") => url.trim_end(),
        _ => url,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read() {
        let text = "@host = h\n\n### First one ###\n// @name login\n# a comment\n\
                    POST http://{{host}}/login\n    ?a=1\n    &b=2 HTTP/1.1\nA: b\n# c\nC: d:e\n\n\
                    {\n  \"x\": 1\n}\n\n> {%\n  client.global.set(\"a\", 1);\n%}\n\n###\n\
                    http://h/\n\
                    ###\n< {% x %}\nPUT http://h/f\n\n< ./body.json\n>> out.json\n";
        let file = read(text).expect("a file");
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = [
            HttpRequest {
                line: 6,
                name: Some("login".to_owned()),
                title: Some("First one".to_owned()),
                method: "POST".to_owned(),
                url: "http://{{host}}/login?a=1&b=2".to_owned(),
                headers: vec![header("A", "b"), header("C", "d:e")],
                body: "{\n  \"x\": 1\n}".to_owned(),
                body_file: None,
            },
            HttpRequest {
                line: 22,
                method: "GET".to_owned(),
                url: "http://h/".to_owned(),
                ..HttpRequest::default()
            },
            HttpRequest {
                line: 25,
                method: "PUT".to_owned(),
                url: "http://h/f".to_owned(),
                body_file: Some("./body.json".to_owned()),
                ..HttpRequest::default()
            },
        ];
        assert_eq!(file.requests, expected);
        assert_eq!((file.variables.get("host").map(String::as_str), file.scripts), (Some("h"), 2));
    }

    #[test]
    fn what_stands_behind_a_body_is_the_file_s() {
        let text = "POST http://h/\n\n{\n# within\n}\n\n@a = 1\n\n# ==\n// next\n###\n\
                    GET http://h/\n\n# note\n";
        let file = read(text).expect("a file");
        let bodies: Vec<&str> = file.requests.iter().map(|request| &*request.body).collect();
        assert_eq!(bodies, ["{\n# within\n}", ""]);
        assert_eq!(file.variables.get("a").map(String::as_str), Some("1"));
    }

    #[test]
    fn wrong_lines_are_named() {
        for (text, line, part) in [
            ("GET http://h/\nno field\n", 2, "is no header field"),
            ("\nthis is text\n", 2, "is no request line"),
        ] {
            let error = read(text).expect_err(text);
            assert_eq!(error.position, line.into());
            assert!(error.text.contains(part), "{text}: {error}");
        }
    }
}
