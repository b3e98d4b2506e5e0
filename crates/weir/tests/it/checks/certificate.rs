//! Certificates of any bytes, and edits of a real one.

use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::ParsedCertificate;
use weir_tls::Certificate;

/// A certificate for `localhost` and other names, with each kind of string: the base of all edits.
const BASE: &[u8] = include_bytes!("certificate.der");

/// First byte of inputs that are edits of the base, and not a certificate.
const EDITS: u8 = 0;

/// Most edits of one input.
const EDITS_MAX: usize = 8;

/// Names for which another reader may find a certificate valid, and the forms that name them.
const NAMES: [(&str, &[&str]); 3] = [
    ("localhost", &["localhost"]),
    ("a.example.test", &["a.example.test", "*.example.test"]),
    ("127.0.0.1", &["127.0.0.1"]),
];

/// Checks one input: a certificate, or edits of one. Few changes of bytes leave the lengths of the
/// elements in order.
pub(crate) fn certificate(input: &[u8]) {
    match input.split_first() {
        Some((&EDITS, edits)) => summarized(&edited(edits)),
        _ => summarized(input),
    }
}

/// Checks that a summary is bounded, names the hosts that another reader finds, and does not depend
/// on bytes that follow.
fn summarized(der: &[u8]) {
    let found = Certificate::of_der(der);
    let Certificate { subject, issuer, names, not_before, not_after, key, sha256 } = &found;
    assert_eq!(sha256.len(), 64);
    let texts = [subject, issuer, not_before, not_after, key];
    let bytes: usize = texts.into_iter().chain(names).map(|text| text.len()).sum();
    assert!(bytes <= 100 + 10 * der.len(), "{bytes} bytes from {}", der.len());
    assert!(names.len() <= der.len() / 2);
    assert!([not_before, not_after].iter().all(|time| [0, 20].contains(&time.len())));

    let other = CertificateDer::from(der);
    if let Ok(other) = ParsedCertificate::try_from(&other)
        && !key.is_empty()
    {
        for (host, forms) in NAMES {
            let name = ServerName::try_from(host).expect("it is a name");
            let is_valid = verify_server_name(&other, &name).is_ok();
            let is_found = names.iter().any(|name| {
                forms.iter().any(|form| name.trim_end_matches('.').eq_ignore_ascii_case(form))
            });
            assert!(is_found || !is_valid, "{host} is not in {names:?}");
        }
    }

    let is_read = texts.iter().any(|text| !text.is_empty());
    let followed = Certificate::of_der(&[der, b"\0"].concat());
    assert_ne!(followed.sha256, *sha256);
    assert!(!is_read || Certificate { sha256: sha256.clone(), ..followed } == found);
}

/// An element of the base, whose length is written anew.
#[derive(Clone, Debug)]
struct Element {
    tag: u8,
    content: Vec<u8>,
    /// The elements of a constructed one.
    inner: Vec<Element>,
}

impl Element {
    /// Reads the elements of `bytes`, as far as they are well formed.
    fn all(mut bytes: &[u8]) -> Vec<Element> {
        let mut elements = Vec::new();
        while let Some((&[tag, first], rest)) = bytes.split_first_chunk() {
            let (length, rest) = match (first, rest) {
                (..=0x7f, _) => (usize::from(first), rest),
                (0x81, &[low, ref rest @ ..]) => (usize::from(low), rest),
                (0x82, &[high, low, ref rest @ ..]) => {
                    (usize::from(u16::from_be_bytes([high, low])), rest)
                }
                _ => break,
            };
            let Some((content, rest)) = rest.split_at_checked(length) else { break };
            let inner = if tag & 0x20 == 0 { Vec::new() } else { Element::all(content) };
            elements.push(Element { tag, content: content.to_vec(), inner });
            bytes = rest;
        }
        elements
    }

    fn write(&self, out: &mut Vec<u8>) {
        let mut content = Vec::new();
        self.inner.iter().for_each(|element| element.write(&mut content));
        let content = if self.inner.is_empty() { &self.content } else { &content };
        out.extend_from_slice(&[self.tag, 0x83]);
        out.extend_from_slice(&(content.len() as u32).to_be_bytes()[1..]);
        out.extend_from_slice(content);
    }

    /// Applies `edit` to the element with this number in the order of their first bytes. Returns
    /// the numbers left if there are fewer.
    fn visit(&mut self, number: usize, edit: &mut impl FnMut(&mut Element)) -> Option<usize> {
        let Some(mut left) = number.checked_sub(1) else {
            edit(self);
            return None;
        };
        for element in &mut self.inner {
            left = element.visit(left, edit)?;
        }
        Some(left)
    }
}

/// Applies edits to the base. Each has the number of an element, the kind of change, a length and
/// that many bytes.
fn edited(mut edits: &[u8]) -> Vec<u8> {
    let mut base = Element::all(BASE).remove(0);
    for _ in 0..EDITS_MAX {
        let Some((&[number, kind, length], rest)) = edits.split_first_chunk() else { break };
        let (bytes, rest) = rest.split_at(rest.len().min(usize::from(length)));
        edits = rest;
        base.visit(usize::from(number), &mut |element| change(element, kind, bytes));
    }
    let mut out = Vec::new();
    base.write(&mut out);
    out
}

fn change(element: &mut Element, kind: u8, bytes: &[u8]) {
    let first = bytes.first().copied().unwrap_or_default();
    match kind % 6 {
        0 => element.tag = first,
        1 => *element = Element { tag: element.tag, content: bytes.to_vec(), inner: Vec::new() },
        // Few bytes that become many.
        2 => element.content = bytes.repeat(20),
        3 => element.inner.extend_from_within(..),
        4 => drop(element.inner.pop()),
        _ => element.inner.extend(Element::all(bytes)),
    }
}
