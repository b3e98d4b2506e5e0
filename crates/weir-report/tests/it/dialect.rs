//! The reports of wrk and wrk2: single lines, and whole reports against golden files, byte for
//! byte. `UPDATE_GOLDEN=1` rewrites those; read the difference before committing it.

use std::path::PathBuf;

use weir_report::dialect::{
    Dialect, Figures, Head, OptionalBlocks, SocketErrors, write_calibration, write_head,
    write_results,
};
use weir_result::Histogram;

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

const BARE: OptionalBlocks = OptionalBlocks { latency: false, uncorrected: false, sent: false };
const WITH_LATENCY: OptionalBlocks = OptionalBlocks { latency: true, ..BARE };
const WITH_ALL: OptionalBlocks = OptionalBlocks { latency: true, uncorrected: true, ..BARE };

fn histogram(values: impl IntoIterator<Item = u64>) -> Histogram {
    let mut histogram = Histogram::new();
    values.into_iter().for_each(|value| histogram.record(value));
    histogram
}

/// A histogram with `times` records of each value.
fn repeated(values: &[(u64, u64)]) -> Histogram {
    let mut histogram = Histogram::new();
    for (value, times) in values {
        histogram.record_range(*value, *value, *times, u128::from(value * times));
    }
    histogram
}

/// Figures of 10 s: 200,000 requests from 0.5 ms up, 400 samples of a rate.
fn figures() -> Figures {
    Figures {
        latency: repeated(&[
            (500 * US, 50_000),
            (980 * US, 100_000),
            (1_400 * US, 45_000),
            (2_310 * US, 4_700),
            (6_100 * US, 280),
            (9_805 * US + 1, 20),
        ]),
        uncorrected: repeated(&[(400 * US, 150_000), (3 * MS, 49_999), (S, 1)]),
        thread_rates: repeated(&[(9_000, 100), (10_000, 200), (11_000, 100)]),
        requests: 200_000,
        run_time_ns: 10 * S,
        bytes: 169_400_000,
        ..Figures::default()
    }
}

fn printed(dialect: Dialect, figures: &Figures, lines: OptionalBlocks) -> String {
    let mut out = Vec::new();
    write_results(dialect, figures, &lines, &mut out).expect("writing to memory");
    String::from_utf8(out).expect("a report is UTF-8")
}

/// The line that begins with `start`, if there is one.
fn line(dialect: Dialect, figures: &Figures, lines: OptionalBlocks, start: &str) -> Option<String> {
    let report = printed(dialect, figures, lines);
    report.lines().find(|line| line.starts_with(start)).map(str::to_owned)
}

#[track_caller]
fn golden(name: &str, dialect: Dialect, figures: &Figures, lines: OptionalBlocks) {
    let printed = printed(dialect, figures, lines);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/golden/{name}.txt"));
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &printed).expect("the golden file is writable");
        return;
    }
    let expected = std::fs::read_to_string(&path).expect("UPDATE_GOLDEN=1 makes it");
    assert!(printed == expected, "{name} changed:\n{printed}\ninstead of:\n{expected}");
}

#[test]
fn whole_reports() {
    golden("wrk", Dialect::Wrk, &figures(), BARE);
    golden("wrk_latency", Dialect::Wrk, &figures(), WITH_LATENCY);
    golden("wrk2", Dialect::Wrk2, &figures(), BARE);
    golden("wrk2_latency", Dialect::Wrk2, &figures(), WITH_LATENCY);
    golden("wrk2_uncorrected", Dialect::Wrk2, &figures(), WITH_ALL);
    let failed = Figures {
        errors: SocketErrors { connect: 694, read: 728, write: 1_425, timeout: 4_898 },
        bad_status: 12,
        ..figures()
    };
    golden("wrk_failures", Dialect::Wrk, &failed, WITH_LATENCY);
    golden("wrk2_failures", Dialect::Wrk2, &failed, BARE);
    let nothing = Figures { run_time_ns: 10_020 * MS, ..Figures::default() };
    golden("wrk_nothing", Dialect::Wrk, &nothing, WITH_LATENCY);
    golden("wrk2_nothing", Dialect::Wrk2, &nothing, WITH_LATENCY);
}

/// Tests `-r` of DeathStarBench's wrk2.
#[test]
fn requests_sent_stand_before_the_statistics() {
    let figures = Figures { sent: 200_100, ..figures() };
    let printed = printed(Dialect::Wrk2, &figures, OptionalBlocks { sent: true, ..BARE });
    assert!(printed.starts_with("Sent 200100 requests\n\n  Thread Stats"), "{printed}");
}

#[test]
fn head() {
    for (duration_s, printed) in
        [(1, "1s"), (50, "50s"), (51, "1m"), (90, "2m"), (150, "2m"), (3_600, "60m")]
    {
        let url = "http://127.0.0.1:8080/index.html?a=b#c".to_owned();
        let head = Head { duration_s, url, threads: 1, connections: 400 };
        let mut out = Vec::new();
        write_head(&head, &mut out).expect("writing to memory");
        let expected = format!(
            "Running {printed} test @ http://127.0.0.1:8080/index.html?a=b#c\n\
             \x20 1 threads and 400 connections\n"
        );
        assert_eq!(String::from_utf8(out), Ok(expected), "{duration_s} s");
    }
}

#[test]
fn calibration() {
    for (mean_ns, interval_ms, expected) in [
        (1_520_999, 10, "mean lat.: 1.520ms, rate sampling interval: 10ms"),
        (0, 10, "mean lat.: 0.000ms, rate sampling interval: 10ms"),
        (3_456 * MS + 7_000, 9_876, "mean lat.: 3456.007ms, rate sampling interval: 9876ms"),
    ] {
        let mut out = Vec::new();
        write_calibration(mean_ns, interval_ms, &mut out).expect("writing to memory");
        assert_eq!(String::from_utf8(out), Ok(format!("  Thread calibration: {expected}\n")));
    }
}

#[test]
fn thread_stats() {
    let expected = "  Thread Stats   Avg      Stdev     Max   +/- Stdev";
    for dialect in [Dialect::Wrk, Dialect::Wrk2] {
        assert_eq!(line(dialect, &figures(), BARE, "  Th").as_deref(), Some(expected));
    }
}

#[track_caller]
fn check_latency(dialect: Dialect, latency_ns: &[u64], expected: &str) {
    let figures = Figures { latency: histogram(latency_ns.iter().copied()), ..Figures::default() };
    let found = line(dialect, &figures, BARE, "    Latency");
    assert_eq!(found.as_deref(), Some(expected), "{latency_ns:?}");
}

#[test]
fn latency() {
    use Dialect::{Wrk, Wrk2};
    for dialect in [Wrk, Wrk2] {
        check_latency(dialect, &[], "    Latency     0.00us    0.00us   0.00us    0.00%");
    }
    // One value, at every border of the units.
    check_latency(Wrk, &[849 * US], "    Latency   849.00us    0.00us 849.00us  100.00%");
    check_latency(Wrk, &[850 * US], "    Latency     0.85ms    0.00us   0.85ms  100.00%");
    check_latency(Wrk, &[999_999 * US], "    Latency   1000.00m    0.00us1000.00ms  100.00%");
    check_latency(Wrk, &[S], "    Latency     1.00s     0.00us   1.00s   100.00%");
    check_latency(Wrk, &[50_990 * MS], "    Latency    50.99s     0.00us  50.99s   100.00%");
    check_latency(Wrk, &[51 * S], "    Latency     0.85m     0.00us   0.85m   100.00%");
    check_latency(Wrk, &[3_600 * S], "    Latency    60.00m     0.00us  60.00m   100.00%");
    // The mean has fractions of microseconds; the greatest is rounded up to whole ones.
    check_latency(Wrk, &[100_001], "    Latency   100.00us    0.00us 101.00us  100.00%");
    check_latency(Wrk2, &[100_001], "    Latency   100.00us    0.00us 101.00us  100.00%");
    // 100 values of 1 ms and one of 12 ms: mean 1 + 11/101 ms, deviation 11 · sqrt(1/101) ms.
    let mut values = vec![MS; 100];
    values.push(12 * MS);
    check_latency(Wrk, &values, "    Latency     1.11ms    1.09ms  12.00ms   99.01%");
    // 123.519 ms shares its bucket with 123.456 ms, which is the lowest of it.
    check_latency(Wrk, &[123_459 * US], "    Latency   123.46ms    0.00us 123.46ms  100.00%");
    check_latency(Wrk2, &[123_519 * US], "    Latency   123.52ms    0.00us 123.46ms  100.00%");
}

#[test]
fn rates() {
    use Dialect::{Wrk, Wrk2};
    for (dialect, samples, expected) in [
        (Wrk, &[][..], "    Req/Sec     0.00      0.00     0.00      0.00%"),
        (Wrk2, &[], "    Req/Sec     0.00      0.00     0.00      0.00%"),
        (Wrk, &[849], "    Req/Sec   849.00      0.00   849.00    100.00%"),
        (Wrk, &[850], "    Req/Sec     0.85k     0.00     0.85k   100.00%"),
        (Wrk, &[850_000], "    Req/Sec     0.85M     0.00     0.85M   100.00%"),
        (Wrk, &[0, 10, 20], "    Req/Sec    10.00     10.00    20.00    100.00%"),
        (Wrk, &[56_200, 62_000], "    Req/Sec    59.10k     4.10k   62.00k   100.00%"),
        // From 2,048 on, an HdrHistogram distinguishes every second number.
        (Wrk2, &[2_115], "    Req/Sec     2.12k     0.00     2.11k   100.00%"),
    ] {
        let thread_rates = histogram(samples.iter().copied());
        let figures = Figures { thread_rates, ..Figures::default() };
        let found = line(dialect, &figures, BARE, "    Req/Sec");
        assert_eq!(found.as_deref(), Some(expected), "{samples:?}");
    }
}

#[test]
fn percentiles() {
    // A little below 10 µs, 20 µs, … 1 ms: buckets are a quarter of a microsecond wide there.
    let latency = histogram((1..=100).map(|n| n * 10 * US - 600));
    let figures = Figures { latency, ..Figures::default() };
    for (start, expected) in [
        ("  Latency D", "  Latency Distribution"),
        ("     50", "     50%  500.00us"),
        ("     75", "     75%  750.00us"),
        ("     90", "     90%    0.90ms"),
        ("     99", "     99%    0.99ms"),
    ] {
        let found = line(Dialect::Wrk, &figures, WITH_LATENCY, start);
        assert_eq!(found.as_deref(), Some(expected));
        assert_eq!(line(Dialect::Wrk, &figures, BARE, start), None);
    }
    // Times in seconds have one blank after them.
    let slow = Figures { latency: histogram([1_100 * MS]), ..Figures::default() };
    let found = line(Dialect::Wrk, &slow, WITH_LATENCY, "     99");
    assert_eq!(found.as_deref(), Some("     99%    1.10s "));
}

#[test]
fn percentiles_of_wrk2() {
    // 1 ms, 2 ms, … 100 s. The bucket of 50 s ends at 50.0297 s; wrk2's bucket of that value ends
    // at 50.0367 s.
    let latency = histogram((1..=100_000).map(|n| n * MS));
    let figures = Figures { latency, ..Figures::default() };
    for (start, expected) in [
        ("  Latency D", "  Latency Distribution (HdrHistogram - Recorded Latency)"),
        (" 50.000%", " 50.000%   50.04s "),
        (" 75.000%", " 75.000%    1.25m "),
        (" 90.000%", " 90.000%    1.50m "),
        (" 99.000%", " 99.000%    1.65m "),
        (" 99.900%", " 99.900%    1.67m "),
        (" 99.990%", " 99.990%    1.67m "),
        (" 99.999%", " 99.999%    1.67m "),
        ("100.000%", "100.000%    1.67m "),
    ] {
        let found = line(Dialect::Wrk2, &figures, WITH_LATENCY, start);
        assert_eq!(found.as_deref(), Some(expected));
    }
}

/// The greatest is the lowest value of its bucket in one place and the highest in another, as in
/// wrk2, so that its readers recognize it.
#[test]
fn the_greatest_of_wrk2() {
    let figures = Figures { latency: histogram([22_980 * MS]), ..Figures::default() };
    for (start, expected) in [
        ("    Latency", "    Latency    22.98s     0.00us  22.97s   100.00%"),
        ("100.000%", "100.000%   22.99s "),
        ("   22986.751     1", "   22986.751     1.000000            1          inf"),
        ("#[Max", "#[Max     =    22970.368, Total count    =            1]"),
        ("#[Mean", "#[Mean    =    22980.000, StdDeviation   =        0.000]"),
        ("#[Buck", "#[Buckets =           27, SubBuckets     =         2048]"),
    ] {
        let found = line(Dialect::Wrk2, &figures, WITH_LATENCY, start);
        assert_eq!(found.as_deref(), Some(expected));
    }
}

#[test]
fn requests() {
    for (requests, run_time_ns, bytes, expected) in [
        (0, 10_020 * MS, 0, "  0 requests in 10.02s, 0.00B read"),
        (22_464_657, 30 * S, 19_070_000_000, "  22464657 requests in 30.00s, 17.76GB read"),
        (7, 50_990 * MS, 870, "  7 requests in 50.99s, 870.00B read"),
        (7, 51 * S, 871, "  7 requests in 0.85m, 0.85KB read"),
        (7, 849 * US, 1 << 20, "  7 requests in 849.00us, 1.00MB read"),
        (7, 850 * US, 1 << 40, "  7 requests in 0.85ms, 1.00TB read"),
        (7, 999_999 * US, 1 << 50, "  7 requests in 1000.00ms, 1024.00TB read"),
    ] {
        let figures = Figures { requests, run_time_ns, bytes, ..Figures::default() };
        let start = format!("  {requests} ");
        assert_eq!(line(Dialect::Wrk, &figures, BARE, &start).as_deref(), Some(expected));
        assert_eq!(line(Dialect::Wrk2, &figures, BARE, &start).as_deref(), Some(expected));
    }
}

#[test]
fn errors() {
    let of = |errors| {
        let figures = Figures { errors, ..Figures::default() };
        line(Dialect::Wrk, &figures, BARE, "  Socket")
    };
    let none = SocketErrors::default();
    assert_eq!(of(none), None);
    for (errors, expected) in [
        (SocketErrors { connect: 1, ..none }, "connect 1, read 0, write 0, timeout 0"),
        (SocketErrors { read: 2, ..none }, "connect 0, read 2, write 0, timeout 0"),
        (SocketErrors { write: 3, ..none }, "connect 0, read 0, write 3, timeout 0"),
        (SocketErrors { timeout: 4, ..none }, "connect 0, read 0, write 0, timeout 4"),
    ] {
        assert_eq!(of(errors), Some(format!("  Socket errors: {expected}")));
    }
}

#[test]
fn statuses() {
    for (bad_status, expected) in [(0, None), (12, Some("  Non-2xx or 3xx responses: 12"))] {
        let figures = Figures { bad_status, ..Figures::default() };
        assert_eq!(line(Dialect::Wrk, &figures, BARE, "  Non").as_deref(), expected);
    }
}

#[test]
fn rates_of_the_run() {
    for (requests, bytes, run_time_ns, per_second, transfer) in [
        (0, 0, 10 * S, "Requests/sec:      0.00", "Transfer/sec:       0.00B"),
        (0, 0, 0, "Requests/sec:      0.00", "Transfer/sec:       0.00B"),
        (5, 5, 0, "Requests/sec:      0.00", "Transfer/sec:       0.00B"),
        (1, 8_704, 10 * S, "Requests/sec:      0.10", "Transfer/sec:      0.85KB"),
        (
            22_464_657,
            19_072_335_000,
            29_998_132 * US,
            "Requests/sec: 748868.53",
            "Transfer/sec:    606.33MB",
        ),
        (1_234_567_890, 1 << 50, 100 * S, "Requests/sec: 12345678.90", "Transfer/sec:     10.24TB"),
    ] {
        let figures = Figures { requests, bytes, run_time_ns, ..Figures::default() };
        for dialect in [Dialect::Wrk, Dialect::Wrk2] {
            let found = line(dialect, &figures, BARE, "Requests/sec");
            assert_eq!(found.as_deref(), Some(per_second));
            assert_eq!(line(dialect, &figures, BARE, "Transfer/sec").as_deref(), Some(transfer));
        }
    }
}

/// wrk has no uncorrected latencies, so that block is ignored.
#[test]
fn blocks_that_were_not_requested() {
    let figures = figures();
    let wrk = |lines| printed(Dialect::Wrk, &figures, lines);
    assert_eq!(wrk(WITH_ALL), wrk(WITH_LATENCY));
    assert!(!printed(Dialect::Wrk2, &figures, BARE).contains("Distribution"));
    assert!(!printed(Dialect::Wrk2, &figures, WITH_LATENCY).contains("Uncorrected"));
    let both = printed(Dialect::Wrk2, &figures, WITH_ALL);
    assert_eq!(both.matches("Latency Distribution (HdrHistogram - ").count(), 2);
}
