//! The processes of this machine that hold the server's listening socket, and the CPU time of their
//! threads. The source is /proc, read with this user's rights: other users' processes stay unknown
//! unless weir is privileged.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use weir_io::Endpoint;
use weir_machine::{Root, SchedStat, holders, listeners, processes, unix_listeners};
use weir_result::ServerCpu;

/// Maximum duration of the search: a machine may have a million descriptors.
const SEARCH_MAX: Duration = Duration::from_millis(50);

/// Maximum threads that are read, at about 8 µs each.
const THREADS_MAX: usize = 512;

/// The processes that hold a listening socket, by id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServerProcesses {
    processes: Vec<u32>,
}

/// CPU time of each thread, in nanoseconds, by its directory.
pub(super) type ThreadTimes = BTreeMap<String, u64>;

impl ServerProcesses {
    /// Finds the server behind an address of this machine; empty if no process is found in time.
    pub(super) fn find(endpoint: &Endpoint) -> ServerProcesses {
        let root = Root::machine();
        let inodes = listening_inodes(&root, endpoint);
        if inodes.is_empty() {
            return ServerProcesses::default();
        }
        let until = Instant::now() + SEARCH_MAX;
        let others = processes(&root).filter(|id| *id != std::process::id());
        ServerProcesses { processes: holders(&root, others, &inodes, || Instant::now() < until) }
    }

    /// CPU time of its threads so far; `None` without a server, with too many threads, or if the
    /// kernel does not provide it.
    pub(super) fn thread_times(&self, root: &Root) -> Option<ThreadTimes> {
        let mut times = ThreadTimes::new();
        for process in &self.processes {
            let threads = format!("proc/{process}/task");
            for name in root.entries(&threads) {
                if times.len() == THREADS_MAX {
                    return None;
                }
                let thread = format!("{threads}/{name}");
                // The thread may have ended since.
                let text = root.text(&format!("{thread}/schedstat")).unwrap_or_default();
                if let Some(counters) = SchedStat::parse(&text) {
                    times.insert(thread, counters.ran_ns);
                }
            }
        }
        (!times.is_empty()).then_some(times)
    }

    /// CPU time of its threads between two readings, as shares of `span_ns`. New threads began at
    /// 0.
    pub(super) fn usage(&self, [before, after]: [&ThreadTimes; 2], span_ns: u64) -> ServerCpu {
        let spent = after.iter().map(|(thread, ns)| {
            let earlier = before.get(thread).copied().unwrap_or(0);
            ns.saturating_sub(earlier) as f64 / span_ns.max(1) as f64
        });
        let (busiest, total) =
            spent.fold((0.0_f64, 0.0), |(most, sum), share| (most.max(share), sum + share));
        ServerCpu {
            processes: u32::try_from(self.processes.len()).unwrap_or(u32::MAX),
            // A share may exceed 1, because the readings take time too.
            busiest_thread_share: busiest.min(1.0),
            total_share: total,
        }
    }
}

/// The inodes of the sockets that accept connections to `endpoint`.
fn listening_inodes(root: &Root, endpoint: &Endpoint) -> Vec<u64> {
    match endpoint {
        Endpoint::Unix(path) => unix_listeners(root, &path.to_string_lossy()),
        Endpoint::Tcp(address) => {
            let found = listeners(root, *address).unwrap_or_default();
            found.iter().map(|listener| listener.inode).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, TcpListener};
    use std::os::unix::net::UnixListener;

    use super::*;

    fn share(busiest_thread_share: f64, total_share: f64) -> ServerCpu {
        ServerCpu { processes: 2, busiest_thread_share, total_share }
    }

    #[test]
    fn shares_are_of_the_span() {
        let server = ServerProcesses { processes: vec![8, 9] };
        let times = |times: &[(&str, u64)]| -> ThreadTimes {
            times.iter().map(|(thread, ns)| ((*thread).to_owned(), *ns)).collect()
        };
        let before = times(&[("a", 1_000), ("b", 500), ("gone", 7)]);
        let after = times(&[("a", 1_600), ("b", 1_490), ("new", 200)]);
        let usage = server.usage([&before, &after], 1_000);
        assert_eq!(usage, share(0.99, 0.6 + 0.99 + 0.2));
        let beyond = server.usage([&before, &times(&[("a", 3_000)])], 1_000);
        assert_eq!(beyond, share(1.0, 2.0));
        assert_eq!(ServerProcesses::default().thread_times(&Root::machine()), None);
    }

    #[test]
    fn listening_sockets_are_found_by_their_address() {
        let root = Root::machine();
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        assert_eq!(listening_inodes(&root, &Endpoint::Tcp(address)).len(), 1);
        let elsewhere = SocketAddr::from(([127, 0, 0, 2], address.port()));
        assert_eq!(listening_inodes(&root, &Endpoint::Tcp(elsewhere)), Vec::<u64>::new());
        let any = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = any.local_addr().expect("bound").port();
        assert_eq!(listening_inodes(&root, &Endpoint::Tcp(([127, 0, 0, 2], port).into())).len(), 1);
    }

    #[test]
    fn unix_sockets_are_found_by_their_name() {
        use std::os::linux::net::SocketAddrExt;
        let root = Root::machine();
        let name = format!("weir-health-{}", std::process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).expect("a name");
        let _listener = UnixListener::bind_addr(&address).expect("a free name");
        assert_eq!(listening_inodes(&root, &Endpoint::Unix(format!("@{name}").into())).len(), 1);
        assert_eq!(listening_inodes(&root, &Endpoint::Unix("@unbound".into())), Vec::<u64>::new());
    }

    #[test]
    fn this_process_is_no_server() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        assert_eq!(ServerProcesses::find(&Endpoint::Tcp(address)), ServerProcesses::default());
        let own = ServerProcesses { processes: vec![std::process::id()] };
        assert!(
            own.thread_times(&Root::machine())
                .is_some_and(|times| times.values().any(|ns| *ns > 0))
        );
    }
}
