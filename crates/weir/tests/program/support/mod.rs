//! What the tests stand on: weir as a child process, servers that misbehave to order, and ways to
//! wait for events without sleeping.

pub(crate) mod directory;
pub(crate) mod process;
pub(crate) mod raw;
pub(crate) mod serve;
pub(crate) mod served;
pub(crate) mod wait;
pub(crate) mod weir;

/// The I/O engines that every behaviour is tested on, as `--io` names them.
pub(crate) const ENGINES: &[&str] = &["epoll", "uring"];

/// Runs `test` once for each engine.
pub(crate) fn for_each_engine(test: impl Fn(&str)) {
    for engine in ENGINES {
        eprintln!("--io {engine}");
        test(engine);
    }
}
