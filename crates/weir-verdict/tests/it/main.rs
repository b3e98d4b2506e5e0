//! The tests of documents with their verdict: weir-verdict's public interface, as one program so
//! that it is linked once.

mod assertions;
#[cfg(feature = "schema")]
#[path = "../../../weir-result/tests/it/conformance.rs"]
mod conformance;
mod document;
mod fixture;
mod merge;
mod names;
#[cfg(feature = "schema")]
mod schema;
mod verdict;
