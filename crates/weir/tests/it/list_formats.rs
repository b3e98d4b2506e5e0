//! Lists that other programs wrote, run as they are: a browser's HAR file, curl commands as
//! browsers copy them, and the targets of vegeta's documentation.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Arc, Mutex};

use crate::support::directory::Directory;
use crate::support::raw::{OK, Raw};
use crate::support::weir::{self, Ran};

/// A page with a style sheet, a script and two images, recorded by headless Chromium 156 through
/// Playwright's `recordHar`. nginx served two origins on loopback, to which Chromium mapped the
/// names shop.example and cdn.example. The script fetches JSON with a query, posts JSON and a form
/// to the page's origin, and fetches from the other. The first response sets the cookie `lang=de`.
const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/page.har");

/// A request that a server received: its head and its body.
type Received = (String, String);

/// A server that keeps what it receives.
struct Recorder {
    server: Raw,
    received: Arc<Mutex<Vec<Received>>>,
}

impl Recorder {
    fn start() -> Recorder {
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        let server = Raw::start(move |connection| {
            while let Some(head) = connection.read_request()? {
                let length = field(&head, "Content-Length").and_then(|length| length.parse().ok());
                let body = connection.read_body(length.unwrap_or(0))?;
                let is_head = head.starts_with("HEAD ");
                let body = String::from_utf8(body).expect("the bodies of these lists are text");
                kept.lock().expect("no server of a test panics").push((head, body));
                let end = OK.find("\r\n\r\n").expect("a head ends") + 4;
                connection.write(if is_head { &OK[..end] } else { OK })?;
            }
            Ok(())
        });
        Recorder { server, received }
    }

    /// Runs a list twice on one connection, at this server in place of the one that it names;
    /// returns the requests of the first pass.
    fn run(self, list: &str, rows: usize, more: &[&str]) -> (Ran, Vec<Received>) {
        let flags = format!("-n {} -c 1 -t 1 --no-preflight", 2 * rows);
        let all = ["--from", list, "--connect-to", self.server.authority()];
        let ran = weir::load("auto", &flags, &[&all, more].concat());
        ran.assert_all_ok();
        self.server.finish();
        let mut received = std::mem::take(&mut *self.received.lock().expect("none panics"));
        assert_eq!(received.len(), 2 * rows, "{ran}");
        assert_eq!(received[..rows], received[rows..], "{ran}");
        received.truncate(rows);
        (ran, received)
    }
}

/// Returns the value of a header field.
fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    let mut values = fields.filter(|(known, _)| known.eq_ignore_ascii_case(name));
    values.next().map(|(_, value)| value)
}

/// Checks request lines and bodies.
fn check(received: &[Received], expected: &[(&str, &str)]) {
    let of = |(head, body): &Received| (head.lines().next().map(str::to_owned), body.clone());
    let received: Vec<_> = received.iter().map(of).collect();
    let line = |line: &str| Some(format!("{line} HTTP/1.1"));
    let expected: Vec<_> = expected.iter().map(|(it, body)| (line(it), (*body).into())).collect();
    assert_eq!(received, expected);
}

fn write(directory: &Directory, name: &str, text: &str) -> String {
    let file = directory.file(name);
    fs::write(&file, text).expect("the directory is the test's own");
    file
}

#[test]
fn a_browsers_archive_runs_as_it_is() {
    let refused = weir::weir("-n 1 --connect-to 127.0.0.1:9", &["--from", PAGE]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    for part in ["page.har: line 4: its origin is http://cdn.example", "--skip-other-origins"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    let (ran, received) = Recorder::start().run(PAGE, 8, &["--skip-other-origins"]);
    check(
        &received,
        &[
            ("GET /", ""),
            ("GET /style.css?v=3", ""),
            ("GET /logo.png", ""),
            ("GET /app.js", ""),
            ("GET /back.png", ""),
            ("GET /api/items?page=2&sort=price%20up&q=gr%C3%BCn", ""),
            ("POST /api/orders", "{\"item\":7,\"note\":\"zwei Stück, \\\"eilig\\\"\"}"),
            ("POST /api/search", "text=a+b%26c&lang=de"),
        ],
    );
    for (nth, (head, _)) in received.iter().enumerate() {
        assert_eq!(field(head, "Host"), Some("shop.example"), "{head}");
        assert_eq!(field(head, "Cookie"), (nth > 0).then_some("lang=de"), "{head}");
        assert!(field(head, "User-Agent").is_some_and(|it| it.contains("Chrome/156")), "{head}");
    }
    assert_eq!(field(&received[6].0, "Content-Type"), Some("application/json"));
    let list = ran.document.plan.list.as_ref().expect("the plan has the list");
    let left_out: BTreeMap<String, u64> = [("http://cdn.example".to_owned(), 2)].into();
    assert_eq!((list.format.as_str(), &list.other_origins), ("har", &left_out), "{ran}");
    ran.assert_says("2 requests to http://cdn.example");
    let names = ran.document.names.iter().map(|name| (name.name.as_str(), name.ok));
    assert_eq!(names.clone().count(), 8, "{ran}");
    assert!(names.clone().all(|(_, ok)| ok == 2), "{ran}");
    assert!(names.clone().any(|(name, _)| name == "GET /api/items"), "{ran}");
}

/// Chrome's "Copy all as cURL (bash)": commands end with a semicolon, cookies are an option of
/// their own, brackets in a URL have a backslash, and text with a quote or `!` is in `$'…'`.
const CHROME: &str = include_str!("../data/chrome.txt");

/// Firefox's "Copy as cURL (POSIX)": `--http2` for a request over HTTP/2, `--globoff` for a URL
/// with brackets, and bytes of UTF-8 in `$'…'`.
const FIREFOX: &str = include_str!("../data/firefox.txt");

#[test]
fn commands_that_browsers_copy_run_as_they_are() {
    let directory = Directory::new();
    let chrome = write(&directory, "chrome.txt", CHROME);
    let (_, received) = Recorder::start().run(&chrome, 3, &[]);
    check(
        &received,
        &[
            ("GET /list?ids[0]=1&q=a%20b", ""),
            ("POST /api/orders", "{\"item\":7,\"note\":\"it's \\\"urgent\\\"!\\nü\"}"),
            ("DELETE /api/orders/7", ""),
        ],
    );
    assert_eq!(field(&received[0].0, "Cookie"), Some("lang=de; seen=1"));
    assert_eq!(field(&received[0].0, "Sec-Ch-Ua-Mobile"), Some("?0"));
    assert_eq!(field(&received[1].0, "Content-Type"), Some("application/json"));
    assert_eq!(field(&received[1].0, "X-Empty"), Some(""));
    let firefox = write(&directory, "firefox.txt", FIREFOX);
    let (_, received) = Recorder::start().run(&firefox, 3, &[]);
    check(
        &received,
        &[
            ("GET /", ""),
            ("POST /api/search", "text=a+b%26c&lang=de"),
            ("PUT /list?ids[]=1", "zürich"),
        ],
    );
    assert_eq!(field(&received[0].0, "Accept-Encoding"), Some("gzip, deflate, br, zstd"));
    assert_eq!(field(&received[1].0, "TE"), Some("trailers"));
}

/// The examples of vegeta's `http` format, in one file. The paths of bodies are `/path/to/…` there.
const VEGETA: &str = include_str!("../data/vegeta.txt");

/// The target that jq writes by the example of vegeta's `json` format.
const VEGETA_JSON: &str = include_str!("../data/vegeta.json");

#[test]
fn the_targets_of_vegetas_documentation_run_as_they_are() {
    let directory = Directory::new();
    write(&directory, "newthing.json", "{\"new\": 1}");
    write(&directory, "thing-71988591.json", "{\"thing\": 2}\n");
    let here = format!("@{}/", directory.path().display());
    let targets = write(&directory, "targets.txt", &VEGETA.replace("@/path/to/", &here));
    let refused = weir::weir("-n 1 --connect-to 127.0.0.1:9", &["--from", &targets]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    for part in ["targets.txt: line 12: its body is the file", "--allow-local"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    let (ran, received) = Recorder::start().run(&targets, 8, &["--allow-local"]);
    check(
        &received,
        &[
            ("GET /path/to/dragon?item=ball", ""),
            ("GET /path/to", ""),
            ("HEAD /path/to/success", ""),
            ("GET /path/to", ""),
            ("DELETE /path/to/remove", ""),
            ("POST /things", "{\"new\": 1}"),
            ("PATCH /thing/71988591", "{\"thing\": 2}\n"),
            ("POST /things", "{\"new\": 1}"),
        ],
    );
    let basic = Some("Basic dXNlcjpwYXNzd29yZA==");
    for (nth, authorization) in [(1, basic), (3, basic), (4, Some("Token DEADBEEF")), (5, None)] {
        assert_eq!(field(&received[nth].0, "Authorization"), authorization, "{nth}");
    }
    assert_eq!(field(&received[3].0, "X-Account-ID"), Some("8675309"));
    assert_eq!(field(&received[7].0, "X-Account-ID"), Some("99"));
    assert_eq!(field(&received[0].0, "Host"), Some("goku:9090"));
    let written = serde_json::to_string(&ran.document).expect("JSON");
    assert!(!written.contains("DEADBEEF") && !written.contains("user:password"), "{ran}");
    let json = write(&directory, "targets.json", VEGETA_JSON);
    let (_, received) = Recorder::start().run(&json, 1, &[]);
    check(&received, &[("GET /", "Punch!")]);
    assert_eq!(field(&received[0].0, "Content-Type"), Some("text/plain"));
}
