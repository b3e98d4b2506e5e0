//! The opening handshake (RFC 6455 §4): the upgrade that a client requests and the response that
//! accepts it.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::deflate::{DeflateTerms, OFFER};
use super::mask::MaskSequence;
use super::sha1::sha1;
use crate::error::ProtocolError;
use crate::head::Head;
use crate::message::fields::Fields;
use crate::prepared::Prepared;
use crate::raw::split;

/// Text after the key in the digest that a server returns (§1.3).
const GUID: &[u8] = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// Bytes of a key in base64.
pub const KEY_BYTES: usize = 24;

/// Value of `Sec-WebSocket-Key`: 16 bytes in base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UpgradeKey(pub [u8; KEY_BYTES]);

impl UpgradeKey {
    /// Returns the key of a connection. It need not be secret: it only keeps a cache from answering
    /// with an old response.
    pub(super) fn of(sequence: &mut MaskSequence) -> UpgradeKey {
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&sequence.next().to_ne_bytes());
        nonce[8..].copy_from_slice(&sequence.next().to_ne_bytes());
        let mut key = [0; KEY_BYTES];
        STANDARD.encode_slice(nonce, &mut key).expect("16 bytes are 24 characters");
        UpgradeKey(key)
    }

    /// Returns the key that is the value of a field; `None` if it is not 16 bytes in base64
    /// (§4.2.1).
    pub fn parse(value: &[u8]) -> Option<UpgradeKey> {
        let key: &[u8; KEY_BYTES] = value.try_into().ok()?;
        let nonce = STANDARD.decode(key).ok()?;
        (nonce.len() == 16).then_some(UpgradeKey(*key))
    }
}

/// Returns the value of `Sec-WebSocket-Accept` that shows that a key was read.
pub fn accept_of(key: &UpgradeKey) -> [u8; 28] {
    let digest = sha1(&[&key.0[..], GUID].concat());
    let mut accept = [0; 28];
    STANDARD.encode_slice(digest, &mut accept).expect("20 bytes are 28 characters");
    accept
}

/// The upgrade that a client requests, without its key.
#[derive(Clone, Debug)]
pub(super) struct UpgradeRequest {
    /// From the request line to the name of the field of the key.
    head: Arc<[u8]>,
    /// Values of `Sec-WebSocket-Protocol`.
    protocols: Arc<[String]>,
}

/// Fields of the user's request that the upgrade does not have: those of its body, of the
/// connection, and of the handshake.
const FIELDS_LEFT_OUT: [&str; 9] = [
    "connection",
    "content-length",
    "content-type",
    "expect",
    "sec-websocket-extensions",
    "sec-websocket-key",
    "sec-websocket-version",
    "transfer-encoding",
    "upgrade",
];

impl UpgradeRequest {
    /// Returns the upgrade with the target and the fields of a request.
    pub(super) fn of(request: &Prepared) -> UpgradeRequest {
        let bytes = request.bytes();
        let parts = split(bytes).expect("it was validated when it was made");
        let mut head = b"GET ".to_vec();
        head.extend_from_slice(&bytes[parts.target]);
        head.extend_from_slice(b" HTTP/1.1\r\n");
        let mut protocols = Vec::new();
        for (name, value) in Fields::of(&bytes[parts.fields]) {
            let name = String::from_utf8_lossy(name);
            if FIELDS_LEFT_OUT.iter().any(|left_out| name.eq_ignore_ascii_case(left_out)) {
                continue;
            }
            if name.eq_ignore_ascii_case("sec-websocket-protocol") {
                let named = String::from_utf8_lossy(value);
                protocols.extend(named.split(',').map(|name| name.trim().to_owned()));
            }
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b": ");
            head.extend_from_slice(value);
            head.extend_from_slice(b"\r\n");
        }
        head.extend_from_slice(
            b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
              Sec-WebSocket-Key: ",
        );
        UpgradeRequest { head: head.into(), protocols: protocols.into() }
    }

    /// Appends the request with a key, which offers permessage-deflate if `offers_deflate`.
    pub(super) fn push(&self, key: &UpgradeKey, offers_deflate: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.head);
        out.extend_from_slice(&key.0);
        out.extend_from_slice(b"\r\n");
        if offers_deflate {
            out.extend_from_slice(OFFER);
        }
        out.extend_from_slice(b"\r\n");
    }

    /// Checks the response (§4.1). Returns the terms on which messages are deflated; `None` if they
    /// are not.
    ///
    /// # Errors
    /// If it does not accept the upgrade that was requested with `key`.
    pub(super) fn check(
        &self,
        head: &Head<'_>,
        key: &UpgradeKey,
        offers_deflate: bool,
    ) -> Result<Option<DeflateTerms>, ProtocolError> {
        if head.status != 101 {
            return Err(ProtocolError::of_refused_upgrade(head.status));
        }
        let value = |name| head.header(name).unwrap_or_default();
        let is_websocket = value("upgrade").eq_ignore_ascii_case(b"websocket");
        if !is_websocket || !has_token(value("connection"), b"upgrade") {
            return Err(ProtocolError::BadUpgrade);
        }
        if !values(head, "sec-websocket-accept").eq([&accept_of(key)[..]]) {
            return Err(ProtocolError::UpgradeAccept);
        }
        let mut extensions = values(head, "sec-websocket-extensions");
        let terms = match (extensions.next(), extensions.next()) {
            (None, _) => None,
            (Some(chosen), None) if offers_deflate => {
                let terms = DeflateTerms::of_response(chosen);
                Some(terms.ok_or(ProtocolError::UpgradeExtension)?)
            }
            (Some(_), _) => return Err(ProtocolError::UpgradeExtension),
        };
        let is_requested =
            |name: &[u8]| self.protocols.iter().any(|requested| requested.as_bytes() == name);
        let mut protocols = values(head, "sec-websocket-protocol");
        let is_offered = protocols.next().is_none_or(is_requested) && protocols.next().is_none();
        if is_offered { Ok(terms) } else { Err(ProtocolError::UpgradeProtocol) }
    }
}

/// Returns the values of all fields of a name.
fn values<'a>(head: &'a Head<'_>, name: &'a str) -> impl Iterator<Item = &'a [u8]> {
    let fields = head.headers.iter().filter(move |(known, _)| known.eq_ignore_ascii_case(name));
    fields.map(|(_, value)| &**value)
}

/// True if a list of tokens, separated by commas, has `token`, in whatever case.
pub fn has_token(list: &[u8], token: &[u8]) -> bool {
    list.split(|&byte| byte == b',').any(|item| item.trim_ascii().eq_ignore_ascii_case(token))
}

/// Appends the response that accepts an upgrade. `fields` are further ones, by name and value.
pub fn push_acceptance(out: &mut Vec<u8>, key: &UpgradeKey, fields: &[(&str, &str)]) {
    out.extend_from_slice(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
          Sec-WebSocket-Accept: ",
    );
    out.extend_from_slice(&accept_of(key));
    out.extend_from_slice(b"\r\n");
    for (name, value) in fields {
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::read_head;

    /// RFC 6455 §1.3.
    #[test]
    fn the_example_of_the_standard() {
        let key = UpgradeKey::parse(b"dGhlIHNhbXBsZSBub25jZQ==").unwrap();
        assert_eq!(&accept_of(&key), b"s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        for text in [&b""[..], b"dGhlIHNhbXBsZSBub25jZQ", b"dGhlIHNhbXBsZSBub25jZ!=="] {
            assert_eq!(UpgradeKey::parse(text), None);
        }
    }

    fn request(fields: &[(&str, &str)]) -> UpgradeRequest {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let fields: Vec<_> = fields.iter().map(own).collect();
        let body = Some(&b"hello"[..]);
        let request = Prepared::http1("POST", "/chat?a=b", "h:1", &fields, body).unwrap();
        UpgradeRequest::of(&request)
    }

    #[test]
    fn an_upgrade_has_the_fields_of_the_user() {
        let upgrade = request(&[("Origin", "http://o"), ("Content-Type", "text/plain")]);
        let key = UpgradeKey::of(&mut MaskSequence::new(1));
        let mut out = Vec::new();
        upgrade.push(&key, false, &mut out);
        let text = String::from_utf8(out).unwrap();
        let begin = "GET /chat?a=b HTTP/1.1\r\nHost: h:1\r\nOrigin: http://o\r\n\
                     Upgrade: websocket\r\nConnection: Upgrade\r\n\
                     Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ";
        assert!(text.starts_with(begin) && text.ends_with("==\r\n\r\n"), "{text}");
        assert_eq!(text.len(), begin.len() + KEY_BYTES + 4);
        assert_eq!(UpgradeKey::parse(&key.0), Some(key));
    }

    #[test]
    fn responses_that_accept_and_others() {
        let upgrade = request(&[("Sec-WebSocket-Protocol", "chat, log")]);
        let key = UpgradeKey::of(&mut MaskSequence::new(1));
        let check = |change: fn(String) -> String| {
            let mut out = Vec::new();
            push_acceptance(&mut out, &key, &[("Sec-WebSocket-Protocol", "log")]);
            let text = change(String::from_utf8(out).unwrap());
            upgrade.check(&read_head(text.as_bytes()).unwrap().unwrap(), &key, false)
        };
        assert_eq!(check(|text| text), Ok(None));
        assert_eq!(check(|text| text.replace("Upgrade: w", "upgrade: W")), Ok(None));
        let bad = Err(ProtocolError::BadUpgrade);
        assert_eq!(check(|text| text.replace("Upgrade: w", "Upgrade: x")), bad);
        assert_eq!(check(|text| text.replace("Connection: Upgrade", "Connection: close")), bad);
        let bad = Err(ProtocolError::UpgradeAccept);
        assert_eq!(check(|text| text.replace("Accept: ", "Accept: x")), bad);
        assert_eq!(check(|text| text.replace("Sec-WebSocket-Accept", "A")), bad);
        const TWICE: &str = "\r\nsec-websocket-accept: x\r\n\r\n";
        assert_eq!(check(|text| text.replace("\r\n\r\n", TWICE)), bad);
        let bad = Err(ProtocolError::UpgradeProtocol);
        assert_eq!(check(|text| text.replace(": log", ": other")), bad);
        const PROTOCOL: &str = "\r\nSec-WebSocket-Protocol: chat\r\n\r\n";
        assert_eq!(check(|text| text.replace("\r\n\r\n", PROTOCOL)), bad);
        const EXTENSION: &str = "\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";
        let bad = Err(ProtocolError::UpgradeExtension);
        assert_eq!(check(|text| text.replace("\r\n\r\n", EXTENSION)), bad);
        let refused = Err(ProtocolError::UpgradeNotFound);
        assert_eq!(check(|text| text.replace(" 101 ", " 404 ")), refused);
    }
}
