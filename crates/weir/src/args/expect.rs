//! The flags of expectations and of messages within responses.

use clap::Args;
use weir_result::MessageProtocol;
use weir_runner::{ExpectSpec, MessageSpec};

use super::values::decoded_body;

/// Heading of the flags of expectations.
const HEADING: &str = "Request";

/// Heading of the flags of messages within responses.
const STREAMS: &str = "Streams";

/// The flags of expectations.
#[derive(Debug, Args)]
#[command(next_help_heading = HEADING)]
pub(crate) struct ExpectArgs {
    /// Count a response as bad unless it has this: status=200-299 (instead of below 400),
    /// grpc-status=0,NOT_FOUND, header:NAME, header:NAME=VALUE, body~REGEX, json:/POINTER=VALUE, or
    /// same (all bodies of a name are equal); repeatable
    #[arg(long, value_name = "EXPECTATION")]
    expect: Vec<String>,
    /// Measure each event of a text/event-stream: time to the first, gaps, events per second; by
    /// default if the preflight finds such a response
    #[arg(long, help_heading = STREAMS)]
    sse: bool,
    /// Count only messages with a value at this place of their JSON, as the tokens of a language
    /// model: json:/choices/0/delta/content; repeatable: the first that has one; reasoning=json:/…
    #[arg(long, value_name = "json:/POINTER", help_heading = STREAMS)]
    tokens: Vec<String>,
    /// Read the server's count of tokens here, instead of where OpenAI and Anthropic have it
    #[arg(long, value_name = "json:/POINTER", help_heading = STREAMS)]
    usage: Option<String>,
    /// Count the responses that meet this, as 'first < 500ms and gap p99 < 50ms'; also total, tpot,
    /// gap mean and gap max
    #[arg(long, value_name = "CONDITIONS", help_heading = STREAMS)]
    goodput: Option<String>,
    /// Longest decoded body that an expectation reads
    #[arg(long, value_name = "BYTES", value_parser = decoded_body, default_value = "8Mi")]
    expect_max_body: u64,
}

impl ExpectArgs {
    /// Returns the expectations of the specification.
    pub(super) fn spec(&self) -> ExpectSpec {
        ExpectSpec { all: self.expect.clone(), body_max_bytes: self.expect_max_body }
    }

    /// Returns the choices of messages of the specification.
    pub(super) fn messages(&self) -> MessageSpec {
        MessageSpec {
            protocol: self.sse.then_some(MessageProtocol::Sse),
            tokens: self.tokens.clone(),
            usage: self.usage.clone(),
            goodput: self.goodput.clone(),
            only_given: false,
        }
    }
}
