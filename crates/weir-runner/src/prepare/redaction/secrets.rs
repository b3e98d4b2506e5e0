//! The secrets of a run: where they stand in requests, lists and expectations.

use serde_json::Value;
use weir_list::{Row, RowBody};
use weir_result::Header;

use super::{Redaction, bodies};
use crate::spec::credentials::{self, REDACTED};
use crate::spec::{BodySpec, FormValue, RequestSpec};

impl Redaction {
    /// Adds the secrets of a request and of its expectations.
    pub(super) fn collect(&mut self, request: &RequestSpec, url: &str, expectations: &[String]) {
        let mut secrets = self.secrets_of(request, url);
        secrets.extend(self.secrets_of_expectations(expectations));
        self.secrets.extend(secrets);
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
        let decoded = self.userinfos.iter().map(|userinfo| credentials::decoded(userinfo));
        let users = self.users.iter().chain(&request.basic_auth).cloned();
        for user in users.chain(decoded) {
            let basic = credentials::basic(&user);
            secrets.extend(basic.split_once(' ').map(|(_, token)| token.to_owned()));
            secrets.extend(user.split_once(':').map(|(_, password)| password.to_owned()));
            secrets.push(user);
        }
        let passwords = self.userinfos.iter().filter_map(|userinfo| userinfo.split_once(':'));
        secrets.extend(passwords.map(|(_, password)| password.to_owned()));
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
        let mut values = Vec::new();
        self.parameters_of(url, false, |value| values.push(value.to_owned()));
        secrets.extend(values);
        // The field of a template is no secret, its value is.
        let is_long = |secret: &String| secret.len() >= credentials::ANYWHERE_MIN_BYTES;
        secrets.retain(|secret| is_long(secret) && !bodies::is_field(secret));
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
            let secret = text.strip_prefix(kept)?.trim();
            let is_long = secret.len() >= credentials::ANYWHERE_MIN_BYTES;
            is_long.then(|| secret.to_owned())
        };
        texts.iter().filter_map(value).collect()
    }

    /// Adds the secrets of a list.
    pub(crate) fn learn(&mut self, rows: &[Row]) {
        if self.is_off {
            return;
        }
        for row in rows {
            let (url, userinfo) = credentials::split_userinfo(&row.target);
            let userinfo = userinfo.filter(|userinfo| !userinfo.is_empty());
            self.userinfos.extend(userinfo.map(str::to_owned));
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
            let mut found = self.secrets_of(&request, &url);
            found.extend(self.secrets_of_expectations(&row.expect));
            self.secrets.extend(found);
        }
        sort_secrets(&mut self.secrets);
        self.userinfos.sort();
        self.userinfos.dedup();
    }

    /// Adds values that must not be written, if they are long enough to search for.
    pub(crate) fn hide(&mut self, values: impl IntoIterator<Item = String>) {
        if !self.is_off {
            let long = |value: &String| value.len() >= credentials::ANYWHERE_MIN_BYTES;
            self.secrets.extend(values.into_iter().filter(long));
            sort_secrets(&mut self.secrets);
        }
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
