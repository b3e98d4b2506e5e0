//! The upgrade to WebSocket before the load: one connection is opened, and closed in order. For
//! `--debug` a message is sent and its echo awaited.

use std::io;
use std::sync::Arc;

use weir_http::ws::WsClient;
use weir_http::{ExchangeError, Head, ProtocolError, SingleExchange};
use weir_io::{Backend, Nanos};
use weir_result::WebSocketPlan;
use weir_result::document::Preflight;
use weir_text::setting::HEADER;
use weir_text::{brief, units};

use super::message_log::MESSAGES_MAX;
use super::result::{PreflightResult, describe};
use super::trace::ExchangeTrace;
use crate::link::{ExchangeStep, Link, is_late};
use crate::prepare::load::PreparedLoad;
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

    /// Returns the fault because of which a connection did not get open; `None` if the server has
    /// accepted no upgrade.
    fn of_failure(
        error: &io::Error,
        exchange: &SingleExchange,
        load: &PreparedLoad,
        websocket: WebSocketPlan,
    ) -> Option<UpgradeFault> {
        let head = exchange.head()?;
        match error.get_ref().and_then(|cause| cause.downcast_ref()) {
            Some(ExchangeError::Upgrade(error)) => {
                Some(UpgradeFault::of_head(*error, &head, websocket))
            }
            Some(error) => UpgradeFault::of_close(error),
            None if is_late(error) => {
                let first = match load.websocket.first {
                    Some(_) => "no message followed the first one",
                    None => "the server sent no message",
                };
                Some(UpgradeFault(format!("{first}, so that the connection is never open")))
            }
            None => None,
        }
    }

    /// Returns the fault of a connection that the server closed; `None` if it did not.
    fn of_close(error: &ExchangeError) -> Option<UpgradeFault> {
        let ExchangeError::Ended { frame, reason } = error else { return None };
        let text = format!("the server ended the connection ({frame}: {})", brief(reason));
        Some(UpgradeFault(text))
    }
}

/// Opens the connection, and describes the response. No message is sent but the first of each
/// connection, so that none is counted; with a trace one more.
///
/// # Errors
/// When there is no valid response, or the connection does not get open.
pub(super) fn exchange<B: Backend>(
    link: &mut Link<B>,
    load: &PreparedLoad,
    websocket: WebSocketPlan,
    started: Nanos,
    result: &mut PreflightResult,
) -> io::Result<Preflight> {
    let mut options = websocket::options(websocket, &load.requests.request, &load.websocket);
    options.keeps_messages = result.trace.is_some();
    let now_ns = link.now().0;
    let client = WsClient::new(1, &Arc::new(options), now_ns);
    let mut exchange = SingleExchange::upgrade(client, now_ns);
    let ended = link.exchange(&mut exchange, |exchange, step, now| {
        match step {
            ExchangeStep::Sent(bytes) => {
                let trace = result.trace.as_mut().filter(|trace| trace.request.is_empty());
                trace.into_iter().for_each(|trace| trace.sent_http1(bytes));
                result.step("upgrade sent", started, now);
            }
            ExchangeStep::Received => {
                result.step("first byte", started, now);
                if let Some(trace) = &mut result.trace {
                    show(trace, exchange, load, started, now);
                }
            }
        }
        false
    });
    if let Err(error) = ended {
        let fault = UpgradeFault::of_failure(&error, &exchange, load, websocket);
        return Err(fault.map_or(error, io::Error::other));
    }
    let begun = Nanos(exchange.progress().begun_ns.unwrap_or(started.0));
    let response = describe(&exchange, started, begun)?;
    if response.status == 101 {
        if let Some(trace) = &mut result.trace {
            converse(link, load, &mut exchange, started, trace)?;
        }
        // Its server may answer the Close frame, which nothing waits for.
        exchange.close();
        link.transmit(&mut exchange)?;
    }
    Ok(response)
}

/// Sends the run's message, unless it has none, and shows what the server sends until the echo.
fn converse<B: Backend>(
    link: &mut Link<B>,
    load: &PreparedLoad,
    exchange: &mut SingleExchange,
    started: Nanos,
    trace: &mut ExchangeTrace,
) -> io::Result<()> {
    let is_idle = load.plan.is_idle();
    match is_idle {
        true => exchange.listen(),
        false => {
            let request = load.requests.request.request(load.target.scheme());
            exchange.request(&Arc::new(request));
        }
    }
    let mut is_shown = false;
    let ended = link.exchange(exchange, |exchange, step, now| {
        match (step, exchange.requested()) {
            (ExchangeStep::Received, _) => show(trace, exchange, load, started, now),
            (ExchangeStep::Sent(_), Some(request)) if exchange.progress().is_sent && !is_shown => {
                trace.message(started, now, true, request.body());
                is_shown = true;
            }
            (ExchangeStep::Sent(_), _) => {}
        }
        trace.messages.len() >= MESSAGES_MAX && !exchange.progress().is_complete
    });
    let within = units::exact_duration(load.plan.load.timeout_ns);
    match ended {
        Ok(()) if exchange.progress().is_complete => trace.step("echo", started, link.now()),
        Ok(()) => {
            trace.remarks.push(format!("more than {MESSAGES_MAX} messages: the rest is not shown"));
        }
        Err(error) if is_late(&error) && is_idle => {
            trace.remarks.push(format!("listened for {within}"));
        }
        Err(error) if is_late(&error) => trace.problem = Some(format!("no echo within {within}")),
        Err(error) => {
            let cause = error.get_ref().and_then(|cause| cause.downcast_ref());
            match cause.and_then(UpgradeFault::of_close) {
                Some(fault) => trace.problem = Some(fault.to_string()),
                None if cause == Some(&ExchangeError::Closed) => {
                    let text = "the connection was closed without a Close frame";
                    return Err(io::Error::other(text));
                }
                None => return Err(error),
            }
        }
    }
    Ok(())
}

/// Shows what the last bytes completed: the response to the upgrade, and messages.
fn show(
    trace: &mut ExchangeTrace,
    exchange: &SingleExchange,
    load: &PreparedLoad,
    started: Nanos,
    now: Nanos,
) {
    if let Some(head) = exchange.head().filter(|_| trace.response.is_empty()) {
        trace.upgraded(&head);
        trace.step("upgraded", started, now);
        let is_accepted = head.status == 101 && exchange.progress().fault.is_none();
        if let Some(first) = load.websocket.first.as_ref().filter(|_| is_accepted) {
            trace.message(started, now, true, first);
        }
    }
    for content in exchange.contents() {
        trace.message(started, now, false, content);
    }
}
