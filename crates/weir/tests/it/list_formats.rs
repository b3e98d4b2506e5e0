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
    for part in ["page.har: entry 4: its origin is http://cdn.example", "--skip-other-origins"] {
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
    let names =
        ran.document.names.iter().map(|name| (name.name.as_str(), name.results.outcomes.ok));
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

/// siege's list: a method and a body behind the URL, or a file with the body.
#[test]
fn the_lines_of_siege_run_as_they_are() {
    let directory = Directory::new();
    write(&directory, "body.txt", "from a file");
    let list = "http://shop.example/\n\
                http://shop.example/notes POST {\"name\": \"ann\", \"price\": \"$5\"}\n\
                http://shop.example/upload POST < BODY\n";
    let list = list.replace("BODY", &directory.file("body.txt"));
    let list = write(&directory, "siege.txt", &list);
    let expected = [
        ("GET /", ""),
        ("POST /notes", "{\"name\": \"ann\", \"price\": \"$5\"}"),
        ("POST /upload", "from a file"),
    ];
    let (_, received) = Recorder::start().run(&list, 3, &["--allow-local"]);
    check(&received, &expected);
    let form = "application/x-www-form-urlencoded";
    assert_eq!(field(&received[1].0, "Content-Type"), Some(form));
    let own = ["--allow-local", "-H", "Content-Type: application/json"];
    let (_, received) = Recorder::start().run(&list, 3, &own);
    assert_eq!(field(&received[1].0, "Content-Type"), Some("application/json"));
}

/// A body in a file beside the archive, as Playwright writes it, and the parts of a form.
#[test]
fn bodies_that_an_archive_names_are_sent() {
    let directory = Directory::new();
    write(&directory, "3f9a0c.dat", "q=green+chairs");
    let archive = write(
        &directory,
        "own.har",
        r#"{"log": {"entries": [
            {"request": {"method": "POST", "url": "http://shop.example/search", "headers": null,
             "postData": {"mimeType": "application/x-www-form-urlencoded", "text": "",
              "params": [], "_file": "3f9a0c.dat"}}},
            {"request": {"method": "POST", "url": "http://shop.example/form",
             "headers": [{"name": "Content-Type", "value": "multipart/form-data; boundary=XyZ"},
                         {"name": "X-Empty", "value": null}],
             "postData": {"mimeType": "multipart/form-data; boundary=XyZ",
              "params": [{"name": "hello", "value": "big world"}]}}}]}}"#,
    );
    let refused = weir::weir("-n 1 --connect-to 127.0.0.1:9", &["--from", &archive]);
    let part = "own.har: entry 1: its body is the file";
    assert!(refused.code() == 2 && refused.stderr.contains(part), "{refused:?}");
    let (_, received) = Recorder::start().run(&archive, 2, &["--allow-local"]);
    let form =
        "--XyZ\r\nContent-Disposition: form-data; name=\"hello\"\r\n\r\nbig world\r\n--XyZ--\r\n";
    check(&received, &[("POST /search", "q=green+chairs"), ("POST /form", form)]);
    let urlencoded = Some("application/x-www-form-urlencoded");
    assert_eq!(field(&received[0].0, "Content-Type"), urlencoded);
    assert_eq!(field(&received[1].0, "X-Empty"), Some(""));
}

#[test]
fn forms_of_curl_may_have_files() {
    let directory = Directory::new();
    let file = write(&directory, "note.txt", "some text");
    let line = format!("curl -F 'file=@{file}' -F a=1 http://shop.example/upload\n");
    let list = write(&directory, "curl.txt", &line);
    let (ran, received) = Recorder::start().run(&list, 1, &["--allow-local"]);
    let (head, body) = &received[0];
    let boundary = field(head, "Content-Type").and_then(|it| it.split_once("boundary="));
    let boundary = boundary.expect("a boundary").1;
    let expected = format!(
        "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"note.txt\"\r\n\
         Content-Type: text/plain\r\n\r\nsome text\r\n--{boundary}\r\n\
         Content-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--{boundary}--\r\n"
    );
    assert_eq!(body, &expected);
    assert!(ran.document.run.inputs.iter().any(|input| input.path == file), "{ran}");
}

/// Files that never end are errors that name the flag and its limit, and so are lists in a form
/// that is not read.
#[test]
fn files_that_do_not_fit_are_refused_before_any_load() {
    let directory = Directory::new();
    let gor = "1 0123456789abcdef01234567 1790000000000000000 0\n\nGET / HTTP/1.1\n";
    let gor = write(&directory, "capture.gor", gor);
    let cmd = "curl \"http://h/?page=1^&size=2\" --data-raw \"^{^\\^\"a^\\^\":1^}\"\n";
    let cmd = write(&directory, "cmd.txt", cmd);
    let columns = write(&directory, "rows.csv", "user,user\na,b\n");
    let marks = write(&directory, "stages.txt", "\u{feff}0,100\n1,100\n");
    let unused = write(&directory, "unused.csv", "user\na\n");
    let url = "http://127.0.0.1:9/";
    let field = "http://127.0.0.1:9/{{csv:user}}";
    for (words, part) in [
        (&["--rows", "/dev/zero", field][..], "--rows /dev/zero is longer than 64 MiB"),
        (&["--rows", &columns, field], "line 1: two columns are named \"user\""),
        (&["--rows", &unused, url], "--rows has no effect"),
        (&["--form-field", "a=@/dev/zero", url], "/dev/zero is longer than 64 MiB"),
        (
            &["--cacert", "/dev/zero", "https://127.0.0.1:9/"],
            "--cacert /dev/zero is longer than 16",
        ),
        (&["--spec", "/dev/zero"], "--spec /dev/zero is longer than 64 MiB"),
        (&["-H", "X: {{file:/dev/zero}}", url], "the file /dev/zero is longer than 16 MiB"),
        (&["-s", "/dev/zero", url], "--script /dev/zero is longer than 64 MiB"),
        (&["--from", &gor], "capture.gor: line 1: it is a capture of GoReplay"),
        (&["--from", &cmd], "cmd.txt: line 1: it is quoted for Windows' cmd"),
        (&["--stages", &format!("@{marks}"), "--print-plan", "x://h"], "unsupported scheme"),
        (&["--group", "/nothing", url, "http://127.0.0.1:9/b"], "--group '/nothing' matches no"),
        (&["--h2-window", "100k", url], "--h2-window has no effect without HTTP/2"),
    ] {
        let refused = weir::weir("", words);
        assert_eq!(refused.code(), 2, "{words:?}: {refused:?}");
        assert!(refused.stderr.contains(part), "{words:?}: {refused:?}");
    }
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
