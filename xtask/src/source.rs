//! The text of the repository as its tasks read it: files, Rust without comments, modules.

mod modules;
mod scanner;
mod tree;

pub(crate) use modules::*;
pub(crate) use scanner::*;
pub(crate) use tree::*;
