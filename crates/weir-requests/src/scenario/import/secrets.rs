//! Secrets: values of recorded requests that become variables of the environment.

use std::collections::{HashMap, HashSet};

use weir_text::setting::ALLOW_LOCAL;

use crate::scenario::import::recorded::{RecordedStep, SentValue, ValuePlace};
use crate::scenario::import::template_text::identifier;

/// Schemes of `Authorization` that stay before the secret (RFC 9110 §11.1).
const SCHEMES: [&str; 6] = ["apikey", "basic", "bearer", "digest", "negotiate", "token"];

/// Least length of a secret that is one under other names too, in bytes.
const KNOWN_MIN_BYTES: usize = 8;

/// Replaces the secrets that steps send by variables of the environment. `is_secret` returns true
/// for the name and the value of one.
pub(super) fn replace(steps: &mut [RecordedStep], is_secret: fn(&str, &str) -> bool) {
    let mut variables = SecretVariables::default();
    for step in steps {
        let mut remarks = Vec::new();
        step.replace_values(&mut |sent| {
            let is_empty = sent.text.trim().is_empty();
            let is_known =
                || sent.text.len() >= KNOWN_MIN_BYTES && variables.by_value.contains_key(sent.text);
            let is_it = !is_empty && (is_secret(sent.name, sent.text) || is_known());
            is_it.then(|| variables.replacement(sent, &mut remarks))
        });
        step.remarks.extend(remarks);
    }
}

/// The variables so far.
#[derive(Default)]
struct SecretVariables {
    /// Names by value.
    by_value: HashMap<String, String>,
    names: HashSet<String>,
}

impl SecretVariables {
    fn replacement(&mut self, sent: SentValue<'_>, remarks: &mut Vec<String>) -> String {
        let is_scheme = |word: &str| SCHEMES.iter().any(|known| word.eq_ignore_ascii_case(known));
        let split = sent.text.split_once(' ').filter(|(scheme, _)| is_scheme(scheme));
        let split = split.filter(|_| sent.place == ValuePlace::Header);
        let (scheme, value) = split.map_or(("", sent.text), |(scheme, value)| (scheme, value));
        let blank = if scheme.is_empty() { "" } else { " " };
        if let Some(name) = self.by_value.get(value) {
            return format!("{scheme}{blank}{{{{env:{name}}}}}");
        }
        let is_authorization = sent.name.eq_ignore_ascii_case("authorization");
        let name = match scheme.to_ascii_lowercase().as_str() {
            "basic" => "BASIC_CREDENTIALS".to_owned(),
            "bearer" | "token" if is_authorization => "BEARER_TOKEN".to_owned(),
            _ => identifier(sent.name).to_ascii_uppercase(),
        };
        let name = if name.is_empty() { "SECRET".to_owned() } else { name };
        let numbered = (2..).map(|number: u64| format!("{name}_{number}"));
        let mut all = [name.clone()].into_iter().chain(numbered);
        let name = all.find(|name| !self.names.contains(name)).unwrap_or_default();
        let form = match scheme.eq_ignore_ascii_case("basic") {
            true => ", which is USER:PASSWORD in base64",
            false => "",
        };
        remarks.push(format!(
            "{} is {{{{env:{name}}}}}{form}: set {name} and give {ALLOW_LOCAL}",
            sent.shown()
        ));
        self.names.insert(name.clone());
        self.by_value.insert(value.to_owned(), name.clone());
        format!("{scheme}{blank}{{{{env:{name}}}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::import::recorded::StepBody;

    #[test]
    fn secrets_become_variables_one_for_each_value() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let step = |value: &str, password: &str| RecordedStep {
            target: format!("/?token={value}&x={value}"),
            headers: vec![header("Authorization", &format!("Bearer {value}")), header("A", value)],
            body: StepBody::Json(format!(r#"{{"password": "{password}", "token": ""}}"#)),
            ..RecordedStep::default()
        };
        let mut steps = [step("secret-1", "p"), step("secret-2", "p"), step("secret-1", "q")];
        let is_secret =
            |name: &str, _: &str| ["Authorization", "token", "password"].contains(&name);
        replace(&mut steps, is_secret);
        for (step, token, password) in
            [(0, "TOKEN", "PASSWORD"), (1, "TOKEN_2", "PASSWORD"), (2, "TOKEN", "PASSWORD_2")]
        {
            let step = &mut steps[step];
            let found: Vec<String> = step.texts_mut().map(|text| text.clone()).collect();
            let token = format!("{{{{env:{token}}}}}");
            let body = format!(r#"{{"password": "{{{{env:{password}}}}}", "token": ""}}"#);
            let bearer = format!("Bearer {token}");
            assert_eq!(found, [format!("/?token={token}&x={token}"), bearer, token, body]);
        }
        let remarks: Vec<usize> = steps.iter().map(|step| step.remarks.len()).collect();
        assert_eq!(remarks, [2, 1, 1]);
    }
}
