//! weir as wrk and as wrk2. Its report is compared with the one of the real wrk field by field: the
//! lines, their order, their layout, and the values wherever they must be the same. wrk's own
//! errors are named case by case. Of wrk2, which few systems package, the layout is tested.

use std::os::unix::fs::symlink;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::raw::{OK, Raw};
use crate::support::wait;
use crate::support::weir::WEIR;
use crate::support::wrk::{start_as, start_wrk, weir_as, wrk};
use crate::support::wrk_report::{Report, SocketErrors, Spectrum};

/// The report of a run that ended well.
#[track_caller]
fn report(output: &Output) -> Report {
    assert_eq!(output.code(), 0, "{output:?}");
    Report::read(&output.stdout)
}

/// The reports of weir and of wrk for the same words, at the same time, each on a server of its
/// own.
#[track_caller]
fn both(words: &str, server: impl Fn() -> Raw) -> [Report; 2] {
    let servers = [server(), server()];
    let [of_weir, of_wrk] = servers.each_ref().map(Raw::url);
    let runs = [start_as("wrk", words, &[&of_weir]), start_wrk(words, &[&of_wrk])];
    let [ours, theirs] = runs.map(|run| report(&run.wait()));
    assert_eq!([&ours.url, &theirs.url], [&of_weir, &of_wrk], "as typed");
    ours.assert_consistent();
    assert_eq!(ours.duration, theirs.duration);
    assert_eq!((ours.threads, ours.connections), (theirs.threads, theirs.connections));
    assert_eq!((&ours.rest, &theirs.rest), (&String::new(), &String::new()));
    [ours, theirs]
}

/// The reports of weir and of wrk, which must have the same lines.
#[track_caller]
fn same(words: &str, server: impl Fn() -> Raw) -> [Report; 2] {
    let [ours, theirs] = both(words, server);
    assert_eq!(ours.lines, theirs.lines, "{ours:#?}\n{theirs:#?}");
    let percents = |report: &Report| -> Vec<f64> {
        report.percentiles.iter().map(|(percent, _)| *percent).collect()
    };
    assert_eq!(percents(&ours), percents(&theirs));
    for report in [&ours, &theirs] {
        assert!(report.requests > 0 && report.latency.max > 0.0, "{report:#?}");
        assert!(report.run_time_us >= 1e6 && report.rates.max > 0.0, "{report:#?}");
    }
    [ours, theirs]
}

fn ok() -> Raw {
    Raw::answering(OK)
}

#[test]
fn a_plain_run_reads_as_wrks() {
    let [ours, theirs] = same("-d1", ok);
    assert_eq!((ours.threads, ours.connections), (2, 10), "the defaults");
    let lines = [
        "running",
        "threads",
        "heads",
        "Latency",
        "Req/Sec",
        "totals",
        "Requests/sec",
        "Transfer/sec",
    ];
    assert_eq!(ours.lines, lines);
    // Both count whole responses, heads included.
    for report in [&ours, &theirs] {
        let bytes = report.requests as f64 * OK.len() as f64;
        assert!((report.bytes - bytes).abs() <= bytes * 0.011, "{report:#?}");
    }
    assert_eq!(ours.run_time_us, 1e6, "weir's window is as long as was asked");
}

#[test]
fn percentiles_are_where_wrk_has_them() {
    let [ours, _] = same("-d 1s -t1 -c4 --latency", ok);
    let percents: Vec<f64> = ours.percentiles.iter().map(|(percent, _)| *percent).collect();
    assert_eq!(percents, [50.0, 75.0, 90.0, 99.0]);
}

/// The line counts responses of `requests`: scripts subtract one from the other.
#[test]
fn every_status_above_399_is_counted_as_wrk_counts_it() {
    for (status, is_bad) in [(500, true), (404, true), (302, false)] {
        let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\nno");
        for report in same("-d1 -t1 -c8", || Raw::answering(answer.clone())) {
            assert_eq!(report.bad_status, is_bad.then_some(report.requests), "{report:#?}");
            assert_eq!(report.socket_errors, None, "{report:#?}");
        }
    }
}

/// If the end of the connection also ends the body, wrk counts it as a read error.
#[test]
fn a_connection_that_ends_with_its_answer_is_no_error() {
    let closing = |head: &'static str| {
        move || {
            Raw::start(move |peer| {
                peer.read_request()?;
                peer.write(format!("HTTP/1.1 200 OK\r\n{head}\r\nok"))
            })
        }
    };
    for report in same("-d1 -t1 -c2", closing("Connection: close\r\nContent-Length: 2\r\n")) {
        assert_eq!((report.socket_errors, report.bad_status), (None, None), "{report:#?}");
    }
    let [ours, theirs] = both("-d1 -t1 -c2", closing(""));
    assert!(ours.requests > 0, "{ours:#?}");
    assert_eq!((ours.socket_errors, ours.bad_status), (None, None), "{ours:#?}");
    assert!(theirs.socket_errors.is_some_and(|errors| errors.read > 0), "{theirs:#?}");
}

/// A connection that ends without a response is an error in both.
#[test]
fn a_connection_that_ends_instead_of_answering_is_an_error() {
    let ungrateful = || {
        let count = AtomicU64::new(0);
        Raw::start(move |peer| {
            while peer.read_request()?.is_some() {
                if count.fetch_add(1, Ordering::Relaxed) % 100 == 99 {
                    return Ok(());
                }
                peer.write(OK)?;
            }
            Ok(())
        })
    };
    for report in same("-d1 -t1 -c2", ungrateful) {
        let errors = report.socket_errors.unwrap_or_else(|| panic!("{report:#?}"));
        assert!(errors.read > 0 && errors.connect == 0 && errors.timeout == 0, "{report:#?}");
    }
}

/// wrk waits for the body of a 204 that has none (RFC 9110 §8.6).
#[test]
fn an_answer_without_a_body_ends_with_its_head() {
    let empty = "HTTP/1.1 204 No Content\r\nContent-Length: 2\r\n\r\n";
    let [ours, theirs] = both("-d1 -t1 -c2", || Raw::answering(empty));
    assert!(ours.requests > 0 && ours.socket_errors.is_none(), "{ours:#?}");
    assert_eq!(theirs.requests, 0, "{theirs:#?}");
}

/// wrk counts the late response too, but leaves it out of the latencies.
#[test]
fn a_late_answer_is_a_timeout_and_a_latency() {
    const LATE: Duration = Duration::from_millis(1_400);
    let late_once = || {
        let count = AtomicU64::new(0);
        Raw::start(move |peer| {
            while peer.read_request()?.is_some() {
                if count.fetch_add(1, Ordering::Relaxed) == 20 {
                    wait::let_pass(LATE);
                }
                peer.write(OK)?;
            }
            Ok(())
        })
    };
    let [ours, theirs] = same("-d3 -t1 -c1 -T1", late_once);
    for report in [&ours, &theirs] {
        let errors = report.socket_errors.unwrap_or_else(|| panic!("{report:#?}"));
        let SocketErrors { connect, read, write, timeout } = errors;
        assert!((connect, read, write) == (0, 0, 0) && timeout >= 1, "{report:#?}");
        assert!(report.requests > 20, "{report:#?}");
    }
    let late_us = LATE.as_micros() as f64;
    // A time with two decimals of a second is rounded by up to half of the last one.
    assert!(ours.latency.max >= late_us - 5e3, "{ours:#?}");
    assert!(theirs.latency.max < late_us, "{theirs:#?}");
}

/// wrk counts no error against a server that never responds; weir counts each request.
#[test]
fn a_server_that_never_answers_times_out() {
    let silent = || Raw::start(|peer| peer.await_close());
    let [ours, theirs] = both("-d2 -t1 -c3 -T1", silent);
    let timeouts = SocketErrors { connect: 0, read: 0, write: 0, timeout: 3 };
    assert_eq!((ours.requests, ours.socket_errors), (0, Some(timeouts)), "{ours:#?}");
    assert_eq!((theirs.requests, theirs.socket_errors), (0, None), "{theirs:#?}");
}

/// Of ten connections over three threads, wrk opens nine.
#[test]
fn every_connection_is_opened() {
    for (dialect, flags) in [("wrk", ""), ("wrk2", "-R500")] {
        let server = ok();
        let words = format!("-d1 -c10 -t3 {flags}");
        let output = weir_as(dialect, &words, &[&server.url()]);
        let report = report(&output);
        assert_eq!((report.threads, report.connections), (3, 10));
        // One more was opened to check that the server is reachable.
        wait::until("connections", || (server.accepted() >= 11).then_some(()));
        assert_eq!(server.accepted(), 11, "{output:?}");
    }
}

/// Failures before any output have the same message, the same stream and the same status.
#[test]
fn what_cannot_be_reached_is_reported_in_wrks_words() {
    let refused = Raw::start(|_| Ok(()));
    let url = refused.url();
    drop(refused);
    for url in [url.as_str(), "http://no.such.host.invalid:81/", "http://no.such.host.invalid/"] {
        let ours = weir_as("wrk", "-d1", &[url]);
        let theirs = wrk("-d1", &[url]);
        assert_eq!((ours.code(), theirs.code()), (1, 1), "{ours:?}\n{theirs:?}");
        assert_eq!(ours.stderr, theirs.stderr, "{url}");
        assert_eq!((ours.stdout.as_str(), theirs.stdout.as_str()), ("", ""), "{url}");
    }
}

/// Without a required argument, both print their usage on standard output and exit with 1. An error
/// message before it is the same if wrk prints one.
#[test]
fn wrong_words_end_as_in_wrk() {
    let url = "http://127.0.0.1:9/";
    for (words, says) in [
        (&["-c1", "-t2", url][..], "number of connections must be >= threads"),
        (&["-d1", "--no-such", url], "unrecognized option '--no-such'"),
        (&["-d1", "-x", url], "invalid option -- 'x'"),
        (&["-d"], "option requires an argument -- 'd'"),
        (&["--duration"], "option '--duration' requires an argument"),
        (&["-d1", "http:///"], "invalid URL: http:///"),
        (&["-c", "1.5k", url], ""),
        (&["-d", "500ms", url], ""),
        (&["-t0", url], ""),
        (&["-v"], ""),
        (&["-r"], ""),
        (&["-d1"], ""),
        (&[], ""),
    ] {
        let ours = weir_as("wrk", "", words);
        let theirs = wrk("", words);
        assert_eq!((ours.code(), theirs.code()), (1, 1), "{words:?} {ours:?}\n{theirs:?}");
        let usage = "Usage: wrk <options> <url>";
        assert!(ours.stdout.contains(usage) && theirs.stdout.contains(usage), "{words:?}");
        for output in [&ours, &theirs] {
            assert!(output.stderr.contains(says), "{words:?}: {output:?}");
        }
        assert_eq!(ours.stdout.starts_with("weir"), theirs.stdout.starts_with("wrk"), "{words:?}");
    }
}

#[test]
fn the_version_is_printed_and_the_run_goes_on() {
    let server = ok();
    for output in [weir_as("wrk", "-v -d1", &[&server.url()]), wrk("-v -d1", &[&server.url()])] {
        let (version, rest) = output.stdout.split_once('\n').expect("a line");
        assert!(version.contains("Copyright (C)"), "{output:?}");
        assert_eq!(output.code(), 0, "{output:?}");
        assert!(Report::read(rest).requests > 0, "{output:?}");
    }
}

#[test]
fn an_interrupted_run_is_reported_and_ends_well() {
    let run = |start: fn(&str, &[&str]) -> Process| {
        let server = ok();
        let process = start("-d30 -c4", &[&server.url()]);
        // wrk handles signals once all its threads are running.
        server.await_requests(5_000);
        process.signal(&["INT"]);
        let report = report(&process.wait());
        assert!(report.requests > 0 && report.run_time_us < 29e6, "{report:#?}");
        assert_eq!(report.duration, "30s");
        report
    };
    let ours = run(|words, more| start_as("wrk", words, more));
    let theirs = run(start_wrk);
    ours.assert_consistent();
    assert_eq!(ours.lines, theirs.lines);
    let ours = run(|words, more| start_as("wrk2", &format!("-R 10k {words}"), more));
    ours.assert_consistent();
}

#[test]
fn requests_read_as_wrks() {
    let seen = |run: fn(&str, &[&str]) -> Output, path: &str, flags: &[&str]| {
        let (sender, receiver) = std::sync::mpsc::channel();
        let sender = std::sync::Mutex::new(sender);
        let server = Raw::start(move |peer| {
            while let Some(head) = peer.read_request()? {
                let _gone = sender.lock().expect("no holder panics").send(head);
                peer.write(OK)?;
            }
            Ok(())
        });
        let url = format!("{}{path}", server.url());
        report(&run("-d1 -c1 -t1", &[flags, &[&url]].concat()));
        let port = server.authority().rsplit(':').next().expect("a port").to_owned();
        let first = receiver.recv().expect("a request").replace(&port, "PORT");
        let mut lines: Vec<String> = first.lines().map(str::to_owned).collect();
        // wrk's fields have the order of a Lua table.
        lines[1..].sort();
        lines
    };
    for (path, flags) in [
        ("", &[][..]),
        ("a/b?c=d&e=%20", &["-H", "X-One: 1", "-H", "x-two: 2"]),
        ("x", &["-H", "Host: elsewhere", "-H", "Accept: a", "-H", "Accept: b"]),
    ] {
        let ours = seen(|words, more| weir_as("wrk", words, more), path, flags);
        assert_eq!(ours, seen(wrk, path, flags), "{path} {flags:?}");
    }
}

#[test]
fn the_name_decides_the_dialect() {
    let directory = Directory::new();
    let server = ok();
    for (name, flags, has_rate) in [("wrk", "", false), ("wrk2", "-R200 -L", true)] {
        let link = directory.file(name);
        symlink(WEIR, &link).expect("the directory is the test's own");
        let mut command = Command::new(&link);
        command.args(["-d1", "-c2"]).args(flags.split_whitespace()).arg(server.url());
        let report = report(&Process::start(&mut command).wait());
        assert_eq!((report.threads, report.connections), (2, 2));
        assert_eq!(report.spectra.len(), usize::from(has_rate), "{report:#?}");
        let help = Process::start(Command::new(&link).arg("-h")).wait();
        assert!(help.stdout.starts_with(&format!("Usage: {name} ")), "{help:?}");
        assert_eq!(help.code(), 1, "{help:?}");
    }
}

#[test]
fn wrk2_wants_a_rate() {
    let output = weir_as("wrk2", "-d1 http://127.0.0.1:9/", &[]);
    assert_eq!(output.code(), 1, "{output:?}");
    let says = "Throughput MUST be specified with the --rate or -R option\n";
    assert_eq!(output.stderr, says, "{output:?}");
    assert!(output.stdout.starts_with("Usage: wrk2 "), "{output:?}");
}

/// Checks the properties of an HdrHistogram's text on which its plotters rely.
#[track_caller]
fn assert_spectrum(spectrum: &Spectrum) {
    let Spectrum { rows, footer: [mean, stdev, max, count, buckets, parts], .. } = spectrum;
    let percents: Vec<f64> = spectrum.percentiles.iter().map(|(percent, _)| *percent).collect();
    assert_eq!(percents, [50.0, 75.0, 90.0, 99.0, 99.9, 99.99, 99.999, 100.0]);
    for pair in rows.windows(2) {
        let [value, share, reached, inverse] = pair[0];
        let [next, ..] = pair[1];
        let is_monotone = value <= next && share < pair[1][1] && reached <= pair[1][2];
        assert!(is_monotone && inverse < pair[1][3], "{pair:?}");
        // The share has six decimals, which limit the precision of its inverse.
        let expected = 1.0 / (1.0 - share);
        assert!((inverse - expected).abs() <= 0.006 + expected * expected * 1e-6, "{pair:?}");
        assert!(reached >= (share * count).floor(), "{pair:?} of {count}");
    }
    assert_eq!(rows[0][1], 0.0, "{spectrum:#?}");
    let last = rows.last().expect("there is a last one");
    assert_eq!((last[1], last[2], last[3]), (1.0, *count, f64::INFINITY), "{spectrum:#?}");
    // The footer contains the lowest value in the histogram's bucket of the maximum.
    assert!(*max <= last[0] && *max >= last[0] * 0.998, "{spectrum:#?}");
    assert!(mean <= max && *stdev >= 0.0, "{spectrum:#?}");
    assert_eq!((*buckets, *parts), (27.0, 2_048.0));
    let most = spectrum.percentiles.last().expect("eight").1;
    assert!((most - last[0] * 1e3).abs() <= most * 0.01 + 10.0, "{spectrum:#?}");
}

#[test]
fn wrk2_prints_spectra() {
    let server = ok();
    for (flags, titles) in [
        ("", &[][..]),
        ("-L", &["Recorded Latency"]),
        (
            "-U",
            &[
                "Recorded Latency",
                "Uncorrected Latency (measured without taking delayed starts into account)",
            ],
        ),
    ] {
        let words = format!("-d1 -R1000 -c10 {flags}");
        let output = weir_as("wrk2", &words, &[&server.url()]);
        let report = report(&output);
        report.assert_consistent();
        let found: Vec<&str> = report.spectra.iter().map(|it| it.title.as_str()).collect();
        assert_eq!(found, titles, "{output:?}");
        assert_eq!((report.percentiles.len(), report.calibrations.len()), (0, 0), "{output:?}");
        for spectrum in &report.spectra {
            assert_spectrum(spectrum);
        }
        if let Some(recorded) = report.spectra.first() {
            assert_eq!(recorded.footer[3], 1_000.0, "as many as were planned: {output:?}");
        }
        if let [recorded, uncorrected] = &report.spectra[..] {
            // A slot that a crowded machine left unsent has no time from its sending.
            let sent = f64::from(u32::try_from(report.requests).expect("a second's"))..=1_000.0;
            assert!(sent.contains(&uncorrected.footer[3]), "as many as were sent: {output:?}");
            assert!(uncorrected.footer[0] <= recorded.footer[0], "from a later time: {output:?}");
        }
        // Responses after the run's only second do not count.
        assert!((1..=1_000).contains(&report.requests), "{output:?}");
    }
}

#[test]
fn wrk2_takes_one_latency_of_a_batch_by_flag() {
    let server = ok();
    let directory = Directory::new();
    let script = "local three\n\
                  function init() three = wrk.format() .. wrk.format() .. wrk.format() end\n\
                  function request() return three end\n";
    let file = directory.file("three.lua");
    std::fs::write(&file, script).expect("the directory is the test's own");
    for (flags, per_batch) in [("-L", 3.0), ("-L -B", 1.0)] {
        let words = format!("-d1 -R900 -c3 -t1 {flags} -s {file}");
        let output = weir_as("wrk2", &words, &[&server.url()]);
        let report = report(&output);
        report.assert_consistent();
        assert_spectrum(&report.spectra[0]);
        assert!((1..=900).contains(&report.requests), "{output:?}");
        // A busy machine may answer the last batches after the end of the window.
        let batches = report.spectra[0].footer[3] / per_batch;
        let answered = report.requests as f64 / 3.0;
        assert!(batches >= answered.floor() && batches <= 300.0, "{output:?}");
    }
}

/// wrk2 calibrates for ten seconds, and then prints a line for each thread.
#[test]
fn wrk2_prints_a_line_on_calibration_for_each_thread() {
    let server = ok();
    let output = weir_as("wrk2", "-d11 -R200 -c4 -t2", &[&server.url()]);
    let report = report(&output);
    report.assert_consistent();
    assert_eq!(report.calibrations.len(), 2, "{output:?}");
    assert!(report.calibrations.iter().all(|mean| *mean > 0.0), "{output:?}");
    assert_eq!((report.duration.as_str(), report.run_time_us), ("11s", 11e6), "{output:?}");
    assert!((1..=2_200).contains(&report.requests), "{output:?}");
}
