//! Support for the tests: weir as a child process, servers that misbehave on request, and ways to
//! wait for events without sleeping.

pub(crate) mod directory;
pub(crate) mod locked_fleet;
pub(crate) mod nats;
pub(crate) mod nginx;
pub(crate) mod process;
pub(crate) mod raw;
pub(crate) mod secure;
pub(crate) mod serve;
pub(crate) mod served;
pub(crate) mod sockets;
pub(crate) mod wait;
pub(crate) mod weir;
pub(crate) mod wrk;
pub(crate) mod wrk_report;

/// The I/O engines that every behaviour is tested on, as `--io` names them.
pub(crate) const ENGINES: &[&str] = &["epoll", "uring"];

/// Runs `test` once for each engine. Some kernels have no io_uring, and some containers forbid it:
/// there weir runs on epoll only.
pub(crate) fn for_each_engine(test: impl Fn(&str)) {
    for engine in ENGINES {
        match weir_io::Engine::Uring.probe() {
            Err(error) if *engine == "uring" => eprintln!("not on io_uring: {error}"),
            _ => {
                eprintln!("--io {engine}");
                test(engine);
            }
        }
    }
}
