//! The HTTP version of a run, or WebSocket: the one that the specification gives or, over TLS, the
//! one that the server chooses by ALPN (RFC 7301). It is decided once, before the load.

use anyhow::{Result, bail};
use weir_http::h2::{H2Client, H2Options};
use weir_http::ws::WsClient;
use weir_http::{Prepared, ProtocolFactory, is_of_connection};
use weir_result::{Closer, Http2Plan, HttpPlan};
use weir_text::setting::{CLOSE, H2_WINDOW, HEADER, HPACK_TABLE, HTTP, PIPELINE, SCRIPT, STREAMS};

use crate::errors::NoServer;
use crate::prepare::websocket::{self, WebSocketMessages};
use crate::spec::url::Url;
use crate::spec::{HttpChoice, HttpSpec, RunSpec};

const ALPN_HTTP2: &[u8] = b"h2";
const ALPN_HTTP11: &[u8] = b"http/1.1";

/// Returns the version that a specification gives; `None` if the server is to choose.
///
/// # Errors
/// When the version excludes another choice of the run; the message names both flags.
pub(crate) fn version(spec: &RunSpec, url: &Url) -> Result<Option<HttpPlan>> {
    let version = chosen(spec, url)?;
    let by_default = HttpSpec::default();
    let own = &spec.http;
    let of_http2 = [
        (H2_WINDOW, own.window_bytes != by_default.window_bytes),
        (HPACK_TABLE, own.header_table_bytes != by_default.header_table_bytes),
    ];
    match (version, of_http2.iter().find(|(_, is_given)| *is_given)) {
        (
            Some(HttpPlan::Http10 | HttpPlan::Http11 | HttpPlan::WebSocket(_)),
            Some((setting, _)),
        ) => {
            bail!("{setting} has no effect without HTTP/2: add {HTTP} 2, or leave it out")
        }
        _ => Ok(version),
    }
}

/// Returns the version that the choices of a run name; `None` if the server chooses it.
fn chosen(spec: &RunSpec, url: &Url) -> Result<Option<HttpPlan>> {
    if let Some(websocket) = websocket::plan(spec, url)? {
        return Ok(Some(HttpPlan::WebSocket(websocket)));
    }
    let needs_http1 = what_needs_http1(spec);
    let wants_http2 = spec.http.streams.is_some() || spec.grpc.is_some();
    match spec.http.version {
        HttpChoice::Auto if wants_http2 => {}
        // A script's string may hold more requests than a connection has streams.
        HttpChoice::Auto if needs_http1.is_some() || spec.script.is_some() || !url.is_secure => {
            return Ok(Some(HttpPlan::Http11));
        }
        HttpChoice::Auto => return Ok(None),
        HttpChoice::Http10 | HttpChoice::Http11 if wants_http2 => {
            bail!("{STREAMS} needs HTTP/2: use {HTTP} 2, or {PIPELINE} with {HTTP} 1.1")
        }
        HttpChoice::Http11 => return Ok(Some(HttpPlan::Http11)),
        HttpChoice::Http10 if spec.load.pipeline > 1 => {
            bail!("{PIPELINE} needs HTTP/1.1: drop {HTTP} 1.0")
        }
        HttpChoice::Http10 if spec.script.is_some() => bail!(
            "{HTTP} 1.0 cannot be used with {SCRIPT}; the script writes the version into its \
             requests"
        ),
        HttpChoice::Http10 => return Ok(Some(HttpPlan::Http10)),
        HttpChoice::Http2 => {}
    }
    match needs_http1 {
        Some((flag, remedy)) => bail!("{flag} needs HTTP/1: {remedy}"),
        None => Ok(Some(HttpPlan::Http2(http2(&spec.http)))),
    }
}

/// The choice of a run that excludes HTTP/2, and what to do.
fn what_needs_http1(spec: &RunSpec) -> Option<(String, String)> {
    if spec.compat.is_some() {
        return Some(("the dialect".to_owned(), "use weir's own form".to_owned()));
    }
    if spec.load.pipeline > 1 {
        return Some((PIPELINE.to_string(), format!("use {STREAMS} with {HTTP} 2")));
    }
    if spec.connection.close == Some(Closer::Server) {
        return Some((format!("{CLOSE} server"), format!("use {CLOSE} client with {HTTP} 2")));
    }
    let header = spec.request.headers.iter().find(|header| {
        let name = header.name.to_ascii_lowercase();
        is_of_connection(name.as_bytes(), header.value.as_bytes())
    })?;
    Some((format!("{HEADER} {}", header.name), "HTTP/2 has no such header".to_owned()))
}

fn http2(spec: &HttpSpec) -> Http2Plan {
    Http2Plan {
        streams: spec.streams.unwrap_or(1),
        window_bytes: spec.window_bytes,
        header_table_bytes: spec.header_table_bytes,
    }
}

/// Returns the protocols to offer by ALPN for a version; both if the server is to choose.
pub(crate) fn alpn(version: Option<HttpPlan>) -> &'static [&'static [u8]] {
    match version {
        None => &[ALPN_HTTP2, ALPN_HTTP11],
        Some(HttpPlan::Http2(_)) => &[ALPN_HTTP2],
        Some(HttpPlan::Http11 | HttpPlan::WebSocket(_)) => &[ALPN_HTTP11],
        // It has a name there, which few servers know: they would refuse the handshake.
        Some(HttpPlan::Http10) => &[],
    }
}

/// Returns the version after a handshake in which the server chose `chosen`.
///
/// # Errors
/// When it does not speak the version of the plan.
pub(crate) fn agreed(
    planned: Option<HttpPlan>,
    chosen: Option<&[u8]>,
    spec: &HttpSpec,
) -> Result<HttpPlan, NoServer> {
    match planned {
        None if chosen == Some(ALPN_HTTP2) => Ok(HttpPlan::Http2(http2(spec))),
        None => Ok(HttpPlan::Http11),
        Some(HttpPlan::Http2(_)) if chosen != Some(ALPN_HTTP2) => Err(NoServer(format!(
            "the server does not choose HTTP/2 (ALPN h2): enable it there, or use {HTTP} 1.1"
        ))),
        Some(version) => Ok(version),
    }
}

/// Returns the protocol of a version. If it is WebSocket, the connections are opened with the
/// target and the fields of `request`, and have `messages`.
pub(crate) fn protocol(
    http: Option<HttpPlan>,
    request: &Prepared,
    messages: &WebSocketMessages,
) -> ProtocolFactory {
    match http {
        Some(HttpPlan::WebSocket(websocket)) => {
            WsClient::factory(websocket::options(websocket, request, messages))
        }
        Some(HttpPlan::Http2(http2)) => H2Client::factory(options(http2)),
        Some(HttpPlan::Http10 | HttpPlan::Http11) | None => ProtocolFactory::Http1,
    }
}

/// Returns the options of HTTP/2 connections.
pub(crate) fn options(plan: Http2Plan) -> H2Options {
    let mut options = H2Options::default();
    options.settings.initial_window_bytes = plan.window_bytes;
    options.settings.header_table_bytes = plan.header_table_bytes;
    options.connection_window_bytes = plan.window_bytes;
    options.encoder_table_bytes = plan.header_table_bytes;
    options
}

#[cfg(test)]
mod tests {
    use weir_result::Header;

    use super::*;
    use crate::spec::{CompatSpec, Dialect, ScriptSpec, TargetSpec};

    fn of(url: &str, change: impl FnOnce(&mut RunSpec)) -> Result<Option<HttpPlan>, String> {
        let mut spec = RunSpec::new(url);
        change(&mut spec);
        let target = TargetSpec { url: url.to_owned(), ..TargetSpec::default() };
        let url = Url::of(&target).expect("a URL");
        version(&spec, &url).map_err(|error| error.to_string())
    }

    const CLEAR: &str = "http://h/";
    const SECURE: &str = "https://h/";

    #[test]
    fn the_server_chooses_over_tls_alone() {
        assert_eq!(of(SECURE, |_| {}), Ok(None));
        assert_eq!(of(CLEAR, |_| {}), Ok(Some(HttpPlan::Http11)));
        for change in [
            (|spec: &mut RunSpec| spec.load.pipeline = 2) as fn(&mut RunSpec),
            |spec| spec.connection.close = Some(Closer::Server),
            |spec| {
                let name = "connection".to_owned();
                let value = "close".to_owned();
                spec.request.headers.push(Header { name, value });
            },
            |spec| spec.compat = Some(CompatSpec { dialect: Dialect::Wrk, batch_times: false }),
        ] {
            assert_eq!(of(SECURE, change), Ok(Some(HttpPlan::Http11)), "it needs HTTP/1");
            let error = of(SECURE, |spec| {
                change(spec);
                spec.http.version = HttpChoice::Http2;
            });
            let error = error.expect_err("it excludes HTTP/2");
            assert!(error.contains("needs HTTP/1"), "{error}");
        }
        let script = |spec: &mut RunSpec| spec.script = Some(ScriptSpec::default());
        assert_eq!(of(SECURE, script), Ok(Some(HttpPlan::Http11)), "the server does not choose");
        let streams = of(SECURE, |spec| {
            script(spec);
            spec.http.streams = Some(5);
        });
        assert!(matches!(streams, Ok(Some(HttpPlan::Http2(_)))), "{streams:?}");
    }

    #[test]
    fn streams_are_http2() {
        for url in [CLEAR, SECURE] {
            let found = of(url, |spec| spec.http.streams = Some(7));
            let Ok(Some(HttpPlan::Http2(http2))) = found else { panic!("{url}: {found:?}") };
            assert_eq!((http2.streams, http2.header_table_bytes), (7, 4_096));
            let one = of(url, |spec| spec.http.version = HttpChoice::Http2);
            assert!(matches!(one, Ok(Some(HttpPlan::Http2(Http2Plan { streams: 1, .. })))));
        }
        let error = of(CLEAR, |spec| {
            spec.http =
                HttpSpec { version: HttpChoice::Http11, streams: Some(2), ..HttpSpec::default() };
        });
        assert!(error.is_err_and(|text| text.contains("`http.streams` needs HTTP/2")));
        let error = of(CLEAR, |spec| {
            spec.http.version = HttpChoice::Http10;
            spec.load.pipeline = 2;
        });
        assert!(error.is_err_and(|text| text.contains("`load.pipeline` needs HTTP/1.1")));
    }

    #[test]
    fn a_handshake_decides() {
        let spec = HttpSpec { streams: None, ..HttpSpec::default() };
        let found = |planned, chosen| agreed(planned, chosen, &spec).map_err(|error| error.0);
        let http2 = HttpPlan::Http2(http2(&spec));
        assert_eq!(found(None, Some(b"h2")), Ok(http2));
        assert_eq!(found(None, Some(b"http/1.1")), Ok(HttpPlan::Http11));
        assert_eq!(found(None, None), Ok(HttpPlan::Http11));
        assert_eq!(found(Some(http2), Some(b"h2")), Ok(http2));
        assert!(found(Some(http2), None).is_err_and(|text| text.contains("`http.version` 1.1")));
        assert_eq!(found(Some(HttpPlan::Http10), None), Ok(HttpPlan::Http10));
    }
}
