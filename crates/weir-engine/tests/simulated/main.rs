//! Whole runs of the engine in virtual time, against what truly happened and against theory. One
//! program, so that the engine is linked once.

mod closed_loop;
mod conservation;
mod drain;
mod faults;
mod observers;
mod open_loop;
mod opening;
mod queueing;
mod renewing;
mod scripts;
mod setup;
mod stalls;
