//! The loads that are counted: their requests and their responses.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use weir_engine::{Job, ListRows, ListedRequest, RequestList};
use weir_http::h2::{H2Client, H2Options};
use weir_http::{Prepared, ProtocolFactory};
use weir_io::Endpoint;
use weir_requests::list::{Constants, FieldSources, Order, Sequence, TemplateFields, TextForm};
use weir_result::{Arrivals, DueTimes, IoEngine, Load, Plan, Rate, StampChoice};

/// Usual length in nanoseconds: long enough to exercise every part of the window's bookkeeping.
const SPAN_NS: u64 = 5_000_000;

/// One load.
#[derive(Debug)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    pub(crate) connections: u32,
    /// Requests in flight on each connection.
    depth: u16,
    /// True if they are streams of HTTP/2.
    pub(crate) http2: bool,
    due: Option<DueTimes>,
    stamps: StampChoice,
    /// Responses to the requests in flight on one connection, all of the same length.
    responses: Vec<Vec<u8>>,
    /// Most bytes received at a time.
    pub(crate) piece_bytes: usize,
    /// Number of requests of a list, each with a response of its own; 0 without a list.
    pub(crate) rows: usize,
    /// Path of the list's requests.
    path: &'static str,
}

impl Scenario {
    /// Returns every scenario. Only one has time stamps.
    pub(crate) fn all() -> Vec<Scenario> {
        let closed = |name, depth: u16, response: Vec<u8>| Scenario {
            name,
            connections: (128 / u32::from(depth)).min(64),
            depth,
            http2: false,
            due: None,
            stamps: StampChoice::None,
            responses: vec![response; depth.into()],
            piece_bytes: 1 << 20,
            rows: 0,
            path: "/",
        };
        let listed = |name, rows| Scenario { rows, ..closed(name, 1, Vec::new()) };
        let streams = |scenario| Scenario { http2: true, ..scenario };
        let one_length = nginx(None).len();
        let rate = Rate { numerator: 1_000_000, denominator: 1 };
        let open = Some(DueTimes::constant(rate, Arrivals::Uniform));
        let varying = (0..16).map(|nth| nginx(Some(nth))).collect();
        vec![
            closed("pipelined-16-short", 16, short()),
            closed("pipelined-16", 16, nginx(None)),
            closed("pipelined-64", 64, nginx(None)),
            Scenario { responses: varying, ..closed("pipelined-16-varying", 16, Vec::new()) },
            Scenario {
                piece_bytes: one_length * 16 - one_length / 2,
                ..closed("pipelined-16-split", 16, nginx(None))
            },
            closed("closed-1-short", 1, short()),
            closed("closed-1", 1, nginx(None)),
            Scenario { stamps: StampChoice::All, ..closed("closed-1-stamped", 1, nginx(None)) },
            Scenario { piece_bytes: one_length / 2, ..closed("closed-1-split", 1, nginx(None)) },
            closed("closed-1-chunked", 1, chunked()),
            Scenario { piece_bytes: 16 * 1024, ..closed("closed-1-128k", 1, body_128k()) },
            Scenario { due: open, ..closed("open-1", 1, nginx(None)) },
            listed("list-1", 1),
            listed("list-100", 100),
            listed("list-1000", 1_000),
            Scenario { path: "/items/{{seq}}", ..listed("list-1-seq", 1) },
            Scenario { path: "/items/{{rand:1:1000}}", ..listed("list-1-rand", 1) },
            streams(closed("http2-1", 1, nginx(None))),
            streams(closed("http2-16", 16, nginx(None))),
            streams(closed("http2-100", 100, nginx(None))),
        ]
    }

    /// Returns the responses: to the requests in flight on one connection, or to those of the list.
    pub(crate) fn responses(&self) -> Vec<Vec<u8>> {
        match self.rows {
            0 => self.responses.clone(),
            rows => (0..rows).map(lengths).collect(),
        }
    }

    /// Returns a job that runs the scenario for `times` times its usual span.
    pub(crate) fn job(&self, times: u64) -> Job {
        let plan = Plan {
            load: Load {
                connections: self.connections.into(),
                pipeline: self.depth,
                duration_ns: Some(SPAN_NS * times),
                timeout_ns: 2_000_000_000,
                connect_timeout_ns: 2_000_000_000,
                due: self.due.clone(),
                ..Plan::default().load
            },
            io: IoEngine::Simulated,
            stamps: self.stamps,
            ..Plan::default()
        };
        let request = Prepared::http1("GET", "/", "memory", &[], None).expect("a plain request");
        let endpoint = Endpoint::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, 80)));
        let protocol = match self.http2 {
            true => H2Client::factory(H2Options::default()),
            false => ProtocolFactory::Http1,
        };
        let list = (self.rows > 0).then(|| Arc::new(list(self.rows, self.path)));
        let mut job = Job { protocol, ..Job::new(plan, endpoint, request) };
        job.requests.list = list;
        job
    }
}

/// Returns a list of requests of the same length, each with a name of its own up to the 16th.
fn list(rows: usize, path: &str) -> RequestList {
    let row = |row: usize| {
        let mut fields = TemplateFields::default();
        let sources = FieldSources { table: None, captured: None, constants: &NoConstants };
        let path = fields.mark(path, TextForm::Plain, &sources).expect("fields");
        let request = Prepared::http1("GET", &path, "memory", &[], None).expect("a request");
        let has_fields = !fields.is_empty();
        let template = has_fields.then(|| Arc::new(fields.template(request.bytes())));
        ListedRequest { request, name: row.min(15) as u16, template, encoder: None, message: None }
    };
    RequestList {
        rows: ListRows::Prepared((0..rows).map(row).collect()),
        sequence: Sequence::plain(Order::Sequential, rows as u64),
        names: rows.min(16) as u16,
        with_slices: (0..rows.min(16) as u16).collect(),
        seed: 0,
        table: None,
        users: None,
    }
}

/// No constants of templates.
struct NoConstants;

impl Constants for NoConstants {
    fn variable(&self, name: &str) -> Result<String, String> {
        Err(format!("there is no {name}"))
    }

    fn file(&self, path: &str) -> Result<String, String> {
        Err(format!("there is no {path}"))
    }
}

/// Returns nginx's response for a file of another length than any other.
fn lengths(nth: usize) -> Vec<u8> {
    let body = "x".repeat(10 + nth);
    let response = String::from_utf8(nginx(Some(nth as u32 % 60))).expect("text");
    let response = response.replace("Length: 10", &format!("Length: {}", body.len()));
    response.replace("0123456789", &body).into_bytes()
}

/// Returns the shortest realistic response, with two headers.
fn short() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\nServer: weir\r\nContent-Length: 2\r\n\r\nok".to_vec()
}

/// Returns nginx's response for a small file, to the letter; `nth` varies the headers that servers
/// change with each response.
fn nginx(nth: Option<u32>) -> Vec<u8> {
    let id = nth.unwrap_or(0).wrapping_mul(0x9e37_79b9);
    let response = format!(
        "HTTP/1.1 200 OK\r\nServer: nginx/1.24.0\r\nDate: Thu, 01 Jan 1970 00:00:{:02} GMT\r\n\
         Content-Type: text/html\r\nContent-Length: 10\r\n\
         Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\nConnection: keep-alive\r\n\
         ETag: \"{id:08x}-a\"\r\nAccept-Ranges: bytes\r\n\r\n0123456789",
        nth.unwrap_or(0)
    );
    response.into_bytes()
}

/// Returns a small chunked response, whose length is not announced.
fn chunked() -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\nServer: nginx/1.24.0\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
      Content-Type: text/html\r\nTransfer-Encoding: chunked\r\nConnection: keep-alive\r\n\r\n\
      a\r\n0123456789\r\n0\r\n\r\n"
        .to_vec()
}

/// Returns the response for a large file.
fn body_128k() -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nServer: nginx/1.24.0\r\nContent-Length: 131072\r\n\r\n";
    [head.as_bytes(), &vec![b'x'; 128 * 1024]].concat()
}
