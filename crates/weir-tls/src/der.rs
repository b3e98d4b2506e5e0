//! Elements of DER (ITU-T X.690): a tag, a length, a content. Input may be anything; an element
//! that does not fit its bytes is none.

/// Tags of universal types, and of elements with a number of their own context.
pub(crate) mod tag {
    pub(crate) const INTEGER: u8 = 0x02;
    pub(crate) const BIT_STRING: u8 = 0x03;
    pub(crate) const OCTET_STRING: u8 = 0x04;
    pub(crate) const OID: u8 = 0x06;
    pub(crate) const UTF8_STRING: u8 = 0x0c;
    pub(crate) const PRINTABLE_STRING: u8 = 0x13;
    pub(crate) const TELETEX_STRING: u8 = 0x14;
    pub(crate) const IA5_STRING: u8 = 0x16;
    pub(crate) const UTC_TIME: u8 = 0x17;
    pub(crate) const GENERALIZED_TIME: u8 = 0x18;
    pub(crate) const BMP_STRING: u8 = 0x1e;
    pub(crate) const SEQUENCE: u8 = 0x30;
    pub(crate) const SET: u8 = 0x31;
    /// Element 0 of a context, constructed.
    pub(crate) const VERSION: u8 = 0xa0;
    /// Element 3 of a context, constructed.
    pub(crate) const EXTENSIONS: u8 = 0xa3;
}

/// An element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DerElement<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
}

/// Reads elements one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Der<'a>(pub(crate) &'a [u8]);

impl<'a> Der<'a> {
    /// Takes the next element. `None` at the end, and if it is malformed.
    pub(crate) fn next(&mut self) -> Option<DerElement<'a>> {
        let (&tag, rest) = self.0.split_first()?;
        let (&first, mut rest) = rest.split_first()?;
        let length = match first {
            0..=0x7f => usize::from(first),
            // Up to four bytes of length, as a certificate is no longer than a handshake message.
            0x81..=0x84 => {
                let (bytes, content) = rest.split_at_checked(usize::from(first & 0x7f))?;
                rest = content;
                bytes.iter().fold(0, |length, &byte| (length << 8) | usize::from(byte))
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some(DerElement { tag, content })
    }

    /// Takes the next element, which must have this tag; returns its content.
    pub(crate) fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        self.next().filter(|element| element.tag == tag).map(|element| element.content)
    }

    /// Takes the next element if it has this tag; returns its content.
    pub(crate) fn take_if(&mut self, tag: u8) -> Option<&'a [u8]> {
        if self.0.first() == Some(&tag) { self.take(tag) } else { None }
    }

    /// Takes a sequence; returns a reader of its elements.
    pub(crate) fn sequence(&mut self) -> Option<Der<'a>> {
        self.take(tag::SEQUENCE).map(Der)
    }
}

/// Formats an object identifier: `1.2.840.10045.2.1`.
pub(crate) fn dotted(oid: &[u8]) -> String {
    let mut arcs: Vec<u64> = Vec::new();
    let mut arc: u64 = 0;
    for &byte in oid {
        arc = (arc << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            arcs.push(arc);
            arc = 0;
        }
    }
    // The first number stands for two (X.690 §8.19.4).
    if let Some(&both) = arcs.first() {
        let root = (both / 40).min(2);
        arcs.splice(..1, [root, both - 40 * root]);
    }
    let arcs: Vec<String> = arcs.iter().map(u64::to_string).collect();
    arcs.join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_fit_their_bytes() {
        let check = |bytes: &[u8], expected: Option<(u8, usize)>| {
            let found = Der(bytes).next().map(|found| (found.tag, found.content.len()));
            assert_eq!(found, expected, "{bytes:x?}");
        };
        check(&[], None);
        check(&[2], None);
        check(&[2, 0], Some((2, 0)));
        check(&[2, 1], None);
        check(&[2, 1, 7, 8], Some((2, 1)));
        check(&[4, 0x81, 2, 1, 1], Some((4, 2)));
        check(&[4, 0x82, 0, 2, 1, 1], Some((4, 2)));
        check(&[4, 0x82, 0], None);
        check(&[4, 0x84, 0xff, 0xff, 0xff, 0xff, 1], None);
        check(&[4, 0x80, 1, 0, 0], None);
        check(&[4, 0x85, 0, 0, 0, 0, 0], None);
    }

    #[test]
    fn an_element_is_taken_by_its_tag() {
        let mut der = Der(&[2, 1, 7, 0x30, 2, 4, 0, 5]);
        assert_eq!(der.take_if(4), None);
        assert_eq!(der.take_if(2), Some(&[7][..]));
        assert_eq!(der.sequence().and_then(|mut inner| inner.take(4)), Some(&[][..]));
        assert_eq!(der.take(5), None);
    }

    #[test]
    fn identifiers_are_numbers_with_dots() {
        let check = |oid: &[u8], expected: &str| assert_eq!(dotted(oid), expected, "{oid:x?}");
        check(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1], "1.2.840.10045.2.1");
        check(&[0x55, 4, 3], "2.5.4.3");
        check(&[0x88, 0x37, 1], "2.999.1");
        check(&[0xff; 30], "");
        check(&[], "");
    }
}
