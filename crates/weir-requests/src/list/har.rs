//! HAR 1.2: an archive of a browser's requests.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_path_to_error::Segment;
use weir_text::brief;

use crate::list::encoding::percent_encoded;
use crate::list::json_lines::{decoded, reason};
use crate::list::multipart::{self, FormPart, PartContent, multipart_body};
use crate::list::{Position, Row, RowBody, RowError};

/// Fields that belong to the connection or to the length of the body, which are weir's.
pub(crate) const NOT_SENT: [&str; 6] =
    ["connection", "content-length", "host", "keep-alive", "proxy-connection", "transfer-encoding"];

#[derive(Deserialize)]
struct Archive {
    log: Log,
}

#[derive(Deserialize)]
struct Log {
    entries: Vec<HarEntry>,
}

#[derive(Deserialize)]
struct HarEntry {
    request: HarRequest,
}

/// A request of an entry.
// Fields that may be left out may be `null` too, as some writers have them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct HarRequest {
    method: String,
    url: String,
    headers: Option<Vec<Pair>>,
    post_data: Option<PostData>,
}

impl HarRequest {
    /// Returns the URL.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    value: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostData {
    mime_type: Option<String>,
    text: Option<String>,
    params: Option<Vec<Param>>,
    /// `base64`; no part of the format, but browsers write it.
    encoding: Option<String>,
    /// Name of a file beside the archive with the body, as Playwright writes it.
    #[serde(rename = "_file")]
    file: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Param {
    name: String,
    value: Option<String>,
    file_name: Option<String>,
}

/// Parses an archive.
///
/// # Errors
/// If it is none; the position is that of the entry that is wrong, if it is one.
pub(crate) fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, RowError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let archive = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().clone();
        let error = error.into_inner();
        let line = error.line() as u64;
        let mut within = path.iter().skip_while(|part| !matches!(part, Segment::Seq { .. }));
        let Some(Segment::Seq { index }) = within.next() else {
            let place = if line == 0 { Position::Whole } else { Position::Line(line) };
            return RowError::new(place, format!("it is no HAR file: {}", reason(&error)));
        };
        let field: Vec<String> = within.map(ToString::to_string).collect();
        let entry = Position::Entry(*index as u64 + 1);
        let place = format!("`{}` in line {line}: {}", field.join("."), reason(&error));
        RowError::new(entry, place)
    })?;
    match json.end() {
        Ok(()) => Ok(archive),
        Err(_) => Err(RowError::new(Position::Whole, "it is no HAR file: text follows its object")),
    }
}

/// Returns the rows of an archive. Requests to other than web servers, such as `data:` and
/// `blob:` URLs, were never sent and are left out.
///
/// # Errors
/// If it is no archive, or an entry has a body that it does not hold.
pub(super) fn rows(text: &str) -> Result<Vec<Row>, RowError> {
    let archive: Archive = parsed(text)?;
    let entries = (1..).zip(archive.log.entries);
    let sent = entries.filter(|(_, entry)| {
        let scheme = entry.request.url.split(':').next().unwrap_or_default();
        scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
    });
    let rows = sent.map(|(number, entry)| row(number, entry.request));
    let rows = rows.collect::<Result<Vec<Row>, RowError>>()?;
    match rows.is_empty() {
        true => Err(RowError::new(
            Position::Whole,
            "the HAR file has no request to a web server: record it again",
        )),
        false => Ok(rows),
    }
}

/// Returns the row of the entry with this number.
///
/// # Errors
/// If it has a body that the archive does not hold.
pub(crate) fn row(number: u64, request: HarRequest) -> Result<Row, RowError> {
    let position = Position::Entry(number);
    let failed = |text: String| RowError::new(position, text);
    let fields = request.headers.unwrap_or_default().into_iter();
    let fields = fields.map(|pair| (pair.name, pair.value.unwrap_or_default()));
    // Names that begin with a colon are HTTP/2's form of the request line.
    let (own, sent): (Vec<_>, Vec<_>) = fields
        .filter(|(name, _)| !name.starts_with(':'))
        .partition(|(name, _)| NOT_SENT.contains(&name.to_ascii_lowercase().as_str()));
    let data = request.post_data.unwrap_or_default();
    let mut row =
        Row { method: Some(request.method), headers: sent, ..Row::new(position, &request.url) };
    let given = header(&row.headers, "content-type").map(str::to_owned);
    let media_type = given.clone().or(data.mime_type.clone()).filter(|it| !it.is_empty());
    let (body, media_type) = body(data, media_type).map_err(failed)?;
    if body.is_some() && given.is_none() {
        row.headers.extend(media_type.map(|it| ("Content-Type".to_owned(), it)));
    }
    let length = header(&own, "content-length").unwrap_or("0");
    let has_length = !length.trim().trim_start_matches('0').is_empty();
    if body.is_none() && has_length {
        let text = "and the HAR file has none: record it with its bodies, or leave the entry out";
        return Err(failed(format!(
            "its Content-Length is {}: it had a body, {text}",
            brief(length)
        )));
    }
    row.body = body;
    Ok(row)
}

/// Returns the value of the first field of this name.
fn header<'a>(fields: &'a [(String, String)], name: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(own, _)| own.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// Returns the body, and its media type.
fn body(
    data: PostData,
    media_type: Option<String>,
) -> Result<(Option<RowBody>, Option<String>), String> {
    let text = data.text.unwrap_or_default();
    if let Some(file) = data.file.filter(|_| text.is_empty()) {
        return Ok((Some(RowBody::FileBeside(file)), media_type));
    }
    if data.encoding.as_deref() == Some("base64") {
        return Ok((Some(decoded(&text)?), media_type));
    }
    if !text.is_empty() {
        return Ok((Some(RowBody::Bytes(text.into_bytes())), media_type));
    }
    let params = data.params.unwrap_or_default();
    if params.is_empty() {
        return Ok((None, media_type));
    }
    if params.iter().any(|param| param.file_name.is_some()) {
        return Err("its body is a form with files, which the HAR file does not hold".to_owned());
    }
    if media_type.as_deref().is_some_and(is_multipart) {
        return multipart(params, media_type.unwrap_or_default());
    }
    let encode = |text: &str| percent_encoded(text.as_bytes());
    let pair = |Param { name, value, .. }: &Param| {
        format!("{}={}", encode(name), encode(value.as_deref().unwrap_or_default()))
    };
    let form = params.iter().map(pair).collect::<Vec<String>>().join("&");
    let media_type = media_type.or_else(|| Some("application/x-www-form-urlencoded".to_owned()));
    Ok((Some(RowBody::Bytes(form.into_bytes())), media_type))
}

fn is_multipart(media_type: &str) -> bool {
    let name = media_type.split(';').next().unwrap_or_default().trim();
    name.eq_ignore_ascii_case("multipart/form-data")
}

/// Returns the body of a form with several parts, with the boundary that its media type names, or
/// one that it gets.
fn multipart(
    params: Vec<Param>,
    media_type: String,
) -> Result<(Option<RowBody>, Option<String>), String> {
    let part = |param: Param| FormPart::field(param.name, param.value.unwrap_or_default());
    let parts: Vec<FormPart> = params.into_iter().map(part).collect();
    let mut settings = media_type.split(';').filter_map(|it| it.trim().split_once('='));
    let given = settings.find(|(name, _)| name.eq_ignore_ascii_case("boundary"));
    let (boundary, media_type) = match given {
        Some((_, boundary)) => (boundary.trim_matches('"').to_owned(), media_type),
        None => {
            let boundary = multipart::boundary(&parts);
            let media_type = format!("multipart/form-data; boundary={boundary}");
            (boundary, media_type)
        }
    };
    let contents = parts.iter().map(|part| match &part.content {
        PartContent::Bytes(bytes) => (part, bytes.as_slice()),
        PartContent::File(_) => (part, &[][..]),
    });
    let body = multipart_body(&boundary, contents)?;
    Ok((Some(RowBody::Bytes(body)), Some(media_type)))
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
        let places: Vec<Position> = rows.iter().map(|row| row.position).collect();
        assert_eq!(places, [2, 3, 4, 5].map(Position::Entry));
        assert_eq!(rows[0].headers, [("Accept".to_owned(), "*/*".to_owned())]);
        let json = [("Content-Type".to_owned(), "application/json".to_owned())];
        assert_eq!((rows[0].body.as_ref(), &rows[1].headers[..]), (None, &json[..]));
        assert_eq!((bytes(&rows[1]), bytes(&rows[2])), (b"{}".to_vec(), vec![0, 255]));
        assert_eq!(bytes(&rows[3]), b"a%20b=c%26d&e=");
    }

    #[test]
    fn bodies_that_are_missing_are_named() {
        let params = r#"{"params": [{"name": "a", "fileName": "b.png"}]}"#;
        let request = r#"{"method": "POST", "url": "http://h/", "postData": "#;
        let text = archive(&format!("{request}{params}}}"));
        let error = rows(&text).expect_err("no body");
        assert!(error.to_string().starts_with("entry 1: ") && error.text.contains("files"));
        for wrong in ["", "{", "{\"log\": {}}", "{\"log\": {\"entries\": []}}"] {
            let error = rows(wrong).expect_err(wrong).to_string();
            assert!(!error.contains("line 0"), "{wrong}: {error}");
        }
        let length = r#"{"name": "content-length", "value": "17"}"#;
        for (request, part) in [
            (
                r#"{"method": "POST", "headers": []}"#,
                "entry 2: `request` in line 2: missing field `url`",
            ),
            (r#"{"method": 1, "url": "http://h/"}"#, "entry 2: `request.method` in line 2: "),
            (
                &format!(r#"{{"method": "PUT", "url": "http://h/", "headers": [{length}]}}"#),
                "entry 2: its Content-Length is 17: it had a body",
            ),
        ] {
            let good = r#"{"method": "GET", "url": "http://h/"}"#;
            let error = rows(&archive(&format!("{good}\n{request}"))).expect_err(part).to_string();
            assert!(error.starts_with(part), "{error}");
        }
    }

    /// The forms in which browsers, Playwright and proxies write a body.
    #[test]
    fn bodies_are_read_in_the_forms_of_other_writers() {
        let request = |headers: &str, data: &str| {
            let line = r#""method": "POST", "url": "http://h/""#;
            let text = format!(r#"{{{line}, "headers": {headers}, "postData": {data}}}"#);
            rows(&archive(&text)).unwrap_or_else(|error| panic!("{data}: {error}")).remove(0)
        };
        let row = request(
            r#"[{"name": "X-Empty", "value": null}]"#,
            r#"{"mimeType": "text/plain", "text": null, "params": null}"#,
        );
        assert_eq!((row.headers.len(), row.body), (1, None));
        assert_eq!(request("null", "null").body, None);
        let row = request(
            "[]",
            r#"{"mimeType": "a/b", "text": "", "params": [], "_file": "3f9a0c.dat"}"#,
        );
        assert_eq!(row.body, Some(RowBody::FileBeside("3f9a0c.dat".to_owned())));
        assert_eq!(row.headers, [("Content-Type".to_owned(), "a/b".to_owned())]);
        let params = r#""params": [{"name": "hello", "value": "big world"}, {"name": "n"}]"#;
        let form = "--XyZ\r\nContent-Disposition: form-data; name=\"hello\"\r\n\r\nbig world\r\n\
                    --XyZ\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n\r\n--XyZ--\r\n";
        let typed = r#"[{"name": "content-type", "value": "multipart/form-data; boundary=XyZ"}]"#;
        for (headers, data) in [
            (typed, format!("{{{params}}}")),
            ("[]", format!(r#"{{"mimeType": "multipart/form-data; boundary=\"XyZ\"", {params}}}"#)),
        ] {
            let row = request(headers, &data);
            assert_eq!(row.body, Some(RowBody::Bytes(form.as_bytes().to_vec())), "{data}");
            assert_eq!(row.headers.len(), 1, "{data}");
        }
        let row = request("[]", &format!(r#"{{"mimeType": "multipart/form-data", {params}}}"#));
        let boundary = row.headers[0].1.split_once("boundary=").expect("a boundary").1;
        let Some(RowBody::Bytes(body)) = &row.body else { panic!("{row:?}") };
        assert!(body.starts_with(format!("--{boundary}\r\n").as_bytes()), "{row:?}");
        let row = request("[]", r#"{"params": [{"name": "a", "value": "b"}]}"#);
        assert_eq!(row.headers[0].1, "application/x-www-form-urlencoded");
    }
}
