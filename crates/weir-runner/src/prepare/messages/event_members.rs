//! The members of an event's JSON that servers of language models have in common: the counts of
//! tokens, the type and an error. They are found in one pass, and nothing is kept of the others.

use std::borrow::Cow;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use weir_http::TokenUsage;

/// The members found. Of a text that ends too early, those before its end.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct EventMembers {
    pub(super) usage: TokenUsage,
    /// Tokens of the request that `usage.input` lacks: Anthropic counts those of a cache apart.
    apart: u32,
    /// True with a member `error` at the top that is neither null, false nor empty, or with the
    /// type of an error.
    pub(super) has_error: bool,
    /// True with the type of an event that ends a stream.
    pub(super) is_end: bool,
}

impl EventMembers {
    /// Reads a JSON text.
    pub(super) fn of(text: &[u8]) -> EventMembers {
        let mut found = EventMembers::default();
        let mut json = serde_json::Deserializer::from_slice(text);
        // Text that is no JSON states nothing beyond the members found so far.
        let _is_json = MemberPlace::Top.within(&mut found).deserialize(&mut json).is_ok();
        let apart = std::mem::take(&mut found.apart);
        found.usage.input = found.usage.input.map(|input| input.saturating_add(apart));
        found
    }
}

/// MemberPlace of a value.
#[derive(Clone, Copy, Debug)]
enum MemberPlace {
    /// The whole text.
    Top,
    /// An object with `usage` in it: `response` of OpenAI, `message` of Anthropic.
    Holder,
    Usage,
    InputDetails,
    OutputDetails,
    Input,
    Output,
    Reasoning,
    Cached,
    /// Tokens of a cache that those of the input leave out: read from it, and written to it.
    CacheRead,
    CacheWritten,
    Error,
    Type,
    /// Nothing of interest.
    Other,
}

impl MemberPlace {
    /// Returns the place of a member of an object here.
    fn member(self, name: &str) -> MemberPlace {
        match (self, name) {
            (MemberPlace::Top, "error") => MemberPlace::Error,
            (MemberPlace::Top, "type") => MemberPlace::Type,
            (MemberPlace::Top, "message" | "response") => MemberPlace::Holder,
            (MemberPlace::Top | MemberPlace::Holder, "usage") => MemberPlace::Usage,
            (MemberPlace::Usage, "completion_tokens" | "output_tokens") => MemberPlace::Output,
            (MemberPlace::Usage, "prompt_tokens" | "input_tokens") => MemberPlace::Input,
            (MemberPlace::Usage, "cache_read_input_tokens") => MemberPlace::CacheRead,
            (MemberPlace::Usage, "cache_creation_input_tokens") => MemberPlace::CacheWritten,
            (MemberPlace::Usage, "prompt_tokens_details" | "input_tokens_details") => {
                MemberPlace::InputDetails
            }
            (MemberPlace::Usage, "completion_tokens_details" | "output_tokens_details") => {
                MemberPlace::OutputDetails
            }
            (MemberPlace::InputDetails, "cached_tokens") => MemberPlace::Cached,
            (MemberPlace::OutputDetails, "reasoning_tokens") => MemberPlace::Reasoning,
            _ => MemberPlace::Other,
        }
    }

    fn within(self, found: &mut EventMembers) -> Value<'_> {
        Value { place: self, found }
    }
}

/// A value at a place, whose reading fills the members found.
struct Value<'e> {
    place: MemberPlace,
    found: &'e mut EventMembers,
}

impl Value<'_> {
    fn count(self, number: u64) {
        let Value { place, found } = self;
        let number32 = u32::try_from(number).unwrap_or(u32::MAX);
        let count = Some(number32);
        match place {
            MemberPlace::Input => found.usage.input = count,
            MemberPlace::CacheRead => {
                found.usage.cached = count;
                found.apart = found.apart.saturating_add(number32);
            }
            MemberPlace::CacheWritten => found.apart = found.apart.saturating_add(number32),
            MemberPlace::Output => found.usage.output = count,
            MemberPlace::Reasoning => found.usage.reasoning = count,
            MemberPlace::Cached => found.usage.cached = count,
            MemberPlace::Error => found.has_error |= number != 0,
            _ => {}
        }
    }
}

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        match self.place {
            MemberPlace::Other => json.deserialize_ignored_any(IgnoredAny).map(|_| ()),
            _ => json.deserialize_any(self),
        }
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, is_true: bool) -> Result<(), E> {
        self.found.has_error |= is_true && matches!(self.place, MemberPlace::Error);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.count(number);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.found.has_error |= number != 0 && matches!(self.place, MemberPlace::Error);
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        if number >= 0.0 && number.fract() == 0.0 {
            self.count(number as u64);
        }
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        let Value { place, found } = self;
        match (place, text) {
            (MemberPlace::Error, "") => {}
            (MemberPlace::Error, _) | (MemberPlace::Type, "error" | "response.failed") => {
                found.has_error = true;
            }
            (MemberPlace::Type, "message_stop" | "response.completed" | "response.incomplete") => {
                found.is_end = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<(), A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {
            self.found.has_error |= matches!(self.place, MemberPlace::Error);
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let Value { place, found } = self;
        while let Some(MemberName(name)) = members.next_key()? {
            found.has_error |= matches!(place, MemberPlace::Error);
            members.next_value_seed(place.member(&name).within(found))?;
        }
        Ok(())
    }
}

/// The name of a member, borrowed if it has no escapes.
#[derive(serde::Deserialize)]
struct MemberName<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(output: u32, reasoning: Option<u32>, cached: Option<u32>) -> EventMembers {
        let usage = TokenUsage { input: None, output: Some(output), reasoning, cached };
        EventMembers { usage, ..EventMembers::default() }
    }

    fn with_input(input: u32, members: EventMembers) -> EventMembers {
        let usage = TokenUsage { input: Some(input), ..members.usage };
        EventMembers { usage, ..members }
    }

    #[test]
    fn counts_stand_where_servers_have_them() {
        let check = |text: &str, expected: EventMembers| {
            assert_eq!(EventMembers::of(text.as_bytes()), expected, "{text}");
        };
        // Chat completions of OpenAI, with `include_usage`; vLLM has the same in each chunk.
        check(
            r#"{"object": "chat.completion.chunk", "choices": [], "usage": {"prompt_tokens": 9,
                "completion_tokens": 40, "total_tokens": 49,
                "prompt_tokens_details": {"cached_tokens": 7, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 12}}}"#,
            with_input(9, usage(40, Some(12), Some(7))),
        );
        check(r#"{"choices": [{"delta": {}}], "usage": null}"#, EventMembers::default());
        // Responses of OpenAI.
        let completed = r#"{"type": "response.completed", "response": {"error": null,
            "usage": {"input_tokens": 8, "output_tokens": 21,
            "input_tokens_details": {"cached_tokens": 3},
            "output_tokens_details": {"reasoning_tokens": 5}}}}"#;
        check(
            completed,
            with_input(8, EventMembers { is_end: true, ..usage(21, Some(5), Some(3)) }),
        );
        // Messages of Anthropic: the input leaves out what the cache has or gets.
        check(
            r#"{"type": "message_start", "message": {"usage": {"input_tokens": 25,
                "cache_creation_input_tokens": 4, "cache_read_input_tokens": 11,
                "output_tokens": 1}}}"#,
            with_input(40, usage(1, None, Some(11))),
        );
        check(
            r#"{"type": "message_delta", "usage": {"output_tokens": 15}}"#,
            usage(15, None, None),
        );
        check(
            r#"{"type": "message_stop"}"#,
            EventMembers { is_end: true, ..EventMembers::default() },
        );
        // Members of other places and kinds.
        for text in [
            r#"{"choices": [{"usage": {"completion_tokens": 4}}], "message": "usage"}"#,
            r#"{"usage": {"completion_tokens": "4"}, "type": 7, "response": [{"usage": 1}]}"#,
            r#"{"usage": {"completion_tokens": -4}}"#,
            r#"{"usage": [{"completion_tokens": 4}]}"#,
            "no JSON",
            "",
        ] {
            check(text, EventMembers::default());
        }
        check(r#"{"usage": {"completion_tokens": 4"#, usage(4, None, None));
        check(r#"{"usage": {"output_tokens": 4.0}}"#, usage(4, None, None));
        check(r#"{"usage": {"output_tokens": 99999999999}}"#, usage(u32::MAX, None, None));
    }

    #[test]
    fn an_error_stands_at_the_top() {
        for text in [
            r#"{"error": {"message": "engine stopped", "code": 500}}"#,
            r#"{"id": 1, "error": "stopped"}"#,
            r#"{"error": true}"#,
            r#"{"error": -1}"#,
            r#"{"error": ["x"]}"#,
            r#"{"type": "error", "code": "x"}"#,
            r#"{"type": "response.failed", "response": {}}"#,
            r#"{"error": {"message": "#,
        ] {
            assert!(EventMembers::of(text.as_bytes()).has_error, "{text}");
        }
        for text in [
            r#"{"error": null}"#,
            r#"{"error": ""}"#,
            r#"{"error": {}}"#,
            r#"{"error": []}"#,
            r#"{"error": false}"#,
            r#"{"error": 0}"#,
            r#"{"choices": [{"error": {"message": "x"}}], "text": "\"error\": 1"}"#,
            r#"[{"error": "x"}]"#,
            r#""error""#,
        ] {
            assert!(!EventMembers::of(text.as_bytes()).has_error, "{text}");
        }
    }
}
