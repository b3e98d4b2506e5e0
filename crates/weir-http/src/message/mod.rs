//! Parts of HTTP/1 messages that both sides share (RFC 9112): lines, fields, sections, chunks, and
//! the fields that determine the end of a body. Independent of the side that uses them.

pub(crate) mod chunked;
pub(crate) mod connection_fields;
pub(crate) mod fields;
pub(crate) mod framing;
pub(crate) mod line;
pub(crate) mod scan;
pub(crate) mod section;
