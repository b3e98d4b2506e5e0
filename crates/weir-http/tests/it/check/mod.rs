//! Invariants for any bytes from a server: shared by the tests here and by the fuzz targets. Uses
//! the public interface only.

pub(crate) mod grpc;
pub(crate) mod h2;
pub(crate) mod hpack;
pub(crate) mod server;
pub(crate) mod sse;
pub(crate) mod ws;

use std::ops::Range;
use weir_http::{
    BodyBudget, Head, HeadCache, Http1, Interest, ProtocolError, RequestId, RequestTraits,
    ResponseEvent,
};
use weir_http::{read_head, read_requests};

/// The requests in flight when the bytes arrive, and the seed of the cuts.
#[derive(Clone, Debug)]
pub(crate) struct Setup {
    pub(crate) requests: Vec<RequestTraits>,
    pub(crate) seed: u64,
}

impl Setup {
    /// Length of the setup at the start of an input.
    pub(crate) const BYTES: usize = 4;

    /// Parses an input as a setup and a response: a count, two bytes of HEAD flags, and a seed. The
    /// highest bit of the seed makes the last request one that closes.
    pub(crate) fn parse(input: &[u8]) -> Option<(Setup, &[u8])> {
        let (&[count, low, high, seed], bytes) = input.split_first_chunk::<4>()?;
        let heads = u16::from_le_bytes([low, high]);
        let count = usize::from(count % 17);
        let request = |index: usize| RequestTraits {
            head: heads >> index & 1 != 0,
            closes: seed >> 7 != 0 && index + 1 == count,
        };
        Some((Setup { requests: (0..count).map(request).collect(), seed: seed.into() }, bytes))
    }

    /// Returns the bytes that [`Setup::parse`] reads.
    pub(crate) fn bytes(&self) -> [u8; Setup::BYTES] {
        let flag = |(index, request): (usize, &RequestTraits)| u16::from(request.head) << index;
        let heads: u16 = self.requests.iter().enumerate().map(flag).sum();
        let [low, high] = heads.to_le_bytes();
        let closes = self.requests.last().is_some_and(|last| last.closes);
        [self.requests.len() as u8, low, high, self.seed as u8 & 0x7f | u8::from(closes) << 7]
    }
}

/// Results that must not depend on the cuts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Responses, without `began_here`.
    pub(crate) events: Vec<ResponseEvent>,
    pub(crate) error: Option<ProtocolError>,
    pub(crate) state: State,
    /// Result of the end of the stream.
    pub(crate) at_end: Result<(), ProtocolError>,
    pub(crate) state_at_end: State,
}

/// Observable state of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) capacity: u32,
    pub(crate) in_flight: u32,
    pub(crate) is_mid_response: bool,
    pub(crate) discardable: u64,
    pub(crate) interim: u64,
}

impl State {
    fn of(protocol: &Http1, interim_before: u64) -> State {
        State {
            capacity: protocol.capacity(),
            in_flight: protocol.in_flight(),
            is_mid_response: protocol.is_mid_response(),
            discardable: protocol.discardable(),
            interim: protocol.interim_responses() - interim_before,
        }
    }
}

/// One run: the outcome, and for each response the range of bytes in which it was reported to
/// start.
pub(crate) struct Run {
    pub(crate) outcome: Outcome,
    pub(crate) began_in: Vec<Range<usize>>,
}

/// Creates a protocol for `setup`, before any request.
pub(crate) fn protocol(setup: &Setup) -> Http1 {
    Http1::new(setup.requests.len().max(1) as u16)
}

/// Feeds `bytes` in pieces: `cut(at)` returns the length of the piece at `at`. With `skips`,
/// discardable body bytes are skipped, also in pieces.
pub(crate) fn run(
    protocol: &mut Http1,
    setup: &Setup,
    bytes: &[u8],
    skips: bool,
    cut: impl FnMut(usize) -> usize,
) -> Run {
    run_knowing(protocol, setup, bytes, skips, None, cut)
}

/// Splits a response to several requests into one for each.
pub(crate) fn each(event: ResponseEvent) -> impl Iterator<Item = ResponseEvent> {
    assert!(event.count > 0, "{event:?}");
    event.ids().map(move |id| ResponseEvent { id: RequestId(id), count: 1, ..event })
}

/// Like [`run`], with a cached head if there is one.
pub(crate) fn run_knowing(
    protocol: &mut Http1,
    setup: &Setup,
    bytes: &[u8],
    skips: bool,
    mut known: Option<&mut HeadCache>,
    mut cut: impl FnMut(usize) -> usize,
) -> Run {
    let interim_before = protocol.interim_responses();
    for &request in &setup.requests {
        protocol.request(request);
    }
    let mut events = Vec::new();
    let mut began_in = Vec::new();
    let mut began = 0..0;
    let mut at = 0;
    let mut error = None;
    while at < bytes.len() && error.is_none() {
        let piece = cut(at).clamp(1, bytes.len() - at);
        let first = events.len();
        let discardable = usize::try_from(protocol.discardable()).unwrap_or(usize::MAX);
        let (used, result) = if skips && discardable > 0 {
            let used = piece.min(discardable);
            (used, protocol.skip(used as u64, &mut events))
        } else {
            let bytes = &bytes[at..at + piece];
            match &mut known {
                Some(known) => {
                    let mut together = Vec::new();
                    let result = protocol.receive_cached(bytes, known, &mut together);
                    events.extend(together.into_iter().flat_map(each));
                    (piece, result)
                }
                None => (piece, protocol.receive(bytes, &mut events)),
            }
        };
        let here = at..at + used;
        for event in &events[first..] {
            began_in.push(if event.began_here { here.clone() } else { began.clone() });
        }
        if protocol.began_here() {
            began = here;
        }
        error = result.err();
        at += used;
    }
    let state = State::of(protocol, interim_before);
    let first = events.len();
    let at_end = protocol.end_of_stream(&mut events);
    for event in &events[first..] {
        assert!(!event.began_here, "nothing begins at the end of the stream");
        began_in.push(began.clone());
    }
    for event in &mut events {
        event.began_here = false;
    }
    let state_at_end = State::of(protocol, interim_before);
    Run { outcome: Outcome { events, error, state, at_end, state_at_end }, began_in }
}

/// Checks the invariants for any input, which starts with the setup.
pub(crate) fn response(input: &[u8]) {
    let Some((setup, bytes)) = Setup::parse(input) else { return };
    let whole = run(&mut protocol(&setup), &setup, bytes, false, |_| bytes.len());
    let mut single = protocol(&setup);
    let singles = run(&mut single, &setup, bytes, false, |_| 1);
    assert_eq!(whole.outcome, singles.outcome, "whole against byte by byte");
    let mut random = XorShift::new(setup.seed + 1);
    let lengths = [2, 3, 7, 20, 100, 1000];
    for turn in 0..6 {
        // Every other turn reuses the protocol after a reset, which must clear its state.
        let mut fresh = protocol(&setup);
        single.reset();
        let protocol = if turn % 2 == 0 { &mut fresh } else { &mut single };
        let cut = |_: usize| 1 + random.below(lengths[turn % 6]);
        let cut = run(protocol, &setup, bytes, turn >= 2, cut);
        assert_eq!(whole.outcome, cut.outcome, "whole against cut, turn {turn}");
        for (exact, rough) in singles.began_in.iter().zip(&cut.began_in) {
            assert_eq!(exact.len(), 1);
            assert!(rough.contains(&exact.start), "began at {exact:?}, said {rough:?}");
        }
    }
    let mut known = HeadCache::default();
    for pieces in [bytes.len(), 1000, 100, 7] {
        let mut fresh = protocol(&setup);
        let cut = |_: usize| 1 + random.below(pieces);
        let knowing = run_knowing(&mut fresh, &setup, bytes, false, Some(&mut known), cut);
        assert_eq!(whole.outcome, knowing.outcome, "read against compared");
    }
    plausible(&setup, bytes, &whole.outcome);
    same_head(&setup, bytes, &whole.outcome);
    same_responses(&setup, bytes, &whole.outcome);
}

/// A stored response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kept {
    pub(crate) status: u16,
    pub(crate) head: Vec<u8>,
    pub(crate) fields: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

/// Feeds `bytes` like [`run`], with an interest, up to the end of the stream. Returns status and
/// body bytes of each response, and the stored responses.
pub(crate) fn kept(
    setup: &Setup,
    bytes: &[u8],
    interest: Interest,
    skips: bool,
    cut: &mut dyn FnMut(usize) -> usize,
) -> (Vec<(u16, u64)>, Vec<Kept>) {
    let mut protocol = protocol(setup);
    protocol.set_interest(interest, &BodyBudget::default());
    for &request in &setup.requests {
        protocol.request(request);
    }
    let mut all = Vec::new();
    let mut kept = Vec::new();
    let mut events = Vec::new();
    let mut take = |protocol: &Http1, events: &mut Vec<ResponseEvent>| {
        for (nth, event) in events.drain(..).enumerate() {
            let response = protocol.response(nth);
            assert!(response.status == event.status && !response.is_cut);
            assert!(interest == Interest::Head || response.body.len() as u64 == event.body_bytes);
            all.push((event.status, event.body_bytes));
            let head = response.head.to_vec();
            let body = response.body.to_vec();
            let fields = response.fields().map(|(name, value)| (name.to_vec(), value.to_vec()));
            kept.push(Kept { status: event.status, head, fields: fields.collect(), body });
        }
    };
    let mut at = 0;
    while at < bytes.len() {
        let mut piece = cut(at).clamp(1, bytes.len() - at);
        let discardable = usize::try_from(protocol.discardable()).unwrap_or(usize::MAX);
        let result = if skips && discardable > 0 {
            piece = piece.min(discardable);
            protocol.skip(piece as u64, &mut events)
        } else {
            protocol.receive(&bytes[at..at + piece], &mut events)
        };
        take(&protocol, &mut events);
        at += piece;
        if result.is_err() {
            break;
        }
    }
    let _ = protocol.end_of_stream(&mut events);
    take(&protocol, &mut events);
    (all, kept)
}

/// Checks that stored responses do not depend on cuts, and that storing does not change the
/// responses.
fn same_responses(setup: &Setup, bytes: &[u8], outcome: &Outcome) {
    let events: Vec<_> =
        outcome.events.iter().map(|event| (event.status, event.body_bytes)).collect();
    let mut random = XorShift::new(setup.seed + 2);
    for interest in [Interest::Head, Interest::Body] {
        let whole = kept(setup, bytes, interest, false, &mut |_| bytes.len());
        assert_eq!(whole.0, events, "with and without interest");
        for skips in [false, true] {
            let cut = kept(setup, bytes, interest, skips, &mut |_| 1 + random.below(9));
            assert_eq!(cut, whole, "kept whole and cut");
        }
        if let (Ok(Some(head)), Some(first)) = (read_head(bytes), whole.1.first())
            && head.status >= 200
        {
            let fields = head.headers.iter().map(|(name, value)| (name.as_bytes(), *value));
            let kept = first.fields.iter().map(|(name, value)| (&name[..], &value[..]));
            assert!(fields.eq(kept.take(head.headers.len())), "the head reader's fields");
        }
    }
}

fn plausible(setup: &Setup, bytes: &[u8], outcome: &Outcome) {
    let Outcome { events, error, state, at_end, state_at_end } = outcome;
    assert_eq!(events.len() + state_at_end.in_flight as usize, setup.requests.len());
    assert!(events.iter().map(|event| event.body_bytes).sum::<u64>() <= bytes.len() as u64);
    for (index, event) in events.iter().enumerate() {
        assert_eq!(usize::from(event.id.0), index);
        assert!((200..=999).contains(&event.status));
        assert!(event.body_bytes == 0 || !setup.requests[index].head);
        assert!(!event.closes || index + 1 == events.len(), "a response after one that closes");
    }
    assert_eq!(state_at_end.capacity, 0);
    assert!(!state_at_end.is_mid_response || at_end.is_ok());
    if error.is_some() {
        assert_eq!((state.capacity, state.is_mid_response, state.discardable), (0, false, 0));
        assert_eq!(at_end.err(), *error, "an error lasts");
    }
}

/// Checks that the head parser and the protocol see the same first head.
fn same_head(setup: &Setup, bytes: &[u8], outcome: &Outcome) {
    if setup.requests.is_empty() {
        return;
    }
    let error = outcome.error;
    let events = &outcome.events;
    match read_head(bytes) {
        Ok(None) | Err(_) if error == Some(ProtocolError::FoldedHeader) => {}
        Ok(None) => assert!(error.is_none() && events.is_empty() && outcome.state.interim == 0),
        Err(head_error) => assert_eq!(error, Some(head_error)),
        Ok(Some(head)) if head.status < 200 => {
            assert!(outcome.state.interim > 0 || error.is_some());
        }
        Ok(Some(head)) => {
            assert!(events.first().is_none_or(|event| event.status == head.status));
            assert!(!events.is_empty() || error.is_some() || outcome.state.is_mid_response);
        }
    }
}

/// Checks the invariants of the head parser. More bytes after a head do not change it, a missing
/// byte makes it incomplete, and another parser that accepts it agrees.
pub(crate) fn head(bytes: &[u8]) {
    let Ok(Some(head)) = read_head(bytes) else { return };
    let Head { version, status, bytes: length, .. } = head;
    assert!(version.starts_with("HTTP/1.") && (100..=999).contains(&status));
    assert_eq!(read_head(&bytes[..length]), Ok(Some(head.clone())));
    assert_eq!(read_head(&bytes[..length - 1]), Ok(None));
    let mut fields = vec![httparse::EMPTY_HEADER; 1 + bytes.len() / 2];
    let mut other = httparse::Response::new(&mut fields);
    let Ok(httparse::Status::Complete(other_length)) = other.parse(bytes) else { return };
    assert_eq!((length, Some(status)), (other_length, other.code));
    let others: Vec<_> = other.headers.iter().map(|field| (field.name, field.value)).collect();
    assert_eq!(head.headers, others);
}

/// Checks the invariants of the request parser. Each request parses the same alone, and together
/// they are all the bytes. An error has a position within them.
pub(crate) fn requests(bytes: &[u8]) {
    let mut requests = Vec::new();
    let mut alone = Vec::new();
    let read = read_requests(bytes, &mut requests);
    let mut rest = bytes;
    for request in &requests {
        let (piece, after) = rest.split_at(request.bytes as usize);
        assert_eq!(read_requests(piece, &mut alone), Ok(()));
        assert_eq!(alone, [*request]);
        rest = after;
    }
    match read {
        Ok(()) => assert!(!requests.is_empty() && rest.is_empty()),
        Err(error) => {
            let lines: Vec<_> = bytes.split(|&byte| byte == b'\n').collect();
            assert!((error.column as usize) <= lines[error.line as usize - 1].len() + 1);
        }
    }
}

/// Random numbers for cuts and mutations, the same in every run.
#[derive(Clone, Debug)]
pub(crate) struct XorShift(u64);

impl XorShift {
    pub(crate) fn new(seed: u64) -> XorShift {
        XorShift(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit.max(1)
    }
}
