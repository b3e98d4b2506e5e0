//! `.http` files of VS Code's REST Client and of JetBrains. Their scripts are not run.

use std::collections::HashMap;

use crate::list::{Row, RowBody, RowError};
use crate::scenario::import::http_reference::ResponseReference;
use crate::scenario::import::http_requests::{self, GRAPHQL_HEADER, HttpRequest};
use crate::scenario::import::json_text;
use crate::scenario::import::origin::{UrlParts, with_origin};
use crate::scenario::import::recorded::{RecordedEntry, RecordedFile, StepCapture};
use crate::scenario::import::template_text::{VariableValue, expand, has_field};
use crate::scenario::import::variables::{dynamic, unknown};
use crate::scenario::import::words;

/// Reads a file. URLs that begin with a variable without a value are those of `origin`.
///
/// # Errors
/// If a request cannot be read; the error names its line.
pub(super) fn read(text: &str, origin: Option<&str>) -> Result<RecordedFile, RowError> {
    let written = http_requests::read(text)?;
    let mut reader =
        HttpFileReader { variables: &written.variables, file: RecordedFile::default() };
    for request in &written.requests {
        let failed = |text: String| RowError::new(request.line, text);
        let row = reader.row(request, origin).map_err(failed)?;
        let name = request.name.clone().or_else(|| request.title.clone());
        reader.file.entries.push(RecordedEntry::written(name, row));
    }
    let HttpFileReader { mut file, .. } = reader;
    if written.scripts > 0 {
        file.notes.push(format!(
            "{} of the file {} not run: values that scripts set are missing",
            words::counted(written.scripts, "script"),
            if written.scripts == 1 { "is" } else { "are" }
        ));
    }
    Ok(file)
}

struct HttpFileReader<'t> {
    variables: &'t HashMap<String, String>,
    file: RecordedFile,
}

impl HttpFileReader<'_> {
    fn row(&mut self, request: &HttpRequest, origin: Option<&str>) -> Result<Row, String> {
        let mut url = self.expand(&request.url).map_err(|error| format!("the URL: {error}"))?;
        let mut row = Row::new(request.line, "");
        row.method = Some(request.method.clone());
        for (name, value) in &request.headers {
            let value =
                self.expand(value).map_err(|error| format!("the header {name}: {error}"))?;
            if name.eq_ignore_ascii_case("host") && url.starts_with('/') {
                url = format!("http://{value}{url}");
            }
            match basic_user(name, &value) {
                Some(user) => row.basic_auth = Some(user),
                None => row.headers.push((name.clone(), value)),
            }
        }
        if url.starts_with("{{user.") {
            // It is a path of the server whose response has it.
            let last = self.file.entries.last().and_then(|entry| UrlParts::of(&entry.url));
            url.insert_str(0, &last.map(|url| url.origin.to_string()).unwrap_or_default());
        }
        row.target = with_origin(&url, origin)?;
        if let Some(path) = &request.body_file {
            row.body = Some(RowBody::FileBeside(path.clone()));
        } else if !request.body.is_empty() {
            let body = self.expand(&request.body).map_err(|error| format!("the body: {error}"))?;
            let is_form = row.headers.iter().any(|(name, value)| {
                name.eq_ignore_ascii_case("content-type") && value.contains("urlencoded")
            });
            let body = match () {
                // Forms are written with a field on each line.
                () if is_form => body.replace('\n', ""),
                () if request.is_graphql() => graphql_body(&body),
                () => body,
            };
            row.body = Some(RowBody::Bytes(body.into_bytes()));
        }
        if request.is_graphql() {
            row.method = Some("POST".to_owned());
            let is_of_query = |name: &str| ["content-type", GRAPHQL_HEADER].contains(&name);
            row.headers.retain(|(name, _)| !is_of_query(&name.to_ascii_lowercase()));
            row.headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
        }
        Ok(row)
    }

    /// Returns a text with fields for responses, and for variables that have no value.
    fn expand(&mut self, text: &str) -> Result<String, String> {
        let variables = self.variables;
        let entries = &mut self.file.entries;
        expand(text, &mut |name| {
            if let Some(value) = variables.get(name) {
                return VariableValue::Text(value.clone());
            }
            if let Some(value) = environment(name).or_else(|| dynamic(name)) {
                return value;
            }
            let captured = ResponseReference::parse(name).and_then(|it| captured(&it, entries));
            match captured {
                Some(name) => VariableValue::Field(format!("user.{name}")),
                None => unknown(name),
            }
        })
    }
}

/// Returns the body of a GraphQL request: its query, and behind a blank line its variables.
fn graphql_body(written: &str) -> String {
    let split = written.rsplit_once("\n\n");
    let split = split.filter(|(_, rest)| rest.trim_start().starts_with('{'));
    let (query, variables) = split.unwrap_or((written, ""));
    json_text::graphql(query.trim(), variables)
}

/// Returns the name of the captured value that a reference means, captured by the last request of
/// its name; `None` if there is none.
fn captured(reference: &ResponseReference, entries: &mut [RecordedEntry]) -> Option<String> {
    let names = entries.iter().flat_map(|entry| &entry.captures);
    let names: Vec<String> = names.map(|capture| capture.name.clone()).collect();
    let is_it = |entry: &&mut RecordedEntry| entry.name.as_deref() == Some(&*reference.request);
    let entry = entries.iter_mut().rfind(is_it)?;
    let known = entry.captures.iter().find(|capture| capture.source == reference.source);
    if let Some(known) = known {
        return Some(known.name.clone());
    }
    let numbered = (2..).map(|number: u64| format!("{}_{number}", reference.name));
    let mut all = [reference.name.clone()].into_iter().chain(numbered);
    let name = all.find(|name| !names.contains(name))?;
    entry.captures.push(StepCapture { name: name.clone(), source: reference.source.clone() });
    Some(name)
}

/// Returns the field for `{{$processEnv NAME}}`, `{{$dotenv NAME}}` and `{{$env.NAME}}`.
fn environment(name: &str) -> Option<VariableValue> {
    let starts = ["$processEnv ", "$dotenv ", "$env."];
    let variable = starts.iter().find_map(|start| name.strip_prefix(start))?;
    let variable = variable.trim().trim_start_matches('%');
    let is_name =
        !variable.is_empty() && variable.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| VariableValue::Field(format!("env:{variable}")))
}

/// Returns `USER:PASS` of `Authorization: Basic USER PASS` or `Basic USER:PASS`, which these
/// programs encode.
fn basic_user(name: &str, value: &str) -> Option<String> {
    let (scheme, user) = value.split_once(' ').filter(|_| !has_field(value))?;
    let is_basic =
        name.eq_ignore_ascii_case("authorization") && scheme.eq_ignore_ascii_case("basic");
    let user = user.trim();
    let (user, password) = user.split_once([' ', ':']).filter(|_| is_basic)?;
    Some(format!("{user}:{}", password.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> RecordedFile {
        read(text, None).unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn references_to_responses_become_captures() {
        let text = "@t = {{login.response.body.$.token}}\n\
                    @l = {{login.response.headers.Location}}\n\
                    ### \n# @name login\n\
                    POST http://h/login\n\
                    \n{}\n\n### Second\nGET http://h/a?x={{login.response.headers.X-Id}}\n\
                    Authorization: Bearer {{t}}\nX-Same: {{login.response.body.token}}\n\
                    X-No: {{other.response.body.token}} {{login.request.body.x}}\n\
                    ###\nGET {{l}}/a\n###\nget http://h{{l}}/b\n";
        let file = file(text);
        let [login, second, third, fourth] = &file.entries[..] else { panic!("{file:?}") };
        let target = |entry: &RecordedEntry| UrlParts::of(&entry.url).expect("a URL").target;
        assert_eq!(target(third), "{{user.location}}/a");
        assert_eq!(target(fourth), "{{user.location}}/b");
        let captures: Vec<_> =
            login.captures.iter().map(|it| (it.name.as_str(), it.source.as_str())).collect();
        let location = ("location", "header:Location");
        assert_eq!(captures, [("id", "header:X-Id"), ("token", "json:/token"), location]);
        let row = second.row.as_ref().expect("a row");
        assert_eq!(second.name.as_deref(), Some("Second"));
        assert_eq!(row.target, "http://h/a?x={{user.id}}");
        let values: Vec<&str> = row.headers.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(
            values,
            [
                "Bearer {{user.token}}",
                "{{user.token}}",
                "{{env:other_response_body_token}} {{env:login_request_body_x}}"
            ]
        );
        assert_eq!(file.notes.len(), 0);
    }

    #[test]
    fn queries_of_graphql_are_sent_as_json() {
        let query = "query {\n  a(id: \"{{id}}\") { b }\n}\n\n{\"n\": 1}\n";
        let text = format!(
            "@id = 7\nGRAPHQL http://h/\n\n{query}\n###\n\
             POST http://h/\nContent-Type: text/plain\nX-REQUEST-TYPE: GraphQL\n\n{query}"
        );
        for entry in &file(&text).entries {
            let row = entry.row.as_ref().expect("a row");
            let json = r#"{"query":"query {\n  a(id: \"7\") { b }\n}","variables":{"n": 1}}"#;
            assert_eq!(row.body, Some(RowBody::Bytes(json.as_bytes().to_vec())));
            let headers = [("Content-Type".to_owned(), "application/json".to_owned())];
            assert_eq!((row.method.as_deref(), &row.headers[..]), (Some("POST"), &headers[..]));
        }
    }

    #[test]
    fn users_of_basic_authentication_are_encoded_later() {
        for (value, expected) in [
            ("Basic me pass word", Some("me:pass word")),
            ("basic me:pass", Some("me:pass")),
            ("Basic bWU6cGFzcw==", None),
            ("Bearer a:b", None),
            ("Basic {{a}}:b", None),
        ] {
            assert_eq!(basic_user("Authorization", value).as_deref(), expected, "{value}");
        }
    }

    #[test]
    fn variables_of_the_environment_stay_there() {
        for (name, expected) in [
            ("$processEnv TOKEN", Some("env:TOKEN")),
            ("$dotenv %TOKEN", Some("env:TOKEN")),
            ("$env.TOKEN", Some("env:TOKEN")),
            ("$processEnv a}b", None),
        ] {
            let expected = expected.map(|it| VariableValue::Field(it.to_owned()));
            assert_eq!(environment(name), expected, "{name}");
        }
    }
}
