//! The program as its user has it: the real `weir`, started as a process, against real servers over
//! real sockets. What is asserted are counts, codes and bounds that hold however busy the machine
//! is; how fast and how punctual weir is, is for simulations and `make bench` to say.
//!
//! One program of tests rather than several, so that it is linked once.

mod support;

mod answers;
mod assertions;
mod cli;
mod compat;
mod compat_habits;
mod connections;
mod credentials;
mod help;
mod https;
mod nginx;
mod readme;
mod renewing;
mod requests;
mod robustness;
mod rows;
mod scale;
mod script_calls;
mod scripts;
mod signals;
mod slowness;
mod stall;
mod time;
mod trials;
mod verdict;
