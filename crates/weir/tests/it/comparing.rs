//! Documents compared with each other, and runs repeated from their documents.

use std::fs;
use std::process::Command;
use weir_result::Document;

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::serve::Serve;
use crate::support::weir::{WEIR, weir};

/// A short run of one thread.
const BRIEF: &str = "-q -t1 --warmup 0 --witness off -n 200";

/// Runs a load whose document goes to a file of the directory.
fn run(directory: &Directory, name: &str, words: &str, url: &str) -> String {
    let file = directory.file(name);
    let connections = if words.contains("-c") { "" } else { "-c2" };
    let output = weir(&format!("{BRIEF} {connections} {words} -o {file} {url}"), &[]);
    assert_eq!(output.code(), 0, "{output:?}");
    file
}

/// Runs weir in the directory.
fn within(directory: &Directory, words: &[&str]) -> Output {
    Process::start(Command::new(WEIR).current_dir(directory.path()).args(words)).wait()
}

#[test]
fn two_runs_give_facts_and_no_verdict() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    run(&directory, "a.json", "", &server.url());
    run(&directory, "b.json", "", &server.url());
    let output = within(&directory, &["compare", "a.json", "b.json"]);
    assert_eq!(output.code(), 0, "{output:?}");
    for part in ["two runs", "cannot decide", "weir ab", "Requests/s", "p99"] {
        assert!(output.stdout.contains(part), "{part}: {output:?}");
    }
    for absent in ["faster", "slower", "Interval"] {
        assert!(!output.stdout.contains(absent), "{absent}: {output:?}");
    }
    let gated = within(&directory, &["compare", "--fail-on", "undecided", "a.json", "b.json"]);
    assert_eq!(gated.code(), 3, "{gated:?}");
}

#[test]
fn sets_of_six_are_tested_with_a_warning() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    for number in 0..6 {
        run(&directory, &format!("old-{number}.json"), "", &server.url());
        run(&directory, &format!("new-{number}.json"), "", &server.url());
    }
    let sets = ["compare", "--base", "old-*.json", "--new", "new-*.json"];
    let output = within(&directory, &sets);
    assert_eq!(output.code(), 0, "{output:?}");
    // Wherever the lines break.
    let text = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["NOT_INTERLEAVED", "6 and 6", "95% CI", "p50"] {
        assert!(text.contains(part), "{part}: {output:?}");
    }
    let json = within(&directory, &[&sets[..], &["--format", "json"]].concat());
    let json: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    assert_eq!(json.pointer("/comparison/pairing"), Some(&"sets".into()));
    assert_eq!(json.pointer("/comparison/base/runs"), Some(&6.into()));
    let none = within(&directory, &["compare", "--base", "old-*.json", "--new", "none-*.json"]);
    assert!(none.code() == 2 && none.stderr.contains("matches no file"), "{none:?}");
}

#[test]
fn a_name_stands_for_its_saved_runs() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let file = run(&directory, "a.json", "", &server.url());
    let saved = |words: &[&str]| {
        let mut command = Command::new(WEIR);
        command.current_dir(directory.path()).env("WEIR_HISTORY", directory.file("history.db"));
        Process::start(command.args(words)).wait()
    };
    let output = saved(&["history", "add", "base", &file]);
    assert_eq!(output.code(), 0, "{output:?}");
    let output = saved(&["compare", "base@1", "a.json"]);
    assert!(output.code() == 0 && output.stdout.contains("two runs"), "{output:?}");
    let output = saved(&["compare", "absent", "a.json"]);
    assert_eq!(output.code(), 2, "{output:?}");
    assert!(output.stderr.contains("no such file, and no saved run"), "{output:?}");
}

#[test]
fn other_loads_and_failed_runs_are_not_compared() {
    let server = Serve::start(&[]);
    let failing = Serve::start(&["--status", "500"]);
    let directory = Directory::new();
    run(&directory, "a.json", "", &server.url());
    run(&directory, "c.json", "-c3", &server.url());
    let output = within(&directory, &["compare", "a.json", "c.json"]);
    let differ = "the load plans differ: load.connections is 2 and";
    assert!(output.stdout.contains(differ), "{output:?}");
    let words = format!("{BRIEF} -o f.json {}", failing.url());
    let failed = within(&directory, &words.split_whitespace().collect::<Vec<_>>());
    assert_eq!(failed.code(), 1, "{failed:?}");
    let output = within(&directory, &["compare", "a.json", "f.json"]);
    assert!(output.stdout.contains("runs of B are graded failed or void"), "{output:?}");
}

#[test]
fn a_run_is_repeated_exactly() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    fs::write(directory.file("body"), "abc").expect("a file");
    let body = directory.file("body");
    let words = format!("-R 500 --arrivals poisson -b @{body}");
    let first = run(&directory, "a.json", &words, &server.url());
    let output = within(&directory, &["rerun", "-o", "b.json", "a.json"]);
    assert_eq!(output.code(), 0, "{output:?}");
    let load = |path: &str| Document::load(path).expect("a document");
    let one = load(&first);
    let two = load(&directory.file("b.json"));
    assert!(one.run.plan_sha256.is_some() && one.run.plan_sha256 == two.run.plan_sha256);
    assert_eq!((one.plan, one.run.inputs), (two.plan, two.run.inputs));
    fs::write(body, "abd").expect("a file");
    let changed = within(&directory, &["rerun", "a.json"]);
    assert_eq!(changed.code(), 2, "{changed:?}");
    assert!(changed.stderr.contains("is not the file that was specified"), "{changed:?}");
}

#[test]
fn commands_of_a_file_are_shown_before_they_run() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    fs::write(directory.file("s.lua"), "os.execute('touch ' .. 'ran')").expect("a file");
    let capture = "touch ran; echo ok";
    let words = ["--capture", capture, "-s", "s.lua", "-o", "a.json", &server.url()];
    let output = within(&directory, &[&BRIEF.split(' ').collect::<Vec<_>>()[..], &words].concat());
    assert_eq!(output.code(), 0, "{output:?}");
    let has_run = || fs::remove_file(directory.file("ran")).is_ok();
    assert!(has_run());
    let refused = within(&directory, &["rerun", "a.json"]);
    assert!(refused.code() == 2 && !has_run(), "{refused:?}");
    for part in ["--capture \"touch ran; echo ok\"\n", "--script \"s.lua\"\n"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    let refused = within(&directory, &["rerun", "--capture", capture, "a.json"]);
    assert!(refused.code() == 2 && !has_run(), "{refused:?}");
    for words in [&["--run-commands"][..], &["--capture", capture, "--script", "s.lua"]] {
        let output = within(&directory, &[&["rerun"], words, &["a.json"]].concat());
        assert!(output.code() == 0 && has_run(), "{output:?}");
    }
}

#[test]
fn another_plan_is_refused_and_named() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let file = run(&directory, "a.json", "-d1s", &server.url());
    // As if this weir planned the specification in another way.
    let other = with_load(&file, &[("duration_ns", 2_000_000_000), ("connections", 3)]);
    fs::write(&file, other).expect("a file");
    let refused = within(&directory, &["rerun", "a.json"]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    let named =
        "plan.load.connections is 2 and 3; plan.load.duration is 1 s and 2 s (recorded and now)";
    assert!(refused.stderr.contains(named), "{refused:?}");
}

/// Returns a document whose specification has another load.
fn with_load(file: &str, fields: &[(&str, u64)]) -> String {
    let text = fs::read_to_string(file).expect("a document");
    let mut document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let load = document.pointer_mut("/run/spec/load").expect("a specification");
    fields.iter().for_each(|(name, value)| load[*name] = (*value).into());
    document.to_string()
}

#[test]
fn a_run_is_repeated_with_a_named_change() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    run(&directory, "a.json", "", &server.url());
    let words = "rerun -R 400 -c3 -d 300ms --note why=more --assert errors==0 -o b.json a.json";
    let output = within(&directory, &words.split(' ').collect::<Vec<_>>());
    assert_eq!(output.code(), 0, "{output:?}");
    let document = Document::load(directory.file("b.json")).expect("a document");
    let note = document.notes.iter().find(|note| note.code == "rerun_changed").expect("a note");
    let text = "400/s in the place of a closed loop, 3 connections in the place of 2, 300 ms \
                in the place of ";
    assert!(note.text.contains(text), "{note:?}");
    assert_eq!((document.plan.load.connections.count(), document.assertions.len()), (3, 1));
    assert_eq!(document.run.annotations.get("why").map(String::as_str), Some("more"));
    let command = document.run.command.unwrap_or_default();
    assert_eq!(command.get(1).map(String::as_str), Some("rerun"), "{command:?}");
}

#[test]
fn a_document_without_a_specification_has_its_command_line() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let file = run(&directory, "a.json", "", &server.url());
    let text = fs::read_to_string(&file).expect("a document");
    let mut document: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    document["run"].as_object_mut().expect("an object").remove("spec");
    fs::write(&file, document.to_string()).expect("a file");
    let refused = within(&directory, &["rerun", "a.json"]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    let (_, line) = refused.stderr.split_once("type its command line: ").expect("a remedy");
    assert!(line.contains(BRIEF) && line.contains(&server.url()), "{refused:?}");
}

#[test]
fn a_specification_is_written_and_run() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let words = format!("{BRIEF} -R 300 --arrivals poisson -H Cookie:TOPSECRET {}", server.url());
    let words: Vec<&str> = words.split_whitespace().collect();
    let printed = within(&directory, &[&["--print-spec"][..], &words].concat());
    assert_eq!(printed.code(), 0, "{printed:?}");
    assert!(!printed.stdout.contains("TOPSECRET"), "{printed:?}");
    fs::write(directory.file("s.json"), &printed.stdout).expect("a file");
    let lacking = within(&directory, &["--spec", "s.json"]);
    assert!(lacking.code() == 2 && lacking.stderr.contains("with --header"), "{lacking:?}");
    let digest = |words: &[&str], file: &str| {
        let words = [words, &["-q", "-o", file, "--spec", "s.json", "-H", "Cookie: x"]].concat();
        let output = within(&directory, &words);
        assert_eq!(output.code(), 0, "{output:?}");
        let document = Document::load(directory.file(file)).expect("a document");
        document.run.plan_sha256.expect("a digest")
    };
    let of_spec = digest(&[], "a.json");
    assert_eq!(of_spec, digest(&["--assert", "errors == 0"], "b.json"));
    // The words have drawn another seed.
    let seed = serde_json::from_str::<serde_json::Value>(&printed.stdout).expect("JSON");
    let seed = seed.pointer("/load/due/curve/arrivals/seed");
    let seed = seed.map(ToString::to_string).unwrap_or_else(|| panic!("{printed:?}"));
    let given = [&["-q", "-o", "c.json", "--seed", &seed][..], &words].concat();
    assert_eq!(within(&directory, &given).code(), 0);
    let document = Document::load(directory.file("c.json")).expect("a document");
    assert_eq!(document.run.plan_sha256, Some(of_spec));
    for (text, part) in [
        (r#"{"version": 2, "target": {"url": "http://h/"}, "lod": 1}"#, "lod: unknown field"),
        (r#"{"version": 9, "target": {"url": "http://h/"}}"#, "version: it is 9"),
    ] {
        fs::write(directory.file("wrong.json"), text).expect("a file");
        let wrong = within(&directory, &["--spec", "wrong.json"]);
        assert!(wrong.code() == 2 && wrong.stderr.contains(part), "{wrong:?}");
        assert!(wrong.stderr.contains("--spec wrong.json"), "{wrong:?}");
    }
}

#[test]
fn a_file_is_not_sent_without_consent() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    fs::write(directory.file("body"), "abc").expect("a file");
    let words = format!("{BRIEF} --print-spec -b @body {}", server.url());
    let printed = within(&directory, &words.split(' ').collect::<Vec<_>>());
    fs::write(directory.file("s.json"), &printed.stdout).expect("a file");
    let refused = within(&directory, &["-q", "--spec", "s.json"]);
    assert!(refused.code() == 2 && refused.stderr.contains("the content of body"), "{refused:?}");
    assert_eq!(server.requests(), 0);
    let allowed = within(&directory, &["-q", "--spec", "s.json", "--run-commands"]);
    assert_eq!(allowed.code(), 0, "{allowed:?}");
}

#[test]
fn redacted_values_are_given_again() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    run(&directory, "a.json", "-u me:TOPSECRET", &server.url());
    let refused = within(&directory, &["rerun", "a.json"]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(refused.stderr.contains("basic authentication"), "{refused:?}");
    // Digests cover no secret: one of another length makes the same run.
    let other = ["rerun", "-o", "b.json", "-u", "me:TOPSECRET-TWO", "a.json"];
    let given = within(&directory, &other);
    assert_eq!(given.code(), 0, "{given:?}");
    let text = fs::read_to_string(directory.file("b.json")).expect("a document");
    assert!(!text.contains("TOPSECRET"), "{text}");
    let odd = within(&directory, &["rerun", "-H", "X-Key: 1", "-u", "me:x", "a.json"]);
    assert!(odd.code() == 2 && odd.stderr.contains("no redacted header"), "{odd:?}");
}
