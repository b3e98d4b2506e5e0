//! The tests of weir-http's public interface, as one program so that it is linked once.

mod cases;
mod check;
mod corpus;
mod exchange;
mod grpc;
mod h2;
mod kept;
mod messages;
mod properties;
mod raw_requests;
mod responses;
mod server;
mod sse;
mod ws;
