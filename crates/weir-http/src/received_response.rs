//! Response content beyond its [`crate::ResponseEvent`]: fields and body, borrowed from the
//! connection that stores them. Independent of how they are received.

use crate::grpc::ReceivedCall;
use crate::message::fields::Fields;

/// Part of each response that a connection stores. A later one contains those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Interest {
    /// Nothing: the [`crate::ResponseEvent`] is sufficient.
    #[default]
    Status,
    /// The fields.
    Head,
    /// The fields and the body.
    Body,
}

/// A final response as received. Interim responses (1xx) leave nothing in it.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedResponse<'a> {
    /// The status code, 200 to 999.
    pub status: u16,
    /// Bytes of the field lines, trailers last, without status line, empty lines and anything
    /// between. Two responses with equal bytes here have equal fields.
    pub head: &'a [u8],
    /// Content without chunk framing: its beginning as far as the
    /// [`BodyBudget`](crate::BodyBudget) allows. Empty unless the interest is
    /// [`Interest::Body`].
    pub body: &'a [u8],
    /// True if the content was longer than `body`.
    pub is_cut: bool,
    /// Its messages of gRPC; `None` unless they are checked.
    pub call: Option<ReceivedCall>,
    /// Begin of the first error among its messages, else of the first one that does not count;
    /// empty if there is neither.
    pub excerpt: &'a [u8],
}

impl<'a> ReceivedResponse<'a> {
    /// Returns a response of which nothing but its status code is known.
    pub fn of_status(status: u16) -> ReceivedResponse<'a> {
        ReceivedResponse { status, head: &[], body: &[], is_cut: false, call: None, excerpt: &[] }
    }

    /// Returns the field names and values in order of arrival, the trailers of a chunked body (RFC
    /// 9112 §7.1.2) last. Names are as received. Values have no whitespace around them; a folded
    /// one (RFC 9112 §5.2) contains its line ends.
    pub fn fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        Fields::of(self.head)
    }

    /// Returns the fields that may have the status of a call: those of the trailers if its messages
    /// are checked and a body precedes them, else all.
    pub fn call_fields(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        Fields::of(self.call.map_or(self.head, |call| call.trailers(self.head)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_of_lines() {
        let check = |head: &str, expected: &[(&str, &str)]| {
            let response =
                ReceivedResponse { head: head.as_bytes(), ..ReceivedResponse::of_status(200) };
            let fields: Vec<_> = response.fields().collect();
            let text = |bytes| str::from_utf8(bytes).unwrap();
            let fields: Vec<_> =
                fields.iter().map(|&(name, value)| (text(name), text(value))).collect();
            assert_eq!(fields, expected, "{head:?}");
        };
        check("", &[]);
        check("A: b\r\n", &[("A", "b")]);
        check("A:\r\na:\t b c \t\r\nA:b\n", &[("A", ""), ("a", "b c"), ("A", "b")]);
        check("A: b\r\n c\r\n\t d \r\nE: f\r\n", &[("A", "b\r\n c\r\n\t d"), ("E", "f")]);
        check("A:\r\n b\n \nE: \n \n", &[("A", "\r\n b\n"), ("E", "\n")]);
    }
}
