//! The text report against golden files, byte for byte. `UPDATE_GOLDEN=1` rewrites them; read the
//! difference before committing it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::fixture::{Fixture, MS, S, fine, inflated, listed, renewing, shedding};
use weir_report::text::Bars;
use weir_report::{TextOptions, html, text};
use weir_result::document::{
    AccessLogSection, Certificate, Grade, Limit, LimitedBy, NginxSection, Polls, ProcessSection,
    Results, ServerLoad, ServerSection, StageSection, StageVerdict,
};
use weir_result::{
    Arrivals, Callback, CallbackUsage, ConnectionLoad, ConnectionStage, Document, DueTimes,
    ErrorKind, FailureCause, FailurePhase, HandshakeKind, Interval, Measurements, Occupancy,
    Outcomes, Rate, ScriptUsage, StampChoice, Stops, Tally, TlsCounts, TlsParameters,
};
use weir_verdict::Assertion;

const PLAIN: TextOptions = TextOptions {
    colour: false,
    width: 80,
    histogram: None,
    spectrum: false,
    verbose: false,
    verdict: true,
    rules: false,
};

fn print(document: &Document, options: &TextOptions) -> String {
    let mut out = Vec::new();
    text::write(document, options, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("a report is UTF-8")
}

#[track_caller]
fn golden(name: &str, document: &Document, options: &TextOptions) {
    let printed = print(document, options);
    if !options.colour {
        for line in printed.lines() {
            // Characters of wide scripts have two columns.
            let columns = line.chars().map(|c| if c > '\u{2fff}' { 2 } else { 1 }).sum::<usize>();
            assert!(columns <= options.width.into(), "too wide: {line}");
            assert_eq!(line, line.trim_end(), "blanks at its end");
        }
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &printed).expect("the golden file is writable");
        return;
    }
    let expected = std::fs::read_to_string(&path).expect("UPDATE_GOLDEN=1 makes it");
    assert!(printed == expected, "{name} changed:\n{printed}\ninstead of:\n{expected}");
    let loaded = Document::from_json(&json(document)).expect("what is written can be read");
    assert_eq!(print(&loaded, options), printed, "{name} reads otherwise once loaded");
}

#[track_caller]
pub(crate) fn golden_bytes(name: &str, printed: &[u8]) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, printed).expect("the golden file is writable");
        return;
    }
    let expected = std::fs::read(&path).expect("UPDATE_GOLDEN=1 makes it");
    assert!(printed == expected, "{name} changed:\n{}", String::from_utf8_lossy(printed));
}

fn json(document: &Document) -> Vec<u8> {
    let mut out = Vec::new();
    weir_report::json::write(document, &mut out).expect("writing to memory");
    out
}

#[test]
fn open_loop() {
    golden("open_loop", &fine(Fixture::open_loop(20_000)).document(), &PLAIN);
}

#[test]
fn closed_loop() {
    let document = Fixture::closed_loop().spread(300_000, 50_000, 650_000).document();
    golden("closed_loop", &document, &PLAIN);
}

#[test]
fn names_have_a_table() {
    golden("names", &listed().document(), &PLAIN);
    golden("names_narrow", &listed().document(), &TextOptions { width: 60, ..PLAIN });
}

/// A long list shows the names with the most requests and the slowest ones, and how many more it
/// has; a verbose report shows all.
#[test]
fn a_long_list_shows_the_heaviest_and_the_slowest_names() {
    let mut fixture = Fixture::open_loop(1_000);
    for index in 0..60 {
        let (requests, ns) = if index % 6 == 0 { (500, MS) } else { (100, MS + index * MS / 10) };
        fixture = fixture.named(&format!("name {index}")).responses(requests, 200, ns, ns);
    }
    let document = fixture.evidence().document();
    golden("names_many", &document, &PLAIN);
    let shown = |options: &TextOptions| -> Vec<u64> {
        let text = print(&document, options);
        let rows = text.lines().filter_map(|line| line.strip_prefix("  name "));
        rows.map(|row| row.split(' ').next().expect("one").parse().expect("a number")).collect()
    };
    let expected = (0..60).filter(|index| index % 6 == 0 || *index > 47);
    assert_eq!(shown(&PLAIN), expected.collect::<Vec<_>>());
    let verbose = TextOptions { verbose: true, ..PLAIN };
    assert_eq!(shown(&verbose), (0..60).collect::<Vec<_>>());
}

/// Asserts that a clean run without findings fits a terminal of 24 lines, with the command and a
/// prompt.
#[track_caller]
fn assert_short(document: &Document) {
    let text = print(document, &PLAIN);
    assert_eq!(document.verdict.findings, Vec::<String>::new(), "{text}");
    assert!(text.lines().count() <= 22, "{} lines:\n{text}", text.lines().count());
}

#[test]
fn clean() {
    let open = fine(Fixture::open_loop(20_000)).evidence().document();
    golden("clean", &open, &PLAIN);
    assert_short(&open);
    golden("clean_wide", &open, &TextOptions { width: 120, ..PLAIN });
    golden("clean_narrow", &open, &TextOptions { width: 60, ..PLAIN });
    golden("clean_colours", &open, &TextOptions { colour: true, ..PLAIN });
    golden("rules", &open, &TextOptions { rules: true, ..PLAIN });

    let closed = Fixture::closed_loop().spread(300_000, 3 * MS, 4 * MS).evidence().document();
    golden("clean_closed_loop", &closed, &PLAIN);
    assert_short(&closed);
}

#[test]
fn findings() {
    let findings = fine(Fixture::open_loop(20_000)).evidence().with(|parts| {
        let m = &mut parts.measurements;
        m.workers[1].usage.run_delay_ns = Some(920 * MS);
        m.departures.displaced = 20_000;
        let health = parts.beside.health.as_mut().expect("watched");
        health.steal = Some(0.03);
        let network = parts.beside.network.as_mut().expect("watched too");
        network.retransmitted_segments = 400;
    });
    let findings = findings.document();
    assert_eq!(findings.verdict.findings.len(), 4);
    golden("findings", &findings, &PLAIN);
    golden("findings_verbose", &findings, &TextOptions { verbose: true, ..PLAIN });
}

/// A first run beside the server: what weir and the server cost each other changes no number by a
/// factor, so that the answer is not buried.
#[test]
fn findings_that_change_no_number_by_a_factor_are_folded() {
    let late = |ns: u64| {
        let fixture = fine(Fixture::open_loop(20_000)).evidence().with(move |parts| {
            parts.measurements.workers[1].usage.run_delay_ns = Some(920 * MS);
            parts.measurements.departures.displaced = 20_000;
            let health = parts.beside.health.as_mut().expect("watched");
            health.stops = Some(Stops {
                count: 2,
                longest_ns: ns,
                longest_at_ns: 3_000_000_000,
                effective_ns: ns,
                window_ns: ns,
            });
        });
        fixture.document()
    };
    let text = print(&late(3 * MS), &PLAIN);
    assert!(text.contains("\n  Findings      4 findings: `output.verbose` lists them\n"), "{text}");
    // A stop of 6% of the window: one of the client's findings stands for all.
    let text = print(&late(600 * MS), &PLAIN);
    let shown = text.lines().filter(|line| line.trim_start().contains("- ")).count();
    assert!(shown <= 1, "{text}");
    let answer = text.lines().take(16).collect::<Vec<_>>().join("\n");
    for part in ["Target", "Load", "Limit", "Throughput", "p50", "p99", "max"] {
        assert!(answer.contains(part), "{part}: {text}");
    }
}

/// Steps of 100 to 300/s, of which the target kept up with two.
#[test]
fn steps_name_where_the_target_fell_behind() {
    let mut document = fine(Fixture::open_loop(20_000)).evidence().document();
    let stages = weir_result::parse_stages("1s@100,1s@200,1s@300").expect("stages");
    document.plan.load.due = Some(DueTimes::in_stages(stages, Arrivals::Uniform));
    let whole = document.results.response_time.clone();
    let stage = |nth: u64, completed: u64, by: LimitedBy| StageSection {
        load: format!("1 s at {}/s", 100 * nth),
        start_s: (nth - 1) as f64,
        end_s: nth as f64,
        results: Results {
            planned: 100 * nth,
            outcomes: Outcomes { ok: 100 * nth, ..Outcomes::default() },
            completed,
            completed_rps: completed as f64,
            response_time: whole.clone(),
            ..Results::default()
        },
        planned_rps: 100.0 * nth as f64,
        backlog: 100 * nth - completed,
        verdict: Some(StageVerdict {
            grade: Grade::Bounded,
            reason: "p99 is a bound; target degraded".to_owned(),
            limit: Limit { by, text: String::new() },
            ..StageVerdict::default()
        }),
        ..StageSection::default()
    };
    document.stages = vec![
        stage(1, 100, LimitedBy::Rate),
        stage(2, 200, LimitedBy::Rate),
        stage(3, 240, LimitedBy::Server),
    ];
    let text = print(&document, &TextOptions { width: 120, ..PLAIN });
    let knee =
        "  Knee          kept up at 200.0/s, fell behind at 300.0/s (stage 3); limit server\n";
    assert!(text.contains(knee), "{text}");
    // A finding that all stages share stands once.
    assert_eq!(text.matches("p99 is a bound").count(), 1, "{text}");
    assert!(text.contains("- 1 to 3: p99 is a bound\n"), "{text}");
    assert!(text.contains("- 3: limit server\n"), "{text}");
    let mut page = Vec::new();
    html::write(&document, &PLAIN, &mut page).expect("memory can be written");
    let page = String::from_utf8(page).expect("a page is UTF-8");
    let at = |part: &str| page.find(part).unwrap_or_else(|| panic!("no {part}"));
    let tile = "<dt>Knee</dt><dd><span class=\"main\">200.0 to 300.0/s</span>";
    assert!(at(tile) < at("id=\"latency-by-rate\""));
    assert!(at("id=\"latency-by-rate\"") < at("<dt>Target</dt>"));
}

#[test]
fn bounded() {
    let bounded = inflated().document();
    golden("bounded", &bounded, &PLAIN);
    golden("no_verdict", &bounded, &TextOptions { verdict: false, ..PLAIN });
}

#[test]
fn inflated_and_failed_is_unknown() {
    let fixture =
        inflated().timeouts(4_000, 2 * S).with(|parts| parts.given.plan.load.timeout_ns = 2 * S);
    golden("unknown", &fixture.document(), &PLAIN);
}

#[test]
fn stopped() {
    let stopped = |ns: u64| {
        fine(Fixture::open_loop(20_000)).evidence().with(|parts| {
            let health = parts.beside.health.as_mut().expect("watched");
            health.heartbeat_gap_ns = Some(ns);
            parts.measurements.workers[0].usage.gap_max_ns = ns;
        })
    };
    golden("client_stopped", &stopped(612 * MS).document(), &PLAIN);
    golden("void", &stopped(6_120 * MS).document(), &PLAIN);
}

#[test]
fn client_limited() {
    let busy = Fixture::closed_loop().spread(300_000, MS, 4 * MS).evidence().with(|parts| {
        parts.measurements.workers[0].usage.cpu_ns = 10_800 * MS;
    });
    golden("client_limited", &busy.document(), &TextOptions { colour: true, ..PLAIN });
}

#[test]
fn imprecise() {
    let slow = |fixture: Fixture| fixture.responses(30, 200, 40 * MS, 40 * MS);
    let open = slow(Fixture::open_loop(1_000).spread(9_970, MS, 2 * MS)).evidence();
    golden("imprecise", &open.document(), &PLAIN);
    let closed = slow(Fixture::closed_loop().spread(9_970, MS, 2 * MS)).evidence();
    let closed = closed.document();
    golden("imprecise_closed_loop", &closed, &PLAIN);
    assert_short(&closed);
    let counted = slow(Fixture::closed_loop().spread(9_970, MS, 2 * MS)).evidence();
    let counted = counted.with(|parts| parts.given.plan.load.requests = Some(10_000)).document();
    assert!(print(&counted, &PLAIN).contains("use `load.requests` "));
}

#[test]
fn a_percentile_waits_for_one_request_beyond_it() {
    for (requests, missing) in [
        (1, &["p50", "p90", "p99", "p99.9"][..]),
        (9, &["p90", "p99", "p99.9"]),
        (100, &["p99.9"]),
        (1_000, &[]),
    ] {
        let document = Fixture::closed_loop().spread(requests, MS, 2 * MS).document();
        let text = print(&document, &PLAIN);
        let rows = text.lines().filter(|line| line.contains("needs "));
        let labels: Vec<&str> = rows.filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(labels, missing, "{text}");
        assert!(text.contains("\n  max "), "{text}");
    }
    let document = Fixture::open_loop(5).spread(50, MS, 2 * MS).document();
    golden("needs_requests", &document, &PLAIN);
}

#[test]
fn only_bad_responses() {
    let all = Fixture::open_loop(1_000).responses(9_000, 404, MS, 980_000);
    let all = all.responses(1_000, 404, 2 * MS, MS);
    golden("not_found", &all.document(), &PLAIN);
    let some = Fixture::closed_loop().responses(300, 503, MS, MS).timeouts(20, 2 * S);
    let options = TextOptions { histogram: Some(Bars::Blocks), ..PLAIN };
    golden("not_found_closed_loop", &some.document(), &options);
}

#[test]
fn histogram() {
    let two_modes = |fixture: Fixture| {
        let fixture = fixture.spread(80_000, 200_000, 400_000).spread(19_000, 4 * MS, 6 * MS);
        fixture.spread(1_000, 6 * MS, 30 * MS).document()
    };
    let document = two_modes(Fixture::open_loop(10_000));
    let blocks = TextOptions { histogram: Some(Bars::Blocks), ..PLAIN };
    golden("histogram", &document, &blocks);
    golden("histogram_wide", &document, &TextOptions { width: 120, ..blocks });
    let document = Fixture::closed_loop().spread(300_000, 3 * MS, 4 * MS).document();
    let ascii = TextOptions { histogram: Some(Bars::Ascii), ..PLAIN };
    golden("histogram_ascii", &document, &ascii);
}

#[test]
fn over_time() {
    let fixture = Fixture::closed_loop().spread(300_000, 3 * MS, 4 * MS).with(|parts| {
        // The rate falls by half in the second half of the window, and one interval is slow. The
        // two sparklines do not fit into 60 columns.
        let interval = |index: u64| {
            let completed = if index < 10 { 20_000 } else { 10_000 };
            let mut latency = Tally::new();
            latency.record_times(if index == 15 { 30 * MS } else { 4 * MS }, completed);
            Interval {
                start_ns: (index * S / 2) as i64,
                length_ns: S / 2,
                completed: completed.into(),
                latency: latency.take_sparse(),
                ..Interval::default()
            }
        };
        parts.measurements.intervals = (0..20).map(interval).collect();
    });
    let document = fixture.document();
    let blocks = TextOptions { histogram: Some(Bars::Blocks), ..PLAIN };
    golden("over_time", &document, &blocks);
    golden("over_time_narrow", &document, &TextOptions { width: 60, ..blocks });
    // Eight levels need characters that ASCII lacks.
    golden("over_time_ascii", &document, &TextOptions { histogram: Some(Bars::Ascii), ..PLAIN });
    assert!(!print(&document, &PLAIN).contains("Over time"), "a file is no terminal");
}

#[test]
fn few_requests_have_few_percentiles() {
    // Only a tenth of a second of stall lies beyond p99.
    let fixture = Fixture::open_loop(1_000).spread(9_700, MS, 2 * MS);
    let mut fixture =
        (0..300).fold(fixture, |fixture, k| fixture.responses(1, 200, k * MS, 900_000 * k.min(1)));
    fixture = fixture.evidence().with(|parts| {
        // The requests waited for connections, not for weir.
        let m = &mut parts.measurements;
        std::mem::swap(&mut m.sched_lag, &mut m.connection_wait);
        m.unlagged = m.results.response_time.ok.clone();
    });
    golden("few_requests", &fixture.document(), &PLAIN);
}

#[test]
fn timeouts_are_bounds() {
    let fixture = Fixture::open_loop(2_000)
        .spread(19_000, MS, 3 * MS)
        .timeouts(1_000, 2_000_300_000)
        .with(|parts| parts.given.plan.load.timeout_ns = 2 * S);
    golden("degraded", &fixture.document(), &PLAIN);
}

#[test]
fn two_timeouts() {
    let fixture = Fixture::open_loop(20_000)
        .responses(199_998, 200, 980_000, 977_000)
        .timeouts(2, 10_000_020_000);
    golden("two_timeouts", &fixture.document(), &PLAIN);
}

#[test]
fn black_hole() {
    let fixture = Fixture::open_loop(100)
        .timeouts(1_000, 2_000_300_000)
        .with(|parts| {
            parts.given.plan.load.timeout_ns = 2 * S;
            parts.given.run.preflight = None;
        })
        .note("preflight_timeout", "the preflight request got no response within 2 s");
    golden("black_hole", &fixture.document(), &PLAIN);
    let fixture = Fixture::closed_loop().timeouts(500, 2_000_300_000).with(|parts| {
        parts.given.plan.load.timeout_ns = 2 * S;
        parts.given.run.preflight = None;
    });
    golden("black_hole_closed_loop", &fixture.document(), &PLAIN);
}

#[test]
fn refused_port() {
    let refused = FailureCause::Errno(111);
    let fixture = Fixture::open_loop(100)
        .never_sent(1_000, 10 * S)
        .open(0, 100)
        .failures(FailurePhase::Connect, refused, 1_300)
        .with(|parts| parts.given.run.preflight = None);
    golden("refused_port", &fixture.document(), &PLAIN);
    let fixture = Fixture::closed_loop()
        .open(0, 100)
        .failures(FailurePhase::Connect, refused, 1_300)
        .with(|parts| parts.given.run.preflight = None);
    golden("refused_port_closed_loop", &fixture.document(), &PLAIN);
}

#[test]
fn interrupted() {
    let fixture =
        Fixture::open_loop(1_000).spread(3_200, MS, 2 * MS).in_flight(1, 500_000).with(|parts| {
            parts.measurements.interrupted = true;
            for worker in &mut parts.measurements.workers {
                worker.t1_ns = worker.t0_ns + 3_201 * MS;
            }
        });
    golden("interrupted", &fixture.document(), &PLAIN);
}

#[test]
fn interrupted_while_connecting() {
    let fixture = Fixture::open_loop(1_000).open(0, 10_000).with(|parts| {
        parts.measurements.interrupted = true;
        parts.measurements.workers.clear();
        parts.measurements.slices.clear();
    });
    golden("interrupted_connecting", &fixture.document(), &PLAIN);
    let fixture = Fixture::open_loop(1_000).with(|parts| {
        parts.measurements.interrupted = true;
        parts.measurements.sent.warmup = 700;
        parts.measurements.slices.clear();
        for worker in &mut parts.measurements.workers {
            (worker.t0_ns, worker.t1_ns) = (0, 0);
        }
    });
    golden("interrupted_warmup", &fixture.document(), &PLAIN);
}

#[test]
fn fewer_connections_than_requested() {
    let fixture = fine(Fixture::open_loop(20_000))
        .open(4_087, 10_000)
        .failures(FailurePhase::Connect, FailureCause::Errno(24), 5_913)
        .note(
            "few_connections",
            "4,087 of 10,000 connections were open: raise the limit of open \
               files (ulimit -n) above 10,100",
        );
    golden("few_connections", &fixture.document(), &PLAIN);
}

#[test]
fn bad_statuses() {
    let fixture = Fixture::closed_loop()
        .spread(90_000, MS, 2 * MS)
        .responses(8_000, 503, 300_000, 300_000)
        .responses(1_990, 404, 400_000, 400_000)
        .errors(7, ErrorKind::Errno(104), 900_000)
        .errors(2, ErrorKind::ClosedInAnswer, 900_000)
        .errors(1, ErrorKind::Protocol("conflicting_lengths"), 900_000)
        .failures(FailurePhase::InUse, FailureCause::Errno(104), 7)
        .failures(FailurePhase::InUse, FailureCause::Closed, 2)
        .failures(FailurePhase::InUse, FailureCause::Protocol("conflicting_lengths"), 1)
        .with(|parts| {
            parts.measurements.connections.connects = 350;
            parts.measurements.connections.closed_by_peer = 240;
        });
    golden("bad_statuses", &fixture.document(), &PLAIN);
}

#[test]
fn renewed_connections() {
    golden("renewed", &renewing().document(), &PLAIN);
}

#[test]
fn a_number_of_requests() {
    let fixture = Fixture::closed_loop().spread(50_000, 200_000, 900_000).with(|parts| {
        parts.given.plan.load.requests = Some(50_000);
        parts.given.plan.load.duration_ns = None;
        parts.given.plan.load.warmup.span_ns = 0;
        for worker in &mut parts.measurements.workers {
            worker.t0_ns = worker.start_ns;
            worker.t1_ns = worker.t0_ns + 2_500 * MS;
        }
    });
    golden("requests", &fixture.document(), &PLAIN);
}

#[test]
fn tiny_rate() {
    let rate = Rate { numerator: 1, denominator: 2 };
    let due = Some(DueTimes::constant(rate, Arrivals::Poisson { seed: 42 }));
    let fixture = Fixture::new(due).spread(5, MS, 5 * MS).open(1, 1).with(|parts| {
        parts.given.plan.threads = 1;
    });
    let mut document = fixture.document();
    golden("tiny_rate", &document, &PLAIN);
    // `-d` makes no stage longer: p50 needs 40 s, and the window has 10.
    assert_eq!(document.throughput.window_s, 10.0);
    let stage = ConnectionStage { duration_ns: 10_000 * MS, from: 1, to: 1 };
    document.plan.load.connections = ConnectionLoad::Stages(vec![stage]);
    let text = print(&document, &PLAIN);
    assert!(text.contains("too few independent samples; stages 4.0 times as long"), "{text}");
}

#[test]
fn huge_numbers() {
    let n = 1_000_000_000_u64;
    let hour = 3_600 * S;
    let fixture = Fixture::open_loop(900_000_000)
        .responses(987 * n, 200, hour, hour - S)
        .responses(876 * n, 503, hour + 7 * S, hour)
        .errors(765 * n, ErrorKind::ClosedBeforeAnswer, hour)
        .timeouts(654 * n, hour)
        .in_flight(543 * n, hour)
        .open(1, u32::MAX)
        .failures(FailurePhase::Connect, FailureCause::Errno(9_999), u64::MAX >> 12)
        .with(|parts| {
            parts.given.plan.url =
                format!("http://{}/{}?q=\u{1b}[31m", "a.".repeat(60), "x".repeat(90));
            let preflight = parts.given.run.preflight.as_mut().expect("there is one");
            preflight.server = Some("\u{1b}]0;title\u{7} 漢字 ".repeat(9));
        })
        .note("wide", &"漢字".repeat(60));
    golden("huge_numbers", &fixture.document(), &PLAIN);
}

#[test]
fn stall() {
    // 10,000 requests of 1 ms, but the server stalled for 1.4 s: 1,400 requests waited for the rest
    // of it.
    let mut fixture = Fixture::open_loop(1_000).responses(8_600, 200, MS, 990_000);
    for k in 0..1_400 {
        fixture = fixture.responses(1, 200, MS + k * MS, 990_000);
    }
    golden("stall", &fixture.document(), &PLAIN);
}

#[test]
fn shed_and_grown() {
    golden("shed_and_grown", &shedding().document(), &PLAIN);
}

#[test]
fn spectrum() {
    let options = TextOptions { spectrum: true, ..PLAIN };
    golden("spectrum", &fine(Fixture::open_loop(20_000)).document(), &options);
    let document = Fixture::closed_loop().spread(3_000, MS, 2 * MS).timeouts(3, 2 * S).document();
    golden("spectrum_closed_loop", &document, &options);
}

#[test]
fn verbose() {
    let options = TextOptions { verbose: true, ..PLAIN };
    golden("verbose", &fine(Fixture::open_loop(20_000)).document(), &options);
    let all = fine(Fixture::open_loop(20_000)).evidence().with(|parts| {
        let m = &mut parts.measurements;
        (1..=100).for_each(|k| m.connect.record(80_000 + k * 1_000));
        m.connect_setup = m.connect.clone();
        (1..=100).for_each(|k| m.tls_handshake.record(900_000 + k * 5_000));
    });
    let all = all.document();
    golden("verbose_everything", &all, &options);
    golden("verbose_narrow", &all, &TextOptions { width: 60, ..options });
}

#[test]
fn script() {
    let usage = |calls, mean_ns, longest_ns| CallbackUsage {
        calls,
        time_ns: calls * mean_ns,
        longest_ns,
        long_ns: 0,
    };
    // The load of the two workers ran for 12.001 s each, warm-up and tail included.
    let fixture = fine(Fixture::open_loop(20_000)).with(|parts| {
        parts.beside.script_file = Some("counter.lua".to_owned());
        parts.measurements.script = Some(ScriptUsage {
            states: 2,
            memory_max_bytes: 1_234_567,
            callbacks: BTreeMap::from([
                (Callback::Request, usage(240_000, 413, 52_000)),
                (Callback::Delay, usage(0, 0, 0)),
                (Callback::Response, usage(240_000, 2_500, 12_345_678)),
            ]),
            ran_dry: 12,
            bodies_cut: 0,
            stopped: 0,
        });
    });
    golden("script", &fixture.document(), &PLAIN);
}

#[test]
fn tls() {
    let run = || Fixture::closed_loop().spread(30_000, MS, 2 * MS);
    let fixture = run().with(|parts| {
        for k in 1..=1_000 {
            parts.measurements.tls_handshake.record(k * 10_000);
        }
        let mut tls = TlsCounts::default();
        let parameters = tls_parameters("TLS 1.3", Some("X25519"));
        (0..1_000).for_each(|_| tls.count(HandshakeKind::Full, false, parameters.clone()));
        tls.certificates = ["CN=example.test", "CN=an authority"].map(certificate).to_vec();
        parts.measurements.tls = Some(tls);
    });
    let document = fixture.document();
    let verbose = TextOptions { verbose: true, ..PLAIN };
    golden("tls_brief", &document, &PLAIN);
    golden("tls", &document, &verbose);
    let renewed = run().with(|parts| {
        (1..=10_000).for_each(|k| parts.measurements.tls_handshake.record(k * 1_000));
        let mut tls = TlsCounts { in_window: 9_000, ..TlsCounts::default() };
        let new = tls_parameters("TLS 1.3", Some("X25519"));
        let old = tls_parameters("TLS 1.2", None);
        (0..8_000).for_each(|_| tls.count(HandshakeKind::Resumed, true, new.clone()));
        (0..1_900).for_each(|_| tls.count(HandshakeKind::Full, true, old.clone()));
        (0..100).for_each(|_| tls.count(HandshakeKind::HelloRetryRequest, false, new.clone()));
        parts.measurements.tls = Some(tls);
    });
    let document = renewed.document();
    golden("tls_renewed", &document, &PLAIN);
    golden("tls_renewed_verbose", &document, &verbose);
}

#[test]
fn a_watched_server() {
    let polls =
        |failed, error: Option<&str>| Polls { begun: 12, failed, error: error.map(str::to_owned) };
    let section = |counted: u64| {
        let weir = ServerLoad { requests: 9_800, ..ServerLoad::default() };
        let difference = Some(weir.difference(counted));
        ServerSection {
            nginx: Some(NginxSection {
                polls: polls(1, Some("no response within 1 s")),
                requests: Some(counted),
                difference,
                ..NginxSection::default()
            }),
            access_log: Some(AccessLogSection {
                lines: counted,
                difference,
                status: BTreeMap::from([(200, counted)]),
                ..AccessLogSection::default()
            }),
            processes: vec![ProcessSection {
                name: "nginx".to_owned(),
                pids: vec![7, 8, 9],
                cpu_mean: Some(1.234),
                cpu_max: Some(1.9),
                resident_max_bytes: 19_000_000,
                ..ProcessSection::default()
            }],
            weir,
            ..ServerSection::default()
        }
    };
    let watched = |section| {
        let run = Fixture::closed_loop().spread(30_000, MS, 2 * MS);
        run.with(|parts| parts.given.server = Some(section)).document()
    };
    golden("server", &watched(section(9_800)), &PLAIN);
    golden("server_differs", &watched(section(9_900)), &PLAIN);
    let mut unknown = section(0);
    unknown.nginx = Some(NginxSection::default());
    (unknown.access_log, unknown.processes) = (None, Vec::new());
    let printed = print(&watched(unknown), &PLAIN);
    assert!(printed.contains("nginx counted an unknown number of requests"), "{printed}");
    let mut growing = section(0);
    growing.access_log.as_mut().expect("a log").error = Some("it was still growing".to_owned());
    let printed = print(&watched(growing), &PLAIN);
    assert!(printed.contains("it was still growing"), "{printed}");
}

fn tls_parameters(version: &str, group: Option<&str>) -> TlsParameters {
    TlsParameters {
        version: version.to_owned(),
        cipher: "TLS_AES_256_GCM_SHA384".to_owned(),
        group: group.map(str::to_owned),
        alpn: Some("http/1.1".to_owned()),
        handshakes: 0,
    }
}

fn certificate(subject: &str) -> Certificate {
    Certificate {
        subject: subject.to_owned(),
        issuer: "CN=an authority".to_owned(),
        names: vec!["example.test".to_owned(), "127.0.0.1".to_owned()],
        not_before: "2026-01-01T00:00:00Z".to_owned(),
        not_after: "2027-01-01T00:00:00Z".to_owned(),
        key: "ECDSA P-256".to_owned(),
        sha256: "ab".repeat(32),
    }
}

#[test]
fn http2() {
    let fixture = Fixture::closed_loop().spread(30_000, MS, 2 * MS).with(|parts| {
        let m = &mut parts.measurements;
        (1..=1_000).for_each(|k| m.opening.record(k * 10_000));
        let connections = &mut m.connections;
        connections.goaways.insert("NO_ERROR".to_owned(), 12_345);
        connections.goaways.insert("ENHANCE_YOUR_CALM".to_owned(), 3);
        (connections.window_waits, connections.window_wait_ns) = (20_000, 6 * S);
        let busy_ns = u128::from(985 * S);
        let capacity_ns = u128::from(1_000 * S);
        m.occupancy = Occupancy { integral_ns: busy_ns, sum_ns: busy_ns, capacity_ns };
        parts.given.plan.stamps = StampChoice::Sample;
    });
    golden("http2", &fixture.document(), &TextOptions { verbose: true, ..PLAIN });
}

#[test]
fn colours() {
    let options = TextOptions { colour: true, ..PLAIN };
    let fixture = Fixture::open_loop(2_000).spread(19_990, MS, 3 * MS).timeouts(10, 2 * S);
    golden("colours", &fixture.document(), &options);
}

#[test]
fn nothing_at_all() {
    let document = Fixture::closed_loop()
        .with(|parts| {
            parts.measurements = Measurements::default();
            parts.measurements.interrupted = true;
        })
        .document();
    assert!(print(&document, &PLAIN).contains("void: nothing was measured"));
}

#[test]
fn assertions() {
    let mut document = fine(Fixture::open_loop(20_000)).document();
    let claims = [
        "p99 < 10ms",
        "errors == 0",
        "rate >= 19k",
        "p50 < 100us",
        "p99.999 < 10ms",
        "errors < 0.001%",
        "results.service_time.ok.percentiles.0.ns <= 2ms",
    ];
    let judge = |claim: &&str| claim.parse::<Assertion>().expect("a claim").judge(&document);
    document.assertions = claims.iter().map(judge).collect();
    golden("assertions", &document, &PLAIN);
    let mut out = Vec::new();
    weir_report::junit::write(&document, &PLAIN, &mut out).expect("writing to memory");
    golden_bytes("assertions.xml", &out);
    // Assertions hold for the part that was measured; the run is an error.
    document.run.interrupted = true;
    let mut out = Vec::new();
    weir_report::junit::write(&document, &PLAIN, &mut out).expect("writing to memory");
    let xml = String::from_utf8(out).expect("XML");
    assert!(xml.contains("tests=\"8\"") && xml.contains("errors=\"1\""), "{xml}");
    assert!(xml.contains("name=\"the run is complete\""), "{xml}");
    assert!(xml.contains("<error message=\"interrupted after"), "{xml}");
}

#[test]
fn names_head_the_columns_and_never_touch_what_follows() {
    let print = |study: &weir_result::Study| {
        let mut out = Vec::new();
        let report = weir_report::view::Report::of_study(study);
        text::render(&report, &PLAIN, &mut out).expect("writing to memory");
        String::from_utf8(out).expect("a report is UTF-8")
    };
    let text = print(&crate::studies::ab("note=workers=1"));
    assert!(text.contains("\n  note=workers=1\n                weir -c10 http://h/"), "{text}");
    let is_head = |line: &str, names: [&str; 2]| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.starts_with(&names) && words.contains(&"Change")
    };
    assert!(text.lines().any(|line| is_head(line, ["old", "note=workers=1"])), "{text}");
    // If names are too long for columns, the columns are called A and B.
    let long = "a name of more than twenty characters";
    let text = print(&crate::studies::ab(long));
    assert!(text.contains("\n  A old         weir "), "{text}");
    assert!(text.contains(&format!("\n  B {long}\n                weir ")), "{text}");
    assert!(text.lines().any(|line| is_head(line, ["A", "B"])), "{text}");
}
