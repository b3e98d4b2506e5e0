//! Sockets by plain libc calls, so that a kernel-bypass library loaded with LD_PRELOAD sees each of
//! them. Independent of backends and of waiting.

use std::io::{self, IoSlice};
use std::mem;
use std::net::{IpAddr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::ptr;

use libc::{c_int, socklen_t};
use weir_machine::sys::check;

use crate::endpoint::Endpoint;
use crate::socket_options::{SocketOptions, StampRequest};

/// A socket address in the kernel's format.
#[derive(Clone, Copy)]
pub(crate) struct SockAddr {
    storage: Storage,
    len: socklen_t,
}

/// All address types that an [`Endpoint`] can have. `sockaddr_storage` would also fit, but it is
/// only by chance large enough for all of them.
#[derive(Clone, Copy)]
#[repr(C)]
union Storage {
    any: libc::sockaddr,
    v4: libc::sockaddr_in,
    v6: libc::sockaddr_in6,
    unix: libc::sockaddr_un,
}

/// Offset of `sun_path`.
const UNIX_HEAD: usize = mem::offset_of!(libc::sockaddr_un, sun_path);

impl SockAddr {
    pub(crate) fn new(endpoint: &Endpoint) -> io::Result<SockAddr> {
        match endpoint {
            Endpoint::Tcp(SocketAddr::V4(address)) => Ok(SockAddr::v4(address)),
            Endpoint::Tcp(SocketAddr::V6(address)) => Ok(SockAddr::v6(address)),
            Endpoint::Unix(path) => SockAddr::unix(path.as_os_str().as_bytes()),
        }
    }

    fn v4(address: &SocketAddrV4) -> SockAddr {
        let v4 = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: address.port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from_ne_bytes(address.ip().octets()) },
            sin_zero: [0; 8],
        };
        SockAddr { storage: Storage { v4 }, len: size_of_val(&v4) as socklen_t }
    }

    fn v6(address: &SocketAddrV6) -> SockAddr {
        let v6 = libc::sockaddr_in6 {
            sin6_family: libc::AF_INET6 as libc::sa_family_t,
            sin6_port: address.port().to_be(),
            sin6_flowinfo: address.flowinfo(),
            sin6_addr: libc::in6_addr { s6_addr: address.ip().octets() },
            sin6_scope_id: address.scope_id(),
        };
        SockAddr { storage: Storage { v6 }, len: size_of_val(&v6) as socklen_t }
    }

    fn unix(path: &[u8]) -> io::Result<SockAddr> {
        let mut unix = libc::sockaddr_un {
            sun_family: libc::AF_UNIX as libc::sa_family_t,
            sun_path: [0; 108],
        };
        let is_abstract = path.first() == Some(&b'@');
        // A path is followed by a NUL, an abstract name is not.
        let room = unix.sun_path.len() - usize::from(!is_abstract);
        if path.is_empty() || path.len() > room || path.contains(&0) {
            return Err(io::Error::from_raw_os_error(libc::ENAMETOOLONG));
        }
        for (to, from) in unix.sun_path.iter_mut().zip(path) {
            *to = from.cast_signed();
        }
        if is_abstract {
            unix.sun_path[0] = 0;
        }
        let len = UNIX_HEAD + path.len() + usize::from(!is_abstract);
        Ok(SockAddr { storage: Storage { unix }, len: len as socklen_t })
    }

    pub(crate) fn family(&self) -> c_int {
        // SAFETY: every variant begins with the family, as the kernel demands.
        c_int::from(unsafe { self.storage.any.sa_family })
    }

    pub(crate) fn as_ptr(&self) -> *const libc::sockaddr {
        (&raw const self.storage).cast()
    }

    pub(crate) fn len(&self) -> socklen_t {
        self.len
    }
}

/// Result of a non-blocking connect(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Begun {
    Connected,
    InProgress,
    /// The backlog of a Unix listener is full. The kernel does not report when there is room again.
    Busy,
}

/// socket(2), closed on exec.
pub(crate) fn open(family: c_int, nonblocking: bool) -> io::Result<OwnedFd> {
    let nonblock = if nonblocking { libc::SOCK_NONBLOCK } else { 0 };
    // SAFETY: socket takes no pointers.
    let fd = unsafe { libc::socket(family, libc::SOCK_STREAM | libc::SOCK_CLOEXEC | nonblock, 0) };
    check(fd)?;
    // SAFETY: the kernel has just made `fd` for us, and nothing else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Returns a socket that can connect to `to`, and the address: `spent` if there is one, otherwise a
/// new one from `open`, which is given the address family.
///
/// # Errors
/// Errors of the system calls, and `ENAMETOOLONG` for a path without an address.
pub(crate) fn to_connect(
    to: &Endpoint,
    source: Option<IpAddr>,
    spent: Option<OwnedFd>,
    open: impl FnOnce(c_int) -> io::Result<OwnedFd>,
) -> io::Result<(OwnedFd, SockAddr)> {
    let address = SockAddr::new(to)?;
    if let Some(fd) = spent {
        return Ok((fd, address));
    }
    let fd = open(address.family())?;
    if let Endpoint::Tcp(_) = to {
        set_nodelay(&fd)?;
        source.map_or(Ok(()), |source| bind_source(&fd, source))?;
    }
    Ok((fd, address))
}

/// connect(2) on a non-blocking socket.
pub(crate) fn connect(fd: &OwnedFd, to: &SockAddr) -> io::Result<Begun> {
    // SAFETY: `to` points to an address of the given length.
    let result = unsafe { libc::connect(fd.as_raw_fd(), to.as_ptr(), to.len()) };
    match check(result) {
        Ok(_) => Ok(Begun::Connected),
        Err(error) => match error.raw_os_error() {
            // An interrupted connect continues in the background like one in progress.
            Some(libc::EINPROGRESS | libc::EINTR) => Ok(Begun::InProgress),
            Some(libc::EAGAIN) if to.family() == libc::AF_UNIX => Ok(Begun::Busy),
            _ => Err(error),
        },
    }
}

/// bind(2).
pub(crate) fn bind(fd: &OwnedFd, to: &SockAddr) -> io::Result<()> {
    // SAFETY: `to` points to an address of the given length.
    check(unsafe { libc::bind(fd.as_raw_fd(), to.as_ptr(), to.len()) }).map(drop)
}

/// Binds a TCP socket to `source`. connect(2) chooses the port, because it has the remote address.
/// A port chosen here would have to differ from the port of every socket on this address.
pub(crate) fn bind_source(fd: &OwnedFd, source: IpAddr) -> io::Result<()> {
    set_int(fd, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
    bind(fd, &SockAddr::new(&Endpoint::Tcp(SocketAddr::new(source, 0)))?)
}

/// listen(2).
pub(crate) fn listen(fd: &OwnedFd, backlog: c_int) -> io::Result<()> {
    // SAFETY: listen takes no pointers.
    check(unsafe { libc::listen(fd.as_raw_fd(), backlog) }).map(drop)
}

/// shutdown(2) of both directions.
pub(crate) fn shut(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: shutdown takes no pointers.
    check(unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_RDWR) }).map(drop)
}

/// Returns the address family of a socket that can be reused for another connection of that family;
/// 0 if it cannot. An IPv4-mapped address permanently changes the type of the socket, and a scope
/// permanently binds it to an interface.
pub(crate) fn lasting_family(to: &Endpoint, options: SocketOptions) -> u8 {
    if options.stamps != StampRequest::None || options.source.is_some() {
        return 0;
    }
    match to {
        Endpoint::Tcp(SocketAddr::V4(_)) => libc::AF_INET as u8,
        Endpoint::Tcp(SocketAddr::V6(to)) => {
            let is_plain = to.scope_id() == 0 && to.ip().to_ipv4_mapped().is_none();
            if is_plain { libc::AF_INET6 as u8 } else { 0 }
        }
        Endpoint::Unix(_) => 0,
    }
}

/// Ends this side of a TCP connection whose other side has ended, and prepares its socket to
/// connect again. The socket keeps its options.
///
/// # Errors
/// Also if the peer has not acknowledged the end yet, as a retransmission may be necessary. The end
/// has been sent in that case, and the caller only has to close the socket.
pub(crate) fn end_for_another(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: shutdown takes no pointers.
    check(unsafe { libc::shutdown(fd.as_raw_fd(), libc::SHUT_WR) })?;
    let mut unacknowledged: c_int = 0;
    // SAFETY: the kernel writes one int (SIOCOUTQ, tcp(7)).
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::TIOCOUTQ, &mut unacknowledged) })?;
    if unacknowledged > 0 {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    disconnect(fd)
}

/// Prepares a TCP socket to connect again (connect(2) with `AF_UNSPEC`). Resets the connection if
/// there is one.
pub(crate) fn disconnect(fd: &OwnedFd) -> io::Result<()> {
    let family = libc::AF_UNSPEC as libc::sa_family_t;
    let unspecified = libc::sockaddr { sa_family: family, sa_data: [0; 14] };
    let len = size_of_val(&unspecified) as socklen_t;
    // SAFETY: `unspecified` is an address of that length.
    check(unsafe { libc::connect(fd.as_raw_fd(), &unspecified, len) }).map(drop)
}

/// accept4(2), closed on exec and non-blocking. Does not return the peer's address.
pub(crate) fn accept(fd: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: null pointers mean that the address is not requested.
    let accepted =
        unsafe { libc::accept4(fd.as_raw_fd(), ptr::null_mut(), ptr::null_mut(), flags) };
    check(accepted)?;
    // SAFETY: the kernel has just made it for us, and nothing else holds it.
    Ok(unsafe { OwnedFd::from_raw_fd(accepted) })
}

/// Sets or clears `O_NONBLOCK`, for all handles on the socket.
pub(crate) fn set_nonblocking(fd: &OwnedFd, nonblocking: bool) -> io::Result<()> {
    let mut on = c_int::from(nonblocking);
    // SAFETY: FIONBIO reads one int.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), libc::FIONBIO, &mut on) }).map(drop)
}

/// setsockopt(2) of an option that is an int.
pub(crate) fn set_int(fd: &OwnedFd, level: c_int, name: c_int, value: c_int) -> io::Result<()> {
    set(fd, level, name, &value)
}

/// `TCP_NODELAY`: a request leaves when written, even if earlier bytes are unacknowledged.
pub(crate) fn set_nodelay(fd: &OwnedFd) -> io::Result<()> {
    set_int(fd, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
}

/// Makes close(2) send a reset.
pub(crate) fn set_reset_on_close(fd: &OwnedFd) -> io::Result<()> {
    set(fd, libc::SOL_SOCKET, libc::SO_LINGER, &libc::linger { l_onoff: 1, l_linger: 0 })
}

fn set<T: Copy>(fd: &OwnedFd, level: c_int, name: c_int, value: &T) -> io::Result<()> {
    let len = size_of::<T>() as socklen_t;
    let value = (value as *const T).cast();
    // SAFETY: `value` points to `len` readable bytes.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), level, name, value, len) }).map(drop)
}

/// `SO_ERROR`: the result of a connect in progress. Reading it clears it.
pub(crate) fn take_error(fd: &OwnedFd) -> io::Result<()> {
    let mut errno = [0; size_of::<c_int>()];
    get(fd, libc::SOL_SOCKET, libc::SO_ERROR, &mut errno)?;
    match c_int::from_ne_bytes(errno) {
        0 => Ok(()),
        errno => Err(io::Error::from_raw_os_error(errno)),
    }
}

/// `TCP_CONGESTION`: the congestion control algorithm of a socket.
pub(crate) fn congestion_control(fd: &OwnedFd) -> io::Result<String> {
    let mut name = [0; 32];
    let len = get(fd, libc::IPPROTO_TCP, libc::TCP_CONGESTION, &mut name)?.min(name.len());
    let name = name[..len].split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// `TCP_INFO`, as much of it as fits; returns its length in bytes.
pub(crate) fn tcp_info(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    get(fd, libc::IPPROTO_TCP, libc::TCP_INFO, buffer)
}

/// getsockopt(2), as much of the value as fits; returns its length in bytes.
fn get(fd: &OwnedFd, level: c_int, name: c_int, value: &mut [u8]) -> io::Result<usize> {
    let mut len = value.len() as socklen_t;
    let value = value.as_mut_ptr().cast();
    // SAFETY: the kernel writes at most `len` bytes to the value, which has as many.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, value, &mut len) })?;
    Ok(len as usize)
}

/// recv(2).
#[inline]
pub(crate) fn recv(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the kernel writes at most the buffer's length to it.
    size(unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) })
}

/// recv(2) with `MSG_TRUNC`: takes up to `bytes` bytes off a TCP stream without copying them
/// (tcp(7)). Other types of socket do not support it in this sense.
#[inline]
pub(crate) fn recv_discard(fd: &OwnedFd, bytes: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC a TCP socket does not touch the buffer.
    size(unsafe { libc::recv(fd.as_raw_fd(), ptr::null_mut(), bytes, libc::MSG_TRUNC) })
}

/// send(2), without a signal if the peer is gone.
#[inline]
pub(crate) fn send(fd: &OwnedFd, bytes: &[u8]) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL;
    // SAFETY: the kernel reads the slice and nothing else.
    size(unsafe { libc::send(fd.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
}

/// sendmsg(2), with this control data and without a signal if the peer is gone.
pub(crate) fn send_vectored(
    fd: &OwnedFd,
    slices: &[IoSlice<'_>],
    control: &[u8],
) -> io::Result<usize> {
    // SAFETY: all-zero bytes are a valid msghdr: no address, no control data, nothing to send.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    // IoSlice guarantees the layout of iovec; the kernel only reads through it.
    message.msg_iov = slices.as_ptr().cast_mut().cast();
    message.msg_iovlen = slices.len() as _;
    // The kernel does not write to the control data of a sent message.
    message.msg_control = control.as_ptr().cast_mut().cast();
    message.msg_controllen = control.len() as _;
    // SAFETY: the message points to slices that live until the call returns.
    size(unsafe { libc::sendmsg(fd.as_raw_fd(), &message, libc::MSG_NOSIGNAL) })
}

#[inline]
fn size(result: libc::ssize_t) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(endpoint: Endpoint) {
        let address = SockAddr::new(&endpoint).expect("valid");
        assert_eq!(read(&address), endpoint);
    }

    fn read(address: &SockAddr) -> Endpoint {
        match address.family() {
            libc::AF_INET => {
                // SAFETY: the family shows that this variant was written.
                let v4 = unsafe { address.storage.v4 };
                let ip = v4.sin_addr.s_addr.to_ne_bytes();
                Endpoint::Tcp((ip, u16::from_be(v4.sin_port)).into())
            }
            libc::AF_INET6 => {
                // SAFETY: the family shows that this variant was written.
                let v6 = unsafe { address.storage.v6 };
                let ip = v6.sin6_addr.s6_addr.into();
                let port = u16::from_be(v6.sin6_port);
                let v6 = SocketAddrV6::new(ip, port, v6.sin6_flowinfo, v6.sin6_scope_id);
                Endpoint::Tcp(v6.into())
            }
            _ => {
                // SAFETY: the family shows that this variant was written.
                let unix = unsafe { address.storage.unix };
                let path = &unix.sun_path[..address.len as usize - UNIX_HEAD];
                let mut path: Vec<u8> = path.iter().map(|byte| byte.cast_unsigned()).collect();
                match path[0] {
                    0 => path[0] = b'@',
                    _ => assert_eq!(path.pop(), Some(0), "a path ends with a NUL"),
                }
                Endpoint::Unix(String::from_utf8(path).expect("text").into())
            }
        }
    }

    #[test]
    fn addresses_survive_the_translation() {
        check(Endpoint::Tcp("192.0.2.7:8080".parse().expect("valid")));
        check(Endpoint::Tcp("[2001:db8::1]:65535".parse().expect("valid")));
        check(Endpoint::Tcp("[fe80::1%3]:80".parse().expect("valid")));
        check(Endpoint::Unix("/run/a.sock".into()));
        check(Endpoint::Unix("@a".into()));
        check(Endpoint::Unix("x".repeat(107).into()));
        check(Endpoint::Unix(format!("@{}", "x".repeat(107)).into()));
    }

    #[test]
    fn a_path_must_fit() {
        for path in ["x".repeat(108), format!("@{}", "x".repeat(108)), String::new()] {
            assert!(SockAddr::new(&Endpoint::Unix(path.into())).is_err());
        }
    }
}
