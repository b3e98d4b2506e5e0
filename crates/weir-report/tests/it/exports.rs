//! Files for other tools: CSV, JSON Lines and the interval log of HdrHistogram.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use serde_json::Value;
use weir_report::{Exporter, Findings, Source, TextOptions};
use weir_result::document::{Metric, RampKnee, Results, SeriesPhase, SliceEntry, StageSection};
use weir_result::histogram::lowest_in;
use weir_result::study::Answer;
use weir_result::{ByOutcome, Document, Note, Outcomes};

use crate::fixture::{Fixture, MS, S, fine, listed, with_series};
use crate::studies::compared;
use crate::text::golden_bytes;

pub(crate) fn export(name: &str, document: &Document) -> String {
    let mut out = Vec::new();
    let exporter = Exporter::named(name).expect("a format");
    exporter.write(document, &TextOptions::default(), &mut out).expect("memory can be written");
    String::from_utf8(out).expect("it is UTF-8")
}

fn run() -> Document {
    fine(Fixture::open_loop(20_000)).evidence().document()
}

/// Every row has a cell for each title, and the cells have the document's values.
#[test]
fn csv_has_a_row_for_each_interval() {
    let document = run();
    let text = export("csv", &document);
    let rows: Vec<Vec<&str>> =
        text.split_terminator("\r\n").map(|row| row.split(',').collect()).collect();
    assert_eq!(rows.len(), 1 + document.series.len());
    assert!(rows.iter().all(|row| row.len() == rows[0].len()));
    let at = |name: &str| rows[0].iter().position(|title| *title == name).expect(name);
    let first = &document.series[0];
    assert_eq!(rows[1][at("completed")], first.completed.to_string());
    assert!(text.starts_with("start_s,length_s,phase,") && rows[1][2] == "measured");
    assert_eq!(rows[1][at("p99_ns")], first.p99_ns.map_or(String::new(), |ns| ns.to_string()));
    assert!(!rows[0].contains(&"latency"));
}

#[test]
fn percentiles_have_their_bounds() {
    let document = Fixture::open_loop(100).responses(990, 200, MS, MS).timeouts(10, 2 * S);
    let text = export("percentiles", &document.document());
    assert!(text.starts_with("time,percentile,ns,low_ns,high_ns,bound\r\n"));
    assert!(
        text.lines().any(|line| line.starts_with("response_time,50,") && line.ends_with(",exact"))
    );
    assert!(
        text.lines()
            .any(|line| line.starts_with("response_time,99.9,") && line.ends_with(",lower"))
    );
}

/// A list has rows of the whole run, with an empty name, and of each name.
#[test]
fn names_have_percentiles_too() {
    let document = listed().document();
    let text = export("percentiles", &document);
    assert!(text.starts_with("time,percentile,ns,low_ns,high_ns,bound,name\r\n"), "{text}");
    let p50_of = |name: &str| {
        let lines = text.lines().filter(|line| line.starts_with("response_time,50,"));
        let mut rows = lines.map(|line| line.split(',').collect::<Vec<_>>());
        let row = rows.find(|row| row[6] == name).expect("a row of the name");
        row[2].parse::<u64>().expect("a number")
    };
    let expected = |metric: &Metric| metric.headline().percentile(50.0).map(|value| value.ns);
    assert_eq!(Some(p50_of("")), expected(&document.results.response_time));
    for name in &document.names {
        assert_eq!(
            Some(p50_of(&name.name)),
            expected(&name.results.response_time),
            "{}",
            name.name
        );
    }
}

#[test]
fn names_have_a_row_each() {
    let document = listed().evidence().document();
    let text = export("names", &document);
    golden_bytes("names.csv", text.as_bytes());
    let rows: Vec<Vec<&str>> =
        text.split_terminator("\r\n").map(|row| row.split(',').collect()).collect();
    let sum = |title: &str| -> u64 {
        let column = rows[0].iter().position(|found| *found == title).expect("a column");
        rows[1..].iter().map(|row| row[column].parse::<u64>().expect("a count")).sum()
    };
    let results = &document.results;
    for (title, expected) in [
        ("planned", results.planned),
        ("ok", results.outcomes.ok),
        ("bad_response", results.outcomes.bad_response),
        ("timed_out", results.outcomes.timed_out),
        ("completed", document.results.completed),
        ("good", document.results.good),
    ] {
        assert_eq!(sum(title), expected, "{title}");
    }
    assert_eq!(export("names", &run()).lines().count(), 1, "there is no list");
}

/// Returns a run in two stages, the second of which has the slices' other half.
fn staged() -> Document {
    let document = fine(Fixture::open_loop(20_000)).evidence().document();
    let slice = &document.slices[0];
    let [first, second] = [(0.0, 5.0), (5.0, 10.0)].map(|(start_s, end_s)| SliceEntry {
        start_s,
        end_s,
        ..slice.clone()
    });
    let stage = |of: &SliceEntry, load: &str| StageSection {
        load: load.to_owned(),
        start_s: of.start_s,
        end_s: of.end_s,
        results: Results {
            planned: of.ok.count() + 3,
            outcomes: Outcomes { ok: of.ok.count(), timed_out: 3, ..Outcomes::default() },
            response_time: Metric {
                ok: document.results.response_time.ok.clone(),
                all: None,
                times: ByOutcome { ok: of.ok.clone(), ..ByOutcome::default() },
            },
            ..Results::default()
        },
        ..StageSection::default()
    };
    let mut second_stage = stage(&second, "5 s at 1,000/s to 5,000/s");
    second_stage.knee =
        Some(RampKnee { low_rps: Some(4_000.0), high_rps: Some(4_100.5), ..RampKnee::default() });
    let stages = vec![stage(&first, "5 s at 1,000/s"), second_stage];
    Document { stages, slices: vec![first, second], ..document }
}

#[test]
fn stages_are_in_every_format_that_has_names() {
    let document = staged();
    let text = export("stages", &document);
    let rows: Vec<&str> = text.split_terminator("\r\n").collect();
    assert!(rows[0].starts_with("stage,load,start_s,end_s,planned,"), "{text}");
    let planned = document.stages[1].results.planned;
    let expected = format!("2,\"5 s at 1,000/s to 5,000/s\",5.0,10.0,{planned},");
    assert!(rows.len() == 3 && rows[2].starts_with(&expected), "{text}");
    assert!(rows[2].ends_with(",4000.0,4100.5"), "{text}");
    assert_eq!(export("stages", &run()).lines().count(), 1, "there are no stages");

    let text = export("percentiles", &document);
    assert!(text.starts_with("time,percentile,ns,low_ns,high_ns,bound,stage\r\n"), "{text}");
    let p50 =
        document.stages[1].results.response_time.headline().percentile(50.0).expect("a median").ns;
    assert!(text.lines().any(|row| row.starts_with("response_time,50,")
        && row.contains(&format!(",{p50},"))
        && row.ends_with(",2")));

    let text = export("prometheus", &document);
    let ok = document.stages[0].results.outcomes.ok;
    for line in [
        format!("weir_stage_requests_total{{stage=\"1\",outcome=\"ok\"}} {ok}"),
        "weir_stage_requests_total{stage=\"2\",outcome=\"timed_out\"} 3".to_owned(),
        format!("weir_stage_response_time_seconds_count{{stage=\"2\"}} {ok}"),
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }

    let k6: Value = serde_json::from_str(&export("k6", &document)).expect("JSON");
    let metrics = &k6["metrics"];
    let median = &metrics["http_req_duration{stage:2}"]["values"]["med"];
    assert_eq!(median.as_f64(), Some(p50 as f64 / 1e6));
    assert_eq!(metrics["http_req_failed{stage:1}"]["values"]["passes"], 3);
}

#[test]
fn jsonl_has_a_line_for_each_name() {
    let document = listed().document();
    let text = export("jsonl", &document);
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let names: Vec<Value> = lines.filter(|line| line["type"] == "name").collect();
    assert_eq!(names.len(), document.names.len());
    for (line, name) in names.iter().zip(&document.names) {
        assert_eq!(
            (&line["name"], &line["ok"]),
            (&name.name.clone().into(), &name.results.outcomes.ok.into())
        );
        let p99 = name.results.response_time.headline().percentile(99.0).expect("it has one");
        assert_eq!(line["response_p99_ns"], p99.ns);
        assert_eq!(line["status"], serde_json::to_value(&name.results.status).expect("it is JSON"));
    }
}

#[test]
fn every_line_of_jsonl_is_an_object() {
    let document = run();
    let text = export("jsonl", &document);
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (last, intervals) = lines.split_last().expect("a summary");
    assert_eq!(intervals.len(), document.series.len());
    assert!(intervals.iter().all(|line| line["type"] == "interval" && line["completed"].is_u64()));
    assert_eq!(
        (&last["type"], &last["outcomes"]["ok"]),
        (&"summary".into(), &document.results.outcomes.ok.into())
    );
}

/// The lines of the table equal HdrHistogram's own iteration, on a total at which no step is met
/// exactly: its steps are sums of tenths in floats, which drift.
#[test]
fn the_distribution_is_that_of_hdrhistogram() {
    let document = Fixture::closed_loop().spread(9_973, 20_000, 90 * MS).document();
    let text = export("hgrm", &document);
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.trim_start().starts_with(|first: char| first.is_ascii_digit()))
        .map(|line| line.split_whitespace().collect())
        .collect();
    let mut theirs =
        Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).expect("valid bounds");
    let times = &document.results.response_time.times.ok;
    for (bucket, count) in times.buckets() {
        theirs.record_n(lowest_in(bucket), count).expect("in range");
    }
    let expected: Vec<_> = theirs.iter_quantiles(5).collect();
    assert_eq!(rows.len(), expected.len());
    let mut reached = 0;
    for (row, line) in rows.iter().zip(expected) {
        reached += line.count_since_last_iteration();
        assert_eq!(row[0], format!("{:.3}", line.value_iterated_to() as f64 / 1e6));
        assert_eq!(row[1], format!("{:.12}", line.quantile_iterated_to()));
        assert_eq!(row[2], reached.to_string());
    }
    let number = |name: &str| {
        let found = text.split(name).nth(1).expect(name).trim_start_matches([' ', '=']);
        found.split([',', ']']).next().and_then(|word| word.trim().parse::<f64>().ok())
    };
    let near = |found: Option<f64>, ns: f64| {
        assert!((found.expect("a number") - ns / 1e6).abs() < 0.002, "{found:?} is not {ns} ns");
    };
    near(number("#[Mean"), theirs.mean());
    near(number("StdDeviation"), theirs.stdev());
    near(number("#[Max"), theirs.max() as f64);
}

/// HdrHistogram reads the log's histograms, with the percentiles of the series.
#[test]
fn the_interval_log_is_read_by_hdrhistogram() {
    let mut document = with_series(run(), 4, 1.0);
    document.series[3].phase = SeriesPhase::Tail;
    let text = export("hlog", &document);
    assert!(text.contains("#[Histogram log format version 1.3]\n"));
    let lines: Vec<&str> = text.lines().filter(|line| !line.starts_with(['#', '"'])).collect();
    assert_eq!(lines.len(), document.series.len());
    // HistogramLogProcessor reads lines without a tag, unless it is told otherwise.
    let tags = ["Tag=warmup,", "Tag=warmup,", "", "Tag=tail,"];
    for ((line, entry), tag) in lines.iter().zip(&document.series).zip(tags) {
        let line = line.strip_prefix(tag).unwrap_or_else(|| panic!("{line}"));
        let [_, length, greatest, packed] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        assert_eq!(length.parse::<f64>(), Ok(entry.length_s));
        let bytes = STANDARD.decode(packed).expect("base64");
        let histogram: Histogram<u64> =
            Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram");
        assert_eq!(histogram.len(), entry.completed);
        assert_eq!(Some(histogram.value_at_percentile(99.0)), entry.p99_ns);
        let max_ms = entry.max_ns.expect("a response") as f64 / 1e6;
        assert!((greatest.parse::<f64>().expect("a number") - max_ms).abs() < 0.001);
    }
}

/// JUnit has no word for "not known": a test that was not decided did not run.
#[test]
fn a_verdict_is_a_test_that_passes_fails_or_is_skipped() {
    let junit = |comparison, undecided| {
        let mut out = Vec::new();
        let findings =
            Findings::of(Source::Comparison(&comparison, None)).failing_undecided(undecided);
        let exporter = Exporter::named_of_findings("junit").expect("a format");
        exporter.write_findings(&findings, &TextOptions::default(), &mut out).expect("memory");
        String::from_utf8(out).expect("it is UTF-8")
    };
    for (answer, undecided, counts, element) in [
        (Answer::Equivalent, false, [0, 0, 0], "/>"),
        (Answer::Worse, false, [1, 0, 0], "><failure message=\"new is slower: Requests/s "),
        (Answer::Undecided, false, [0, 0, 1], "><skipped message=\"new is slower: Requests/s "),
        (Answer::None, false, [0, 0, 1], "><skipped message="),
        (Answer::Undecided, true, [1, 0, 0], "><failure message="),
    ] {
        let text = junit(compared("new", answer), undecided);
        let [failures, errors, skipped] = counts;
        let counts = format!("failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"");
        assert!(text.contains(&counts), "{answer:?}: {text}");
        let case = format!("name=\"rate: new is not slower than old\"{element}");
        assert!(text.contains(&case), "{answer:?}: {text}");
        assert!(text.contains("\n    <system-out>Comparison   A old, B new\n"), "{text}");
    }
    let mut apart = compared("new", Answer::None);
    apart.not_comparable = vec![Note::new("x", "another load")];
    let text = junit(apart, false);
    assert!(text.contains("failures=\"0\" errors=\"1\" skipped=\"0\""), "{text}");
    assert!(text.contains("<error message=\"not comparable: another load\""), "{text}");
}
