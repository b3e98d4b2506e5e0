//! The tests of weir-serve over real sockets, as one program so that it is linked once.

mod live;
#[cfg(feature = "tls")]
mod protocols;
