//! Result files: their names, their formats, and how they are written.

mod destination;
mod distinct;
mod exports;
mod pipe;
mod result_file;

pub(crate) use destination::{Output, Outputs, is_stdout};
pub(crate) use distinct::{check_distinct, is_same_file};
pub(crate) use exports::{Export, ExportFiles, all_exports};
pub(crate) use result_file::{ResultFile, Temporaries};
