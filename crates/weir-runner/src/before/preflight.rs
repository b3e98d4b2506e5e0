//! The preflight: one request before the load. A load against a redirect or an error page does not
//! measure what its user expects.

mod debug;
mod message_log;
pub(crate) mod reflection;
mod request;
mod result;
mod trace;
mod upgrade;

use std::io;
use std::time::Duration;

use weir_http::{ExchangeError, ProtocolError};
use weir_io::{Backend, Engine, OnBackend};
use weir_result::document::Preflight;
use weir_result::{HttpPlan, Note};
use weir_text::setting::{HTTP, REDIRECTS};
use weir_text::units;
use weir_tls::TlsError;

use crate::errors::NoServer;
use crate::link::{Link, is_late, one_connection};
use crate::observer::Observer;
use crate::patience::{Hurry, Patience};
use crate::prepare::http;
use crate::prepare::load::PreparedLoad;
use crate::prepare::server_wait::ServerWait;
use crate::spec::HttpSpec;
use upgrade::UpgradeFault;

pub(crate) use result::PreflightResult;
pub use trace::{ExchangeTrace, TracedMessage};

/// Longest time of the preflight until the connection is open, and from there to the response, in
/// nanoseconds. Without a connection there is no run, so a busy server gets time for its handshake;
/// without a response there is one, which must not be delayed.
const CONNECT_PATIENCE_NS: u64 = 10_000_000_000;
const RESPONSE_PATIENCE_NS: u64 = 2_000_000_000;

/// The reason for a missing response.
#[derive(Debug, thiserror::Error)]
enum PreflightFailure {
    /// The address accepts no connection.
    #[error("{text}")]
    Connect { text: String, is_late: bool },
    /// The load could send no request: TLS failed, or the server speaks another version of HTTP, or
    /// TLS where the URL is one of http.
    #[error("{0}")]
    Refused(String),
    /// The address accepts a connection, but sends no response.
    #[error("{0}")]
    NoResponse(String),
}

impl PreflightFailure {
    /// Returns the failure of a connect or a TLS handshake.
    fn of_connect(load: &PreparedLoad, error: &io::Error, is_traced: bool) -> PreflightFailure {
        let reason = reason(error, connect_patience_ns(load, is_traced));
        let text = format!("cannot connect to {}: {reason}", load.target.endpoint);
        of_tls(error).unwrap_or(PreflightFailure::Connect { text, is_late: is_late(error) })
    }

    /// Returns the failure of an exchange: one that no request could escape, or a missing response.
    fn of_exchange(load: &PreparedLoad, error: &io::Error, is_traced: bool) -> PreflightFailure {
        let cause = error.get_ref();
        if let Some(fault) = cause.and_then(|cause| cause.downcast_ref::<UpgradeFault>()) {
            return PreflightFailure::Refused(fault.to_string());
        }
        match cause.and_then(|cause| cause.downcast_ref()) {
            Some(ExchangeError::Protocol(ProtocolError::TlsRecord)) => plain_to_tls(load),
            Some(ExchangeError::Protocol(ProtocolError::BadPreface)) => not_http2(load),
            _ => of_tls(error).unwrap_or_else(|| {
                let reason = reason(error, response_patience_ns(load, is_traced));
                let text = format!("no valid response from {}: {reason}", load.plan.url);
                PreflightFailure::NoResponse(text)
            }),
        }
    }
}

/// The failure of TLS, if that is the cause of an error.
fn of_tls(error: &io::Error) -> Option<PreflightFailure> {
    let error = error.get_ref()?.downcast_ref::<TlsError>()?;
    Some(PreflightFailure::Refused(error.to_string()))
}

/// The failure against a server that speaks TLS, where the URL is one of http.
fn plain_to_tls(load: &PreparedLoad) -> PreflightFailure {
    let address = &load.target.endpoint;
    PreflightFailure::Refused(format!("{address} speaks TLS, and the URL is http; use https://"))
}

/// The failure against a server that does not speak HTTP/2.
fn not_http2(load: &PreparedLoad) -> PreflightFailure {
    let remedy = match load.target.tls {
        Some(_) => format!("use {HTTP} 1.1"),
        None => format!("use https if it does so over TLS, or {HTTP} 1.1"),
    };
    PreflightFailure::Refused(format!("{} does not speak HTTP/2: {remedy}", load.target.endpoint))
}

/// Connects, performs the TLS handshake for https, and sends the request once if `may_send`.
/// Repeats all of that after a failure until the wait for the server is over.
///
/// # Errors
/// When the load could send no request: the TLS handshake failed, the address did not respond to a
/// connect, or the wait for the server ended without success.
pub(crate) fn run(
    load: &PreparedLoad,
    http: &HttpSpec,
    may_send: bool,
    wait: &ServerWait,
    observer: &mut dyn Observer,
) -> Result<PreflightResult, NoServer> {
    if !may_send && load.target.tls.is_none() && !wait.is_enabled() {
        return Ok(PreflightResult::default());
    }
    run_into(PreflightResult::default(), load, http, may_send, wait, observer)
}

/// Sends the request once, whatever its method, and returns the trace of the exchange.
///
/// # Errors
/// As [`run`].
pub(crate) fn trace(
    load: &PreparedLoad,
    http: &HttpSpec,
    wait: &ServerWait,
    observer: &mut dyn Observer,
) -> Result<PreflightResult, NoServer> {
    let result =
        PreflightResult { trace: Some(ExchangeTrace::default()), ..PreflightResult::default() };
    run_into(result, load, http, true, wait, observer)
}

fn run_into(
    mut result: PreflightResult,
    load: &PreparedLoad,
    http: &HttpSpec,
    may_send: bool,
    wait: &ServerWait,
    observer: &mut dyn Observer,
) -> Result<PreflightResult, NoServer> {
    let engine = Engine::named(load.plan.io.name()).unwrap_or(Engine::Epoll);
    let is_traced = result.trace.is_some();
    let attempt = || {
        let attempt = Attempt { load, http, may_send, result: &mut result };
        weir_io::open(engine, one_connection(), attempt)
            .unwrap_or_else(|error| Err(PreflightFailure::of_connect(load, &error, is_traced)))
    };
    let failure = match wait.retry(attempt, observer) {
        Ok(_) if result.blames_scheme && speaks_tls(load) => plain_to_tls(load),
        Ok(response) => {
            if let Some(refusal) = response.as_ref().and_then(|it| refusal(load, it)) {
                return refused(result, refusal);
            }
            let is_expected = matches!(result.checked, Some(Ok(())));
            let warning = response.as_ref().filter(|_| !is_expected);
            let redirects = load.plan.list.as_ref().map_or(0, |list| list.redirects);
            let warning = warning.and_then(|response| status_note(response, redirects));
            return Ok(PreflightResult { response, warning, ..result });
        }
        Err(PreflightFailure::NoResponse(_)) if load.target.tls.is_none() && speaks_tls(load) => {
            plain_to_tls(load)
        }
        Err(failure) => failure,
    };
    match failure {
        PreflightFailure::Refused(text) => refused(result, text),
        _ if wait.is_enabled() => Err(wait.give_up(failure, "start the server")),
        // With several destinations, the others may still respond.
        PreflightFailure::Connect { is_late: true, .. } if load.target.destinations.len() < 2 => {
            Err(wait.give_up(failure, "check the address"))
        }
        // The load connects too, and reports the failure if it can open none of its connections.
        PreflightFailure::Connect { .. } => Ok(result),
        PreflightFailure::NoResponse(text) => {
            let warning = Some(Note::new("preflight_failed", text));
            Ok(PreflightResult { warning, ..result })
        }
    }
}

/// Returns the failure of a server that makes a load impossible; with a trace, the exchange shows
/// it.
fn refused(result: PreflightResult, text: String) -> Result<PreflightResult, NoServer> {
    if result.trace.as_ref().is_none_or(|trace| trace.request.is_empty()) {
        return Err(NoServer(text));
    }
    Ok(PreflightResult { warning: Some(Note::new("refused", text)), ..result })
}

/// One attempt, on the engine of the load. Counts the request that it sends, and keeps the HTTP
/// version, in `result`.
struct Attempt<'a> {
    load: &'a PreparedLoad,
    http: &'a HttpSpec,
    may_send: bool,
    result: &'a mut PreflightResult,
}

impl OnBackend for Attempt<'_> {
    type Output = Result<Option<Preflight>, PreflightFailure>;

    fn run<B: Backend>(self, mut backend: B) -> Self::Output {
        let Attempt { load, http, may_send, result } = self;
        let started = backend.now();
        let is_traced = result.trace.is_some();
        let failed = |error| PreflightFailure::of_connect(load, &error, is_traced);
        let source = load.plan.connection.source(0);
        let limit = patience(connect_patience_ns(load, is_traced));
        let mut link =
            Link::connect(backend, source, &load.target.endpoint, limit).map_err(failed)?;
        result.step("connect", started, link.now());
        if let Some(config) = &load.target.tls {
            link.complete_handshake(config).map_err(failed)?;
            result.step("TLS handshake", started, link.now());
        }
        let version = match (&load.target.tls, load.plan.http) {
            (None, Some(version)) => version,
            (_, planned) => {
                let chosen = link.chosen();
                http::agreed(planned, chosen.as_deref(), http)
                    .map_err(|NoServer(text)| PreflightFailure::Refused(text))?
            }
        };
        result.http = Some(version);
        if !may_send {
            return Ok(None);
        }
        link.set_patience(patience(response_patience_ns(load, is_traced)));
        let response = match version {
            HttpPlan::WebSocket(websocket) => {
                upgrade::exchange(&mut link, load, websocket, started, result)
            }
            _ if is_traced => debug::exchange(&mut link, load, version, started, result),
            _ => request::exchange(&mut link, load, version, started, result),
        };
        let failed = |error| PreflightFailure::of_exchange(load, &error, is_traced);
        let response = response.map_err(failed)?;
        Ok(Some(Preflight { address: load.target.endpoint.to_string(), ..response }))
    }
}

/// The text on a server that refuses the upgrade to WebSocket, so that no message could be sent.
fn refusal(load: &PreparedLoad, response: &Preflight) -> Option<String> {
    let is_websocket = load.plan.websocket().is_some();
    let Preflight { status, location, .. } = response;
    let target = location.as_ref().map(|location| format!(", a redirect to {location}"));
    let target = target.unwrap_or_default();
    (is_websocket && *status != 101).then(|| {
        format!(
            "the server refuses the upgrade to WebSocket: status {status}{target}; check the URL"
        )
    })
}

/// The note on a response that is not a 2xx, nor a redirect of a load that follows this many.
fn status_note(response: &Preflight, redirects: u8) -> Option<Note> {
    let problem = match (response.status, &response.location) {
        // 101 is an upgrade that was requested.
        (101 | 200..=299, _) => return None,
        (300..=399, Some(_)) if redirects > 0 => return None,
        (300..=399, Some(location)) => {
            format!(
                "a redirect to {location}, which is not followed; use that URL, or {REDIRECTS} 1"
            )
        }
        (300..=399, None) => "no content of its own".to_owned(),
        _ => "an error: the load measures error responses; check the URL".to_owned(),
    };
    let text = format!("the URL responds with {}, {problem}", response.status);
    Some(Note::new("preflight_status", text))
}

/// True if the target responds to the beginning of a TLS handshake with a record of TLS. It is
/// checked only once a request without TLS has failed.
fn speaks_tls(load: &PreparedLoad) -> bool {
    let source = load.plan.connection.source(0);
    let limit = patience(response_patience_ns(load, false));
    let received = Link::open(source, &load.target.endpoint, limit).and_then(|mut link| {
        link.send(&HELLO)?;
        link.receive()
    });
    // An alert or a handshake message (RFC 8446 §5.1).
    received.is_ok_and(|bytes| matches!(bytes[..], [0x15 | 0x16, 3, ..]))
}

/// A ClientHello of TLS 1.2 (RFC 5246 §7.4.1.2) with one cipher and no extension: a server responds
/// to it with a ServerHello or with an alert.
const HELLO: [u8; 50] = {
    let mut hello = [0; 50];
    // The record, its version and length, the handshake message and its length, the version.
    let head = [0x16, 3, 1, 0, 45, 1, 0, 0, 41, 3, 3];
    // After 32 bytes of randomness: no session, one cipher, one method of compression.
    let tail = [0, 0, 2, 0xc0, 0x2f, 1, 0];
    hello.split_at_mut(head.len()).0.copy_from_slice(&head);
    hello.split_at_mut(head.len() + 32).1.copy_from_slice(&tail);
    hello
};

fn reason(error: &io::Error, patience_ns: u64) -> String {
    match is_late(error) {
        true => format!("timeout after {}", units::exact_duration(patience_ns)),
        false => error.to_string(),
    }
}

fn patience(most_ns: u64) -> Patience {
    Patience::new(Duration::from_nanos(most_ns), &Hurry::default())
}

/// Returns the longest time until the connection is open: that of the user for `--debug`.
fn connect_patience_ns(load: &PreparedLoad, is_traced: bool) -> u64 {
    let most_ns = if is_traced { u64::MAX } else { CONNECT_PATIENCE_NS };
    most_ns.min(load.plan.load.connect_timeout_ns)
}

/// Returns the longest time from there to the response.
fn response_patience_ns(load: &PreparedLoad, is_traced: bool) -> u64 {
    let most_ns = if is_traced { u64::MAX } else { RESPONSE_PATIENCE_NS };
    most_ns.min(load.plan.load.timeout_ns)
}
