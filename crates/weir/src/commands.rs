//! The commands of the program, one file each.

pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod selfcheck;
pub(crate) mod serve;
