//! Edits of the records of a real server: the client gets what the server said, up to some point,
//! and knows the end only if it is the server's.

use std::io::{Read, Write};
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use rustls::version::{TLS12, TLS13};
use rustls::{ProtocolVersion, ServerConfig, ServerConnection};
use weir_tls::Session;

use super::{HELD_BYTES_MAX, client};

/// Parts of the server's response. Between them it updates its keys, if it can.
const REPORTED: [&[u8]; 3] = [b"HTTP/1.1 200 OK\r\n", b"Content-Length: 300\r\n\r\n", &[b'x'; 300]];

/// A request of the client. It is sent whenever that is possible.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\n\r\n";

/// Most requests of one connection.
const REQUESTS_MAX: usize = 20;

/// Most edits of one connection.
const EDITS_MAX: usize = 16;

/// Checks one connection. The bits of `kind` are the version and the length of the server's
/// fragments; `edits` change its records.
pub(super) fn check(kind: u8, edits: &[u8], piece_bytes: usize) {
    let mut client = Client::new();
    let mut server = Server::new(kind);
    let edits = edits.as_chunks().0;
    let mut editor = Editor { edits: &edits[..edits.len().min(EDITS_MAX)], records: 0, applied: 0 };
    loop {
        client.send();
        let out = std::mem::take(&mut client.out);
        server.receive(&out);
        let mut output = editor.edited(&server.output());
        if out.is_empty() && output.is_empty() {
            break;
        }
        for piece in output.chunks_mut(piece_bytes) {
            client.receive(piece);
            client.send();
        }
    }
    let whole = REPORTED.concat();
    assert!(whole.starts_with(&client.plain), "{:?}", client.plain.escape_ascii().to_string());
    let has_all = client.plain == whole;
    let session = &mut client.session;
    assert_ne!(session.negotiated().is_some(), session.is_handshaking());
    assert!(has_all || session.is_handshaking() || !session.is_closed(), "truncated unseen");
    if editor.applied == 0 {
        assert!(has_all && session.is_closed() && !client.has_failed);
        assert_eq!(server.requests, REQUEST.repeat(client.requests));
        assert_eq!(session.certificates()[0].names, ["localhost"]);
    }
    session.close(&mut client.out);
    assert!(REQUEST.repeat(client.requests).starts_with(&server.requests));
}

/// The client, with all that it has received and sent.
struct Client {
    session: Session,
    plain: Vec<u8>,
    out: Vec<u8>,
    requests: usize,
    has_failed: bool,
}

impl Client {
    fn new() -> Client {
        let plain = Vec::new();
        let out = Vec::new();
        Client { session: client(), plain, out, requests: 0, has_failed: false }
    }

    fn receive(&mut self, piece: &mut [u8]) {
        let before = (self.has_failed || self.session.is_closed()).then_some(self.plain.len());
        let result = self.session.receive(piece, &mut self.plain);
        assert!(self.session.held_bytes() <= HELD_BYTES_MAX, "{}", self.session.held_bytes());
        if let Some(plain_bytes) = before {
            assert_eq!((&result, self.plain.len()), (&Ok(()), plain_bytes), "after the end");
        }
        self.has_failed |= result.is_err();
    }

    /// Sends all that waits, and a request if that is possible.
    fn send(&mut self) {
        self.session.take_output(&mut self.out);
        if !self.session.is_handshaking() && !self.has_failed && self.requests < REQUESTS_MAX {
            self.session.send(REQUEST, &mut self.out).expect("its keys are not used up");
            self.requests += 1;
        }
    }
}

/// The server, with the requests that it has received.
struct Server {
    conn: ServerConnection,
    requests: Vec<u8>,
    /// True if it has sent its response, or has failed.
    is_done: bool,
}

impl Server {
    fn new(kind: u8) -> Server {
        let key = KeyPair::generate().expect("random bytes do not fail");
        let params = CertificateParams::new(["localhost".to_owned()]).expect("a name");
        let certificate = params.self_signed(&key).expect("parameters are complete");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("rcgen writes PKCS #8");
        let version = if kind & 1 == 0 { &TLS12 } else { &TLS13 };
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .expect("the provider has ciphers for it")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("the key is that of the certificate");
        // At least 32 bytes, for rustls.
        let fragment = usize::from(kind >> 1);
        config.max_fragment_size = (fragment > 0).then_some(31 + fragment * 8);
        let conn = ServerConnection::new(Arc::new(config)).expect("the fragments are long enough");
        Server { conn, requests: Vec::new(), is_done: false }
    }

    /// Processes bytes of the client. After the handshake it sends its response and closes.
    fn receive(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.conn.read_tls(&mut bytes).expect("a slice can be read");
            if self.conn.process_new_packets().is_err() {
                self.is_done = true;
                return;
            }
            // An error means that there is no more at present.
            let _is_at_end = self.conn.reader().read_to_end(&mut self.requests);
        }
        if self.conn.is_handshaking() || self.is_done {
            return;
        }
        self.is_done = true;
        for part in REPORTED {
            self.conn.writer().write_all(part).expect("it is below the buffer's limit");
            let is_new = self.conn.protocol_version() == Some(ProtocolVersion::TLSv1_3);
            if is_new {
                self.conn.refresh_traffic_keys().expect("the handshake is complete");
            }
        }
        self.conn.send_close_notify();
    }

    fn output(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.conn.wants_write() {
            self.conn.write_tls(&mut bytes).expect("a Vec takes all");
        }
        bytes
    }
}

/// Edits records on their way. Each edit is four bytes: the number of the record, the kind of
/// change, a position, and an amount.
struct Editor<'a> {
    edits: &'a [[u8; 4]],
    /// Records that have passed.
    records: u8,
    /// Changes that were made.
    applied: usize,
}

impl Editor<'_> {
    /// Returns the bytes that arrive in place of these, which are whole records.
    fn edited(&mut self, mut bytes: &[u8]) -> Vec<u8> {
        let mut arriving = Vec::new();
        let mut delayed = Vec::new();
        while let Some(&[_, _, _, high, low]) = bytes.first_chunk() {
            let (record, rest) = bytes.split_at(5 + usize::from(u16::from_be_bytes([high, low])));
            let mut record = record.to_vec();
            let mut after = std::mem::take(&mut delayed);
            for &[number, kind, at, amount] in self.edits {
                if number == self.records && !record.is_empty() {
                    self.applied += 1;
                    change(&mut record, &mut delayed, kind, usize::from(at), amount);
                }
            }
            arriving.append(&mut record);
            arriving.append(&mut after);
            self.records = self.records.saturating_add(1);
            bytes = rest;
        }
        arriving.append(&mut delayed);
        arriving
    }
}

/// Changes a record. What is put into `delayed` arrives after the next one.
fn change(record: &mut Vec<u8>, delayed: &mut Vec<u8>, kind: u8, at: usize, amount: u8) {
    let at = at % record.len();
    match kind % 8 {
        0 => record[at] ^= amount,
        1 => record.clear(),
        2 => record.extend_from_within(..),
        3 => delayed.append(record),
        4 => delayed.extend_from_slice(record),
        // A shorter record.
        5 => {
            record.truncate(record.len() - usize::from(amount).min(record.len() - 5));
            set_length(record);
        }
        // Two records in place of one.
        6 => {
            let mut second = record.split_off(at.max(5));
            set_length(record);
            record.extend_from_slice(&[record[0], 3, 3, 0, 0]);
            let from = record.len() - 5;
            record.append(&mut second);
            set_length(&mut record[from..]);
        }
        // Another record before it, of any type.
        _ => drop(record.splice(..0, [&[amount, 3, 3, 0, at as u8][..], &vec![1; at]].concat())),
    }
}

/// Sets the length in a record's header to the length of its content.
fn set_length(record: &mut [u8]) {
    let length = (record.len() - 5) as u16;
    record[3..5].copy_from_slice(&length.to_be_bytes());
}
