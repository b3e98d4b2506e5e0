//! Sockets of this machine, from /proc/net/tcp, tcp6 and unix, and the processes that hold them.
//! Processes of other users are visible to root alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::root::{Root, Unreadable};

/// `TCP_TIME_WAIT` in /proc/net/tcp.
const TIME_WAIT: &str = "06";

/// `TCP_LISTEN` in /proc/net/tcp.
const LISTENING: &str = "0A";

/// `SO_ACCEPTCON` in /proc/net/unix: the socket listens.
const ACCEPTS: &str = "00010000";

/// A TCP socket that accepts connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListeningSocket {
    /// Connections that wait to be accepted.
    pub waiting: u64,
    /// Number by which the descriptors of its processes name it.
    pub inode: u64,
}

/// Returns the sockets that accept connections to `address`.
///
/// # Errors
/// When no table of sockets can be read.
pub fn listeners(root: &Root, address: SocketAddr) -> Result<Vec<ListeningSocket>, Unreadable> {
    let port = address.port();
    let addresses: Vec<String> =
        serving(address.ip()).map(|ip| listed_address((ip, port).into())).collect();
    let v4 = root.lines("proc/net/tcp");
    let v6 = root.lines("proc/net/tcp6");
    if let (Err(reason), Err(_)) = (&v4, &v6) {
        return Err(reason.clone());
    }
    let listening = [v4, v6].into_iter().flatten().flat_map(|lines| {
        // Sockets that listen come first.
        lines.skip(1).take_while(|line| word(line, 3) == Some(LISTENING))
    });
    Ok(listening.filter_map(|line| listener(&line, &addresses)).collect())
}

/// Returns the inodes of the Unix sockets that accept connections by this name.
pub fn unix_listeners(root: &Root, name: &str) -> Vec<u64> {
    let lines = root.lines("proc/net/unix").into_iter().flatten();
    lines.filter_map(|line| unix_inode(&line, name)).collect()
}

/// Counts the sockets, in any state, whose peer is `server`: each holds a local port.
///
/// # Errors
/// When the table of sockets cannot be read.
pub fn sockets_to(root: &Root, server: SocketAddr) -> Result<u64, Unreadable> {
    let table = root.lines(if server.is_ipv4() { "proc/net/tcp" } else { "proc/net/tcp6" })?;
    let peer = listed_address(server);
    Ok(table.filter(|line| is_to(line, &peer)).count() as u64)
}

/// Counts the sockets to `port` of any machine in TIME_WAIT, which keep the ports that they came
/// from; 0 if unknown. Those that the server closed are on its side and keep none.
pub fn time_wait_to(root: &Root, port: u16) -> u64 {
    let tables = [root.lines("proc/net/tcp"), root.lines("proc/net/tcp6")];
    let lines = tables.into_iter().flatten().flatten();
    lines.filter(|line| is_waiting(line, port)).count() as u64
}

/// Returns the processes among `processes` that hold one of the sockets, given by their inodes.
/// `goes_on` is called before each process and each of its descriptors, and ends the search by
/// returning false: a machine may have a million descriptors.
pub fn holders(
    root: &Root,
    processes: impl Iterator<Item = u32>,
    inodes: &[u64],
    mut goes_on: impl FnMut() -> bool,
) -> Vec<u32> {
    let sockets: Vec<String> = inodes.iter().map(|inode| format!("socket:[{inode}]")).collect();
    let mut found = Vec::new();
    for process in processes {
        if !goes_on() {
            break;
        }
        let descriptors = format!("proc/{process}/fd");
        let holds = root.entries(&descriptors).take_while(|_| goes_on()).any(|name| {
            let target = root.link(&format!("{descriptors}/{name}"));
            target.is_some_and(|target| sockets.contains(&target))
        });
        if holds {
            found.push(process);
        }
    }
    found
}

/// Parses `sl local_address rem_address st tx_queue:rx_queue tr:when retrnsmt uid timeout inode`.
/// The receive queue of a socket that listens is its accept queue (proc_pid_net(5)).
fn listener(line: &str, addresses: &[String]) -> Option<ListeningSocket> {
    let words: Vec<&str> = line.split_whitespace().take(10).collect();
    let [_, local, _, _, queues, _, _, _, _, inode] = words[..] else { return None };
    if !addresses.iter().any(|address| address == local) {
        return None;
    }
    let waiting = u64::from_str_radix(queues.split_once(':')?.1, 16).ok()?;
    Some(ListeningSocket { waiting, inode: inode.parse().ok()? })
}

/// Parses `Num RefCount Protocol Flags Type St Inode Path`.
fn unix_inode(line: &str, name: &str) -> Option<u64> {
    let is_it = word(line, 3) == Some(ACCEPTS) && word(line, 7) == Some(name);
    is_it.then(|| word(line, 6)?.parse().ok())?
}

/// True if a line of the table describes a socket to `peer`.
fn is_to(line: &str, peer: &str) -> bool {
    word(line, 2) == Some(peer)
}

/// True if a line of the table describes a socket to `port` in TIME_WAIT.
fn is_waiting(line: &str, port: u16) -> bool {
    let peer = word(line, 2).and_then(|peer| peer.rsplit_once(':'));
    let peer = peer.and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
    word(line, 3) == Some(TIME_WAIT) && peer == Some(port)
}

fn word(line: &str, at: usize) -> Option<&str> {
    line.split_ascii_whitespace().nth(at)
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

/// Formats an address as in /proc/net/tcp and tcp6: words of 32 bits in the machine's byte order,
/// in hex, and the port.
fn listed_address(address: SocketAddr) -> String {
    let octets = match address.ip() {
        IpAddr::V4(ip) => ip.octets().to_vec(),
        IpAddr::V6(ip) => ip.octets().to_vec(),
    };
    let words = octets.chunks_exact(4).map(|word| {
        let word = word.try_into().expect("chunks of four");
        format!("{:08X}", u32::from_ne_bytes(word))
    });
    format!("{}:{:04X}", words.collect::<String>(), address.port())
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::net::UnixListener;

    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn lines_are_matched_by_their_peer() {
        let line = "   1: 020200C0:8DC8 507100CB:0050 06 00000000:00000000 03:000006EA 00000000  0";
        let listed = |address: &str| listed_address(address.parse().expect("valid"));
        assert!(is_to(line, &listed("203.0.113.80:80")));
        assert!(!is_to(line, &listed("203.0.113.80:81")));
        assert!(!is_to(line, &listed("192.0.2.2:36296")), "its own end");
        assert_eq!(listed("[2001:db8::1]:8080"), "B80D0120000000000000000001000000:1F90");
    }

    #[test]
    fn waiting_sockets_are_those_to_the_port() {
        let table = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0
   1: 0100007F:C350 0100007F:1F90 06 00000000:00000000 03:00001770 00000000     0
   2: 0100007F:C351 0100007F:1F90 06 00000000:00000000 03:00001770 00000000     0
   3: 0100007F:C352 0100007F:1F90 01 00000000:00000000 00:00000000 00000000     0
   4: 0100007F:C353 0100007F:1F91 06 00000000:00000000 03:00001770 00000000     0
   5: 0100007F:1F90 0100007F:C354 06 00000000:00000000 03:00001770 00000000     0
";
        let to = |port| table.lines().filter(|line| is_waiting(line, port)).count();
        assert_eq!((to(8080), to(8081), to(8082)), (2, 1, 0));
    }

    #[test]
    fn connections_are_counted_by_their_peer() {
        // An address of this process alone: sockets of an earlier listener may be in TIME_WAIT.
        let [_, a, b, c] = std::process::id().to_be_bytes();
        let own = format!("127.{}.{b}.{c}:0", 64 + a % 128);
        let listener = TcpListener::bind(own).expect("a port");
        let address = listener.local_addr().expect("bound");
        let streams: Vec<_> = (0..3).map(|_| TcpStream::connect(address)).collect();
        assert!(streams.iter().all(Result::is_ok));
        // The kernel may list a socket twice while others come and go.
        let root = Root::machine();
        let counts = (0..100).map(|_| sockets_to(&root, address).expect("proc is mounted"));
        assert!(counts.into_iter().any(|count| count == 3));
    }

    #[test]
    fn this_process_holds_its_listeners() {
        let root = Root::machine();
        let own = std::process::id();
        let holds = |inodes: &[u64]| holders(&root, [own].into_iter(), inodes, || true) == [own];
        let tcp = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = tcp.local_addr().expect("bound");
        let found = listeners(&root, address).expect("proc is mounted");
        let inodes: Vec<u64> = found.iter().map(|listener| listener.inode).collect();
        assert!(holds(&inodes), "{found:?}");
        assert!(holders(&root, [own].into_iter(), &inodes, || false).is_empty());
        let path = std::env::temp_dir().join(format!("weir-machine-{own}"));
        let unix = UnixListener::bind(&path).expect("a new name");
        let inodes = unix_listeners(&root, path.to_str().expect("text"));
        assert!(holds(&inodes), "{inodes:?}");
        drop(unix);
        std::fs::remove_file(&path).expect("it is there");
        assert!(unix_listeners(&root, "no such socket").is_empty());
    }
}
