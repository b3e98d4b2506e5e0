//! The secrets of a run: where they stand in requests, lists and expectations.

use serde_json::Value;
use weir_requests::list::{Row, RowBody};

use super::found::{FoundSecrets, password_of, secrets_of_user};
use super::{Redaction, bodies};
use crate::spec::TextKind;
use crate::spec::credentials::{self, REDACTED};

impl Redaction {
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
        sort_secrets(&mut self.userinfos);
        // The field of a template is no secret, its value is.
        let is_long = |secret: &String| secret.len() >= credentials::ANYWHERE_MIN_BYTES;
        texts.retain(|secret| is_long(secret) && !bodies::is_field(secret));
        self.secrets.extend(texts);
        sort_secrets(&mut self.secrets);
    }

    /// Returns the secrets in a text of this kind.
    pub(super) fn secrets_in(&self, kind: &TextKind, text: &str) -> FoundSecrets {
        let texts = match kind {
            TextKind::Url | TextKind::ListUrl => {
                let (url, userinfo) = credentials::split_userinfo(text);
                let mut texts = Vec::new();
                self.parameters_of(&url, false, |value| texts.push(value.to_owned()));
                return FoundSecrets { texts, ..FoundSecrets::of_url(userinfo) };
            }
            TextKind::Page => {
                return FoundSecrets::of_url(credentials::split_userinfo(text).1);
            }
            TextKind::Header(name) => self.secrets_of_header(name, text),
            TextKind::User => secrets_of_user(text),
            TextKind::Body => self.secrets_of_body(text),
            TextKind::FormField(name) if self.is_header(name) => vec![text.to_owned()],
            TextKind::Expectation => self.secret_of_expectation(text).into_iter().collect(),
            // They are redacted where they stand.
            TextKind::FormField(_)
            | TextKind::Watched
            | TextKind::Argument
            | TextKind::Message
            | TextKind::Command
            | TextKind::Fact(_)
            | TextKind::Host
            | TextKind::Plain => Vec::new(),
        };
        FoundSecrets::of_values(texts)
    }

    /// Returns the secrets of a header field.
    fn secrets_of_header(&self, name: &str, value: &str) -> Vec<String> {
        if !self.is_secret_value(name, value) || value.is_empty() {
            return Vec::new();
        }
        let mut secrets = vec![value.to_owned()];
        // Each subprotocol that may be a token.
        let parts = value.split(',').filter(|_| !self.is_header(name)).map(str::trim);
        let tokens = parts.filter(|part| credentials::has_unknown_subprotocol(part));
        secrets.extend(tokens.map(str::to_owned));
        // The token without its scheme, and the value of a cookie without its name.
        secrets.extend(value.split_once(' ').map(|(_, token)| token.trim().to_owned()));
        let pairs = value.split(';').filter_map(|pair| pair.split_once('='));
        secrets.extend(pairs.map(|(_, value)| value.trim().to_owned()));
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
        self.parameters_of(body, false, |value| secrets.push(value.to_owned()));
        secrets
    }

    /// Returns the value of an expectation that is a credential, as [`Redaction::line`] finds it.
    fn secret_of_expectation(&self, text: &str) -> Option<String> {
        let shown = self.line(text);
        let kept = shown.strip_suffix(REDACTED)?.trim_end();
        text.strip_prefix(kept).map(|secret| secret.trim().to_owned())
    }

    /// Returns the secrets of the rows of a list.
    pub(crate) fn secrets_of_rows(&self, rows: &[Row]) -> FoundSecrets {
        let mut found = FoundSecrets::default();
        let mut add = |kind: &TextKind, text: &str| found.append(self.secrets_in(kind, text));
        for row in rows {
            add(&TextKind::ListUrl, &row.target);
            for (name, value) in &row.headers {
                add(&TextKind::Header(name.clone()), value);
            }
            row.basic_auth.iter().for_each(|user| add(&TextKind::User, user));
            let body = match &row.body {
                Some(RowBody::Bytes(bytes)) => str::from_utf8(bytes).unwrap_or_default(),
                Some(RowBody::Encoded(text)) => text,
                _ => "",
            };
            add(&TextKind::Body, body);
            row.expect.iter().for_each(|text| add(&TextKind::Expectation, text));
        }
        found
    }
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
    use crate::spec::{BodySpec, RunSpec};

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
