//! The watch of the server: a real nginx counts and logs the requests that weir counts, and what
//! differs is a finding.

use std::fs::{self, File};
use std::io::{self, Write};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use weir_result::document::{RuleOutcome, ServerSection};

use crate::support::directory::Directory;
use crate::support::nginx::Nginx;
use crate::support::on_an_engine;
use crate::support::process::Process;
use crate::support::raw::{OK, Peer, Raw};
use crate::support::secure::{Authority, Secure};
use crate::support::serve::Serve;
use crate::support::wait;
use crate::support::weir::{self, Ran, weir};

/// The watched server of a run.
fn server(ran: &Ran) -> &ServerSection {
    ran.document.server.as_ref().unwrap_or_else(|| panic!("no section\n{ran}"))
}

/// The outcome of a rule.
fn outcome(ran: &Ran, id: &str) -> RuleOutcome {
    let rule = ran.document.verdict.rules.iter().find(|rule| rule.id == id);
    rule.unwrap_or_else(|| panic!("no rule {id}\n{ran}")).outcome
}

/// Requests that reached the server.
fn processed(ran: &Ran) -> u64 {
    let sent = ran.document.accounting.sent;
    sent.total - sent.returned
}

#[test]
fn nginx_counts_the_requests_of_every_kind_of_load() {
    let nginx = Nginx::start("");
    let plain = nginx.url();
    let http2 = nginx.http2_url();
    let status = nginx.status_url();
    on_an_engine(|engine| {
        for (url, flags) in [
            (&plain, "-c20 -d400ms --warmup 100ms"),
            (&plain, "-c3 -n 5000"),
            (&plain, "-c3 -R 2000 -d400ms --warmup 100ms"),
            (&plain, "-c3 -n 2000 --requests-per-connection 50"),
            (&plain, "-c3 -n 2000 --no-preflight --pipeline 5"),
            (&http2, "-c3 -n 5000 --http 2 --streams 10"),
            // The load is for the watched page itself.
            (&status, "-c3 -n 500"),
        ] {
            let ran = weir::load(engine, &format!("-t2 {flags}"), &["--watch-nginx", &status, url]);
            let what = format!("{flags}\n{ran}");
            ran.assert_all_ok();
            let server = server(&ran);
            assert_eq!(server.weir.requests, processed(&ran), "{what}");
            assert_eq!(server.not_compared, None, "{what}");
            let nginx = server.nginx.as_ref().unwrap_or_else(|| panic!("{what}"));
            assert_eq!(nginx.requests, Some(processed(&ran)), "{what}");
            assert_eq!((nginx.difference, nginx.dropped), (Some(0), Some(0)), "{what}");
            assert_eq!((nginx.polls.failed, &nginx.polls.error), (0, &None), "{what}");
            assert!(nginx.series.is_sorted_by_key(|sample| sample.requests), "{what}");
            assert!(nginx.before.at_s < 0.0, "{what}");
            assert_eq!(outcome(&ran, "server-count"), RuleOutcome::Pass, "{what}");
            assert_eq!(outcome(&ran, "dropped-accepts"), RuleOutcome::Pass, "{what}");
            ran.assert_says("as many as weir sent");
        }
    });
}

#[test]
fn pages_are_read_over_tls() {
    let nginx = Nginx::start("");
    let status = nginx.secure_status_url();
    let ca = nginx.authority();
    let metrics = format!("{}metrics", nginx.secure_url());
    let pages = ["--watch-nginx", &status, "--watch-prometheus", &metrics, "--watch-metric", "up"];
    for (url, trust) in [
        (nginx.url(), &["--cacert", &ca][..]),
        (nginx.url(), &["-k"]),
        (nginx.secure_url(), &["--cacert", &ca, "--tls-max", "1.2"]),
    ] {
        let more = [&pages[..], trust, &[&url]].concat();
        let ran = weir::load("epoll", "-c2 -t1 -n 500", &more);
        ran.assert_all_ok();
        let server = server(&ran);
        let found = server.nginx.as_ref().unwrap_or_else(|| panic!("{ran}"));
        assert_eq!((found.requests, found.difference), (Some(processed(&ran)), Some(0)), "{ran}");
        assert_eq!((found.polls.failed, &found.polls.error), (0, &None), "{ran}");
        let metrics = server.prometheus.as_ref().unwrap_or_else(|| panic!("{ran}"));
        assert_eq!(metrics.metrics[0].points[0].value, Some(5.0), "{ran}");
        // The file of the authority is an input, also if the load has no use for it.
        let inputs = ran.document.run.inputs.iter().filter(|input| input.path == ca).count();
        assert_eq!(inputs, usize::from(trust.contains(&ca.as_str())), "{ran}");
    }
    // The name of the target is no choice for the page.
    let sni = ["--sni", "a.test", "--watch-nginx", &status, &nginx.url()];
    let refused = weir("-c1 -n 10", &sni);
    assert!(refused.code() == 2 && refused.stderr.contains("--sni"), "{}", refused.stderr);
}

/// A page ends with its connection: with a close_notify it is complete.
#[test]
fn a_page_that_ends_with_its_connection_must_end_in_order() {
    let authority = Authority::new();
    let target = Serve::start(&[]);
    let page = |ends_in_order: bool| {
        Secure::start(&authority.sign_loopback(), move |peer| {
            peer.read_request()?;
            peer.write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nup 5\n")?;
            if ends_in_order { peer.close_in_order() } else { peer.break_off() }
        })
    };
    let whole = page(true);
    let cut = page(false);
    let flags = "-c1 -n 100 --watch-timeout 60s --watch-metric up";
    let ca = authority.file();
    let url = target.url();
    let whole_url = whole.url();
    let cut_url = cut.url();
    let ran =
        weir::load("epoll", flags, &["--cacert", &ca, "--watch-prometheus", &whole_url, &url]);
    ran.assert_all_ok();
    let metrics = server(&ran).prometheus.as_ref().unwrap_or_else(|| panic!("{ran}"));
    assert_eq!((metrics.polls.failed, metrics.metrics[0].points[0].value), (0, Some(5.0)), "{ran}");
    let ended = weir(flags, &["--cacert", &ca, "--watch-prometheus", &cut_url, &url]);
    assert_eq!(ended.code(), 2, "{}", ended.stderr);
    assert!(ended.stderr.contains("ended without close_notify"), "{}", ended.stderr);
}

#[test]
fn requests_of_another_client_are_a_finding() {
    let nginx = Nginx::start("");
    let url = nginx.url();
    let status = nginx.status_url();
    let other = format!("curl -s -o /dev/null {url} && echo 1");
    let flags = ["--watch-nginx", &status, "--watch-command", &other, &url];
    let ran = weir::load("epoll", "-c2 -n 500", &flags);
    ran.assert_all_ok();
    let server = server(&ran);
    let others = server.commands[0].polls.begun;
    let nginx = server.nginx.as_ref().unwrap_or_else(|| panic!("{ran}"));
    // One call may last over the end of the load, and is the last one then.
    assert!(others >= 2, "{ran}");
    assert_eq!(nginx.difference, i64::try_from(others).ok(), "{ran}");
    assert_eq!(outcome(&ran, "server-count"), RuleOutcome::Finding, "{ran}");
    let rules = &ran.document.verdict.rules;
    let rule = rules.iter().find(|rule| rule.id == "server-count");
    let text = rule.map_or("", |rule| rule.text.as_str());
    assert!(text.contains("stop other clients"), "{text}");
    ran.assert_says("weir sent");
}

#[test]
fn the_access_log_has_a_line_with_the_status_of_every_request() {
    let nginx = Nginx::start("");
    let log = nginx.access_log();
    let status = nginx.status_url();
    let directory = Directory::new();
    let script = directory.file("both.lua");
    let text = "local n = 0\n\
                function request() n = n + 1\n\
                return wrk.format('GET', n % 3 == 0 and '/missing' or '/logged') end\n";
    fs::write(&script, text).expect("the directory is the test's own");
    on_an_engine(|engine| {
        for (flags, by_script) in [
            ("-c20 -d400ms --warmup 100ms", false),
            ("-c3 -R 2000 -d400ms --warmup 100ms --witness on", false),
            ("-c1 -t1 -n 300", true),
        ] {
            let url = format!("{}logged", nginx.url());
            let mut more = vec!["--access-log", &log, "--watch-nginx", &status];
            more.extend(["-s", &script].iter().filter(|_| by_script));
            more.push(&url);
            let ran = weir::load(engine, flags, &more);
            let server = server(&ran);
            let log = server.access_log.as_ref().unwrap_or_else(|| panic!("{ran}"));
            assert_eq!((log.difference, &log.error), (Some(0), &None), "{ran}");
            assert_eq!((log.lines, log.unrecognised), (processed(&ran), 0), "{ran}");
            // The probe before the load may abandon a request, which has a line and no response.
            let unanswered = log.lines - server.weir.status.values().sum::<u64>();
            assert_eq!(unanswered, server.weir.unanswered, "{ran}");
            assert!(unanswered <= u64::from(ran.document.accounting.sent.probe > 0), "{ran}");
            let mut status = server.weir.status.clone();
            *status.get_mut(&200).expect("most are") += unanswered;
            assert_eq!(log.status, status, "{ran}");
            assert_eq!(log.status.contains_key(&404), by_script, "{ran}");
            assert_eq!(outcome(&ran, "server-count"), RuleOutcome::Pass, "{ran}");
        }
    });
}

#[test]
fn several_servers_of_one_name_are_reported() {
    let nginx = Nginx::start("");
    let other = Nginx::start("");
    let ran = weir::load("epoll", "-c1 -n 20", &["--watch-pid", "nginx", &nginx.url()]);
    ran.assert_all_ok();
    let note = ran.document.notes.iter().find(|note| note.code == "several_servers");
    let text = &note.unwrap_or_else(|| panic!("{ran}")).text;
    assert!(
        text.starts_with("--watch-pid nginx adds up ") && text.contains(" started apart ("),
        "{text}"
    );
    assert!(ran.stderr.contains(text), "{ran}");
    for pid in [nginx.pid(), other.pid()] {
        assert!(text.contains(&pid), "{pid}: {text}");
    }
}

#[test]
fn processes_and_metrics_are_series() {
    let nginx = Nginx::start("");
    let url = nginx.url();
    let status = nginx.status_url();
    let pid = nginx.pid();
    let metrics = format!("{url}metrics");
    let flags = "-c4 -d400ms --warmup 0s --watch-metric up --note kernel=new --capture true";
    let more =
        ["--watch-pid", &pid, "--watch-prometheus", &metrics, "--watch-nginx", &status, &url];
    let ran = weir::load("epoll", flags, &more);
    let server = server(&ran);
    let process = &server.processes[0];
    assert!(process.cpu_mean.is_some_and(|cpu| cpu > 0.0), "{process:?}");
    assert!(process.cpu_max >= process.cpu_mean, "{process:?}");
    assert!(process.resident_max_bytes > 0 && process.series.len() >= 3, "{process:?}");
    assert!(process.series[0].at_s < 0.0 && process.series[0].cpu.is_none(), "{process:?}");
    assert_eq!(process.pids, [pid.parse::<u32>().expect("a number")]);
    let metric = &server.prometheus.as_ref().unwrap_or_else(|| panic!("{ran}")).metrics[0];
    assert_eq!((metric.name.as_str(), metric.kind.as_str()), ("up", "counter"));
    assert!(metric.points.iter().all(|point| point.value == Some(5.0)), "{metric:?}");
    assert_eq!(metric.labels["a"], "b", "{metric:?}");
    // Requests for the metrics are the watcher's, and no difference.
    assert_eq!(server.nginx.as_ref().and_then(|nginx| nginx.difference), Some(0), "{ran}");
    assert_eq!(server.captures[0].exit_status, Some(0), "{ran}");
    assert_eq!(ran.document.run.annotations["kernel"], "new", "{ran}");
    ran.assert_says("CPU mean");
}

#[test]
fn a_source_that_fails_during_the_load_is_counted() {
    let nginx = Nginx::start("");
    let directory = Directory::new();
    let once = format!("mkdir {} && echo 1", directory.file("once"));
    let flags = ["--watch-command", &once, &nginx.url()];
    let ran = weir::load("epoll", "-c1 -n 100", &flags);
    ran.assert_all_ok();
    let command = &server(&ran).commands[0];
    let polls = &command.polls;
    assert_eq!((polls.begun - polls.failed, command.series["value"].len()), (1, 1), "{ran}");
    assert_eq!(polls.error.as_deref(), Some("it ended with status 1"), "{ran}");
    ran.assert_says("failed reading");
}

#[test]
fn a_server_that_ends_during_the_load_is_unknown() {
    let nginx = Nginx::start("");
    let target = Serve::start(&[]);
    let directory = Directory::new();
    // The first call is before the load, the second kills nginx.
    let path = directory.file("called");
    let command = format!("mkdir {path} || kill -9 {}; echo 1", nginx.pid());
    let status = nginx.status_url();
    let url = target.url();
    let flags = ["--watch-nginx", &status, "--watch-command", &command, &url];
    let ran = weir::load("epoll", "-c1 -n 100", &flags);
    ran.assert_all_ok();
    let nginx = server(&ran).nginx.as_ref().unwrap_or_else(|| panic!("{ran}"));
    assert_eq!((nginx.requests, nginx.difference, nginx.dropped), (None, None, None), "{ran}");
    assert!(nginx.polls.failed > 0 && nginx.polls.error.is_some(), "{ran}");
    assert_eq!(outcome(&ran, "server-count"), RuleOutcome::Unknown, "{ran}");
    ran.assert_says("nginx counted an unknown number of requests");
}

/// A page of metrics that responds once, and then as `later` does.
fn page(later: impl Fn(&mut Peer) -> io::Result<()> + Send + Sync + 'static) -> Raw {
    let requests = AtomicU64::new(0);
    Raw::start(move |peer| {
        while peer.read_request()?.is_some() {
            match requests.fetch_add(1, Ordering::AcqRel) {
                0 => peer.write("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nup 5\n")?,
                _ => later(peer)?,
            }
        }
        Ok(())
    })
}

#[test]
fn a_page_that_never_ends_is_a_failed_reading() {
    let endless = page(|peer| {
        loop {
            peer.write("HTTP/1.1 100 Continue\r\n\r\n".repeat(10_000))?;
        }
    });
    let dribbling = page(|peer| {
        peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")?;
        loop {
            peer.write("x")?;
            wait::let_pass(Duration::from_millis(20));
        }
    });
    let target = Serve::start(&[]);
    let flags = "-c1 -n 100 --watch-timeout 500ms --watch-metric up";
    for (page, reason) in [
        (&endless, "more than 16 interim responses (1xx) before the final one"),
        (&dribbling, "no complete response within 500 ms"),
    ] {
        let more = ["--watch-prometheus", &page.url(), &target.url()];
        let ran = weir::load("epoll", flags, &more);
        ran.assert_all_ok();
        let metrics = server(&ran).prometheus.as_ref().unwrap_or_else(|| panic!("{ran}"));
        assert_eq!(metrics.polls.error.as_deref(), Some(reason), "{ran}");
        assert_eq!(metrics.metrics[0].points.len(), 1, "{ran}");
        ran.assert_says("failed reading");
    }
}

/// A log to which lines of other requests are appended until it is dropped.
struct GrowingLog {
    directory: Directory,
    end: Option<mpsc::Sender<()>>,
    writer: Option<JoinHandle<()>>,
}

impl GrowingLog {
    fn start() -> GrowingLog {
        let directory = Directory::new();
        let mut file = File::create(directory.file("access.log")).expect("it is the test's own");
        let (end, ended) = mpsc::channel();
        let writer = std::thread::spawn(move || {
            while ended.recv_timeout(Duration::from_millis(20)).is_err_and(is_timeout) {
                file.write_all(b"x \"GET /other HTTP/1.1\" 200 1\n").expect("there is room");
            }
        });
        GrowingLog { directory, end: Some(end), writer: Some(writer) }
    }

    fn path(&self) -> String {
        self.directory.file("access.log")
    }
}

fn is_timeout(error: mpsc::RecvTimeoutError) -> bool {
    error == mpsc::RecvTimeoutError::Timeout
}

impl Drop for GrowingLog {
    fn drop(&mut self) {
        self.end = None;
        let _panicked = self.writer.take().map(JoinHandle::join);
    }
}

#[test]
fn a_log_that_others_keep_growing_is_given_up() {
    let log = GrowingLog::start();
    let target = Serve::start(&[]);
    let more = ["--access-log", &log.path(), "--watch-timeout", "300ms", &target.url()];
    let ran = weir::load("epoll", "-c1 -n 20000", &more);
    ran.assert_all_ok();
    let log = server(&ran).access_log.as_ref().unwrap_or_else(|| panic!("{ran}"));
    let error = log.error.as_deref().unwrap_or_default();
    assert!(error.contains("still growing 600 ms after the load"), "{error}");
    ran.assert_says("still growing 600 ms");
    assert_eq!(log.difference, None, "{ran}");
    assert_eq!(outcome(&ran, "server-count"), RuleOutcome::Unknown, "{ran}");
}

#[test]
fn a_signal_ends_the_wait_for_the_server_with_the_report() {
    let log = GrowingLog::start();
    let target = Raw::answering(OK);
    let more = ["--access-log", &log.path(), "--watch-timeout", "600s", &target.url()];
    let running = weir::start("epoll", "-c1 -n 20000 --no-preflight", &more);
    // proc_pid_stat(5): the state of a process that has ended and is not waited for.
    let stat = format!("/proc/{}/stat", running.process.id());
    let has_ended = || fs::read_to_string(&stat).expect("it is a child").contains(") Z ");
    target.await_requests(20_000);
    // One that comes before the end of the load ends that, and the next one the wait.
    wait::until("the end", || {
        running.process.signal(&["INT"]);
        wait::within(Duration::from_secs(5), || has_ended().then_some(()))
    });
    let ran = running.finish();
    assert!([0, 130].contains(&ran.code), "{ran}");
    let log = server(&ran).access_log.as_ref().unwrap_or_else(|| panic!("{ran}"));
    assert_eq!(log.error.as_deref(), Some("a signal ended the wait for the last lines"), "{ran}");
    ran.assert_says("Throughput");
}

#[test]
fn a_capture_that_fails_is_reported() {
    let target = Serve::start(&[]);
    let more = ["--capture", "exit 3", "--capture", "kill $$", "--capture", "true", &target.url()];
    let ran = weir::load("epoll", "-c1 -n 20", &more);
    let notes = ran.document.notes.iter().filter(|note| note.code == "capture_failed");
    let texts: Vec<&str> = notes.map(|note| note.text.as_str()).collect();
    let ended =
        "--capture \"kill $$\" was ended after 10 s or by a signal: its output is incomplete";
    assert_eq!(texts, ["--capture \"exit 3\" ended with 3", ended], "{ran}");
    assert!(ran.stderr.contains(ended), "{ran}");
}

#[test]
fn captured_output_keeps_no_credential() {
    let target = Serve::start(&[]);
    let directory = Directory::new();
    let json = directory.file("run.json");
    let mut command = Command::new(weir::WEIR);
    command.args("-c1 -n 20 --capture env --capture".split(' '));
    command.args([
        "printenv OTEL_EXPORTER_OTLP_HEADERS",
        "--watch-command",
        "echo 5; : token=SECRET-9",
    ]);
    command.env("OTEL_EXPORTER_OTLP_HEADERS", "api-key=SECRET-1,x-a=SECRET%202");
    command.env("GITHUB_TOKEN", "SECRET-3 and SECRET-4").env("WORD", "kept");
    let ran = Process::start(command.args(["-o", &json, &target.url()])).wait();
    assert_eq!(ran.code(), 0, "{ran:?}");
    let text = fs::read_to_string(&json).expect("it was written");
    assert!(!text.contains("SECRET") && text.contains("WORD=kept"), "{text}");
    assert!(!format!("{ran:?}").contains("SECRET"), "{ran:?}");
}

#[test]
fn a_part_compares_no_counts() {
    let nginx = Nginx::start("");
    let flags = ["--watch-nginx", &nginx.status_url(), &nginx.url()];
    let ran = weir::load("epoll", "-c2 -t2 -n 100 --part 1/2", &flags);
    assert!(server(&ran).not_compared.is_some(), "{ran}");
    assert_eq!(outcome(&ran, "server-count"), RuleOutcome::Unknown, "{ran}");
}

#[test]
fn a_source_that_cannot_be_read_ends_the_run_before_the_load() {
    let nginx = Nginx::start("");
    let url = nginx.url();
    let secure = nginx.secure_status_url();
    let before = nginx.requests();
    for (flags, flag) in [
        (["--watch-nginx", "http://127.0.0.1:1/"], "--watch-nginx"),
        (["--watch-nginx", "https://127.0.0.1:1/"], "--watch-nginx"),
        (["--watch-nginx", &secure], "--watch-nginx: cannot connect to"),
        (["--watch-pid", "no-such-process"], "--watch-pid"),
        (["--watch-command", "exit 1"], "--watch-command"),
        (["--access-log", "/no/such/log"], "--access-log"),
    ] {
        let ended = weir("-c1 -n 10", &[flags[0], flags[1], &url]);
        assert_eq!(ended.code(), 2, "{flag}: {}", ended.stderr);
        assert!(ended.stderr.contains(flag), "{}", ended.stderr);
        assert_eq!(ended.stdout, "", "{flag}");
    }
    let refused = weir("-c1 -n 10", &["--watch-nginx", "http://127.0.0.1:1/", &url]);
    let text = "cannot connect to 127.0.0.1:1: Connection refused";
    assert!(refused.stderr.contains(text), "{}", refused.stderr);
    // The page is nginx's, but not stub_status: one request for each attempt.
    let ended = weir("-c1 -n 10", &["--watch-nginx", &url, &url]);
    assert!(ended.code() == 2 && ended.stderr.contains("stub_status"), "{}", ended.stderr);
    assert_eq!(nginx.requests() - before, 2);
}

const SECRET: &str = "SECRET-e3b0c442";

#[test]
fn a_watched_run_is_repeated_with_the_credentials_of_its_page() {
    let nginx = Nginx::start("");
    let directory = Directory::new();
    let first = directory.file("run.json");
    let again = directory.file("again.json");
    let status = nginx.status_url().replace("http://", &format!("http://me:{SECRET}@"));
    let ran = weir("-c1 -n 100", &["--watch-nginx", &status, "-o", &first, &nginx.url()]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let refused = weir("rerun", &[&first]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    let part = "for the value of --watch-nginx; give the values with --watch-nginx";
    assert!(refused.stderr.contains(part), "{refused:?}");
    let ran = weir("rerun", &["--watch-nginx", &status, "-o", &again, &first]);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let text = fs::read_to_string(&again).expect("it was written");
    assert!(!text.contains(SECRET) && text.contains("\"nginx\": {"), "{text}");
}

#[test]
fn credentials_are_in_no_file_of_a_watched_run() {
    let nginx = Nginx::start("");
    let directory = Directory::new();
    let json = directory.file("run.json");
    let rows = directory.file("rows.parquet");
    let with_user = |url: String| url.replace("http://", &format!("http://me:{SECRET}@"));
    let status = with_user(nginx.status_url());
    let metrics = with_user(nginx.url()) + "metrics";
    let header = format!("Authorization: Bearer {SECRET}");
    let note = format!("token={SECRET}");
    let capture = format!("echo sent {SECRET}; echo {SECRET} >&2");
    let command = format!("echo 1 # {SECRET}");
    let ended = weir(
        "-c1 -n 100 --watch-metric up",
        &[
            "--watch-nginx",
            &status,
            "--watch-prometheus",
            &metrics,
            "-H",
            &header,
            "--note",
            &note,
            "--capture",
            &capture,
            "--watch-command",
            &command,
            "-o",
            &json,
            "--raw",
            &rows,
            &nginx.url(),
        ],
    );
    assert_eq!(ended.code(), 0, "{}\n{}", ended.stdout, ended.stderr);
    let files = [&json, &rows].map(|file| fs::read(file).expect("it was written"));
    let outputs = [ended.stdout.into_bytes(), ended.stderr.into_bytes()];
    for text in files.iter().chain(&outputs) {
        let holds = text.windows(SECRET.len()).any(|part| part == SECRET.as_bytes());
        assert!(!holds, "{}", String::from_utf8_lossy(text));
    }
    let document = String::from_utf8_lossy(&files[0]);
    assert!(document.contains("sent [redacted]\\n[redacted]"), "{document}");
}
