//! HAR files: requests of a browser with their responses and times.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use crate::list::{HarRequest, RowError, TimeStamp, har_row, parsed_har};
use crate::scenario::import::recorded::{
    RecordedEntry, RecordedFile, RecordedResponse, literal_row,
};
use crate::scenario::import::template_text::literal;
use crate::scenario::import::words;

/// Kinds of resources that a page loads, by `_resourceType`.
const RESOURCES: [&str; 9] =
    ["beacon", "font", "image", "manifest", "media", "ping", "script", "stylesheet", "texttrack"];

/// Nanoseconds in a millisecond.
const MS_NS: f64 = 1e6;

/// Longest time of a request that is read, in milliseconds: a day.
const TIME_MAX_MS: f64 = 86_400_000.0;

#[derive(Deserialize)]
struct SessionArchive {
    log: SessionLog,
}

#[derive(Deserialize)]
struct SessionLog {
    entries: Vec<SessionEntry>,
}

// Fields that may be left out may be `null` too, as some writers have them.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionEntry {
    request: HarRequest,
    response: Option<HarResponse>,
    started_date_time: Option<String>,
    time: Option<f64>,
    #[serde(rename = "_resourceType")]
    resource_type: Option<String>,
}

#[derive(Deserialize)]
struct HarResponse {
    // Some writers have -1 for none.
    status: Option<i64>,
    headers: Option<Vec<HarField>>,
    cookies: Option<Vec<HarField>>,
    content: Option<HarContent>,
}

#[derive(Deserialize)]
struct HarField {
    name: Option<String>,
    value: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarContent {
    mime_type: Option<String>,
    text: Option<String>,
    encoding: Option<String>,
}

/// Reads a file.
///
/// # Errors
/// If it is no HAR file; the position is that of the entry that is wrong.
pub(super) fn read(text: &str) -> Result<RecordedFile, RowError> {
    let archive: SessionArchive = parsed_har(text)?;
    let mut file = RecordedFile::default();
    let mut failed = 0_u64;
    for (number, entry) in (1..).zip(archive.log.entries) {
        // A request that was blocked or cancelled has no status.
        let status = entry.response.as_ref().map(|response| response.status.unwrap_or(0));
        match status {
            Some(..=0) => failed += 1,
            _ => file.entries.push(recorded(number, entry)),
        }
    }
    if failed > 0 {
        let text = "without a response (blocked or cancelled)";
        file.notes.push(format!("left out {} {text}", words::requests(failed)));
    }
    if file.entries.iter().all(|entry| entry.times_ns.is_some()) {
        file.entries.sort_by_key(|entry| entry.times_ns.map(|(began, _)| began));
    }
    Ok(file)
}

fn recorded(number: u64, entry: SessionEntry) -> RecordedEntry {
    let began_ns = entry.started_date_time.as_deref().and_then(TimeStamp::parse).map(|it| it.ns);
    let time_ms = entry.time.filter(|time| *time >= 0.0).unwrap_or(0.0).min(TIME_MAX_MS);
    let times_ns = began_ns.map(|began| (began, began.saturating_add((time_ms * MS_NS) as u64)));
    let response = entry.response.map(response);
    let media_type = response.as_ref().map_or("", |response| &response.media_type);
    let is_resource = match entry.resource_type.as_deref() {
        Some(kind) if RESOURCES.contains(&kind) => true,
        Some("document" | "eventsource" | "fetch" | "xhr") => false,
        _ => is_resource(media_type),
    };
    let url = literal(entry.request.url());
    let mut row = har_row(number, entry.request).map(literal_row);
    // The browser's cache had the response; users have none.
    if let (Ok(row), Some(304)) = (&mut row, response.as_ref().map(|response| response.status)) {
        let is_of_cache = |name: &str| {
            ["if-none-match", "if-modified-since"].iter().any(|it| name.eq_ignore_ascii_case(it))
        };
        row.headers.retain(|(name, _)| !is_of_cache(name));
    }
    RecordedEntry {
        name: None,
        url,
        row,
        response,
        times_ns,
        is_resource,
        captures: Vec::new(),
        secrets: Vec::new(),
        remarks: Vec::new(),
    }
}

/// True for the media type of an image, a font, a style sheet, a script, or sound and film.
fn is_resource(media_type: &str) -> bool {
    let starts = ["image/", "font/", "audio/", "video/", "application/font", "application/x-font"];
    let names = ["text/css", "application/wasm", "application/vnd.ms-fontobject"];
    starts.iter().any(|start| media_type.starts_with(start))
        || names.contains(&media_type)
        || media_type.ends_with("javascript")
}

fn response(response: HarResponse) -> RecordedResponse {
    let content = response.content.as_ref();
    let media_type = content.and_then(|content| content.mime_type.as_deref()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let pairs = |fields: Option<Vec<HarField>>| {
        let pair = |field: HarField| match (field.name, field.value) {
            (Some(name), Some(Value::String(value))) => Some((name, value)),
            _ => None,
        };
        fields.unwrap_or_default().into_iter().filter_map(pair).collect::<Vec<_>>()
    };
    let body = response.content.map(text_of).unwrap_or_default();
    let mut cookies = pairs(response.cookies);
    let is_cookie = |name: &str| name.eq_ignore_ascii_case("set-cookie");
    let (set, headers): (Vec<_>, Vec<_>) =
        pairs(response.headers).into_iter().partition(|(name, _)| is_cookie(name));
    // Chrome has several in one value, each in a line. They have the values as they were sent.
    let lines = set.iter().flat_map(|(_, value)| value.split('\n'));
    let sent = lines.filter_map(|line| line.split(';').next()?.split_once('='));
    let sent: Vec<(String, String)> =
        sent.map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned())).collect();
    if !sent.is_empty() {
        cookies = sent;
    }
    let status = response.status.and_then(|status| u16::try_from(status).ok()).unwrap_or(0);
    RecordedResponse { status, headers, cookies, body, media_type }
}

/// Returns the text of a body; an empty one if it is none.
fn text_of(content: HarContent) -> String {
    let text = content.text.unwrap_or_default();
    if content.encoding.as_deref() != Some("base64") {
        return text;
    }
    let bytes = STANDARD.decode(text.trim());
    bytes.ok().and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the file of entries with these fields behind their URL.
    fn file(entries: &[&str]) -> RecordedFile {
        let entry = |(number, more): (usize, &&str)| {
            format!(r#"{{"request": {{"method": "GET", "url": "http://h/{number}"}}{more}}}"#)
        };
        let entries: Vec<String> = entries.iter().enumerate().map(entry).collect();
        let text = format!(r#"{{"log": {{"entries": [{}]}}}}"#, entries.join(","));
        read(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn entries_are_in_the_order_of_their_times() {
        let at =
            |time: &str| format!(r#", "startedDateTime": "2026-11-29T10:00:{time}Z", "time": 5"#);
        let late = at("02");
        let early = at("01.5");
        let urls = |file: &RecordedFile| {
            file.entries.iter().map(|entry| entry.url.clone()).collect::<Vec<_>>()
        };
        let sorted = file(&[&late, &early]);
        assert_eq!(urls(&sorted), ["http://h/1", "http://h/0"]);
        let times = sorted.entries[0].times_ns.map(|(began, ended)| ended - began);
        assert_eq!(times, Some(5_000_000));
        assert_eq!(urls(&file(&[&late, "", &early])), ["http://h/0", "http://h/1", "http://h/2"]);
    }

    #[test]
    fn requests_without_a_response_were_not_sent() {
        let found = file(&[r#", "response": {"status": 0}"#, r#", "response": null"#]);
        assert_eq!((found.entries.len(), found.notes.len()), (1, 1));
    }

    #[test]
    fn resources_are_known_by_their_kind_or_their_media_type() {
        let of = |kind: &str, media_type: &str| {
            let kind = match kind {
                "" => String::new(),
                kind => format!(r#", "_resourceType": "{kind}""#),
            };
            let content = format!(r#"{{"mimeType": "{media_type}; charset=utf-8"}}"#);
            let more = format!(r#"{kind}, "response": {{"status": 200, "content": {content}}}"#);
            file(&[&more]).entries[0].is_resource
        };
        for (kind, media_type, expected) in [
            ("image", "", true),
            ("script", "text/plain", true),
            ("fetch", "image/png", false),
            ("", "Image/PNG", true),
            ("", "text/css", true),
            ("other", "application/javascript", true),
            ("", "font/woff2", true),
            ("", "application/json", false),
            ("document", "text/html", false),
        ] {
            assert_eq!(of(kind, media_type), expected, "{kind} {media_type}");
        }
    }

    #[test]
    fn responses_have_cookies_and_text() {
        let response = r#", "response": {"status": 200, "headers": [
            {"name": "Set-Cookie", "value": "a=1; Path=/\nb=2=3"}, {"name": "X", "value": "y"}],
            "cookies": [{"name": "a", "value": "decoded"}],
            "content": {"text": "w7w=", "encoding": "base64", "mimeType": "Text/HTML;x"}}"#;
        let found = file(&[response]).entries.remove(0).response.expect("a response");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found.cookies, [pair("a", "1"), pair("b", "2=3")]);
        assert_eq!(found.headers, [pair("X", "y")]);
        assert_eq!((&*found.body, &*found.media_type), ("ü", "text/html"));
    }

    #[test]
    fn errors_name_the_entry_and_the_field() {
        let text = r#"{"log": {"entries": [{"request": {"method": "GET", "url": 1}}]}}"#;
        let error = read(text).expect_err("no URL").to_string();
        assert!(error.starts_with("entry 1: `request.url` in line 1: "), "{error}");
    }
}
