//! The secrets of a run: where they stand in requests, lists and expectations.

use serde_json::Value;
use weir_list::{Row, RowBody};
use weir_result::Header;

use super::{Redaction, bodies};
use crate::spec::credentials::{self, REDACTED};
use crate::spec::{BodySpec, FormValue, RequestSpec};

/// Credentials that came with a value, beyond those of the specification.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoundSecrets {
    /// Texts that must not be written, if they are long enough to search for.
    texts: Vec<String>,
    /// User names and passwords from URLs, as they stood there.
    userinfos: Vec<String>,
}

impl FoundSecrets {
    /// Returns values that must not be written.
    pub(crate) fn of_values(texts: Vec<String>) -> FoundSecrets {
        FoundSecrets { texts, userinfos: Vec::new() }
    }
}

impl Redaction {
    /// Adds the secrets of a specification: of its request, its URL without userinfo, and its
    /// expectations.
    pub(super) fn collect(&mut self, request: &RequestSpec, url: &str, expectations: &[String]) {
        let mut texts = self.secrets_of(request, url);
        texts.extend(self.users.iter().flat_map(|user| secrets_of_user(user)));
        texts.extend(self.secrets_of_expectations(expectations));
        let userinfos = std::mem::take(&mut self.userinfos);
        self.add(FoundSecrets { texts, userinfos });
    }

    /// Adds secrets that were found elsewhere than in the specification.
    pub(crate) fn add(&mut self, found: FoundSecrets) {
        if self.is_off {
            return;
        }
        let mut texts = found.texts;
        for userinfo in found.userinfos {
            texts.extend(secrets_of_user(&credentials::decoded(&userinfo)));
            texts.extend(password_of(&userinfo).map(str::to_owned));
            self.userinfos.push(userinfo);
        }
        self.userinfos.sort();
        self.userinfos.dedup();
        // The field of a template is no secret, its value is.
        let is_long = |secret: &String| secret.len() >= credentials::ANYWHERE_MIN_BYTES;
        texts.retain(|secret| is_long(secret) && !bodies::is_field(secret));
        self.secrets.extend(texts);
        sort_secrets(&mut self.secrets);
    }

    /// Returns the secrets of a request.
    fn secrets_of(&self, request: &RequestSpec, url: &str) -> Vec<String> {
        let mut secrets: Vec<String> = Vec::new();
        for Header { name, value } in &request.headers {
            if self.is_secret_value(name, value) && !value.is_empty() {
                secrets.push(value.clone());
                // Each subprotocol that may be a token.
                let parts = value.split(',').filter(|_| !self.is_header(name)).map(str::trim);
                let tokens = parts.filter(|part| credentials::has_unknown_subprotocol(part));
                secrets.extend(tokens.map(str::to_owned));
                // The token without its scheme, and the value of a cookie without its name.
                secrets.extend(value.split_once(' ').map(|(_, token)| token.trim().to_owned()));
                let pairs = value.split(';').filter_map(|pair| pair.split_once('='));
                secrets.extend(pairs.map(|(_, value)| value.trim().to_owned()));
            }
        }
        secrets.extend(request.basic_auth.iter().flat_map(|user| secrets_of_user(user)));
        if let Some(BodySpec::Form(fields)) = &request.body {
            let secret = fields.iter().filter(|field| self.is_header(&field.name));
            secrets.extend(secret.filter_map(|field| match &field.value {
                FormValue::Text(text) => Some(text.clone()),
                FormValue::File(_) => None,
            }));
        }
        if let Some(BodySpec::Text(body)) = &request.body {
            secrets.extend(self.secrets_of_body(body));
        }
        let _redacted = self.parameters_of(url, false, |value| secrets.push(value.to_owned()));
        secrets
    }

    /// Returns the values of secret names in a body: of JSON, of XML or of a form.
    fn secrets_of_body(&self, body: &str) -> Vec<String> {
        let mut secrets = Vec::new();
        for place in bodies::secret_values(body, |name| self.is_header(name)) {
            let value = &body[place];
            secrets.push(value.trim_matches('"').to_owned());
            if let Ok(json) = serde_json::from_str(value) {
                texts_of(&json, &mut secrets);
            }
        }
        let _redacted = self.parameters_of(body, false, |value| secrets.push(value.to_owned()));
        secrets
    }

    /// Returns the values of expectations that are credentials, as [`Redaction::line`] finds them.
    fn secrets_of_expectations(&self, texts: &[String]) -> Vec<String> {
        let value = |text: &String| {
            let shown = self.line(text);
            let kept = shown.strip_suffix(REDACTED)?.trim_end();
            text.strip_prefix(kept).map(|secret| secret.trim().to_owned())
        };
        texts.iter().filter_map(value).collect()
    }

    /// Returns the secrets of the rows of a list.
    pub(crate) fn secrets_of_rows(&self, rows: &[Row]) -> FoundSecrets {
        let mut found = FoundSecrets::default();
        for row in rows {
            let (url, userinfo) = credentials::split_userinfo(&row.target);
            let userinfo = userinfo.filter(|userinfo| !userinfo.is_empty());
            found.userinfos.extend(userinfo.map(str::to_owned));
            let headers = row.headers.iter().cloned();
            let body = match &row.body {
                Some(RowBody::Bytes(bytes)) => str::from_utf8(bytes).ok(),
                _ => None,
            };
            let request = RequestSpec {
                headers: headers.map(|(name, value)| Header { name, value }).collect(),
                basic_auth: row.basic_auth.clone(),
                body: body.map(|body| BodySpec::Text(body.to_owned())),
                ..RequestSpec::default()
            };
            found.texts.extend(self.secrets_of(&request, &url));
            found.texts.extend(self.secrets_of_expectations(&row.expect));
        }
        found
    }
}

/// Returns `USER:PASS`, its password, and the token of basic authentication.
fn secrets_of_user(user: &str) -> Vec<String> {
    let basic = credentials::basic(user);
    let token = basic.split_once(' ').map(|(_, token)| token.to_owned());
    let password = password_of(user).map(str::to_owned);
    token.into_iter().chain(password).chain([user.to_owned()]).collect()
}

fn password_of(user: &str) -> Option<&str> {
    user.split_once(':').map(|(_, password)| password)
}

/// Adds the texts in a value of JSON.
fn texts_of(json: &Value, texts: &mut Vec<String>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| texts_of(item, texts)),
        Value::Object(members) => members.values().for_each(|member| texts_of(member, texts)),
        Value::String(text) => texts.push(text.clone()),
        _ => {}
    }
}

/// Puts the longest first, each once.
fn sort_secrets(secrets: &mut Vec<String>) {
    secrets.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
    secrets.dedup();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::RunSpec;

    #[test]
    fn secrets_stand_in_bodies() {
        let mut spec = RunSpec::new("http://h/");
        spec.redaction.names = vec!["mine".to_owned()];
        let redaction = Redaction::of(&spec);
        let check = |body: &str, secrets: &[&str]| {
            assert_eq!(redaction.secrets_of_body(body), secrets, "{body}");
        };
        check(r#"{"user": "annabel", "password": "SECRET"}"#, &["SECRET", "SECRET"]);
        check(
            r#"[{"a": {"Mine": "x\"y"}}, {"token": ["z"], "api_key": 7}]"#,
            &["x\\\"y", "x\"y", "[\"z\"]", "z", "7"],
        );
        check(r#"{"id":{{seq}},"token":"one"} {"token":"two"}"#, &["one", "one", "two", "two"]);
        check("a=1&access_token=SECRET&mine=x", &["SECRET", "x"]);
        check("no form, no JSON", &[]);
    }

    #[test]
    fn fields_of_templates_are_no_secrets() {
        let mut spec = RunSpec::new("http://h/?token={{csv:token}}");
        spec.request.body = Some(BodySpec::Text(r#"{"password": "{{csv:password}}"}"#.to_owned()));
        assert_eq!(Redaction::of(&spec).secrets, Vec::<String>::new());
    }
}
