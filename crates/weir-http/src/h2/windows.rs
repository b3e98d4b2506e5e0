//! Flow-control windows (RFC 9113 §5.2 and §6.9). Independent of the frames that change them.

use super::fault::H2Fault;
use super::frame::WINDOW_BYTES_MAX;

/// Bytes that this side may send on a stream or a connection. A setting may make it negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SendWindow(i64);

impl SendWindow {
    pub(crate) fn new(bytes: u32) -> SendWindow {
        SendWindow(bytes.into())
    }

    /// Returns the number of bytes that may be sent now.
    #[inline]
    pub(crate) fn room(self) -> usize {
        usize::try_from(self.0).unwrap_or(0)
    }

    /// Records that data are sent.
    #[inline]
    pub(crate) fn take(&mut self, bytes: usize) {
        self.0 -= bytes as i64;
    }

    /// Adds the bytes of a WINDOW_UPDATE, which must not be 0 (RFC 9113 §6.9).
    pub(crate) fn widen(&mut self, bytes: u32) -> Result<(), H2Fault> {
        match bytes {
            0 => Err(H2Fault::PROTOCOL),
            _ => self.change(bytes.into()),
        }
    }

    /// Changes the window by a positive or negative number of bytes.
    pub(crate) fn change(&mut self, bytes: i64) -> Result<(), H2Fault> {
        self.0 += bytes;
        if self.0 > WINDOW_BYTES_MAX.into() { Err(H2Fault::FLOW_CONTROL) } else { Ok(()) }
    }
}

/// Bytes that the peer may send on a stream or a connection. The peer gets them back in large
/// steps, as nothing is stored and each step costs both sides a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ReceiveWindow {
    /// Received since the last step.
    used: u32,
}

impl ReceiveWindow {
    /// Records that data of a frame are received, with padding.
    #[inline]
    pub(crate) fn take(&mut self, bytes: u32, size: u32) -> Result<(), H2Fault> {
        self.used = self.used.saturating_add(bytes);
        if self.used > size { Err(H2Fault::FLOW_CONTROL) } else { Ok(()) }
    }

    /// Returns the number of bytes to give back, if half of the window of `size` bytes is used.
    #[inline]
    pub(crate) fn refill(&mut self, size: u32) -> Option<u32> {
        let is_due = self.used > 0 && self.used >= size / 2;
        is_due.then(|| std::mem::take(&mut self.used))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn send_windows_may_be_negative_and_not_too_large() {
        let mut window = SendWindow::new(10);
        window.take(8);
        assert_eq!(window.change(-5), Ok(()));
        assert_eq!(window.room(), 0);
        assert_eq!((window.change(4), window.room()), (Ok(()), 1));
        assert_eq!(window.change(i64::from(WINDOW_BYTES_MAX) - 1), Ok(()));
        assert_eq!(window.change(1), Err(H2Fault::FLOW_CONTROL));
    }

    #[test]
    fn receive_windows_are_refilled_by_halves() {
        let mut window = ReceiveWindow::default();
        assert_eq!((window.take(4, 10), window.refill(10)), (Ok(()), None));
        assert_eq!((window.take(6, 10), window.refill(10)), (Ok(()), Some(10)));
        assert_eq!(window.refill(10), None);
        assert_eq!(window.take(11, 10), Err(H2Fault::FLOW_CONTROL));
        let mut one = ReceiveWindow::default();
        assert_eq!((one.refill(1), one.take(1, 1), one.refill(1)), (None, Ok(()), Some(1)));
    }
}
