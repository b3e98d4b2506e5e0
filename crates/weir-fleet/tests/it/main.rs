//! Coordinator and agents in virtual time, over a bus that delays, loses, doubles and reorders
//! messages, with clocks that are hours apart and drift, and deaths at any step.

mod faults;
mod hostile;
mod rows;
mod world;
