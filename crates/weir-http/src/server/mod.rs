//! Server side of HTTP/1 (RFC 9112): received bytes in, requests out, and the parts of responses
//! that every server writes alike. It decides no response, and knows neither sockets nor times.

mod fault;
mod parser;
mod part;

pub use crate::message::chunked::{LAST_CHUNK, push_chunk_size};
pub use crate::message::framing::response_has_body;
pub use fault::RequestFault;
pub use parser::{ReadProgress, RequestParser};
pub use part::{RequestBody, RequestHead, RequestLine, RequestPart};
