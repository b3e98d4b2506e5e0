//! The client side of TLS as values: bytes in, bytes out.
#![forbid(unsafe_code)]
