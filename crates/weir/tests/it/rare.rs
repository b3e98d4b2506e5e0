//! Tests that take long and seldom fail: agents in trouble, and their rights, with a real
//! nats-server and its real waits. weir-fleet tests its state machines in virtual time. A step of
//! `cargo xtask nightly` runs these, by the name of this module.

mod fleet;
mod hostile_agents;
mod identities;
mod orders;
mod permissions;
