//! Names and words for the errors of system calls, as in errno(3). This module makes no call.

/// Returns the symbolic name of an error number, `ECONNREFUSED`; its digits if it is not in the
/// table.
pub fn name(errno: i32) -> String {
    known(errno).map_or_else(|| errno.to_string(), |(name, _)| name.to_owned())
}

/// Returns the meaning of an error number, as a lower-case fragment: `connection refused`.
pub fn text(errno: i32) -> String {
    known(errno).map_or_else(|| format!("system error {errno}"), |(_, text)| text.to_owned())
}

/// Returns the meaning of a name that [`name`] returned; `None` if it is not in the table.
pub fn text_of_name(name: &str) -> Option<&'static str> {
    TABLE.iter().find(|(_, known, _)| *known == name).map(|(_, _, text)| *text)
}

fn known(errno: i32) -> Option<(&'static str, &'static str)> {
    TABLE.iter().find(|(number, ..)| *number == errno).map(|(_, name, text)| (*name, *text))
}

/// Errors that sockets can fail with. The numbers are the platform's own.
const TABLE: [(i32, &str, &str); 27] = [
    (libc::EACCES, "EACCES", "permission denied"),
    (libc::EADDRINUSE, "EADDRINUSE", "address in use"),
    (libc::EADDRNOTAVAIL, "EADDRNOTAVAIL", "no local address or port left"),
    (libc::EAFNOSUPPORT, "EAFNOSUPPORT", "address family not supported"),
    (libc::EAGAIN, "EAGAIN", "try again"),
    (libc::EBADF, "EBADF", "bad file descriptor"),
    (libc::ECANCELED, "ECANCELED", "canceled"),
    (libc::ECONNABORTED, "ECONNABORTED", "connection aborted"),
    (libc::ECONNREFUSED, "ECONNREFUSED", "connection refused"),
    (libc::ECONNRESET, "ECONNRESET", "connection reset by peer"),
    (libc::EHOSTDOWN, "EHOSTDOWN", "host is down"),
    (libc::EHOSTUNREACH, "EHOSTUNREACH", "no route to host"),
    (libc::EINVAL, "EINVAL", "invalid argument"),
    (libc::EIO, "EIO", "input/output error"),
    (libc::EMFILE, "EMFILE", "too many open files"),
    (libc::ENETDOWN, "ENETDOWN", "network is down"),
    (libc::ENETRESET, "ENETRESET", "connection dropped by the network"),
    (libc::ENETUNREACH, "ENETUNREACH", "network unreachable"),
    (libc::ENFILE, "ENFILE", "too many open files in the system"),
    (libc::ENOBUFS, "ENOBUFS", "no buffer space left"),
    (libc::ENOENT, "ENOENT", "no such file or directory"),
    (libc::ENOMEM, "ENOMEM", "out of memory"),
    (libc::ENOTCONN, "ENOTCONN", "not connected"),
    (libc::EPERM, "EPERM", "operation not permitted"),
    (libc::EPIPE, "EPIPE", "broken pipe"),
    (libc::EPROTO, "EPROTO", "protocol error"),
    (libc::ETIMEDOUT, "ETIMEDOUT", "connection timed out"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_words() {
        assert_eq!(name(libc::ECONNREFUSED), "ECONNREFUSED");
        assert_eq!(text(libc::EMFILE), "too many open files");
        assert_eq!(text_of_name("EMFILE"), Some("too many open files"));
        assert_eq!((name(9999), text(9999)), ("9999".to_owned(), "system error 9999".to_owned()));
        assert_eq!(text_of_name("9999"), None);
    }
}
