//! The tests of weir-runner's public interface, as one program so that it is linked once.

#[path = "../../../weir-engine/tests/it/setup.rs"]
#[expect(dead_code, reason = "each user of the module uses a part of it")]
mod setup;

mod secrets;
mod tls;
