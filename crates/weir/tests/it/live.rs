//! Figures of a run while it goes: the metrics of `--listen`, which a real Prometheus scrapes, and
//! the lines of `--format jsonl`.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;
use weir_result::Document;

use serde_json::Value;

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::process::Process;
use crate::support::serve::Serve;
use crate::support::wait;
use crate::support::weir::{WEIR, weir};

/// The dashboard, from the root of the repository.
const DASHBOARD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/grafana/weir.json");

/// Starts a run whose messages come on its standard output, and returns it with the address of its
/// metrics.
fn start(words: &[&str]) -> (Process, String) {
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1", WEIR, "-q", "--listen", "127.0.0.1:0"]);
    let mut process = Process::start(command.args(words));
    let line = process.next_line();
    let url = line.strip_prefix("metrics at ").unwrap_or_else(|| panic!("{line}")).to_owned();
    (process, url)
}

/// Returns the response to `curl` with these words; `None` if there is no server.
fn curl(words: &[&str]) -> Option<String> {
    let mut command = Command::new("curl");
    let output = command.args(["--silent", "--max-time", "20"]).args(words).output();
    let output = output.expect("`cargo xtask setup test` installs curl");
    output.status.success().then(|| String::from_utf8(output.stdout).expect("it is text"))
}

/// A Prometheus that scrapes one address. It ends with its test.
struct Prometheus {
    process: Process,
    address: String,
    _directory: Directory,
}

impl Prometheus {
    fn start(scraped: &str) -> Prometheus {
        // A free port may be taken before Prometheus binds it: then another one is tried.
        wait::until("a Prometheus", || Prometheus::try_start(scraped))
    }

    fn try_start(scraped: &str) -> Option<Prometheus> {
        let directory = Directory::new();
        let config = format!(
            "scrape_configs:\n  - job_name: weir\n    scrape_interval: 500ms\n    \
             scrape_timeout: 500ms\n    static_configs:\n      - targets: ['{scraped}']\n"
        );
        fs::write(directory.file("prometheus.yml"), config).expect("the directory is there");
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = listener.local_addr().expect("it is bound").to_string();
        drop(listener);
        let mut command = Command::new("prometheus");
        command.args([
            &format!("--config.file={}", directory.file("prometheus.yml")),
            &format!("--storage.tsdb.path={}", directory.file("data")),
            &format!("--web.listen-address={address}"),
            "--log.level=warn",
        ]);
        let process = Process::start(&mut command);
        let mut prometheus = Prometheus { process, address, _directory: directory };
        wait::until("an answer or an end", || {
            let is_ready = prometheus.get("/-/ready", &[]).is_some();
            (is_ready || prometheus.process.has_ended()).then_some(is_ready)
        })
        .then_some(prometheus)
    }

    fn get(&self, path: &str, parameters: &[(&str, &str)]) -> Option<String> {
        let url = format!("http://{}{path}", self.address);
        let pairs: Vec<String> =
            parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let pairs = pairs.iter().flat_map(|pair| ["--data-urlencode", pair]);
        curl(&["--fail", "--get", &url].into_iter().chain(pairs).collect::<Vec<_>>())
    }

    /// Waits until a query has a result, in which every value is a number.
    fn await_result(&self, query: &str) {
        let mut last = None;
        let found = wait::within(wait::GUARD, || {
            last = self.get("/api/v1/query", &[("query", query)]);
            let answer: Value = serde_json::from_str(last.as_deref()?).expect("it is JSON");
            let series = answer["data"]["result"].as_array().expect("a vector");
            let is_number = |series: &Value| {
                let value = series["value"][1].as_str().and_then(|value| value.parse::<f64>().ok());
                value.is_some_and(f64::is_finite)
            };
            (!series.is_empty() && series.iter().all(is_number)).then_some(())
        });
        assert!(found.is_some(), "{query}: {last:?}");
    }
}

/// The queries of a dashboard's panels, without its variables.
fn queries(dashboard: &Value) -> Vec<String> {
    let panels = dashboard["panels"].as_array().expect("it has panels").iter();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().expect("it has queries"));
    let texts = targets.map(|target| target["expr"].as_str().expect("a query").to_owned());
    let texts =
        texts.map(|text| text.replace("$__rate_interval", "10s").replace("$instance", ".+"));
    texts.inspect(|text| assert!(!text.contains('$'), "{text}")).collect()
}

#[test]
fn prometheus_scrapes_a_run_and_answers_the_dashboard() {
    let server = Serve::start(&[]);
    let url = format!("{}?token=SECRETS", server.url());
    let url = url.replace("http://", "http://me:SECRETS@");
    let load = "-c4 -t2 -R 200 -d600s --warmup 1s --witness off --redact token";
    let words: Vec<&str> = load.split(' ').chain([url.as_str()]).collect();
    let (run, metrics) = start(&words);
    let address = metrics.trim_start_matches("http://").trim_end_matches("/metrics");
    let prometheus = Prometheus::start(address);
    let dashboard = fs::read_to_string(DASHBOARD).expect("it is in the repository");
    let dashboard: Value = serde_json::from_str(&dashboard).expect("it is JSON");
    let queries = queries(&dashboard);
    assert!(queries.len() >= 15, "{queries:?}");
    queries.iter().for_each(|query| prometheus.await_result(query));
    let variables = dashboard["templating"]["list"].as_array().expect("it has variables");
    assert_eq!(variables[1]["definition"], "label_values(weir_live_phase, instance)");
    prometheus.await_result("weir_live_phase{phase=\"measured\"} == 1");
    let rate = "abs(sum(rate(weir_live_responses_total[4s])) - 200) < 100";
    prometheus.await_result(rate);

    let page = curl(&["--fail", &metrics]).expect("it is served");
    assert!(page.contains("?token=[redacted]\"") && !page.contains("SECRETS"), "{page}");
    check_page(&page);
    assert_eq!(
        curl(&["--fail", "--head", &metrics]).map(|head| head.contains("\r\n\r\n")),
        Some(true)
    );
    assert_eq!(curl(&["--fail", &metrics.replace("/metrics", "/")]), None);

    run.signal(&["INT"]);
    assert_eq!(run.wait().code(), 130);
}

#[test]
fn a_scraper_sees_the_end_of_the_run() {
    let server = Serve::start(&["--delay", "1ms"]);
    let (mut run, metrics) =
        start(&["-c1", "-d600s", "--warmup", "0", "--witness", "off", &server.url()]);
    let scrape = || curl(&["--fail", &metrics]).expect("it is served");
    scrape();
    wait::let_pass(Duration::from_secs(5));
    scrape();
    run.signal(&["INT"]);
    let line = run.next_line();
    assert!(line.starts_with("metrics stay until the next scrape, at most 1"), "{line}");
    assert!(scrape().contains("weir_live_phase{phase=\"ended\"} 1"));
    assert_eq!(run.wait().code(), 130);
}

/// The planned rate of a load in stages is that of the moment.
#[test]
fn the_present_stage_is_served() {
    let server = Serve::start(&[]);
    let load = "-c2 -t1 --stages 1ms@50,600s@70 --warmup 0 --witness off";
    let url = server.url();
    let (run, metrics) = start(&load.split(' ').chain([url.as_str()]).collect::<Vec<_>>());
    let page = wait::until("the second stage", || {
        let page = curl(&["--fail", &metrics]).expect("it is served");
        page.contains("\nweir_live_stage 2\n").then_some(page)
    });
    assert!(page.contains("\nweir_live_planned_requests_per_second 70\n"), "{page}");
    check_page(&page);
    run.signal(&["INT"]);
    assert_eq!(run.wait().code(), 130);
}

/// Counts and latencies by name come while the run goes.
#[test]
fn names_of_a_list_are_served() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let list = directory.file("list.jsonl");
    let rows = "{\"url\": \"/a?token=SECRETS\"}\n{\"url\": \"/b\", \"name\": \"buy \\\"b\\\"\"}\n";
    fs::write(&list, rows).expect("the directory is the test's own");
    let load = "-c2 -t1 -R 200 -d600s --warmup 0 --witness off --from";
    let url = server.url();
    let words: Vec<&str> = load.split(' ').chain([list.as_str(), &url]).collect();
    let (run, metrics) = start(&words);
    let page = wait::until("counts and latencies", || {
        let page = curl(&["--fail", &metrics]).expect("it is served");
        let has = |sample: &str| {
            let line = page.lines().find_map(|line| line.strip_prefix(sample));
            line.is_some_and(|value| value.trim() != "0")
        };
        let labels = ["{name=\"GET /a\"}", "{name=\"buy \\\"b\\\"\"}"];
        let metrics = ["weir_live_name_responses_total", "weir_live_name_latency_seconds_count"];
        let all = labels.iter().all(|of| metrics.iter().all(|name| has(&format!("{name}{of}"))));
        all.then_some(page)
    });
    check_page(&page);
    assert!(!page.contains("(others)") && !page.contains("SECRETS"), "{page}");
    run.signal(&["INT"]);
    assert_eq!(run.wait().code(), 130);
}

#[test]
fn a_foreign_name_of_the_loopback_is_refused() {
    let server = Serve::start(&[]);
    let (run, metrics) = start(&["-c1", "-d600s", "--witness", "off", &server.url()]);
    assert!(curl(&["--fail", &metrics]).is_some());
    let refused = curl(&["-H", "Host: evil.example:9900", &metrics]).expect("a response");
    assert_eq!(refused, "421 Misdirected Request; the Host must be localhost\n");
    run.signal(&["INT"]);
    assert_eq!(run.wait().code(), 130);
}

/// The file of a list, whose names are the document's, is one for Prometheus.
#[test]
fn prometheus_accepts_the_names_of_a_list() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let [list, file] = ["list.jsonl", "run.prom"].map(|name| directory.file(name));
    let names = ["=1+1", "\u{1b}[31m\"x\\", "a\u{1}", "a\u{2}", "商品"];
    let row = |name: &&str| serde_json::json!({ "url": "/a", "name": name }).to_string() + "\n";
    fs::write(&list, names.iter().map(row).collect::<String>()).expect("the directory is there");
    let export = format!("prometheus={file}");
    let load = "-n 50 -c1 -t1 --witness off -q";
    let output = weir(load, &["--from", &list, "--export", &export, &server.url()]);
    assert_eq!(output.code(), 0, "{output:?}");
    let page = fs::read_to_string(&file).expect("it was written");
    check_page(&page);
    for label in ["=1+1", "?[31m\\\"x\\\\", "a?", "a? #2", "商品"] {
        let sample = format!("weir_name_requests_total{{name=\"{label}\",outcome=\"ok\"}} 10\n");
        assert!(page.contains(&sample), "{sample}{page}");
    }
}

/// Checks a page with the linter of Prometheus.
fn check_page(page: &str) {
    let mut command = Command::new("promtool");
    command.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut linter = command.stdout(Stdio::piped()).spawn().expect("it comes with Prometheus");
    let mut stdin = linter.stdin.take().expect("it is piped");
    stdin.write_all(page.as_bytes()).expect("it reads");
    drop(stdin);
    let output = linter.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{output:?}\n{page}");
}

#[test]
fn an_address_that_cannot_be_listened_on_is_refused_before_the_load() {
    let server = Serve::start(&[]);
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let taken = taken.local_addr().map(|address| (taken, address.to_string())).expect("bound");
    let check = |words: &str, part: &str| {
        let output = weir(words, &[&server.url()]);
        assert!(output.code() == 2 && output.stderr.contains(part), "{words}: {output:?}");
    };
    check(&format!("--listen {}", taken.1), "cannot be opened: choose another port");
    check("--listen nowhere", "invalid --listen \"nowhere\"; use ADDRESS:PORT");
    check("--listen 127.0.0.1:0 --print-plan", "cannot be used with");
    check("repeat --listen nowhere", "invalid --listen \"nowhere\"; use ADDRESS:PORT");
    assert_eq!(server.requests(), 0);
    let output = weir("--selfcheck --listen 127.0.0.1:0", &[]);
    assert!(output.code() == 2 && !output.stderr.contains("metrics at"), "{output:?}");
}

/// The lines of a document.
fn lines_of(document: &str) -> String {
    let output = weir("report --format jsonl", &[document]);
    assert_eq!(output.code(), 0, "{output:?}");
    output.stdout
}

#[test]
fn lines_come_while_the_run_goes() {
    let server = Serve::start(&[]);
    let mut command = Command::new(WEIR);
    command.args("-c2 -t1 -R 200 -d600s --warmup 0 --witness off --format jsonl".split(' '));
    let mut run = Process::start(command.arg(server.url()));
    for second in 0..2 {
        let line: Value = serde_json::from_str(&run.next_line()).expect("it is JSON");
        assert_eq!(
            (&line["type"], line["start_s"].as_f64()),
            (&"interval".into(), Some(second.into()))
        );
    }
    run.signal(&["INT"]);
    let output = run.wait();
    assert_eq!(output.code(), 130, "{output:?}");
    let last = output.stdout.lines().last().unwrap_or_default();
    assert!(last.contains("\"type\":\"summary\""), "{output:?}");
}

/// Beside an interval are the totals by name so far, and at the end the names of the document.
#[test]
fn lines_of_a_list_have_its_names() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let list = directory.file("list.txt");
    fs::write(&list, "/a\n/b\n").expect("the directory is the test's own");
    let mut command = Command::new(WEIR);
    command.args("-c2 -t1 -R 200 -d600s --warmup 0 --witness off --format jsonl".split(' '));
    let mut run = Process::start(command.args(["--from", &list, &server.url()]));
    let json = |line: &str| serde_json::from_str::<Value>(line).expect("it is JSON");
    let mut responses = 0;
    while responses == 0 {
        let line = json(&run.next_line());
        if line["type"] == "names" {
            let names = line["names"].as_array().expect("a list");
            let labels: Vec<_> = names.iter().map(|name| &name["name"]).collect();
            assert_eq!(labels, ["GET /a", "GET /b"]);
            responses = names[1]["responses"].as_u64().expect("a count");
        }
    }
    run.signal(&["INT"]);
    let output = run.wait();
    assert_eq!(output.code(), 130, "{output:?}");
    let lines: Vec<Value> = output.stdout.lines().map(json).collect();
    let [.., a, b, summary] = &lines[..] else { panic!("{output:?}") };
    assert_eq!((&a["name"], &b["name"]), (&"GET /a".into(), &"GET /b".into()), "{output:?}");
    assert_eq!((&b["type"], &summary["type"]), (&"name".into(), &"summary".into()));
    assert!(b["ok"].as_u64() >= Some(responses), "{output:?}");
}

#[test]
fn lines_are_those_of_the_document() {
    let server = Serve::start(&["--delay", "1ms"]);
    on_an_engine(|engine| {
        let directory = Directory::new();
        let file = directory.file("run.json");
        let load = "-c4 -t2 -R 400 -d 2s --warmup 1s --witness off --format jsonl";
        let output = weir(load, &["--io", engine, "-o", &file, &server.url()]);
        assert_eq!(output.code(), 0, "{output:?}");
        assert_eq!(output.stdout, lines_of(&file));
    });
}

/// The end of such a warm-up moves t0, and lines before it are printed from a later one.
#[test]
fn no_line_is_missing_or_twice_after_an_automatic_warm_up() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("run.json");
    let load = "-c4 -t2 -R 400 -d 1s --warmup auto:5s --witness off --format jsonl";
    let output = weir(load, &["-o", &file, &server.url()]);
    assert_eq!(output.code(), 0, "{output:?}");
    let counts = |text: &str| {
        let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        let mut counts: Vec<_> = lines
            .map(|line| {
                ["phase", "sent", "completed", "mean_ns"].map(|name| line[name].to_string())
            })
            .collect();
        counts.sort();
        counts
    };
    assert_eq!(counts(&output.stdout), counts(&lines_of(&file)));
}

#[test]
fn a_reader_that_leaves_does_not_end_the_run() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let file = directory.file("run.json");
    let load = "-c2 -t1 -R 200 -d 2s --warmup 0 --witness off --format jsonl";
    let script =
        format!("{{ {WEIR} {load} -o {file} {}; echo code $? >&2; }} | head -n 1", server.url());
    let output = Process::start(Command::new("sh").args(["-c", &script])).wait();
    assert!(output.stderr.contains("code 0\n"), "{output:?}");
    assert_eq!(output.stdout.lines().count(), 1, "{output:?}");
    let document = Document::load(&file).expect("it was written");
    assert_eq!(document.results.outcomes.ok, 400, "{output:?}");
}

/// Such a reader holds up neither the load nor the document. Its lines come when it reads on.
#[test]
fn a_reader_that_pauses_gets_every_line() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let file = directory.file("run.json");
    let (mut reader, mut writer) = std::io::pipe().expect("a pipe");
    let filler = [b' '; 65_536];
    writer.write_all(&filler).expect("a pipe has room for as much");
    let mut command = Command::new(WEIR);
    let load = "-c2 -t1 -R 200 -d 2s --warmup 0 --witness off --format jsonl -o";
    command.args(load.split(' ')).args([&file, &server.url()]).stdout(writer);
    let mut run = command.spawn().expect("it can be started");
    drop(command);
    wait::until("a document", || fs::exists(&file).is_ok_and(|exists| exists).then_some(()));
    let mut text = String::new();
    reader.read_to_string(&mut text).expect("it is text");
    assert!(run.wait().is_ok_and(|status| status.success()));
    assert_eq!(text.trim_start(), lines_of(&file));
}

/// Without room on the disk, the exit status says that lines are missing.
#[test]
fn lines_that_cannot_be_written_are_an_error() {
    let server = Serve::start(&[]);
    let load = "-c2 -t1 -R 200 -d 1200ms --warmup 0 --witness off --format jsonl";
    let script = format!("{WEIR} {load} {} >/dev/full", server.url());
    let output = Process::start(Command::new("sh").args(["-c", &script])).wait();
    assert_eq!(output.code(), 74, "{output:?}");
    assert!(output.stderr.contains("standard output cannot be written"), "{output:?}");
}

#[test]
fn the_trial_of_a_study_is_named() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let history = directory.file("history.db");
    let url = server.url();
    let mut command = Command::new("sh");
    command.args(["-c", "exec \"$0\" \"$@\" 2>&1", WEIR, "repeat", "-q", "-n2", "--no-settle"]);
    command.args(["--listen", "127.0.0.1:0", "--save", "both", "--history", &history]);
    let load = ["--warmup", "0", "-d", "1s", "-c2", "-t1", "-R", "200", "--witness", "off", &url];
    let mut process = Process::start(command.args(load));
    let line = process.next_line();
    let metrics = line.strip_prefix("metrics at ").unwrap_or_else(|| panic!("{line}")).to_owned();
    let page = wait::until("the second trial", || {
        curl(&[&metrics]).filter(|page| page.contains("\nweir_live_trial 2\n"))
    });
    assert!(page.contains("weir_live_study_info{design=\"repeat\",variant=\"\"} 1"), "{page}");
    let output = process.wait();
    assert_eq!(output.code(), 0, "{output:?}");
    let listed = weir(&format!("history --history {history} list --format json"), &[]);
    assert_eq!(listed.stdout.matches("\"both\"").count(), 2, "each trial is saved: {listed:?}");
}
