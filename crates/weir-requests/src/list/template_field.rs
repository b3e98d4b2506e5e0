//! The fields of templates: how they are written, and their values.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::RangeInclusive;

use weir_text::setting::ROWS;

use crate::list::encoding::{form_encoded, json_escaped, percent_encoded};
use crate::list::history::History;
use crate::list::order::{below, mixed};
use crate::list::table::Table;

/// A field of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplateField {
    /// `{{seq}}`: index of the request in the run, from 0.
    Index,
    /// `{{rand:A:B}}`: a number from A to B.
    Random { least: u64, greatest: u64 },
    /// `{{uuid}}`: a UUID of version 4 (RFC 9562).
    Uuid,
    /// `{{csv:COLUMN}}`: the value of this column.
    Column(usize, TextForm),
    /// `{{user.NAME}}`: the value with this number that the user captured.
    Captured(usize, TextForm),
    /// `{{history}}`: the user's conversation so far, an array of messages.
    History,
    /// `{{session}}`: a UUID of version 4, the same in all steps of a user.
    Session,
    /// The line of the user's cookies in a head, or nothing without any.
    Cookies,
    /// Length of the body in bytes.
    Length,
}

/// The text that a field stands in, which decides how its value is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextForm {
    /// As it is.
    #[default]
    Plain,
    /// Captured values are escaped as in a JSON string; those of columns stay as they are.
    Json,
    /// All values are escaped as in a JSON string: the messages of a conversation.
    Message,
    /// Values are urlencoded.
    Encoded,
    /// Captured values are percent-encoded where they cannot stand in a URL; those of columns,
    /// which are checked before the load, stay as they are.
    Target,
    /// Captured values are urlencoded; those of columns stay as they are: the query of a URL.
    Query,
}

impl TextForm {
    /// Returns a value of the environment as it is written in a text of this form.
    pub fn written(self, value: String) -> String {
        match self {
            TextForm::Plain | TextForm::Target | TextForm::Query => value,
            TextForm::Json | TextForm::Message => {
                String::from_utf8_lossy(&json_escaped(value.as_bytes())).into_owned()
            }
            TextForm::Encoded => form_encoded(value.as_bytes()),
        }
    }
}

/// The sources of the values of fields.
#[derive(Clone, Copy)]
pub struct FieldSources<'a> {
    /// Table with the columns; `None` without one.
    pub table: Option<&'a Table>,
    /// Names of the values that users capture; `None` without users.
    pub captured: Option<&'a [String]>,
    /// Values that do not change during a run.
    pub constants: &'a dyn Constants,
}

/// Values that do not change during a run, by the kind of field that names them.
pub trait Constants {
    /// Returns the value of `{{env:NAME}}`.
    ///
    /// # Errors
    /// If there is none; the text is the reason.
    fn variable(&self, name: &str) -> Result<String, String>;

    /// Returns the content of `{{file:PATH}}`.
    ///
    /// # Errors
    /// If it cannot be read; the text is the reason.
    fn file(&self, path: &str) -> Result<String, String>;
}

/// The values of a request's fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values<'a> {
    /// Seed of the run's random values.
    pub seed: u64,
    /// Index of the request in the run; of a user's step the number of the user.
    pub index: u64,
    /// Row of the table; empty without one.
    pub row: &'a [Box<[u8]>],
    /// Values of the user; `None` without users.
    pub user: Option<&'a UserTexts<'a>>,
}

/// The values of a user's fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct UserTexts<'a> {
    /// Values that the user captured, by number.
    pub captured: &'a [Option<Box<[u8]>>],
    /// Value of the `Cookie` field; empty for none.
    pub cookies: &'a [u8],
    /// The conversation; `None` without one.
    pub history: Option<&'a History>,
    /// Bits of the id of the session.
    pub session: [u64; 2],
}

/// A conversation without a message.
const EMPTY: &[u8] = b"[]";

impl Values<'_> {
    /// Returns the conversation of the user.
    fn history(&self) -> Option<&History> {
        self.user.and_then(|user| user.history)
    }

    /// Returns the value of a column.
    fn column(&self, column: usize, form: TextForm) -> Cow<'_, [u8]> {
        let value = self.row.get(column).map_or(&[][..], |value| value);
        match form {
            TextForm::Encoded => Cow::Owned(form_encoded(value).into_bytes()),
            TextForm::Message => json_escaped(value),
            TextForm::Plain | TextForm::Json | TextForm::Target | TextForm::Query => {
                Cow::Borrowed(value)
            }
        }
    }

    /// Returns a captured value.
    fn captured(&self, number: usize, form: TextForm) -> Cow<'_, [u8]> {
        let captured = self.user.map_or(&[][..], |user| user.captured);
        let value = captured.get(number).and_then(Option::as_deref).unwrap_or_default();
        match form {
            TextForm::Plain => Cow::Borrowed(value),
            TextForm::Encoded => Cow::Owned(form_encoded(value).into_bytes()),
            TextForm::Json | TextForm::Message => json_escaped(value),
            TextForm::Target => target_encoded(value),
            TextForm::Query => Cow::Owned(percent_encoded(value).into_bytes()),
        }
    }
}

/// Returns a value with the bytes percent-encoded that no URL has (RFC 3986 §2). Percent signs
/// stay: it may be encoded already.
pub(crate) fn target_encoded(value: &[u8]) -> Cow<'_, [u8]> {
    let can_stand = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}#".contains(&byte);
    if value.iter().all(|byte| can_stand(*byte)) {
        return Cow::Borrowed(value);
    }
    let mut encoded = Vec::with_capacity(value.len() + 8);
    for byte in value {
        match can_stand(*byte) {
            true => encoded.push(*byte),
            false => encoded.extend_from_slice(percent_encoded(&[*byte]).as_bytes()),
        }
    }
    Cow::Owned(encoded)
}

/// A field that is a number.
#[derive(Clone, Copy, Debug)]
pub struct NumberField {
    /// Limits of a random number; `None` for the index of the request.
    pub(super) range: Option<(u64, u64)>,
    pub(super) salt: u64,
}

impl NumberField {
    /// Returns its value in the request with this index; `seed` is that of the run.
    #[inline]
    pub fn value(&self, seed: u64, index: u64) -> u64 {
        match self.range {
            None => index,
            Some((least, greatest)) => random(least..=greatest, seed, index, self.salt),
        }
    }
}

impl TemplateField {
    /// Parses the text between the braces of a field in a text of this form.
    ///
    /// # Errors
    /// If it is no field, or has no value.
    pub(super) fn parse(
        whole: &str,
        form: TextForm,
        sources: &FieldSources<'_>,
    ) -> Result<TemplateField, String> {
        if let Some(name) = whole.strip_prefix("user.") {
            let number = sources.captured.and_then(|all| all.iter().position(|it| it == name));
            let number = number.ok_or_else(|| {
                format!(
                    "{{{{{whole}}}}}: no step captures it; fields of users stand in the steps of a \
                 scenario"
                )
            });
            return number.map(|number| TemplateField::Captured(number, form));
        }
        let (kind, argument) = whole.split_once(':').unwrap_or((whole, ""));
        match (kind, argument) {
            ("seq", "") => Ok(TemplateField::Index),
            ("uuid", "") => Ok(TemplateField::Uuid),
            ("session" | "history", "") if sources.captured.is_none() => Err(format!(
                "{{{{{kind}}}}} stands in the steps of a scenario, or in a list with sessions"
            )),
            ("session", "") => Ok(TemplateField::Session),
            ("history", "") if form == TextForm::Json => Ok(TemplateField::History),
            ("history", "") => Err(format!(
                "{{{{{kind}}}}} is an array of JSON: it stands in a JSON body, as in \
                 \"messages\": {{{{history}}}}"
            )),
            ("rand", range) => {
                let range = range.split_once(':');
                let range = range.and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
                match range {
                    Some((least, greatest)) if least <= greatest => {
                        Ok(TemplateField::Random { least, greatest })
                    }
                    _ => Err(format!("{{{{{whole}}}}}: write {{{{rand:1:1000}}}}")),
                }
            }
            ("csv", column) => {
                let Some(table) = sources.table else {
                    return Err(format!(
                        "{{{{{whole}}}}}: there are no rows to take it from; give a CSV file by \
                         {ROWS}"
                    ));
                };
                table.column(column).map(|column| TemplateField::Column(column, form)).ok_or_else(
                    || {
                        let columns = table.columns().join(", ");
                        format!("{{{{{whole}}}}}: the rows have no such column, but {columns}")
                    },
                )
            }
            _ => Err(format!(
                "{{{{{whole}}}}} is no field: there are seq, rand:A:B, uuid, csv:COLUMN, \
                 env:NAME, file:PATH and in scenarios user.NAME, session and history; a single {{ \
                 is literal"
            )),
        }
    }
}

/// Returns the random number of the field with this salt.
#[inline]
fn random(range: RangeInclusive<u64>, seed: u64, index: u64, salt: u64) -> u64 {
    let random = mixed(seed ^ salt, index);
    match range.end() - range.start() {
        u64::MAX => random,
        span => range.start() + below(span + 1, random),
    }
}

fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |log| log as usize + 1)
}

impl TemplateField {
    /// Returns the length of its value in bytes; 0 for the length of the body.
    pub(super) fn length(&self, values: Values<'_>, salt: u64) -> usize {
        match self {
            TemplateField::Column(column, form) => values.column(*column, *form).len(),
            TemplateField::Captured(number, form) => values.captured(*number, *form).len(),
            TemplateField::Uuid | TemplateField::Session => 36,
            TemplateField::History => values.history().map_or(EMPTY.len(), History::length),
            TemplateField::Index => digits(values.index),
            TemplateField::Random { least, greatest } => {
                digits(random(*least..=*greatest, values.seed, values.index, salt))
            }
            TemplateField::Cookies | TemplateField::Length => 0,
        }
    }

    /// Writes the value of the field with this salt into a place. False if it has
    /// another length.
    #[inline(always)]
    pub(super) fn fill(&self, values: Values<'_>, salt: u64, place: &mut [u8]) -> bool {
        match self {
            TemplateField::Index => fill_decimal(values.index, place),
            TemplateField::Random { least, greatest } => {
                fill_decimal(random(*least..=*greatest, values.seed, values.index, salt), place)
            }
            TemplateField::Column(column, TextForm::Plain) => {
                let value = values.row.get(*column).map_or(&[][..], |value| value);
                let fits = value.len() == place.len();
                if fits {
                    place.copy_from_slice(value);
                }
                fits
            }
            TemplateField::Uuid => self.fill_uuid(values, salt, place),
            TemplateField::Column(..)
            | TemplateField::Captured(..)
            | TemplateField::History
            | TemplateField::Session
            | TemplateField::Cookies
            | TemplateField::Length => false,
        }
    }

    #[inline(never)]
    fn fill_uuid(&self, values: Values<'_>, salt: u64, place: &mut [u8]) -> bool {
        let mut bytes = Vec::with_capacity(place.len());
        self.write(values, salt, &mut bytes);
        place.copy_from_slice(&bytes);
        true
    }

    /// Appends the value of the field with this salt.
    pub(super) fn write(&self, values: Values<'_>, salt: u64, bytes: &mut Vec<u8>) {
        match self {
            TemplateField::Index => decimal(values.index, bytes),
            TemplateField::Length => {} // not of the field alone
            TemplateField::Column(column, form) => {
                bytes.extend_from_slice(&values.column(*column, *form));
            }
            TemplateField::Captured(number, form) => {
                bytes.extend_from_slice(&values.captured(*number, *form));
            }
            TemplateField::History => match values.history() {
                Some(history) => history.write(bytes),
                None => bytes.extend_from_slice(EMPTY),
            },
            TemplateField::Session => {
                let [high, low] = values.user.map_or([0; 2], |user| user.session);
                uuid(high, low, bytes);
            }
            TemplateField::Cookies => {
                let cookies = values.user.map_or(&[][..], |user| user.cookies);
                if !cookies.is_empty() {
                    bytes.extend_from_slice(b"Cookie: ");
                    bytes.extend_from_slice(cookies);
                    bytes.extend_from_slice(b"\r\n");
                }
            }
            TemplateField::Random { least, greatest } => {
                decimal(random(*least..=*greatest, values.seed, values.index, salt), bytes);
            }
            TemplateField::Uuid => {
                let half = |half: u64| mixed(values.seed ^ mixed(salt, 2 + half), values.index);
                uuid(half(0), half(1), bytes);
            }
        }
    }
}

/// Writes a number in decimal digits into a place. False if it has more or fewer.
#[inline]
pub fn fill_decimal(mut number: u64, place: &mut [u8]) -> bool {
    let (first, pairs) = place.as_rchunks_mut::<2>();
    for pair in pairs.iter_mut().rev() {
        *pair = PAIRS[(number % 100) as usize];
        number /= 100;
    }
    if let [digit] = first {
        *digit = b'0' + (number % 10) as u8;
        number /= 10;
    }
    number == 0 && (place.len() == 1 || place.first().is_some_and(|first| *first != b'0'))
}

/// The digits of the numbers below 100.
static PAIRS: [[u8; 2]; 100] = {
    let mut pairs = [[0; 2]; 100];
    let mut number = 0;
    while number < pairs.len() {
        pairs[number] = [b'0' + number as u8 / 10, b'0' + number as u8 % 10];
        number += 1;
    }
    pairs
};

/// Appends a number in decimal digits.
pub(super) fn decimal(mut number: u64, bytes: &mut Vec<u8>) {
    let mut text = [0; 20];
    let mut at = text.len();
    loop {
        at -= 1;
        text[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    bytes.extend_from_slice(&text[at..]);
}

/// Appends a UUID of version 4 (RFC 9562 §5.4) made of these bits.
fn uuid(high: u64, low: u64, bytes: &mut Vec<u8>) {
    let high = high & !0xf000 | 0x4000;
    let low = low & (u64::MAX >> 2) | 1 << 63;
    let mut text = String::with_capacity(36);
    let _infallible = write!(
        text,
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        high >> 32,
        high >> 16 & 0xffff,
        high & 0xffff,
        low >> 48,
        low & 0xffff_ffff_ffff
    );
    bytes.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str, form: TextForm) -> String {
        let captured = [Some(value.as_bytes().into())];
        let user = UserTexts { captured: &captured, ..UserTexts::default() };
        let values = Values { user: Some(&user), ..Values::default() };
        let field = TemplateField::Captured(0, form);
        let mut bytes = Vec::new();
        field.write(values, 0, &mut bytes);
        assert_eq!(field.length(values, 0), bytes.len());
        String::from_utf8(bytes).expect("text")
    }

    #[test]
    fn captured_values_fit_their_texts() {
        for (value, form, expected) in [
            ("a \"b\"\n", TextForm::Plain, "a \"b\"\n"),
            ("a \"b\"\n\\", TextForm::Json, "a \\\"b\\\"\\n\\\\"),
            ("ä", TextForm::Json, "ä"),
            ("plain", TextForm::Json, "plain"),
            ("a b&c=ä", TextForm::Encoded, "a+b%26c%3D%C3%A4"),
            ("/a?b=c%20d", TextForm::Target, "/a?b=c%20d"),
            ("/a b/ä#x", TextForm::Target, "/a%20b/%C3%A4%23x"),
            ("a+b/c==&d%", TextForm::Query, "a%2Bb%2Fc%3D%3D%26d%25"),
        ] {
            assert_eq!(written(value, form), expected, "{value} {form:?}");
        }
    }

    #[test]
    fn a_value_that_is_not_there_is_empty() {
        let field = TemplateField::Captured(3, TextForm::Plain);
        assert_eq!(field.length(Values::default(), 0), 0);
    }

    #[test]
    fn values_of_the_environment_are_written_as_their_text_needs_it() {
        for (form, expected) in [
            (TextForm::Plain, "a \"b\"&ü"),
            (TextForm::Target, "a \"b\"&ü"),
            (TextForm::Json, "a \\\"b\\\"&ü"),
            (TextForm::Encoded, "a+%22b%22%26%C3%BC"),
        ] {
            assert_eq!(form.written("a \"b\"&ü".to_owned()), expected, "{form:?}");
        }
    }
}
