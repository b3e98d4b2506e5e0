//! The requests of JSON with times: an object on each line, and HAR's `startedDateTime`.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::access_log::method_and_target;
use crate::json_lines::reason;

/// Fields of a line with its time, its method and its target, in the order of preference.
const TIMES: [&str; 7] =
    ["time", "timestamp", "@timestamp", "ts", "msec", "time_iso8601", "time_local"];
const METHODS: [&str; 2] = ["method", "request_method"];
const TARGETS: [&str; 4] = ["url", "request_uri", "uri", "path"];

/// A request with its time, as texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LoggedRequest {
    /// Time.
    pub(crate) time: String,
    /// Method and target; `None` if there is no request.
    pub(crate) request: Option<(String, String)>,
}

/// Reads the object of a line. Fields that a replay does not use may be there too.
///
/// # Errors
/// If it is no object, or has no time or no request; the text is the reason.
pub(crate) fn line(text: &str) -> Result<LoggedRequest, String> {
    let object: Map<String, Value> = serde_json::from_str(text).map_err(|error| reason(&error))?;
    let first = |names: &[&str]| names.iter().find_map(|name| object.get(*name).map(text_of));
    let time = first(&TIMES).ok_or("it has no time: `time`, `timestamp` or `ts`")?;
    if let Some(request) = first(&["request"]) {
        let split = method_and_target(&request);
        let request = split.map(|(method, target)| (method.to_owned(), target.to_owned()));
        return Ok(LoggedRequest { time, request });
    }
    let target = first(&TARGETS).ok_or("it has no target: `url`, `uri` or `path`")?;
    let method = first(&METHODS).unwrap_or_else(|| "GET".to_owned());
    Ok(LoggedRequest { time, request: Some((method, target)) })
}

/// Returns the text of a value. The shortest form of a float has the digits that were written.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[derive(Deserialize)]
struct TimedArchive {
    log: TimedLog,
}

#[derive(Deserialize)]
struct TimedLog {
    entries: Vec<TimedEntry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TimedEntry {
    started_date_time: String,
    request: TimedRequest,
}

#[derive(Deserialize)]
struct TimedRequest {
    method: String,
    url: String,
}

/// Reads the entries of a HAR file.
///
/// # Errors
/// If it is none: the line and the reason.
pub(crate) fn archive(text: &str) -> Result<Vec<LoggedRequest>, (u64, String)> {
    let archive: TimedArchive = serde_json::from_str(text).map_err(|error| {
        let line = error.line() as u64;
        (line, format!("it is no HAR file with times: {}", reason(&error)))
    })?;
    let of_entry = |TimedEntry { started_date_time: time, request }| LoggedRequest {
        time,
        request: Some((request.method, request.url)),
    };
    Ok(archive.log.entries.into_iter().map(of_entry).collect())
}
