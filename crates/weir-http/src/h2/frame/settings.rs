//! Settings (RFC 9113 §6.5): the values of one side, and the parser of those received.

use super::sizes::{FRAME_BYTES_DEFAULT, FRAME_BYTES_MAX, WINDOW_BYTES_DEFAULT, WINDOW_BYTES_MAX};
use crate::h2::fault::Fault;
use crate::h2::hpack::TABLE_BYTES_DEFAULT;

const HEADER_TABLE_SIZE: u16 = 0x1;
const ENABLE_PUSH: u16 = 0x2;
const MAX_CONCURRENT_STREAMS: u16 = 0x3;
const INITIAL_WINDOW_SIZE: u16 = 0x4;
const MAX_FRAME_SIZE: u16 = 0x5;
const MAX_HEADER_LIST_SIZE: u16 = 0x6;

/// Settings that one side announces to the other. The default is that of the protocol.
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
    /// Passes the identifier and value of each setting that differs from `other` to `each`.
    pub(super) fn differing(&self, other: &Settings, mut each: impl FnMut(u16, u32)) {
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
        for ((id, value), (_, other)) in values(self).into_iter().zip(values(other)) {
            match value {
                Some(value) if Some(value) != other => each(id, value),
                _ => {}
            }
        }
    }
}

/// A received setting that has a meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Setting {
    HeaderTableBytes(u32),
    EnablePush(bool),
    MaxConcurrentStreams(u32),
    InitialWindowBytes(u32),
    MaxFrameBytes(u32),
    MaxHeaderListBytes(u32),
}

/// Passes the settings of a frame to `each`, in order, without those that are unknown.
pub(crate) fn read_settings(
    payload: &[u8],
    mut each: impl FnMut(Setting) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for &[id_high, id_low, a, b, c, d] in payload.as_chunks::<6>().0 {
        let value = u32::from_be_bytes([a, b, c, d]);
        let setting = match u16::from_be_bytes([id_high, id_low]) {
            HEADER_TABLE_SIZE => Setting::HeaderTableBytes(value),
            ENABLE_PUSH if value > 1 => return Err(Fault::PROTOCOL),
            ENABLE_PUSH => Setting::EnablePush(value == 1),
            MAX_CONCURRENT_STREAMS => Setting::MaxConcurrentStreams(value),
            INITIAL_WINDOW_SIZE if value > WINDOW_BYTES_MAX => return Err(Fault::FLOW_CONTROL),
            INITIAL_WINDOW_SIZE => Setting::InitialWindowBytes(value),
            MAX_FRAME_SIZE if !(FRAME_BYTES_DEFAULT..=FRAME_BYTES_MAX).contains(&value) => {
                return Err(Fault::PROTOCOL);
            }
            MAX_FRAME_SIZE => Setting::MaxFrameBytes(value),
            MAX_HEADER_LIST_SIZE => Setting::MaxHeaderListBytes(value),
            _ => continue,
        };
        each(setting)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::h2::frame::{HEADER_BYTES, push_settings};

    fn read(settings: &[(u16, u32)]) -> Result<Vec<Setting>, Fault> {
        let bytes = settings.iter().flat_map(|(id, value)| {
            id.to_be_bytes().into_iter().chain(value.to_be_bytes()).collect::<Vec<u8>>()
        });
        let mut read = Vec::new();
        read_settings(&bytes.collect::<Vec<u8>>(), |setting| {
            read.push(setting);
            Ok(())
        })?;
        Ok(read)
    }

    #[test]
    fn values_have_limits() {
        let check =
            |id, value, expected| assert_eq!(read(&[(id, value)]), expected, "{id} {value}");
        check(1, u32::MAX, Ok(vec![Setting::HeaderTableBytes(u32::MAX)]));
        check(2, 0, Ok(vec![Setting::EnablePush(false)]));
        check(2, 2, Err(Fault::PROTOCOL));
        check(3, 0, Ok(vec![Setting::MaxConcurrentStreams(0)]));
        check(4, (1 << 31) - 1, Ok(vec![Setting::InitialWindowBytes((1 << 31) - 1)]));
        check(4, 1 << 31, Err(Fault::FLOW_CONTROL));
        check(5, 16_383, Err(Fault::PROTOCOL));
        check(5, 16_384, Ok(vec![Setting::MaxFrameBytes(16_384)]));
        check(5, (1 << 24) - 1, Ok(vec![Setting::MaxFrameBytes((1 << 24) - 1)]));
        check(5, 1 << 24, Err(Fault::PROTOCOL));
        check(6, 7, Ok(vec![Setting::MaxHeaderListBytes(7)]));
        check(7, 7, Ok(vec![]));
        let both = [Setting::HeaderTableBytes(0), Setting::HeaderTableBytes(9)];
        assert_eq!(read(&[(1, 0), (1, 9)]).as_deref(), Ok(&both[..]));
    }

    #[test]
    fn differing_settings_are_written() {
        let settings =
            Settings { enable_push: false, max_frame_bytes: 1 << 20, ..Settings::default() };
        let mut frame = Vec::new();
        push_settings(&mut frame, &settings, &Settings::default());
        let mut read = Vec::new();
        let result = read_settings(&frame[HEADER_BYTES..], |setting| {
            read.push(setting);
            Ok(())
        });
        assert_eq!(result, Ok(()));
        assert_eq!(read, [Setting::EnablePush(false), Setting::MaxFrameBytes(1 << 20)]);
    }
}
