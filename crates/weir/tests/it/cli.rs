//! The command line: errors are reported before anything runs, with the flag's name and the remedy;
//! valid flags do what wrk's users expect.

use std::fs;
use std::process::Command;

use weir_machine::sys;
use weir_result::{Document, Plan};

use crate::support::directory::Directory;
use crate::support::process::Process;
use crate::support::raw::{OK, Raw};
use crate::support::served::Served;
use crate::support::weir::{WEIR, weir};

/// A URL to which nothing is ever sent.
const NOWHERE: &str = "http://127.0.0.1:9/";

/// Checks that wrong words, in an empty directory, print an error that contains each part.
fn check_wrong(words: &[&str], parts: &[&str]) {
    let directory = Directory::new();
    let mut command = Command::new(WEIR);
    let output = Process::start(command.current_dir(directory.path()).args(words)).wait();
    assert_eq!(output.code(), 2, "{words:?}: {output:?}");
    assert_eq!(output.stdout, "", "{words:?}: {output:?}");
    assert!(output.stderr.starts_with("error: "), "{words:?}: {output:?}");
    for part in parts {
        assert!(output.stderr.contains(part), "{words:?} lack {part:?}: {}", output.stderr);
    }
    assert_eq!(directory.names(), [""; 0], "{words:?}");
}

#[test]
fn wrong_values_are_reported_with_their_flag_and_the_remedy() {
    for (flag, value, name, remedy) in [
        ("-t", "0", "--threads", "at least 1"),
        ("-c", "0", "--connections", "at least 1"),
        ("-c", "1x", "--connections", "10k"),
        ("-c", "5g", "--connections", "too large"),
        ("-d", "5y", "--duration", "1m30s"),
        ("-n", "0", "--requests", "at least 1"),
        ("-R", "0", "--rate", "20k"),
        ("-R", "fast", "--rate", "20k"),
        ("-T", "0s", "--timeout", "longer than 0"),
        ("--connect-timeout", "never", "--connect-timeout", "500ms"),
        ("--warmup", "some", "--warmup", "500ms"),
        ("--pipeline", "129", "--pipeline", "between 1 and 128"),
        ("--pipeline", "0", "--pipeline", "at least 1"),
        ("--io", "kqueue", "--io", "epoll"),
        ("--pacing", "nap", "--pacing", "hybrid"),
        ("--format", "xml", "--format", "did you mean junit"),
        ("--format", "pdf", "--format", "json"),
        ("--export", "report.html", "--export", "html=report.html"),
        ("--export", "pdf=x", "--export", "the formats are text, json"),
        ("--close", "both", "--close", "server"),
        ("--requests-per-connection", "0", "--requests-per-connection", "at least 1"),
        ("--connection-lifetime", "0", "--connection-lifetime", "longer than 0"),
        ("--connect-rate", "0", "--connect-rate", "20k"),
        ("--source-ip", "here", "--source-ip", "127.1.0.0/24"),
        ("--source-ip", "192.0.2.1", "--source-ip", "ip address add 192.0.2.1"),
        ("--source-ip", "::1", "--source-ip", "IPv6"),
        ("--connect-to", "::1", "--connect-to", "brackets"),
        ("-H", "Accept", "--header", "\"Name: value\""),
        ("-H", ": x", "--header", "name"),
        ("-H", "A: a\rb", "--header", "control character"),
        ("-X", "GE T", "--method", "character"),
        ("-X", "CONNECT", "--method", "tunnel"),
        ("--assert", "p99", "--assert", "p99 < 5ms"),
        ("--assert", "p99 < 5", "--assert", "5ms"),
        ("--assert", "eror < 1%", "--assert", "did you mean 'errors'"),
        ("--raw", "/nowhere/at/all", "--raw", "another place"),
        ("--raw", "/", "--raw", "file name"),
        ("-b", "@/nowhere/at/all", "--body", "cannot be read"),
    ] {
        check_wrong(&[flag, value, NOWHERE], &[name, remedy]);
    }
    check_wrong(&["-R", "5", "--arrivals", "often", NOWHERE], &["--arrivals", "poisson"]);
    check_wrong(&["-R", "5", "--seed", "x", NOWHERE], &["--seed"]);
    check_wrong(&["--arrivals", "poisson", NOWHERE], &["--rate"]);
    check_wrong(&["--junit", "run.xml", NOWHERE], &["--assert"]);
    check_wrong(&["-H", "Host: a", "-H", "host: b", NOWHERE], &["--header", "twice"]);
    check_wrong(&["--no-such-flag", NOWHERE], &["--no-such-flag", "--help"]);
    check_wrong(&["--pin", "5-2", NOWHERE], &["--pin", "5-2", "use 2-5"]);
    check_wrong(&["-c"], &["--connections"]);
    check_wrong(&["-z", "30s", NOWHERE], &["-z: that is hey's duration; use -d 30s"]);
    check_wrong(&["-q", "100", NOWHERE], &["-q is --quiet", "-R 100"]);
    check_wrong(&["-H", "Na me: x", NOWHERE], &["--header", "\"Na me\"", "RFC 9110"]);
    check_wrong(&["-u", "me", NOWHERE], &["--user", "USER:PASS"]);
    let long = format!("/run/{}.sock", "s".repeat(200));
    check_wrong(&["--unix", &long, NOWHERE], &["--unix", "210 bytes", "107"]);
    check_wrong(&["serve", "--unix", &long], &["--unix", "210 bytes", "107"]);
}

#[test]
fn parts_that_could_not_be_merged_are_refused() {
    for (value, remedy) in [("2", "K/N"), ("4/3", "between 1/3 and 3/3"), ("0/3", "at least 1")] {
        check_wrong(&["--part", value, "-t9", NOWHERE], &["--part", remedy]);
    }
    let part = |words: &[&str], parts: &[&str]| {
        check_wrong(&[&["--part", "2/3"], words, &[NOWHERE]].concat(), parts);
    };
    part(&[], &["--part needs -t", "the same on each machine"]);
    part(&["-t2", "-c9"], &["3 parts", "raise -t or -c to 3"]);
    part(&["-t9", "-c2"], &["3 parts", "raise -t or -c to 3"]);
    part(&["-t3", "-R9", "--arrivals", "poisson"], &["--part", "--seed"]);
    part(&["-t3", "--warmup", "auto"], &["--part", "--warmup auto"]);
    part(&["-t3", "--prove-client"], &["--part", "--prove-client"]);
    part(&["-t3", "--start-at", "now"], &["--start-at"]);
    part(&["-t3", "--start-at", "1767323045000"], &["--start-at", "date +%s"]);
    part(&["-t3", "--start-at", "1767323045"], &["--start-at was ", "ago"]);
    part(&["-t3", "--start-at", "4000000000"], &["--start-at", "more than a day ahead"]);
    check_wrong(&["--start-at", "1767323045", NOWHERE], &["--part"]);
}

#[test]
fn a_flag_with_a_value_is_given_once() {
    for flag in ["-c", "-d", "-R", "-T", "-X", "-b", "-u", "-s", "--raw", "--junit"] {
        check_wrong(&[flag, "1", flag, "1", NOWHERE], &["is given twice: leave one out"]);
    }
    for flag in ["--listen", "--otlp", "--watch-nginx", "--access-log", "--unix", "--save"] {
        check_wrong(&[flag, "a", flag, "b", NOWHERE], &[flag, "is given twice: leave one out"]);
    }
    check_wrong(&["--note", "a=1", "--note", "a=2", NOWHERE], &["--note a", "twice"]);
    check_wrong(&["--conn", "5", NOWHERE], &["--conn", "--connections", "in full"]);
    check_wrong(&["ab", "-a", "-c5 -c6", NOWHERE], &["variant A", "--connections is given twice"]);
    check_wrong(&["repeat", "-c5", "--connections=6", NOWHERE], &["--connections is given twice"]);
}

#[test]
fn output_files_are_different_files() {
    let directory = Directory::new();
    let run = directory.file("run.json");
    let link = directory.file("link.json");
    let detour = directory.file("../DIR/run.json").replace(
        "DIR",
        directory.path().file_name().and_then(|name| name.to_str()).expect("it has a name"),
    );
    for existing in [false, true] {
        if existing {
            fs::write(&run, "").expect("the directory is the test's own");
            std::os::unix::fs::symlink("run.json", &link).expect("likewise");
        }
        let paths = [&run, &detour, &link];
        for path in &paths[..2 + usize::from(existing)] {
            for flags in [["-o", "--raw"], ["--raw", "-o"], ["--junit", "--raw"], ["--junit", "-o"]]
            {
                let words = [flags[0], run.as_str(), flags[1], path.as_str()];
                let words = [&words[..], &["--assert", "errors == 0", NOWHERE]].concat();
                check_wrong(&words, &["are the same file", "run.json"]);
            }
        }
    }
    let claim = ["--assert", "errors == 0", "--junit"];
    check_wrong(&[&["report", &run][..], &claim, &[&link]].concat(), &["are the same file"]);

    // Nothing is lost by writing to a device twice.
    let server = Served::plainly();
    let output = weir("--no-verdict -n 1 -o /dev/null --raw /dev/null", &[&server.url()]);
    assert_eq!(output.code(), 0, "{output:?}");
}

#[test]
fn connections_that_live_too_short_are_reported() {
    let server = Served::plainly();
    let directory = Directory::new();
    let file = directory.file("run.json");
    let load = "--no-verdict -c1 -t1 -R 50 -d 200ms --warmup 0 -T 100ms --witness off";
    let words = ["--connection-lifetime", "1ns", "-o", &file, &server.url()];
    let output = weir(load, &words);
    let document = Document::load(&file).expect("it was written");
    let note = document.notes.iter().find(|note| note.code == "short_lifetime");
    let text = &note.unwrap_or_else(|| panic!("{output:?}")).text;
    assert!(text.starts_with("--connection-lifetime 1 ns is less than a connect takes"), "{text}");
}

#[test]
fn a_dash_is_standard_output() {
    let server = Served::plainly();
    for words in ["-o -", "-q -o -", "-L --output=-"] {
        let directory = Directory::new();
        let mut command = Command::new(WEIR);
        command.current_dir(directory.path()).args(["--no-verdict", "-n", "1"]);
        let output = Process::start(command.args(words.split(' ')).arg(server.url())).wait();
        assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{words}");
        let document = Document::from_json(output.stdout.as_bytes()).expect("nothing but it");
        assert_eq!(document.results.outcomes.ok, 1);
        assert_eq!(directory.names(), [""; 0], "{words}");
    }
    check_wrong(&["--raw", "-", NOWHERE], &["--raw cannot write to standard output", "--output"]);
}

#[test]
fn a_cpu_that_is_not_usable_is_reported_with_those_that_are() {
    let usable = sys::usable_cpus().expect("affinity");
    let last = usable.last().expect("it runs somewhere");
    let beyond = (last + 1).to_string();
    let reported = format!("usable are {}", usable[0]);
    check_wrong(&["--pin", &beyond, NOWHERE], &["--pin", &beyond, &reported]);
    check_wrong(&["--pin=9999", NOWHERE], &["--pin", "9999"]);
}

#[test]
fn urls_that_cannot_be_loaded_are_reported_with_the_remedy() {
    check_wrong(&[], &["URL"]);
    check_wrong(&[NOWHERE, "http://127.0.0.1:10/"], &["URL 2", "http://127.0.0.1:10", "has one"]);
    check_wrong(&[NOWHERE, "-H", "Accept:", "text/plain"], &["'text/plain'", "quotes"]);
    check_wrong(&["ftp://localhost/"], &["ftp", "use http"]);
    check_wrong(&["--cacert", "ca.pem", NOWHERE], &["--cacert", "https://"]);
    check_wrong(&["-s", "a.lua", "-X", "PUT", NOWHERE], &["--method", "wrk.method"]);
    check_wrong(&["a.lua", NOWHERE], &["one word too many", "-s"]);
    check_wrong(&["--selfcheck", "-o", "run.json"], &["--selfcheck", "add a URL"]);
    check_wrong(&["http://"], &["http://HOST[:PORT]/PATH"]);
    check_wrong(&["http://localhost:99999/"], &["99999", "1 to 65535"]);
    check_wrong(&["http://::1/"], &["brackets"]);
}

/// A host without an address is no usage error. As for any unreachable target, the exit code is the
/// same as for a run without a response.
#[test]
fn a_host_that_is_not_known_is_reported_with_the_remedy() {
    let output = weir("", &["http://no.such.host.invalid/"]);
    assert_eq!((output.code(), output.stdout.as_str()), (1, ""), "{output:?}");
    for part in ["error: the host \"no.such.host.invalid\"", "resolved", "--wait-for-server 30s"] {
        assert!(output.stderr.contains(part), "{output:?}");
    }
}

#[test]
fn results_that_could_not_be_written_are_reported_before_the_load() {
    let directory = Directory::new();
    let server = Raw::answering(OK);
    let missing = directory.file("missing/run.json");
    fs::write(directory.file("file"), "").expect("the directory is the test's own");
    let below_a_file = directory.file("file/run.json");
    let itself = directory.path().to_str().expect("temporary paths are text");
    for output in [&missing, &below_a_file, itself, "/", "..", ""] {
        check_wrong(&["--output", output, &server.url()], &["--output"]);
    }
    assert_eq!(server.finish(), 0, "nothing was sent");
}

#[test]
fn a_result_is_not_lost_with_standard_output() {
    let server = Served::plainly();
    let directory = Directory::new();
    let script = "exec \"$0\" -n 1 \"$@\" > /dev/full";
    let mut command = Command::new("sh");
    command.args(["-c", script, WEIR, "-o", &directory.file("run.json"), &server.url()]);
    let output = Process::start(&mut command).wait();
    assert_eq!(output.code(), 74, "{output:?}");
    assert!(output.stderr.contains("error: standard output cannot be written"), "{output:?}");
    Document::load(directory.file("run.json")).expect("the file is whole");

    let output = weir("-n 1 -o /dev/full", &[&server.url()]);
    assert_eq!(output.code(), 74, "{output:?}");
    assert!(output.stdout.contains("200: 1"), "{output:?}");
    assert!(output.stderr.contains("error: --output cannot be written"), "{output:?}");
}

#[test]
fn results_do_not_replace_links_and_pipes() {
    let server = Served::plainly();
    let directory = Directory::new();
    let file = directory.file("run.json");
    let link = directory.file("latest.json");
    fs::write(&file, "").expect("the directory is the test's own");
    std::os::unix::fs::symlink("run.json", &link).expect("the directory is the test's own");
    assert_eq!(weir("--no-verdict -q -n 1 -o", &[&link, &server.url()]).code(), 0);
    assert!(fs::symlink_metadata(&link).expect("it is there").is_symlink());
    Document::load(&file).expect("what the link points to is the document");
    assert_eq!(directory.names(), ["latest.json", "run.json"]);

    let output = weir("-q -n 1 -o /dev/stdout", &[&server.url()]);
    Document::from_json(output.stdout.as_bytes()).expect("standard output is the document");

    let pipe = directory.file("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there");
    assert!(made.success());
    let url = server.url();
    let mut command = Command::new(WEIR);
    let writer = Process::start(command.args(["--no-verdict", "-q", "-n", "1", "-o", &pipe, &url]));
    let reader = Process::start(Command::new("cat").arg(&pipe)).wait();
    Document::from_json(reader.stdout.as_bytes()).expect("the pipe carried the document");
    assert_eq!(writer.wait().code(), 0);

    // Without a reader, to open it would wait for ever.
    let output = weir("-q -n 1 -o", &[&pipe, &url]);
    let error = format!("error: --output {pipe} is a pipe without a reader: start it first\n");
    assert_eq!((output.code(), output.stderr), (2, error));
}

#[test]
fn json_is_the_document_and_a_report_of_it_is_the_text() {
    let server = Served::plainly();
    let directory = Directory::new();
    let file = directory.file("run.json");
    for load in ["-n 50", "-R 500 -d 200ms --warmup 50ms", "-c 3 -R 500 -n 10 -L"] {
        let text = weir(&format!("{load} -o {file}"), &[&server.url()]);
        let latency = if load.contains("-L") { "--latency" } else { "" };
        let again = weir(&format!("report {latency}"), &[&file]);
        assert_eq!((again.code(), again.stdout), (0, text.stdout), "{load}");

        let json = weir("report --format json", &[&file]);
        assert_eq!(json.stdout, fs::read_to_string(&file).expect("it was written"), "{load}");

        let json = weir(&format!("--format json {load}"), &[&server.url()]);
        let document = Document::from_json(json.stdout.as_bytes());
        assert!(document.expect("it is a document").results.outcomes.ok > 0, "{load}");
    }
}

#[test]
fn reports_of_what_is_no_document_are_refused() {
    let directory = Directory::new();
    let empty = directory.file("empty");
    let other = directory.file("other");
    fs::write(&empty, "").expect("the directory is the test's own");
    fs::write(&other, "{\"a\": 1}").expect("the directory is the test's own");
    check_wrong(&["report"], &["FILE"]);
    check_wrong(&["report", "/nowhere/at/all"], &["/nowhere/at/all", "No such file"]);
    check_wrong(&["report", &empty], &[&empty, "not JSON"]);
    check_wrong(&["report", &other], &[&other, "not a document of weir"]);
}

#[test]
fn quiet_is_silent() {
    let server = Served::plainly();
    let directory = Directory::new();
    let file = directory.file("run.json");
    let output = weir(&format!("--no-verdict -q -n 5 -o {file}"), &[&server.url()]);
    assert_eq!((output.code(), output.stdout, output.stderr), (0, String::new(), String::new()));
    assert_eq!(Document::load(&file).expect("it was written").results.outcomes.ok, 5);
    assert_eq!(directory.names(), ["run.json"], "no temporary file is left");
}

#[test]
fn a_pipe_gets_neither_progress_nor_colours() {
    let server = Served::plainly();
    let output = weir("--no-verdict -d 1200ms --warmup 0 -R 100", &[&server.url()]);
    assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{output:?}");
    assert!(!output.stdout.contains(['\x1b', '\r']), "{output:?}");
}

#[test]
fn the_version_is_printed() {
    for words in ["-v", "--version"] {
        let output = weir(words, &[]);
        let version = format!("weir {}\n", env!("CARGO_PKG_VERSION"));
        assert_eq!((output.code(), output.stdout), (0, version));
    }
}

/// A whole command line can be tried with --print-plan, which says what it leaves out.
#[test]
fn a_printed_plan_names_the_flags_without_effect() {
    let directory = Directory::new();
    let file = directory.file("run.json");
    for (words, expected) in [
        (&["-o", &file, "--save", "a"][..], "no file is written, nothing is saved\n"),
        (&["--export", &format!("csv={file}.csv")], "no file is written\n"),
        (&["-q"], "--quiet has no effect\n"),
    ] {
        let output = weir("--print-plan http://127.0.0.1:9/", words);
        assert_eq!(output.code(), 0, "{output:?}");
        assert_eq!(output.stderr, format!("note: --print-plan sends nothing: {expected}"));
    }
    assert!(fs::metadata(&file).is_err());
}

fn print_plan(words: &str, more: &[&str]) -> Plan {
    let output = weir(&format!("--print-plan {words}"), more);
    assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{output:?}");
    serde_json::from_str(&output.stdout).expect("it is a plan")
}

#[test]
fn a_plan_is_printed_and_nothing_sent() {
    let server = Raw::answering(OK);
    let url = server.url();
    let plan = print_plan("-t1 -c5 -d3s -R 0.5 -X PUT -b hello -T 7s --pipeline 3", &[&url]);
    assert_eq!((plan.threads, plan.load.connections.count(), plan.load.pipeline), (1, 5, 3));
    assert_eq!((plan.load.duration_ns, plan.load.timeout_ns), (Some(3_000_000_000), 7_000_000_000));
    assert_eq!(plan.load.connect_timeout_ns, 7_000_000_000);
    assert_eq!((plan.request.method.as_str(), plan.request.body_bytes), ("PUT", 5));
    let Some(rate) = plan.load.rate() else { panic!("{plan:?}") };
    assert_eq!((rate.numerator, rate.denominator), (1, 2));
    assert_eq!(server.finish(), 0, "nothing was sent");
}

#[test]
fn defaults_are_what_the_help_says() {
    let plan = print_plan("", &[NOWHERE]);
    assert_eq!(
        (plan.load.connections.count(), plan.load.pipeline, plan.load.requests),
        (10, 1, None)
    );
    assert_eq!(
        (plan.load.duration_ns, plan.load.warmup.span_ns),
        (Some(10_000_000_000), 2_000_000_000)
    );
    assert_eq!(
        (plan.load.timeout_ns, plan.load.connect_timeout_ns),
        (10_000_000_000, 10_000_000_000)
    );
    assert_eq!((plan.request.method.as_str(), plan.load.due), ("GET", None));
    let plan = print_plan("-n 10", &[NOWHERE]);
    assert_eq!(
        (plan.load.duration_ns, plan.load.warmup.span_ns, plan.load.requests),
        (None, 0, Some(10))
    );
    for (duration, warmup_s) in [("1s", 2), ("60s", 6), ("1h", 10)] {
        let plan = print_plan(&format!("-d {duration}"), &[NOWHERE]);
        assert_eq!(plan.load.warmup.span_ns, warmup_s * 1_000_000_000, "{duration}");
    }
    assert_eq!(print_plan("-b x", &[NOWHERE]).request.method, "POST");
}

#[test]
fn flags_and_suffixes_are_as_in_wrk() {
    let plan = print_plan("-t2 -c 1k -d 1m -R 20k -T 500ms", &[NOWHERE]);
    assert_eq!((plan.threads, plan.load.connections.count()), (2, 1000));
    assert_eq!((plan.load.duration_ns, plan.load.timeout_ns), (Some(60_000_000_000), 500_000_000));
    let Some(rate) = plan.load.rate() else { panic!("{plan:?}") };
    assert_eq!(rate.rps().to_bits(), 20_000_f64.to_bits());
    let long = "--threads 2 --connections 1k --duration 1m --rate 20k --timeout 500ms --latency";
    assert_eq!(print_plan(long, &[NOWHERE]), plan);
    assert_eq!(print_plan("-t2 -c1k -d1m -R20k -T500ms -L", &[NOWHERE]), plan);
    let bare = print_plan("-d 2 -T 3", &[NOWHERE]);
    assert_eq!((bare.load.duration_ns, bare.load.timeout_ns), (Some(2_000_000_000), 3_000_000_000));
}

#[test]
fn a_seed_makes_the_plan_repeatable_and_is_printed() {
    let server = Served::plainly();
    let output = weir("-R 200 -n 20 --arrivals poisson --seed 42", &[&server.url()]);
    assert!(output.stdout.contains("poisson") && output.stdout.contains("42"), "{output:?}");
    let drawn = print_plan("-R 200 --arrivals poisson", &[NOWHERE]);
    assert!(drawn.load.is_open_loop(), "{drawn:?}");
}

/// Returns the request that a server reads for these words.
fn sent_with(words: &[&str]) -> String {
    let (sender, receiver) = std::sync::mpsc::channel();
    let server = Raw::start(move |peer| {
        while let Some(head) = peer.read_request()? {
            sender.send(head).expect("the test waits");
            peer.write(OK)?;
        }
        Ok(())
    });
    let url = format!("{}a b?c=d#e", server.url());
    let output = weir("--no-verdict -n 1 --no-preflight", &[words, &[&url]].concat());
    assert_eq!(output.code(), 0, "{output:?}");
    receiver.recv().expect("a request came").replace(server.authority(), "SERVER")
}

#[test]
fn requests_are_sent_as_requested() {
    let head = sent_with(&[]);
    assert!(head.starts_with("GET /a%20b?c=d HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Host: SERVER\r\n"), "{head}");
    let head = sent_with(&["-H", "X-A:  spaced  ", "-H", "X-A: again", "-H", "X-Empty:"]);
    assert!(head.contains("X-A: spaced\r\nX-A: again\r\nX-Empty:"), "{head}");
    let head = sent_with(&["-H", "Host: other.example"]);
    assert!(head.contains("Host: other.example\r\n") && !head.contains("SERVER"), "{head}");
    let head = sent_with(&["-X", "DELETE"]);
    assert!(head.starts_with("DELETE /a%20b?c=d HTTP/1.1\r\n"), "{head}");
}

#[test]
fn bodies_come_from_the_line_or_from_a_file() {
    let directory = Directory::new();
    let file = "body.bin";
    fs::write(directory.file(file), [0, 255, 13, 10, 7]).expect("the directory is the test's own");
    let plan = print_plan("-b", &[&format!("@{}", directory.file(file)), NOWHERE]);
    assert_eq!((plan.request.method.as_str(), plan.request.body_bytes), ("POST", 5));
    let head = sent_with(&["-b", ""]);
    assert!(head.starts_with("POST ") && head.contains("Content-Length: 0\r\n"), "{head}");

    // A request that is not safe is sent as often as requested, without a preflight.
    let server = Served::plainly();
    let output = weir("--no-verdict -n 7 -b hello", &[&server.url()]);
    assert_eq!(output.code(), 0, "{output:?}");
    assert_eq!(server.stop().requests.received, 7);
}

#[test]
fn the_server_prints_its_address_and_its_counters() {
    let mut command = Command::new(WEIR);
    command.args(["serve", "--listen", "127.0.0.1:0", "--listen", "[::1]:0", "--duration", "1ms"]);
    let output = Process::start(&mut command).wait();
    assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{output:?}");
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert!(lines[0].starts_with("listening on http://127.0.0.1:"), "{output:?}");
    assert!(lines[1].starts_with("listening on http://[::1]:"), "{output:?}");
    let stats: serde_json::Value = serde_json::from_str(lines[2]).expect("counters are JSON");
    assert_eq!(stats["requests"], 0);
}

#[test]
fn wrong_flags_of_the_server_are_reported() {
    check_wrong(&["serve", "--listen", "nonsense"], &["--listen", "ADDRESS:PORT"]);
    check_wrong(&["serve", "--mode", "fifo", "--threads", "2"], &["--mode concurrent"]);
    check_wrong(&["serve", "--status", "99"], &["status 99", "200 to 599"]);
    check_wrong(&["serve", "--fault", "explode:0.1"], &["--fault", "blackhole"]);
    check_wrong(&["serve", "--delay", "soon"], &["--delay"]);
    check_wrong(&["serve", "--stall", "1s"], &["--stall", "3s+1.4s"]);
    check_wrong(&["serve", "--size", "2g"], &["1g is the most"]);
    check_wrong(&["serve", "-H", "Content-Length: 5"], &["--header", "--size"]);
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a port is free");
    let address = taken.local_addr().expect("it is bound").to_string();
    check_wrong(&["serve", "--listen", &address], &[&address, "is another server there?"]);
}
