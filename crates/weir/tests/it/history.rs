//! The history: `--save`, and what `weir history` does with saved runs.

use std::fs;
use std::process::Command;
use weir_result::Document;

use serde_json::Value;

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::served::Served;
use crate::support::weir::{WEIR, weir};

/// A data directory of its own, in which weir begins its history.
struct Home(Directory);

impl Home {
    fn new() -> Home {
        Home(Directory::new())
    }

    fn weir(&self, words: &str, more: &[&str]) -> Output {
        let mut command = Command::new(WEIR);
        command.env("XDG_DATA_HOME", self.0.path()).env_remove("WEIR_HISTORY");
        Process::start(command.args(words.split_whitespace()).args(more)).wait()
    }

    /// Runs a short load with these words.
    fn run(&self, words: &str, url: &str) -> Output {
        let connections = if words.contains("-c") { "" } else { "-c2" };
        let words = format!("-n 200 {connections} --witness off {words}");
        self.weir(&words, &[url])
    }

    /// Runs an action of `weir history`, and checks that it succeeds.
    fn history(&self, words: &str) -> String {
        let output = self.weir(&format!("history {words}"), &[]);
        assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{words}: {output:?}");
        output.stdout
    }

    fn json(&self, words: &str) -> Value {
        let text = self.history(&format!("{words} --format json"));
        serde_json::from_str(&text).expect(&text)
    }

    /// Runs an action, and checks that it fails with 2 and a message that has `part`.
    fn check_wrong(&self, words: &str, part: &str) {
        let output = self.weir(&format!("history {words}"), &[]);
        assert_eq!((output.code(), output.stdout.as_str()), (2, ""), "{words}: {output:?}");
        assert!(output.stderr.starts_with("error: "), "{words}: {output:?}");
        assert!(output.stderr.contains(part), "{words}: {part} is not in\n{}", output.stderr);
        // A cause stands in its message once.
        let text = output.stderr.trim_end();
        assert!(!text.contains("Error code"), "{words}: {text}");
    }

    /// The history's file.
    fn file(&self) -> String {
        self.0.file("weir/history.db")
    }
}

fn ids(list: &Value) -> Vec<i64> {
    let runs = list["runs"].as_array().expect("a list of runs");
    runs.iter().map(|run| run["id"].as_i64().expect("an ID")).collect()
}

#[test]
fn saved_runs_are_listed_shown_tagged_and_removed() {
    let server = Served::plainly();
    let home = Home::new();
    let url = server.url();
    for (words, expected) in [
        ("--save nginx --tag v1", "saved as nginx #1\n"),
        ("--save nginx --tag v2 --tag main", "saved as nginx #2\n"),
        ("--save api", "saved as api #3\n"),
        ("--save nginx -q", ""),
    ] {
        let ran = home.run(words, &url);
        assert_eq!(ran.code(), 0, "{ran:?}");
        assert!(ran.stderr.ends_with(expected), "{ran:?}");
    }

    let text = home.history("list");
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("ID  Name   Time (UTC)"), "{text}");
    assert_eq!(lines.len(), 5, "{text}");
    assert!(lines[3].starts_with(" 2  nginx  ") && lines[3].ends_with("  main v2"), "{text}");
    let all = home.json("list");
    assert_eq!((&all["schema_version"], &all["kind"]), (&1.into(), &"history_list".into()));
    assert_eq!(ids(&all), [4, 3, 2, 1]);
    let names = ["rate", "p50", "p99", "errors"];
    let figures = all["runs"][0]["figures"].as_array().expect("figures");
    assert!(figures.iter().map(|of| of["metric"].as_str()).eq(names.map(Some)), "{all}");
    assert_eq!(ids(&home.json("list nginx -n 2")), [4, 2]);
    assert_eq!(ids(&home.json("list --tag v1")), [1]);

    let document = home.history("show nginx@2 --format json");
    let document = Document::from_json(document.as_bytes()).expect("a document");
    assert_eq!((document.results.outcomes.ok, document.plan.url.as_str()), (200, url.as_str()));
    let exported = home.0.file("run.json");
    let shown = home.history(&format!("show 2 --output {exported}"));
    assert_eq!(Document::load(&exported).expect("written"), document);
    assert_eq!(shown, weir("report", &[&exported]).stdout);
    assert_eq!(home.history("show #2 -o -"), home.history("show 2 --format json"));

    assert_eq!(home.history("tag nginx@2 ok"), "nginx #2: tags main ok v2\n");
    assert_eq!(home.history("tag 2 ok main v2 --remove"), "nginx #2: no tags\n");
    assert_eq!(home.history("remove 1 #4"), "removed #1 #4\n");
    assert_eq!(ids(&home.json("list")), [3, 2]);
    assert_eq!(home.history(&format!("add api {exported} --tag old")), "saved as api #5\n");
    home.check_wrong(&format!("add api {exported}"), "saved as api already: it is #5");
}

/// A saved run of a list has its names, and two runs of another list are another series.
#[test]
fn names_of_a_list_are_saved() {
    let server = Served::plainly();
    let home = Home::new();
    let list = |name: &str, rows: &str| {
        let file = home.0.file(name);
        fs::write(&file, rows).expect("the directory is the test's own");
        file
    };
    let one = list("one.txt", "/a\n/b\n");
    let other = list("other.txt", "/a\n/c\n");
    for file in [&one, &one, &other] {
        let output = home.run(&format!("--save listed --from {file}"), &server.url());
        assert_eq!(output.code(), 0, "{output:?}");
    }
    let document = home.json("show listed@2");
    let names = document["names"].as_array().expect("it has names").iter();
    let names: Vec<_> = names
        .map(|name| (name["name"].clone(), name["results"]["outcomes"]["ok"].clone()))
        .collect();
    let expected = ["GET /a", "GET /b"].map(|name| (Value::from(name), Value::from(100)));
    assert_eq!(names, expected);
    let shown = home.history("show listed@2");
    assert!(shown.contains("Requests by name") && shown.contains("GET /b "), "{shown}");
    let trend = home.history("trend listed");
    assert!(trend.contains("Series") && trend.contains("2 runs"), "{trend}");
}

#[test]
fn a_trend_has_each_run_and_a_series_per_plan() {
    let server = Served::plainly();
    let home = Home::new();
    for words in ["--save a", "--save a", "--save a -c1"] {
        let ran = home.run(words, &server.url());
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
    // A server that is gone: its run is saved too, and left out of the trend.
    let url = server.url();
    drop(server);
    let failed = home.run("--save a --no-preflight --timeout 1s", &url);
    assert_eq!(failed.code(), 1, "{failed:?}");
    assert!(failed.stderr.contains("saved as a #4\n"), "{failed:?}");

    let trend = home.json("trend a --metric p50,service.mean");
    let series = trend["series"].as_array().expect("a list");
    let counts: Vec<_> = series.iter().map(|of| of["runs"].as_array().map(Vec::len)).collect();
    assert_eq!(counts, [Some(2), Some(1)], "{trend}");
    assert_eq!(series[0]["plan"]["load"]["connections"], 2);
    assert!(series[0]["runs"][1]["values"]["service.mean"]["value"].is_number(), "{trend}");
    let text = home.history("trend a");
    for part in
        ["a: 3 runs; left out: 1 ", "Series 1 of 2: 2 runs", "plan.load.connections: 2 → 1\n"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn mistakes_have_an_error() {
    let server = Served::plainly();
    let home = Home::new();
    assert_eq!(home.history("list"), "no runs: weir --save NAME URL saves one\n");
    home.check_wrong("show nginx", "there is no history at ");
    assert_eq!(home.run("--save nginx", &server.url()).code(), 0);
    for (words, part) in [
        ("show nginy", "no run is saved as nginy: saved are nginx"),
        ("show nginx@2", "nginx@2 is not there: the number of runs under this name is 1"),
        ("show 7", "there is no run #7"),
        ("trend nginx --metric p98", "'p98' is not among the percentiles"),
        ("trend 7", "a number is the ID of a run"),
        ("tag nginx", "required arguments were not provided"),
        ("remove nginx", "is no ID: weir history list prints the IDs"),
        ("add x Cargo.lock.none", "Cargo.lock.none cannot be saved: failed to read"),
        ("lsit", "'list'"),
        ("list --history /", "history /: unable to open database file"),
        ("list --history /proc/none.db", "there is no history at /proc/none.db"),
    ] {
        home.check_wrong(words, part);
    }
    for (words, part) in [
        ("--save a/b", "use letters, digits and -_.:+ only"),
        ("--save 12", "a number is the ID of a run: add a letter"),
        ("--tag v1", "--tag has no effect without --save NAME"),
        ("--save a --part 1/2 -t2", "weir history add"),
        ("--save a --history /proc/x/h.db", "choose another place with --history FILE"),
    ] {
        let ran = home.run(words, &server.url());
        assert_eq!((ran.code(), ran.stdout.as_str()), (2, ""), "{ran:?}");
        assert!(ran.stderr.contains(part), "{part} is not in\n{}", ran.stderr);
    }
    assert_eq!(ids(&home.json("list")), [1]);
}

#[test]
fn secrets_are_not_in_the_history() {
    let server = Served::plainly();
    let home = Home::new();
    let secret = "SECRET-e3b0c442";
    let words = format!("--save a --redact token -u me:{secret} -H Cookie:{secret}");
    let ran = home.run(&words, &format!("{}?token={secret}", server.url()));
    assert_eq!(ran.code(), 0, "{ran:?}");
    // In the columns, and in the document, which is compressed.
    for name in fs::read_dir(home.0.path().join("weir")).expect("a directory") {
        let bytes = fs::read(name.expect("an entry").path()).expect("a file");
        let has = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
        assert!(!has(secret.as_bytes()) && !has(b"bWU6U0VDUkVULWUzYjBjNDQy"));
        assert!(has(b"[redacted]"), "the command line is in the file");
    }
    let document = home.history("show a -o -");
    assert!(!document.contains(secret) && document.contains("[redacted]"), "{document}");
}

/// The history is spoiled while the load runs, by its script: a run is never lost for it.
#[test]
fn a_save_that_fails_keeps_the_report() {
    let server = Served::plainly();
    let home = Home::new();
    let script = home.0.file("spoil.lua");
    let output = home.0.file("run.json");
    let spoil = format!(
        "function request()\n  local file = io.open('{}', 'w')\n  \
         file:write(string.rep('spoiled', 1000))\n  file:close()\n  return wrk.format()\nend\n",
        home.file()
    );
    fs::write(&script, spoil).expect("a file");
    let ran = home.run(&format!("--save a -s {script} -o {output}"), &server.url());
    assert_eq!(ran.code(), 74, "{ran:?}");
    let message = "error: --save cannot be written: history ";
    assert!(ran.stderr.contains(message), "{ran:?}");
    assert!(ran.stderr.contains("move it away, or give another file with --history"), "{ran:?}");
    assert!(ran.stdout.contains("Throughput") && ran.stdout.contains("p50"), "{ran:?}");
    assert_eq!(Document::load(&output).expect("written").results.outcomes.ok, 200);
}

/// Two runs at once both save, and the first of them begins the history.
#[test]
fn runs_at_the_same_time_all_save() {
    let server = Served::plainly();
    let home = Home::new();
    let start = |_| {
        let mut command = Command::new(WEIR);
        command.env("XDG_DATA_HOME", home.0.path()).env_remove("WEIR_HISTORY");
        Process::start(command.args(["-n", "200", "-c2", "--save", "a", &server.url()]))
    };
    let running: Vec<Process> = (0..4).map(start).collect();
    for process in running {
        let ran = process.wait();
        assert_eq!(ran.code(), 0, "{ran:?}");
    }
    assert_eq!(ids(&home.json("list a")).len(), 4);
}

#[test]
fn a_trend_has_a_page_and_a_table() {
    let home = Home::new();
    let server = Served::plainly();
    for tag in ["v1", "v2"] {
        let saved = home.run(&format!("-q --save a --tag {tag}"), &server.url());
        assert_eq!(saved.code(), 0, "{saved:?}");
    }
    let [page, csv] = ["t.html", "t.csv"].map(|name| home.0.file(name));
    let text = home.history(&format!("trend a --metric p50 -o {page} --export csv={csv}"));
    assert!(text.starts_with("a: 2 runs\n"), "{text}");
    let page = fs::read_to_string(page).expect("a page");
    assert!(page.contains("<figure class=\"plot\" id=\"trend-1-1\">") && page.contains("v2"));
    let csv = fs::read_to_string(csv).expect("a table");
    assert_eq!(csv.lines().count(), 3, "{csv}");
    assert!(
        csv.starts_with("series,id,time,grade,tags,metric,unit,value,low,high,bound,change\r\n")
    );
    let markdown = home.history("trend a --metric p50 --format markdown");
    assert!(markdown.starts_with("### Trend · a · 2 runs\n"), "{markdown}");
    let json = home.0.file("t.json");
    home.history(&format!("trend a --metric p50 -o {json}"));
    let json: Value =
        serde_json::from_str(&fs::read_to_string(json).expect("a file")).expect("JSON");
    assert_eq!(json["series"].as_array().map(Vec::len), Some(1), "{json}");
    home.check_wrong("trend a -o t.hgrm", "hgrm is for single runs");
    home.check_wrong("trend a --format junit", "the result has no verdict");
    home.check_wrong("trend a --export hlog=x", "hlog is for single runs");
}
