//! The fields of a received request, in one buffer that all requests of a connection share.
//! Independent of streams.

use super::super::fault::H2Fault;
use super::super::fields::FieldCheck;
use super::super::hpack::Decoder;

/// Fields of a request, or its trailers.
#[derive(Debug, Default)]
pub struct RequestFields {
    bytes: Vec<u8>,
    /// Ends of the name and of the value of each field; it begins at the end of the one before.
    ends: Vec<(usize, usize)>,
    method: Option<usize>,
    scheme: Option<usize>,
    authority: Option<usize>,
    path: Option<usize>,
    pub(super) content_length: Option<u64>,
    pub(super) is_malformed: bool,
    pub(super) is_too_large: bool,
}

impl RequestFields {
    /// Returns the method; empty in trailers.
    pub fn method(&self) -> &[u8] {
        self.pseudo(self.method)
    }

    /// Returns the scheme; empty if there is none.
    pub fn scheme(&self) -> &[u8] {
        self.pseudo(self.scheme)
    }

    /// Returns the authority; empty if there is none.
    pub fn authority(&self) -> &[u8] {
        self.pseudo(self.authority)
    }

    /// Returns the request target; empty if there is none.
    pub fn path(&self) -> &[u8] {
        self.pseudo(self.path)
    }

    /// Returns the names and values of all fields in order, pseudo-header fields first.
    pub fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        (0..self.ends.len()).map(|nth| self.field(nth))
    }

    fn pseudo(&self, nth: Option<usize>) -> &[u8] {
        nth.map_or(b"", |nth| self.field(nth).1)
    }

    fn field(&self, nth: usize) -> (&[u8], &[u8]) {
        let begin = nth.checked_sub(1).map_or(0, |before| self.ends[before].1);
        let (name_end, end) = self.ends[nth];
        (&self.bytes[begin..name_end], &self.bytes[name_end..end])
    }

    /// Replaces the fields by the fields of a block.
    pub(super) fn read(&mut self, decoder: &mut Decoder, block: &[u8]) -> Result<(), H2Fault> {
        self.bytes.clear();
        self.ends.clear();
        (self.method, self.scheme, self.authority, self.path) = (None, None, None, None);
        let mut check = FieldCheck::default();
        let mut is_bad_pseudo = false;
        let decoded = decoder.decode(block, |name, value| {
            if check.field(name, value) {
                is_bad_pseudo |= !self.note_pseudo(name);
            }
            self.bytes.extend_from_slice(name);
            let name_end = self.bytes.len();
            self.bytes.extend_from_slice(value);
            self.ends.push((name_end, self.bytes.len()));
        });
        self.is_too_large = decoded.map_err(|_| H2Fault::COMPRESSION)?;
        self.content_length = check.content_length();
        self.is_malformed = check.is_malformed || is_bad_pseudo;
        Ok(())
    }

    /// Remembers the place of a pseudo-header field. Returns true if it is allowed.
    fn note_pseudo(&mut self, name: &[u8]) -> bool {
        let nth = self.ends.len();
        let known = match name {
            b":method" => &mut self.method,
            b":scheme" => &mut self.scheme,
            b":authority" => &mut self.authority,
            b":path" => &mut self.path,
            _ => return false,
        };
        known.replace(nth).is_none()
    }

    /// True if the fields begin a request (RFC 9113 §8.3.1 and §8.5).
    pub(super) fn is_head(&self) -> bool {
        let has = |name: Option<usize>| !self.pseudo(name).is_empty();
        match self.method() {
            b"" => false,
            b"CONNECT" => has(self.authority) && self.scheme.is_none() && self.path.is_none(),
            _ => has(self.scheme) && has(self.path),
        }
    }

    /// True if the fields are trailers, which have no pseudo-header field (RFC 9113 §8.1).
    pub(super) fn is_trailers(&self) -> bool {
        [self.method, self.scheme, self.authority, self.path].iter().all(Option::is_none)
    }
}
