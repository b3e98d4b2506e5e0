//! The memory of a user: it lasts from one step to the next.

use weir_http::ReceivedResponse;

use crate::expect::BodyDecoder;
use crate::list::{
    History, Template, UserTexts, Values, form_encoded, percent_encoded, target_encoded,
};
use crate::scenario::{
    AnsweredRequest, CaptureRule, CookieJar, NoValue, SiteOrigin, UserDraws, ValueSource,
};

/// Least length of a value that is hidden, in bytes. Shorter ones stand in any text.
const HIDDEN_MIN_BYTES: usize = 4;

/// Least length of the begin of a value that is hidden where a text was cut, in bytes.
const CUT_MIN_BYTES: usize = 8;

/// Begin of the line that says how much of a body is shown.
const CUT_MARK: &str = "\n[";

/// The memory of a user: values, cookies and a conversation.
#[derive(Clone, Debug)]
pub struct UserMemory {
    /// Values that it captured or shares with all, by number.
    pub captured: Box<[Option<Box<[u8]>>]>,
    /// Its cookies.
    pub jar: CookieJar,
    /// Its conversation with a language model.
    pub history: History,
}

/// A value that a response lacks.
#[derive(Clone, Copy, Debug)]
pub struct MissingValue<'a> {
    /// Reason.
    pub why: NoValue,
    /// Where it should stand.
    pub source: &'a ValueSource,
}

/// Takes the begin of a value out of a text that was cut within it: at its end, or before the line
/// that says so.
fn hide_cut(value: &str, name: &str, text: &mut String) {
    for end in [Some(text.len()), text.rfind(CUT_MARK)].into_iter().flatten() {
        let before = &text.as_bytes()[..end];
        let most = value.len().min(end);
        let begins = (CUT_MIN_BYTES..=most).rev().filter(|length| value.is_char_boundary(*length));
        if let Some(length) =
            begins.into_iter().find(|it| before.ends_with(&value.as_bytes()[..*it]))
        {
            text.replace_range(end - length..end, &format!("[user.{name}]"));
            return;
        }
    }
}

/// Returns the forms in which a value stands in requests and responses: as it is, in a JSON string
/// with and without escapes of other characters than those of ASCII, in a form, and in a URL.
fn forms_of(value: &str) -> [String; 6] {
    let json = serde_json::Value::from(value).to_string();
    let json = json[1..json.len() - 1].to_owned();
    let escaped = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    let ascii: String = json.encode_utf16().map(escaped).collect();
    let value = value.to_owned();
    let percent = percent_encoded(value.as_bytes());
    let target = String::from_utf8_lossy(&target_encoded(value.as_bytes())).into_owned();
    let form = form_encoded(value.as_bytes());
    [value, json, ascii, percent, form, target]
}

impl UserMemory {
    /// Returns an empty memory, with room for this number of values.
    pub fn new(values: usize) -> UserMemory {
        UserMemory {
            captured: vec![None; values].into(),
            jar: CookieJar::default(),
            history: History::default(),
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.captured.fill(None);
        self.jar.clear();
        self.history.clear();
    }

    /// Returns the values of the fields in the requests of the user with these decisions and these
    /// cookies.
    pub fn texts<'a>(&'a self, draws: UserDraws, cookies: &'a [u8]) -> UserTexts<'a> {
        let UserMemory { captured, history, .. } = self;
        UserTexts { captured, cookies, history: Some(history), session: draws.session() }
    }

    /// Takes the values that all users share, the first ones by number.
    pub fn share(&mut self, values: &[Box<[u8]>]) {
        for (own, value) in self.captured.iter_mut().zip(values) {
            *own = Some(value.clone());
        }
    }

    /// Takes the values, which are secrets, out of a text, however they are encoded there. `names`
    /// are theirs, by number.
    pub fn hide(&self, names: &[String], text: &mut String) {
        for (value, name) in self.captured.iter().zip(names) {
            let value = value.as_deref().filter(|value| value.len() >= HIDDEN_MIN_BYTES);
            let value = value.and_then(|value| str::from_utf8(value).ok());
            for form in value.into_iter().flat_map(forms_of) {
                if text.contains(&form) {
                    *text = text.replace(&form, &format!("[user.{name}]"));
                }
                hide_cut(&form, name, text);
            }
        }
    }

    /// Adds the messages of a step to the conversation, in the place of those that the user has
    /// added in this turn. `values` are those of fields that are not of users.
    pub fn add_message(&mut self, message: &Template, draws: UserDraws, values: Values<'_>) {
        let mut history = std::mem::take(&mut self.history);
        let texts = self.texts(draws, &[]);
        message.render(Values { user: Some(&texts), ..values }, history.turn_mut());
        self.history = history;
    }

    /// Keeps the cookies of a response to a request with this path, received at this time in
    /// nanoseconds since 1970.
    pub fn keep_cookies(
        &mut self,
        response: &ReceivedResponse<'_>,
        path: &[u8],
        origin: &SiteOrigin,
        now_ns: u64,
    ) {
        let is_set = |name: &[u8]| name.eq_ignore_ascii_case(b"set-cookie");
        for (_, value) in response.fields().filter(|(name, _)| is_set(name)) {
            self.jar.store(value, path, origin, now_ns);
        }
    }

    /// Keeps the values of a response to `request`, whose cookies it has, and the model's
    /// answer to the messages of this turn.
    ///
    /// # Errors
    /// If one is missing.
    pub fn keep_values<'a>(
        &mut self,
        captures: &'a [CaptureRule],
        answer: Option<&'a ValueSource>,
        request: AnsweredRequest<'_>,
        response: &ReceivedResponse<'_>,
        decoder: &mut BodyDecoder,
    ) -> Result<(), MissingValue<'a>> {
        for rule in captures {
            let value = rule.capture(request, response, &self.jar, decoder);
            let value = value.map_err(|why| MissingValue { why, source: &rule.source })?;
            self.captured[rule.value] = Some(value);
        }
        let answer = answer.map(|source| {
            let answer = source.value(response, &self.jar, decoder);
            answer.map_err(|why| MissingValue { why, source })
        });
        self.history.settle(answer.transpose()?.as_deref());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_hidden_where_the_text_was_cut() {
        let mut memory = UserMemory::new(1);
        memory.captured[0] = Some(b"0123456789-secret"[..].into());
        for (text, expected) in [
            ("x=0123456789-se", "x=[user.key]"),
            (
                "x=0123456789-s\n[9000 bytes, the first 4096 shown]\n",
                "x=[user.key]\n[9000 bytes, the first 4096 shown]\n",
            ),
            ("x=0123456", "x=0123456"),
        ] {
            let mut shown = text.to_owned();
            memory.hide(&["key".to_owned()], &mut shown);
            assert_eq!(shown, expected);
        }
    }

    #[test]
    fn values_are_hidden_in_every_form() {
        let mut memory = UserMemory::new(2);
        memory.captured[1] = Some("a/\"ż 🎉".as_bytes().into());
        let names = ["none", "key"].map(str::to_owned);
        for text in [
            "a/\"ż 🎉",
            r#"a/\"ż 🎉"#,
            r#"a/\"\u017c \ud83c\udf89"#,
            "a%2F%22%C5%BC%20%F0%9F%8E%89",
            "a%2F%22%C5%BC+%F0%9F%8E%89",
            "a/%22%C5%BC%20%F0%9F%8E%89",
        ] {
            let mut shown = format!("?x={text};");
            memory.hide(&names, &mut shown);
            assert_eq!(shown, "?x=[user.key];", "{text}");
        }
    }
}
