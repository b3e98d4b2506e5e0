//! Streams that a client reads late, as it is stopped again and again (METHOD 1.26): no stated
//! bound of a gap or of the goodput is false. The truth is the schedule of the server.

use weir_engine::{Goodput, MessageRules};
use weir_http::{MessageFormat, MessageFraming};
use weir_io::Nanos;
use weir_result::document::{GoodputSection, Metric, PercentileValue};
use weir_result::quantile::Bound;
use weir_result::{
    ClientHealth, Document, DocumentParts, GoodputTerm, GoodputTime, Histogram, MessagePlan,
    MessageProtocol, Plan, SideRecords, StampChoice,
};
use weir_sim::{Link, Pause, Random, Seed, Service, ServiceFactory, World};

use crate::rare::stops::beat;
use crate::setup::{MS, closed, job, open, run_job};

/// Events of a stream.
const EVENTS: u64 = 30;

/// Limit of the goodput.
const LIMIT: u64 = 100 * MS;

/// A connection of a server whose events have a fixed gap, with one longer gap in each stream.
#[derive(Debug)]
struct LongGap {
    gap: u64,
    long: u64,
    request: usize,
    sent: u64,
    streams: u64,
}

impl LongGap {
    fn is_long(&self) -> bool {
        self.sent == 1 + (7 * self.streams) % (EVENTS - 1)
    }
}

impl Service for LongGap {
    fn accepted(&mut self, _link: &mut Link<'_>) {}

    fn received(&mut self, _bytes: &[u8], sent_at: Nanos, link: &mut Link<'_>) {
        self.request = link.request(None, sent_at);
        (self.sent, self.streams) = (0, self.streams + 1);
        link.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        link.wake(self.gap, 0);
    }

    fn woken(&mut self, _token: u64, link: &mut Link<'_>) {
        self.sent += 1;
        let event = b"9\r\ndata: a\n\n\r\n";
        if self.sent == EVENTS {
            return link.respond(self.request, 200, &[&event[..], b"0\r\n\r\n"].concat());
        }
        link.send(event);
        link.wake(if self.is_long() { self.long } else { self.gap }, 0);
    }
}

/// A server and the stops of its client.
struct Case {
    plan: Plan,
    gap: u64,
    long: u64,
    stops: Vec<Pause>,
}

impl Case {
    /// Returns the document of a run, with the stops that a heartbeat found.
    fn run(&self) -> Document {
        let gap = self.gap;
        let long = self.long;
        let service = ServiceFactory::new(move || {
            Box::new(LongGap { gap, long, request: 0, sent: 0, streams: 0 })
        });
        let mut world = World { service: Some(service), ..World::default() };
        world.client.stops.clone_from(&self.stops);
        let format = MessageFormat { framing: MessageFraming::EventStream, reader: None };
        let term = GoodputTerm { time: GoodputTime::Gap(100.0), limit_ns: LIMIT };
        let goodput = Some(Goodput { terms: vec![term] });
        let rules = MessageRules { format: Some(format), goodput, tells_reasoning: false };
        let mut job = job(&self.plan);
        job.responses.messages = Some(rules);
        let measured = run_job(world, &job, 0, Nanos::MAX, None).measured;
        let heartbeat = beat(&measured, &self.stops, 0);
        let stops = Some(heartbeat.stops(&measured));
        let goodput = Some("gap max < 100ms".to_owned());
        let protocol = MessageProtocol::Sse;
        let messages = Some(MessagePlan { protocol, tokens: Vec::new(), usage: None, goodput });
        let plan = Plan { messages, ..self.plan.clone() };
        let bare = DocumentParts::bare(plan, measured);
        let health = Some(ClientHealth { stops, ..ClientHealth::default() });
        let beside = SideRecords { health, ..SideRecords::default() };
        weir_verdict::assemble(DocumentParts { beside, ..bare }).expect("it adds up")
    }

    /// Returns the true gaps of so many streams.
    fn truth(&self, streams: u64) -> Histogram {
        let mut gaps = Histogram::new();
        (0..streams * (EVENTS - 2)).for_each(|_| gaps.record(self.gap));
        (0..streams).for_each(|_| gaps.record(self.long));
        gaps
    }

    /// Checks each stated bound. Returns the number of percentiles that are exact, and of those
    /// that are not.
    fn check(&self, name: &str) -> (u64, u64) {
        let document = self.run();
        let gaps = document.results.message_gap().expect("there are gaps");
        let streams = gaps.ok.count / (EVENTS - 1);
        assert_eq!(gaps.ok.count, streams * (EVENTS - 1), "{name}: all streams are complete");
        let truth = self.truth(streams);
        let mut found = (0, 0);
        for value in &gaps.ok.percentiles {
            let true_ns = truth.percentile(value.p).expect("there are gaps");
            check_value(&format!("{name}: p{}", value.p), value, true_ns);
            let is_exact = value.bound == Bound::Exact;
            found = (found.0 + u64::from(is_exact), found.1 + u64::from(!is_exact));
        }
        check_mean(name, gaps, &truth);
        let messages = document.messages.as_ref().expect("they are measured");
        let goodput = messages.goodput.as_ref().expect("there are conditions");
        let is_good = self.long < LIMIT;
        check_goodput(name, goodput, if is_good { 1.0 } else { 0.0 });
        found
    }
}

fn check_value(name: &str, value: &PercentileValue, true_ns: u64) {
    // A bucket is a thousandth wide.
    let slack_ns = 20_000 + true_ns / 1_000;
    let is_true = match (value.bound, value.range) {
        (Bound::Exact, _) => value.ns.abs_diff(true_ns) <= slack_ns.max(true_ns / 19),
        (Bound::Unknown, Some(range)) => {
            (range.low_ns..=range.high_ns.saturating_add(slack_ns)).contains(&true_ns)
        }
        (Bound::Upper, _) => true_ns <= value.ns.saturating_add(slack_ns),
        (Bound::Lower, _) => true_ns >= value.ns.saturating_sub(slack_ns),
        (Bound::Unknown, None) => true,
    };
    assert!(is_true, "{name}: truth {true_ns}, {value:?}");
}

fn check_mean(name: &str, gaps: &Metric, truth: &Histogram) {
    let found = gaps.ok.mean_ns;
    let expected = truth.mean_ns();
    let (found, expected) = found.zip(expected).expect("there are gaps");
    let is_close = (found - expected).abs() <= 20_000.0_f64.max(0.055 * expected);
    assert!(is_close || gaps.ok.mean_bound == Bound::Unknown, "{name}: {found}, {expected}");
}

fn check_goodput(name: &str, goodput: &GoodputSection, share: f64) {
    let is_true = match goodput.bound {
        Bound::Exact => (goodput.share - share).abs() <= 0.055 * share,
        Bound::Lower => share >= goodput.share,
        Bound::Upper => share <= goodput.share,
        Bound::Unknown => true,
    };
    let range = goodput.range.as_ref();
    let is_in = range.is_none_or(|range| (range.low..=range.high).contains(&share));
    assert!(is_true && is_in, "{name}: truth {share}, {goodput:?}");
}

/// Returns stops of this length, one in each period, until well after the run.
fn periodic(first: Nanos, length: u64, period: u64) -> Vec<Pause> {
    (0..60).map(|index| Pause::new(first.after(index * period), length)).collect()
}

/// Events each 5 ms, one gap of 105 ms in each stream, and a client that is stopped for 45 ms in
/// every 113: a late read of the event before the gap, and a prompt one after it, show 60 ms.
#[test]
fn no_bound_is_false_for_a_client_that_is_stopped_often() {
    let stamps = [StampChoice::All, StampChoice::Sample, StampChoice::None];
    for (index, stamps) in stamps.into_iter().enumerate() {
        for phase in 0..19 {
            let plan =
                Plan { stamps, ..closed(4) }.with_load(|load| load.drain_ns = Some(5_000 * MS));
            let stops = periodic(Nanos((10 + 6 * phase) * MS), 45 * MS, 113 * MS);
            let case = Case { plan, gap: 5 * MS, long: 105 * MS, stops };
            let (_, doubted) = case.check(&format!("stamps {index}, phase {phase}"));
            assert!(doubted > 0, "phase {phase}: some percentile is doubted");
        }
    }
}

#[test]
fn no_bound_is_false_for_random_stops() {
    for seed in 0..60 {
        let mut random = Random::new(Seed(seed), 0);
        let connections = u32::try_from(random.between(1, 8)).expect("small");
        let load = match random.between(0, 1) {
            0 => closed(connections),
            _ => open(random.between(2, 20), 1, 20),
        };
        let stamps =
            if random.between(0, 3) == 0 { StampChoice::None } else { StampChoice::Sample };
        let length = random.between(3, 400) * MS;
        let period = length + random.between(10, 900) * MS;
        let first = Nanos(random.between(6, 600) * MS);
        let count = usize::try_from(random.between(1, 20)).expect("small");
        let stops = periodic(first, length, period).into_iter().take(count).collect();
        let plan = Plan { stamps, ..load }.with_load(|load| load.drain_ns = Some(20_000 * MS));
        let gap = random.between(1, 30) * MS;
        let long = gap + random.between(1, 200) * MS;
        let case = Case { plan, gap, long, stops };
        case.check(&format!("seed {seed}"));
    }
}

/// Without a stop all of it is known.
#[test]
fn a_client_that_reads_at_once_has_exact_gaps() {
    for stamps in [StampChoice::All, StampChoice::Sample, StampChoice::None] {
        let plan = Plan { stamps, ..closed(4) }.with_load(|load| load.drain_ns = Some(5_000 * MS));
        let case = Case { plan, gap: 5 * MS, long: 105 * MS, stops: Vec::new() };
        let (exact, doubted) = case.check("no stop");
        assert!(exact > 3 && doubted == 0, "{exact} exact, {doubted} not");
    }
}
