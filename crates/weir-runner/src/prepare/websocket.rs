//! WebSocket: the checks of a specification, the messages, and the options of the connections.

use std::sync::Arc;

use anyhow::{Context, Result, bail};
use weir_http::Prepared;
use weir_http::ws::{MessageKey, WsOptions};
use weir_requests::expect::FieldKey;
use weir_result::{Closer, WebSocketPlan};
use weir_text::setting::{
    BODY, CLOSE, DATA_MATCH, HEADER, HTTP, MESSAGES, METHOD, PIPELINE, RATE, REPLAY, SCRIPT,
    STREAMS, WS_ACK, WS_BINARY, WS_DEFLATE, WS_FIRST, WS_IDLE,
};

use crate::spec::url::Url;
use crate::spec::{HttpChoice, RunSpec, WebSocketSpec};

/// Header fields that weir sets itself in the upgrade, or does without.
const OWN_FIELDS: [&str; 5] = [
    "connection",
    "upgrade",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-version",
];

/// Returns the plan of the connections; `None` for a URL of HTTP.
///
/// # Errors
/// When another choice of the run excludes it.
pub(crate) fn plan(spec: &RunSpec, url: &Url) -> Result<Option<WebSocketPlan>> {
    let WebSocketSpec { matched_by, binary, idle, first, awaits_message, deflate } =
        &spec.websocket;
    if !url.is_websocket {
        let given = [
            (DATA_MATCH, matched_by.is_some()),
            (WS_BINARY, *binary),
            (WS_IDLE, *idle),
            (WS_FIRST, first.is_some()),
            (WS_ACK, *awaits_message),
            (WS_DEFLATE, *deflate),
        ];
        return match given.into_iter().find(|(_, is_given)| *is_given) {
            Some((setting, _)) => {
                bail!("{setting} needs WebSocket: use a URL with ws:// or wss://")
            }
            None => Ok(None),
        };
    }
    if let Some((what, why)) = excluded(spec) {
        bail!("{what} cannot be used with WebSocket: {why}");
    }
    if *idle && (spec.request.body.is_some() || spec.load.requests.is_some()) {
        bail!("{WS_IDLE} sends no message: drop it, or the message and the number of messages");
    }
    if *idle && spec.load.is_open_loop() {
        bail!("{WS_IDLE} sends no message: drop it, or {RATE}");
    }
    if *idle && *binary && first.is_none() {
        bail!("{WS_IDLE} sends no message: drop it, or {WS_BINARY}");
    }
    let first_bytes = first.as_ref().map(|first| u32::try_from(first.len()));
    Ok(Some(WebSocketPlan {
        in_flight: spec.http.streams.unwrap_or(1),
        binary: *binary,
        idle: *idle,
        first_bytes: first_bytes.transpose().context("the first message is too long")?,
        awaits_message: *awaits_message,
        deflate: *deflate,
    }))
}

/// Returns the choice of a run that WebSocket excludes, and the reason.
fn excluded(spec: &RunSpec) -> Option<(String, String)> {
    let others = [
        (SCRIPT, spec.script.is_some(), "scripts make requests of HTTP".to_owned()),
        (REPLAY, spec.replay.is_some(), "logs have requests of HTTP".to_owned()),
        (
            MESSAGES,
            spec.messages.given().is_some(),
            "an echo is one message; pushed ones are counted with the connections".to_owned(),
        ),
        (METHOD, spec.request.method.is_some(), "a message has no method".to_owned()),
        (
            PIPELINE,
            spec.load.pipeline > 1,
            format!("{STREAMS} is the number of messages in flight on a connection"),
        ),
        (
            CLOSE,
            spec.connection.close == Some(Closer::Server),
            "the upgrade needs Connection: Upgrade".to_owned(),
        ),
    ];
    if let Some((setting, _, why)) = others.into_iter().find(|(_, is_given, _)| *is_given) {
        return Some((setting.to_string(), why));
    }
    if spec.compat.is_some() {
        return Some(("the dialect".to_owned(), "use weir's own form".to_owned()));
    }
    let upgrade = "the upgrade is one of HTTP/1.1";
    match spec.http.version {
        HttpChoice::Http10 => return Some((format!("{HTTP} 1.0"), upgrade.to_owned())),
        HttpChoice::Http2 => return Some((format!("{HTTP} 2"), upgrade.to_owned())),
        HttpChoice::Auto | HttpChoice::Http11 => {}
    }
    let is_own = |name: &str| OWN_FIELDS.iter().any(|own| name.eq_ignore_ascii_case(own));
    let header = spec.request.headers.iter().find(|header| is_own(&header.name))?;
    let why = format!("the handshake sets it; {WS_DEFLATE} offers the one extension");
    Some((format!("{HEADER} {}", header.name), why))
}

/// Checks that a message can be sent.
///
/// # Errors
/// When it is sent as text and is not UTF-8, or lacks the field by which its echo is matched.
pub(crate) fn check_message(spec: &WebSocketSpec, message: &[u8]) -> Result<()> {
    if spec.idle {
        return Ok(());
    }
    if !spec.binary && str::from_utf8(message).is_err() {
        bail!("the message is not UTF-8, as a text must be: give {WS_BINARY}");
    }
    if let Some(text) = &spec.matched_by
        && field(text)?.of(message).is_none()
    {
        bail!("{DATA_MATCH} {text}: the message has no such field; check {BODY}");
    }
    Ok(())
}

/// Returns the field that a setting names.
///
/// # Errors
/// When it names none.
pub(crate) fn field(text: &str) -> Result<FieldKey> {
    let wrong = || format!("{DATA_MATCH} {text}: write json:POINTER, such as json:/id");
    let pointer = text.strip_prefix("json:").with_context(wrong)?;
    FieldKey::parse(pointer).with_context(wrong)
}

/// The messages of the connections, as the specification has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct WebSocketMessages {
    /// Message that is sent once on each connection, before all others.
    pub(crate) first: Option<Arc<[u8]>>,
    /// Field that a message and its echo have in common.
    matched_by: Option<String>,
}

impl WebSocketMessages {
    pub(crate) fn of(spec: &WebSocketSpec) -> WebSocketMessages {
        let first = spec.first.as_ref().map(|first| first.as_bytes().into());
        WebSocketMessages { first, matched_by: spec.matched_by.clone() }
    }
}

/// Returns the options of the connections of a plan. `request` has the target and the fields of the
/// upgrade.
pub(crate) fn options(
    websocket: WebSocketPlan,
    request: &Prepared,
    messages: &WebSocketMessages,
) -> WsOptions {
    let mut options = WsOptions::new(request);
    options.first.clone_from(&messages.first);
    options.awaits_message = websocket.awaits_message;
    options.offers_deflate = websocket.deflate;
    options.is_binary = websocket.binary;
    options.is_idle = websocket.idle;
    let field = messages.matched_by.as_deref().and_then(|text| field(text).ok());
    options.key = field.map(|field| MessageKey::new(move |content| field.of(content)));
    options
}
