//! The tests of weir-result's public interface, as one program so that it is linked once. Those of
//! whole documents, with their verdict, are weir-verdict's.

#[cfg(feature = "schema")]
mod conformance;
#[cfg(feature = "schema")]
mod schema;
mod study;
