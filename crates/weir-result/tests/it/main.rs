//! The tests of weir-result's public interface, as one program so that it is linked once.

mod assertions;
mod document;
mod fixture;
mod merge;
#[cfg(feature = "schema")]
mod schema;
mod study;
mod verdict;
