//! The schema of a service from its server, by calls of the reflection service before the load.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, anyhow};
use weir_grpc::{MethodName, Reflection, ReflectionVersion, Schema, SchemaError};
use weir_http::grpc::{GrpcStatus, messages_of, push_message};
use weir_http::h2::{H2Client, H2Options};
use weir_http::{
    BodyBudget, Interest, Multiplexed, Prepared, ReceivedResponse, Request, SingleExchange,
};
use weir_text::setting::{GRPC, GRPC_BINARY, GRPC_PROTO};

use crate::link::Link;
use crate::observer::Silent;
use crate::patience::{Hurry, Patience};
use crate::prepare::grpc::{SchemaPeer, add_call_headers};
use crate::prepare::server_wait::ServerWait;
use crate::spec::RunSpec;

/// Timeout of all calls together.
const PATIENCE: Duration = Duration::from_secs(5);

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
    let loaded = wait.retry(|| attempt(peer, method), &mut Silent).map_err(|error| {
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

/// Loads the schema once, on a connection of its own.
fn attempt(
    peer: &SchemaPeer<'_>,
    method: &MethodName,
) -> io::Result<Result<Schema, SchemaRefusal>> {
    let patience = Patience::new(PATIENCE, &Hurry::default());
    let mut link = Link::open(peer.source, peer.endpoint, patience)?;
    if let Some(config) = peer.tls {
        link.complete_handshake(config)?;
    }
    let mut client = H2Client::new(1, &H2Options::default());
    client.set_interest(Interest::Body, &BodyBudget::new(SCHEMA_BYTES_MAX));
    let mut exchange = SingleExchange::http2(client, link.now().0);
    for version in ReflectionVersion::ALL {
        let mut reflection = Reflection::new(&method.service);
        let mut is_known = true;
        while let Some(message) = reflection.request() {
            exchange.request(&request(peer, &version.method(), &message)?);
            link.exchange(&mut exchange, |_, _, _| false)?;
            let response = exchange.response().expect("the exchange is complete");
            let CallResponse { status, messages } = CallResponse::of(&response)?;
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
