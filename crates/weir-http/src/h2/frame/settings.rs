//! Settings (RFC 9113 §6.5): the values of one side, and the parser of those received.

use super::sizes::{FRAME_BYTES_DEFAULT, FRAME_BYTES_MAX, WINDOW_BYTES_DEFAULT, WINDOW_BYTES_MAX};
use crate::h2::fault::H2Fault;
use crate::h2::hpack::TABLE_BYTES_DEFAULT;

const HEADER_TABLE_SIZE: u16 = 0x1;
const ENABLE_PUSH: u16 = 0x2;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;
const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// Settings that one side announces to the other. The default is the protocol's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Greatest size of the table with which the peer compresses, in bytes.
    pub header_table_bytes: u32,
    /// False to forbid pushed responses.
    pub enable_push: bool,
    /// Greatest number of streams that the peer may have open; `None` for no limit.
    pub max_concurrent_streams: Option<u32>,
    /// First window of each stream, in bytes.
    pub initial_window_bytes: u32,
    /// Greatest length of a frame's payload, in bytes.
    pub max_frame_bytes: u32,
    /// Greatest size of a list of fields, in bytes; `None` for no limit.
    pub max_header_list_bytes: Option<u32>,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            header_table_bytes: TABLE_BYTES_DEFAULT,
            enable_push: true,
            max_concurrent_streams: None,
            initial_window_bytes: WINDOW_BYTES_DEFAULT,
            max_frame_bytes: FRAME_BYTES_DEFAULT,
            max_header_list_bytes: None,
        }
    }
}

impl Settings {
    /// Returns the payload of each setting that differs from `other`.
    pub(super) fn differing(&self, other: &Settings) -> impl Iterator<Item = [u8; 6]> {
        let values = |settings: &Settings| {
            [
                (HEADER_TABLE_SIZE, Some(settings.header_table_bytes)),
                (ENABLE_PUSH, Some(settings.enable_push.into())),
                (MAX_CONCURRENT_STREAMS, settings.max_concurrent_streams),
                (INITIAL_WINDOW_SIZE, Some(settings.initial_window_bytes)),
                (MAX_FRAME_SIZE, Some(settings.max_frame_bytes)),
                (MAX_HEADER_LIST_SIZE, settings.max_header_list_bytes),
            ]
        };
        let pairs = values(self).into_iter().zip(values(other));
        pairs.filter(|(new, old)| new != old).filter_map(|((id, value), _)| {
            let [a, b] = id.to_be_bytes();
            let [c, d, e, f] = value?.to_be_bytes();
            Some([a, b, c, d, e, f])
        })
    }

    /// Applies the settings of a frame, in order, without those that are unknown. Passes each size
    /// of the table to `resize_table`.
    pub(crate) fn apply(
        &mut self,
        payload: &[u8],
        mut resize_table: impl FnMut(u32),
    ) -> Result<(), H2Fault> {
        for &[id_high, id_low, a, b, c, d] in payload.as_chunks::<6>().0 {
            let value = u32::from_be_bytes([a, b, c, d]);
            match u16::from_be_bytes([id_high, id_low]) {
                HEADER_TABLE_SIZE => {
                    self.header_table_bytes = value;
                    resize_table(value);
                }
                ENABLE_PUSH if value > 1 => return Err(H2Fault::PROTOCOL),
                ENABLE_PUSH => self.enable_push = value == 1,
                MAX_CONCURRENT_STREAMS => self.max_concurrent_streams = Some(value),
                INITIAL_WINDOW_SIZE if value > WINDOW_BYTES_MAX => {
                    return Err(H2Fault::FLOW_CONTROL);
                }
                INITIAL_WINDOW_SIZE => self.initial_window_bytes = value,
                MAX_FRAME_SIZE if !(FRAME_BYTES_DEFAULT..=FRAME_BYTES_MAX).contains(&value) => {
                    return Err(H2Fault::PROTOCOL);
                }
                MAX_FRAME_SIZE => self.max_frame_bytes = value,
                MAX_HEADER_LIST_SIZE => self.max_header_list_bytes = Some(value),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h2::frame::{HEADER_BYTES, push_settings};

    const DEFAULT: fn() -> Settings = Settings::default;

    fn read(settings: &[(u16, u32)]) -> Result<Settings, H2Fault> {
        let bytes = settings.iter().flat_map(|(id, value)| {
            id.to_be_bytes().into_iter().chain(value.to_be_bytes()).collect::<Vec<u8>>()
        });
        let mut read = DEFAULT();
        read.apply(&bytes.collect::<Vec<u8>>(), |_| {})?;
        Ok(read)
    }

    #[test]
    fn values_have_limits() {
        let check =
            |id, value, expected| assert_eq!(read(&[(id, value)]), expected, "{id} {value}");
        check(1, u32::MAX, Ok(Settings { header_table_bytes: u32::MAX, ..DEFAULT() }));
        check(2, 0, Ok(Settings { enable_push: false, ..DEFAULT() }));
        check(2, 2, Err(H2Fault::PROTOCOL));
        check(3, 0, Ok(Settings { max_concurrent_streams: Some(0), ..DEFAULT() }));
        let window = Settings { initial_window_bytes: (1 << 31) - 1, ..DEFAULT() };
        check(4, (1 << 31) - 1, Ok(window));
        check(4, 1 << 31, Err(H2Fault::FLOW_CONTROL));
        check(5, 16_383, Err(H2Fault::PROTOCOL));
        check(5, 16_384, Ok(Settings { max_frame_bytes: 16_384, ..DEFAULT() }));
        check(5, (1 << 24) - 1, Ok(Settings { max_frame_bytes: (1 << 24) - 1, ..DEFAULT() }));
        check(5, 1 << 24, Err(H2Fault::PROTOCOL));
        check(6, 7, Ok(Settings { max_header_list_bytes: Some(7), ..DEFAULT() }));
        check(7, 7, Ok(DEFAULT()));
    }

    #[test]
    fn each_size_of_the_table_is_passed_on() {
        let mut read = DEFAULT();
        let mut sizes = Vec::new();
        let payload = [0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9];
        assert_eq!(read.apply(&payload, |size| sizes.push(size)), Ok(()));
        assert_eq!((sizes, read.header_table_bytes), (vec![0, 9], 9));
    }

    #[test]
    fn differing_settings_are_written() {
        let settings = Settings { enable_push: false, max_frame_bytes: 1 << 20, ..DEFAULT() };
        let mut frame = Vec::new();
        push_settings(&mut frame, &settings, &DEFAULT());
        assert_eq!(frame.len(), HEADER_BYTES + 12, "two of them differ");
        let mut read = DEFAULT();
        assert_eq!(read.apply(&frame[HEADER_BYTES..], |_| {}), Ok(()));
        assert_eq!(read, settings);
    }
}
