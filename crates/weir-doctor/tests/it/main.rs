//! The checks on made-up machines: each with a problem, in good order, and unreadable.

mod machine;

mod cpus;
mod network;
mod report;
mod resources;
mod time;
