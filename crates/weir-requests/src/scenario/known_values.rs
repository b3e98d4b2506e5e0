//! The values and the conversation that a user of a scenario has at a step.

use std::collections::HashSet;

use crate::list::{Row, RowBody, RowError};
use crate::scenario::{CaptureRule, ScenarioStep, SentIn, StepCondition};

/// Start of the fields that stand for captured values.
const USER_FIELD: &str = "{{user.";

/// Values and conversation of a user at a step.
#[derive(Debug, Default)]
pub(super) struct KnownValues {
    /// Numbers of the values that each user has.
    pub(super) certain: HashSet<usize>,
    /// Numbers of those that some users may lack.
    pub(super) possible: HashSet<usize>,
    /// Name of the step whose message has no answer in the conversation.
    pub(super) unanswered: Option<String>,
}

impl KnownValues {
    /// Checks that a user who takes a step has each value that its request sends, and that its
    /// conversation has an answer to each message.
    ///
    /// # Errors
    /// If not; the text has the remedy.
    pub(super) fn check(
        &self,
        row: &Row,
        when: Option<&StepCondition>,
        values: &[String],
    ) -> Result<(), String> {
        for name in texts_of(row).flat_map(user_fields) {
            let number = values.iter().position(|known| known == name);
            let is_required = when.is_some_and(|when| Some(when.value) == number);
            match number {
                Some(number) if is_required || self.certain.contains(&number) => {}
                Some(number) if self.possible.contains(&number) => {
                    return Err(format!(
                        "{USER_FIELD}{name}}}}}: the step that captures it has a chance or a \
                         condition, so some users lack it; add when = \"{name}\""
                    ));
                }
                _ => return Err(format!("{USER_FIELD}{name}}}}}: no step before captures it")),
            }
        }
        match (&self.unanswered, &row.message) {
            (Some(name), Some(_)) => Err(format!(
                "the conversation has no answer to the message of {name:?}: add capture = {{ \
                 history = \"stream:json:/choices/0/delta/content\" }} there, with the place of \
                 the model's answer"
            )),
            _ => Ok(()),
        }
    }

    /// Adds what a step captures. Its request has `row`.
    pub(super) fn add(&mut self, step: &ScenarioStep, row: &Row) {
        let known = if step.is_certain() { &mut self.certain } else { &mut self.possible };
        known.extend(step.captures.iter().map(|capture| capture.value));
        if row.message.is_some() && step.answer.is_none() {
            self.unanswered = Some(step.name.clone());
        }
    }
}

/// Checks that the request of a setup has no field of a user: it is sent before there are any.
///
/// # Errors
/// If it has one; the text names it.
pub(super) fn check_setup(row: &Row) -> Result<(), String> {
    for field in ["{{session}}", "{{history}}"] {
        if texts_of(row).any(|text| text.contains(field)) {
            return Err(format!("{field} is of a user, and the setup is sent before any begins"));
        }
    }
    Ok(())
}

/// Gives each capture of `captures` the part of requests in which rows send it; `values` are the
/// names of all. A URL that begins with a value gets a `/` before it.
///
/// # Errors
/// If one that begins a URL is sent elsewhere too.
pub(super) fn mark_parts<'a>(
    rows: &mut [&mut Row],
    values: &[String],
    captures: impl Iterator<Item = &'a mut CaptureRule>,
) -> Result<(), RowError> {
    let begin_of = |row: &Row| {
        let begins = row.target.starts_with(USER_FIELD);
        begins.then(|| user_fields(&row.target).next().map(str::to_owned)).flatten()
    };
    let urls: HashSet<String> = rows.iter().filter_map(|row| begin_of(row)).collect();
    let mut in_fields: HashSet<String> = HashSet::new();
    for row in rows.iter_mut() {
        let begin = begin_of(row);
        let others = texts_of(row).flat_map(user_fields);
        let sent_twice = others.filter(|name| urls.contains(*name)).nth(begin.is_some().into());
        if let Some(name) = sent_twice {
            let text = format!(
                "{USER_FIELD}{name}}}}} begins a URL, so it is a path: capture it under another \
                 name for other places"
            );
            return Err(RowError::new(row.position, text));
        }
        // A URL has all characters percent-encoded that it cannot have.
        let fields = row.headers.iter().flat_map(|(_, value)| user_fields(value));
        in_fields.extend(fields.map(str::to_owned));
        if begin.is_some() {
            row.target.insert(0, '/');
        }
    }
    for capture in captures {
        let name = &values[capture.value];
        capture.sent_in = match () {
            () if urls.contains(name) => SentIn::Url,
            () if in_fields.contains(name) => SentIn::Header,
            () => SentIn::Escaped,
        };
    }
    Ok(())
}

/// Returns the texts of a row that may have fields.
fn texts_of(row: &Row) -> impl Iterator<Item = &str> {
    let body = match &row.body {
        Some(RowBody::Bytes(bytes)) => std::str::from_utf8(bytes).unwrap_or_default(),
        Some(RowBody::Encoded(text)) => text,
        _ => "",
    };
    let headers = row.headers.iter().map(|(_, value)| value.as_str());
    headers.chain([row.target.as_str(), body]).chain(row.message.as_deref())
}

/// Returns the names of the captured values that a text has fields for.
fn user_fields(text: &str) -> impl Iterator<Item = &str> {
    text.split(USER_FIELD).skip(1).filter_map(|rest| Some(rest.split_once("}}")?.0))
}
