//! Parts of `cargo xtask` that the laboratory (`lab`) uses too: the repository's paths, other
//! programs, servers that end with their starter, and measured entries. It depends on no crate of
//! this workspace.

#![forbid(unsafe_code)]

pub mod guard;
pub mod measured;
pub mod shell;
