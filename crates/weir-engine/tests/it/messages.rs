//! Messages within responses in virtual time: their times and counts are known exactly.

use weir_engine::{Goodput, MessageRules};
use weir_http::{MessageFormat, MessageFraming, MessageReader, MessageReading, TokenUsage};
use weir_io::Nanos;
use weir_result::{
    GoodputTerm, GoodputTime, MessageCounts, MessagePlan, MessageProtocol, MessageShare, Plan,
};
use weir_sim::{Link, Service, ServiceFactory, World};

use crate::setup::{MS, Run, check_all, check_exact, closed, document, job, open, run_job};

/// Time from a request to the first event, and from one event to the next.
const FIRST: u64 = 200 * MS;
const GAP: u64 = 20 * MS;

/// A server whose responses are streams of events.
#[derive(Clone, Copy, Debug)]
struct Events {
    /// Events of a stream.
    count: u64,
    /// Index of the stream of a connection that stalls, and the longer gap before its third event.
    stall: Option<(u64, u64)>,
    /// Index of the stream of a connection that is cut after two events.
    cut: Option<u64>,
}

/// One connection of the server.
#[derive(Debug)]
struct EventService {
    events: Events,
    /// Index of the stream, its request, and the events that it has sent.
    streams: u64,
    request: usize,
    sent: u64,
}

impl Events {
    fn factory(self) -> ServiceFactory {
        ServiceFactory::new(move || {
            Box::new(EventService { events: self, streams: 0, request: 0, sent: 0 })
        })
    }
}

impl Service for EventService {
    fn accepted(&mut self, _link: &mut Link<'_>) {}

    fn received(&mut self, bytes: &[u8], sent_at: Nanos, link: &mut Link<'_>) {
        assert!(bytes.ends_with(b"\r\n\r\n"), "one request at a time");
        self.request = link.request(None, sent_at);
        self.sent = 0;
        link.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        link.wake(FIRST, 0);
    }

    fn woken(&mut self, _token: u64, link: &mut Link<'_>) {
        let stream = self.streams;
        if self.sent == 2 && self.events.cut == Some(stream) {
            self.streams += 1;
            return link.close();
        }
        self.sent += 1;
        let event = b"9\r\ndata: a\n\n\r\n";
        if self.sent == self.events.count {
            self.streams += 1;
            return link.respond(self.request, 200, &[&event[..], b"0\r\n\r\n"].concat());
        }
        link.send(event);
        match self.events.stall {
            Some((index, stall)) if index == stream && self.sent == 2 => link.wake(stall, 0),
            _ => link.wake(GAP, 0),
        }
    }
}

/// A server that sends a part of an endless response each millisecond.
#[derive(Debug)]
struct Endless {
    part: &'static [u8],
}

impl Service for Endless {
    fn accepted(&mut self, _link: &mut Link<'_>) {}

    fn received(&mut self, _bytes: &[u8], sent_at: Nanos, link: &mut Link<'_>) {
        link.request(None, sent_at);
        link.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        link.wake(MS, 0);
    }

    fn woken(&mut self, _token: u64, link: &mut Link<'_>) {
        link.send(&[format!("{:x}\r\n", self.part.len()).as_bytes(), self.part, b"\r\n"].concat());
        link.wake(MS, 0);
    }
}

/// Runs a plan against this server, with conditions of goodput.
fn run(events: Events, plan: &Plan, terms: &[GoodputTerm]) -> Run {
    run_on(events.factory(), plan, terms)
}

fn run_on(service: ServiceFactory, plan: &Plan, terms: &[GoodputTerm]) -> Run {
    let format = MessageFormat { framing: MessageFraming::EventStream, reader: None };
    let goodput = (!terms.is_empty()).then(|| Goodput { terms: terms.to_vec() });
    let messages = Some(MessageRules { format: Some(format), goodput, tells_reasoning: false });
    let world = World { service: Some(service), ..World::default() };
    let mut job = job(plan);
    job.responses.messages = messages;
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    let goodput = (!terms.is_empty()).then(String::new);
    let messages = Some(MessagePlan {
        protocol: MessageProtocol::Sse,
        tokens: Vec::new(),
        usage: None,
        goodput,
    });
    // The checks of a document cover its messages.
    let document = document(&Plan { messages, ..plan.clone() }, run.measured.clone());
    assert_eq!(document.messages.map(|it| it.measured), Some(counts(&run).measured));
    run
}

fn counts(run: &Run) -> &MessageCounts {
    run.measured.messages.as_ref().expect("they are measured")
}

fn share(run: &Run) -> &MessageShare {
    run.measured.results.messages.as_ref().expect("they are measured")
}

const PLAIN: Events = Events { count: 5, stall: None, cut: None };

#[test]
fn first_messages_and_gaps_are_exact() {
    for plan in [
        open(10, 1, 10),
        closed(3).with_load(|load| {
            load.requests = Some(30);
            load.duration_ns = None;
        }),
    ] {
        let run = run(PLAIN, &plan, &[]);
        let planned = run.measured.results.planned;
        check_all("first message", &share(&run).first, planned, FIRST);
        check_all("gap", &share(&run).gap, 4 * planned, GAP);
        check_all("response", &run.measured.results.response_time.ok, planned, FIRST + 4 * GAP);
        check_all("mean gap", &counts(&run).mean_gap, planned, GAP);
        assert_eq!(counts(&run).measured, 5 * planned);
        assert_eq!(counts(&run).per_response.exact().max_ns, 5);
        assert_eq!(counts(&run).bytes_per_response.exact().max_ns, 5);
        check_all("stamped gap", &counts(&run).stamped.gap_outside, 4 * planned, GAP);
    }
}

/// A stream that stalls delays the slots behind it: their first messages count from the times at
/// which they were due.
#[test]
fn a_stall_is_in_the_times_of_all_that_were_due() {
    let stall = 1_400 * MS;
    let events = Events { stall: Some((1, stall)), ..PLAIN };
    let plan = open(5, 1, 1).with_load(|load| load.drain_ns = Some(5_000 * MS));
    let run = run(events, &plan, &[]);
    let mut free = 0;
    let mut firsts = Vec::new();
    let mut responses = Vec::new();
    for (index, due) in [100, 300, 500, 700, 900].map(|ms| ms * MS).into_iter().enumerate() {
        let begin = due.max(free);
        let gaps = if index == 1 { stall + 3 * GAP } else { 4 * GAP };
        firsts.push(begin + FIRST - due);
        free = begin + FIRST + gaps;
        responses.push(free - due);
    }
    check_exact("first message", &share(&run).first, firsts);
    check_exact("response", &run.measured.results.response_time.ok, responses);
    let gaps = [vec![GAP; 19], vec![stall]].concat();
    check_exact("gap", &share(&run).gap, gaps);
}

#[test]
fn the_timeout_counts_from_the_last_message() {
    let plan = |timeout_ns| {
        closed(1).with_load(|load| {
            load.timeout_ns = timeout_ns;
            load.requests = Some(1);
        })
    };
    // A stream lasts longer than its timeout, and no gap does.
    let events = Events { count: 30, ..PLAIN };
    let long = run(events, &plan(250 * MS), &[]);
    check_all("response", &long.measured.results.response_time.ok, 1, FIRST + 29 * GAP);
    let events = Events { stall: Some((0, 300 * MS)), ..events };
    let late = run(events, &plan(250 * MS), &[]);
    assert_eq!(late.measured.results.outcomes.timed_out, 1);
    check_all("age", &late.measured.results.response_time.censored, 1, FIRST + GAP + 250 * MS);
    check_all("first message", &share(&late).first, 1, FIRST);
    assert_eq!((counts(&late).measured, share(&late).gap.count()), (2, 1));
}

#[test]
fn a_stream_that_is_cut_has_failed_and_its_messages_count() {
    let plan = closed(1).with_load(|load| {
        load.requests = Some(4);
        load.duration_ns = None;
    });
    let run = run(Events { cut: Some(0), ..PLAIN }, &plan, &[]);
    // Each socket has a server of its own, so that each first stream is cut.
    let outcomes = run.measured.results.outcomes;
    assert_eq!((outcomes.ok, outcomes.transport_error), (0, 4));
    check_all("first message", &share(&run).first, 4, FIRST);
    check_all("gap", &share(&run).gap, 4, GAP);
    assert_eq!((counts(&run).measured, counts(&run).per_response.count()), (8, 0));
}

/// Messages that never end keep a request alive until the run ends; content without a message does
/// not.
#[test]
fn a_response_without_end() {
    let plan = open(10, 1, 2).with_load(|load| {
        load.timeout_ns = 100 * MS;
        load.drain_ns = Some(50 * MS);
    });
    let endless =
        |part| run_on(ServiceFactory::new(move || Box::new(Endless { part })), &plan, &[]);
    let run = endless(b"data: a\n\n");
    assert_eq!(
        run.measured.results.outcomes.in_flight_at_end, 2,
        "{:?}",
        run.measured.results.outcomes
    );
    assert!(counts(&run).measured > 1_500, "{:?}", counts(&run));
    for part in [&b"data: a"[..], b": comment\n\n", b"\r\n", b"\0"] {
        let run = endless(part);
        let outcomes = run.measured.results.outcomes;
        assert!(outcomes.timed_out > 5, "{outcomes:?}");
        assert_eq!((outcomes.ok, counts(&run).measured), (0, 0), "{outcomes:?}");
    }
}

#[test]
fn a_request_without_a_message_has_its_age() {
    let plan = closed(1).with_load(|load| {
        load.timeout_ns = 100 * MS;
        load.requests = Some(2);
    });
    let run = run(PLAIN, &plan, &[]);
    assert_eq!(run.measured.results.outcomes.timed_out, 2);
    check_all("age", &share(&run).without, 2, 100 * MS);
    assert_eq!(share(&run).first.count() + counts(&run).measured, 0);
}

/// The server counts 9 tokens in 5 messages.
#[test]
fn the_time_per_token_is_that_of_the_servers_count() {
    let reader = MessageReader::new(|content| {
        let usage = TokenUsage { output: Some(9), ..TokenUsage::default() };
        MessageReading { kind: content.kind, usage }
    });
    let format = MessageFormat { framing: MessageFraming::EventStream, reader: Some(reader) };
    let rules = MessageRules { format: Some(format), ..MessageRules::default() };
    let protocol = MessageProtocol::Sse;
    let tokens = vec!["json:/a".to_owned()];
    let messages = Some(MessagePlan { protocol, tokens, usage: None, goodput: None });
    let plan = Plan { messages, ..closed(1) }.with_load(|load| {
        load.requests = Some(4);
        load.duration_ns = None;
    });
    let world = World { service: Some(PLAIN.factory()), ..World::default() };
    let mut job = job(&plan);
    job.responses.messages = Some(rules);
    let run = run_job(world, &job, 0, Nanos::MAX, None);
    check_all("time per token", &run.measured.time_per_token, 4, GAP / 2);
    let tokens = &counts(&run).tokens;
    assert_eq!((tokens.received, tokens.per_response.count()), (36, 4));
}

#[test]
fn goodput_counts_the_responses_that_meet_each_condition() {
    let plan = closed(1).with_load(|load| {
        load.requests = Some(2);
        load.duration_ns = None;
    });
    let events = Events { stall: Some((1, 100 * MS)), ..PLAIN };
    let term = |time, limit_ns| GoodputTerm { time, limit_ns };
    let first = term(GoodputTime::First, FIRST + 1);
    for (terms, good) in [
        (vec![first], 2),
        (vec![first, term(GoodputTime::Gap(100.0), GAP + 1)], 1),
        (vec![first, term(GoodputTime::Gap(75.0), GAP + 1)], 2),
        (vec![term(GoodputTime::First, FIRST)], 0),
        (vec![term(GoodputTime::MeanGap, 30 * MS)], 1),
        (vec![term(GoodputTime::Total, FIRST + 5 * GAP)], 1),
    ] {
        let run = run(events, &plan, &terms);
        assert_eq!((share(&run).good_due, share(&run).good), (good, good), "{terms:?}");
    }
}
