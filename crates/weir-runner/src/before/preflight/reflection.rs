//! The schema of a service from its server, by calls of the reflection service before the load.

use std::io;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use weir_grpc::{MethodName, Reflection, ReflectionVersion, Schema, SchemaError};
use weir_http::grpc::{GrpcStatus, messages_of, push_message};
use weir_http::h2::{H2Client, H2Options};
use weir_http::{
    BodyBudget, Interest, Multiplexed, Prepared, ReceivedResponse, Request, StreamEventKind,
};
use weir_io::{Backend, BackendOptions, Clock, Engine, OnBackend};
use weir_text::setting::{GRPC, GRPC_BINARY, GRPC_PROTO};

use super::link::Link;
use crate::observer::Silent;
use crate::prepare::grpc::{SchemaPeer, add_call_headers};
use crate::prepare::server_wait::ServerWait;
use crate::spec::RunSpec;

/// Timeout of all calls together, in nanoseconds.
const PATIENCE_NS: u64 = 5_000_000_000;

/// Most memory for responses, in bytes.
const SCHEMA_BYTES_MAX: usize = 64 << 20;

/// Status of a server that does not have the method.
const UNIMPLEMENTED: GrpcStatus = GrpcStatus(12);

/// Loads the schema of the service of `method`.
///
/// # Errors
/// When the server cannot be reached, has no reflection, or no such service.
pub(crate) fn load(spec: &RunSpec, peer: &SchemaPeer<'_>, method: &MethodName) -> Result<Schema> {
    let wait = ServerWait::new(&spec.target);
    let attempt = || {
        let options =
            BackendOptions { clock: Clock::start(), connections: 1, backends: 1, waker: None };
        weir_io::open(Engine::Epoll, options, SchemaAttempt { peer, method }).unwrap_or_else(Err)
    };
    let loaded = wait.retry(attempt, &mut Silent).map_err(|error| {
        let text = format!("no schema from {}: {error}", peer.endpoint);
        wait.give_up(text, &format!("give it with {GRPC_PROTO}"))
    })?;
    loaded.map_err(|refusal| anyhow!("{GRPC}: {refusal}"))
}

/// The reason for a missing schema that another attempt would have too.
#[derive(Debug, thiserror::Error)]
enum SchemaRefusal {
    #[error("{0}")]
    Schema(SchemaError),
    #[error(
        "the server has no reflection: give the schema with {GRPC_PROTO}, or use {GRPC_BINARY}"
    )]
    NoReflection,
    #[error("the server's reflection ends with {0}: give the schema with {GRPC_PROTO}")]
    Status(GrpcStatus),
}

/// One attempt on its own connection.
struct SchemaAttempt<'a> {
    peer: &'a SchemaPeer<'a>,
    method: &'a MethodName,
}

impl OnBackend for SchemaAttempt<'_> {
    type Output = io::Result<Result<Schema, SchemaRefusal>>;

    fn run<B: Backend>(self, mut backend: B) -> Self::Output {
        let SchemaAttempt { peer, method } = self;
        let until = backend.now().after(PATIENCE_NS);
        let mut link = Link::connect(backend, peer.source, peer.endpoint, until)?;
        if let Some(config) = peer.tls {
            link.complete_handshake(config)?;
        }
        let mut client = H2Client::new(1, &H2Options::default());
        client.set_interest(Interest::Body, &BodyBudget::new(SCHEMA_BYTES_MAX));
        client.open(link.now().0);
        for version in ReflectionVersion::ALL {
            let mut reflection = Reflection::new(&method.service);
            let mut is_known = true;
            while let Some(message) = reflection.request() {
                let request = request(peer, &version.method(), &message)?;
                let CallResponse { status, messages } = call(&mut link, &mut client, &request)?;
                match status {
                    GrpcStatus::OK => {}
                    UNIMPLEMENTED => {
                        is_known = false;
                        break;
                    }
                    status => return Ok(Err(SchemaRefusal::Status(status))),
                }
                let message = messages.first().map_or(&[][..], Vec::as_slice);
                if let Err(error) = reflection.receive(message) {
                    return Ok(Err(SchemaRefusal::Schema(error)));
                }
            }
            if is_known {
                return Ok(reflection.finish().map_err(SchemaRefusal::Schema));
            }
        }
        Ok(Err(SchemaRefusal::NoReflection))
    }
}

/// Returns the request of a call with one message.
fn request(peer: &SchemaPeer<'_>, method: &MethodName, message: &[u8]) -> io::Result<Arc<Request>> {
    let mut body = Vec::new();
    push_message(&mut body, false, message);
    let authority = peer.url.authority();
    let mut headers = peer.headers.to_vec();
    add_call_headers(&mut headers, None);
    let request = Prepared::http1("POST", &method.path(), &authority, &headers, Some(&body[..]));
    let scheme = if peer.url.is_secure { "https" } else { "http" };
    Ok(Arc::new(request.map_err(io::Error::other)?.request(scheme)))
}

/// The response to a call.
struct CallResponse {
    status: GrpcStatus,
    messages: Vec<Vec<u8>>,
}

impl CallResponse {
    fn of(response: &ReceivedResponse<'_>) -> io::Result<CallResponse> {
        let fields = response.fields().filter(|(name, _)| *name == b"grpc-status");
        let status = fields.last().and_then(|(_, value)| GrpcStatus::of_field(value));
        let Some(status) = status else {
            let text = format!("it speaks no gRPC: its response has status {}", response.status);
            return Err(io::Error::other(text));
        };
        let messages = messages_of(response.head, response.body, SCHEMA_BYTES_MAX);
        let messages = messages.map_err(|fault| io::Error::other(fault.to_string()))?;
        Ok(CallResponse { status, messages })
    }
}

/// Sends a request, and waits for its response.
fn call<B: Backend>(
    link: &mut Link<B>,
    client: &mut H2Client,
    request: &Arc<Request>,
) -> io::Result<CallResponse> {
    let (mut is_sent, mut events) = (false, Vec::new());
    loop {
        if !is_sent && client.capacity() > 0 {
            client.request(request, link.now().0);
            is_sent = true;
        }
        let mut out = Vec::new();
        client.poll_transmit(&mut out);
        if !out.is_empty() {
            link.send(&out)?;
        }
        let bytes = link.receive()?;
        client.receive(&bytes, link.now().0, &mut events).map_err(io::Error::other)?;
        for event in events.drain(..) {
            match event.kind {
                StreamEventKind::Began { .. } => {}
                StreamEventKind::Response { .. } => {
                    let response = CallResponse::of(&client.response(0));
                    client.forget_responses();
                    return response;
                }
                StreamEventKind::Failed(error) => return Err(io::Error::other(error)),
                StreamEventKind::Reset(reason) => {
                    return Err(io::Error::other(format!("stream reset: {}", reason.name)));
                }
                StreamEventKind::Returned => {
                    return Err(io::Error::other("the server refused the request"));
                }
            }
        }
        if bytes.is_empty() {
            return Err(io::Error::other("the connection was closed before a response"));
        }
    }
}
