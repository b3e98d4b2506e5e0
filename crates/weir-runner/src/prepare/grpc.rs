//! The calls of gRPC of a run: their checks, their schema, and the bodies of their requests.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use weir_engine::CallChecks;
use weir_expect::CallContent;
use weir_grpc::{Method, MethodName, Schema, gzip};
use weir_http::grpc::{CallRules, push_message, timeout_text};
use weir_io::Endpoint;
use weir_result::document::{Input, InputRole};
use weir_text::setting::{
    BODY, FORM_FIELD, GRPC, GRPC_BINARY, GRPC_PROTO, HEADER, HTTP, MESSAGES, METHOD, PIPELINE,
    REPLAY, SCRIPT, URL,
};
use weir_tls::TlsConfig;

use crate::input::DATA_MAX_BYTES;
use crate::spec::url::Url;
use crate::spec::{BodySpec, GrpcSpec, HttpChoice, RunSpec};

/// The server that a schema may be loaded from.
pub(crate) struct SchemaPeer<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) source: Option<IpAddr>,
    pub(crate) tls: Option<&'a TlsConfig>,
    pub(crate) url: &'a Url,
    /// Metadata of the run.
    pub(crate) headers: &'a [(String, String)],
}

/// Loads the schema of a service from a server.
pub(crate) type LoadSchema<'a> = &'a dyn Fn(&SchemaPeer<'_>, &MethodName) -> Result<Schema>;

/// The method that a run calls.
#[derive(Clone, Debug)]
pub(crate) struct GrpcCalls {
    name: MethodName,
    /// The method with its messages; `None` if bodies are protobuf, and no schema was given.
    method: Option<Method>,
    is_binary: bool,
    /// True if messages are compressed with gzip.
    is_gzip: bool,
    /// Value of `grpc-timeout`.
    timeout: Option<String>,
}

/// Checks that the other choices of a run fit calls.
///
/// # Errors
/// When one does not; the message has the reason.
pub(crate) fn check_spec(spec: &RunSpec) -> Result<()> {
    let Some(grpc) = &spec.grpc else { return Ok(()) };
    name_of(grpc)?;
    if spec.compat.is_some() {
        bail!("{GRPC} needs HTTP/2, which the dialect has not: use weir's own form");
    }
    let is_form = matches!(spec.request.body, Some(BodySpec::Form(_)));
    let is_filler = matches!(spec.request.body, Some(BodySpec::Filler(_))) && !grpc.is_binary;
    let problem = match spec.http.version {
        HttpChoice::Http10 | HttpChoice::Http11 => format!("needs HTTP/2: drop {HTTP}"),
        _ if spec.load.pipeline > 1 => format!("is HTTP/2, which has streams: drop {PIPELINE}"),
        _ if spec.script.is_some() => format!("makes the requests: drop {SCRIPT}"),
        _ if spec.replay.is_some() => format!("makes the requests: drop {REPLAY}"),
        _ if spec.messages.protocol.is_some() => format!("has messages itself: drop {MESSAGES}"),
        _ if spec.request.method.is_some() => format!("is POST: drop {METHOD}"),
        _ if is_form => format!("takes messages, and no form: drop {FORM_FIELD}"),
        _ if is_filler => format!("takes JSON, and no filler: give {BODY}, or {GRPC_BINARY}"),
        _ => return Ok(()),
    };
    bail!("{GRPC} {problem}");
}

fn name_of(grpc: &GrpcSpec) -> Result<MethodName> {
    grpc.method.parse().map_err(|error| anyhow!("{GRPC}: {error}"))
}

/// True if the metadata says that messages are compressed with gzip.
///
/// # Errors
/// When it says that they are compressed in another way.
fn is_gzip(headers: &[(String, String)]) -> Result<bool> {
    let mut encodings =
        headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("grpc-encoding"));
    match encodings.next().map_or("identity", |(_, value)| value.as_str()) {
        "identity" => Ok(false),
        "gzip" => Ok(true),
        other => bail!("{HEADER} grpc-encoding: messages are compressed with gzip, not {other:?}"),
    }
}

/// Adds the fields of calls that are not given; `timeout` is the value of `grpc-timeout`.
pub(crate) fn add_call_headers(headers: &mut Vec<(String, String)>, timeout: Option<&str>) {
    let of_all = [("te", "trailers"), ("content-type", "application/grpc")];
    for (name, value) in of_all.into_iter().chain(timeout.map(|value| ("grpc-timeout", value))) {
        if !headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
}

/// Returns the calls of a specification on a server, `None` if it has none, and the URL of its
/// requests. Adds their fields to `headers`, and the files of their schema to `inputs`.
///
/// # Errors
/// As [`GrpcCalls::of`].
pub(crate) fn prepare(
    spec: &RunSpec,
    (url, endpoint, tls): (&Url, &Endpoint, Option<&TlsConfig>),
    headers: &mut Vec<(String, String)>,
    load: LoadSchema<'_>,
    inputs: &mut Vec<Input>,
) -> Result<(Option<GrpcCalls>, Url)> {
    let source = spec.connection.source(0);
    let peer = SchemaPeer { endpoint, source, tls, url, headers: &headers[..] };
    let Some(calls) = GrpcCalls::of(spec, &peer, load, inputs)? else {
        return Ok((None, url.clone()));
    };
    calls.add_headers(headers);
    let url = calls.url(url)?;
    Ok((Some(calls), url))
}

/// Returns the URL of calls of a method on the server of `url`.
///
/// # Errors
/// When that has a path of its own.
fn url_of(name: &MethodName, url: &Url) -> Result<Url> {
    let path = name.path();
    if url.path != "/" {
        bail!("{GRPC} has the path {path}: leave out that of {URL}, {}", url.path);
    }
    Ok(Url { path, ..url.clone() })
}

impl GrpcCalls {
    /// Returns the calls of a specification, and adds the files of their schema to `inputs`; `None`
    /// if it has none. `load` is used if a schema is needed and no file has it.
    ///
    /// # Errors
    /// When a file cannot be read or compiled, or the method does not exist.
    fn of(
        spec: &RunSpec,
        peer: &SchemaPeer<'_>,
        load: LoadSchema<'_>,
        inputs: &mut Vec<Input>,
    ) -> Result<Option<GrpcCalls>> {
        let Some(grpc) = &spec.grpc else { return Ok(None) };
        let name = name_of(grpc)?;
        url_of(&name, peer.url)?;
        let is_gzip = is_gzip(peer.headers)?;
        let schema = match (&grpc.protos[..], grpc.is_binary) {
            ([], true) => None,
            ([], false) => Some(load(peer, &name)?),
            (protos, _) => {
                for file in protos {
                    inputs.push(
                        file.verify(InputRole::Proto, &file.read(GRPC_PROTO, DATA_MAX_BYTES)?)?,
                    );
                }
                Some(grpc.schema()?)
            }
        };
        let method = schema.map(|schema| schema.method(&name)).transpose();
        let method = method.map_err(|error| anyhow!("{GRPC}: {error}"))?;
        let timeout = grpc.deadline_ns.map(Duration::from_nanos).map(timeout_text);
        let is_binary = grpc.is_binary;
        Ok(Some(GrpcCalls { name, method, is_binary, is_gzip, timeout }))
    }

    /// Returns the URL of the calls on the server of `url`.
    ///
    /// # Errors
    /// When that has a path of its own.
    pub(crate) fn url(&self, url: &Url) -> Result<Url> {
        url_of(&self.name, url)
    }

    /// Adds the fields of calls that are not given.
    pub(crate) fn add_headers(&self, headers: &mut Vec<(String, String)>) {
        add_call_headers(headers, self.timeout.as_deref());
    }

    /// Returns the body of a request: the messages of `content`, each with its prefix. Without
    /// content it is one empty message.
    ///
    /// # Errors
    /// When the content is not JSON of the messages.
    pub(crate) fn body(&self, content: Option<&[u8]>) -> Result<Vec<u8>> {
        let messages = match (&self.method, content) {
            (_, None) => vec![Vec::new()],
            (Some(method), Some(json)) if !self.is_binary => {
                method.requests(json).map_err(|error| anyhow!("{BODY}: {error}"))?
            }
            (_, Some(bytes)) => vec![bytes.to_vec()],
        };
        let mut body = Vec::new();
        for message in messages {
            let message = if self.is_gzip { gzip(&message) } else { message };
            push_message(&mut body, self.is_gzip, &message);
        }
        Ok(body)
    }

    /// Returns the checks of the messages in responses, which are decoded up to `decoded_max` bytes
    /// each.
    pub(crate) fn checks(&self, decoded_max: usize) -> CallChecks {
        let expects_one = self.method.is_some() && !self.streams_responses();
        let content = self.method.clone().map(|method| {
            CallContent::of_schema(self.streams_responses(), move |message| {
                method.response(message).map_err(|error| error.to_string())
            })
        });
        let rules = CallRules { expects_one, decoded_max };
        CallChecks { rules, content: content.unwrap_or_default() }
    }

    /// Returns the method with its messages; `None` if no schema was given.
    pub(crate) fn method(&self) -> Option<&Method> {
        self.method.as_ref()
    }

    /// True if the method streams messages in responses, as far as its kind is known.
    pub(crate) fn streams_responses(&self) -> bool {
        self.method().is_some_and(|method| method.kind().streams_responses())
    }
}
