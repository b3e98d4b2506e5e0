//! The requests of JSON with times: an object on each line, and HAR's `startedDateTime`.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::list::RowError;
use crate::list::access_log::method_and_target;
use crate::list::har::parsed;
use crate::list::json_lines::reason;

/// Fields of a line with its time, its method and its target, in the order of preference. The time
/// of Traefik's `time` is that of its line.
const TIMES: [&str; 10] = [
    "StartUTC",
    "StartLocal",
    "start_time",
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "msec",
    "time_iso8601",
    "time_local",
];
const METHODS: [&str; 4] = ["method", "request_method", "RequestMethod", "requestMethod"];
const TARGETS: [&str; 7] =
    ["url", "request_uri", "uri", "RequestPath", "requestUrl", "requestURI", "path"];

/// Fields with a request: its line, or an object with method and target, as Caddy writes it.
const REQUESTS: [&str; 2] = ["request", "httpRequest"];

/// Remedy for an object that lacks a field.
const RENAME: &str = "name it so, as with jq -c '{time: .t, method: .m, url: .u}' LOG";

/// A request with its time, as texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LoggedRequest {
    /// Time.
    pub(super) time: String,
    /// Method and target; `None` if there is no request.
    pub(super) request: Option<(String, String)>,
}

/// Reads the object of a line. Fields that a replay does not use may be there too.
///
/// # Errors
/// If it is no object, or has no time or no request; the text is the reason.
pub(super) fn line(text: &str) -> Result<LoggedRequest, String> {
    let object: Map<String, Value> = serde_json::from_str(text).map_err(|error| reason(&error))?;
    let time = first(&object, &TIMES)
        .ok_or_else(|| format!("it has no time in `time`, `timestamp` or `ts`: {RENAME}"))?;
    let (field, fields) = match REQUESTS.iter().find_map(|name| Some((name, object.get(*name)?))) {
        Some((_, Value::String(line))) => {
            let split = method_and_target(line);
            let request = split.map(|(method, target)| (method.to_owned(), target.to_owned()));
            return Ok(LoggedRequest { time, request });
        }
        Some((name, Value::Object(request))) => (format!("in its object `{name}`"), request),
        _ => ("`request`".to_owned(), &object),
    };
    let target = first(fields, &TARGETS).ok_or_else(|| {
        format!("it has no target in `url`, `uri` or `path`, nor {field}: {RENAME}")
    })?;
    let method = first(fields, &METHODS).unwrap_or_else(|| "GET".to_owned());
    Ok(LoggedRequest { time, request: Some((method, target)) })
}

/// Returns the text of the first field of these names that has a value.
fn first(object: &Map<String, Value>, names: &[&str]) -> Option<String> {
    let mut values = names.iter().filter_map(|name| object.get(*name));
    values.find_map(text_of)
}

/// Returns the text of a text or a number. The shortest form of a float has the digits that were
/// written.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
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
/// If it is none, or an entry lacks its time or request.
pub(super) fn archive(text: &str) -> Result<Vec<LoggedRequest>, RowError> {
    let archive: TimedArchive = parsed(text)?;
    let of_entry = |TimedEntry { started_date_time: time, request }| LoggedRequest {
        time,
        request: Some((request.method, request.url)),
    };
    Ok(archive.log.entries.into_iter().map(of_entry).collect())
}
