//! The upgrade to WebSocket before the load: one connection is opened, and closed in order.

use std::io;
use std::sync::Arc;

use weir_http::ws::WsClient;
use weir_http::{Head, Multiplexed, read_head};
use weir_io::{Backend, Nanos};
use weir_result::document::Preflight;
use weir_result::{Plan, WebSocketPlan};

use super::link::Link;
use super::result::PreflightResult;
use crate::prepare::draft::Draft;
use crate::prepare::websocket;

/// Opens the connection, and describes the response. No message is sent, so that none is counted.
///
/// # Errors
/// When there is no valid response.
pub(super) fn exchange<B: Backend>(
    link: &mut Link<B>,
    draft: &Draft,
    websocket: WebSocketPlan,
    started: Nanos,
    result: &mut PreflightResult,
) -> io::Result<Preflight> {
    let plan: &Plan = &draft.plan;
    let options = Arc::new(websocket::options(plan, websocket, &draft.request));
    let mut client = WsClient::new(1, &options, link.now().0);
    client.open(link.now().0);
    let mut out = Vec::new();
    client.poll_transmit(&mut out);
    link.send(&out)?;
    result.trace.iter_mut().for_each(|trace| trace.sent_http1(&out));
    result.step("upgrade sent", started, link.now());
    let (mut received, mut events) = (Vec::new(), Vec::new());
    loop {
        let bytes = link.receive()?;
        received.extend_from_slice(&bytes);
        result.step("first byte", started, link.now());
        let read = client.receive(&bytes, link.now().0, &mut events);
        let final_head = final_head(&received).map_err(io::Error::other)?;
        if let Some(head) = &final_head
            && let Some(trace) = &mut result.trace
        {
            trace.upgraded(head);
            trace.step("last byte", started, link.now());
        }
        match (read, final_head) {
            (Ok(()), None) => {}
            // Another status than 101 is shown as that of any response.
            (Err(error), Some(head)) if head.status == 101 => return Err(io::Error::other(error)),
            (Err(error), None) => return Err(io::Error::other(error)),
            (_, Some(head)) => {
                let response = describe(&head, link.now().since(started));
                close(link, &mut client)?;
                return Ok(response);
            }
        }
        if bytes.is_empty() {
            return Err(io::Error::other("the connection was closed before a response"));
        }
    }
}

/// Closes the connection, if it is open. Its server may answer, which nothing waits for.
fn close<B: Backend>(link: &mut Link<B>, client: &mut WsClient) -> io::Result<()> {
    let mut out = Vec::new();
    client.close();
    client.poll_transmit(&mut out);
    link.send(&out)
}

/// Returns the head of the final response, or of the upgrade.
fn final_head(received: &[u8]) -> Result<Option<Head<'_>>, weir_http::ProtocolError> {
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
