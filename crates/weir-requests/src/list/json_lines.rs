//! A JSON object on each line, with weir's fields.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::list::lines::NumberedLine;
use crate::list::{Row, RowBody, RowError, SessionTurn, message};

/// Greatest weight of a row.
const WEIGHT_MAX: u32 = 1_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JsonRow {
    url: Option<String>,
    method: Option<String>,
    /// Values by name; several of a name are an array.
    #[serde(default)]
    headers: Map<String, Value>,
    body: Option<String>,
    body_base64: Option<String>,
    body_file: Option<String>,
    name: Option<String>,
    weight: Option<u32>,
    expect: Option<Expect>,
    #[serde(alias = "session_id")]
    session: Option<Value>,
    message: Option<Value>,
    think: Option<String>,
    capture: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Expect {
    One(String),
    Several(Vec<String>),
}

/// Returns the row of a line.
///
/// # Errors
/// If it is no such object.
pub(super) fn row(line: &NumberedLine) -> Result<Row, RowError> {
    let failed = |text: String| RowError::new(line.number, text);
    let fields: JsonRow =
        serde_json::from_str(&line.text).map_err(|error| failed(reason(&error)))?;
    let headers = fields.headers.iter().map(|(name, value)| values(name, value));
    let headers = headers.collect::<Result<Vec<_>, String>>().map_err(failed)?;
    let weight = fields.weight.unwrap_or(1);
    if !(1..=WEIGHT_MAX).contains(&weight) {
        return Err(failed(format!("`weight` is {weight}; give 1 to {WEIGHT_MAX}")));
    }
    let turn = turn(&fields).map_err(failed)?;
    let message = fields.message.as_ref().map(messages).transpose();
    let message = message.map_err(|why| failed(format!("`message` {why}")))?;
    let url = match (fields.url, &turn) {
        (Some(url), _) => url,
        // That of the command line.
        (None, Some(_)) => String::new(),
        (None, None) => return Err(failed("missing field `url`".to_owned())),
    };
    let name = fields.name.filter(|name| !name.is_empty());
    let expect = match fields.expect {
        None => Vec::new(),
        Some(Expect::One(text)) => vec![text],
        Some(Expect::Several(texts)) => texts,
    };
    Ok(Row {
        method: fields.method,
        headers: headers.into_iter().flatten().collect(),
        body: body(fields.body, fields.body_base64, fields.body_file).map_err(failed)?,
        name,
        weight,
        expect,
        message,
        turn: turn.map(Box::new),
        ..Row::new(line.number, url.trim())
    })
}

/// Returns the messages of a value: a text of the user, an object with the texts `role` and
/// `content`, or several of these.
fn messages(value: &Value) -> Result<String, String> {
    const EXPECTED: &str =
        "must be a text, or an object with `role` and `content`, or a list of these";
    let one = |value: &Value| match (value, &value["role"], &value["content"]) {
        (Value::String(text), ..) => Ok(message("user", text)),
        (_, Value::String(role), Value::String(content)) => Ok(message(role, content)),
        _ => Err(EXPECTED.to_owned()),
    };
    match value {
        Value::Array(values) if !values.is_empty() => {
            Ok(values.iter().map(one).collect::<Result<Vec<_>, _>>()?.join(","))
        }
        _ => one(value),
    }
}

/// Returns the part of a row that makes it the turn of a session; `None` if nothing does.
fn turn(fields: &JsonRow) -> Result<Option<SessionTurn>, String> {
    let JsonRow { session, message, think, capture, .. } = fields;
    let session = match session {
        Some(Value::String(id)) if !id.is_empty() => id.clone(),
        Some(Value::Number(id)) => id.to_string(),
        Some(_) => return Err("`session` must be a text or a number".to_owned()),
        None => {
            let given = [
                ("message", message.is_some()),
                ("think", think.is_some()),
                ("capture", capture.is_some()),
            ];
            return match given.into_iter().find(|(_, is_given)| *is_given) {
                None => Ok(None),
                Some((name, _)) => {
                    Err(format!("`{name}` is part of a session: give the row a `session` too"))
                }
            };
        }
    };
    let source = |(name, source): (&String, &Value)| match source {
        Value::String(source) => Ok((name.clone(), source.clone())),
        _ => Err(format!("`capture` {name:?} is no text")),
    };
    let captures = capture.iter().flatten().map(source).collect::<Result<_, _>>()?;
    Ok(Some(SessionTurn { session, think: think.clone(), captures }))
}

/// Returns the fields of a header's name.
fn values(name: &str, value: &Value) -> Result<Vec<(String, String)>, String> {
    let text = |value: &Value| match value {
        Value::String(text) => Ok((name.to_owned(), text.clone())),
        Value::Number(number) => Ok((name.to_owned(), number.to_string())),
        _ => Err(format!("the value of the header {name:?} is neither text nor a list of texts")),
    };
    match value {
        Value::Array(values) => values.iter().map(text).collect(),
        value => Ok(vec![text(value)?]),
    }
}

fn body(
    text: Option<String>,
    base64: Option<String>,
    file: Option<String>,
) -> Result<Option<RowBody>, String> {
    match (text, base64, file) {
        (None, None, None) => Ok(None),
        (Some(text), None, None) => Ok(Some(RowBody::Bytes(text.into_bytes()))),
        (None, Some(base64), None) => {
            decoded(&base64).map(Some).map_err(|why| format!("`body_base64` {why}"))
        }
        (None, None, Some(file)) => Ok(Some(RowBody::File(file))),
        _ => Err("it has more than one of `body`, `body_base64` and `body_file`".to_owned()),
    }
}

/// Decodes a body in base64.
pub(crate) fn decoded(base64: &str) -> Result<RowBody, String> {
    let bytes = STANDARD.decode(base64);
    bytes.map(RowBody::Bytes).map_err(|error| format!("is not base64: {error}"))
}

/// Returns serde's reason without its place: the line is that of the list.
pub(super) fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(reason) => format!("{reason} in column {}", error.column()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Row, RowError> {
        row(&NumberedLine { number: 7, text: text.to_owned() })
    }

    #[test]
    fn fields_become_a_row() {
        let text = r#"{"method": "POST", "url": " /cart ", "headers": {"A": "1", "B": ["2", 3]},
            "body": "{\"ü\": 1}", "name": "cart", "weight": 3, "expect": "status=201"}"#;
        let row = read(text).expect("a row");
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let expected = Row {
            method: Some("POST".to_owned()),
            headers: vec![header("A", "1"), header("B", "2"), header("B", "3")],
            body: Some(RowBody::Bytes("{\"ü\": 1}".as_bytes().to_vec())),
            name: Some("cart".to_owned()),
            weight: 3,
            expect: vec!["status=201".to_owned()],
            ..Row::new(7, "/cart")
        };
        assert_eq!(row, expected);
        assert_eq!(read(r#"{"url": "/"}"#), Ok(Row::new(7, "/")));
        let bytes = read(r#"{"url": "/", "body_base64": "AP8="}"#).expect("a row").body;
        assert_eq!(bytes, Some(RowBody::Bytes(vec![0, 255])));
        let file = read(r#"{"url": "/", "body_file": "a.json"}"#).expect("a row").body;
        assert_eq!(file, Some(RowBody::File("a.json".to_owned())));
        let several = read(r#"{"url": "/", "expect": ["status=200", "same"]}"#).expect("a row");
        assert_eq!(several.expect, ["status=200", "same"]);
    }

    #[test]
    fn messages_are_texts_or_have_a_role() {
        let of = |value: &str| {
            let row = read(&format!(r#"{{"session": 1, "message": {value}}}"#));
            row.map(|row| row.message.expect("a message")).map_err(|error| error.text)
        };
        let user = r#"{"role":"user","content":"\"Hi\" {{csv:a}}"}"#;
        assert_eq!(of(r#""\"Hi\" {{csv:a}}""#).as_deref(), Ok(user));
        let both = r#"[{"content": "x", "role": "system"}, "\"Hi\" {{csv:a}}"]"#;
        assert_eq!(of(both), Ok(format!(r#"{{"role":"system","content":"x"}},{user}"#)));
        for value in ["1", "[]", "{\"role\": \"user\"}", "[[\"a\"]]"] {
            assert!(of(value).is_err_and(|why| why.contains("must be a text")), "{value}");
        }
    }

    #[test]
    fn errors_name_the_line_and_the_field() {
        let check = |text: &str, part: &str| {
            let error = read(text).expect_err("no row");
            assert_eq!(error.position, 7.into());
            assert!(error.text.contains(part), "{text}: {}", error.text);
        };
        check(r#"{"method": "GET"}"#, "missing field `url`");
        check(r#"{"url": "/", "header": {}}"#, "unknown field `header`");
        check(r#"{"url": "/", "weight": 0}"#, "`weight` is 0");
        check(r#"{"url": "/", "weight": 1.5}"#, "floating point");
        check(r#"{"url": "/", "headers": {"A": null}}"#, "\"A\" is neither");
        check(r#"{"url": "/", "body": "a", "body_file": "b"}"#, "more than one");
        check(r#"{"url": "/", "body_base64": "?"}"#, "base64");
        check("{\"url\": \"/\"", "in column");
    }
}
