//! The text of the repository as its tasks read it: files, Rust without comments, modules.

pub(crate) mod modules;
pub(crate) mod scanner;
pub(crate) mod tree;
