//! Lines of access logs: the time and the request of each, where a format has them.

use crate::list::encoding::percent_encoded;

/// Begin of a line in the formats `common` and `combined`; the rest is not used.
const COMMON: &str = r#"$remote_addr - $remote_user [$time_local] "$request""#;

/// Format of an access log's lines, in the form of nginx's `log_format`. Text behind the last part
/// of a format may follow in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFormat {
    parts: Vec<FormatPart>,
}

/// A part of a format.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FormatPart {
    Text(String),
    Field(LogField),
}

/// A variable of a format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LogField {
    /// Time of the line.
    Time,
    /// Request line.
    Request,
    /// Method of the request.
    Method,
    /// Target of the request.
    Target,
    /// A value that is not used.
    Other,
}

/// The texts of a line that a replay uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LoggedLine<'a> {
    /// Time.
    pub(super) time: &'a str,
    /// Request line; empty if method and target are apart.
    pub(super) request: &'a str,
    /// Method, if it is apart.
    pub(super) method: &'a str,
    /// Target, if it is apart.
    pub(super) target: &'a str,
}

impl LogFormat {
    /// Returns the format of which `common` and `combined` are longer forms.
    pub(super) fn common() -> LogFormat {
        LogFormat::parse(COMMON).expect("it has a time and a request")
    }

    /// Parses a `log_format` string: `$msec "$request" $status`.
    ///
    /// # Errors
    /// If it has no time or no request, or two variables without a text between them; the text is
    /// the reason.
    pub fn parse(text: &str) -> Result<LogFormat, String> {
        let mut parts = Vec::new();
        let mut names = Vec::new();
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            if at > 0 {
                parts.push(FormatPart::Text(rest[..at].to_owned()));
            }
            let (name, behind) = variable(&rest[at + 1..])?;
            if let Some(FormatPart::Field(_)) = parts.last() {
                return Err(format!(
                    "${name} follows another variable without a text between them"
                ));
            }
            names.push(name);
            parts.push(FormatPart::Field(LogField::Other));
            rest = behind;
        }
        if !rest.is_empty() {
            parts.push(FormatPart::Text(rest.to_owned()));
        }
        let has = |wanted: &str| names.contains(&wanted);
        // The most precise one.
        let time = ["msec", "time_iso8601", "time_local"].into_iter().find(|name| has(name));
        let time = time.ok_or("it has none of $msec, $time_iso8601 and $time_local")?;
        let is_apart = has("request_method") && has("request_uri");
        if !has("request") && !is_apart {
            return Err("it has neither $request nor $request_method with $request_uri".to_owned());
        }
        let fields = parts.iter_mut().filter_map(|part| match part {
            FormatPart::Field(field) => Some(field),
            FormatPart::Text(_) => None,
        });
        for (field, name) in fields.zip(names) {
            *field = match name {
                name if name == time => LogField::Time,
                "request" => LogField::Request,
                "request_method" if is_apart => LogField::Method,
                "request_uri" if is_apart => LogField::Target,
                _ => LogField::Other,
            };
        }
        Ok(LogFormat { parts })
    }

    /// True if a line that was cut may look complete: its last part is a value that is used.
    pub(super) fn has_open_end(&self) -> bool {
        matches!(self.parts.last(), Some(FormatPart::Field(field)) if *field != LogField::Other)
    }

    /// Returns the texts of a line; `None` if it is not in the format.
    pub(super) fn read<'a>(&self, line: &'a str) -> Option<LoggedLine<'a>> {
        let mut found = LoggedLine::default();
        let mut rest = line;
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            let field = match part {
                FormatPart::Text(text) => {
                    rest = rest.strip_prefix(text.as_str())?;
                    continue;
                }
                FormatPart::Field(field) => *field,
            };
            let end = match parts.peek() {
                Some(FormatPart::Text(text)) => end_of(rest, text)?,
                _ => rest.len(),
            };
            let value;
            (value, rest) = rest.split_at(end);
            match field {
                LogField::Time => found.time = value,
                LogField::Request => found.request = value,
                LogField::Method => found.method = value,
                LogField::Target => found.target = value,
                LogField::Other => {}
            }
        }
        Some(found)
    }
}

/// Returns the name of a variable behind `$`, and what follows it.
fn variable(text: &str) -> Result<(&str, &str), String> {
    let split = match text.strip_prefix('{') {
        Some(inner) => inner.split_once('}'),
        None => {
            let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
            Some(text.split_at(end.unwrap_or(text.len())))
        }
    };
    split.filter(|(name, _)| !name.is_empty()).ok_or("a $ has no name behind it".to_owned())
}

/// Returns the length of a value that ends before `text`. A quotation mark behind a backslash is
/// part of the value.
fn end_of(rest: &str, text: &str) -> Option<usize> {
    let mut from = 0;
    loop {
        let at = from + rest[from..].find(text)?;
        let slashes = rest[..at].bytes().rev().take_while(|byte| *byte == b'\\').count();
        if !text.starts_with('"') || slashes % 2 == 0 {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Splits a request line into method and target; `None` if it is none, as of a client that sent
/// nothing.
pub(super) fn method_and_target(line: &str) -> Option<(&str, &str)> {
    let (method, rest) = line.split_once(' ')?;
    let target = match rest.rsplit_once(' ') {
        Some((target, version)) if version.starts_with("HTTP/") => target,
        _ => rest,
    };
    Some((method, target))
}

/// Returns a target in origin form as it can be sent; `None` if it is no path. The origin of an
/// absolute form is dropped. Bytes that a log escapes, and those that a target cannot have, are
/// percent-encoded.
pub(super) fn origin_form(target: &str) -> Option<String> {
    let path = match target.split_once("://") {
        Some((scheme, rest))
            if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") =>
        {
            rest.find(['/', '?']).map_or("/", |at| &rest[at..])
        }
        _ => target,
    };
    let path = path.split('#').next().unwrap_or_default();
    if !path.starts_with(['/', '?']) {
        return None;
    }
    let mut sent = String::with_capacity(path.len() + 1);
    if path.starts_with('?') {
        sent.push('/');
    }
    let mut bytes = path.bytes();
    while let Some(byte) = bytes.next() {
        let byte = match byte {
            b'\\' => unescaped(&mut bytes),
            byte => byte,
        };
        match byte {
            b'!' | b'$'..=b'[' | b']'..=b'~' => sent.push(char::from(byte)),
            // These are none of the unreserved characters.
            byte => sent.push_str(&percent_encoded(&[byte])),
        }
    }
    Some(sent)
}

/// Returns the byte that an escape stands for, behind its backslash: `\x22`, `\"`, `\\`.
fn unescaped(bytes: &mut std::str::Bytes<'_>) -> u8 {
    let mut ahead = bytes.clone();
    let hex = |byte: Option<u8>| char::from(byte?).to_digit(16);
    match ahead.next() {
        Some(b'x') => {
            let (Some(high), Some(low)) = (hex(ahead.next()), hex(ahead.next())) else {
                return b'\\';
            };
            *bytes = ahead;
            (high * 16 + low) as u8
        }
        Some(byte @ (b'"' | b'\\')) => {
            *bytes = ahead;
            byte
        }
        _ => b'\\',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request<'a>(format: &LogFormat, line: &'a str) -> Option<(&'a str, &'a str)> {
        format.read(line).map(|found| (found.time, found.request))
    }

    #[test]
    fn common_and_combined_lines_are_read() {
        let format = LogFormat::common();
        let time = "10/Oct/2000:13:55:36 -0700";
        for (line, expected) in [
            (
                r#"127.0.0.1 - frank [@] "GET /a.gif HTTP/1.0" 200 2326"#,
                Some((time, "GET /a.gif HTTP/1.0")),
            ),
            (
                r#"::1 - - [@] "POST /?q=\"a HTTP/1.1" 200 5 "http://h/" "curl \"8\"""#,
                Some((time, r#"POST /?q=\"a HTTP/1.1"#)),
            ),
            (r#"h:80 ::1 - - [@] "-" 408 0"#, Some((time, "-"))),
            (r#"127.0.0.1 - - [@] "GET /cut"#, None),
            ("127.0.0.1 - - @", None),
            ("", None),
        ] {
            let line = line.replace('@', time);
            assert_eq!(request(&format, &line), expected, "{line}");
        }
    }

    #[test]
    fn a_format_names_the_time_and_the_request() {
        let read = |format: &str, line: &'static str| {
            LogFormat::parse(format).expect(format).read(line).expect(line)
        };
        let found =
            read(r#"$remote_addr|$time_local|$msec|"$request"|$status"#, r#"h|x|1.5|"r"|2"#);
        assert_eq!((found.time, found.request), ("1.5", "r"));
        let found = read("${time_iso8601} $request_method $request_uri", "T PUT /a b");
        let expected = LoggedLine { time: "T", request: "", method: "PUT", target: "/a b" };
        assert_eq!(found, expected);
        for (format, is_open) in [("$msec $request", true), ("$request $msec.", false)] {
            assert_eq!(LogFormat::parse(format).expect(format).has_open_end(), is_open, "{format}");
        }
        for (format, part) in [
            ("", "none of $msec"),
            ("$msec", "neither $request nor"),
            ("$msec $request_uri", "neither $request nor"),
            ("$msec$request", "$request follows another"),
            ("$msec $ $request", "no name"),
            ("$msec ${request", "no name"),
        ] {
            let error = LogFormat::parse(format).expect_err(format);
            assert!(error.contains(part), "{format}: {error}");
        }
    }

    #[test]
    fn targets_become_paths_that_can_be_sent() {
        for (line, method, target) in [
            ("GET /a?b=c HTTP/1.1", "GET", Some("/a?b=c")),
            ("GET /a", "GET", Some("/a")),
            ("GET /a b HTTP/1.1", "GET", Some("/a%20b")),
            (r#"GET /\x22\xc3\xbc\xZZ\"\\ HTTP/2.0"#, "GET", Some("/%22%C3%BC%5CxZZ%22%5C")),
            ("GET /%41ü#f HTTP/1.1", "GET", Some("/%41%C3%BC")),
            ("GET http://other:81/a?b HTTP/1.1", "GET", Some("/a?b")),
            ("GET HTTPS://other HTTP/1.1", "GET", Some("/")),
            ("GET http://other?q HTTP/1.1", "GET", Some("/?q")),
            ("OPTIONS * HTTP/1.1", "OPTIONS", None),
            ("CONNECT h:443 HTTP/1.1", "CONNECT", None),
        ] {
            let (found, path) = method_and_target(line).expect(line);
            assert_eq!((found, origin_form(path).as_deref()), (method, target), "{line}");
        }
        assert_eq!(method_and_target("-"), None);
        assert_eq!(method_and_target(r"\x16\x03\x01"), None);
    }
}
