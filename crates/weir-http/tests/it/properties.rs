//! Properties of random exchanges: responses of every kind, written and cut at random, are parsed
//! correctly.

use crate::check;
use std::collections::VecDeque;
use std::ops::Range;

use proptest::prelude::*;
use weir_http::{BodyBudget, HeadCache, Http1, Interest, RequestTraits, ResponseEvent, read_head};

/// A response and its request.
#[derive(Clone, Debug)]
struct SentResponse {
    head: bool,
    interims: Vec<u16>,
    status: u16,
    body: Body,
    fields: Vec<(String, String)>,
    lone_lf: bool,
    closes: bool,
}

#[derive(Clone, Debug)]
enum Body {
    /// No body: the status has none, regardless of the fields.
    None,
    Fixed(Vec<u8>),
    Chunked(Vec<Vec<u8>>, String, Vec<(String, String)>),
}

impl SentResponse {
    /// Appends the response. Returns the position at which the final response starts.
    fn write(&self, bytes: &mut Vec<u8>) -> usize {
        let end = if self.lone_lf { "\n" } else { "\r\n" };
        for status in &self.interims {
            bytes.extend(format!("HTTP/1.1 {status} x{end}Link: a{end}{end}").bytes());
        }
        let began_at = bytes.len();
        bytes.extend(format!("HTTP/1.1 {} {end}", self.status).bytes());
        write_fields(bytes, &self.fields, end);
        if self.closes {
            bytes.extend(format!("coNNection: x,Close{end}").bytes());
        }
        match &self.body {
            Body::None | Body::Fixed(_) => {
                bytes.extend(format!("content-Length:{}{end}{end}", self.body_bytes()).bytes());
            }
            Body::Chunked(..) => {
                bytes.extend(format!("Transfer-ENCODING: a, chunked{end}{end}").bytes());
            }
        }
        match &self.body {
            _ if self.head => {}
            Body::None => {}
            Body::Fixed(body) => bytes.extend(body),
            Body::Chunked(chunks, extension, trailers) => {
                for chunk in chunks {
                    bytes.extend(format!("{:X}{extension}\r\n", chunk.len()).bytes());
                    bytes.extend(chunk);
                    bytes.extend(b"\r\n");
                }
                bytes.extend(format!("0{extension}\r\n").bytes());
                write_fields(bytes, trailers, end);
                bytes.extend(end.bytes());
            }
        }
        began_at
    }

    fn body_bytes(&self) -> usize {
        match &self.body {
            Body::None => 7,
            Body::Fixed(body) => body.len(),
            Body::Chunked(chunks, ..) => chunks.iter().map(Vec::len).sum(),
        }
    }

    fn received_bytes(&self) -> usize {
        if self.head || matches!(self.body, Body::None) { 0 } else { self.body_bytes() }
    }
}

impl SentResponse {
    /// Checks the stored response against this one.
    fn verify_kept(
        &self,
        event: &ResponseEvent,
        kept: &weir_http::ReceivedResponse<'_>,
        interest: Interest,
    ) {
        assert_eq!((kept.status, kept.is_cut), (event.status, false));
        let (chunks, trailers) = match &self.body {
            Body::None => (vec![], &[][..]),
            Body::Fixed(body) => (body.clone(), &[][..]),
            Body::Chunked(chunks, _, trailers) => (chunks.concat(), &trailers[..]),
        };
        let has_body = !self.head && interest == Interest::Body;
        assert_eq!(kept.body, if has_body { &chunks[..] } else { b"" });
        let trailers = if self.head { &[] } else { trailers };
        let fields: Vec<_> = kept.fields().collect();
        let framing = 1 + usize::from(self.closes);
        assert_eq!(fields.len(), self.fields.len() + framing + trailers.len());
        let written = self
            .fields
            .iter()
            .chain(trailers)
            .map(|(name, value)| (name.as_bytes(), value.trim_matches([' ', '\t']).as_bytes()));
        let (head, rest) = fields.split_at(self.fields.len());
        assert!(written.eq(head.iter().chain(&rest[framing..]).copied()));
    }
}

fn write_fields(bytes: &mut Vec<u8>, fields: &[(String, String)], end: &str) {
    for (name, value) in fields {
        bytes.extend(format!("{name}: {value}{end}").bytes());
    }
}

prop_compose! {
    fn response()(
        head in prop::bool::weighted(0.3),
        interims in prop::collection::vec(prop::sample::select(vec![100, 102, 103, 199]), 0..3),
        statuses in (prop::sample::select(vec![204, 304]), prop_oneof![200..204u16, 305..=999u16]),
        body in body(),
        fields in fields(),
        lone_lf in prop::bool::weighted(0.2),
        closes in prop::bool::weighted(0.02),
    ) -> SentResponse {
        let status = if matches!(body, Body::None) { statuses.0 } else { statuses.1 };
        SentResponse { head, interims, status, body, fields, lone_lf, closes }
    }
}

fn body() -> impl Strategy<Value = Body> {
    let data = |range: Range<usize>| prop::collection::vec(any::<u8>(), range);
    let extension = prop::sample::select(vec!["", ";a", " ; a=b;c=\"d;e\"", "\t"]);
    let chunks = prop::collection::vec(data(1..40), 0..5);
    prop_oneof![
        Just(Body::None),
        data(0..60).prop_map(Body::Fixed),
        (chunks, extension, fields()).prop_map(|(chunks, extension, fields)| Body::Chunked(
            chunks,
            extension.into(),
            fields
        )),
    ]
}

/// Generates fields other than framing fields; values contain visible characters, tabs, spaces and
/// non-ASCII.
fn fields() -> impl Strategy<Value = Vec<(String, String)>> {
    prop::collection::vec(("x-[a-zA-Z0-9!#$%&'*+.^_`|~-]{0,12}", "[\t -~é]{0,30}"), 0..4)
}

proptest! {
    /// Requests are sent as capacity permits, and responses arrive cut at random. Each response
    /// must match its response and report the correct start.
    #[test]
    fn conversations(
        responses in prop::collection::vec(response(), 1..40),
        depth in prop::sample::select(vec![1u16, 2, 3, 16, 64, 65, 1024]),
        cuts in prop::collection::vec(1usize..120, 1..20),
        skips in any::<bool>(),
        interest in prop::sample::select(vec![Interest::Status, Interest::Head, Interest::Body]),
    ) {
        converse(&responses, depth, &cuts, skips, interest);
    }

    /// A comparison with a cached head gives the same result as parsing, for any difference between
    /// the heads and any division into pieces.
    #[test]
    fn known_heads_agree(
        response in response(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), byte()), 1..4),
    ) {
        let mut bytes = Vec::new();
        response.write(&mut bytes);
        let mut known = HeadCache::default();
        let twice = bytes.repeat(2);
        agree(&twice, twice.len(), &mut known);
        let mut edited = bytes.clone();
        for (at, byte) in &edits {
            edited[at.index(bytes.len())] = *byte;
        }
        edited.extend(&bytes);
        for cut in 0..=edited.len() {
            agree(&edited, cut, &mut known);
        }
    }

    #[test]
    fn any_bytes(input in prop::collection::vec(any::<u8>(), 0..300)) {
        check::response(&input);
        check::head(&input);
    }

    /// This parser and another one agree on a head.
    #[test]
    fn heads_agree(response in response()) {
        let mut bytes = Vec::new();
        let began_at = response.write(&mut bytes);
        check::head(&bytes[began_at..]);
        let mut fields = [httparse::EMPTY_HEADER; 16];
        let mut other = httparse::Response::new(&mut fields);
        let length = other.parse(&bytes[began_at..]).expect("a valid head").unwrap();
        let head = read_head(&bytes[began_at..]).expect("a valid head").expect("a whole head");
        prop_assert_eq!((head.bytes, Some(head.status)), (length, other.code));
    }
}

/// Generates any byte, with bytes special to the protocol more often.
fn byte() -> impl Strategy<Value = u8> {
    let special = b"\r\n\0\t\x1f :,;0127aCx~\x7f\x80".to_vec();
    prop_oneof![any::<u8>(), prop::sample::select(special)]
}

/// Feeds two protocols the same bytes in two pieces; one of them uses a cached head.
fn agree(bytes: &[u8], cut: usize, known: &mut HeadCache) {
    let mut reading = Http1::new(3);
    let mut knowing = Http1::new(3);
    for protocol in [&mut reading, &mut knowing] {
        for _ in 0..3 {
            protocol.request(RequestTraits::default());
        }
    }
    let mut read = Vec::new();
    let mut compared = Vec::new();
    for piece in [&bytes[..cut], &bytes[cut..]] {
        let result = reading.receive(piece, &mut read);
        let mut together = Vec::new();
        assert_eq!(knowing.receive_cached(piece, known, &mut together), result, "{bytes:?}");
        compared.extend(together.into_iter().flat_map(check::each));
        assert_eq!(compared, read, "{bytes:?}");
        let state = |protocol: &Http1| {
            let counts = (protocol.in_flight(), protocol.interim_responses());
            let place = (protocol.is_mid_response(), protocol.discardable());
            (counts, place, protocol.capacity(), protocol.began_here())
        };
        assert_eq!(state(&knowing), state(&reading), "{bytes:?}");
    }
}

fn converse(
    responses: &[SentResponse],
    depth: u16,
    cuts: &[usize],
    skips: bool,
    interest: Interest,
) {
    let mut bytes = Vec::new();
    let mut began_at = Vec::new();
    let mut ends = Vec::new();
    for response in responses {
        began_at.push(response.write(&mut bytes));
        ends.push(bytes.len());
    }
    let mut protocol = Http1::new(depth);
    protocol.set_interest(interest, &BodyBudget::default());
    let mut ids = VecDeque::new();
    let mut sent = 0;
    let mut completed = 0;
    let mut at = 0;
    let mut began = 0..0;
    let mut events = Vec::new();
    let mut cuts = cuts.iter().cycle();
    loop {
        while sent < responses.len() && protocol.capacity() > 0 {
            let request = RequestTraits { head: responses[sent].head, closes: false };
            ids.push_back(protocol.request(request));
            sent += 1;
        }
        if protocol.capacity() == 0 && protocol.in_flight() == 0 || at == bytes.len() {
            break;
        }
        // A server never responds to a request that it has not received.
        let mut length = cuts.next().copied().unwrap_or(1).min(ends[sent - 1] - at);
        let discardable = usize::try_from(protocol.discardable()).unwrap_or(usize::MAX);
        if skips && discardable > 0 {
            length = length.min(discardable);
            protocol.skip(length as u64, &mut events).expect("a valid response");
        } else {
            protocol.receive(&bytes[at..at + length], &mut events).expect("a valid response");
        }
        let here = at..at + length;
        at += length;
        for (nth, event) in events.drain(..).enumerate() {
            let response = &responses[completed];
            assert_eq!(Some(event.id), ids.pop_front());
            assert!(event.id.0 < depth);
            assert_eq!(event.status, response.status);
            assert_eq!(event.body_bytes, response.received_bytes() as u64);
            assert_eq!(event.closes, response.closes);
            if interest != Interest::Status {
                response.verify_kept(&event, &protocol.response(nth), interest);
            }
            let began = if event.began_here { &here } else { &began };
            assert!(began.contains(&began_at[completed]), "{began:?}, {}", began_at[completed]);
            completed += 1;
            if event.closes {
                assert_eq!(protocol.capacity(), 0);
                return;
            }
        }
        if protocol.began_here() {
            began = here;
        }
    }
    assert_eq!(completed, responses.len());
    let interims: usize = responses.iter().map(|response| response.interims.len()).sum();
    assert_eq!(protocol.interim_responses(), interims as u64);
    assert_eq!(protocol.end_of_stream(&mut events), Ok(()));
}
