//! Messages within responses: their rules, made from the specification.

mod event_members;
mod reading;

use anyhow::{Context, Result, anyhow, bail, ensure};
use weir_engine::{Goodput, MessageRules};
use weir_http::{MessageContent, MessageFormat, MessageFraming, MessageReader};
use weir_result::{MessagePlan, MessageProtocol};
use weir_text::setting::{GOODPUT, GRPC_PROTO, MESSAGES, PIPELINE, SCRIPT, TOKENS, USAGE};
use weir_verdict::{parse_response_condition, split_conditions};

use crate::prepare::grpc::GrpcCalls;
use crate::spec::{MessageSpec, RunSpec};
use reading::TokenPlaces;

/// The measurement of messages of a run.
#[derive(Clone, Debug)]
pub(crate) struct PreparedMessages {
    protocol: MessageProtocol,
    pub(crate) rules: MessageRules,
}

/// Returns the measurement that a specification gives, if it gives one. `calls` are those of gRPC;
/// messages are measured if the method streams them.
///
/// # Errors
/// When a rule is wrong, or messages cannot be measured in such a run.
pub(crate) fn prepare(
    spec: &RunSpec,
    calls: Option<&GrpcCalls>,
) -> Result<Option<PreparedMessages>> {
    let is_given = spec.messages.given().is_some();
    if let Some(calls) = calls {
        let is_measured = is_given || calls.streams_responses();
        return is_measured.then(|| PreparedMessages::of_calls(&spec.messages, calls)).transpose();
    }
    let Some(protocol) = spec.messages.given() else { return Ok(None) };
    if let Some(why) = why_not(spec) {
        bail!("{MESSAGES} {why}");
    }
    PreparedMessages::new(&spec.messages, protocol).map(Some)
}

/// True if the preflight may find messages, which are measured then.
pub(crate) fn may_be_found(spec: &RunSpec) -> bool {
    let is_open = spec.messages.given().is_none() && !spec.messages.only_given;
    is_open && spec.grpc.is_none() && why_not(spec).is_none()
}

/// The reason why a run cannot measure messages.
fn why_not(spec: &RunSpec) -> Option<String> {
    if spec.compat.is_some() {
        return Some("is not part of the dialects: use weir's own form".to_owned());
    }
    if spec.script.is_some() {
        return Some(format!("cannot be used with {SCRIPT}, which reads whole responses"));
    }
    (spec.load.pipeline > 1).then(|| {
        format!(
            "cannot be used with {PIPELINE}: a response would wait for the streams before it; \
             use more connections"
        )
    })
}

impl PreparedMessages {
    /// Returns the part of the plan, with the texts of the redacted specification.
    pub(crate) fn plan(&self, spec: &MessageSpec) -> MessagePlan {
        MessagePlan {
            protocol: self.protocol,
            tokens: spec.tokens.clone(),
            usage: spec.usage.clone(),
            goodput: spec.goodput.clone(),
        }
    }

    /// Returns the measurement of messages of calls.
    fn of_calls(spec: &MessageSpec, calls: &GrpcCalls) -> Result<PreparedMessages> {
        let places = TokenPlaces::parse(&spec.tokens, spec.usage.as_deref())?;
        let tells_reasoning = places.as_ref().is_some_and(TokenPlaces::tells_reasoning);
        let reader = match places {
            None => None,
            Some(places) => {
                let method = calls.method().with_context(|| {
                    format!("{TOKENS} reads messages, which needs a schema: give {GRPC_PROTO}")
                })?;
                let method = method.clone();
                Some(MessageReader::new(move |content| {
                    // Bytes that the schema does not describe have no value.
                    let json = match content.is_cut {
                        true => String::new(),
                        false => method.response(content.data).unwrap_or_default(),
                    };
                    places.read(MessageContent { data: json.as_bytes(), ..content })
                }))
            }
        };
        let format = Some(MessageFormat { framing: MessageFraming::Grpc, reader });
        PreparedMessages::of_format(spec, MessageProtocol::Grpc, format, tells_reasoning)
    }

    /// Returns the measurement of messages of this protocol.
    ///
    /// # Errors
    /// When a rule is wrong.
    pub(crate) fn new(spec: &MessageSpec, protocol: MessageProtocol) -> Result<PreparedMessages> {
        let places = TokenPlaces::parse(&spec.tokens, spec.usage.as_deref())?;
        let tells_reasoning = places.as_ref().is_some_and(TokenPlaces::tells_reasoning);
        let reader = places.map_or_else(reading::of_events, TokenPlaces::reader);
        let framing = match protocol {
            MessageProtocol::Sse => Some(MessageFraming::EventStream),
            MessageProtocol::Grpc | MessageProtocol::WebSocket => None,
        };
        let format = framing.map(|framing| MessageFormat { framing, reader: Some(reader) });
        PreparedMessages::of_format(spec, protocol, format, tells_reasoning)
    }

    fn of_format(
        spec: &MessageSpec,
        protocol: MessageProtocol,
        format: Option<MessageFormat>,
        tells_reasoning: bool,
    ) -> Result<PreparedMessages> {
        ensure!(
            spec.usage.is_none() || !spec.tokens.is_empty(),
            "{USAGE} is the number of tokens: {TOKENS} says which messages carry them"
        );
        let goodput = spec.goodput.as_deref().map(goodput).transpose()?;
        let rules = MessageRules { format, goodput, tells_reasoning };
        Ok(PreparedMessages { protocol, rules })
    }
}

/// Returns the conditions of a goodput.
fn goodput(text: &str) -> Result<Goodput> {
    let terms = split_conditions(text).into_iter().map(parse_response_condition);
    let terms = terms.collect::<Result<Vec<_>, _>>().map_err(|why| anyhow!("{GOODPUT}: {why}"))?;
    ensure!(
        terms.len() <= Goodput::TERMS_MAX,
        "{GOODPUT} has at most {} conditions",
        Goodput::TERMS_MAX
    );
    Ok(Goodput { terms })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_of_a_goodput() {
        let of = |text| goodput(text).map(|goodput| goodput.terms.len());
        assert!(of("TTFT < 500ms and itl p99.9 < 50ms").is_ok_and(|terms| terms == 2));
        for (text, part) in [
            ("first", "'first' is no condition of one response: there is no comparison"),
            (&["first < 1s"; 5].join(" and "), "at most 4"),
        ] {
            assert!(of(text).is_err_and(|why| why.to_string().contains(part)), "{text}");
        }
    }

    #[test]
    fn messages_are_refused_where_responses_wait_or_are_read_whole() {
        let mut spec = RunSpec::new("http://h/");
        assert!(may_be_found(&spec));
        let are_measured = |spec: &RunSpec| prepare(spec, None).map(|found| found.is_some());
        assert!(are_measured(&spec).is_ok_and(|are_measured| !are_measured));
        spec.messages.goodput = Some("first < 1s".to_owned());
        assert!(are_measured(&spec).is_ok_and(|are_measured| are_measured));
        assert!(!may_be_found(&spec));
        spec.load.pipeline = 2;
        assert!(are_measured(&spec).is_err());
        spec.messages = MessageSpec::default();
        assert!(are_measured(&spec).is_ok() && !may_be_found(&spec));
    }
}
