//! The preflight: one request before the load. A load against a redirect or an error page does not
//! measure what its user expects.

mod secured;

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{IpAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use weir_engine::Job;
use weir_http::{Prepared, Protocol};
use weir_io::{Endpoint, system};
use weir_result::Note;
use weir_result::document::Preflight;
use weir_result::units;
use weir_tls::TlsError;

use crate::errors::NoServer;
use crate::server_wait::ServerWait;
use secured::{Refused, Secured};

/// Timeout of the preflight: a server that never responds must not delay the run.
const PATIENCE: Duration = Duration::from_secs(2);

/// Maximum bytes of a response that are read. The length of a longer body is in the head, or not
/// needed.
const READ_MAX_BYTES: usize = 1 << 20;

/// The result of the preflight.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Response, if there was one.
    pub(crate) answer: Option<Preflight>,
    /// Requests sent.
    pub(crate) sent: u64,
    /// Warning for the user before the load.
    pub(crate) warning: Option<Note>,
}

/// The reason for a missing response.
#[derive(Debug)]
enum Failure {
    /// The address accepts no connection.
    Connect { text: String, is_late: bool },
    /// The TLS handshake failed: the load could send no request.
    Tls(TlsError),
    /// The address accepts a connection, but sends no response.
    NoResponse(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Connect { text, .. } | Failure::NoResponse(text) => f.write_str(text),
            Failure::Tls(error) => error.fmt(f),
        }
    }
}

/// True if a method is safe (RFC 9110 §9.2.1), so that an additional request does no harm.
pub(crate) fn is_safe(method: &str) -> bool {
    matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE")
}

/// Connects, performs the TLS handshake for https, and sends the job's request once if `may_send`.
/// Repeats all of that after a failure until the wait for the server is over.
///
/// # Errors
/// When the load could send no request: the TLS handshake failed, the address did not respond to a
/// connect, or the wait for the server ended without success.
pub(crate) fn look(job: &Job, may_send: bool, wait: &ServerWait) -> Result<Found, NoServer> {
    if !may_send && job.tls.is_none() && !wait.is_wanted() {
        return Ok(Found::default());
    }
    let mut sent = 0;
    let failure = match wait.retry(|| attempt(job, may_send, &mut sent)) {
        Ok(answer) => {
            let warning = answer.as_ref().and_then(judge);
            return Ok(Found { answer, sent, warning });
        }
        Err(failure) => failure,
    };
    match &failure {
        Failure::Tls(error) => Err(NoServer(error.to_string())),
        _ if wait.is_wanted() => Err(wait.give_up(failure, "start the server")),
        // With several destinations, the others may still respond.
        Failure::Connect { is_late: true, .. } if job.destinations.len() < 2 => {
            Err(wait.give_up(failure, "check the address"))
        }
        // The load connects too, and reports the failure if it can open none of its connections.
        Failure::Connect { .. } => Ok(Found { sent, ..Found::default() }),
        Failure::NoResponse(text) => {
            let warning = Some(Note::new("preflight_failed", text.clone()));
            Ok(Found { sent, warning, answer: None })
        }
    }
}

/// Makes one attempt, and counts the request that it sends.
fn attempt(job: &Job, may_send: bool, sent: &mut u64) -> Result<Option<Preflight>, Failure> {
    let patience = PATIENCE.min(Duration::from_nanos(job.plan.timeout_ns));
    let started = Instant::now();
    let source = job.plan.connection.source(0);
    let unconnected = |error: &io::Error| Failure::Connect {
        text: format!("cannot connect to {}: {}", job.endpoint, reason(error, patience)),
        is_late: is_late(error),
    };
    let no_response = |error: &io::Error| {
        let reason = reason(error, patience);
        Failure::NoResponse(format!("{} did not respond properly: {reason}", job.plan.url))
    };
    let mut stream =
        connect(&job.endpoint, source, patience).map_err(|error| unconnected(&error))?;
    if let Some(config) = &job.tls {
        match Secured::shake_hands(stream, config, started, patience) {
            Ok(secured) => stream = Stream::Tls(Box::new(secured)),
            Err(Refused::Tls(error)) => return Err(Failure::Tls(error)),
            Err(Refused::Io(error)) => return Err(unconnected(&error)),
        }
    }
    if !may_send {
        return Ok(None);
    }
    *sent += 1;
    let mut answer = exchange(&mut stream, &job.request, started, patience)
        .map_err(|error| no_response(&error))?;
    answer.address = job.endpoint.to_string();
    Ok(Some(answer))
}

/// The note on a response that is not a 2xx.
fn judge(answer: &Preflight) -> Option<Note> {
    let said = match (answer.status, &answer.location) {
        (200..=299, _) => return None,
        (300..=399, Some(location)) => {
            format!("a redirect to {location}: weir does not follow it, load that URL instead")
        }
        (300..=399, None) => "no content of its own".to_owned(),
        _ => "an error: the load will measure error responses".to_owned(),
    };
    Some(Note::new("preflight_status", format!("the URL responds with {}, {said}", answer.status)))
}

fn exchange(
    stream: &mut Stream,
    request: &Prepared,
    started: Instant,
    patience: Duration,
) -> io::Result<Preflight> {
    stream.writer().write_all(request.bytes())?;
    let mut protocol = Protocol::http1(1);
    protocol.request(request.traits());
    let (mut received, mut replies) = (Vec::new(), Vec::new());
    let mut chunk = vec![0; 64 * 1024];
    while replies.is_empty() && received.len() < READ_MAX_BYTES {
        let left = patience.checked_sub(started.elapsed()).filter(|left| !left.is_zero());
        stream.set_read_timeout(left.ok_or(io::ErrorKind::TimedOut)?)?;
        let count = match stream.reader().read(&mut chunk) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        let read = match count {
            0 => protocol.end_of_stream(&mut replies),
            _ => protocol.receive(&chunk[..count], &mut replies),
        };
        received.extend_from_slice(&chunk[..count]);
        if replies.is_empty() {
            read.map_err(io::Error::other)?;
            if count == 0 {
                return Err(io::Error::other("the connection was closed without an answer"));
            }
        }
    }
    describe(&received, replies.first().map(|reply| reply.body_bytes), protocol, started)
}

/// Describes the final response head among the received bytes.
fn describe(
    received: &[u8],
    body_bytes: Option<u64>,
    protocol: Protocol,
    started: Instant,
) -> io::Result<Preflight> {
    let mut rest = received;
    while let Some(head) = weir_http::read_head(rest).map_err(io::Error::other)? {
        if (100..200).contains(&head.status) {
            rest = &rest[head.bytes..];
            continue;
        }
        let text = |name| head.header(name).map(|value| String::from_utf8_lossy(value).into());
        let unread = protocol.discardable();
        return Ok(Preflight {
            status: head.status,
            http_version: head.version.to_owned(),
            server: text("server"),
            location: text("location"),
            // The length of a body that is too long to read is in the head.
            body_bytes: body_bytes.or_else(|| {
                (unread < u64::MAX)
                    .then(|| unread + (rest.len() - head.bytes) as u64)
                    .filter(|_| unread > 0)
            }),
            address: String::new(),
            elapsed_ns: u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX),
        });
    }
    Err(io::Error::other("the head of the answer is not complete"))
}

fn reason(error: &io::Error, patience: Duration) -> String {
    if is_late(error) {
        return format!(
            "nothing came within {}",
            units::exact_duration(patience.as_nanos() as u64)
        );
    }
    error.to_string()
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A blocking connection: TCP, Unix socket or TLS.
#[derive(Debug)]
enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(Box<Secured>),
}

fn connect(endpoint: &Endpoint, source: Option<IpAddr>, patience: Duration) -> io::Result<Stream> {
    let stream = match (endpoint, source) {
        (Endpoint::Tcp(address), Some(source)) => {
            Stream::Tcp(system::connect_from(source, *address, patience)?)
        }
        (Endpoint::Tcp(address), None) => {
            Stream::Tcp(TcpStream::connect_timeout(address, patience)?)
        }
        (Endpoint::Unix(path), _) => Stream::Unix(connect_unix(path)?),
    };
    stream.set_write_timeout(patience)?;
    Ok(stream)
}

fn connect_unix(path: &std::path::Path) -> io::Result<UnixStream> {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::SocketAddr;
    match path.to_str().and_then(|path| path.strip_prefix('@')) {
        Some(name) => UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?),
        None => UnixStream::connect(path),
    }
}

impl Stream {
    fn writer(&mut self) -> &mut dyn Write {
        match self {
            Stream::Tcp(stream) => stream,
            Stream::Unix(stream) => stream,
            Stream::Tls(secured) => secured,
        }
    }

    fn reader(&mut self) -> &mut dyn Read {
        match self {
            Stream::Tcp(stream) => stream,
            Stream::Unix(stream) => stream,
            Stream::Tls(secured) => secured,
        }
    }

    fn set_read_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(Some(timeout)),
            Stream::Unix(stream) => stream.set_read_timeout(Some(timeout)),
            Stream::Tls(secured) => secured.stream.set_read_timeout(timeout),
        }
    }

    fn set_write_timeout(&self, timeout: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_write_timeout(Some(timeout)),
            Stream::Unix(stream) => stream.set_write_timeout(Some(timeout)),
            Stream::Tls(secured) => secured.stream.set_write_timeout(timeout),
        }
    }
}
