//! Listening socket, which a backend accepts connections from.

use std::ffi::OsStr;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use crate::endpoint::Endpoint;
use crate::socket::{self, SockAddr};

/// A listening socket, bound to its address.
#[derive(Debug)]
pub struct Listener {
    pub(crate) fd: OwnedFd,
    pub(crate) is_tcp: bool,
}

/// Options of a [`Listener`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ListenOptions {
    /// `SO_REUSEPORT`: several listeners share one TCP port, and the kernel distributes the
    /// connections among them. Without effect on Unix sockets.
    pub reuse_port: bool,
}

impl Listener {
    /// Binds to `endpoint` and listens with the longest backlog that the kernel grants. Port 0
    /// takes a free port; [`local_endpoint`](Listener::local_endpoint) returns it.
    ///
    /// # Errors
    /// Errors of socket(2), bind(2) and listen(2).
    pub fn bind(endpoint: &Endpoint, options: ListenOptions) -> io::Result<Listener> {
        let address = SockAddr::new(endpoint)?;
        let is_tcp = matches!(endpoint, Endpoint::Tcp(_));
        let fd = socket::open(address.family(), true)?;
        if is_tcp {
            // Required to restart a server while old connections are in TIME_WAIT.
            socket::set_int(&fd, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        }
        if is_tcp && options.reuse_port {
            socket::set_int(&fd, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
        }
        socket::bind(&fd, &address)?;
        // The kernel limits the backlog to net.core.somaxconn.
        socket::listen(&fd, 65_535)?;
        Ok(Listener { fd, is_tcp })
    }

    /// Returns the address it listens on, with the port that the kernel chose.
    ///
    /// # Errors
    /// Errors of getsockname(2), or if no descriptor is left.
    pub fn local_endpoint(&self) -> io::Result<Endpoint> {
        let fd = self.fd.try_clone()?;
        if self.is_tcp {
            return TcpListener::from(fd).local_addr().map(Endpoint::Tcp);
        }
        let address = UnixListener::from(fd).local_addr()?;
        Ok(Endpoint::Unix(match address.as_abstract_name() {
            Some(name) => OsStr::from_bytes(&[b"@", name].concat()).into(),
            None => address.as_pathname().unwrap_or(Path::new("")).to_owned(),
        }))
    }

    /// Stops listening, for all handles on the socket. Connections in the backlog are refused.
    ///
    /// # Errors
    /// Errors of shutdown(2).
    pub fn shut(&self) -> io::Result<()> {
        socket::shut(&self.fd)
    }

    /// Returns a second handle on the same socket. Each connection goes to the handle that accepts
    /// first.
    ///
    /// # Errors
    /// If no descriptor is left.
    pub fn try_clone(&self) -> io::Result<Listener> {
        Ok(Listener { fd: self.fd.try_clone()?, is_tcp: self.is_tcp })
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, TcpStream};
    use std::os::unix::net::UnixStream;
    use std::path::PathBuf;

    use super::*;

    fn any_port() -> Endpoint {
        Endpoint::Tcp((Ipv4Addr::LOCALHOST, 0).into())
    }

    #[test]
    fn has_the_port_that_the_kernel_chose() {
        let listener = Listener::bind(&any_port(), ListenOptions::default()).expect("bind");
        let Endpoint::Tcp(address) = listener.local_endpoint().expect("name") else {
            panic!("a TCP listener has a TCP address");
        };
        assert_ne!(address.port(), 0);
        TcpStream::connect(address).expect("it listens");
    }

    #[test]
    fn several_share_one_port_only_by_option() {
        let shared = ListenOptions { reuse_port: true };
        let first = Listener::bind(&any_port(), shared).expect("bind");
        let endpoint = first.local_endpoint().expect("name");
        Listener::bind(&endpoint, shared).expect("a second one shares the port");
        let refused = Listener::bind(&endpoint, ListenOptions::default()).expect_err("not shared");
        assert_eq!(refused.raw_os_error(), Some(libc::EADDRINUSE));
    }

    #[test]
    fn a_clone_outlives_the_original() {
        let first = Listener::bind(&any_port(), ListenOptions::default()).expect("bind");
        let second = first.try_clone().expect("clone");
        drop(first);
        let Endpoint::Tcp(address) = second.local_endpoint().expect("name") else {
            panic!("a TCP listener has a TCP address");
        };
        TcpStream::connect(address).expect("it still listens");
    }

    #[test]
    fn one_that_is_shut_listens_no_more_through_any_handle() {
        let first = Listener::bind(&any_port(), ListenOptions::default()).expect("bind");
        let second = first.try_clone().expect("clone");
        let Endpoint::Tcp(address) = second.local_endpoint().expect("name") else {
            panic!("a TCP listener has a TCP address");
        };
        first.shut().expect("shut");
        let error = TcpStream::connect(address).expect_err("nothing listens there");
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        Listener::bind(&Endpoint::Tcp(address), ListenOptions::default())
            .expect("the port is free");
    }

    #[test]
    fn unix_names_survive_the_kernel() {
        let path = std::env::temp_dir().join(format!("weir-listener-{}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        let by_path = Endpoint::Unix(path.clone());
        let listener = Listener::bind(&by_path, ListenOptions::default()).expect("bind");
        assert_eq!(listener.local_endpoint().expect("name"), by_path);
        UnixStream::connect(&path).expect("it listens");
        std::fs::remove_file(&path).expect("remove");

        let name = PathBuf::from(format!("@weir-listener-{}", std::process::id()));
        let by_name = Endpoint::Unix(name);
        let listener = Listener::bind(&by_name, ListenOptions::default()).expect("bind");
        assert_eq!(listener.local_endpoint().expect("name"), by_name);
    }
}
