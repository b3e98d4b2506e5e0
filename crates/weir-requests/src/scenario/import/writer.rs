//! The file of a scenario, as text.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::scenario::import::recorded::{RecordedStep, StepBody, StepCapture};
use crate::scenario::import::template_text::{BRACES, has_braces};
use crate::scenario::import::toml_text::{inline, key, lines, members, text, words};

/// Columns that lines stay within if they can.
const COLUMNS: usize = 100;

/// Returns the file: these lines of comment, then the scenario.
pub(super) fn file(comments: &[String], name: &str, steps: &[RecordedStep]) -> String {
    let mut file = String::new();
    for comment in comments {
        add_comment(comment, &mut file);
    }
    file += &format!("\n[[scenario]]\nname = {}\n", text(name));
    for step in steps {
        file.push('\n');
        for remark in &step.remarks {
            add_comment(remark, &mut file);
        }
        add_step(step, &mut file);
    }
    file
}

/// Adds a comment, in lines that end between words.
fn add_comment(comment: &str, file: &mut String) {
    let comment = comment.replace(BRACES, "{{");
    let comment = weir_text::printable(&comment);
    let mut line = String::from("#");
    for word in comment.split(' ') {
        if line.len() > 1 && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            *file += &format!("{line}\n");
            line = String::from("#");
        }
        line += &format!(" {word}");
    }
    *file += &format!("{line}\n");
}

/// A step's lines: its keys, then the tables that have several lines.
#[derive(Default)]
struct StepLines {
    keys: String,
    tables: String,
}

impl StepLines {
    fn key(&mut self, name: &str, value: &str) {
        self.keys += &format!("{name} = {value}\n");
    }

    /// Adds a table, in one line if there is room.
    fn table(&mut self, name: &str, members: &[(String, String)]) {
        let line = inline(members);
        if name.len() + 3 + line.chars().count() <= COLUMNS {
            return self.key(name, &line);
        }
        self.tables += &format!("[scenario.step.{name}]\n");
        for (key, value) in members {
            self.tables += &format!("{key} = {value}\n");
        }
    }
}

fn add_step(step: &RecordedStep, file: &mut String) {
    let mut own = StepLines::default();
    own.key("name", &text(&step.name));
    let has_body = step.body != StepBody::None;
    if step.method != if has_body { "POST" } else { "GET" } || has_body {
        own.key("method", &text(&step.method));
    }
    own.key("url", &text(&step.target));
    let has_type = step.header("content-type").is_some();
    let implied = add_body(&step.body, has_type, &mut own);
    let is_implied = |name: &str, value: &str| {
        name.eq_ignore_ascii_case("content-type") && implied == Some(value)
    };
    let headers = step.headers.iter().filter(|(name, value)| !is_implied(name, value));
    let headers: Vec<(String, String)> = headers.cloned().collect();
    if !headers.is_empty() {
        own.table("headers", &words(&headers));
    }
    if let Some(status) = step.response.as_ref().and_then(|response| expected(response.status)) {
        own.key("expect", &text(&format!("status={status}")));
    }
    if !step.captures.is_empty() {
        let of = |capture: &StepCapture| (key(&capture.name), text(&capture.source));
        own.table("capture", &step.captures.iter().map(of).collect::<Vec<_>>());
    }
    if step.think_ns > 0 {
        own.key("think", &text(&span(step.think_ns)));
    }
    *file += &format!("[[scenario.step]]\n{}{}", own.keys, own.tables);
}

/// Adds the body, and returns the media type that it implies. None is implied if the request has
/// none.
fn add_body(body: &StepBody, has_type: bool, own: &mut StepLines) -> Option<&'static str> {
    match body {
        StepBody::None => {}
        StepBody::Form(fields) => {
            own.table("form", &words(fields));
            return Some("application/x-www-form-urlencoded");
        }
        StepBody::Json(json) => match members(json).filter(|_| has_type && !has_braces(json)) {
            Some(members) => {
                own.table("json", &members);
                return Some("application/json");
            }
            None => own.key("body", &lines(&json.replace(BRACES, "\\u007b{"))),
        },
        StepBody::Multipart(body, _) | StepBody::Text(body) => own.key("body", &lines(body)),
        StepBody::Bytes(bytes) => {
            own.key("body_base64", &text(&STANDARD.encode(bytes)));
        }
        StepBody::File(path) => own.key("body_file", &text(path)),
    }
    None
}

/// Returns the status that a response has to have again, if it is not the usual one: a redirect,
/// but for the answer to a cache, or an error.
fn expected(status: u16) -> Option<u16> {
    let is_redirect = (300..400).contains(&status) && status != 304;
    let is_error = (400..600).contains(&status);
    (is_redirect || is_error).then_some(status)
}

/// Returns a pause as text.
fn span(span_ns: u64) -> String {
    let ms = span_ns / 1_000_000;
    let text = match ms {
        0..1_000 => return format!("{ms}ms"),
        _ => format!("{}.{:03}", ms / 1_000, ms % 1_000),
    };
    format!("{}s", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_have_no_needless_digits() {
        for (ms, expected) in [(120, "120ms"), (1_000, "1s"), (1_250, "1.25s"), (60_000, "60s")] {
            assert_eq!(span(ms * 1_000_000), expected);
        }
    }

    #[test]
    fn comments_end_between_words() {
        let mut file = String::new();
        add_comment(&format!("{} a\nb", "x".repeat(97)), &mut file);
        assert_eq!(file, format!("# {}\n# a?b\n", "x".repeat(97)));
    }
}
