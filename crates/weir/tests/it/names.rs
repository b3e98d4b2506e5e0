//! Metrics of the requests with one name of a list: in assertions, searches, comparisons and the
//! history. A name that no request has is an error before anything is sent.

use std::fs;
use std::net::TcpListener;
use std::process::Command;

use serde_json::Value;
use weir_result::AssertionOutcome::{self, Fail, Pass};
use weir_result::study::{SearchEnd, StudyResult};
use weir_result::{Document, Study};

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::raw::{OK, Raw};
use crate::support::serve::Serve;
use crate::support::weir::{WEIR, weir};

/// A short closed loop without a preflight, a probe and a probe thread.
const BRIEF: &str = "-n 40 -c 2 -t 1 --warmup 0 --witness off --no-preflight";

/// A list with the names `checkout` and `GET /a, b: c`.
const LIST: &str = "{\"url\": \"/buy\", \"name\": \"checkout\"}\n\
                    {\"url\": \"/a\", \"name\": \"GET /a, b: c\"}\n";

/// A directory in which tests run weir, with the list in a file.
struct Place(Directory);

impl Place {
    fn new() -> Place {
        let directory = Directory::new();
        let place = Place(directory);
        place.write("list.jsonl", LIST);
        place
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.file(name), text).expect("the directory is the test's own");
    }

    /// Runs weir with these words, then `more`.
    fn weir(&self, words: &str, more: &[&str]) -> Output {
        let mut weir = Command::new(WEIR);
        weir.current_dir(self.0.path()).env("WEIR_HISTORY", self.0.file("history.db"));
        Process::start(weir.args(words.split_whitespace()).args(more)).wait()
    }

    /// Runs weir, and checks the exit status and a part of the output.
    #[track_caller]
    fn says(&self, words: &str, more: &[&str], code: i32, part: &str) {
        let output = self.weir(words, more);
        assert_eq!(output.code(), code, "{words} {more:?}: {output:?}");
        // Wherever the lines break.
        let text = format!("{} {}", output.stdout, output.stderr);
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(text.contains(part), "{words} {more:?}: {part}: {output:?}");
    }
}

#[test]
fn assertions_about_names_judge_runs_and_documents() {
    let place = Place::new();
    // Checkouts fail, and the other requests do not.
    let server = Raw::start(|connection| {
        while let Some(request) = connection.read_request()? {
            connection.count_request();
            let failed = "HTTP/1.1 500 no\r\nContent-Length: 0\r\n\r\n";
            connection.write(if request.starts_with("GET /buy ") { failed } else { OK })?;
        }
        Ok(())
    });
    let check = |claims: &[(&str, AssertionOutcome)], code: i32| {
        let claimed: Vec<&str> = claims.iter().flat_map(|(claim, _)| ["--assert", claim]).collect();
        let url = server.url();
        let words = format!("{BRIEF} -q --from list.jsonl -o run.json");
        let run = place.weir(&words, &[&claimed[..], &[&url]].concat());
        assert_eq!(run.code(), code, "{run:?}");
        let document = Document::load(place.0.file("run.json")).expect("a document");
        let outcomes = document.assertions.iter();
        let outcomes: Vec<_> =
            outcomes.map(|result| (result.assertion.as_str(), result.outcome)).collect();
        assert_eq!(outcomes, claims);
        let again = place.weir("report", &[&claimed[..], &["run.json"]].concat());
        assert_eq!(again.code(), code, "{again:?}");
    };
    check(
        &[
            ("GET /a, b: c: errors == 0", Pass),
            ("GET /a, b: c: status.2xx.count == 20", Pass),
            ("GET /a, b: c: max < 1h", Pass),
            ("GET /a, b: c: rate > 0", Pass),
            ("checkout: status.500.count == 20", Pass),
            ("checkout: good <= 0", Pass),
            ("checkout: bad_response > 50%", Pass),
            ("errors > 10%", Pass),
        ],
        0,
    );
    check(&[("checkout: errors == 0", Fail), ("GET /a, b: c: errors == 0", Pass)], 3);
    // No checkout was successful: a time over responses alone is not known.
    check(&[("checkout: mean < 1h", Fail)], 3);
    place.says("report --assert", &["chekout: errors == 0", "run.json"], 2, "'checkout'?");
}

#[test]
fn an_unknown_name_is_an_error_before_anything_is_sent() {
    let place = Place::new();
    let server = Raw::answering(OK);
    let url = server.url();
    let listed = format!("{BRIEF} --from list.jsonl {url}");
    let brief = format!("{BRIEF} {url}");
    let hint = "no request has the name 'chekout': did you mean 'checkout'?";
    place.says(&listed, &["--assert", "chekout: p99 < 5ms"], 2, hint);
    place.says(&listed, &["--assert", "x: p99 < 5ms"], 2, "has 'checkout', 'GET /a, b: c'");
    place.says(&brief, &["--assert", "checkout: p99 < 5ms"], 2, "the run has no list");
    place.says(&listed, &["--assert", "checkout: connect.p99 < 5ms"], 2, "of the whole run");
    let metric = ["--metric", "rate,chekout: p99"];
    place.says(&format!("repeat {listed}"), &metric, 2, hint);
    let sweep = format!("sweep {BRIEF} --from list.jsonl --vary c=1,2 {url}");
    place.says(&sweep, &metric, 2, "(variant c=1)");
    let ab = format!("ab -R 500 -d 100ms {url}");
    let variants = ["-a", "--from list.jsonl", "-b", "-c 3", "--metric", "checkout: p99"];
    place.says(&ab, &variants, 2, "no list of requests, so that its metrics have no name before");
    let search = format!("--from list.jsonl {url}");
    let objective = ["chekout: p99 < 5ms and errors < 1%"];
    let words: Vec<&str> = objective.into_iter().chain(search.split(' ')).collect();
    place.says("search", &words, 2, hint);
    assert_eq!(server.finish(), 0);
}

/// A name beyond the 16 of the greatest weights has no slices, by which a search judges.
#[test]
fn a_search_refuses_a_name_without_slices() {
    let place = Place::new();
    let server = Raw::answering(OK);
    let heavy = |row: u32| format!("{{\"url\": \"/{row}\", \"weight\": 2}}\n");
    let rows: String = (0..16).map(heavy).chain(["{\"url\": \"/rare\"}\n".to_owned()]).collect();
    place.write("many.jsonl", &rows);
    let url = server.url();
    let more = ["GET /rare: p99 < 5ms", "--from", "many.jsonl", &url];
    place.says("search", &more, 2, "a search needs slices");
    assert_eq!(server.finish(), 0);
}

/// A closed loop of a list that cannot connect: all requests are never sent, under their names.
#[test]
fn requests_of_a_list_that_are_never_sent_have_names() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("it is bound"));
    // Nothing listens there, since the port is bound and closed.
    drop(listener);
    let words = format!("{BRIEF} -q --from list.jsonl -o run.json {url}");
    assert_eq!(place.weir(&words, &[]).code(), 1);
    let document = Document::load(place.0.file("run.json")).expect("a document");
    let never_sent: Vec<u64> =
        document.names.iter().map(|name| name.results.outcomes.never_sent).collect();
    assert_eq!((document.results.planned, &never_sent[..]), (40, &[20, 20][..]));
}

/// Half of the checkouts at 100/s within 2 s is met by any server.
#[test]
fn a_search_has_claims_about_names() {
    let place = Place::new();
    let server = Serve::start(&[]);
    let objective = "checkout: p50 < 2s and errors < 50%";
    let words = "-t1 -d300ms --warmup 0 --witness off --no-settle --max-rate 100 -o search.json";
    let words: Vec<&str> = words.split(' ').chain(["--from", "list.jsonl"]).collect();
    let url = server.url();
    let output = place.weir("search", &[&[objective], &words[..], &[&url]].concat());
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(output.stdout.contains(&format!("≥ 100.0/s with {objective}")), "{output:?}");
    let kept = Study::load(place.0.file("search.json")).expect("a study");
    let Some(StudyResult::Search(found)) = kept.result else { panic!("{:?}", kept.result) };
    assert_eq!(found.end, SearchEnd::AboveRange, "{found:?}");
    // Two trials of 30 requests each; half of them are checkouts.
    let lower = found.lower.expect("a bound");
    let claim = &found.claims[lower.claim as usize];
    let expected = if claim.text.starts_with("checkout") { 30 } else { 60 };
    assert_eq!(lower.requests, expected, "{found:?}");
}

#[test]
fn comparisons_and_trends_have_metrics_of_names_and_name_other_lists() {
    let place = Place::new();
    let server = Serve::start(&[]);
    place.write("other.jsonl", &LIST.replace("/buy", "/sell"));
    let run = |file: &str, words: &str| {
        let load = "-R 50 -n 40 -c 2 -t 1 --warmup 0 --witness off --no-preflight";
        let words = format!("{load} -q --save shop {words} -o {file} {}", server.url());
        assert_eq!(place.weir(&words, &[]).code(), 0, "{words}");
    };
    run("a.json", "--from list.jsonl --order random --seed 1");
    run("b.json", "--from list.jsonl --order random --seed 2");
    run("c.json", "--from other.jsonl --order random --seed 1");
    run("d.json", "");
    let metrics = ["--metric", "checkout: rate,GET /a, b: c: p50,rate"];
    let compared = place.weir("compare a.json b.json --format json", &metrics);
    assert_eq!(compared.code(), 0, "{compared:?}");
    let json: Value = serde_json::from_str(&compared.stdout).expect("JSON");
    let found = json.pointer("/comparison").expect("a comparison");
    let names = found["metrics"].as_array().expect("metrics").iter().map(|one| &one["metric"]);
    assert_eq!(names.collect::<Vec<_>>(), ["checkout: rate", "GET /a, b: c: p50", "rate"]);
    let reasons = found["not_comparable"].to_string();
    assert!(!reasons.contains("load plans"), "another seed is no other list: {found}");
    let different = "the load plans differ: list.sha256 is ";
    place.says("compare a.json c.json", &metrics, 0, different);
    place.says("compare a.json d.json --metric rate", &[], 0, "and none");
    place.says("compare a.json d.json", &metrics, 2, "no list of requests");
    place.says("compare a.json c.json", &["--metric", "chekout: p50"], 2, "'checkout'?");
    place.says("history trend shop", &metrics, 0, "plan.list.sha256: ");
    place.says("history trend shop", &metrics, 0, "Series 3 of 3");
    place.says("history trend shop", &["--metric", "cart: p50"], 2, "(in none of the runs)");
}

/// The probe repeats the first request with a safe method. Its name counts if no other request has
/// it.
#[test]
fn a_plan_has_the_name_of_the_probed_request() {
    let place = Place::new();
    let server = Raw::answering(OK);
    let probed = |rows: &str| {
        place.write("rows.jsonl", rows);
        let plan = weir("--print-plan --from", &[&place.0.file("rows.jsonl"), &server.url()]);
        let plan: Value = serde_json::from_str(&plan.stdout).expect(&plan.stderr);
        plan.pointer("/list/probed").and_then(Value::as_u64)
    };
    let put = "{\"url\": \"/put\", \"method\": \"PUT\"}\n";
    let a = "{\"url\": \"/a\"}\n";
    let b = "{\"url\": \"/b\"}\n";
    assert_eq!(probed(&format!("{a}{b}")), Some(0));
    assert_eq!(probed(&format!("{put}{a}{b}")), Some(1));
    assert_eq!(probed(put), None);
    assert_eq!(probed(&format!("{a}{b}{a}")), Some(0), "the same request twice");
    assert_eq!(probed(&format!("{a}{b}{{\"url\": \"/a?query\"}}\n")), None);
    assert_eq!(
        probed(&format!("{a}{}", put.replace("/put\"", "/put\", \"name\": \"GET /a\""))),
        None
    );
    assert_eq!(server.finish(), 0);
}
