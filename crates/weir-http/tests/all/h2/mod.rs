//! Tests of HTTP/2 (RFC 9113) and its header compression (RFC 7541).

mod hpack;
