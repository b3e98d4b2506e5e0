//! `--raw`: the file has a row for every request, and the document is what its rows add up to
//! (METHOD 2, V16).

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::process::Command;
use std::time::Duration;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use weir_result::Histogram;
use weir_result::document::Summary;
use weir_result::quantile::{Bound, rank_of};
use weir_result::study::Trial;
use weir_result::{Document, Study};

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::process::Process;
use crate::support::raw::{OK, Peer, Raw};
use crate::support::serve::Serve;
use crate::support::served::Served;
use crate::support::wait::{self, let_pass};
use crate::support::weir::{self, Ran, Running, WEIR};

/// One row, as far as it matters here.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    phase: String,
    outcome: String,
    status: Option<u16>,
    error: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) intended_at: u64,
    sent_at: Option<u64>,
    ended_at: u64,
}

impl Slot {
    fn of(row: &Row) -> Slot {
        let fields: BTreeMap<&str, &Field> =
            row.get_column_iter().map(|(name, field)| (name.as_str(), field)).collect();
        let text = |name| match fields[name] {
            Field::Str(text) => Some(text.clone()),
            _ => None,
        };
        let ns = |name| match fields[name] {
            Field::Long(ns) => u64::try_from(*ns).ok(),
            _ => None,
        };
        Slot {
            phase: text("phase").expect("it is never null"),
            outcome: text("outcome").expect("it is never null"),
            status: match fields["status"] {
                Field::UShort(status) => Some(*status),
                _ => None,
            },
            error: text("error"),
            name: text("name"),
            intended_at: ns("intended_at").expect("it is never null"),
            sent_at: ns("sent_at"),
            ended_at: ns("ended_at").expect("it is never null"),
        }
    }

    fn response_ns(&self) -> u64 {
        self.ended_at - self.intended_at
    }
}

/// Runs a load with `--raw`, and reads the file.
fn load(engine: &str, flags: &str, url: &str) -> (Ran, Vec<Slot>) {
    finished(start(engine, flags, url))
}

/// As [`load`], with words that may contain blanks.
pub(crate) fn load_with(engine: &str, flags: &str, more: &[&str], url: &str) -> (Ran, Vec<Slot>) {
    finished(start_with(engine, flags, more, url))
}

fn start(engine: &str, flags: &str, url: &str) -> (Running, Directory) {
    start_with(engine, flags, &[], url)
}

fn start_with(engine: &str, flags: &str, more: &[&str], url: &str) -> (Running, Directory) {
    let directory = Directory::new();
    let path = directory.file("rows.parquet");
    let more = [more, &["--raw", &path, url]].concat();
    (weir::start(engine, flags, &more), directory)
}

fn finished((running, directory): (Running, Directory)) -> (Ran, Vec<Slot>) {
    let ran = running.finish();
    assert_eq!(directory.names(), ["rows.parquet"], "{ran}");
    let file = File::open(directory.file("rows.parquet")).expect("it is there");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let pairs = reader.metadata().file_metadata().key_value_metadata();
    let pairs = pairs.into_iter().flatten();
    let metadata: BTreeMap<String, String> =
        pairs.filter_map(|pair| Some((pair.key.clone(), pair.value.clone()?))).collect();
    let rows = reader.get_row_iter(None).expect("columns that can be read");
    let slots: Vec<Slot> = rows.map(|row| Slot::of(&row.expect("a row"))).collect();
    check_window(&metadata, &slots, &ran);
    (ran, slots)
}

/// Checks that the window of the metadata is the rows' window, even if it was cut short or began
/// early.
fn check_window(metadata: &BTreeMap<String, String>, slots: &[Slot], ran: &Ran) {
    let bound = |name: &str| metadata[name].parse::<u64>().expect("a number");
    let t0_ns = bound("weir.t0_ns");
    let t1_ns = bound("weir.t1_ns");
    for slot in slots {
        let is_inside = (t0_ns..t1_ns).contains(&slot.intended_at);
        match slot.phase.as_str() {
            "measured" => assert!(is_inside, "{slot:?} in {t0_ns}..{t1_ns}\n{ran}"),
            "warmup" => assert!(slot.intended_at < t0_ns, "{slot:?}, t0 {t0_ns}\n{ran}"),
            _ => {}
        }
    }
}

fn count(slots: &[Slot], belongs: impl Fn(&Slot) -> bool) -> u64 {
    slots.iter().filter(|slot| belongs(slot)).count() as u64
}

/// Checks that the document and the rows agree.
fn check(ran: &Ran, slots: &[Slot]) {
    let results = &ran.document.results;
    let accounting = &ran.document.accounting;
    let [raw] = ran.document.raw.as_slice() else { panic!("{:?}: {ran}", ran.document.raw) };
    assert_eq!((raw.rows, raw.lost), (slots.len() as u64, 0), "{ran}");
    let of_phase = |phase: &str| count(slots, |slot| slot.phase == phase);
    assert_eq!(of_phase("warmup"), accounting.sent.warmup, "{ran}");
    assert_eq!(of_phase("measured"), results.planned, "{ran}");
    assert_eq!(of_phase("tail"), accounting.sent.tail, "{ran}");
    let measured: Vec<Slot> =
        slots.iter().filter(|slot| slot.phase == "measured").cloned().collect();
    for (outcome, expected) in [
        ("ok", results.outcomes.ok),
        ("bad_response", results.outcomes.bad_response),
        ("transport_error", results.outcomes.transport_error),
        ("timed_out", results.outcomes.timed_out),
        ("in_flight_at_end", results.outcomes.in_flight_at_end),
        ("never_sent", results.outcomes.never_sent),
    ] {
        assert_eq!(count(&measured, |slot| slot.outcome == outcome), expected, "{outcome}: {ran}");
    }
    for (status, expected) in &results.status {
        assert_eq!(count(&measured, |slot| slot.status == Some(*status)), *expected, "{ran}");
    }
    for (kind, expected) in &results.errors {
        let of_kind = count(&measured, |slot| slot.error.as_ref() == Some(kind));
        assert_eq!(of_kind, *expected, "{kind}: {ran}");
    }
    for name in &ran.document.names {
        for (outcome, expected) in [
            ("ok", name.results.outcomes.ok),
            ("bad_response", name.results.outcomes.bad_response),
            ("transport_error", name.results.outcomes.transport_error),
            ("timed_out", name.results.outcomes.timed_out),
            ("in_flight_at_end", name.results.outcomes.in_flight_at_end),
            ("never_sent", name.results.outcomes.never_sent),
        ] {
            let is_of = |slot: &Slot| slot.name.as_ref() == Some(&name.name);
            let found = count(&measured, |slot| is_of(slot) && slot.outcome == outcome);
            assert_eq!(found, expected, "{}, {outcome}: {ran}", name.name);
        }
    }
    let has_list = !ran.document.names.is_empty();
    assert!(slots.iter().all(|slot| slot.name.is_some() == has_list), "{ran}");
    assert!(slots.iter().all(|slot| (slot.outcome == "never_sent") == slot.sent_at.is_none()));
    let response = &ran.document.results.response_time;
    let times = |belongs: fn(&Slot) -> bool| {
        let mut times: Vec<u64> =
            measured.iter().filter(|slot| belongs(slot)).map(Slot::response_ns).collect();
        times.sort_unstable();
        times
    };
    let is_ok = |slot: &Slot| slot.outcome == "ok";
    check_percentiles(&response.ok, &times(is_ok), &[]);
    check_exact(&response.times.ok, &times(is_ok));
    if let Some(all) = &response.all {
        check_percentiles(all, &times(is_ok), &times(|slot| slot.outcome != "ok"));
    }
}

/// Checks that every percentile equals the rows', to a bucket, and that no bound exceeds it.
/// `failed` rank above all of `ok`, with an age that they reached at least.
fn check_percentiles(summary: &Summary, ok: &[u64], failed: &[u64]) {
    let count = (ok.len() + failed.len()) as u64;
    assert_eq!(summary.count, count);
    let mut aged = [ok, failed].concat();
    aged.sort_unstable();
    for value in &summary.percentiles {
        let rank = usize::try_from(rank_of(value.p, count)).expect("rows fit memory") - 1;
        let exact_ns = match value.bound {
            Bound::Exact | Bound::Upper => {
                *ok.get(rank).expect("an exact percentile falls on an answer")
            }
            Bound::Lower | Bound::Unknown => {
                // A failure is slower than any response, and than its age.
                let most = ok.last().map_or(aged[rank], |slowest| aged[rank].max(*slowest));
                assert!(value.ns <= most, "p{}: {value:?} above {most}", value.p);
                continue;
            }
        };
        let least = exact_ns;
        let most = exact_ns + exact_ns.div_ceil(1_000);
        assert!((least..=most).contains(&value.ns), "p{}: {value:?}, not {exact_ns}", value.p);
    }
}

fn check_exact(histogram: &Histogram, times: &[u64]) {
    let figures = Some(histogram.exact()).filter(|exact| exact.count > 0);
    let exact = figures.map(|exact| (exact.count, exact.min_ns, exact.max_ns, exact.sum_ns));
    let expected = times.first().zip(times.last()).map(|(least, greatest)| {
        let sum = times.iter().map(|ns| u128::from(*ns)).sum();
        (times.len() as u64, *least, *greatest, sum)
    });
    assert_eq!(exact, expected);
}

/// A server that sends successes and errors, sometimes nothing, and sometimes closes.
fn moody() -> Raw {
    const BAD: &str = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n";
    Raw::start(|peer| {
        let mut requests = peer.number;
        while peer.read_request()?.is_some() {
            requests += 1;
            match requests % 30 {
                5 => peer.write(BAD)?,
                11 => return Ok(()),
                17 => return peer.await_close(),
                _ => peer.write(OK)?,
            }
        }
        Ok(())
    })
}

#[test]
fn rows_add_up_to_the_document() {
    on_an_engine(|engine| {
        let fine = Served::plainly();
        for flags in ["-c5 -t2 -n 3000", "-c5 -t2 -R 2000 -d500ms --warmup 200ms --pipeline 4"] {
            let (ran, slots) = load(engine, flags, &fine.url());
            assert!(ran.document.results.outcomes.ok > 500, "{ran}");
            check(&ran, &slots);
        }
        for load_flags in ["", "-R 500 --arrivals poisson"] {
            let server = moody();
            let flags = format!("-c6 -t2 -d700ms --warmup 200ms -T 150ms {load_flags}");
            let (ran, slots) = load(engine, &flags, &server.url());
            assert!(ran.document.results.outcomes.bad_response > 0, "{ran}");
            check(&ran, &slots);
        }
    });
}

/// Rows of a list have their names, also those of requests that failed or were never sent.
#[test]
fn rows_of_a_list_add_up_by_name() {
    let directory = Directory::new();
    let list = directory.file("list.jsonl");
    let rows = "{\"url\": \"/a\", \"weight\": 3}\n{\"url\": \"/b\", \"name\": \"b: 1\"}\n";
    std::fs::write(&list, rows).expect("the directory is the test's own");
    on_an_engine(|engine| {
        for load_flags in ["", "-R 500 --order random"] {
            let server = moody();
            let flags = format!("-c6 -t2 -d700ms --warmup 200ms -T 150ms {load_flags}");
            let (ran, slots) = load(engine, &format!("{flags} --from {list}"), &server.url());
            let names = ran.document.names.iter().map(|name| name.name.as_str());
            assert_eq!(names.collect::<Vec<_>>(), ["GET /a", "b: 1"]);
            assert!(ran.document.results.outcomes.bad_response > 0, "{ran}");
            check(&ran, &slots);
        }
        let server = Raw::start(silent);
        let flags = format!("-c2 -t2 -R 300 -d60s --warmup 0 -T 60s --from {list}");
        let flags = format!("{flags} --no-preflight --witness off");
        let (running, directory) = start(engine, &flags, &server.url());
        server.await_requests(2);
        let_pass(OVERDUE);
        running.process.signal(&["INT"]);
        let (ran, slots) = finished((running, directory));
        assert!(
            ran.document.names.iter().all(|name| name.results.outcomes.never_sent > 0),
            "{ran}"
        );
        check(&ran, &slots);
    });
}

/// Reads one request of each connection, and never responds.
fn silent(peer: &mut Peer) -> io::Result<()> {
    peer.read_request()?;
    peer.await_close()
}

/// Time in which further requests come due while none gets a response.
const OVERDUE: Duration = Duration::from_millis(200);

#[test]
fn requests_that_were_never_sent_have_rows() {
    on_an_engine(|engine| {
        for arrivals in ["uniform", "poisson"] {
            let server = Raw::start(silent);
            let flags = format!("-c2 -t2 -R 300 -d60s --warmup 0 -T 60s --arrivals {arrivals}");
            let flags = format!("{flags} --no-preflight");
            let (running, directory) = start(engine, &flags, &server.url());
            // No response ever comes; what is due after the first requests is never sent.
            server.await_requests(2);
            let_pass(OVERDUE);
            running.process.signal(&["INT"]);
            let (ran, slots) = finished((running, directory));
            assert!(ran.document.results.outcomes.never_sent > 0, "{ran}");
            check(&ran, &slots);
        }
    });
}

#[test]
fn an_interrupted_run_has_a_whole_file() {
    on_an_engine(|engine| {
        let server = Served::plainly();
        let (running, directory) =
            start(engine, "-c5 -t2 -d60s --warmup 0 --no-preflight", &server.url());
        wait::until("requests", || (server.requests() >= 100).then_some(()));
        running.process.signal(&["INT"]);
        let (ran, slots) = finished((running, directory));
        assert_eq!(ran.code, 130, "{ran}");
        assert!(!slots.is_empty(), "{ran}");
        check(&ran, &slots);
    });
}

/// Counts the rows of each trial in a file of a study, with the name of its variant.
fn rows_of_trials(path: &str) -> BTreeMap<(u32, String), u64> {
    let file = File::open(path).expect("it is there");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let mut counts = BTreeMap::new();
    for row in reader.get_row_iter(None).expect("columns that can be read") {
        let row = row.expect("a row");
        let mut fields = row.get_column_iter().map(|(_, field)| field);
        let (Some(Field::UInt(trial)), Some(Field::Str(variant))) = (fields.next(), fields.next())
        else {
            panic!("{row}")
        };
        *counts.entry((*trial, variant.clone())).or_default() += 1;
    }
    counts
}

#[test]
fn a_study_has_the_rows_of_all_trials() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let names = ["study.json", "rows.parquet", "more.parquet"].map(|name| directory.file(name));
    let [file, rows, more] = names.each_ref().map(String::as_str);
    let weir = |words: &[&str]| Process::start(Command::new(WEIR).args(words)).wait();
    let url = server.url();
    let flags = "-t1 --warmup 0 --witness off --no-settle -n 2 --requests 20 --vary c=1,2";
    let words: Vec<&str> = flags.split(' ').chain(["-o", file, "--raw", rows, &url]).collect();
    let stop = ["--before", "test $WEIR_TRIAL != 3"];
    let stopped = weir(&[&["sweep"][..], &words[..], &stop[..]].concat());
    assert_eq!(stopped.code(), 1, "{stopped:?}");
    let expected = |study: &Study| -> BTreeMap<(u32, String), u64> {
        let of = |(trial, run): (&Trial, &Document)| {
            let variant = study.cells[trial.cell as usize].name.clone();
            assert_eq!(run.raw[0].rows, run.results.planned + run.accounting.sent.tail);
            ((trial.number, variant), run.raw[0].rows)
        };
        study.measured().map(of).collect()
    };
    let mut kept = Study::load(file).expect("the study");
    assert_eq!(rows_of_trials(rows), expected(&kept), "{stopped:?}");
    assert_eq!(expected(&kept).len(), 2, "{stopped:?}");
    // Parquet cannot be continued, and the rows so far must not be lost.
    kept.hooks.before = None;
    std::fs::write(file, serde_json::to_string(&kept).expect("JSON")).expect("the study");
    let refused = weir(&["resume", "--no-settle", "--raw", rows, file]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(refused.stderr.contains("Parquet cannot be continued"), "{refused:?}");
    let resumed = weir(&["resume", "--no-settle", "-o", more, "-o", file, file]);
    assert_eq!(resumed.code(), 0, "{resumed:?}");
    let all = expected(&Study::load(file).expect("the study"));
    let parts = [rows, more].map(rows_of_trials).into_iter().flatten();
    assert_eq!(parts.collect::<BTreeMap<_, _>>(), all, "{resumed:?}");
    assert_eq!(directory.names(), ["more.parquet", "rows.parquet", "study.json"]);
    for (words, part) in [
        (["--raw", "-"], "--raw cannot write to standard output"),
        (["--raw", "x.parquet"], "--raw and -o FILE.parquet: the rows"),
    ] {
        let wrong = weir(&[&["repeat", "-o", more, &url][..], &words[..]].concat());
        assert!(wrong.code() == 2 && wrong.stderr.contains(part), "{wrong:?}");
    }
}
