//! The rest of a DATA frame, which is passed on as it arrives. Independent of its header.

use super::H2Fault;

/// The rest of a DATA frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataRest {
    pub(super) stream: u32,
    /// Bytes of the payload.
    pub(super) bytes: u32,
    /// Bytes of these that are padding; `None` before their number is read.
    pub(super) padding: Option<u32>,
    /// Bytes to take from the windows with the next part.
    pub(super) flow_bytes: u32,
    pub(super) is_end: bool,
}

impl DataRest {
    /// Consumes bytes of the frame. Returns their number, the range of data among them, and true at
    /// the end of the frame.
    pub(super) fn read(&mut self, bytes: &[u8]) -> Result<(usize, (usize, usize), bool), H2Fault> {
        let mut begin = 0;
        let padding = match (self.padding, bytes.first()) {
            (Some(padding), _) => padding,
            (None, _) if self.bytes == 0 => return Err(H2Fault::FRAME_SIZE),
            (None, None) => return Ok((0, (0, 0), false)),
            (None, Some(&padding)) => {
                let padding = u32::from(padding);
                if padding >= self.bytes {
                    return Err(H2Fault::PROTOCOL);
                }
                self.bytes -= 1;
                begin = 1;
                padding
            }
        };
        let received = bytes.len() - begin;
        let data = ((self.bytes - padding) as usize).min(received);
        let skipped = (padding as usize).min(received - data);
        self.bytes -= (data + skipped) as u32;
        self.padding = Some(padding - skipped as u32);
        Ok((begin + data + skipped, (begin, begin + data), self.bytes == 0))
    }
}
