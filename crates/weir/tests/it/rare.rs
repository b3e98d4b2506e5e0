//! Tests that take long and seldom fail: agents in trouble, and their rights, with a real
//! nats-server and its real waits, which weir-fleet's tests have in virtual time; and the commands
//! of the guides. Steps of `cargo xtask nightly` run these, by the name of this module.

mod fleet;
mod guides;
mod hostile_agents;
mod identities;
mod orders;
mod permissions;
