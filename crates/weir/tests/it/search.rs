//! The search for the highest rate: its accounting and its words. Rates depend on this machine, so
//! that none is expected here.

use std::process::Command;

use weir_result::Study;
use weir_result::study::{SearchEnd, StudyResult, StudyState, TrialUse};

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::serve::Serve;
use crate::support::weir::WEIR;

/// Short trials without waits.
const BRIEF: &str = "-t1 -d300ms --warmup 0 --witness off --no-settle";

fn search(objective: &str, words: &str) -> Output {
    let mut weir = Command::new(WEIR);
    weir.args(["search", objective]).args(words.split_whitespace());
    Process::start(&mut weir).wait()
}

fn loaded(path: &str) -> Study {
    Study::load(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Half of the requests at 100/s within 2 s is met by any server.
#[test]
fn a_rate_that_is_the_highest_allowed_is_a_lower_bound() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("search.json");
    let words = format!("{BRIEF} --max-rate 100 -o {file} {}", server.url());
    let output = search("p50 < 2s and errors < 50%", &words);
    assert_eq!(output.code(), 0, "{output:?}");
    for part in ["≥ 100.0/s with p50 < 2s and errors < 50%", "--max-rate", "closed loop", "good"]
    {
        assert!(output.stdout.contains(part), "{part}: {output:?}");
    }
    assert!(output.stderr.contains("trial 2 of at most 40: 100.0/s over 64"), "{output:?}");
    let kept = loaded(&file);
    assert_eq!(kept.state, StudyState::Complete);
    let Some(StudyResult::Search(found)) = &kept.result else { panic!("{:?}", kept.result) };
    assert_eq!((&found.end, found.upper), (&SearchEnd::AboveRange, None));
    let uses: Vec<TrialUse> = found.trials.iter().map(|trial| trial.used).collect();
    assert_eq!(uses, [TrialUse::Guess, TrialUse::Good, TrialUse::Good]);
    assert_eq!(found.lower.expect("a bound").requests, 60);
    // All that arrived is in a document.
    let sent: u64 = kept.measured().map(|(_, run)| run.accounting.sent.total).sum();
    assert_eq!(server.requests(), sent);
    let resumed = Process::start(Command::new(WEIR).args(["resume", &file])).wait();
    assert!(resumed.stderr.contains("is complete"), "{resumed:?}");
    assert!(resumed.stdout.contains("≥ 100.0/s"), "{resumed:?}");
}

/// Conditions that assertions and goodputs have are objectives, too.
#[test]
fn objectives_have_the_conditions_of_assertions() {
    let events = ["--events", "5", "--gap", "1ms", "--event-data", "tokens"];
    let server = Serve::start(&events);
    let directory = Directory::new();
    let file = directory.file("search.json");
    let goodput = "--goodput=ttft<10s";
    let tokens = "--tokens=json:/choices/0/delta/content";
    let words = format!("{BRIEF} --max-rate 40 -o {file} {tokens} {goodput} {}", server.url());
    let objective = "tpot p50 < 5s and under 5s > 50% and goodput > 50%";
    let output = search(objective, &words);
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(output.stdout.contains("≥ 40.0/s with tpot p50 < 5s and under 5s"), "{output:?}");
    let Some(StudyResult::Search(found)) = loaded(&file).result else { panic!("{output:?}") };
    assert_eq!(found.trials[1].shares, [0.0; 3], "{found:?}");
    // Plain responses have no tokens: no rate meets such an objective.
    let plain = Serve::start(&[]);
    let words = format!("{BRIEF} --max-rate 40 -o {file} {}", plain.url());
    let output = search("tpot.p50 < 5s", &words);
    let Some(StudyResult::Search(found)) = loaded(&file).result else { panic!("{output:?}") };
    assert_eq!((found.lower, &found.trials[1].shares[..]), (None, &[1.0][..]), "{output:?}");
}

/// No server responds within a microsecond.
#[test]
fn an_objective_that_no_rate_meets_is_reported() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("search.json");
    let words = format!("{BRIEF} --max-rate 40 -o {file} {}", server.url());
    let output = search("p50 < 1us", &words);
    assert_eq!(output.code(), 0, "{output:?}");
    let Some(StudyResult::Search(found)) = loaded(&file).result else { panic!("{output:?}") };
    assert!(found.lower.is_none(), "{found:?}");
    assert!(!output.stdout.contains("between"), "{output:?}");
}

/// A search that stopped has the trials that it made, and goes on with the next one.
#[test]
fn a_search_is_resumed_where_it_stopped() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("search.json");
    let ready = directory.file("ready");
    let before = format!("[ $WEIR_TRIAL != 3 ] || [ -e {ready} ]");
    let words = format!("{BRIEF} --max-rate 100 -o {file} {}", server.url());
    let mut weir = Command::new(WEIR);
    weir.args(["search", "p50 < 2s", "--before", &before]).args(words.split_whitespace());
    let output = Process::start(&mut weir).wait();
    assert_eq!(output.code(), 1, "{output:?}");
    assert_eq!(loaded(&file).measured().count(), 2, "{output:?}");
    std::fs::write(&ready, "").expect("a file");
    let words = ["resume", "--no-settle", "--run-commands", &file];
    let resumed = Process::start(Command::new(WEIR).args(words)).wait();
    assert_eq!(resumed.code(), 0, "{resumed:?}");
    assert!(resumed.stdout.contains("≥ 100.0/s"), "{resumed:?}");
    assert_eq!(loaded(&file).measured().count(), 3, "{resumed:?}");
}

#[test]
fn what_is_wrong_is_reported_before_the_first_trial() {
    for (objective, words, part) in [
        ("p99 > 5ms", "http://localhost:1/", "write it with <"),
        ("max < 5ms", "http://localhost:1/", "use p99.99"),
        ("goodput > 95%", "http://localhost:1/", "give --goodput"),
        ("p99 < 5ms and", "http://localhost:1/", "no comparison"),
        ("p99 < 5ms", "", "URL"),
        ("p99 < 5ms", "-R 100 http://localhost:1/", "--rate"),
        ("p99 < 5ms", "-n 100 http://localhost:1/", "--requests"),
        ("p99 < 5ms", "--drain 1s http://localhost:1/", "--drain"),
        ("p99 < 20s", "http://localhost:1/", "--timeout"),
        ("p99 < 5ms", "--width 0.1% http://localhost:1/", "1%"),
    ] {
        let output = search(objective, words);
        assert_eq!(output.code(), 2, "{objective} {words}: {output:?}");
        assert!(output.stderr.contains(part), "{objective} {words}: {output:?}");
        assert!(!output.stderr.contains("trial 1"), "{objective} {words}: {output:?}");
    }
}
