//! vegeta's two formats of targets, as its documentation describes them.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::Deserialize;

use crate::list::format::is_method;
use crate::list::json_lines::{decoded, reason};
use crate::list::lines::{Lines, NumberedLine};
use crate::list::{Row, RowBody, RowError};

/// Reads a target of the `http` format: a request line, then header fields and at most one
/// `@FILE` up to a blank line or the next request line. `None` at the end.
///
/// # Errors
/// If the first line is no request line, or another one is neither a field nor a file.
pub(super) fn http<R: BufRead>(lines: &mut Lines<R>) -> Result<Option<Row>, RowError> {
    let Some(first) = lines.take_content()? else { return Ok(None) };
    let Some((method, target)) = request_line(&first.text) else {
        let text = "it is no request line: write METHOD URL, and a blank line behind each target";
        return Err(RowError::new(first.number, text));
    };
    let mut row = Row { method: Some(method.to_owned()), ..Row::new(first.number, target) };
    while let Some(next) = lines.peek()? {
        let text = next.text.trim();
        if text.is_empty() || request_line(text).is_some() {
            break;
        }
        let number = next.number;
        match text.strip_prefix('@') {
            _ if text.starts_with('#') => {}
            Some(_) if row.body.is_some() => {
                return Err(RowError::new(number, "its target has a body already"));
            }
            Some(path) => row.body = Some(RowBody::File(path.to_owned())),
            None => {
                let Some((name, value)) = text.split_once(':') else {
                    let text = "it is neither a header field (NAME: VALUE) nor a body (@FILE)";
                    return Err(RowError::new(number, text));
                };
                row.headers.push((name.trim().to_owned(), value.trim().to_owned()));
            }
        }
        lines.take()?;
    }
    Ok(Some(row))
}

/// Returns method and URL of a request line. A version of HTTP may follow, as in a message.
fn request_line(text: &str) -> Option<(&str, &str)> {
    let (method, target) = text.trim().split_once([' ', '\t'])?;
    let target = match target.trim_end().rsplit_once([' ', '\t']) {
        Some((target, version)) if version.starts_with("HTTP/") => target.trim(),
        _ => target.trim(),
    };
    (is_method(method) && !target.is_empty()).then_some((method, target))
}

/// A target of the `json` format.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VegetaTarget {
    method: String,
    url: String,
    /// In base64.
    body: Option<String>,
    header: Option<BTreeMap<String, Vec<String>>>,
}

/// Returns the row of a line in the `json` format.
///
/// # Errors
/// If it is no such object.
pub(super) fn json(line: &NumberedLine) -> Result<Row, RowError> {
    let failed = |text: String| RowError::new(line.number, text);
    let target: VegetaTarget =
        serde_json::from_str(&line.text).map_err(|error| failed(reason(&error)))?;
    let fields = target.header.unwrap_or_default().into_iter();
    let headers = fields
        .flat_map(|(name, values)| values.into_iter().map(move |value| (name.clone(), value)));
    Ok(Row {
        method: Some(target.method),
        headers: headers.collect(),
        body: target.body.map(|body| decoded(&body)).transpose().map_err(failed)?,
        ..Row::new(line.number, target.url.trim())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Row>, RowError> {
        let mut lines = Lines::new(text.as_bytes());
        std::iter::from_fn(|| http(&mut lines).transpose()).collect()
    }

    #[test]
    fn targets_end_with_a_blank_line_or_the_next() {
        let text = "# list\nGET http://h/a\nX-Id: 7:8\n# not sent\n\n\nPOST http://h/b\n\
                    Content-Type: text/plain\n@body.txt\n\nHEAD http://h/c\nDELETE http://h/d\n";
        let rows = all(text).expect("targets");
        let header = |name: &str, value: &str| vec![(name.to_owned(), value.to_owned())];
        let of = |line, method: &str, target| Row {
            method: Some(method.to_owned()),
            ..Row::new(line, target)
        };
        let expected = [
            Row { headers: header("X-Id", "7:8"), ..of(2, "GET", "http://h/a") },
            Row {
                headers: header("Content-Type", "text/plain"),
                body: Some(RowBody::File("body.txt".to_owned())),
                ..of(7, "POST", "http://h/b")
            },
            of(11, "HEAD", "http://h/c"),
            of(12, "DELETE", "http://h/d"),
        ];
        assert_eq!(rows, expected);
    }

    #[test]
    fn what_is_no_target_is_an_error() {
        let check = |text: &str, line: u64| {
            assert_eq!(all(text).expect_err("wrong").position, line.into(), "{text}")
        };
        check("get http://h/", 1);
        check("GET http://h/\nfield\n", 2);
        check("GET http://h/\n@a\n@b\n", 3);
        check("GET http://h/\n\nX: 1\n", 3);
    }

    #[test]
    fn a_version_behind_the_target_is_dropped() {
        let rows = all("GET http://h/a HTTP/1.1\nHost: s\n\nPOST /b\tHTTP/2\n").expect("targets");
        let targets: Vec<&str> = rows.iter().map(|row| row.target.as_str()).collect();
        assert_eq!(targets, ["http://h/a", "/b"]);
    }

    #[test]
    fn objects_have_their_body_in_base64() {
        let text = r#"{"method": "POST", "url": "http://h/", "body": "e30=",
            "header": {"B": ["1", "2"], "A": []}}"#;
        let row = json(&NumberedLine { number: 1, text: text.to_owned() }).expect("a target");
        assert_eq!(row.body, Some(RowBody::Bytes(b"{}".to_vec())));
        let header = |value: &str| ("B".to_owned(), value.to_owned());
        assert_eq!(row.headers, [header("1"), header("2")]);
        for wrong in [r#"{"url": "http://h/"}"#, r#"{"method": "GET", "url": "/", "weight": 1}"#] {
            assert!(json(&NumberedLine { number: 1, text: wrong.to_owned() }).is_err(), "{wrong}");
        }
    }
}
