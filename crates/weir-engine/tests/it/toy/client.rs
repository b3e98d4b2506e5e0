//! The toy protocol's client, behind the engine's interface.

use std::sync::Arc;

use weir_http::h2::ErrorCode;
use weir_http::{
    BodyBudget, EndReason, Interest, Multiplexed, ProtocolError, ProtocolFactory, ReceivedResponse,
    Request, RequestId, StreamEvent, StreamEventKind, WindowWaits,
};

use super::{Frame, Frames, Kind};

/// The client's side of one connection.
#[derive(Debug)]
pub(crate) struct ToyClient {
    /// Streams in flight by request id.
    streams: Vec<Option<u32>>,
    /// Greatest number of streams; `None` before the server has said it.
    limit: Option<u32>,
    last_stream: u32,
    is_retiring: bool,
    frames: Frames,
    out: Vec<u8>,
    /// Streams whose responses have begun.
    begun: u32,
    heard_at: Option<u64>,
}

impl ToyClient {
    /// Returns a factory of clients.
    pub(crate) fn factory() -> ProtocolFactory {
        ProtocolFactory::multiplexed(|streams| Box::new(ToyClient::new(streams)))
    }

    fn new(streams: u16) -> ToyClient {
        ToyClient {
            streams: vec![None; usize::from(streams)],
            limit: None,
            last_stream: 0,
            is_retiring: false,
            frames: Frames::default(),
            out: Vec::new(),
            begun: 0,
            heard_at: None,
        }
    }

    fn in_flight(&self) -> u32 {
        self.streams.iter().flatten().count() as u32
    }

    fn say(&mut self, kind: Kind, stream: u32) {
        self.out.extend_from_slice(&Frame { kind, stream, value: 0 }.bytes());
    }

    /// Handles a frame of a stream. Frames of cancelled streams come late.
    fn stream_frame(&mut self, frame: Frame, events: &mut Vec<StreamEvent>) {
        let Some(index) = self.streams.iter().position(|stream| *stream == Some(frame.stream))
        else {
            return;
        };
        let kind = match frame.kind {
            Kind::Began => StreamEventKind::Began { at_ns: self.heard_at.unwrap_or(0) },
            Kind::Response => StreamEventKind::Response { status: frame.value as u16 },
            Kind::Failed => StreamEventKind::Reset(ErrorCode::INTERNAL_ERROR.reason()),
            _ => StreamEventKind::Returned,
        };
        match kind {
            StreamEventKind::Began { .. } => self.begun += 1,
            StreamEventKind::Response { .. } => self.begun -= 1,
            _ => {}
        }
        if kind.is_last() {
            self.streams[index] = None;
        }
        events.push(StreamEvent { id: RequestId(index as u16), kind });
    }
}

impl Multiplexed for ToyClient {
    fn open(&mut self, now_ns: u64) {
        self.heard_at = Some(now_ns);
        self.say(Kind::Hello, 0);
    }

    fn is_open(&self) -> bool {
        self.limit.is_some()
    }

    fn capacity(&self) -> u32 {
        let most = self.limit.unwrap_or(0).min(self.streams.len() as u32);
        if self.is_retiring { 0 } else { most.saturating_sub(self.in_flight()) }
    }

    fn is_retiring(&self) -> bool {
        self.is_retiring
    }

    fn request(&mut self, request: &Arc<Request>, _now_ns: u64) -> RequestId {
        assert!(self.capacity() > 0, "a request needs capacity");
        assert_eq!((request.method(), request.target()), (&b"GET"[..], &b"/"[..]));
        let index = self.streams.iter().position(Option::is_none).expect("there is capacity");
        self.last_stream += 1;
        self.streams[index] = Some(self.last_stream);
        self.say(Kind::Request, self.last_stream);
        RequestId(index as u16)
    }

    fn cancel(&mut self, id: RequestId, _now_ns: u64) {
        let stream = self.streams[usize::from(id.0)].take().expect("it is in flight");
        self.say(Kind::Cancel, stream);
    }

    fn receive(
        &mut self,
        bytes: &[u8],
        now_ns: u64,
        events: &mut Vec<StreamEvent>,
    ) -> Result<(), ProtocolError> {
        self.heard_at = Some(now_ns);
        let frames = self.frames.read(bytes).ok_or(ProtocolError::BadFrame)?;
        for frame in frames {
            match frame.kind {
                Kind::Limit => self.limit = Some(frame.value),
                Kind::Retire => {
                    self.is_retiring = true;
                    let above = |stream: &Option<u32>| stream.is_some_and(|s| s > frame.value);
                    let returned: Vec<_> = self.streams.iter().filter(|s| above(s)).collect();
                    let returned: Vec<u32> = returned.into_iter().flatten().copied().collect();
                    for stream in returned {
                        let kind = Kind::Returned;
                        self.stream_frame(Frame { kind, stream, value: 0 }, events);
                    }
                }
                Kind::Began | Kind::Response | Kind::Failed | Kind::Returned => {
                    self.stream_frame(frame, events);
                }
                _ => return Err(ProtocolError::BadFrame),
            }
        }
        Ok(())
    }

    fn poll_transmit(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    fn is_mid_response(&self) -> bool {
        self.begun > 0
    }

    fn reset(&mut self) {
        *self = ToyClient::new(self.streams.len() as u16);
    }

    fn interim_responses(&self) -> u64 {
        0
    }

    fn set_interest(&mut self, interest: Interest, _budget: &BodyBudget) {
        assert_eq!(interest, Interest::Status, "this protocol stores no responses");
    }

    fn response(&self, _nth: usize) -> ReceivedResponse<'_> {
        panic!("nothing is stored")
    }

    fn forget_responses(&mut self) {}

    fn goaway(&self) -> Option<&'static EndReason> {
        None
    }

    fn allows_no_streams(&self) -> bool {
        false
    }

    fn window_waits(&self, _now_ns: u64) -> WindowWaits {
        WindowWaits::default()
    }
}
