//! The server's connection above frames: the states of its streams (RFC 9113 §5.1), the events that
//! received frames cause, and the frames of responses.

use std::collections::VecDeque;

use super::super::fault::{ErrorCode, H2Fault};
use super::super::frame::{H2Frame, Settings, push_window_update};
use super::super::link::H2Link;
use super::super::options::H2Options;
use super::super::stream_table::StreamTable;
use super::super::windows::SendWindow;
use super::event::ServerEvent;
use super::request_fields::RequestFields;
use super::stream::ServerStream;

/// State of the server's side of one connection.
#[derive(Debug)]
pub(super) struct ServerSession {
    pub(super) settings: Settings,
    pub(super) link: H2Link,
    pub(super) streams: StreamTable<ServerStream>,
    /// Greatest number of a stream that the client has opened.
    pub(super) last_stream: u32,
    /// Greatest number of a stream that is processed.
    pub(super) processed_max: u32,
    fields: RequestFields,
    /// Buffer for a header block.
    pub(super) block: Vec<u8>,
    /// Slots of the streams whose responses wait for windows.
    pub(super) turns: VecDeque<u16>,
    /// Requests that were not processed, until they are taken.
    pub(super) refused: u64,
    /// Invalid requests, until they are taken.
    pub(super) malformed: u64,
}

impl ServerSession {
    pub(super) fn new(options: &H2Options) -> ServerSession {
        let settings = options.settings;
        let mut link = H2Link::new(options);
        link.push_settings(&settings, &Settings::default());
        link.open_window();
        ServerSession {
            settings,
            link,
            streams: StreamTable::new(settings.max_concurrent_streams.unwrap_or(100) as usize),
            last_stream: 0,
            processed_max: u32::MAX,
            fields: RequestFields::default(),
            block: Vec::new(),
            turns: VecDeque::new(),
            refused: 0,
            malformed: 0,
        }
    }

    /// Appends what waits on the streams in `turns`, in turns, as far as the windows permit.
    pub(super) fn push_pending(&mut self, out: &mut Vec<u8>) {
        let mut blocked = 0;
        while blocked < self.turns.len() {
            let Some(slot) = self.turns.pop_front() else { break };
            let number = self.streams.stream(slot);
            let ServerStream { pending, send_window, .. } = self.streams.state(slot);
            let rest = &pending.data[pending.sent..];
            let is_end = pending.is_end;
            let Some(bytes) = self.link.push_data(number, send_window, rest, is_end, out) else {
                blocked += 1;
                self.turns.push_back(slot);
                continue;
            };
            blocked = 0;
            pending.sent += bytes;
            if pending.bytes() > 0 {
                self.turns.push_back(slot);
                continue;
            }
            pending.clear();
            self.remove_if_ended(slot);
        }
    }

    /// Handles a frame, and passes the events in it to `each`.
    pub(super) fn handle(
        &mut self,
        frame: H2Frame<'_>,
        each: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), H2Fault> {
        let is_first = self.link.peer.is_none();
        match frame {
            H2Frame::Settings(payload) => {
                let change = self.link.settings(payload)?;
                let mut open = self.streams.open();
                open.try_for_each(|(_, _, stream)| stream.send_window.change(change))?;
                if is_first {
                    each(ServerEvent::Opened);
                }
                Ok(())
            }
            _ if is_first => Err(H2Fault::PROTOCOL),
            H2Frame::Headers { stream, block, is_end } => self.headers(stream, block, is_end, each),
            H2Frame::Data { stream, data, flow_bytes, is_end } => {
                self.data(stream, data, flow_bytes, is_end, each)
            }
            H2Frame::Reset { stream, code } => {
                let Some(slot) = self.streams.find(stream) else {
                    return self.link.count_late(self.is_idle(stream));
                };
                self.remove(slot);
                each(ServerEvent::Reset { stream, code });
                self.link.count_idle()
            }
            H2Frame::WindowUpdate { stream: stream @ 1.., bytes } => {
                self.window_update(stream, bytes, each)
            }
            H2Frame::GoAway { code, .. } => {
                each(ServerEvent::GoAway { code });
                self.link.count_idle()
            }
            H2Frame::Malformed { stream, fault } => {
                if let Some(slot) = self.streams.find(stream) {
                    self.fail_stream(slot, fault, each);
                }
                self.link.count_idle()
            }
            frame => self.link.handle(frame),
        }
    }

    fn headers(
        &mut self,
        number: u32,
        block: &[u8],
        is_end: bool,
        each: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), H2Fault> {
        if number.is_multiple_of(2) {
            return Err(H2Fault::PROTOCOL);
        }
        self.fields.read(&mut self.link.decoder, block)?;
        if number > self.last_stream {
            return self.open_stream(number, is_end, each);
        }
        let Some(slot) = self.streams.find(number) else {
            self.link.late(number, self.is_idle(number))?;
            return self.link.count_idle();
        };
        let stream = self.streams.state(slot);
        if stream.is_received {
            self.fail_stream(slot, H2Fault::STREAM_CLOSED, each);
        } else if !is_end || self.fields.is_malformed || !self.fields.is_trailers() {
            self.fail_stream(slot, H2Fault::MALFORMED, each);
        } else if stream.missing.is_some_and(|missing| missing > 0) {
            self.fail_stream(slot, H2Fault::BODY_LENGTH, each);
        } else {
            stream.is_received = true;
            each(ServerEvent::Trailers { stream: number, fields: &self.fields });
            self.remove_if_ended(slot);
        }
        Ok(())
    }

    /// Handles the start of a request. Its fields are read already, so that the decoder's table is
    /// right even if it is refused.
    fn open_stream(
        &mut self,
        number: u32,
        is_end: bool,
        each: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), H2Fault> {
        self.last_stream = number;
        if number > self.processed_max {
            self.refused += 1;
            self.link.drop_stream(number);
            return self.link.count_idle();
        }
        let most = self.settings.max_concurrent_streams.unwrap_or(u16::MAX.into());
        let fields = &self.fields;
        let missing = fields.content_length.unwrap_or(0);
        let refusal = if self.streams.len() >= most.min(u16::MAX.into()) {
            Some(ErrorCode::REFUSED_STREAM)
        } else if fields.is_too_large {
            Some(ErrorCode::ENHANCE_YOUR_CALM)
        } else if fields.is_malformed || !fields.is_head() || (is_end && missing > 0) {
            Some(ErrorCode::PROTOCOL_ERROR)
        } else {
            None
        };
        if let Some(code) = refusal {
            let is_refused = code == ErrorCode::REFUSED_STREAM;
            *(if is_refused { &mut self.refused } else { &mut self.malformed }) += 1;
            self.link.reset_stream(number, code);
            return self.link.count_idle();
        }
        self.link.count_content();
        let slot = self.streams.insert(number);
        let send_window = SendWindow::new(self.link.initial_window());
        let stream = self.streams.state(slot);
        stream.pending.clear();
        let pending = std::mem::take(&mut stream.pending);
        let missing = fields.content_length;
        *stream = ServerStream {
            is_received: is_end,
            missing,
            send_window,
            pending,
            ..ServerStream::default()
        };
        each(ServerEvent::Request { stream: number, fields, is_end });
        Ok(())
    }

    fn data(
        &mut self,
        number: u32,
        data: &[u8],
        flow_bytes: u32,
        is_end: bool,
        each: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), H2Fault> {
        self.link.take_data(flow_bytes)?;
        let slot = self.streams.find(number);
        if data.is_empty() && (!is_end || slot.is_none()) {
            self.link.count_idle()?;
        }
        let Some(slot) = slot else { return self.link.late(number, self.is_idle(number)) };
        let stream = self.streams.state(slot);
        stream.receive_window.take(flow_bytes, self.link.stream_window_bytes)?;
        if stream.is_received {
            self.fail_stream(slot, H2Fault::STREAM_CLOSED, each);
            return Ok(());
        }
        if let Some(missing) = stream.missing {
            let rest = missing.checked_sub(data.len() as u64);
            if rest.is_none() || (is_end && rest != Some(0)) {
                self.fail_stream(slot, H2Fault::BODY_LENGTH, each);
                return Ok(());
            }
            stream.missing = rest;
        }
        stream.is_received = is_end;
        let refill = stream.receive_window.refill(self.settings.initial_window_bytes);
        if let Some(bytes) = refill.filter(|_| self.link.refills && !is_end) {
            push_window_update(&mut self.link.out, number, bytes);
        }
        if !data.is_empty() {
            self.link.count_content();
        }
        each(ServerEvent::Data { stream: number, data, is_end });
        self.remove_if_ended(slot);
        Ok(())
    }

    fn window_update(
        &mut self,
        number: u32,
        bytes: u32,
        each: &mut impl FnMut(ServerEvent<'_>),
    ) -> Result<(), H2Fault> {
        let Some(slot) = self.streams.find(number) else {
            return self.link.count_late(self.is_idle(number));
        };
        if let Err(fault) = self.streams.state(slot).send_window.widen(bytes) {
            self.fail_stream(slot, fault, each);
        }
        Ok(())
    }

    fn is_idle(&self, number: u32) -> bool {
        number > self.last_stream || number.is_multiple_of(2)
    }

    fn fail_stream(&mut self, slot: u16, fault: H2Fault, each: &mut impl FnMut(ServerEvent<'_>)) {
        let stream = self.streams.stream(slot);
        self.malformed += u64::from(!self.streams.state(slot).is_received);
        self.reset_stream(stream, fault.code);
        each(ServerEvent::Reset { stream, code: fault.code });
    }

    pub(super) fn remove(&mut self, slot: u16) {
        self.turns.retain(|other| *other != slot);
        self.streams.state(slot).pending.clear();
        self.streams.remove(slot);
    }

    pub(super) fn remove_if_ended(&mut self, slot: u16) {
        let stream = self.streams.state(slot);
        if stream.is_received && stream.is_answered && stream.pending.is_empty() {
            self.streams.remove(slot);
        }
    }

    /// Returns the slot of an open stream whose response is not complete.
    pub(super) fn answerable(&mut self, number: u32) -> Option<u16> {
        let slot = self.streams.find(number)?;
        (!self.streams.state(slot).is_answered).then_some(slot)
    }

    pub(super) fn reset_stream(&mut self, number: u32, code: ErrorCode) {
        self.link.reset_stream(number, code);
        if let Some(slot) = self.streams.find(number) {
            self.remove(slot);
        }
    }
}
