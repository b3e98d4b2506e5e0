//! V26: the same fault under several load generators, and the figures that each prints.

use std::fmt::Write;

use anyhow::Result;

use super::peers::{PEERS, RatedLoad};
use super::theory::Stall;
use crate::rig::{Fixture, Peer, Printed, PrintedTime, Record, Section, seconds, table, thousands};

/// A fault, and the load that meets it.
struct Trouble {
    above: String,
    /// Flags of `weir serve`.
    flags: String,
    /// Query appended to the URL.
    query: &'static str,
    load: RatedLoad,
    /// True response times of users who arrive by the plan: p50, p99 and the maximum.
    truth: [Truth; 3],
    /// Reasons for differences between programs, each in a sentence.
    reasons: &'static [(Peer, &'static str)],
    is_rate_only: bool,
}

/// The true value of a time.
#[derive(Clone, Copy, Debug)]
enum Truth {
    /// The base latency of a request.
    Base,
    About(f64),
    /// The request never completes.
    Never,
    Unknown,
}

/// Runs case V26 of METHOD 2.1.
pub(super) fn concordance(fixture: &Fixture) -> Result<Section> {
    let mut section = Section::new(
        "what others print",
        "What do load generators print of the same trouble? The table has a stall of 1 s in \
         20 s; four more are in the data.",
        "What users would have seen who come at the planned rate, in the first line of each table. \
         Only weir is judged, and only by the cases above; the answers that each program had are \
         counted by the server's log.",
    );
    for trouble in troubles(fixture) {
        measure(fixture, &mut section, &trouble)?;
    }
    section.verdict("The first row is the truth for users who come at the planned rate.");
    section.note(
        "One stall is one event, however many requests meet it, and says little about the p99 of \
         another hour (METHOD 1.11): weir marks such values with `~`.",
    );
    for peer in PEERS.into_iter().filter(|peer| peer.find().is_none()) {
        section.note(format!("{} is not on PATH.", peer.name()));
    }
    Ok(section)
}

fn troubles(fixture: &Fixture) -> Vec<Trouble> {
    if fixture.options.is_quick {
        return vec![in_the_middle(4, 2, 0.5)];
    }
    let end =
        [Truth::Base, Truth::About(Stall::of(2.0, 20.0).end_quantile_s(0.99)), Truth::About(2.0)];
    let calm = [Truth::Base, Truth::Base, Truth::Unknown];
    let many = "Nothing wrong, 5,000 requests/s over 10,000 connections";
    vec![
        in_the_middle(20, 14, 1.0),
        Trouble {
            flags: "--stall 19s+2s".to_owned(),
            ..trouble("A stall of 2 s that begins 1 s before the end", end, AT_THE_END)
        },
        Trouble {
            query: "?fault=blackhole",
            load: RatedLoad { connections: 10, duration_s: 12, rate_rps: 100, timeout_s: 1 },
            ..trouble("A server that never answers, timeouts of 1 s", [Truth::Never; 3], BLACK_HOLE)
        },
        Trouble {
            load: RatedLoad { connections: 10, rate_rps: 100, ..LOAD },
            is_rate_only: true,
            ..trouble("Nothing wrong, 100 requests/s", calm, LOW_RATE)
        },
        Trouble {
            load: RatedLoad { connections: 10_000, rate_rps: 5_000, ..LOAD },
            ..trouble(many, calm, MANY_CONNECTIONS)
        },
    ]
}

/// Returns a fault of nothing, under the usual load.
fn trouble(above: &str, truth: [Truth; 3], reasons: &'static [(Peer, &'static str)]) -> Trouble {
    let above = above.to_owned();
    let flags = String::new();
    Trouble { above, flags, query: "", load: LOAD, truth, reasons, is_rate_only: false }
}

fn in_the_middle(duration_s: u32, at_s: u32, stall_s: f64) -> Trouble {
    let stall = Stall::of(stall_s, f64::from(duration_s));
    let above = format!(
        "A stall of {stall_s} s in a test of {duration_s} s, {at_s} s after the first request"
    );
    let truth = [Truth::Base, Truth::About(stall.quantile_s(0.99)), Truth::About(stall_s)];
    Trouble {
        flags: format!("--stall {at_s}s+{stall_s}s"),
        load: RatedLoad { duration_s, ..LOAD },
        ..trouble(&above, truth, IN_THE_MIDDLE)
    }
}

const LOAD: RatedLoad =
    RatedLoad { connections: 50, duration_s: 20, rate_rps: 2_000, timeout_s: 10 };

const IN_THE_MIDDLE: &[(Peer, &str)] = &[
    (
        Peer::Wrk2,
        "keeps only what comes after its calibration of 10 s, so its p99 is that of half the test, \
         and it catches up at twice the rate at most, so the stall delays more requests than it \
         would",
    ),
    (
        Peer::Wrk,
        "waits for answers, so one request for each connection meets the stall; the rest of its \
         p99 are samples that it adds for requests it did not send, from their mean interval",
    ),
    (Peer::Ab, "waits for answers, as wrk does, and rounds to whole milliseconds"),
    (Peer::H2load, "spaces the requests of each connection, but counts from when they are sent"),
    (Peer::Hey, "spaces the requests of each connection, but counts from when they are sent"),
];

const AT_THE_END: &[(Peer, &str)] = &[
    (Peer::Wrk2, "drops what is in flight at the end"),
    (Peer::Wrk, "drops what is in flight at the end, which is every request that met the stall"),
    (Peer::Ab, "drops what is in flight at the end"),
    (Peer::H2load, "drops what is in flight at the end"),
    (Peer::Hey, "counts from when requests are sent, and plans none while it waits"),
];

const BLACK_HOLE: &[(Peer, &str)] = &[
    (Peer::Wrk2, "has no answer to count, and prints zeros for percentiles of nothing"),
    (Peer::Wrk, "counts a timeout when the late answer comes, and none comes"),
    (Peer::Ab, "gives up at the first timeout, and prints no report"),
    (Peer::H2load, "does not outlive connections that time out by its -N"),
    (Peer::Hey, "counts what has failed as its rate of requests"),
];

const LOW_RATE: &[(Peer, &str)] = &[
    (Peer::Wrk2, "sleeps in whole milliseconds, and counts what it overslept as the server's"),
    (Peer::H2load, "counts from when requests are sent, so its own lateness is not in it"),
    (Peer::Hey, "counts from when requests are sent, so its own lateness is not in it"),
];

const MANY_CONNECTIONS: &[(Peer, &str)] = &[
    (Peer::Wrk, "has 10,000 requests in flight all the time: their queue is what it measures"),
    (Peer::Ab, "has 10,000 requests in flight all the time, and connects while it measures"),
];

fn measure(fixture: &Fixture, section: &mut Section, trouble: &Trouble) -> Result<()> {
    section.begin_table(&format!("{}:", trouble.above));
    let rate = if trouble.query.is_empty() { trouble.load.rate_rps } else { 0 };
    let [p50, p99, max] = trouble.truth.map(Truth::text);
    let requests = thousands(u64::from(rate * trouble.load.duration_s));
    section.row(&[
        ("", &"**true, by plan**"),
        ("p50", &p50),
        ("p99", &p99),
        ("max", &max),
        ("requests", &requests),
        ("answers it had by the log", &""),
        ("errors", &""),
        ("requests/s", &table::rate(rate.into())),
        ("remark", &""),
    ]);
    for peer in PEERS.into_iter().filter(|peer| peer.has_rate() || !trouble.is_rate_only) {
        // wrk2's calibration would take longer than a quick test.
        let is_too_long = fixture.options.is_quick && peer == Peer::Wrk2;
        if is_too_long || peer.find().is_none() {
            continue;
        }
        let server = fixture.serve(&trouble.flags)?;
        let url = format!("{}/{}", server.url.trim_end_matches('/'), trouble.query);
        let printed = peer.run(fixture, trouble.load, &url)?;
        let reason = trouble.reasons.iter().find(|(other, _)| *other == peer);
        let reason = reason.map_or("", |(_, reason)| reason);
        row(section, peer, &printed, &server.finish()?, reason);
    }
    section.show_columns(&["", "p50", "p99", "max", "requests/s"]);
    Ok(())
}

fn row(section: &mut Section, peer: Peer, printed: &Printed, log: &[Record], reason: &str) {
    let time = |time: Option<PrintedTime>| {
        let text = |time: PrintedTime| {
            let text = seconds(time.ns / 1e9);
            if time.is_bound { format!("> {text}") } else { text }
        };
        time.map_or("–".to_owned(), text)
    };
    let count = |count: Option<u64>| count.map_or("–".to_owned(), thousands);
    let answered = log.iter().filter(|record| record.sent_ns.is_some()).count();
    let mut remark = reason.to_owned();
    if let Some(failure) = &printed.failure {
        write!(remark, " ({failure})").expect("strings take everything");
    }
    section.row(&[
        ("", &peer.name()),
        ("p50", &time(printed.p50)),
        ("p99", &time(printed.p99)),
        ("max", &time(printed.max)),
        ("requests", &count(printed.requests)),
        ("answers it had by the log", &thousands(answered as u64)),
        ("errors", &count(printed.errors)),
        ("requests/s", &printed.rate_rps.map_or("–".to_owned(), table::rate)),
        ("remark", &remark),
    ]);
}

impl Truth {
    fn text(self) -> String {
        match self {
            Truth::Base => "what one request takes".to_owned(),
            Truth::About(s) => seconds(s),
            Truth::Never => "never".to_owned(),
            Truth::Unknown => String::new(),
        }
    }
}
