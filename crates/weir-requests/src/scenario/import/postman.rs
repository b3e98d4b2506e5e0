//! Collections of Postman, v2.0 and v2.1. Their scripts are not run.

use std::collections::HashMap;

use serde_json::{Map, Value};

use weir_text::setting::ALLOW_LOCAL;

use crate::list::{
    FormPart, PartContent, Position, Row, RowBody, RowError, boundary, multipart_body,
    percent_encoded,
};
use crate::scenario::import::json_text;
use crate::scenario::import::origin::with_origin;
use crate::scenario::import::recorded::{RecordedEntry, RecordedFile};
use crate::scenario::import::template_text::{
    BRACES, VariableValue, between_fields, expand, has_field,
};
use crate::scenario::import::variables::{dynamic, unknown};
use crate::scenario::import::words;

/// Greatest depth of folders.
const DEPTH_MAX: usize = 32;

/// Reads a collection. URLs that begin with a variable without a value are those of `origin`.
///
/// # Errors
/// If it is none, or a request cannot be read; the error names the request.
pub(super) fn read(text: &str, origin: Option<&str>) -> Result<RecordedFile, RowError> {
    let failed = |text: String| RowError::new(Position::Whole, text);
    let document: Value = serde_json::from_str(text).map_err(|error| {
        let line = error.line() as u64;
        let place = if line == 0 { Position::Whole } else { Position::Line(line) };
        RowError::new(place, format!("it is no Postman collection: {error}"))
    })?;
    // Postman's API wraps it.
    let collection = document.get("collection").unwrap_or(&document);
    let Some(items) = collection.get("item").and_then(Value::as_array) else {
        let why = match collection.get("requests") {
            Some(_) => "it is a Postman collection of version 1: export it as v2.1",
            None => "it is no Postman collection: it has no array `item`",
        };
        return Err(failed(why.to_owned()));
    };
    let mut reader = CollectionReader {
        origin,
        file: RecordedFile::default(),
        requests: 0,
        scripts: count_scripts(collection),
    };
    let scope = Scope::default().below(collection);
    reader.items(items, &scope, 0)?;
    let CollectionReader { mut file, scripts, .. } = reader;
    if scripts > 0 {
        file.notes.push(format!(
            "{} of the collection {} not run: values that scripts set are missing",
            words::counted(scripts, "script"),
            if scripts == 1 { "is" } else { "are" }
        ));
    }
    Ok(file)
}

/// Returns the number of scripts of an item itself, without those of items in it.
fn count_scripts(item: &Value) -> u64 {
    let events = item.get("event").and_then(Value::as_array);
    let has_text = |event: &&Value| {
        let text = match event.pointer("/script/exec") {
            Some(Value::Array(lines)) => lines.iter().filter_map(Value::as_str).collect(),
            Some(Value::String(text)) => text.clone(),
            _ => String::new(),
        };
        !text.trim().is_empty()
    };
    events.map_or(0, |events| events.iter().filter(has_text).count() as u64)
}

/// The variables and the authentication that requests of a folder have in common.
#[derive(Clone, Debug, Default)]
struct Scope {
    variables: HashMap<String, String>,
    auth: Option<Value>,
}

impl Scope {
    /// Returns the scope of what is in an item.
    fn below(&self, item: &Value) -> Scope {
        let mut scope = self.clone();
        for variable in enabled(item.get("variable")) {
            let name = text(variable.get("key")).or_else(|| text(variable.get("id")));
            if let (Some(name), Some(value)) = (name, text(variable.get("value"))) {
                scope.variables.insert(name, value);
            }
        }
        if let Some(auth) = item.get("auth").filter(|auth| auth.is_object()) {
            scope.auth = Some(auth.clone());
        }
        scope
    }
}

/// Returns the objects of an array, without those that are switched off.
fn enabled(values: Option<&Value>) -> impl Iterator<Item = &Map<String, Value>> {
    let objects = values.and_then(Value::as_array).into_iter().flatten();
    let objects = objects.filter_map(Value::as_object);
    objects.filter(|object| object.get("disabled") != Some(&Value::Bool(true)))
}

/// Returns a text, or a number or a boolean as one.
fn text(value: Option<&Value>) -> Option<String> {
    match value? {
        Value::String(text) => Some(text.clone()),
        value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
        _ => None,
    }
}

struct CollectionReader<'t> {
    origin: Option<&'t str>,
    file: RecordedFile,
    requests: u64,
    scripts: u64,
}

impl CollectionReader<'_> {
    fn items(&mut self, items: &[Value], scope: &Scope, depth: usize) -> Result<(), RowError> {
        for item in items {
            self.scripts += count_scripts(item);
            let scope = scope.below(item);
            match item.get("item").and_then(Value::as_array) {
                Some(_) if depth == DEPTH_MAX => {
                    let text = format!("its folders are deeper than {DEPTH_MAX}");
                    return Err(RowError::new(Position::Whole, text));
                }
                Some(items) => self.items(items, &scope, depth + 1)?,
                None => self.item(item, scope)?,
            }
        }
        Ok(())
    }

    fn item(&mut self, item: &Value, mut scope: Scope) -> Result<(), RowError> {
        self.requests += 1;
        let position = Position::Entry(self.requests);
        let name = text(item.get("name"));
        let failed = |reason: String| {
            let name = name.as_deref().map(weir_text::brief).unwrap_or_default();
            RowError::new(position, format!("{name:?}: {reason}"))
        };
        let request = match item.get("request") {
            Some(Value::String(url)) => &serde_json::json!({ "url": url }),
            Some(request @ Value::Object(_)) => request,
            _ => return Err(failed("it has no `request`".to_owned())),
        };
        if let Some(auth) = request.get("auth").filter(|auth| auth.is_object()) {
            scope.auth = Some(auth.clone());
        }
        let mut of_request =
            RequestReader { request, scope: &scope, secrets: Vec::new(), remarks: Vec::new() };
        let row = of_request.row(position, self.origin).map_err(failed)?;
        let RequestReader { secrets, remarks, .. } = of_request;
        let entry = RecordedEntry { secrets, remarks, ..RecordedEntry::written(name, row) };
        self.file.entries.push(entry);
        Ok(())
    }
}

struct RequestReader<'r> {
    request: &'r Value,
    scope: &'r Scope,
    /// Values that are secrets, whatever their names.
    secrets: Vec<String>,
    remarks: Vec<String>,
}

impl RequestReader<'_> {
    /// Returns a text with fields for the variables that have no value.
    fn expand(&mut self, text: &str) -> Result<String, String> {
        let variables = &self.scope.variables;
        expand(text, &mut |name| match variables.get(name) {
            Some(value) => VariableValue::Text(value.clone()),
            None => dynamic(name).unwrap_or_else(|| unknown(name)),
        })
    }

    /// Returns the text of an object's member, with its variables.
    fn member(&mut self, object: &Map<String, Value>, name: &str) -> Result<String, String> {
        let text = text(object.get(name)).unwrap_or_default();
        self.expand(&text).map_err(|error| format!("`{name}`: {error}"))
    }

    fn row(&mut self, position: Position, origin: Option<&str>) -> Result<Row, String> {
        let url = self.url().map_err(|error| format!("`url`: {error}"))?;
        let url = with_origin(&url, origin)?;
        let method = text(self.request.get("method")).filter(|method| !method.is_empty());
        let mut row = Row { method, ..Row::new(position, &url) };
        row.headers = self.headers()?;
        self.add_auth(&mut row)?;
        if let Some(body) = self.request.get("body").and_then(Value::as_object) {
            let is_off = body.get("disabled") == Some(&Value::Bool(true));
            let body = if is_off { None } else { self.body(body)? };
            let is_type = |name: &str| name.eq_ignore_ascii_case("content-type");
            if let Some((content, media_type)) = body {
                row.body = Some(content);
                if !row.headers.iter().any(|(name, _)| is_type(name)) && !media_type.is_empty() {
                    row.headers.push(("Content-Type".to_owned(), media_type));
                }
            }
        }
        Ok(row)
    }

    /// Returns the URL: that of its parts, or as it was written.
    fn url(&mut self) -> Result<String, String> {
        let url = match self.request.get("url") {
            Some(Value::String(url)) => return self.expand(url),
            Some(Value::Object(url)) => url,
            _ => return Err("it is missing".to_owned()),
        };
        let joined = |value: Option<&Value>, separator: &str| match value {
            Some(Value::Array(parts)) => {
                // Segments may be objects with a value.
                let parts = parts
                    .iter()
                    .filter_map(|part| text(Some(part)).or_else(|| text(part.get("value"))));
                parts.collect::<Vec<_>>().join(separator)
            }
            value => text(value).unwrap_or_default(),
        };
        let host = joined(url.get("host"), ".");
        if host.is_empty() {
            let raw = text(url.get("raw")).ok_or("it has neither `host` nor `raw`")?;
            return self.expand(&raw);
        }
        let path = joined(url.get("path"), "/");
        let segments = path.trim_start_matches('/').split('/');
        let segments: Vec<String> = segments.map(|it| path_variable(url, it)).collect();
        let scheme = text(url.get("protocol")).map(|it| it.trim_end_matches("://").to_owned());
        let scheme = scheme.map(|scheme| format!("{scheme}://")).unwrap_or_default();
        let port = text(url.get("port")).filter(|port| !port.is_empty());
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let mut whole = self.expand(&format!("{scheme}{host}{port}/{}", segments.join("/")))?;
        let mut sign = if whole.contains('?') { '&' } else { '?' };
        for parameter in enabled(url.get("query")) {
            let name = self.member(parameter, "key")?;
            whole.push(sign);
            whole += &escaped(&name);
            // Null is a parameter without an equals sign.
            if parameter.get("value").is_some_and(|value| !value.is_null()) {
                let value = self.member(parameter, "value")?;
                whole += &format!("={}", escaped(&value));
            }
            sign = '&';
        }
        Ok(whole)
    }

    fn headers(&mut self) -> Result<Vec<(String, String)>, String> {
        let mut headers = Vec::new();
        if let Some(Value::String(lines)) = self.request.get("header") {
            let lines = lines.lines().filter_map(|line| line.split_once(':'));
            for (name, value) in lines {
                headers.push((name.trim().to_owned(), self.expand(value.trim())?));
            }
        }
        let request = self.request;
        for header in enabled(request.get("header")) {
            let name = self.member(header, "key")?;
            let value = self.member(header, "value")?;
            headers.push((name.trim().to_owned(), value));
        }
        Ok(headers)
    }

    /// Adds the authentication of the request, or of what it is in.
    fn add_auth(&mut self, row: &mut Row) -> Result<(), String> {
        let Some(auth) = &self.scope.auth else { return Ok(()) };
        let kind = text(auth.get("type")).unwrap_or_default();
        let setting = |name: &str| match auth.get(&kind) {
            Some(Value::Array(all)) => {
                let mut all = all.iter();
                let found = all.find(|one| one.get("key").and_then(Value::as_str) == Some(name));
                text(found.and_then(|one| one.get("value"))).unwrap_or_default()
            }
            Some(Value::Object(all)) => text(all.get(name)).unwrap_or_default(),
            _ => String::new(),
        };
        let is_own = |name: &str| row.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        match kind.as_str() {
            "" | "noauth" => {}
            "bearer" if !is_own("authorization") => {
                let token = self.expand(&setting("token"))?;
                row.headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
            }
            "basic" if !is_own("authorization") => {
                let user = self.expand(&setting("username"))?;
                let password = self.expand(&setting("password"))?;
                match has_field(&user) || has_field(&password) {
                    // Fields cannot be encoded in base64.
                    true => {
                        let value = "Basic {{env:BASIC_CREDENTIALS}}".to_owned();
                        row.headers.push(("Authorization".to_owned(), value));
                        self.remarks.push(format!(
                            "the header Authorization is {{{{env:BASIC_CREDENTIALS}}}}, which is \
                             USER:PASSWORD in base64: set BASIC_CREDENTIALS and give {ALLOW_LOCAL}"
                        ));
                    }
                    false => row.basic_auth = Some(format!("{user}:{password}")),
                }
            }
            "apikey" => {
                let name = self.expand(&setting("key"))?;
                let value = self.expand(&setting("value"))?;
                self.secrets.push(value.clone());
                if setting("in") == "query" {
                    let sign = if row.target.contains('?') { '&' } else { '?' };
                    row.target += &format!("{sign}{}={}", escaped(&name), escaped(&value));
                } else if !name.is_empty() && !is_own(&name) {
                    row.headers.push((name, value));
                }
            }
            "bearer" | "basic" => {}
            kind => {
                let kind = weir_text::brief(kind);
                self.remarks.push(format!("its authentication {kind} was left out"));
            }
        }
        Ok(())
    }

    /// Returns the body and its media type; `None` without one.
    fn body(&mut self, body: &Map<String, Value>) -> Result<Option<(RowBody, String)>, String> {
        let of = |text: String, media_type: &str| {
            Ok(Some((RowBody::Bytes(text.into_bytes()), media_type.to_owned())))
        };
        match text(body.get("mode")).unwrap_or_default().as_str() {
            "raw" => {
                let raw = self.member(body, "raw")?;
                let language = body.get("options").and_then(|it| it.pointer("/raw/language"));
                let media_type = match text(language).as_deref() {
                    Some("json") => "application/json",
                    Some("xml") => "application/xml",
                    Some("html") => "text/html",
                    Some("javascript") => "application/javascript",
                    _ => "text/plain",
                };
                if raw.is_empty() { Ok(None) } else { of(raw, media_type) }
            }
            "urlencoded" => {
                let mut pairs = Vec::new();
                for field in enabled(body.get("urlencoded")) {
                    let name = self.member(field, "key")?;
                    let value = self.member(field, "value")?;
                    pairs.push(format!("{}={}", encoded(&name), encoded(&value)));
                }
                match pairs.is_empty() {
                    true => Ok(None),
                    false => of(pairs.join("&"), "application/x-www-form-urlencoded"),
                }
            }
            "graphql" => {
                let Some(graphql) = body.get("graphql").and_then(Value::as_object) else {
                    return Ok(None);
                };
                let query = self.member(graphql, "query")?;
                let variables = match graphql.get("variables") {
                    Some(variables @ Value::Object(_)) => self.expand(&variables.to_string())?,
                    _ => self.member(graphql, "variables")?,
                };
                of(json_text::graphql(&query, &variables), "application/json")
            }
            "formdata" => self.form_data(body),
            "file" => {
                let file = body.get("file").and_then(|file| text(file.get("src")));
                Ok(file.map(|path| (RowBody::FileBeside(path), String::new())))
            }
            "" => Ok(None),
            mode => Err(format!("`body.mode` is {:?}, which is unknown", weir_text::brief(mode))),
        }
    }

    fn form_data(
        &mut self,
        body: &Map<String, Value>,
    ) -> Result<Option<(RowBody, String)>, String> {
        let mut parts = Vec::new();
        for field in enabled(body.get("formdata")) {
            let name = self.member(field, "key")?;
            if text(field.get("type")).as_deref() == Some("file") {
                let text = "its body is a form with files, which scenarios do not have; it was \
                            left out";
                self.remarks.push(text.to_owned());
                return Ok(None);
            }
            parts.push(FormPart::field(name, self.member(field, "value")?));
        }
        if parts.is_empty() {
            return Ok(None);
        }
        let boundary = boundary(&parts);
        let contents = parts.iter().map(|part| match &part.content {
            PartContent::Bytes(bytes) => (part, bytes.as_slice()),
            PartContent::File(_) => (part, &[][..]),
        });
        let bytes = multipart_body(&boundary, contents)?;
        let media_type = format!("multipart/form-data; boundary={boundary}");
        Ok(Some((RowBody::Bytes(bytes), media_type)))
    }
}

/// Returns a segment of a path, with the value of the variable that it is: `:id`.
fn path_variable(url: &Map<String, Value>, segment: &str) -> String {
    let Some(name) = segment.strip_prefix(':') else { return segment.to_owned() };
    let mut variables = enabled(url.get("variable"));
    let found = variables.find(|one| text(one.get("key")).as_deref() == Some(name));
    found.and_then(|one| text(one.get("value"))).unwrap_or_else(|| segment.to_owned())
}

/// Returns a part of a query, encoded where it cannot stand in one.
fn escaped(part: &str) -> String {
    let escape = |text: &str| {
        let is_special = |c: char| c.is_whitespace() || "&#+".contains(c);
        let escaped = text.chars().map(|c| match is_special(c) {
            true => percent_encoded(c.to_string().as_bytes()),
            false => c.to_string(),
        });
        Some(escaped.collect::<String>())
    };
    between_fields(part, escape).unwrap_or_default()
}

/// Returns a name or a value of a form, encoded.
fn encoded(part: &str) -> String {
    let encode = |text: &str| Some(percent_encoded(text.replace(BRACES, "{{").as_bytes()));
    between_fields(part, encode).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the row of a collection's only request.
    fn row(request: Value) -> Row {
        let variables = serde_json::json!([{"key": "base", "value": "https://h:8443/v1"}]);
        let item = serde_json::json!([{"name": "one", "request": request}]);
        let text = serde_json::json!({"item": item, "variable": variables}).to_string();
        let mut file = read(&text, None).unwrap_or_else(|error| panic!("{text}: {error}"));
        file.entries.remove(0).row.expect("a row")
    }

    #[test]
    fn urls_are_made_of_their_parts() {
        for (url, expected) in [
            (serde_json::json!("{{base}}/a?b=1"), "https://h:8443/v1/a?b=1"),
            (serde_json::json!({"raw": "{{base}}/raw"}), "https://h:8443/v1/raw"),
            (
                serde_json::json!({"protocol": "https", "host": ["a", "b"], "port": "81",
                    "path": ["x", {"value": "y"}, ":id", ":no"],
                    "query": [{"key": "q", "value": "1&2"}, {"key": "empty", "value": null},
                        {"key": "off", "value": "1", "disabled": true}],
                    "variable": [{"key": "id", "value": "7"}]}),
                "https://a.b:81/x/y/7/:no?q=1%262&empty",
            ),
            (serde_json::json!({"host": "{{base}}", "path": "/a/b"}), "https://h:8443/v1/a/b"),
        ] {
            assert_eq!(row(serde_json::json!({ "url": url })).target, expected);
        }
    }

    #[test]
    fn bodies_and_authentication_are_those_of_their_kinds() {
        let url = "http://h/";
        let auth =
            serde_json::json!({"type": "basic", "basic": {"username": "me", "password": "p"}});
        let found =
            row(serde_json::json!({"url": url, "auth": auth, "header": "A: b\nC: {{base}}"}));
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found.basic_auth.as_deref(), Some("me:p"));
        assert_eq!(found.headers, [header("A", "b"), header("C", "https://h:8443/v1")]);
        let auth = serde_json::json!({"type": "apikey", "apikey": [
            {"key": "key", "value": "k"}, {"key": "value", "value": "v w"},
            {"key": "in", "value": "query"}]});
        assert_eq!(row(serde_json::json!({"url": url, "auth": auth})).target, "http://h/?k=v%20w");
        let body =
            serde_json::json!({"mode": "formdata", "formdata": [{"key": "a", "value": "1"}]});
        let found = row(serde_json::json!({"url": url, "method": "POST", "body": body}));
        assert!(found.headers[0].1.starts_with("multipart/form-data; boundary="), "{found:?}");
        let body = serde_json::json!({"mode": "raw", "raw": "x", "disabled": true});
        assert_eq!(row(serde_json::json!({"url": url, "body": body})).body, None);
    }

    #[test]
    fn errors_name_the_request_and_the_field() {
        let check = |text: &str, part: &str| {
            let error = read(text, None).expect_err(text).to_string();
            assert!(error.contains(part), "{text}: {error}");
        };
        check("{", "line 1: it is no Postman collection");
        check("{}", "it has no array `item`");
        check(r#"{"item": [{"name": "a"}]}"#, "entry 1: \"a\": it has no `request`");
        check(r#"{"item": [{"request": {}}]}"#, "entry 1: \"\": `url`: it is missing");
        check(r#"{"item": [{"request": "{{host}}/a"}]}"#, "begins with the variable host");
        let body = r#"{"url": "http://h/", "body": {"mode": "x"}}"#;
        check(&format!(r#"{{"item": [{{"request": {body}}}]}}"#), "`body.mode` is \"x\"");
        let deep = format!("{}{}", "{\"item\": [".repeat(60), "]}".repeat(60));
        check(&deep, "deeper than 32");
    }
}
