//! Properties of every document: the report fits the page, and JSON loses nothing.

use crate::fixture::Fixture;
use proptest::prelude::*;
use weir_report::text::Bars;
use weir_report::{TextOptions, json, text};
use weir_result::{
    Callback, CallbackUsage, Document, ErrorKind, FailureCause, FailurePhase, ScriptUsage,
};

/// An event in a run; counts and times of any size that a document holds.
#[derive(Clone, Debug)]
enum Step {
    Responses { times: u64, status: u16, service_ns: u64, lag_ns: u64 },
    Timeouts { times: u64, age_ns: u64 },
    InFlight { times: u64, age_ns: u64 },
    NeverSent { times: u64, age_ns: u64 },
    Errors { times: u64, errno: i32, at_ns: u64 },
    Failures { phase: FailurePhase, errno: i32, times: u64 },
    Script { file: String, calls: u64, ns: u64, ran_dry: u64 },
    Handshakes { times: u64, ns: u64 },
    Note { text: String },
}

fn count() -> impl Strategy<Value = u64> {
    prop_oneof![1..100_u64, 1..1_000_000_u64, 1..1_000_000_000_000_u64]
}

fn ns() -> impl Strategy<Value = u64> {
    prop_oneof![0..1_000_u64, 0..1_000_000_000_u64, 0..4_000_000_000_000_u64]
}

fn step() -> impl Strategy<Value = Step> {
    use Step::*;
    let status = prop_oneof![Just(200), Just(503), 200..600_u16];
    let phase = prop_oneof![
        Just(FailurePhase::Connect),
        Just(FailurePhase::Idle),
        Just(FailurePhase::InUse)
    ];
    prop_oneof![
        (count(), status, ns(), ns()).prop_map(|(times, status, service_ns, lag_ns)| Responses {
            times,
            status,
            service_ns,
            lag_ns
        }),
        (count(), ns()).prop_map(|(times, age_ns)| Timeouts { times, age_ns }),
        (count(), ns()).prop_map(|(times, age_ns)| InFlight { times, age_ns }),
        (1..100_u64, ns()).prop_map(|(times, age_ns)| NeverSent { times, age_ns }),
        (count(), 1..150, ns()).prop_map(|(times, errno, at_ns)| Errors { times, errno, at_ns }),
        (phase, 1..150, count()).prop_map(|(phase, errno, times)| Failures { phase, errno, times }),
        ("\\PC{0,90}", 0..1_000_000_000_000_u64, ns(), 0..1_000_000_u64)
            .prop_map(|(file, calls, ns, ran_dry)| Script { file, calls, ns, ran_dry }),
        (count(), ns()).prop_map(|(times, ns)| Handshakes { times, ns }),
        "\\PC{0,200}".prop_map(|text| Note { text }),
    ]
}

fn add(fixture: Fixture, step: Step) -> Fixture {
    match step {
        Step::Responses { times, status, service_ns, lag_ns } => {
            fixture.responses(times, status, service_ns + lag_ns, service_ns)
        }
        Step::Timeouts { times, age_ns } => fixture.timeouts(times, age_ns),
        Step::InFlight { times, age_ns } => fixture.in_flight(times, age_ns),
        Step::NeverSent { times, age_ns } => fixture.never_sent(times, age_ns),
        Step::Errors { times, errno, at_ns } => {
            fixture.errors(times, ErrorKind::Errno(errno), at_ns)
        }
        Step::Failures { phase, errno, times } => {
            fixture.failures(phase, FailureCause::Errno(errno), times)
        }
        Step::Script { file, calls, ns, ran_dry } => fixture.with(|parts| {
            parts.beside.script_file = Some(file);
            let usage = CallbackUsage { calls, time_ns: ns, longest_ns: ns, long_ns: 0 };
            let callbacks = [Callback::Request, Callback::Delay, Callback::Response]
                .map(|callback| (callback, usage));
            let callbacks = callbacks.into_iter().collect();
            let script = ScriptUsage {
                states: 3,
                memory_max_bytes: ns,
                callbacks,
                ran_dry,
                ..ScriptUsage::default()
            };
            parts.measurements.script = Some(script);
        }),
        Step::Handshakes { times, ns } => fixture.with(|parts| {
            let sum_ns = u128::from(ns) * u128::from(times);
            parts.measurements.tls_handshake.record_range(ns, ns, times, sum_ns);
        }),
        Step::Note { text } => fixture.note("some", &text),
    }
}

/// A run as generated, which a failing test prints.
#[derive(Clone, Debug)]
struct Run {
    rate: Option<u64>,
    interrupted: bool,
    url: String,
    steps: Vec<Step>,
}

fn run() -> impl Strategy<Value = Run> {
    let rate = prop::option::of(1..1_000_000_000_u64);
    let steps = prop::collection::vec(step(), 0..8);
    (rate, any::<bool>(), "\\PC{0,120}", steps).prop_map(|(rate, interrupted, url, steps)| Run {
        rate,
        interrupted,
        url,
        steps,
    })
}

impl Run {
    fn document(self) -> Document {
        let fixture = self.rate.map_or_else(Fixture::closed_loop, Fixture::open_loop);
        let fixture = self.steps.into_iter().fold(fixture, add).with(|parts| {
            parts.measurements.interrupted = self.interrupted;
            parts.given.plan.url = self.url.clone();
            parts.given.run.preflight.as_mut().expect("there is one").server = Some(self.url);
        });
        fixture.document()
    }
}

/// Greatest number of columns that a terminal uses.
fn columns(line: &str) -> usize {
    line.chars().map(|c| if (c as u32) < 0x1100 || is_symbol(c) { 1 } else { 2 }).sum()
}

fn is_symbol(c: char) -> bool {
    ('\u{2000}'..='\u{2bff}').contains(&c)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_line_is_too_wide(
        run in run(),
        width in 0..200_u16,
        spectrum in any::<bool>(),
        verbose in any::<bool>(),
    ) {
        let document = run.document();
        let histogram = Some(if spectrum { Bars::Blocks } else { Bars::Ascii });
        let options = TextOptions {
            width,
            histogram,
            spectrum,
            verbose,
            rules: verbose,
            ..Default::default()
        };
        let mut out = Vec::new();
        text::write(&document, &options, &mut out).expect("writing to memory");
        let printed = String::from_utf8(out).expect("a report is UTF-8");
        let limit = usize::from(width.clamp(60, 120));
        let mut is_command = false;
        for line in printed.lines() {
            // A word of a command is never cut: a wide one stands below the label.
            is_command = line.trim() == "Command" || (is_command && line.starts_with("    "));
            let is_narrow = is_command || columns(line) <= limit;
            prop_assert!(is_narrow, "{} columns: {line}", columns(line));
            prop_assert!(!line.chars().any(char::is_control), "{line:?}");
        }
    }

    #[test]
    fn a_damaged_document_panics_nothing(
        run in run(),
        at in any::<prop::sample::Index>(),
        digit in b'0'..=b'9',
    ) {
        let mut written = Vec::new();
        json::write(&run.document(), &mut written).expect("writing to memory");
        let digits: Vec<usize> =
            (0..written.len()).filter(|at| written[*at].is_ascii_digit()).collect();
        written[*at.get(&digits)] = digit;
        if let Ok(document) = Document::from_json(&written) {
            let options = TextOptions {
                colour: true,
                histogram: Some(Bars::Blocks),
                spectrum: true,
                verbose: true,
                ..Default::default()
            };
            text::write(&document, &options, &mut Vec::new()).expect("writing to memory");
        }
    }

    #[test]
    fn json_loses_nothing(run in run()) {
        let document = run.document();
        let mut out = Vec::new();
        json::write(&document, &mut out).expect("writing to memory");
        prop_assert_eq!(out.last(), Some(&b'\n'));
        let loaded = Document::from_json(&out).expect("what is written can be read");
        prop_assert!(loaded == document, "{loaded:?} is not {document:?}");
    }
}
