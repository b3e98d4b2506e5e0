//! The memory of a user: it lasts from one step to the next.

use weir_http::ReceivedResponse;

use crate::expect::BodyDecoder;
use crate::list::{History, Template, UserTexts, Values};
use crate::scenario::{Asked, CaptureRule, CookieJar, NoValue, SiteOrigin, UserDraws, ValueSource};

/// Least length of a value that is hidden, in bytes. Shorter ones stand in any text.
const HIDDEN_MIN_BYTES: usize = 4;

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

    /// Takes the values, which are secrets, out of a text. `names` are theirs, by number.
    pub fn hide(&self, names: &[String], text: &mut String) {
        for (value, name) in self.captured.iter().zip(names) {
            let value = value.as_deref().filter(|value| value.len() >= HIDDEN_MIN_BYTES);
            let Some(value) = value.and_then(|value| str::from_utf8(value).ok()) else { continue };
            if text.contains(value) {
                *text = text.replace(value, &format!("[user.{name}]"));
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

    /// Keeps the values of a response to the request `asked`, whose cookies it has, and the model's
    /// answer to the messages of this turn.
    ///
    /// # Errors
    /// If one is missing.
    pub fn keep_values<'a>(
        &mut self,
        captures: &'a [CaptureRule],
        answer: Option<&'a ValueSource>,
        asked: Asked<'_>,
        response: &ReceivedResponse<'_>,
        decoder: &mut BodyDecoder,
    ) -> Result<(), MissingValue<'a>> {
        for rule in captures {
            let value = rule.capture(asked, response, &self.jar, decoder);
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
