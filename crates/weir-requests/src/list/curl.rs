//! curl command lines, as people write and browsers copy them. They are read, not run.

mod options;
mod words;

use std::io::BufRead;

use crate::list::lines::Lines;
use crate::list::multipart::{self, FormPart, PartContent, multipart_body};
use crate::list::{Row, RowBody, RowError};
use options::{Effect, parse};
use words::CommandLine;

/// Media type of bodies that are given with `-d`.
const URLENCODED: &str = "application/x-www-form-urlencoded";

/// Codings that `--compressed` accepts.
const CODINGS: &str = "deflate, gzip, br, zstd";

/// Reads the rows of the next line, with those on which its commands go on; `None` at the end. A
/// command has a row for each of its URLs.
///
/// # Errors
/// If a command is not one of curl's, or has an option that is unknown or no part of a request.
pub(super) fn rows<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<Vec<Row>>, RowError> {
    let Some(commands) = words::read(lines)? else { return Ok(None) };
    let mut rows = Vec::new();
    for command in &commands {
        let failed = |text: String| RowError::new(command.line, text);
        for part in requests(command).map_err(failed)? {
            let mut made = Made::default();
            for effect in parse(part).map_err(failed)? {
                made.take(effect).map_err(failed)?;
            }
            rows.extend(made.rows(command.line).map_err(failed)?);
        }
    }
    Ok(Some(rows))
}

/// Returns the words behind `curl`, in parts between `--next`.
fn requests(command: &CommandLine) -> Result<impl Iterator<Item = &[Vec<u8>]>, String> {
    let words = match command.words.as_slice() {
        // A prompt that was copied with the command.
        [prompt, words @ ..] if prompt == b"$" => words,
        words => words,
    };
    match words {
        [curl, words @ ..] if curl == b"curl" => {
            Ok(words.split(|word| word == b"--next" || word == b"-:"))
        }
        _ => Err("it is no curl command".to_owned()),
    }
}

/// A request as far as its options have been read.
#[derive(Default)]
struct Made {
    urls: Vec<String>,
    method: Option<String>,
    headers: Vec<(String, String)>,
    basic_auth: Option<String>,
    cookies: Vec<String>,
    data: Option<RowBody>,
    /// Media type of `data`, unless a header gives it.
    media_type: &'static str,
    /// Parts of a form, which becomes a multipart body.
    parts: Vec<FormPart>,
    is_get: bool,
    is_head: bool,
    is_compressed: bool,
    is_literal: bool,
}

impl Made {
    fn take(&mut self, effect: Effect) -> Result<(), String> {
        match effect {
            Effect::Url(url) => self.urls.push(url),
            Effect::Method(method) => self.method = Some(method),
            Effect::Header(line) => self.header(&line)?,
            Effect::Field(name, value) => self.headers.push((name.to_owned(), value)),
            Effect::User(user) if user.contains(':') => self.basic_auth = Some(user),
            Effect::User(_) => return Err("`-u` has no password: write USER:PASS".to_owned()),
            Effect::Cookie(cookie) => self.cookies.push(cookie),
            Effect::Data(bytes) => self.data(bytes, URLENCODED)?,
            Effect::Json(bytes) => self.json(bytes)?,
            Effect::File(file) => self.file(file, URLENCODED)?,
            Effect::JsonFile(file) => self.file(file, "application/json")?,
            Effect::Part(part) => self.parts.push(part),
            Effect::Get => self.is_get = true,
            Effect::Head => self.is_head = true,
            Effect::Compressed => self.is_compressed = true,
            Effect::Literal => self.is_literal = true,
            Effect::None => {}
        }
        Ok(())
    }

    /// Takes a header field: `NAME: VALUE`, `NAME;` for an empty value; `NAME:` leaves out one of
    /// curl's own, of which weir sends none.
    fn header(&mut self, line: &str) -> Result<(), String> {
        if line.starts_with('@') {
            return Err("`-H` names a file: write its fields into the command".to_owned());
        }
        let (name, value) = match line.split_once(':') {
            Some((_, value)) if value.trim().is_empty() => return Ok(()),
            Some((name, value)) => (name.trim(), value.trim()),
            None => match line.trim().strip_suffix(';') {
                Some(name) => (name, ""),
                None => return Err(format!("`-H` has no colon: {:?}", weir_text::brief(line))),
            },
        };
        // The body's length is counted.
        if !name.eq_ignore_ascii_case("content-length") {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        Ok(())
    }

    /// Appends to the body; parts of a form are joined with `&`.
    fn data(&mut self, bytes: Vec<u8>, media_type: &'static str) -> Result<(), String> {
        self.media_type = media_type;
        match &mut self.data {
            None => self.data = Some(RowBody::Bytes(bytes)),
            Some(RowBody::Bytes(body)) => {
                body.push(b'&');
                body.extend_from_slice(&bytes);
            }
            Some(_) => return Err(ONE_FILE.to_owned()),
        }
        Ok(())
    }

    /// Appends to the body; parts of JSON are joined with nothing.
    fn json(&mut self, bytes: Vec<u8>) -> Result<(), String> {
        self.media_type = "application/json";
        match &mut self.data {
            None => self.data = Some(RowBody::Bytes(bytes)),
            Some(RowBody::Bytes(body)) => body.extend_from_slice(&bytes),
            Some(_) => return Err(ONE_FILE.to_owned()),
        }
        Ok(())
    }

    fn file(&mut self, file: RowBody, media_type: &'static str) -> Result<(), String> {
        if self.data.replace(file).is_some() {
            return Err(ONE_FILE.to_owned());
        }
        self.media_type = media_type;
        Ok(())
    }

    /// Returns the row of each URL.
    fn rows(mut self, line: u64) -> Result<Vec<Row>, String> {
        if self.urls.is_empty() {
            return Err("the command has no URL".to_owned());
        }
        let query = if self.is_get { self.query()? } else { None };
        self.complete()?;
        let method = match (self.method.take(), self.is_head) {
            (Some(method), _) => method,
            (None, true) => "HEAD".to_owned(),
            (None, false) if self.data.is_some() => "POST".to_owned(),
            (None, false) => "GET".to_owned(),
        };
        let mut rows = Vec::new();
        for url in &self.urls {
            let url = target(url, query.as_deref(), self.is_literal)?;
            rows.push(Row {
                method: Some(method.clone()),
                headers: self.headers.clone(),
                basic_auth: self.basic_auth.clone(),
                body: self.data.clone(),
                ..Row::new(line, &url)
            });
        }
        Ok(rows)
    }

    /// Moves the body into a query, for `-G`.
    fn query(&mut self) -> Result<Option<String>, String> {
        match self.data.take() {
            None => Ok(None),
            Some(RowBody::Bytes(bytes)) => {
                let text = String::from_utf8(bytes);
                text.map(Some).map_err(|_| "the query of `-G` is not UTF-8".to_owned())
            }
            Some(_) => Err("`-G` with a file: write its content into the command".to_owned()),
        }
    }

    /// Adds the fields that curl adds for the options, and the body of a form.
    fn complete(&mut self) -> Result<(), String> {
        if !self.cookies.is_empty() {
            self.headers.push(("Cookie".to_owned(), self.cookies.join("; ")));
        }
        if self.is_compressed {
            self.add("Accept-Encoding", CODINGS);
        }
        if self.data.is_some() {
            self.add("Content-Type", self.media_type);
            if self.media_type == "application/json" {
                self.add("Accept", self.media_type);
            }
        }
        if !self.parts.is_empty() {
            if self.data.is_some() {
                return Err("it has both `-F` and `-d`".to_owned());
            }
            let (media_type, body) = multipart(std::mem::take(&mut self.parts))?;
            self.add("Content-Type", &media_type);
            self.data = Some(body);
        }
        Ok(())
    }

    /// Adds a field unless there is one of this name.
    fn add(&mut self, name: &str, value: &str) {
        if !self.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
    }
}

const ONE_FILE: &str = "its body has several parts, one of them a file: write one body";

/// Returns a URL with its scheme and the query of `-G`. Unless all braces and brackets are literal,
/// those behind a backslash are, as Chrome copies them.
fn target(url: &str, query: Option<&str>, is_literal: bool) -> Result<String, String> {
    let scheme = if url.contains("://") { "" } else { "http://" };
    let url = format!("{scheme}{url}");
    // An IPv6 address has brackets too.
    let path = url.find("://").map_or(0, |at| at + 3);
    let path = url[path..].find('/').map_or(url.len(), |at| path + at);
    let (server, path) = url.split_at(path);
    let url = match is_literal {
        true => url,
        false => format!("{server}{}", without_globs(path)?),
    };
    let Some(query) = query else { return Ok(url) };
    let url = url.split('#').next().unwrap_or_default();
    let sign = if url.contains('?') { '&' } else { '?' };
    Ok(format!("{url}{sign}{query}"))
}

/// Returns a path without the backslashes before braces and brackets.
///
/// # Errors
/// If one has none: curl would make several URLs.
fn without_globs(path: &str) -> Result<String, String> {
    let is_glob = |c: char| "{}[]".contains(c);
    let mut literal = String::with_capacity(path.len());
    let mut rest = path.chars().peekable();
    while let Some(next) = rest.next() {
        match next {
            '\\' if rest.peek().copied().is_some_and(is_glob) => literal.extend(rest.next()),
            '{' | '[' => {
                let text =
                    "curl makes several URLs of one with {…} or […]: write each, or use `-g`";
                return Err(text.to_owned());
            }
            next => literal.push(next),
        }
    }
    Ok(literal)
}

/// Returns the media type and the body of a form.
fn multipart(parts: Vec<FormPart>) -> Result<(String, RowBody), String> {
    let boundary = multipart::boundary(&parts);
    let media_type = format!("multipart/form-data; boundary={boundary}");
    let contents = parts.iter().map(|part| match &part.content {
        PartContent::Bytes(bytes) => Some((part, bytes.as_slice())),
        PartContent::File(_) => None,
    });
    let body = match contents.collect::<Option<Vec<_>>>() {
        Some(contents) => RowBody::Bytes(multipart_body(&boundary, contents)?),
        None => RowBody::Form(boundary, parts),
    };
    Ok((media_type, body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::list::Position;

    fn read(text: &str) -> Result<Vec<Row>, RowError> {
        let mut lines = Lines::new(text.as_bytes());
        let mut all = Vec::new();
        while let Some(rows) = rows(&mut lines)? {
            all.extend(rows);
        }
        Ok(all)
    }

    fn one(text: &str) -> Row {
        let rows = read(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let [row] = &rows[..] else { panic!("{text}: {rows:?}") };
        row.clone()
    }

    fn bytes(row: &Row) -> String {
        match &row.body {
            Some(RowBody::Bytes(bytes)) => String::from_utf8(bytes.clone()).expect("text"),
            other => panic!("{other:?}"),
        }
    }

    fn header<'a>(row: &'a Row, name: &str) -> Option<&'a str> {
        let found = row.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// As Chrome copies a request.
    #[test]
    fn a_browsers_command_is_its_request() {
        let row = one(r#"curl 'https://h.example/api?x=1' \
  -X 'PUT' \
  -H 'accept: */*' \
  -H 'content-type: application/json' \
  -b 'a=1; b=2' \
  -H 'x-empty;' \
  --data-raw $'{"a":"it\'s \u0021"}' \
  --compressed \
  --insecure"#);
        assert_eq!((row.position, row.method.as_deref()), (1.into(), Some("PUT")));
        assert_eq!(row.target, "https://h.example/api?x=1");
        assert_eq!(bytes(&row), r#"{"a":"it's !"}"#);
        let check = |name, expected| assert_eq!(header(&row, name), Some(expected), "{name}");
        check("accept", "*/*");
        check("content-type", "application/json");
        check("cookie", "a=1; b=2");
        check("x-empty", "");
        check("accept-encoding", CODINGS);
        assert_eq!(row.headers.len(), 5);
    }

    #[test]
    fn options_have_curls_effects() {
        let check = |text: &str, method: &str, target: &str, body: Option<&str>| {
            let row = one(text);
            assert_eq!(row.method.as_deref(), Some(method), "{text}");
            assert_eq!(row.target, target, "{text}");
            assert_eq!(row.body.is_some().then(|| bytes(&row)).as_deref(), body, "{text}");
        };
        check("curl h/a", "GET", "http://h/a", None);
        check("$ curl -sSI --url h", "HEAD", "http://h", None);
        check("curl -XDELETE -kLfv h", "DELETE", "http://h", None);
        check("curl h -d a=1 -db=2 --data c", "POST", "http://h", Some("a=1&b=2&c"));
        check("curl h --data-raw @a", "POST", "http://h", Some("@a"));
        check("curl h --data-urlencode 'a= ü&'", "POST", "http://h", Some("a=%20%C3%BC%26"));
        check("curl h --data-urlencode '=a b'", "POST", "http://h", Some("a%20b"));
        check("curl h --data-urlencode 'a b'", "POST", "http://h", Some("a%20b"));
        check("curl -G h -d a=1 -d b", "GET", "http://h?a=1&b", None);
        check("curl -G 'h?x#y' -d a", "GET", "http://h?x&a", None);
        check("curl h --json '{\"a\":' --json 1}", "POST", "http://h", Some("{\"a\":1}"));
        check("curl -g 'h/{a}'", "GET", "http://h/{a}", None);
        check(r"curl 'h/\{a\}?b\[0\]=\c'", "GET", r"http://h/{a}?b[0]=\c", None);
        check(r"curl -g 'h/\[a'", "GET", r"http://h/\[a", None);
        check("curl 'http://[::1]:80/a'", "GET", "http://[::1]:80/a", None);
        check("curl -o /dev/null -w '%{http_code}' -m 5 h", "GET", "http://h", None);
    }

    #[test]
    fn fields_that_curl_adds_are_added() {
        let check = |text: &str, name: &str, expected: Option<&str>| {
            assert_eq!(header(&one(text), name), expected, "{text}");
        };
        check("curl h -d a", "content-type", Some(URLENCODED));
        check("curl h -d a -H 'Content-Type: b'", "content-type", Some("b"));
        check("curl h --json 1", "content-type", Some("application/json"));
        check("curl h --json 1", "accept", Some("application/json"));
        check("curl h -A x -e y", "user-agent", Some("x"));
        check("curl h -A x -e y", "referer", Some("y"));
        check("curl h --oauth2-bearer t", "authorization", Some("Bearer t"));
        check("curl h -H 'Accept:'", "accept", None);
        check("curl h -H 'Content-Length: 9' -d a", "content-length", None);
        assert_eq!(one("curl -u a:b h").basic_auth.as_deref(), Some("a:b"));
    }

    #[test]
    fn forms_are_multipart() {
        let row = one("curl h -F a=1 --form-string 'b=@c'");
        let boundary = header(&row, "content-type").expect("a type");
        let boundary = boundary.split_once("boundary=").expect("a boundary").1;
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"b\"\r\n\r\n@c\r\n\
             --{boundary}--\r\n"
        );
        assert_eq!(bytes(&row), expected);
        let hidden = one("curl h -F a=------------------------weir000000000000");
        assert!(header(&hidden, "content-type").expect("a type").ends_with("1"));
    }

    #[test]
    fn parts_of_forms_may_be_files() {
        let part = |text: &str| match one(text).body {
            Some(RowBody::Form(_, parts)) => parts[0].clone(),
            other => panic!("{text}: {other:?}"),
        };
        let check = |text: &str, path: &str, name: Option<&str>, media_type: Option<&str>| {
            let FormPart { file_name, media_type: found, content, .. } = part(text);
            assert_eq!(content, PartContent::File(path.to_owned()), "{text}");
            assert_eq!((file_name.as_deref(), found.as_deref()), (name, media_type), "{text}");
        };
        let bytes_type = Some("application/octet-stream");
        check("curl h -F f=@d/a.bin", "d/a.bin", Some("a.bin"), bytes_type);
        check("curl h -F f=@a.PNG", "a.PNG", Some("a.PNG"), Some("image/png"));
        check("curl h -F 'f=@a;type=a/b;filename=x'", "a", Some("x"), Some("a/b"));
        check(r#"curl h -F 'f=@"a;\"b\",c"'"#, "a;\"b\",c", Some("a;\"b\",c"), bytes_type);
        check("curl h -F 'f=<a.b'", "a.b", None, None);
        let text = one(r#"curl h -F 'a={"b":1};type=application/json' -F 'c="d;e"'"#);
        let body = bytes(&text);
        assert!(body.contains("Content-Type: application/json\r\n\r\n{\"b\":1}\r\n"), "{body}");
        assert!(body.contains("name=\"c\"\r\n\r\nd;e\r\n"), "{body}");
    }

    #[test]
    fn files_are_named_and_not_read() {
        let check = |text: &str, expected| assert_eq!(one(text).body, Some(expected), "{text}");
        check("curl h --data-binary @a.json", RowBody::File("a.json".to_owned()));
        check("curl h -d @a.json", RowBody::JoinedFile("a.json".to_owned()));
        check("curl h --json @a.json", RowBody::File("a.json".to_owned()));
    }

    #[test]
    fn several_requests_of_one_command_are_rows() {
        let rows = read("curl h/a h/b -d x --next h/c\ncurl h/d").expect("rows");
        let of = |row: &Row| (row.position, row.target.clone(), row.method.clone().expect("one"));
        let found: Vec<_> = rows.iter().map(of).collect();
        let expected = [(1, "a", "POST"), (1, "b", "POST"), (1, "c", "GET"), (2, "d", "GET")];
        let expected = expected.map(|(line, path, method)| {
            (Position::Line(line), format!("http://h/{path}"), method.to_owned())
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_no_request_is_named() {
        let check = |text: &str, part: &str| {
            let error = read(text).expect_err(text);
            assert!(error.text.contains(part), "{text}: {}", error.text);
        };
        check("wget h", "no curl command");
        check("curl -s", "no URL");
        check("curl --frobnicate h", "`--frobnicate`");
        check("curl -sj5 h", "`-j`");
        check("curl h -H", "`-H`");
        check("curl -u a h", "password");
        check("curl -b jar.txt h", "`-b`");
        check("curl -T a h", "`-T`");
        check("curl --http2-prior-knowledge h", "`--http2-prior-knowledge`");
        check("curl -x p:1 h", "`-x`");
        check("curl h -d @a -d b", "one of them a file");
        check("curl h -F a=@", "`-F` names no file");
        check("curl h -F a=@b,c", "`-F` names several files");
        check("curl h -F 'a=b;c'", "`--form-string`");
        check("curl 'h/[1-3]'", "several URLs");
        check(r"curl 'h/\[1\]/{a,b}'", "several URLs");
        check("curl h -H 'a b'", "colon");
        check("curl h -H @f", "file");
    }
}
