//! Secrets: values of recorded requests that become variables of the environment.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use regex::Regex;
use weir_text::setting::ALLOW_LOCAL;

use crate::scenario::import::recorded::{RecordedStep, SentValue, ValuePlace};
use crate::scenario::import::template_text::{has_field, variable_name};

/// Schemes of `Authorization` that stay before the secret (RFC 9110 §11.1).
const SCHEMES: [&str; 6] = ["apikey", "basic", "bearer", "digest", "negotiate", "token"];

/// Least length of a secret that is one under other names too, in bytes.
const KNOWN_MIN_BYTES: usize = 8;

/// Replaces the secrets that steps send by variables of the environment. `is_secret` returns true
/// for the name and the value of one.
pub(super) fn replace(steps: &mut [RecordedStep], is_secret: fn(&str, &str) -> bool) {
    let is_secret = |sent: SentValue<'_>| {
        let name = sent.name.to_ascii_lowercase().replace(['_', '-'], "");
        let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let is_entered = match sent.place {
            ValuePlace::Form | ValuePlace::Json | ValuePlace::Number => ENTERED.contains(&name),
            ValuePlace::Query | ValuePlace::Header => SESSIONS.contains(&name),
            ValuePlace::Url | ValuePlace::Path => false,
        };
        !sent.text.trim().is_empty() && (is_entered || is_secret(sent.field(), sent.text))
    };
    // A value that is a secret in one place is one in all, before that place too.
    let mut known = HashSet::new();
    for step in steps.iter_mut() {
        known.extend(step.secrets.iter().cloned());
        step.replace_values(&mut |sent| {
            if is_secret(sent) {
                known.insert(secret_of(&sent).1.to_owned());
            }
            None
        });
    }
    let mut variables = SecretVariables::default();
    for step in steps.iter_mut() {
        let mut remarks = Vec::new();
        let own = std::mem::take(&mut step.secrets);
        step.replace_values(&mut |sent| {
            let is_known = known.contains(sent.text) && sent.text.len() >= KNOWN_MIN_BYTES;
            let is_own = own.iter().any(|secret| secret == sent.text);
            (is_secret(sent) || is_known || is_own)
                .then(|| variables.replacement(sent, &mut remarks))
        });
        step.replace_numbers(&mut |sent| {
            is_secret(sent).then(|| variables.replacement(sent, &mut remarks))
        });
        for text in step.texts_mut() {
            replace_pairs(text, &is_secret, &mut variables, &mut remarks);
        }
        step.remarks.extend(remarks);
    }
    for step in steps {
        variables.replace_known(step);
    }
}

/// Names of fields that are secrets among what people enter, in lower case, without dashes.
const ENTERED: [&str; 16] = [
    "assertion",
    "cardnumber",
    "clientassertion",
    "cvc",
    "cvv",
    "iban",
    "ibannumber",
    "otp",
    "pin",
    "pw",
    "pwd",
    "samlrequest",
    "samlresponse",
    "socialsecuritynumber",
    "ssn",
    "userpwd",
];

/// Names of parameters and header fields that are sessions, in the same form.
const SESSIONS: [&str; 6] = ["jsessionid", "phpsessid", "session", "sessionid", "sid", "xsession"];

/// Pairs of a name and a value in texts that have no other structure here: as members of JSON that
/// is no JSON on account of a field in it, within a string of JSON (GraphQL has names without
/// quotes), as parameters, and as elements of XML.
static PAIRS: LazyLock<[Regex; 5]> = LazyLock::new(|| {
    [
        r#"([A-Za-z_]\w*)\s*:\s*"((?:[^"\\]|\\.)+)""#,
        r#"([A-Za-z_]\w*)(?:\\")?\s*:\s*\\"([^"\\]+)\\""#,
        r#""([A-Za-z_][\w.-]*)"\s*:\s*"((?:[^"\\]|\\.)+)""#,
        r#"([A-Za-z_][\w.-]*)=([^&\s"'<>;{}]+)"#,
        r"<([A-Za-z_][\w.:-]*)>([^<]+)</",
    ]
    .map(|expression| Regex::new(expression).expect("it is an expression"))
});

/// Replaces the secrets among the pairs of a text by variables.
fn replace_pairs(
    text: &mut String,
    is_secret: &impl Fn(SentValue<'_>) -> bool,
    variables: &mut SecretVariables,
    remarks: &mut Vec<String>,
) {
    let places = [ValuePlace::Json, ValuePlace::Json, ValuePlace::Json, ValuePlace::Form];
    let places = places.into_iter().chain([ValuePlace::Form]);
    for (pairs, place) in PAIRS.iter().zip(places) {
        let found = pairs.captures_iter(text).filter_map(|pair| {
            let name = pair.get(1)?.as_str();
            let value = pair.get(2)?;
            let sent = SentValue { place, name, pointer: "", text: value.as_str() };
            let is_it = !has_field(value.as_str()) && is_secret(sent);
            is_it.then(|| (value.range(), variables.replacement(sent, remarks)))
        });
        let found: Vec<_> = found.collect();
        for (place, variable) in found.into_iter().rev() {
            text.replace_range(place, &variable);
        }
    }
}

/// Splits a value into its scheme, as `Bearer`, and the secret; there is none outside of headers.
fn secret_of<'a>(sent: &SentValue<'a>) -> (&'a str, &'a str) {
    let is_scheme = |word: &str| SCHEMES.iter().any(|known| word.eq_ignore_ascii_case(known));
    let split = sent.text.split_once(' ').filter(|(scheme, _)| is_scheme(scheme));
    let split = split.filter(|_| sent.place == ValuePlace::Header);
    split.unwrap_or(("", sent.text))
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
        let (scheme, value) = secret_of(&sent);
        let blank = if scheme.is_empty() { "" } else { " " };
        if let Some(name) = self.by_value.get(value) {
            return format!("{scheme}{blank}{{{{env:{name}}}}}");
        }
        let is_authorization = sent.name.eq_ignore_ascii_case("authorization");
        let name = match scheme.to_ascii_lowercase().as_str() {
            "basic" => "BASIC_CREDENTIALS".to_owned(),
            "bearer" | "token" if is_authorization => "BEARER_TOKEN".to_owned(),
            _ => variable_name(&sent.field().to_ascii_uppercase()),
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

    /// Replaces the values that are variables wherever else they stand in a step: within longer
    /// texts, and in its name.
    fn replace_known(&self, step: &mut RecordedStep) {
        let mut known: Vec<_> = self.by_value.iter().collect();
        known.retain(|(value, _)| value.len() >= KNOWN_MIN_BYTES);
        known.sort_by_key(|(value, _)| std::cmp::Reverse(value.len()));
        for (value, name) in known {
            let variable = format!("{{{{env:{name}}}}}");
            for text in step.texts_mut().filter(|text| text.contains(value)) {
                *text = text.replace(value, &variable);
            }
            step.name = step.name.replace(value, "…");
            step.remarks.iter_mut().for_each(|remark| *remark = remark.replace(value, "…"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::import::recorded::StepBody;

    #[test]
    fn secrets_are_found_in_texts_and_names_and_before_they_are_named() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut steps = [
            RecordedStep {
                name: "reset/k3y-of-the-user".to_owned(),
                target: "/reset/k3y-of-the-user".to_owned(),
                headers: vec![header("Referer", "http://h/?token=r3ferer")],
                body: StepBody::Text(
                    r#"{"password": "a\"b", "n": {{user.n}}, "pin": "12"}"#.to_owned(),
                ),
                ..RecordedStep::default()
            },
            RecordedStep {
                body: StepBody::Json(
                    r#"{"query": "{ login(user: \"x\", password: \"p5ss\") }"}"#.to_owned(),
                ),
                ..RecordedStep::default()
            },
            RecordedStep {
                headers: vec![header("token", "k3y-of-the-user"), header("X-Key", "short")],
                body: StepBody::Text("<a><password>p4ss</password><b>c</b></a>".to_owned()),
                secrets: vec!["short".to_owned()],
                ..RecordedStep::default()
            },
        ];
        replace(&mut steps, |name, _| ["token", "password"].contains(&name));
        let texts: Vec<String> =
            steps.iter_mut().flat_map(|step| step.texts_mut().map(|text| text.clone())).collect();
        assert_eq!(
            texts,
            [
                "/reset/{{env:SECRET}}",
                "http://h/?token={{env:TOKEN}}",
                r#"{"password": "{{env:PASSWORD}}", "n": {{user.n}}, "pin": "{{env:PIN}}"}"#,
                "",
                r#"{"query": "{ login(user: \"x\", password: \"{{env:PASSWORD_2}}\") }"}"#,
                "",
                "{{env:SECRET}}",
                "{{env:X_KEY}}",
                "<a><password>{{env:PASSWORD_3}}</password><b>c</b></a>",
            ]
        );
        assert_eq!(steps[0].name, "reset/…");
    }

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
