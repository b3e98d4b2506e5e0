//! One run on several machines: parts that run by themselves, and their merged report.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};
use weir_result::Document;

use serde_json::Value;
use weir_result::document::NameSection;

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::served::Served;
use crate::support::weir::{self, WEIR, weir};

/// Runs all parts of a load at once, and returns their documents.
fn run_parts(count: u32, words: &str, url: &str) -> (Directory, Vec<String>) {
    let directory = Directory::new();
    let files: Vec<String> =
        (1..=count).map(|index| directory.file(&format!("{index}.json"))).collect();
    let start = |(index, file): (u32, &String)| {
        let mut command = Command::new(WEIR);
        command.args(["--part", &format!("{index}/{count}"), "-o", file, "--drain", "10s"]);
        Process::start(command.args(["--no-verdict"]).args(words.split_whitespace()).arg(url))
    };
    let running: Vec<Process> = (1..).zip(&files).map(start).collect();
    for process in running {
        let output = process.wait();
        assert_eq!(output.code(), 0, "{output:?}");
        let mut head = output.stdout.lines().take(3);
        assert!(head.any(|line| line.contains("  part ")), "{output:?}");
    }
    (directory, files)
}

/// Sets the clock of each part, so that all windows began at once however busy this machine is, but
/// `late_ns` later in the last.
fn set_clocks(files: &[String], late_ns: u64) {
    for (index, file) in files.iter().enumerate() {
        edit(file, |document| {
            let start_ns = document["phases"][0]["start_ns"].as_u64().expect("a time");
            let late_ns = if index + 1 == files.len() { late_ns } else { 0 };
            document["run"]["epoch_unix_ns"] =
                (1_767_323_045_000_000_000 + late_ns - start_ns).into();
        });
    }
}

fn edit(file: &str, change: impl FnOnce(&mut Value)) {
    let text = std::fs::read(file).expect("it was written");
    let mut document = serde_json::from_slice(&text).expect("JSON");
    change(&mut document);
    std::fs::write(file, document.to_string()).expect("it can be written");
}

fn report(words: &str, files: &[&String]) -> Output {
    weir(&format!("report {words}"), &files.iter().map(|file| file.as_str()).collect::<Vec<_>>())
}

/// The index of the first line with this label.
fn line_of(text: &str, label: &str) -> Option<usize> {
    text.lines().position(|line| line.trim_start().starts_with(label))
}

/// The merged document of a list has the names of all parts, and the table of them.
#[test]
fn parts_of_a_list_are_merged_by_name() {
    let server = Served::plainly();
    let lists = Directory::new();
    let list = lists.file("list.jsonl");
    let rows = "{\"url\": \"/a\", \"weight\": 2}\n{\"url\": \"/b\", \"name\": \"second\"}\n";
    std::fs::write(&list, rows).expect("the directory is the test's own");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    let start = now + 3;
    let words = format!("-t2 -c4 -R 300 -d1s --warmup 0 --start-at {start} --from {list}");
    let (directory, files) = run_parts(2, &words, &server.url());
    set_clocks(&files, 0);
    let parts: Vec<_> =
        files.iter().map(|file| Document::load(file).expect("it was written")).collect();
    let merged = directory.file("merged.json");
    let all = report(&format!("-o {merged}"), &[&files[1], &files[0]]);
    assert_eq!(all.code(), 0, "{all:?}");
    let document = Document::load(&merged).expect("it was written");
    let names = document.names.iter().map(|name| (name.name.as_str(), name.results.planned));
    assert_eq!(names.collect::<Vec<_>>(), [("GET /a", 200), ("second", 100)]);
    for (index, name) in document.names.iter().enumerate() {
        let sum = |count: fn(&NameSection) -> u64| -> u64 {
            parts.iter().map(|part| count(&part.names[index])).sum()
        };
        let times = |name: &NameSection| name.results.response_time.times.ok.count();
        assert_eq!(
            (name.results.outcomes.ok, times(name)),
            (sum(|name| name.results.outcomes.ok), sum(times)),
            "{all:?}"
        );
    }
    let table = |text: &str| {
        let from = text.lines().skip_while(|line| !line.contains("Requests by name"));
        from.skip(2).take(2).map(str::to_owned).collect::<Vec<_>>()
    };
    let rows = table(&all.stdout);
    assert!(rows[0].contains("GET /a ") && rows[1].contains("second "), "{all:?}");
    assert_eq!(table(&report("", &[&merged]).stdout), rows);
}

#[test]
fn three_parts_are_reported_as_one_run() {
    let server = Served::plainly();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    let words = format!("-t4 -c7 -R 301 -d1s --warmup 0 --start-at {}", now + 3);
    let (_directory, files) = run_parts(3, &words, &server.url());
    let load = |file: &String| Document::load(file).expect("it was written");
    for document in files.iter().map(load) {
        let start_ns = document.run.epoch_unix_ns + document.phases[0].start_ns;
        assert!(start_ns >= (now + 3) * 1_000_000_000, "it began too early");
    }
    set_clocks(&files, 0);
    let [one, two, three] = &files[..] else { panic!("{files:?}") };

    let all = report("--verbose", &[two, three, one]);
    assert_eq!(all.code(), 0, "{all:?}");
    let line = all.stdout.lines().nth(1).unwrap_or_default();
    assert!(line.contains("301/s") && line.ends_with("3 parts"), "{all:?}");
    assert_eq!(line_of(&all.stdout, "Parts"), None, "{all:?}");
    assert!(line_of(&all.stdout, "Part 3").is_some(), "{all:?}");
    let json = report("--format json", &[one, two, three]).stdout;
    let merged = Document::from_json(json.as_bytes()).expect("a document");
    assert_eq!(merged.results.planned, 301, "exactly the rate of the whole plan");
    assert_eq!(merged.results.outcomes.ok, 301);
    assert_eq!(merged.connections.requested, 7);
    let workers: Vec<(u32, u32)> =
        merged.phases.iter().map(|phases| (phases.part, phases.worker)).collect();
    assert_eq!(workers, [(1, 0), (1, 3), (2, 1), (3, 2)]);

    // Two of them, given as a merged document and a part.
    let json = report("--format json", &[three]).stdout;
    std::fs::write(three, json).expect("it can be written");
    let some = report("", &[one, three]);
    assert_eq!(some.code(), 4, "{some:?}");
    let text = some.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    // Seven connections on four threads: 2, 2, 2, 1; part 2 has the second thread's.
    let line = "Parts 2 of 3: part 2 is missing; the figures cover 71.4% of the load Target";
    assert!(text.contains(line), "{text}");
    assert_eq!(report("--assert errors==1", &[one, three]).code(), 4, "before a failed assertion");
    assert_eq!(report("", &[two]).code(), 4, "one part is not the run");
    let all = report("", &[one, three, two]);
    assert_eq!((all.code(), line_of(&all.stdout, "Parts")), (0, None), "{all:?}");
}

#[test]
fn documents_that_do_not_belong_together_are_refused() {
    let server = Served::plainly();
    let (_directory, files) = run_parts(2, "-t2 -c4 -R 100 -d300ms --warmup 0", &server.url());
    set_clocks(&files, 0);
    let [one, two] = &files[..] else { panic!("{files:?}") };
    let refused = |files: &[&String], why: &str| {
        let output = report("", files);
        assert_eq!((output.code(), output.stdout.as_str()), (2, ""), "{output:?}");
        assert!(output.stderr.starts_with("error: the documents cannot be merged: "), "{output:?}");
        assert!(output.stderr.contains(why), "{why}: {output:?}");
    };
    refused(&[one, one], "part 1 of 2 is there twice");
    set_clocks(&files, 800_000_000);
    refused(&[one, two], "the window of part 2 began 500.00 ms after that of part 1 had ended");
    set_clocks(&files, 0);
    edit(two, |document| document["plan"]["load"]["connections"] = 5.into());
    refused(&[one, two], "connections is 4 and 5; run all parts with the same flags");
    edit(two, |document| {
        document["plan"].as_object_mut().expect("an object").remove("part");
    });
    refused(&[one, two], "document 2 is of a whole run");
}

#[test]
fn a_number_of_requests_is_divided() {
    let server = Served::plainly();
    let (_directory, files) = run_parts(2, "-t3 -c5 -n 101", &server.url());
    set_clocks(&files, 0);
    let planned = |file: &String| Document::load(file).expect("written").results.planned;
    // Five connections on three threads: 2, 2, 1; part 2 has the second thread's.
    assert_eq!(files.iter().map(planned).collect::<Vec<_>>(), [61, 40]);
    let all = report("--format json", &[&files[1], &files[0]]);
    assert_eq!(all.code(), 0, "{all:?}");
    let merged = Document::from_json(all.stdout.as_bytes()).expect("a document");
    assert_eq!(merged.results.outcomes.ok, 101);
}

#[test]
fn a_part_has_the_scripts_and_rows_of_its_own_workers() {
    let server = Served::plainly();
    let directory = Directory::new();
    let script = directory.file("own.lua");
    std::fs::write(&script, "function request() return wrk.format() end").expect("a file");
    let rows = directory.file("rows.parquet");
    let words = "--part 2/3 -t6 -c6 -n 60 --warmup 0";
    let ran = weir::load("epoll", words, &["-s", &script, "--raw", &rows, &server.url()]);
    assert_eq!((ran.code, ran.document.results.outcomes.ok), (0, 20), "{ran}");
    assert_eq!(ran.document.script.as_ref().map(|script| script.states), Some(2), "{ran}");
    assert_eq!((ran.document.raw[0].part, ran.document.raw[0].rows), (2, 20), "{ran}");
    let workers: Vec<u32> = ran.document.phases.iter().map(|phases| phases.worker).collect();
    assert_eq!(workers, [1, 4], "{ran}");
    assert_eq!((ran.document.run.part, ran.document.run.parts), (2, 3), "{ran}");
}
