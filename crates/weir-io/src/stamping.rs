//! Kernel time stamps by plain socket calls (SO_TIMESTAMPING, the kernel's
//! Documentation/networking/timestamping.rst): requests, and parsing of control messages.
//! Independent of connections and of the run's clock.

use std::io;
use std::mem;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr;
use std::slice;

use libc::c_int;
use weir_machine::sys::check;

use crate::socket;
use crate::wall::WallTime;

/// Number of both the option and the control message, with 64-bit seconds on every architecture
/// (asm-generic/socket.h, Linux 5.1).
const SO_TIMESTAMPING_NEW: c_int = 65;

/// `SO_EE_ORIGIN_TIMESTAMPING` (linux/errqueue.h).
const ORIGIN_TIMESTAMPING: u8 = 4;

/// `SCM_TSTAMP_SND`: the packet was passed to the driver (linux/errqueue.h).
const STAMP_SENT: u32 = 0;

/// Receive stamps, delivered in the control data of each read.
const RECEIVE: u32 = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;

/// Reports on sends go into the error queue, identified by the last byte, without the packet.
const TELL_SENT: u32 = libc::SOF_TIMESTAMPING_SOFTWARE
    | libc::SOF_TIMESTAMPING_OPT_ID
    | libc::SOF_TIMESTAMPING_OPT_TSONLY;

/// Requests a transmit stamp: as a socket option for every send, as control data for one message.
const TRANSMIT: u32 = libc::SOF_TIMESTAMPING_TX_SOFTWARE;

/// Control data of a received message, in bytes: a header and three timespecs. The first timespec
/// is the software stamp.
pub(crate) const CONTROL_BYTES: usize = HEADER_BYTES + 48;

/// Length, level and type before a control message (cmsg(3)).
const HEADER_BYTES: usize = size_of::<libc::cmsghdr>();

/// Report that bytes were handed to the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transmission {
    /// Position of the last of them in the stream, counted from the first byte sent after
    /// [`enable`], wrapping.
    pub(crate) last_byte: u32,
    pub(crate) stamp: WallTime,
}

/// Requests time stamps on a connected TCP socket that has sent nothing yet: for all receives, and
/// for every send or for those sent with [`SEND_CONTROL`].
///
/// # Errors
/// If this kernel does not support them.
pub(crate) fn enable(fd: &OwnedFd, every_send: bool) -> io::Result<()> {
    // Before Linux 5.8, a read that left bytes behind could return another packet's stamp.
    let receive = if is_at_least(&kernel_release(), [5, 8]) { RECEIVE } else { 0 };
    let transmit = if every_send { TRANSMIT } else { 0 };
    let flags = (receive | TELL_SENT | transmit).cast_signed();
    // Linux 6.2 counts bytes from those written, older kernels from those acknowledged. Both are
    // equal here, so the flag is optional.
    let exact = flags | libc::SOF_TIMESTAMPING_OPT_ID_TCP.cast_signed();
    socket::set_int(fd, libc::SOL_SOCKET, SO_TIMESTAMPING_NEW, exact)
        .or_else(|_| socket::set_int(fd, libc::SOL_SOCKET, SO_TIMESTAMPING_NEW, flags))
}

/// Control data of a message whose send is stamped: `SO_TIMESTAMPING` flags that replace the
/// socket's own (Linux 4.6).
pub(crate) static SEND_CONTROL: SendControl = SendControl {
    len: HEADER_BYTES + size_of::<u32>(),
    level: libc::SOL_SOCKET,
    kind: libc::SO_TIMESTAMPING,
    flags: TRANSMIT,
    padding: 0,
};

/// A control message with one word of data, laid out as in cmsg(3).
#[repr(C)]
pub(crate) struct SendControl {
    len: usize,
    level: c_int,
    kind: c_int,
    flags: u32,
    padding: u32,
}

impl SendControl {
    /// Returns the bytes of the message.
    pub(crate) fn bytes(&'static self) -> &'static [u8] {
        // SAFETY: the fields leave no gap, on machines of 64 and of 32 bits, so all bytes are
        // initialized.
        unsafe { slice::from_raw_parts(ptr::from_ref(self).cast(), size_of::<SendControl>()) }
    }
}

/// Calls recvmsg(2), and returns the arrival time of the last packet that this read took bytes
/// from. Packets merged by the kernel count as their last.
pub(crate) fn recv(fd: &OwnedFd, buffer: &mut [u8]) -> io::Result<(usize, Option<WallTime>)> {
    let mut control = ControlSpace([0; CONTROL_SPACE]);
    let (read, control) = recv_message(fd, buffer, &mut control, 0)?;
    Ok((read, received(control)))
}

/// Takes the next transmission off the error queue; `None` if there is none. Does not touch errors
/// of the stream.
///
/// # Errors
/// Errors of recvmsg(2) on the descriptor; an empty queue is not an error.
pub(crate) fn take_transmission(fd: &OwnedFd) -> io::Result<Option<Transmission>> {
    let mut control = ControlSpace([0; CONTROL_SPACE]);
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    match recv_message(fd, &mut [], &mut control, flags) {
        Ok((_, control)) => Ok(transmitted(control)),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
        Err(error) => Err(error),
    }
}

/// Most control data of a message of either queue in bytes, rounded up generously.
const CONTROL_SPACE: usize = 192;

#[repr(align(8))]
struct ControlSpace([u8; CONTROL_SPACE]);

fn recv_message<'a>(
    fd: &OwnedFd,
    buffer: &mut [u8],
    control: &'a mut ControlSpace,
    flags: c_int,
) -> io::Result<(usize, &'a [u8])> {
    let mut piece = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: all-zero bytes are a valid msghdr.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = ptr::from_mut(&mut piece);
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = control.0.len() as _;
    // SAFETY: the message points to writable memory of the lengths it says, alive until the call
    // returns.
    let read = unsafe { libc::recvmsg(fd.as_raw_fd(), &mut message, flags) };
    let read = usize::try_from(read).map_err(|_| io::Error::last_os_error())?;
    let len = (message.msg_controllen as usize).min(control.0.len());
    Ok((read, &control.0[..len]))
}

/// Returns the message header of a multishot receive: no address, and room for stamps.
pub(crate) fn header() -> libc::msghdr {
    // SAFETY: all-zero bytes are a valid msghdr.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_controllen = CONTROL_BYTES as _;
    message
}

/// Returns the software stamp in the control data of a received message.
pub(crate) fn received(control: &[u8]) -> Option<WallTime> {
    Messages(control).find_map(|message| message.stamp())
}

/// Returns the transmission reported in the control data of an error-queue message.
fn transmitted(control: &[u8]) -> Option<Transmission> {
    let stamp = received(control)?;
    let last_byte = Messages(control).find_map(|message| message.sent_through())?;
    Some(Transmission { last_byte, stamp })
}

/// One control message.
struct ControlMessage<'a> {
    level: i32,
    kind: i32,
    data: &'a [u8],
}

impl ControlMessage<'_> {
    /// Returns the first stamp of `struct scm_timestamping64`; zero means none.
    fn stamp(&self) -> Option<WallTime> {
        if (self.level, self.kind) != (libc::SOL_SOCKET, SO_TIMESTAMPING_NEW) {
            return None;
        }
        let word = |at: usize| Some(i64::from_ne_bytes(*self.data.get(at..)?.first_chunk()?));
        let seconds = u64::try_from(word(0)?).ok()?;
        let ns = u64::try_from(word(8)?).ok()?;
        let stamp = seconds.checked_mul(1_000_000_000)?.checked_add(ns)?;
        (stamp > 0).then_some(WallTime(stamp))
    }

    /// Returns the position in `struct sock_extended_err`, if it reports a transmission.
    fn sent_through(&self) -> Option<u32> {
        let is_extended_error = matches!(
            (self.level, self.kind),
            (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
        );
        let word = |at: usize| Some(u32::from_ne_bytes(*self.data.get(at..)?.first_chunk()?));
        let is_transmission = is_extended_error
            && *self.data.get(4)? == ORIGIN_TIMESTAMPING
            && word(8)? == STAMP_SENT;
        if is_transmission { word(12) } else { None }
    }
}

/// Iterator over consecutive control messages (cmsg(3)).
struct Messages<'a>(&'a [u8]);

impl<'a> Iterator for Messages<'a> {
    type Item = ControlMessage<'a>;

    fn next(&mut self) -> Option<ControlMessage<'a>> {
        const WORD: usize = size_of::<usize>();
        let all = self.0;
        let len = usize::from_ne_bytes(all.get(..WORD)?.try_into().ok()?);
        let int = |at: usize| Some(i32::from_ne_bytes(*all.get(at..)?.first_chunk()?));
        let level = int(HEADER_BYTES - 8)?;
        let kind = int(HEADER_BYTES - 4)?;
        let data = all.get(HEADER_BYTES..len)?;
        self.0 = all.get(len.next_multiple_of(WORD)..).unwrap_or(&[]);
        Some(ControlMessage { level, kind, data })
    }
}

/// Returns the kernel release from uname(2), like `6.1.0-13-amd64`; empty if the call fails.
fn kernel_release() -> String {
    // SAFETY: all-zero bytes are a valid utsname: empty strings.
    let mut name: libc::utsname = unsafe { mem::zeroed() };
    // SAFETY: the kernel writes one utsname.
    if check(unsafe { libc::uname(&mut name) }).is_err() {
        return String::new();
    }
    name.release.iter().take_while(|c| **c != 0).map(|c| char::from(c.cast_unsigned())).collect()
}

/// True if the release is of this version or later. An unreadable release counts as old.
fn is_at_least(release: &str, version: [u32; 2]) -> bool {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    matches!((numbers.next(), numbers.next()), (Some(Ok(major)), Some(Ok(minor)))
        if [major, minor] >= version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(level: i32, kind: i32, data: &[u8]) -> Vec<u8> {
        let mut bytes = (HEADER_BYTES + data.len()).to_ne_bytes().to_vec();
        bytes.resize(HEADER_BYTES - 8, 0);
        bytes.extend([level.to_ne_bytes(), kind.to_ne_bytes()].concat());
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    fn stamp(seconds: i64, ns: i64) -> Vec<u8> {
        let data = [seconds.to_ne_bytes(), ns.to_ne_bytes()].concat();
        message(libc::SOL_SOCKET, SO_TIMESTAMPING_NEW, &[data, vec![0; 32]].concat())
    }

    fn extended_error(origin: u8, what: u32, position: u32) -> Vec<u8> {
        let errno = libc::ENOMSG.to_ne_bytes().to_vec();
        let words = [what.to_ne_bytes(), position.to_ne_bytes()].concat();
        let data = [errno, vec![origin, 0, 0, 0], words, vec![0; 16]].concat();
        message(libc::IPPROTO_IP, libc::IP_RECVERR, &data)
    }

    #[test]
    fn control_data_is_read_as_the_kernel_writes_it() {
        let check = |control: &[u8], expected: Option<u64>| {
            assert_eq!(received(control), expected.map(WallTime), "{control:?}");
        };
        check(&stamp(3, 5), Some(3_000_000_005));
        check(&stamp(0, 0), None);
        check(&stamp(-1, 5), None);
        check(&[message(1, 2, &[1, 2, 3]), stamp(3, 5)].concat(), Some(3_000_000_005));
        check(&message(libc::SOL_SOCKET, SO_TIMESTAMPING_NEW, &[1; 15]), None);
        check(&[], None);
        check(&[0; 64], None);
        check(&[0xff; 64], None);
        check(&stamp(3, 5)[..40], None);
    }

    #[test]
    fn only_a_transmission_is_one() {
        let check = |control: &[Vec<u8>], expected: Option<u32>| {
            let found = transmitted(&control.concat());
            assert_eq!(found.map(|found| found.last_byte), expected, "{control:?}");
        };
        check(&[stamp(3, 5), extended_error(4, 0, 59)], Some(59));
        check(&[extended_error(4, 0, u32::MAX), stamp(3, 5)], Some(u32::MAX));
        check(&[stamp(3, 5), extended_error(4, 1, 59)], None);
        check(&[stamp(3, 5), extended_error(2, 0, 59)], None);
        check(&[extended_error(4, 0, 59)], None);
        check(&[stamp(3, 5)], None);
    }

    #[test]
    fn releases_are_compared_by_number() {
        let check = |release: &str, expected: bool| {
            assert_eq!(is_at_least(release, [5, 8]), expected, "{release}");
        };
        check("5.8.0", true);
        check("5.10.0-8-amd64", true);
        check("6.1-rc3", true);
        check("10.0", true);
        check("5.7.19", false);
        check("4.18.0-553.el8", false);
        check("nonsense", false);
        check("", false);
        assert!(!kernel_release().is_empty());
    }
}
