//! Parts of `cargo xtask` that the laboratory (`lab`) uses too: the repository's paths, other
//! programs, and servers that end with their starter. It depends on no crate of this workspace.

#![forbid(unsafe_code)]

pub mod guard;
pub mod shell;
