//! The reading of a message's content (METHOD 1.26): what it counts as, and the server's counts of
//! tokens in it.

use anyhow::{Context, Result, anyhow};
use weir_http::{MessageContent, MessageKind, MessageReader, MessageReading, TokenUsage};
use weir_requests::expect::JsonPointer;
use weir_text::setting::TOKENS;

use super::event_members::EventMembers;

/// Places of tokens in the JSON of messages, and of the server's count of them.
#[derive(Clone, Debug)]
pub(super) struct TokenPlaces {
    places: Vec<TokenPlace>,
    /// Place of the count; `None`: where OpenAI and Anthropic have it.
    usage: Option<JsonPointer>,
}

/// A place of tokens.
#[derive(Clone, Debug)]
struct TokenPlace {
    pointer: JsonPointer,
    /// True if its tokens are of the reasoning.
    is_of_reasoning: bool,
}

/// Returns the reader of events that all count but for errors. Only what looks like an object with
/// an error is parsed.
pub(super) fn of_events() -> MessageReader {
    MessageReader::new(|content| {
        let MessageContent { kind, data, .. } = content;
        let may_fail = kind == MessageKind::Counted && data.trim_ascii_start().starts_with(b"{");
        let has_error =
            may_fail && content.contains(b"\"error\"") && EventMembers::of(data).has_error;
        MessageReading::of_kind(if has_error { MessageKind::Error } else { kind })
    })
}

impl TokenPlaces {
    /// Parses places; `None` without any.
    ///
    /// # Errors
    /// When one is wrong.
    pub(super) fn parse(tokens: &[String], usage: Option<&str>) -> Result<Option<TokenPlaces>> {
        let place = |text: &String| -> Result<TokenPlace> {
            let parts = [("reasoning=", true), ("answer=", false)];
            let given = parts.into_iter().find_map(|(prefix, is_of_reasoning)| {
                Some((text.strip_prefix(prefix)?, is_of_reasoning))
            });
            let (text, is_of_reasoning) = given.unwrap_or_else(|| {
                let name = text.rsplit('/').next().unwrap_or_default();
                (text, ["reason", "think"].iter().any(|word| name.contains(word)))
            });
            Ok(TokenPlace { pointer: pointer(text)?, is_of_reasoning })
        };
        let usage = usage.map(pointer).transpose()?;
        let places = tokens.iter().map(place).collect::<Result<Vec<_>>>()?;
        Ok((!places.is_empty()).then_some(TokenPlaces { places, usage }))
    }

    /// True if tokens of the reasoning are told apart from others.
    pub(super) fn tells_reasoning(&self) -> bool {
        self.places.iter().any(|place| place.is_of_reasoning)
            && self.places.iter().any(|place| !place.is_of_reasoning)
    }

    /// Returns the reader of events.
    pub(super) fn reader(self) -> MessageReader {
        MessageReader::new(move |content| self.read(content))
    }

    /// Reads the content of a message.
    pub(super) fn read(&self, content: MessageContent<'_>) -> MessageReading {
        let MessageContent { kind, data, is_cut } = content;
        if is_cut {
            let kind = if kind == MessageKind::Counted { MessageKind::TooLong } else { kind };
            return MessageReading::of_kind(kind);
        }
        let words: [&[u8]; 3] = [b"\"usage\"", b"\"error\"", b"\"type\""];
        let members = match words.iter().any(|word| content.contains(word)) {
            true => EventMembers::of(data),
            false => EventMembers::default(),
        };
        let usage = match &self.usage {
            Some(place) => TokenUsage { output: count_at(place, data), ..members.usage },
            None => members.usage,
        };
        let kind = match kind {
            MessageKind::Counted if members.has_error => MessageKind::Error,
            MessageKind::Counted if members.is_end => MessageKind::EndMark,
            MessageKind::Counted => self.kind_of(data),
            kind => kind,
        };
        MessageReading { kind, usage }
    }

    /// Returns the meaning of a message by its values: that of the first place that has one.
    fn kind_of(&self, data: &[u8]) -> MessageKind {
        let mut places = self.places.iter();
        match places.find(|place| place.pointer.has_value(data)) {
            Some(TokenPlace { is_of_reasoning: true, .. }) => MessageKind::Reasoning,
            Some(_) => MessageKind::Counted,
            None => MessageKind::Other,
        }
    }
}

/// Returns the place of a token, or of a count.
fn pointer(text: impl AsRef<str>) -> Result<JsonPointer> {
    let pointer = text.as_ref().strip_prefix("json:").with_context(|| {
        format!(
            "{TOKENS} is json: and a JSON pointer, as json:/choices/0/delta/content, with \
             reasoning= or answer= before it where its name does not say so"
        )
    })?;
    pointer.parse().map_err(|error| anyhow!("{TOKENS}: {error}"))
}

/// Returns the count that stands at a place.
fn count_at(place: &JsonPointer, data: &[u8]) -> Option<u32> {
    place.value(data)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &str = "json:/choices/0/delta/content";

    fn read(places: &TokenPlaces, kind: MessageKind, text: &str) -> MessageReading {
        places.read(MessageContent { kind, data: text.as_bytes(), is_cut: false })
    }

    fn places(tokens: &[&str], usage: Option<&str>) -> TokenPlaces {
        let tokens: Vec<String> = tokens.iter().map(|&text| text.to_owned()).collect();
        TokenPlaces::parse(&tokens, usage).expect("valid places").expect("places")
    }

    #[test]
    fn the_first_place_that_has_a_value_counts() {
        let both = places(&["json:/choices/0/delta/reasoning", ANSWER], None);
        assert!(both.tells_reasoning() && !places(&[ANSWER], None).tells_reasoning());
        let kind = |text: &str| read(&both, MessageKind::Counted, text).kind;
        let delta = |of: &str| format!(r#"{{"choices": [{{"delta": {of}}}]}}"#);
        assert_eq!(kind(&delta(r#"{"reasoning": "x"}"#)), MessageKind::Reasoning);
        assert_eq!(kind(&delta(r#"{"content": "x"}"#)), MessageKind::Counted);
        let of_both = delta(r#"{"content": "x", "reasoning": "y"}"#);
        assert_eq!(kind(&of_both), MessageKind::Reasoning);
        assert_eq!(kind(&delta(r#"{"content": "", "reasoning": null}"#)), MessageKind::Other);
        assert_eq!(kind(r#"{"error": {"message": "x"}}"#), MessageKind::Error);
        assert_eq!(kind(r#"{"type": "message_stop"}"#), MessageKind::EndMark);
    }

    #[test]
    fn a_place_is_of_the_reasoning_by_its_name_or_as_it_is_given() {
        let kinds = |tokens: &[&str]| {
            let places = places(tokens, None);
            let kind = |text: &str| read(&places, MessageKind::Counted, text).kind;
            (kind(r#"{"a": "x"}"#), kind(r#"{"thinking": "x"}"#), places.tells_reasoning())
        };
        let reasoning = MessageKind::Reasoning;
        let answer = MessageKind::Counted;
        assert_eq!(kinds(&["json:/a", "json:/thinking"]), (answer, reasoning, true));
        assert_eq!(kinds(&["reasoning=json:/a", "json:/thinking"]), (reasoning, reasoning, false));
        let given = ["reasoning=json:/a", "answer=json:/thinking"];
        assert_eq!(kinds(&given), (reasoning, answer, true));
        let wrong = TokenPlaces::parse(&["thought=json:/a".to_owned()], None);
        assert!(wrong.is_err_and(|why| why.to_string().contains("reasoning= or answer=")));
    }

    #[test]
    fn a_name_of_an_event_decides_and_its_counts_are_read() {
        let places = places(&[ANSWER], None);
        let text = r#"{"response": {"usage": {"output_tokens": 7}}}"#;
        let reading = read(&places, MessageKind::EndMark, text);
        assert_eq!((reading.kind, reading.usage.output), (MessageKind::EndMark, Some(7)));
        let long = MessageContent { kind: MessageKind::Counted, data: b"{", is_cut: true };
        assert_eq!(places.read(long), MessageReading::of_kind(MessageKind::TooLong));
    }

    #[test]
    fn a_count_may_stand_at_a_place_of_the_users_choice() {
        let places = places(&[ANSWER], Some("json:/n/0"));
        let usage = |text: &str| read(&places, MessageKind::Counted, text).usage;
        let output = |text: &str| usage(text).output;
        assert_eq!(output(r#"{"n": [5], "usage": {"completion_tokens": 9}}"#), Some(5));
        assert_eq!(output(r#"{"usage": {"completion_tokens": 9}}"#), None);
        assert_eq!(output(r#"{"n": ["6"]}"#), Some(6));
        let cached = r#"{"usage": {"prompt_tokens_details": {"cached_tokens": 4}}}"#;
        assert_eq!(usage(cached).cached, Some(4));
    }

    #[test]
    fn errors_among_plain_events_are_found() {
        let format = weir_http::MessageFormat {
            framing: weir_http::MessageFraming::EventStream,
            reader: Some(of_events()),
        };
        let mut client = weir_http::Http1::new(1);
        client.set_interest(weir_http::Interest::Head, &weir_http::BodyBudget::default());
        client.set_messages(&format);
        client.request(weir_http::RequestTraits::default());
        let body = "data: tick\n\ndata: {\"error\": null}\n\ndata: {\"error\": \"x\"}\n\n";
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
        let mut events = Vec::new();
        client.receive((head + body).as_bytes(), &mut events).expect("a valid response");
        let kinds: Vec<_> = client.messages().iter().map(|message| message.kind).collect();
        assert_eq!(kinds, [MessageKind::Counted, MessageKind::Counted, MessageKind::Error]);
    }
}
