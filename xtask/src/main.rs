//! Scripts of this repository: `cargo xtask <task>`.
fn main() {}
