//! Support for the tests: weir as a child process, servers that misbehave on request, and ways to
//! wait for events without sleeping.

pub(crate) mod agents;
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

/// The I/O engines, as `--io` names them.
const ENGINES: [&str; 2] = ["epoll", "uring"];

/// Set to `other`, each test runs on the engine that its name does not choose.
const CHOICE: &str = "WEIR_TEST_ENGINES";

/// Runs `test` on an I/O engine that the test's name decides, so that about half of the tests run
/// on each: both keep the contract that the suite of weir-io checks. Some kernels have no io_uring,
/// and some containers forbid it: there weir runs on epoll only.
pub(crate) fn on_an_engine(test: impl Fn(&str)) {
    let thread = std::thread::current();
    let sum: usize = thread.name().unwrap_or_default().bytes().map(usize::from).sum();
    let is_other = std::env::var_os(CHOICE).is_some_and(|value| value == "other");
    let mut engine = ENGINES[(sum + usize::from(is_other)) % ENGINES.len()];
    if let Err(error) = weir_io::Engine::Uring.probe() {
        eprintln!("not on io_uring: {error}");
        engine = "epoll";
    }
    eprintln!("--io {engine}");
    test(engine);
}
