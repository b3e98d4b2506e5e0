//! HTTP/2 and TLS of the reference server over real sockets, with clients that are not its own:
//! curl, rustls, and weir-http's client of HTTP/2. Counts and bytes are asserted, never times.

mod client;
mod curl;
mod http2;
mod shop;
mod tls;
