//! What the program does, one file each.

pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod serve;
