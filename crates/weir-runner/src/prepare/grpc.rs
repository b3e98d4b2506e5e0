//! The calls of gRPC of a run: their schema, and the bodies of their requests.

use std::net::IpAddr;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use weir_engine::CallChecks;
use weir_grpc::{Method, MethodName, Schema, gzip};
use weir_http::grpc::{CallRules, push_message, timeout_text};
use weir_io::Endpoint;
use weir_requests::expect::CallContent;
use weir_result::Header;
use weir_result::document::InputRole;
use weir_text::setting::{BODY, GRPC, GRPC_PROTO, HEADER, URL};
use weir_tls::TlsConfig;

use crate::input::DATA_MAX_BYTES;
use crate::prepare::headers::headers;
use crate::prepare::planned::Planned;
use crate::prepare::server::PlannedServer;
use crate::spec::RunSpec;
use crate::spec::url::Url;

/// The server that a schema may be loaded from.
pub(crate) struct SchemaPeer<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) source: Option<IpAddr>,
    pub(crate) tls: Option<&'a TlsConfig>,
    pub(crate) url: &'a Url,
    /// Metadata of the run.
    pub(crate) headers: Vec<(String, String)>,
}

impl SchemaPeer<'_> {
    /// Returns the server of a run.
    fn of<'a>(spec: &RunSpec, server: &'a PlannedServer) -> SchemaPeer<'a> {
        SchemaPeer {
            endpoint: &server.addresses.endpoint,
            source: spec.connection.source(0),
            tls: server.tls.as_ref(),
            url: &server.url,
            headers: headers(spec),
        }
    }
}

/// Loads the schema of a service from a server; `None` if nothing is sent here that needs one.
pub(crate) type LoadSchema<'a> = &'a dyn Fn(&SchemaPeer<'_>, &MethodName) -> Result<Option<Schema>>;

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

/// True if the metadata says that messages are compressed with gzip.
///
/// # Errors
/// When it says that they are compressed in another way.
fn is_gzip(headers: &[Header]) -> Result<bool> {
    let encoding = headers.iter().find(|header| header.name.eq_ignore_ascii_case("grpc-encoding"));
    match encoding.map_or("identity", |header| header.value.as_str()) {
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

/// Returns the URL of the requests on the server of `url`: with the path of its calls, if a
/// specification has some.
///
/// # Errors
/// When that has a path of its own.
pub(crate) fn url_on(spec: &RunSpec, url: Url) -> Result<Url> {
    let Some(grpc) = &spec.grpc else { return Ok(url) };
    let path = grpc.name()?.path();
    if url.path != "/" {
        bail!("{GRPC} has the path {path}: leave out that of {URL}, {}", url.path);
    }
    Ok(Url { path, ..url })
}

impl GrpcCalls {
    /// Returns the calls of a specification on a server; `None` if it has none. `load` is used if a
    /// schema is needed and no file has it.
    ///
    /// # Errors
    /// When a file cannot be read or compiled, or the method does not exist.
    pub(crate) fn of(
        spec: &RunSpec,
        server: &PlannedServer,
        load: LoadSchema<'_>,
    ) -> Result<Planned<Option<GrpcCalls>>> {
        let (Some(grpc), Some(calls)) = (&spec.grpc, GrpcCalls::without_schema(spec)?) else {
            return Ok(Planned::of(None));
        };
        let mut inputs = Vec::new();
        for file in &grpc.protos {
            let content = file.read(GRPC_PROTO, DATA_MAX_BYTES)?;
            inputs.push(file.verify(InputRole::Proto, &content)?);
        }
        let schema = match (&grpc.protos[..], grpc.is_binary) {
            ([], true) => None,
            ([], false) => load(&SchemaPeer::of(spec, server), &calls.name)?,
            _ => Some(grpc.schema()?),
        };
        let method = schema.map(|schema| schema.method(&calls.name)).transpose();
        let method = method.map_err(|error| anyhow!("{GRPC}: {error}"))?;
        Ok(Planned::read(Some(GrpcCalls { method, ..calls }), inputs))
    }

    /// Returns the calls of a specification, whose bodies are protobuf for want of a schema; `None`
    /// if it has none.
    ///
    /// # Errors
    /// When a choice of the specification does not fit.
    pub(crate) fn without_schema(spec: &RunSpec) -> Result<Option<GrpcCalls>> {
        let Some(grpc) = &spec.grpc else { return Ok(None) };
        let name = grpc.name()?;
        let is_gzip = is_gzip(&spec.request.headers)?;
        let timeout = grpc.deadline_ns.map(Duration::from_nanos).map(timeout_text);
        let is_binary = grpc.is_binary;
        Ok(Some(GrpcCalls { name, method: None, is_binary, is_gzip, timeout }))
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
