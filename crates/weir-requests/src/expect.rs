//! Expectations of responses: their text, the decoding of bodies, and the check of a response.
//!
//! A response goes in, and the expectation that it misses comes out; nothing is counted here.
//! Memory and time of a check are bounded by the limit of decoded bodies.

mod expectations;

mod expectation;
mod field_key;
mod first_bodies;
mod miss;

mod call_content;
mod decoder;
mod json;
mod status;

mod coding;
mod decode_error;
mod error;

pub use call_content::CallContent;
pub use decode_error::DecodeError;
pub use decoder::BodyDecoder;
pub use error::ExpectError;
pub use expectation::Expectation;
pub(crate) use expectation::regex;
pub use expectations::{Expectations, grpc_status};
pub use field_key::FieldKey;
pub use first_bodies::FirstBodies;
pub use json::JsonPointer;
pub(crate) use json::plain_text;
pub use miss::Miss;
pub use status::StatusCodes;
