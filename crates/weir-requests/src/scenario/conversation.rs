//! Conversations with a language model: the messages that the turns of a user add to its history.

use toml::de::DeValue;

use crate::list::{Row, message};
use crate::scenario::ValueSource;
use crate::scenario::file_value::json;

/// Name of the capture whose value is the model's answer.
pub(super) const HISTORY: &str = "history";

/// Greatest number of turns that repeat one step.
pub(super) const TURNS_MAX: u32 = 100;

/// Returns the messages of a value of a file: a text of the user, an object with `role` and
/// `content`, or several of these.
///
/// # Errors
/// If it is something else; the text fits behind the key.
pub(super) fn messages(value: &DeValue<'_>) -> Result<String, String> {
    let one = |value: &DeValue<'_>| match value {
        DeValue::String(text) => Ok(message("user", text)),
        DeValue::Table(members)
            if members.contains_key("role") && members.contains_key("content") =>
        {
            json(value)
        }
        _ => Err(EXPECTED.to_owned()),
    };
    match value {
        DeValue::Array(values) if !values.is_empty() => {
            let all = values.iter().map(|value| one(value.get_ref()));
            Ok(all.collect::<Result<Vec<_>, _>>()?.join(","))
        }
        _ => one(value),
    }
}

/// The reason that a value is no message.
const EXPECTED: &str = "must be a text, or { role = \"…\", content = \"…\" }, or several of these";

/// Takes the place of the model's answer out of the captures of a step.
///
/// # Errors
/// If the step has no message that it answers.
pub(super) fn take_answer(
    captures: &mut Vec<(String, ValueSource)>,
    row: &Row,
) -> Result<Option<ValueSource>, String> {
    let Some(at) = captures.iter().position(|(name, _)| name == HISTORY) else { return Ok(None) };
    let (_, source) = captures.remove(at);
    match row.message {
        Some(_) => Ok(Some(source)),
        None => Err(format!(
            "{HISTORY:?} is the answer to a message: give the step a `message`, or the value \
             another name"
        )),
    }
}

#[cfg(test)]
mod tests {
    use toml::de::DeTable;

    use super::*;

    const USER: &str = r#"{"role":"user","content":"\"Hi\" {{csv:a}}"}"#;

    #[test]
    fn messages_of_a_file() {
        let of = |text: &str| {
            let table = DeTable::parse(text).expect(text);
            messages(table.get_ref().get("m").expect("a key").get_ref())
        };
        assert_eq!(of(r#"m = '"Hi" {{csv:a}}'"#).as_deref(), Ok(USER));
        let system = r#"{"role":"system","content":[{"type":"text","text":"be brief"}]}"#;
        let table = r#"{ role = "system", content = [{ type = "text", text = "be brief" }] }"#;
        assert_eq!(of(&format!("m = {table}")).as_deref(), Ok(system));
        let both = format!(r#"m = [{table}, '"Hi" {{{{csv:a}}}}']"#);
        assert_eq!(of(&both), Ok(format!("{system},{USER}")));
        for text in ["m = 1", "m = []", "m = { role = \"user\" }", "m = [[\"a\"]]"] {
            assert!(of(text).is_err_and(|why| why.contains("must be a text")), "{text}");
        }
    }
}
