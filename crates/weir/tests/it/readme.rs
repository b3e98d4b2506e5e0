//! The commands of README.md, docs/ and `weir --help`, run as they stand there against servers of
//! this test, for a moment instead of the time that they name; and the picture in README.md.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use weir_io::Endpoint;

use crate::support::directory::Directory;
use crate::support::process::Process;
use crate::support::raw::OK;
use crate::support::secure::{Authority, Secure};
use crate::support::serve::Serve;
use crate::support::served::Served;
use crate::support::weir::{WEIR, weir};

/// First line of the blocks whose commands are run.
const TESTED: &str = "```sh tested\n";

/// The picture of a report.
const PICTURE: &str = "docs/run.svg";

/// Lines that every report of such a run has, by their labels and in this order. A clean run has no
/// line `Grade`.
const LABELS: [&str; 11] = [
    "Target",
    "Load",
    "Limit",
    "Throughput",
    "Latency",
    "p50",
    "p90",
    "p99",
    "p99.9",
    "max",
    "mean",
];

/// Flags that shorten a load.
const BRIEFLY: [&str; 4] = ["-n200", "--warmup", "0", "-c4"];

/// The schema that README.md names.
const SCHEMA: &str = "syntax = \"proto3\"; package shop; message Order { int32 item = 1; }\n\
                      service Shop { rpc Buy (Order) returns (Order); }\n";

/// The repository's root.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The servers that stand for the README's.
struct Servers {
    plain: Serve,
    events: Serve,
    _unix: Served,
    secure: Secure,
    directory: Directory,
}

impl Servers {
    fn start() -> Servers {
        let directory = Directory::new();
        let authority = Authority::new();
        let unix = Endpoint::Unix(directory.path().join("app.sock"));
        fs::write(directory.file("body.json"), "{}").expect("a file");
        fs::write(directory.file("urls.txt"), "/\n/a\n").expect("a file");
        let step = "[[scenario.step]]\nname = \"home\"\nurl = \"/\"\n";
        let scenario = format!("[[scenario]]\nname = \"visitor\"\n{step}");
        fs::write(directory.file("shop.toml"), scenario).expect("a file");
        let logged = "::1 - - [10/Oct/2000:13:55:36 -0700] \"GET /a HTTP/1.1\" 200 5\n";
        fs::write(directory.file("access.log"), logged).expect("a file");
        fs::write(directory.file("routes.jsonl"), "{\"path\": \"/a\"}\n").expect("a file");
        let plain = Serve::start(&["--delay", "300us"]);
        let events = Serve::start(&["--events", "3", "--gap", "1ms"]);
        let curl = format!("curl '{0}a'\ncurl -H 'A: b' '{0}b'\n", plain.url());
        fs::write(directory.file("curl.txt"), curl).expect("a file");
        let entry = format!("{{\"request\":{{\"method\":\"GET\",\"url\":\"{}\"}}}}", plain.url());
        let har = format!("{{\"log\":{{\"entries\":[{entry}]}}}}");
        fs::write(directory.file("session.har"), har).expect("a file");
        fs::write(directory.file("shop.proto"), SCHEMA).expect("a file");
        let plan = format!("url = \"{}\"\n[vary]\nc = [1, 2]\n", plain.url());
        fs::write(directory.file("sweep.toml"), plan).expect("a file");
        fs::copy(authority.file(), directory.file("ca.pem")).expect("a file");
        let examples = Path::new(ROOT).join("examples");
        std::os::unix::fs::symlink(examples, directory.file("examples")).expect("a link");
        Servers {
            plain,
            events,
            _unix: Served::at(unix, |_| {}),
            secure: Secure::answering(&authority.sign_loopback(), OK),
            directory,
        }
    }

    /// The command with the addresses of these servers.
    fn addressed(&self, command: &str) -> String {
        let plain = self.plain.url();
        let authority = plain.trim_start_matches("http://").trim_end_matches('/');
        command
            .replace("https://localhost:8443/", &self.secure.url())
            .replace("http://localhost:8080", plain.trim_end_matches('/'))
            .replace("http://localhost:8081", plain.trim_end_matches('/'))
            .replace("http://localhost:8082/", &self.events.url())
            .replace("ws://localhost:8080", &format!("ws://{authority}"))
            .replace("serve -l 127.0.0.1:8080", "serve -l 127.0.0.1:0")
            .replace("-l 127.0.0.1:8080 -l 127.0.0.1:8081", "-l 127.0.0.1:0")
            .replace("127.0.0.1:8080,127.0.0.2:8080", authority)
            // A busy machine stops the client for longer.
            // The loads of this test are shorter.
            .replace("> 5% for 5s", "> 5%")
            .replace("> 1s for 10s", "> 20s")
            .replace("p99 < 50ms", "p99 < 20s")
            .replace("p99 < 5ms", "p99 < 20s")
    }

    /// Runs the command in the directory, and checks that it ends well.
    fn run(&self, command: &str) {
        let words = words_of(&self.addressed(command));
        if words.iter().any(|word| word == "compare") {
            // An earlier command has written the document.
            for name in ["old.json", "new.json"] {
                let copied = fs::copy(self.directory.file("run.json"), self.directory.file(name));
                copied.expect("a document");
            }
        }
        let mut weir = Command::new(WEIR);
        weir.current_dir(self.directory.path());
        weir.env("XDG_DATA_HOME", self.directory.path()).env_remove("WEIR_HISTORY");
        weir.env("GITHUB_STEP_SUMMARY", self.directory.file("summary.md"));
        weir.args(briefly(&words[1..]));
        let output = Process::start(&mut weir).wait();
        assert_eq!(output.code(), 0, "{command}\n{output:?}");
    }
}

/// The words with the flags that shorten them, before the URL and the words of a script, in the
/// place of those with the same letter.
fn briefly(words: &[String]) -> Vec<String> {
    let flags = shortening(words);
    let letter = |word: &str| match word.as_bytes() {
        [b'-', letter, ..] if *letter != b'-' => Some(*letter),
        _ => None,
    };
    let letters: Vec<u8> = flags.iter().filter_map(|flag| letter(flag)).collect();
    let is_replaced = |word: &str| letter(word).is_some_and(|letter| letters.contains(&letter));
    let mut kept: Vec<String> = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let is_of_a_variant = kept.last().is_some_and(|flag| flag == "-a" || flag == "-b");
        match is_replaced(word) && !is_of_a_variant {
            true if word.len() == 2 => drop(words.next()),
            true => {}
            false if word == "auto" => kept.push("auto:300ms".to_owned()),
            false if kept.last().is_some_and(|flag| flag == "--stages") => {
                kept.push("100ms@500,100ms@500..1k".to_owned());
            }
            false => kept.push(word.clone()),
        }
    }
    let flags = flags.into_iter().map(str::to_owned);
    let is_target = |at: &usize| {
        let word = &kept[*at];
        let is_of_a_collector = *at > 0 && kept[at - 1] == "--otlp";
        word == "-a" || (word.starts_with("http") && !is_of_a_collector)
    };
    let at = (0..kept.len()).find(is_target).unwrap_or(kept.len());
    kept[..at].iter().cloned().chain(flags).chain(kept[at..].iter().cloned()).collect()
}

/// The flags that shorten a command.
fn shortening(words: &[String]) -> Vec<&'static str> {
    let is = |name: &str| words.iter().any(|word| word == name);
    match words.first().map(String::as_str) {
        Some("report" | "compare" | "rerun" | "resume" | "history" | "doctor") => Vec::new(),
        Some("repeat") => vec!["-n", "2", "--no-settle", "-d300ms", "--warmup", "0"],
        Some("ab") => vec!["--pairs", "6", "--no-settle", "-d300ms", "--warmup", "0"],
        Some("search") => {
            vec!["--max-rate", "200", "--no-settle", "-d200ms", "--warmup", "0"]
        }
        Some("sweep") => vec!["-n", "1", "--no-settle", "-d300ms", "--warmup", "0"],
        _ if is("--prove-client") => [&["-d300ms"], &BRIEFLY[1..]].concat(),
        Some("serve") => vec!["-d300ms", "--listen", "127.0.0.1:0"],
        // The dialects have whole seconds, and no warm-up.
        _ if is("--compat") => vec!["-d1", "-t1", "-c4"],
        _ if is("-n") => Vec::new(),
        _ if is("--replay") => vec!["-c4"],
        _ if is("--stages") => vec!["--warmup", "0"],
        _ if is("auto") => vec!["-d300ms"],
        // A condition that ends a load is looked at each second.
        _ if is("--abort") => vec!["-d1s", "--warmup", "0"],
        // At the rates of the pages, enough requests for a p99.
        _ if is("-R") => [&["-d300ms"], &BRIEFLY[1..]].concat(),
        _ => BRIEFLY.to_vec(),
    }
}

/// Returns README.md and the pages of docs/, in this order.
fn pages() -> Vec<PathBuf> {
    let docs = fs::read_dir(Path::new(ROOT).join("docs")).expect("it is there");
    let mut pages: Vec<PathBuf> = docs.map(|entry| entry.expect("an entry").path()).collect();
    pages.retain(|page| page.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages.insert(0, Path::new(ROOT).join("README.md"));
    pages
}

/// Returns the commands of a page, without their comments.
fn commands(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).expect("it is there");
    let blocks = text.split(TESTED).skip(1).filter_map(|rest| rest.split("```").next());
    let lines = blocks.flat_map(str::lines);
    lines.map(|line| line.split(" # ").next().unwrap_or(line).trim().to_owned()).collect()
}

/// The text of the picture, line by line.
fn drawn() -> Vec<String> {
    let svg = fs::read_to_string(Path::new(ROOT).join(PICTURE)).expect("it is there");
    let lines = svg.lines().filter(|line| line.starts_with("<text"));
    let text = |line: &str| {
        let pieces = line.split("<tspan").skip(1).filter_map(|piece| {
            let (_, text) = piece.split_once('>')?;
            text.split_once("</tspan>").map(|(text, _)| text.to_owned())
        });
        pieces.collect::<Vec<_>>().join(" ")
    };
    lines.map(text).collect()
}

/// The labels of the lines that have one of [`LABELS`], each at its first appearance.
fn labels<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'static str> {
    let mut found: Vec<&'static str> = Vec::new();
    for word in lines.filter_map(|line| line.split_whitespace().next()) {
        let label = LABELS.into_iter().find(|label| *label == word && !found.contains(label));
        found.extend(label);
    }
    found
}

/// Words of the heads of the latency table; columns without values are left out of it.
fn heads<'a>(mut lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let line = lines.find(|line| line.trim_start().starts_with("Latency")).unwrap_or_default();
    line.split_whitespace().collect()
}

/// The words of a command as a shell takes them apart; single quotes only.
fn words_of(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for character in command.chars() {
        match character {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            other => words.last_mut().expect("there is one").push(other),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// From nothing to a page, a verdict of two servers and a check for CI.
#[test]
fn the_first_five_examples_of_the_help_work() {
    let servers = Servers::start();
    let help = weir("--help", &[]).stdout;
    let examples = help.split("\nExamples:\n").nth(1).expect("there are examples");
    let first: Vec<&str> = examples.lines().take(5).collect();
    for command in &first {
        let command = command.split(" # ").next().unwrap_or_default();
        servers.run(command.trim());
    }
    let page = fs::read_to_string(servers.directory.file("report.html")).expect("a page");
    assert!(page.starts_with("<!doctype html>"), "{first:#?}");
    assert!(first[3].contains("weir ab") && first[4].contains("--assert"), "{first:#?}");
}

#[test]
fn the_picture_has_the_shape_of_a_report() {
    let server = Serve::start(&[]);
    let mut weir = Command::new(WEIR);
    weir.args(["-t1", "-c50", "-R", "5k", "-d1s", "--warmup", "0"]).arg(server.url());
    let output = Process::start(&mut weir).wait();
    let report = &output.stdout;
    let drawn = drawn();
    assert_eq!(labels(report.lines()), LABELS, "{report}");
    assert_eq!(labels(drawn.iter().map(String::as_str)), LABELS, "cargo xtask picture: {drawn:#?}");
    for heads in [heads(drawn.iter().map(String::as_str)), heads(report.lines())] {
        assert_eq!(heads[..3], ["Latency", "response", "time"], "cargo xtask picture: {heads:?}");
    }
}

#[test]
fn words_are_those_of_a_shell() {
    let words = words_of("weir -H 'A: b c'  -n 3");
    assert_eq!(words, ["weir", "-H", "A: b c", "-n", "3"]);
}

/// A step of `cargo xtask nightly`, by its name.
mod rare {
    use super::*;

    #[test]
    fn the_commands_of_the_pages_work() {
        let servers = Servers::start();
        let commands: Vec<String> = pages().iter().flat_map(|page| commands(page)).collect();
        assert!(commands.len() >= 60, "{commands:#?}");
        assert!(commands.iter().all(|command| command.starts_with("weir ")), "{commands:#?}");
        // Commands of several pages read this document.
        servers.run("weir -o run.json http://localhost:8080/");
        commands.iter().for_each(|command| servers.run(command));
    }
}
