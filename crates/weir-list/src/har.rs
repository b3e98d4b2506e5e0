//! HAR 1.2: an archive of a browser's requests.

use serde::Deserialize;

use crate::encoding::percent_encoded;
use crate::json_lines::{decoded, reason};
use crate::{Row, RowBody, RowError};

/// Fields that belong to the connection or to the length of the body, which are weir's.
const NOT_SENT: [&str; 6] =
    ["connection", "content-length", "host", "keep-alive", "proxy-connection", "transfer-encoding"];

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    request: Request,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<Pair>,
    post_data: Option<PostData>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    value: String,
}

#[derive(Deserialize)]
struct PostData {
    #[serde(default)]
    text: String,
    #[serde(default)]
    params: Vec<Param>,
    /// `base64`; no part of the format, but browsers write it.
    encoding: Option<String>,
}

#[derive(Deserialize)]
struct Param {
    name: String,
    #[serde(default)]
    value: String,
    #[serde(rename = "fileName")]
    file_name: Option<String>,
}

/// Returns the rows of an archive. Requests to other than web servers, such as `data:` and
/// `blob:` URLs, were never sent and are left out.
///
/// # Errors
/// If it is no archive, or an entry has a body that it does not hold.
pub(crate) fn rows(text: &str) -> Result<Vec<Row>, RowError> {
    let archive: Archive = serde_json::from_str(text).map_err(|error| {
        let line = error.line() as u64;
        RowError::new(line, format!("it is no HAR file: {}", reason(&error)))
    })?;
    let entries = (1..).zip(archive.log.entries);
    let sent = entries.filter(|(_, entry)| {
        let scheme = entry.request.url.split(':').next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    });
    let rows = sent.map(|(number, entry)| row(number, entry.request));
    let rows = rows.collect::<Result<Vec<Row>, RowError>>()?;
    match rows.is_empty() {
        true => Err(RowError::new(0, "the HAR file has no request to a web server")),
        false => Ok(rows),
    }
}

fn row(number: u64, request: Request) -> Result<Row, RowError> {
    let failed = |text: String| RowError::new(number, text);
    let fields = request.headers.into_iter().map(|pair| (pair.name, pair.value));
    // Names that begin with a colon are HTTP/2's form of the request line.
    let headers = fields.filter(|(name, _)| {
        !name.starts_with(':') && !NOT_SENT.contains(&name.to_ascii_lowercase().as_str())
    });
    Ok(Row {
        method: Some(request.method),
        headers: headers.collect(),
        body: request.post_data.map(body).transpose().map_err(failed)?.flatten(),
        ..Row::new(number, &request.url)
    })
}

fn body(data: PostData) -> Result<Option<RowBody>, String> {
    if data.encoding.as_deref() == Some("base64") {
        return decoded(&data.text).map(Some);
    }
    if !data.text.is_empty() {
        return Ok(Some(RowBody::Bytes(data.text.into_bytes())));
    }
    if data.params.iter().any(|param| param.file_name.is_some()) {
        return Err("its body is a form with files, which the HAR file does not hold".to_owned());
    }
    let encode = |text: &str| percent_encoded(text.as_bytes());
    let fields = data.params.iter();
    let fields = fields.map(|param| format!("{}={}", encode(&param.name), encode(&param.value)));
    let form = fields.collect::<Vec<String>>().join("&");
    Ok((!form.is_empty()).then(|| RowBody::Bytes(form.into_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(requests: &str) -> String {
        let entries: Vec<String> =
            requests.lines().map(|it| format!("{{\"request\": {it}, \"time\": 3}}")).collect();
        format!("{{\"log\": {{\"version\": \"1.2\", \"entries\": [{}]}}}}", entries.join(",\n"))
    }

    #[test]
    fn entries_become_rows() {
        let text = archive(
            r#"{"method": "GET", "url": "data:image/png;base64,AA=="}
{"method": "GET", "url": "https://h/a?b", "headers": [{"name": ":path", "value": "/a?b"}, {"name": "Host", "value": "h"}, {"name": "Accept", "value": "*/*"}]}
{"method": "POST", "url": "https://h/b", "headers": [{"name": "content-length", "value": "2"}], "postData": {"mimeType": "application/json", "text": "{}"}}
{"method": "POST", "url": "https://h/c", "postData": {"text": "AP8=", "encoding": "base64"}}
{"method": "POST", "url": "https://h/d", "postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a b", "value": "c&d"}, {"name": "e"}]}}"#,
        );
        let rows = rows(&text).expect("an archive");
        let bytes = |row: &Row| match &row.body {
            Some(RowBody::Bytes(bytes)) => bytes.clone(),
            other => panic!("{other:?}"),
        };
        let lines: Vec<u64> = rows.iter().map(|row| row.line).collect();
        assert_eq!(lines, [2, 3, 4, 5]);
        assert_eq!(rows[0].headers, [("Accept".to_owned(), "*/*".to_owned())]);
        assert_eq!((rows[0].body.as_ref(), rows[1].headers.len()), (None, 0));
        assert_eq!((bytes(&rows[1]), bytes(&rows[2])), (b"{}".to_vec(), vec![0, 255]));
        assert_eq!(bytes(&rows[3]), b"a%20b=c%26d&e=");
    }

    #[test]
    fn bodies_that_are_missing_are_named() {
        let params = r#"{"params": [{"name": "a", "fileName": "b.png"}]}"#;
        let request = r#"{"method": "POST", "url": "http://h/", "postData": "#;
        let text = archive(&format!("{request}{params}}}"));
        let error = rows(&text).expect_err("no body");
        assert!(error.line == 1 && error.text.contains("files"), "{error}");
        for wrong in ["{", "{\"log\": {}}", "{\"log\": {\"entries\": []}}"] {
            assert!(rows(wrong).is_err(), "{wrong}");
        }
    }
}
