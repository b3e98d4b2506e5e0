//! The upgrade to WebSocket before the load: one connection is opened, and closed in order. For
//! `--debug` a message is sent and its echo awaited.

use std::io;
use std::sync::Arc;

use weir_http::ws::WsClient;
use weir_http::{Head, Multiplexed, ProtocolError, StreamEvent, read_head};
use weir_io::{Backend, Nanos};
use weir_result::WebSocketPlan;
use weir_result::document::Preflight;
use weir_text::setting::HEADER;
use weir_text::{brief, units};

use super::link::{Link, is_late};
use super::message_log::MESSAGES_MAX;
use super::result::PreflightResult;
use super::trace::ExchangeTrace;
use crate::prepare::draft::Draft;
use crate::prepare::websocket;

/// The reason why no connection of the load could be opened, although the server responds.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct UpgradeFault(String);

impl UpgradeFault {
    /// Returns the fault of a response with status 101, which names the field.
    fn of_head(error: ProtocolError, head: &Head<'_>, websocket: WebSocketPlan) -> UpgradeFault {
        let offer = if websocket.deflate { "permessage-deflate was" } else { "nothing was" };
        let values = |name: &str| {
            let fields = head.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
            let values = fields.map(|(_, value)| brief(&String::from_utf8_lossy(value)));
            values.collect::<Vec<_>>()
        };
        let fault = match error {
            ProtocolError::UpgradeExtension => {
                let extensions = values("sec-websocket-extensions").join(", ");
                format!(
                    "Sec-WebSocket-Extensions: {extensions} was not offered ({offer}); correct \
                     the server"
                )
            }
            ProtocolError::UpgradeProtocol => {
                let protocols = values("sec-websocket-protocol").join(", ");
                format!(
                    "Sec-WebSocket-Protocol: {protocols} was not offered; offer it with \
                         {HEADER}, or correct the server"
                )
            }
            ProtocolError::UpgradeAccept => match &values("sec-websocket-accept")[..] {
                [] => "Sec-WebSocket-Accept is missing; correct the server".to_owned(),
                [one] => format!(
                    "Sec-WebSocket-Accept: {one} does not fit the key; correct the \
                                  server"
                ),
                several => format!(
                    "Sec-WebSocket-Accept is there {} times; correct the server",
                    several.len()
                ),
            },
            other => format!("{other}; check the URL"),
        };
        UpgradeFault(format!("the server's 101 is no upgrade to WebSocket: {fault}"))
    }

    /// Returns the fault of a connection that the server closed; `None` if it did not.
    fn of_close(client: &WsClient) -> Option<UpgradeFault> {
        let reason = client.goaway()?.name;
        let text = brief(&format!("{reason} {}", client.goaway_text()));
        Some(UpgradeFault(format!(
            "the server ended the connection (Close frame: {})",
            text.trim()
        )))
    }
}

/// Opens the connection, and describes the response. No message is sent but the first of each
/// connection, so that none is counted; with a trace one more.
///
/// # Errors
/// When there is no valid response, or the connection does not get open.
pub(super) fn exchange<B: Backend>(
    link: &mut Link<B>,
    draft: &Draft,
    websocket: WebSocketPlan,
    started: Nanos,
    result: &mut PreflightResult,
) -> io::Result<Preflight> {
    let first = draft.first_message.as_ref();
    let mut options = websocket::options(&draft.plan, websocket, &draft.request, first);
    options.keeps_messages = result.trace.is_some();
    let mut client = WsClient::new(1, &Arc::new(options), link.now().0);
    client.open(link.now().0);
    let upgrade = link.transmit(&mut client)?;
    result.trace.iter_mut().for_each(|trace| trace.sent_http1(&upgrade));
    result.step("upgrade sent", started, link.now());
    let (mut received, mut events, mut response) = (Vec::new(), Vec::new(), None);
    loop {
        let bytes = link.receive().map_err(|error| match response {
            Some(_) if is_late(&error) => silent(draft),
            _ => error,
        })?;
        let now = link.now();
        result.step("first byte", started, now);
        let read = client.receive(&bytes, now.0, &mut events);
        if response.is_none() {
            received.extend_from_slice(&bytes);
            if let Some(head) = final_head(&received).map_err(io::Error::other)? {
                result.trace.iter_mut().for_each(|trace| trace.upgraded(&head));
                result.step("upgraded", started, now);
                let described = describe(&head, now.since(started));
                match read {
                    // Another status than 101 is shown as that of any response.
                    _ if head.status != 101 => return Ok(described),
                    Err(error) => {
                        return Err(io::Error::other(UpgradeFault::of_head(
                            error, &head, websocket,
                        )));
                    }
                    Ok(()) => {}
                }
                response = Some(described);
                if let (Some(trace), Some(first)) = (&mut result.trace, &draft.first_message) {
                    trace.message(started, now, true, first);
                }
            }
        }
        result.trace.iter_mut().for_each(|trace| show(trace, &client, started, now));
        read.map_err(io::Error::other)?;
        link.transmit(&mut client)?;
        if let Some(fault) = UpgradeFault::of_close(&client) {
            return Err(io::Error::other(fault));
        }
        if let Some(response) = response.take_if(|_| client.is_open()) {
            if let Some(trace) = &mut result.trace {
                converse(link, draft, &mut client, started, trace)?;
            }
            // Its server may answer the Close frame, which nothing waits for.
            client.close();
            link.transmit(&mut client)?;
            return Ok(response);
        }
        if bytes.is_empty() {
            return Err(io::Error::other("the connection was closed before a response"));
        }
    }
}

/// Sends the run's message, unless it has none, and shows what the server sends until the echo.
fn converse<B: Backend>(
    link: &mut Link<B>,
    draft: &Draft,
    client: &mut WsClient,
    started: Nanos,
    trace: &mut ExchangeTrace,
) -> io::Result<()> {
    let within = units::exact_duration(draft.plan.load.timeout_ns);
    let is_idle = draft.plan.is_idle();
    if !is_idle {
        let request = Arc::new(draft.request.request(draft.plan.target.scheme.as_str()));
        client.request(&request, link.now().0);
        link.transmit(client)?;
        trace.message(started, link.now(), true, request.body());
    }
    let mut events: Vec<StreamEvent> = Vec::new();
    while !events.iter().any(|event| event.kind.is_last()) {
        if trace.messages.len() >= MESSAGES_MAX {
            trace.remarks.push(format!("more than {MESSAGES_MAX} messages: the rest is not shown"));
            return Ok(());
        }
        let bytes = match link.receive() {
            Err(error) if is_late(&error) && is_idle => {
                trace.remarks.push(format!("listened for {within}"));
                return Ok(());
            }
            Err(error) if is_late(&error) => {
                trace.problem = Some(format!("no echo within {within}"));
                return Ok(());
            }
            read => read?,
        };
        let now = link.now();
        let read = client.receive(&bytes, now.0, &mut events);
        show(trace, client, started, now);
        read.map_err(io::Error::other)?;
        link.transmit(client)?;
        if let Some(fault) = UpgradeFault::of_close(client) {
            trace.problem = Some(fault.to_string());
            return Ok(());
        }
        if bytes.is_empty() {
            return Err(io::Error::other("the connection was closed without a Close frame"));
        }
    }
    trace.step("echo", started, link.now());
    Ok(())
}

/// Adds the messages of the last call to a trace.
fn show(trace: &mut ExchangeTrace, client: &WsClient, started: Nanos, now: Nanos) {
    for content in client.received() {
        trace.message(started, now, false, content);
    }
}

/// The error of a server that accepts the upgrade and then sends no message.
fn silent(draft: &Draft) -> io::Error {
    let first = match draft.first_message {
        Some(_) => "no message followed the first one",
        None => "the server sent no message",
    };
    io::Error::other(UpgradeFault(format!("{first}, so that the connection is never open")))
}

/// Returns the head of the final response, or of the upgrade.
fn final_head(received: &[u8]) -> Result<Option<Head<'_>>, ProtocolError> {
    let mut rest = received;
    while let Some(head) = read_head(rest)? {
        if head.status >= 200 || head.status == 101 {
            return Ok(Some(head));
        }
        rest = &rest[head.bytes..];
    }
    Ok(None)
}

fn describe(head: &Head<'_>, elapsed_ns: u64) -> Preflight {
    let text = |name| head.header(name).map(|value| String::from_utf8_lossy(value).into());
    Preflight {
        status: head.status,
        http_version: if head.status == 101 { "WebSocket" } else { head.version }.to_owned(),
        server: text("server"),
        location: text("location"),
        body_bytes: None,
        address: String::new(),
        elapsed_ns,
    }
}
