//! The tests of weir-result's public interface, as one program so that it is linked once. Tests of
//! whole documents, with their verdict, are in weir-verdict.

#[cfg(feature = "schema")]
mod conformance;
#[cfg(feature = "schema")]
mod schema;
mod study;
