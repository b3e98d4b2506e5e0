//! The processes of this machine that hold the server's listening socket, and the CPU time of their
//! threads. The source is /proc, read with this user's rights: other users' processes stay unknown
//! unless weir is privileged.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use weir_io::Endpoint;
use weir_result::ServerCpu;

use super::network::as_listed;

/// Maximum duration of the search: a machine may have a million descriptors.
const SEARCH_MAX: Duration = Duration::from_millis(50);

/// Maximum threads that are read, at about 8 µs each.
const THREADS_MAX: usize = 512;

/// `TCP_LISTEN` in /proc/net/tcp.
const LISTENING: &str = "0A";

/// `SO_ACCEPTCON` in /proc/net/unix: the socket listens.
const ACCEPTS: &str = "00010000";

/// The processes that hold a listening socket; `/proc/PID` each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Server {
    processes: Vec<PathBuf>,
}

/// CPU time of each thread, in nanoseconds, by its directory.
pub(super) type ThreadTimes = BTreeMap<PathBuf, u64>;

impl Server {
    /// Finds the server behind an address of this machine; empty if no process is found in time.
    pub(super) fn find(endpoint: &Endpoint) -> Server {
        let inodes = listening_inodes(endpoint);
        if inodes.is_empty() {
            return Server::default();
        }
        let sockets: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
        let until = Instant::now() + SEARCH_MAX;
        let own = std::process::id().to_string();
        let mut processes = Vec::new();
        for process in entries(Path::new("/proc")) {
            let name = process.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if !name.bytes().all(|byte| byte.is_ascii_digit()) || name == own {
                continue;
            }
            if Instant::now() >= until {
                break;
            }
            if holds(&process, &sockets, until) {
                processes.push(process);
            }
        }
        Server { processes }
    }

    /// CPU time of its threads so far; `None` without a server, with too many threads, or if the
    /// kernel does not provide it.
    pub(super) fn thread_times(&self) -> Option<ThreadTimes> {
        let mut times = ThreadTimes::new();
        for process in &self.processes {
            for thread in entries(&process.join("task")) {
                if times.len() == THREADS_MAX {
                    return None;
                }
                // The thread may have ended since.
                let text = fs::read_to_string(thread.join("schedstat")).unwrap_or_default();
                if let Some(ns) = cpu_ns(&text) {
                    times.insert(thread, ns);
                }
            }
        }
        (!times.is_empty()).then_some(times)
    }

    /// CPU time of its threads between two readings, as shares of `span_ns`. New threads began at
    /// 0.
    pub(super) fn usage(
        &self,
        before: Option<&ThreadTimes>,
        after: Option<&ThreadTimes>,
        span_ns: u64,
    ) -> Option<ServerCpu> {
        let (before, after) = (before?, after?);
        let spent = after.iter().map(|(thread, ns)| {
            let earlier = before.get(thread).copied().unwrap_or(0);
            ns.saturating_sub(earlier) as f64 / span_ns.max(1) as f64
        });
        let (busiest, total) =
            spent.fold((0.0_f64, 0.0), |(most, sum), share| (most.max(share), sum + share));
        Some(ServerCpu {
            processes: u32::try_from(self.processes.len()).unwrap_or(u32::MAX),
            // A share may exceed 1, because the readings take time too.
            busiest_thread_share: busiest.min(1.0),
            total_share: total,
        })
    }
}

fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// True if a descriptor of the process is one of these sockets.
fn holds(process: &Path, sockets: &[String], until: Instant) -> bool {
    let descriptors = entries(&process.join("fd"));
    let mut descriptors = descriptors.take_while(|_| Instant::now() < until);
    descriptors.any(|descriptor| {
        let target = fs::read_link(descriptor).unwrap_or_default();
        target.to_str().is_some_and(|target| sockets.iter().any(|socket| socket == target))
    })
}

/// The first field of schedstat: time on a CPU, in nanoseconds.
fn cpu_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_ascii_whitespace().next()?.parse().ok()
}

/// The inodes of the sockets that accept connections to `endpoint`.
fn listening_inodes(endpoint: &Endpoint) -> Vec<String> {
    match endpoint {
        Endpoint::Unix(path) => {
            let name = path.to_string_lossy();
            lines("/proc/net/unix").filter_map(|line| unix_inode(&line, &name)).collect()
        }
        Endpoint::Tcp(address) => {
            let port = address.port();
            let addresses: Vec<String> =
                serving(address.ip()).map(|ip| as_listed((ip, port).into())).collect();
            let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
            let listening = tables.into_iter().flat_map(|table| {
                // Sockets that listen come first.
                lines(table).skip(1).take_while(|line| word(line, 3) == Some(LISTENING))
            });
            listening.filter_map(|line| tcp_inode(&line, &addresses)).collect()
        }
    }
}

/// The addresses on which a connection to `ip` is accepted.
fn serving(ip: IpAddr) -> impl Iterator<Item = IpAddr> {
    let any: [IpAddr; 2] = [Ipv4Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into()];
    let mapped = match ip {
        IpAddr::V4(ip) => Some(ip.to_ipv6_mapped().into()),
        IpAddr::V6(ip) => ip.to_ipv4_mapped().map(IpAddr::V4),
    };
    [ip].into_iter().chain(mapped).chain(any)
}

fn tcp_inode(line: &str, addresses: &[String]) -> Option<String> {
    let local = word(line, 1)?;
    addresses.iter().any(|address| address == local).then(|| word(line, 9).map(str::to_owned))?
}

/// `Num RefCount Protocol Flags Type St Inode Path`.
fn unix_inode(line: &str, name: &str) -> Option<String> {
    let is_it = word(line, 3) == Some(ACCEPTS) && word(line, 7) == Some(name);
    is_it.then(|| word(line, 6).map(str::to_owned))?
}

fn word(line: &str, at: usize) -> Option<&str> {
    line.split_ascii_whitespace().nth(at)
}

fn lines(table: &str) -> impl Iterator<Item = String> + use<> {
    File::open(table)
        .into_iter()
        .flat_map(|file| BufReader::new(file).lines().map_while(Result::ok))
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
        let server = Server { processes: vec!["/proc/8".into(), "/proc/9".into()] };
        let times = |times: &[(&str, u64)]| -> ThreadTimes {
            times.iter().map(|(thread, ns)| (PathBuf::from(thread), *ns)).collect()
        };
        let before = times(&[("a", 1_000), ("b", 500), ("gone", 7)]);
        let after = times(&[("a", 1_600), ("b", 1_490), ("new", 200)]);
        let usage = server.usage(Some(&before), Some(&after), 1_000);
        assert_eq!(usage, Some(share(0.99, 0.6 + 0.99 + 0.2)));
        let beyond = server.usage(Some(&before), Some(&times(&[("a", 3_000)])), 1_000);
        assert_eq!(beyond, Some(share(1.0, 2.0)));
        assert_eq!(server.usage(None, Some(&after), 1_000), None);
        assert_eq!(Server::default().thread_times(), None);
    }

    #[test]
    fn listening_sockets_are_found_by_their_address() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        assert_eq!(listening_inodes(&Endpoint::Tcp(address)).len(), 1);
        let elsewhere = SocketAddr::from(([127, 0, 0, 2], address.port()));
        assert_eq!(listening_inodes(&Endpoint::Tcp(elsewhere)), Vec::<String>::new());
        let any = TcpListener::bind("0.0.0.0:0").expect("a port");
        let port = any.local_addr().expect("bound").port();
        assert_eq!(listening_inodes(&Endpoint::Tcp(([127, 0, 0, 2], port).into())).len(), 1);
    }

    #[test]
    fn unix_sockets_are_found_by_their_name() {
        use std::os::linux::net::SocketAddrExt;
        let name = format!("weir-health-{}", std::process::id());
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&name).expect("a name");
        let _listener = UnixListener::bind_addr(&address).expect("a free name");
        assert_eq!(listening_inodes(&Endpoint::Unix(format!("@{name}").into())).len(), 1);
        assert_eq!(listening_inodes(&Endpoint::Unix("@unbound".into())), Vec::<String>::new());
    }

    #[test]
    fn this_process_is_no_server() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("bound");
        assert_eq!(Server::find(&Endpoint::Tcp(address)), Server::default());
        let own = Server { processes: vec!["/proc/self".into()] };
        assert!(own.thread_times().is_some_and(|times| times.values().any(|ns| *ns > 0)));
    }
}
