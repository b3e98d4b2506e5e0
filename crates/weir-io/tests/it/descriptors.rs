//! Backends without free descriptors. The limit applies to a process, so the test runs in a child.

use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::process::Command;

use weir_io::{
    Backend, BackendOptions, Clock, ConnId, Endpoint, Engine, Epoll, EventKind, ListenOptions,
    Listener, Nanos, SocketOptions, Uring, WaitPolicy,
};
use weir_machine::sys;

fn limit_to(soft: libc::rlim_t) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: one limit is written.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
    limit.rlim_cur = soft;
    // SAFETY: one limit is read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) }, 0);
}

/// Returns the lowest free descriptor number, which is the next to be assigned.
fn lowest_free() -> libc::rlim_t {
    let file = std::fs::File::open("/dev/null").expect("open");
    libc::rlim_t::try_from(file.as_raw_fd()).expect("not negative")
}

/// Waits for the next event and returns a copy of it.
fn next(backend: &mut impl Backend) -> (ConnId, String) {
    loop {
        if let Some(event) = backend.next() {
            let text = match event.kind {
                EventKind::Failed(error) => format!("errno {}", error.raw_os_error().unwrap_or(0)),
                kind => format!("{kind:?}"),
            };
            return (event.conn, text);
        }
        backend.wait(Nanos::MAX, WaitPolicy::Sleep).expect("wait");
    }
}

fn check(mut backend: impl Backend) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let endpoint = Endpoint::Tcp(listener.local_addr().expect("name"));
    limit_to(lowest_free());
    backend.connect(ConnId(0), &endpoint, SocketOptions::default());
    let emfile = format!("errno {}", libc::EMFILE);
    assert_eq!(next(&mut backend), (ConnId(0), emfile));
    limit_to(256);
    backend.connect(ConnId(0), &endpoint, SocketOptions::default());
    assert_eq!(next(&mut backend), (ConnId(0), "Connected".into()));

    // Accepting waits until there is a free descriptor, without spinning.
    let acceptor =
        Listener::bind(&Endpoint::Tcp(([127, 0, 0, 1], 0).into()), ListenOptions::default())
            .expect("bind");
    let Endpoint::Tcp(address) = acceptor.local_endpoint().expect("name") else {
        panic!("a TCP listener has a TCP address");
    };
    backend.listen(acceptor).expect("listen");
    let _peer = TcpStream::connect(address).expect("connect");
    limit_to(lowest_free());
    let before = sys::thread_cpu_time().expect("usage").total();
    for _ in 0..20 {
        let soon = backend.now().after(5_000_000);
        backend.wait(soon, WaitPolicy::Sleep).expect("wait");
        assert!(backend.next().is_none());
    }
    let used = sys::thread_cpu_time().expect("usage").total() - before;
    assert!(used.as_millis() < 50, "a tenth of a second of waiting took {used:?} of work");
    limit_to(256);
    assert_eq!(next(&mut backend), (ConnId(1), "Accepted".into()));
}

/// Variable that is set in the child.
const CHILD: &str = "WEIR_FEW_DESCRIPTORS";

#[test]
fn running_out_of_descriptors_is_an_event() {
    if std::env::var_os(CHILD).is_some() {
        return check_all();
    }
    let mut child = Command::new(std::env::current_exe().expect("a path"));
    child.args(["--exact", "descriptors::running_out_of_descriptors_is_an_event"]);
    let output = child.env(CHILD, "1").output().expect("a child");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}{}", String::from_utf8_lossy(&output.stderr));
    assert!(printed.contains("1 passed"), "{printed}");
}

fn check_all() {
    let options =
        || BackendOptions { clock: Clock::start(), connections: 16, backends: 1, waker: None };
    limit_to(256);
    check(Epoll::new(options()).expect("epoll"));
    // The contract suite tells if this machine has no io_uring.
    if Engine::Uring.probe().is_ok() {
        check(Uring::new(options()).expect("io_uring"));
    }
}
