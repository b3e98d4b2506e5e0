//! The file of `weir serve --routes`: a JSON object on each line.

use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_runner::read_text_input;
use weir_serve::{
    BrokenResponses, ContentCoding, EventData, EventStream, ExtraHeader, ParseError, Route,
    RouteBody, Routes,
};
use weir_text::units::parse_bytes;

use crate::terminal::shown;

/// Largest file in bytes: 64 MiB.
const FILE_MAX_BYTES: u64 = 64 << 20;

/// Body of broken responses, and that of routes with `json`. Neither contains `ok`, a usual pattern
/// of checks, which "broken" would match.
const BROKEN: [&str; 2] = ["wrong\n", "{\"wrong\":true}"];

/// Fields of a line.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RouteLine {
    path: String,
    method: Option<String>,
    status: Option<u16>,
    body: Option<String>,
    json: Option<Value>,
    size: Option<Size>,
    events: Option<EventFields>,
    content_type: Option<String>,
    encoding: Option<String>,
    #[serde(default)]
    headers: Map<String, Value>,
    delay: Option<String>,
    break_every: Option<u64>,
    break_status: Option<u16>,
    break_body: Option<String>,
}

/// Fields of `events`, with values as of the flags.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EventFields {
    count: u32,
    first: Option<String>,
    gap: Option<String>,
    data: Option<Value>,
    stall: Option<String>,
    cut: Option<String>,
}

/// Size of a body: `1000`, or `"10k"`.
#[derive(Deserialize)]
#[serde(untagged)]
enum Size {
    Bytes(u64),
    Text(String),
}

/// Reads a file of routes. Bodies are compressed here.
///
/// # Errors
/// When it cannot be read, or a line is no route; the message names file and line.
pub(super) fn read(path: &Path) -> Result<Routes> {
    let context = || format!("--routes {}", shown(path));
    let text = read_text_input("--routes", path, FILE_MAX_BYTES)?;
    parse(&text).with_context(context)
}

fn parse(text: &str) -> Result<Routes> {
    let mut routes = Routes::default();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let added = route(line).and_then(|route| Ok(routes.push(route)?));
        added.with_context(|| format!("line {number}"))?;
    }
    match routes.is_empty() {
        true => bail!("it has no routes: write one on each line, such as {EXAMPLE}"),
        false => Ok(routes),
    }
}

/// A line, for messages.
const EXAMPLE: &str = "{\"path\": \"/item/*\", \"size\": \"10k\"}";

fn route(line: &str) -> Result<Route> {
    let fields: RouteLine = serde_json::from_str(line).map_err(|error| reason(&error))?;
    let coding = fields.encoding.as_deref().map(str::parse::<ContentCoding>).transpose();
    Ok(Route {
        path: fields.path.parse().context("`path`")?,
        method: fields.method.clone(),
        status: fields.status,
        body: fields.body()?,
        events: fields.events.as_ref().map(EventFields::stream).transpose().context("`events`")?,
        coding: coding.context("`encoding`")?.unwrap_or_default(),
        delay: fields.delay.as_deref().map(str::parse).transpose().context("`delay`")?,
        headers: fields.headers().context("`headers`")?,
        broken: fields.broken()?,
    })
}

impl EventFields {
    fn stream(&self) -> Result<EventStream> {
        fn read<T: FromStr<Err = ParseError>>(
            name: &'static str,
            text: &Option<String>,
        ) -> Result<Option<T>> {
            text.as_deref().map(str::parse).transpose().context(name)
        }
        let data = match &self.data {
            None => EventData::default(),
            Some(Value::String(text)) => text.parse().context("`data`")?,
            Some(json) => EventData::Text(json.to_string()),
        };
        Ok(EventStream {
            events: self.count,
            first: read("`first`", &self.first)?.unwrap_or_default(),
            gap: read("`gap`", &self.gap)?.unwrap_or_default(),
            data,
            stall: read("`stall`", &self.stall)?,
            cut: read("`cut`", &self.cut)?,
        })
    }
}

impl RouteLine {
    fn body(&self) -> Result<Option<RouteBody>> {
        Ok(match (&self.body, &self.json, &self.size) {
            (None, None, None) => None,
            (Some(text), None, None) => Some(RouteBody::Text(text.clone())),
            (None, Some(json), None) => Some(RouteBody::Text(json.to_string())),
            (None, None, Some(Size::Bytes(bytes))) => Some(RouteBody::Size(*bytes)),
            (None, None, Some(Size::Text(text))) => {
                Some(RouteBody::Size(parse_bytes(text).context("`size`")?))
            }
            _ => bail!("it has more than one of `body`, `json` and `size`: leave out the others"),
        })
    }

    fn headers(&self) -> Result<Vec<ExtraHeader>> {
        let json = self.json.as_ref().map(|_| "application/json");
        let media_type = self.content_type.as_deref();
        let is_given = self.headers.keys().any(|name| name.eq_ignore_ascii_case("content-type"));
        if is_given && media_type.is_some() {
            bail!("Content-Type is there, and `content_type` too: leave out one");
        }
        let mut lines = Vec::new();
        if let Some(value) = media_type.or(json.filter(|_| !is_given)) {
            lines.push(format!("Content-Type: {value}"));
        }
        for (name, value) in &self.headers {
            let values = match value {
                Value::Array(values) => &values[..],
                value => std::slice::from_ref(value),
            };
            for value in values {
                match value {
                    Value::String(text) => lines.push(format!("{name}: {text}")),
                    Value::Number(number) => lines.push(format!("{name}: {number}")),
                    _ => bail!("the value of {name:?} is neither text nor a list of texts"),
                }
            }
        }
        Ok(lines.iter().map(|line| line.parse()).collect::<Result<_, _>>()?)
    }

    fn broken(&self) -> Result<Option<BrokenResponses>> {
        let Some(every) = self.break_every else {
            if self.break_status.is_some() || self.break_body.is_some() {
                bail!("`break_status` and `break_body` need `break_every`");
            }
            return Ok(None);
        };
        let body = self.break_body.as_deref().unwrap_or(BROKEN[usize::from(self.json.is_some())]);
        Ok(Some(BrokenResponses { every, status: self.break_status, body: body.to_owned() }))
    }
}

/// Returns serde's reason without its line, which is always 1.
fn reason(error: &serde_json::Error) -> anyhow::Error {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let column = error.column();
    text.strip_suffix(&place).map_or_else(
        || anyhow::Error::msg(text.clone()),
        |reason| anyhow::Error::msg(format!("{reason} in column {column}")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> Route {
        route(text).unwrap_or_else(|error| panic!("{text}: {error:#}"))
    }

    #[test]
    fn all_fields_are_read() {
        let read = line(
            r#"{"path": "/item/*", "method": "PUT", "status": 201, "body": "ü", "delay": "exp:2ms",
            "content_type": "text/html", "headers": {"A": ["1", 2], "B": "3"}, "encoding": "br",
            "break_every": 100, "break_status": 500, "break_body": "no"}"#,
        );
        let header = |text: &str| text.parse().expect("a header");
        let expected = Route {
            path: "/item/*".parse().expect("a path"),
            method: Some("PUT".to_owned()),
            status: Some(201),
            body: Some(RouteBody::Text("ü".to_owned())),
            events: None,
            coding: ContentCoding::Brotli,
            delay: Some("exp:2ms".parse().expect("a delay")),
            headers: ["Content-Type: text/html", "A: 1", "A: 2", "B: 3"].map(header).to_vec(),
            broken: Some(BrokenResponses { every: 100, status: Some(500), body: "no".to_owned() }),
        };
        assert_eq!(read, expected);
    }

    #[test]
    fn bodies_are_text_json_or_a_size() {
        let body = |text: &str| line(text).body;
        let text = |text: &str| Some(RouteBody::Text(text.to_owned()));
        assert_eq!(body(r#"{"path": "/"}"#), None);
        assert_eq!(body(r#"{"path": "/", "body": ""}"#), text(""));
        assert_eq!(body(r#"{"path": "/", "size": 7}"#), Some(RouteBody::Size(7)));
        assert_eq!(body(r#"{"path": "/", "size": "1Ki"}"#), Some(RouteBody::Size(1024)));
        let json = line(r#"{"path": "/", "json": {"a": [1, "ü"]}, "break_every": 2}"#);
        assert_eq!(json.body, text(r#"{"a":[1,"ü"]}"#));
        assert_eq!(json.headers, ["Content-Type: application/json".parse().expect("a header")]);
        assert_eq!(json.broken.expect("it is given").body, r#"{"wrong":true}"#);
        let own = line(r#"{"path": "/", "json": 1, "content_type": "application/problem+json"}"#);
        assert_eq!(own.headers[0].value, "application/problem+json");
        let given = line(r#"{"path": "/", "json": 1, "headers": {"content-type": "a/b"}}"#);
        assert_eq!(given.headers.len(), 1);
    }

    #[test]
    fn events_are_read() {
        let read = line(
            r#"{"path": "/chat", "events": {"count": 50, "first": "exp:200ms", "gap": "20ms",
            "data": "tokens", "stall": "1/10@20+1s", "cut": "1/100@25"}}"#,
        );
        let expected = EventStream {
            first: "exp:200ms".parse().expect("a delay"),
            gap: "20ms".parse().expect("a delay"),
            data: EventData::Tokens,
            stall: "1/10@20+1s".parse().ok(),
            cut: "1/100@25".parse().ok(),
            ..EventStream::of(50)
        };
        assert_eq!(read.events, Some(expected));
        let json = line(r#"{"path": "/", "events": {"count": 1, "data": {"a": [1]}}}"#);
        let data = EventData::Text(r#"{"a":[1]}"#.to_owned());
        assert_eq!(json.events, Some(EventStream { data, ..EventStream::of(1) }));
    }

    #[test]
    fn errors_name_the_line_the_field_and_the_remedy() {
        for (text, part) in [
            ("", "it has no routes: write one on each line"),
            ("# none\n\n", "it has no routes"),
            ("{\"path\": \"/\"}\nGET /", "line 2: expected value in column 1"),
            ("{\"paths\": \"/\"}", "line 1: unknown field `paths`"),
            ("{\"size\": 1}", "line 1: missing field `path`"),
            ("{\"path\": \"a\"}", "line 1: `path`: `a` is no path: write /cart"),
            ("{\"path\": \"/\", \"status\": 99}", "line 1: 99 is no final status: use 200 to 599"),
            ("{\"path\": \"/\", \"status\": 70000}", "line 1: invalid value"),
            ("{\"path\": \"/\", \"size\": \"2Gi\"}", "1 GiB is the most"),
            ("{\"path\": \"/\", \"size\": \"big\"}", "line 1: `size`:"),
            ("{\"path\": \"/\", \"size\": 1, \"body\": \"\"}", "more than one of"),
            ("{\"path\": \"/\", \"delay\": \"soon\"}", "`delay`: `soon` is not a delay"),
            ("{\"path\": \"/\", \"encoding\": \"zip\"}", "choose one of identity, gzip"),
            ("{\"path\": \"/\", \"encoding\": \"gzip\"}", "needs a body"),
            ("{\"path\": \"/\", \"events\": {}}", "missing field `count`"),
            ("{\"path\": \"/\", \"events\": {\"count\": 0}}", "line 1: a stream has 1 to"),
            (
                "{\"path\": \"/\", \"events\": {\"count\": 2, \"cut\": \"1/2\"}}",
                "`events`: `cut`: `1/2` is not of the form 1/N@K",
            ),
            ("{\"path\": \"/\", \"size\": 1, \"events\": {\"count\": 2}}", "events and a body"),
            ("{\"path\": \"/\", \"break_status\": 500}", "need `break_every`"),
            ("{\"path\": \"/\", \"headers\": {\"A\": null}}", "\"A\" is neither"),
            ("{\"path\": \"/\", \"headers\": {\"A\": \"b\\r\\nC: d\"}}", "is not a header"),
            (
                r#"{"path": "/", "content_type": "a", "headers": {"content-type": "b"}}"#,
                "leave out one",
            ),
        ] {
            let error = format!("{:#}", parse(text).expect_err(text));
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
