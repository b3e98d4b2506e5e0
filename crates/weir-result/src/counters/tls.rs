//! TLS of a run's connections: handshakes by kind, negotiated parameters, certificates.

use serde::{Deserialize, Serialize};

use crate::rules;

counters! {
    /// TLS handshakes of a worker's connections.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    measured TlsCounts;
    /// TLS handshakes of the load's connections, renewals and warm-up included (METHOD 1.19).
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    stored TlsSection;

    /// Full handshakes: with the server's certificate and its signature.
    counter full: u64 => rules::sum;
    /// Handshakes that resumed a session of the same connection (`--tls-resume on`).
    counter resumed: u64 => rules::sum;
    /// Of `full`: with a HelloRetryRequest, which takes one more round trip (RFC 8446 §4.1.4).
    counter hello_retry_requests: u64 => rules::sum;
    /// Of `full`: on connections that had made a handshake before and were to resume its session
    /// (`--tls-resume on`), but did not.
    counter not_resumed: u64 => rules::sum;
    /// Handshakes that ended inside the window.
    counter in_window: u64 => rules::sum;
    /// `in_window` per second of the window.
    stored handshakes_per_second: f64;
    /// Handshakes by what client and server negotiated, the most frequent first.
    counter negotiated: Vec<TlsParameters> => add_parameters;
    /// Certificates that the server sent in a first handshake, its own first. Other destinations
    /// may have others.
    counter certificates: Vec<Certificate> => keep_first;
}

/// Kind of a TLS handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandshakeKind {
    /// Full.
    Full,
    /// Full, after a HelloRetryRequest.
    HelloRetryRequest,
    /// A session was resumed.
    Resumed,
}

/// Parameters that client and server negotiated, and the number of handshakes with them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TlsParameters {
    /// Version: `TLS 1.2` or `TLS 1.3`.
    pub version: String,
    /// Cipher suite by its registered name: `TLS_AES_128_GCM_SHA256`.
    pub cipher: String,
    /// Key exchange group: `X25519`; absent if a session was resumed without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Protocol chosen by ALPN: `http/1.1`, `h2`; absent if none was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alpn: Option<String>,
    /// Handshakes with these parameters.
    pub handshakes: u64,
}

/// A certificate, as far as it could be read. All texts are the server's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Certificate {
    /// Holder: `CN=example.test,O=Example`; may be empty.
    pub subject: String,
    /// Signer, in the same form.
    pub issuer: String,
    /// Host names and addresses that it is valid for; absent if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// First instant of validity, RFC 3339.
    pub not_before: String,
    /// Last instant of validity, RFC 3339.
    pub not_after: String,
    /// Kind of its key: `ECDSA P-256`, `RSA 2048`.
    pub key: String,
    /// SHA-256 of the certificate, in hexadecimal.
    pub sha256: String,
}

impl TlsCounts {
    /// Counts a handshake with these parameters, whose own number of handshakes is not used.
    /// `is_returning`: the connection had a session to resume.
    pub fn count(&mut self, kind: HandshakeKind, is_returning: bool, parameters: TlsParameters) {
        match kind {
            HandshakeKind::Resumed => self.resumed += 1,
            HandshakeKind::Full => self.full += 1,
            HandshakeKind::HelloRetryRequest => {
                self.full += 1;
                self.hello_retry_requests += 1;
            }
        }
        self.not_resumed += u64::from(is_returning && kind != HandshakeKind::Resumed);
        add_parameters(&mut self.negotiated, &[TlsParameters { handshakes: 1, ..parameters }]);
    }

    /// Returns the number of handshakes, which saturates: a document may hold any counts.
    pub fn handshakes(&self) -> u64 {
        self.full.saturating_add(self.resumed)
    }
}

/// Adds handshakes with the same parameters, and keeps the most frequent first.
fn add_parameters(mine: &mut Vec<TlsParameters>, theirs: &[TlsParameters]) {
    fn facts(of: &TlsParameters) -> impl Ord {
        (&of.version, &of.cipher, &of.group, &of.alpn)
    }
    for other in theirs {
        match mine.iter_mut().find(|known| facts(known) == facts(other)) {
            Some(known) => known.handshakes = known.handshakes.saturating_add(other.handshakes),
            None => mine.push(other.clone()),
        }
    }
    if mine.len() > 1 {
        mine.sort_by(|a, b| b.handshakes.cmp(&a.handshakes).then_with(|| facts(a).cmp(&facts(b))));
    }
}

/// Keeps the certificates that are there.
fn keep_first(mine: &mut Vec<Certificate>, theirs: &[Certificate]) {
    if mine.is_empty() {
        *mine = theirs.to_vec();
    }
}
