//! Whole runs of the engine in virtual time, checked against the truth and against theory. They are
//! one program, so that the engine is linked once.

mod closed_loop;
mod conservation;
mod cut;
mod drain;
mod expectations;
mod faults;
mod frames;
mod growth;
mod h2;
mod late_reads;
mod leases;
mod lists;
mod messages;
mod observers;
mod open_loop;
mod opening;
mod parts;
mod ramping;
mod rare;
mod renewing;
mod replay;
mod rows;
mod scripts;
mod setup;
mod stages;
mod stalls;
mod streams;
#[path = "../../../weir-sim/tests/it/theory.rs"]
mod theory;
mod toy;
mod users;
mod websocket;
