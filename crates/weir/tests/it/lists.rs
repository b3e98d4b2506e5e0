//! Lists of requests: which requests a server receives, how often, and under which names weir
//! counts them.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::process::Command;
use std::sync::mpsc;

use crate::support::directory::Directory;
use crate::support::nginx::Nginx;
use crate::support::on_an_engine;
use crate::support::process::Process;
use crate::support::raw::{OK, Raw};
use crate::support::weir::{self, Ran, Running, WEIR};

/// Rows of the list of [`weighted`].
const ROWS: u64 = 1_000;

/// Weights of the rows of [`weighted`], one after the other.
const WEIGHTS: [u64; 3] = [1, 2, 3];

/// Returns the weight of a row of [`weighted`].
fn weight(row: u64) -> u64 {
    WEIGHTS[(row % WEIGHTS.len() as u64) as usize]
}

/// Writes a list of weighted requests under twenty names.
fn weighted(directory: &Directory) -> String {
    let row = |row: u64| {
        let weight = weight(row);
        let name = row % 20;
        format!("{{\"url\": \"/logged/{row}\", \"weight\": {weight}, \"name\": \"n{name}\"}}\n")
    };
    write(directory, "list.jsonl", &(0..ROWS).map(row).collect::<String>())
}

fn write(directory: &Directory, name: &str, text: &str) -> String {
    let file = directory.file(name);
    fs::write(&file, text).expect("the directory is the test's own");
    file
}

/// Returns the number of lines of each path in nginx's log behind the first `skipped` lines.
fn logged(log: &str, skipped: usize) -> BTreeMap<String, u64> {
    let mut paths = BTreeMap::new();
    for line in fs::read_to_string(log).expect("nginx writes it").lines().skip(skipped) {
        let path = line.split(' ').nth(6).unwrap_or_else(|| panic!("no path: {line}"));
        *paths.entry(path.to_owned()).or_default() += 1;
    }
    paths
}

/// Checks that names count the log's lines, which are of measured requests alone.
fn check_names(ran: &Ran, paths: &BTreeMap<String, u64>) {
    let mut names: BTreeMap<String, u64> = BTreeMap::new();
    for (path, lines) in paths {
        let row: u64 = path.rsplit('/').next().and_then(|row| row.parse().ok()).expect("a row");
        *names.entry(format!("n{}", row % 20)).or_default() += lines;
    }
    let counted = ran
        .document
        .names
        .iter()
        .map(|name| (name.name.clone(), name.results.outcomes.ok))
        .collect();
    assert_eq!(names, counted, "{ran}");
}

#[test]
fn a_constant_rate_sends_weighted_requests_exactly_and_names_count_them() {
    let nginx = Nginx::start("keepalive_requests 1000000000;");
    let directory = Directory::new();
    let log = nginx.access_log();
    let list = weighted(&directory);
    let pass: u64 = (0..ROWS).map(weight).sum();
    let plain = nginx.url();
    let http2 = nginx.http2_url();
    let skipped = Cell::new(0);
    on_an_engine(|engine| {
        for (url, http) in [(&plain, "1.1"), (&http2, "2")] {
            for threads in [1, 2] {
                let requests = 2 * pass;
                let flags =
                    format!("-n {requests} -R 5000 -c 8 -t {threads} --http {http} --no-preflight");
                let ran = weir::load(engine, &flags, &["--from", &list, url]);
                ran.assert_all_ok();
                let paths = logged(&log, skipped.get());
                let expected = (0..ROWS).map(|row| (format!("/logged/{row}"), 2 * weight(row)));
                assert_eq!(paths, expected.collect(), "{ran}");
                check_names(&ran, &paths);
                skipped.set(skipped.get() + requests as usize);
            }
        }
    });
}

#[test]
fn each_worker_of_a_closed_loop_goes_through_the_whole_list() {
    let nginx = Nginx::start("keepalive_requests 1000000000;");
    let directory = Directory::new();
    let log = nginx.access_log();
    let list = weighted(&directory);
    let plain = nginx.url();
    let http2 = nginx.http2_url();
    let skipped = Cell::new(0);
    on_an_engine(|engine| {
        for (url, http) in [(&plain, "1.1"), (&http2, "2")] {
            for threads in [1, 2] {
                let flags = format!("-n 9000 -c 8 -t {threads} --http {http} --no-preflight");
                let ran = weir::load(engine, &flags, &["--from", &list, url]);
                ran.assert_all_ok();
                let paths = logged(&log, skipped.get());
                let lines: u64 = paths.values().sum();
                assert_eq!(lines, 9_000, "{ran}");
                // 9,000 requests are four and a half passes; each worker may have begun one more.
                for row in 0..ROWS {
                    let lines = paths.get(&format!("/logged/{row}")).copied().unwrap_or(0);
                    let least = 9_000 / (2 * ROWS) - threads;
                    let most = least + 2 * threads;
                    let range = least * weight(row)..=(most + 1) * weight(row);
                    assert!(range.contains(&lines), "{row}: {lines}, not {range:?}: {ran}");
                }
                check_names(&ran, &paths);
                skipped.set(skipped.get() + lines as usize);
            }
        }
    });
}

#[test]
fn once_sends_each_request_once_over_all_workers_and_parts() {
    let nginx = Nginx::start("keepalive_requests 1000000000;");
    let directory = Directory::new();
    let log = nginx.access_log();
    let rows: String = (0..ROWS).map(|row| format!("/logged/{row}\n")).collect();
    let list = write(&directory, "urls.txt", &rows);
    let url = nginx.url();
    let mut skipped = 0;
    let mut check = |flags: &[&str]| {
        for flags in flags {
            let flags = format!("{flags} -c 8 -t 4 --order once --no-preflight");
            weir::load("auto", &flags, &["--from", &list, &url]).assert_all_ok();
        }
        let expected = (0..ROWS).map(|row| (format!("/logged/{row}"), 1)).collect();
        assert_eq!(logged(&log, skipped), expected, "{flags:?}");
        skipped += ROWS as usize;
    };
    check(&[""]);
    check(&["-R 5000"]);
    check(&["-R 5000 --part 1/2", "-R 5000 --part 2/2"]);
    check(&["--part 1/2", "--part 2/2"]);
}

#[test]
fn two_parts_are_the_same_list() {
    let nginx = Nginx::start("keepalive_requests 1000000000;");
    let directory = Directory::new();
    let log = nginx.access_log();
    let list = weighted(&directory);
    let pass: u64 = (0..ROWS).map(weight).sum();
    for part in ["1/2", "2/2"] {
        let flags = format!("-n {pass} -R 5000 -c 8 -t 2 --no-preflight --part {part}");
        weir::load("auto", &flags, &["--from", &list, &nginx.url()]).assert_all_ok();
    }
    let expected = (0..ROWS).map(|row| (format!("/logged/{row}"), weight(row))).collect();
    assert_eq!(logged(&log, 0), expected);
}

#[test]
fn several_urls_are_a_list() {
    on_an_engine(|engine| {
        let server = Raw::answering(OK);
        let urls = ["a", "b?c=d", "b?e"].map(|path| format!("{}{path}", server.url()));
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let ran = weir::load(engine, "-n 30 -c 2 -t 1 --no-preflight", &urls);
        ran.assert_all_ok();
        let names =
            ran.document.names.iter().map(|name| (name.name.as_str(), name.results.planned));
        assert_eq!(names.collect::<Vec<_>>(), [("GET /a", 10), ("GET /b", 20)], "{ran}");
        assert_eq!(server.finish(), 30);
    });
}

#[test]
fn a_seed_repeats_a_random_order_in_a_closed_loop() {
    let directory = Directory::new();
    let rows: String = (0..20).map(|row| format!("/{row}\n")).collect();
    let list = write(&directory, "urls.txt", &rows);
    let server = Raw::answering(OK);
    let counts = |seed: &str| -> Vec<u64> {
        let flags = format!("-n 200 -c 1 -t 1 --no-preflight --order random --seed {seed}");
        let ran = weir::load("auto", &flags, &["--from", &list, &server.url()]);
        ran.assert_all_ok();
        ran.document.names.iter().map(|name| name.results.outcomes.ok).collect()
    };
    assert_eq!(counts("7"), counts("7"));
    assert_ne!(counts("7"), counts("8"));
    assert_eq!(server.finish(), 800);
}

/// The first row names the server, and rows of other origins are left out if the user wants so.
#[test]
fn a_run_has_one_origin() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let text = format!("{}a\nhttp://other.example/b\n{}c\n", server.url(), server.url());
    let list = write(&directory, "urls.txt", &text);
    let refused = weir::weir("-n 4", &["--from", &list]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    for part in ["line 2: its origin is http://other.example", "--skip-other-origins"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    let flags = "-n 4 -c 1 --no-preflight --skip-other-origins";
    let ran = weir::load("auto", flags, &["--from", &list]);
    ran.assert_all_ok();
    let list = ran.document.plan.list.as_ref().expect("the plan has the list");
    let left_out = list.other_origins.iter().map(|(origin, rows)| (origin.as_str(), *rows));
    assert_eq!(left_out.collect::<Vec<_>>(), [("http://other.example", 1)]);
    assert_eq!((list.rows, server.finish()), (2, 4));
}

#[test]
fn a_bad_list_is_an_error_with_its_line() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    for (text, flags, part) in [
        ("", "", "list: it has no rows"),
        ("/a\nhttp://[/\n", "", "line 2:"),
        ("{\"url\": \"/a\"}\n{\"url\": 1}\n", "", "line 2:"),
        ("GET /a\nX: y\n@/etc/hostname\n", "", "--allow-local"),
        ("/a\n", "--from-format csv", "--from-format \"csv\" is none of urls"),
        ("{\"url\": \"/a\", \"weight\": 2}\n{\"url\": \"/b\"}\n", "--order once", "with weights"),
        ("/a\n", "--group item", "--group"),
        ("/a\n", "--order once -n 3", "leave out -d, -n and --warmup"),
        ("/a\n", "--order once --stages 1s@40", "leave one of them out"),
    ] {
        let list = write(&directory, "list", text);
        let refused = weir::weir(flags, &["--from", &list, &server.url()]);
        assert_eq!(refused.code(), 2, "{text:?}: {refused:?}");
        assert!(refused.stderr.contains(part), "{text:?}: {part}: {refused:?}");
    }
    for (flags, part) in [
        ("--order random", "--order is for a list"),
        ("--seed 7", "--seed is for random arrivals, a random order or templates"),
        ("--from x /a /b", "one URL at most"),
        ("--from /missing/list", "cannot be read"),
    ] {
        let refused = weir::weir(flags, &[&server.url()]);
        assert_eq!(refused.code(), 2, "{flags}: {refused:?}");
        assert!(refused.stderr.contains(part), "{flags}: {part}: {refused:?}");
    }
    assert_eq!(server.finish(), 0);
}

/// Slots that were never sent are counted by name, one after the other.
#[test]
fn an_open_loop_of_a_list_has_a_limit() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let list = write(&directory, "list", "/a\n/b\n");
    for (flags, part) in [
        ("-R 1g -d 60s", "-R plans 60000000000 requests of a list"),
        ("-R 1g -d 60s", "1000000000 can be counted by name: lower -R or shorten -d"),
        ("-R 1g -n 2g --arrivals poisson", "by name: lower -n"),
    ] {
        let refused = weir::weir(flags, &["--from", &list, &server.url()]);
        assert_eq!(refused.code(), 2, "{flags}: {refused:?}");
        assert!(refused.stderr.contains(part), "{flags}: {part}: {refused:?}");
    }
    assert_eq!(server.finish(), 0);
    for (flags, is_refused) in [("-R 1m -n 1g", false), ("-R 1m -n 1000000001", true)] {
        let flags = format!("--print-plan {flags}");
        let planned = weir::weir(&flags, &["--from", &list, "http://127.0.0.1:9/"]);
        assert_eq!(planned.code(), if is_refused { 2 } else { 0 }, "{flags}: {planned:?}");
    }
}

/// Methods, headers and bodies of rows, and what the command line adds.
#[test]
fn rows_have_their_own_method_header_and_body() {
    let directory = Directory::new();
    let put = r#"{"url": "/a", "method": "PUT", "body": "one", "headers": {"X-A": "1"}}"#;
    let list = write(&directory, "list.jsonl", &format!("{put}\n{{\"url\": \"/b\"}}\n"));
    let server = Raw::start(|connection| {
        while let Some(request) = connection.read_request()? {
            let expected: &[&str] = match request.starts_with("PUT /a ") {
                true => &["X-A: 1\r\n", "X-B: 2\r\n", "Content-Length: 3\r\n"],
                false => &["GET /b ", "X-A: of all\r\n", "X-B: 2\r\n"],
            };
            let is_whole = expected.iter().all(|part| request.contains(part));
            if request.starts_with("PUT") {
                assert_eq!(connection.read_body(3)?, b"one");
            }
            connection.count_request();
            connection.write(if is_whole { OK } else { "HTTP/1.1 400 no\r\n\r\n" })?;
        }
        Ok(())
    });
    let more = ["--from", &list, "-H", "X-A: of all", "-H", "X-B: 2", &server.url()];
    let ran = weir::load("auto", "-n 10 -c 1 -t 1 --no-preflight", &more);
    ran.assert_all_ok();
    let names: Vec<&str> = ran.document.names.iter().map(|name| name.name.as_str()).collect();
    assert_eq!(names, ["PUT /a", "GET /b"]);
    for part in ["Requests by name", "PUT /a", "GET /b", "list of 2 requests in order"] {
        ran.assert_says(part);
    }
    server.finish();
}

/// A form is the body of all requests, urlencoded or with files.
#[test]
fn a_form_is_a_body() {
    let directory = Directory::new();
    let file = write(&directory, "a.txt", "content");
    let from_file = format!("f=@{file}");
    for (fields, of_head, of_body) in [
        (
            &["--form-field", "a=b c", "--form-field", "token=SECRET"][..],
            "Content-Type: application/x-www-form-urlencoded\r\n",
            "a=b+c&token=SECRET",
        ),
        (
            &["--form-field", "token=SECRET", "--form-field", &from_file],
            "Content-Type: multipart/form-data; boundary=",
            "filename=\"a.txt\"\r\nContent-Type: application/octet-stream\r\n\r\ncontent",
        ),
    ] {
        let server = Raw::start(move |connection| {
            while let Some(request) = connection.read_request()? {
                let length = request.split("Content-Length: ").nth(1);
                let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
                let body = connection.read_body(length.expect("it has a length"))?;
                let is_whole = request.starts_with("POST / ")
                    && request.contains(of_head)
                    && String::from_utf8_lossy(&body).contains(of_body);
                connection.count_request();
                connection.write(if is_whole { OK } else { "HTTP/1.1 400 no\r\n\r\n" })?;
            }
            Ok(())
        });
        let mut more = fields.to_vec();
        let url = server.url();
        more.extend(["--redact", "token", &url]);
        let ran = weir::load("auto", "-n 4 -c 1 -t 1", &more);
        ran.assert_all_ok();
        let written = serde_json::to_string(&ran.document).expect("JSON");
        assert!(!written.contains("SECRET") && !ran.text.contains("SECRET"), "{ran}");
        let files = ran.document.run.inputs.len();
        assert_eq!(files, usize::from(of_body.contains("filename")), "{ran}");
        server.finish();
    }
    let refused = weir::weir("", &["--form-field", "a", "http://127.0.0.1:9/"]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    assert!(refused.stderr.contains("--form-field") && refused.stderr.contains("NAME=@FILE"));
}

/// Fields have the values of their slots, over all workers and engines.
#[test]
fn templates_are_filled_in_for_each_slot() {
    let nginx = Nginx::start("keepalive_requests 1000000000;");
    let directory = Directory::new();
    let log = nginx.access_log();
    let rows = write(&directory, "users.csv", "user,n\nann,1\nbob,2\ncid,3\n");
    let skipped = Cell::new(0);
    on_an_engine(|engine| {
        for (url, http) in [(nginx.url(), "1.1"), (nginx.http2_url(), "2")] {
            for load in ["-R 2000", ""] {
                let flags =
                    format!("-n 600 -c 4 -t 2 {load} --http {http} --no-preflight --seed 5");
                let url = format!("{url}logged/{{{{seq}}}}?u={{{{csv:user}}}}&r={{{{rand:1:6}}}}");
                let ran = weir::load(engine, &flags, &["--rows", &rows, &url]);
                ran.assert_all_ok();
                let paths = logged(&log, skipped.get());
                skipped.set(skipped.get() + 600);
                assert_eq!(paths.len(), 600, "each index once: {ran}");
                let mut dice = BTreeMap::new();
                for path in paths.keys() {
                    let (index, query) = path.split_once("?u=").expect("a query");
                    let index: usize = index.trim_start_matches("/logged/").parse().expect("seq");
                    let (user, die) = query.split_once("&r=").expect("both");
                    assert_eq!(user, ["ann", "bob", "cid"][index % 3], "{path}");
                    *dice.entry(die.to_owned()).or_insert(0) += 1;
                }
                // Each face has 100 of 600, with a standard deviation of 9.1.
                assert_eq!(dice.len(), 6, "{dice:?}");
                assert!(dice.values().all(|n| (40..=160).contains(n)), "{dice:?}");
                let names = &ran.document.names;
                assert_eq!((names.len(), names[0].results.planned), (1, 600), "{ran}");
                assert_eq!(names[0].name, "GET /logged/{{seq}}", "{ran}");
            }
        }
    });
}

/// A body has the length of its values, and each connection its own row.
#[test]
fn bodies_of_templates_have_their_length_and_connections_their_row() {
    let directory = Directory::new();
    let rows = write(&directory, "users.csv", "user,password\nann,SECRET-1\nbob,\"SECRET, 2\"\n");
    let list = r#"{"url": "/a", "method": "POST", "body": "{\"u\": \"{{csv:password}}\"}"}"#;
    let list = write(&directory, "list.jsonl", list);
    let server = Raw::start(|connection| {
        let mut own = None;
        while let Some(request) = connection.read_request()? {
            let length = request.split("Content-Length: ").nth(1);
            let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
            let body = connection.read_body(length.expect("it has a length"))?;
            let body = String::from_utf8_lossy(&body).into_owned();
            let is_one = ["{\"u\": \"SECRET-1\"}", "{\"u\": \"SECRET, 2\"}"].contains(&&*body);
            let is_same = *own.get_or_insert_with(|| body.clone()) == body;
            connection.count_request();
            connection.write(if is_one && is_same { OK } else { "HTTP/1.1 400 no\r\n\r\n" })?;
        }
        Ok(())
    });
    let url = server.url();
    let more = ["--from", &list, "--rows", &rows, "--rows-order", "unique", &url];
    let ran = weir::load("auto", "-n 40 -c 2 -t 1", &more);
    ran.assert_all_ok();
    let written = serde_json::to_string(&ran.document).expect("JSON");
    assert!(!written.contains("SECRET") && !ran.text.contains("SECRET"), "{ran}");
    let inputs = ran.document.run.inputs.iter().map(|input| input.path.as_str());
    assert_eq!(inputs.collect::<Vec<_>>(), [&list, &rows], "{ran}");
    server.finish();
}

/// Values of columns are encoded in a urlencoded form, and as they are in one with a file.
#[test]
fn fields_of_a_form_are_templates() {
    let directory = Directory::new();
    let rows = write(&directory, "users.csv", "user\nann\nb&b = 1\n");
    let note = write(&directory, "note.txt", "{{seq}} is no field here");
    for (form, mut bodies) in [
        (vec!["n={{seq}}", "u={{csv:user}}"], vec!["n=0&u=ann", "n=1&u=b%26b+%3D+1"]),
        (
            vec!["u={{csv:user}}", &format!("f=@{note}")],
            vec!["\r\n\r\nann\r\n", "\r\n\r\nb&b = 1\r\n"],
        ),
    ] {
        let (sender, receiver) = mpsc::channel();
        let server = Raw::start(move |connection| {
            while let Some(request) = connection.read_request()? {
                let length = request.split("Content-Length: ").nth(1);
                let length = length.and_then(|rest| rest.lines().next()?.parse().ok());
                let body = connection.read_body(length.expect("it has a length"))?;
                sender.send(String::from_utf8_lossy(&body).into_owned()).expect("it is read");
                connection.write(OK)?;
            }
            Ok(())
        });
        let url = server.url();
        let form: Vec<&str> = form.iter().flat_map(|field| ["--form-field", field]).collect();
        let more = [&form[..], &["--rows", &rows, &url]].concat();
        let ran = weir::load("auto", "-n 2 -c 1 -t 1 --no-preflight --witness off", &more);
        ran.assert_all_ok();
        for body in receiver.try_iter().take(2) {
            let expected = bodies.remove(0);
            assert!(body.contains(expected), "{body:?}: {expected:?}");
        }
        assert_eq!(bodies, [""; 0], "{ran}");
    }
}

#[test]
fn wrong_templates_are_errors_that_name_the_field() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let rows = write(&directory, "users.csv", "user\nann\nb ob\n");
    let url = server.url();
    for (row, flags, part) in [
        ("/{{user}}", "", "line 1: {{user}} is no field"),
        ("/{{csv:name}}", "--rows", "no such column, but user"),
        ("/{{csv:user}}", "", "there are no rows"),
        ("/{{csv:user}}", "--rows", "row 2 cannot stand in a URL"),
        ("/{{seq}}", "-t2 --part 1/2", "--part needs a seed with templates"),
        ("/{{env:PATH}}", "", "--allow-local if you trust the list"),
        ("/{{file:/etc/hostname}}", "", "--allow-local if you trust the list"),
        ("/", "--rows-order unique --rows", "2 rows are too few for 10 connections"),
    ] {
        let list = write(&directory, "urls.txt", row);
        let mut more = vec!["--from", &list, &url];
        if flags.ends_with("--rows") {
            more.insert(0, &rows);
        }
        let refused = weir::weir(flags, &more);
        assert_eq!(refused.code(), 2, "{row}: {refused:?}");
        assert!(refused.stderr.contains(part), "{row}: {part}: {refused:?}");
    }
    assert_eq!(server.finish(), 0);
}

#[test]
fn lines_are_bodies_and_the_plan_shows_the_first_requests() {
    let directory = Directory::new();
    let bodies = write(&directory, "bodies.txt", "one {{seq}}\n\ntwo\n");
    let server = Raw::start(|connection| {
        let mut nth = 0;
        while let Some(request) = connection.read_request()? {
            let expected = if nth % 2 == 0 { format!("one {nth}") } else { "two".to_owned() };
            let body = connection.read_body(expected.len())?;
            let is_whole = request.starts_with("POST /p ") && body == expected.as_bytes();
            connection.count_request();
            connection.write(if is_whole { OK } else { "HTTP/1.1 400 no\r\n\r\n" })?;
            nth += 1;
        }
        Ok(())
    });
    let url = format!("{}p", server.url());
    let ran = weir::load("auto", "-n 40 -c 1 -t 1", &["--body-lines", &bodies, &url]);
    ran.assert_all_ok();
    assert_eq!(ran.document.names[0].name, "POST /p", "{ran}");
    server.finish();
    let rows = "{\"url\": \"/a?n={{seq}}\", \"weight\": 2}\n{\"url\": \"/b\"}\n";
    let list = write(&directory, "list.jsonl", rows);
    let printed = weir::weir("--print-plan", &["--from", &list, "http://127.0.0.1:9/"]);
    let plan: serde_json::Value = serde_json::from_str(&printed.stdout).expect("JSON");
    let first = plan["first_requests"].as_array().expect("a list");
    let first: Vec<&str> = first.iter().filter_map(|line| line.as_str()).collect();
    assert_eq!(first[..4], ["GET /a?n=0", "GET /b", "GET /a?n=2", "GET /a?n=3"], "{printed:?}");
    assert_eq!(first.len(), 10);
}

/// One request is sent and shown, without its secrets.
#[test]
fn one_request_can_be_debugged() {
    let nginx = Nginx::start("");
    let file = nginx.authority();
    for (url, version) in
        [(nginx.url(), "HTTP/1.1"), (nginx.http2_url(), "HTTP/2"), (nginx.secure_url(), "HTTP/2")]
    {
        let before = nginx.requests();
        let mut flags = "--debug".to_owned();
        if version == "HTTP/2" && url.starts_with("http:") {
            flags += " --http 2";
        }
        let trusted = ["--cacert", file.as_str()];
        let mut more = if url.starts_with("https") { trusted.to_vec() } else { Vec::new() };
        let target = format!("{url}a/{{{{seq}}}}");
        more.extend(["-H", "Authorization: Bearer SECRETSECRET", &target]);
        let shown = weir::weir(&flags, &more);
        assert_eq!(shown.code(), 0, "{shown:?}");
        let request = format!("> GET /a/0 {version}\n");
        let response = format!("< {version} 200\n");
        for part in [request.as_str(), &response, "\n< ok\n", "first byte", "last byte"] {
            assert!(shown.stdout.contains(part), "{part}: {shown:?}");
        }
        assert!(!shown.stdout.contains("SECRETSECRET"), "{shown:?}");
        assert_eq!(nginx.requests() - before - 1, 1, "{shown:?}");
    }
    let missing = weir::weir("--debug", &[&format!("{}missing", nginx.url())]);
    assert_eq!(missing.code(), 1, "{missing:?}");
    assert!(missing.stdout.contains("< HTTP/1.1 404\n"), "{missing:?}");
    let nowhere = weir::weir("--debug", &["http://127.0.0.1:9/"]);
    assert!(nowhere.code() != 0 && nowhere.stderr.contains("127.0.0.1:9"), "{nowhere:?}");
}

/// Rows of a list that is read during the load.
const LONG: u64 = 5_000;

#[test]
fn a_long_list_is_read_during_the_load() {
    let nginx = Nginx::start("keepalive_requests 1000000000;");
    let directory = Directory::new();
    let log = nginx.access_log();
    let rows: String = (0..LONG).map(|row| format!("/logged/{row}\n# no row\n")).collect();
    let list = write(&directory, "urls.txt", &rows);
    let plain = nginx.url();
    let http2 = nginx.http2_url();
    let skipped = Cell::new(0);
    on_an_engine(|engine| {
        for (url, http, flags, times) in [
            (&plain, "1.1", "-R 20000 -n 10000", 2),
            (&plain, "1.1", "--order once", 1),
            (&http2, "2", "--order once -R 20000", 1),
        ] {
            let flags = format!("{flags} -c 8 -t 2 --http {http} --no-preflight");
            let ran = weir::load_weighed(engine, &flags, &["--from", &list, url]);
            ran.assert_all_ok();
            let paths = logged(&log, skipped.get());
            let expected = (0..LONG).map(|row| (format!("/logged/{row}"), times));
            assert_eq!(paths, expected.collect(), "{flags}: {ran}");
            skipped.set(skipped.get() + (times * LONG) as usize);
            let names = &ran.document.names;
            assert_eq!((names.len(), names[0].results.planned), (257, times), "{ran}");
            assert_eq!(names[256].results.planned, times * (LONG - 256), "{ran}");
        }
    });
}

/// Rows of several lines, and several rows of a line.
#[test]
fn a_long_list_of_targets_or_commands_is_read_during_the_load() {
    let nginx = Nginx::start("keepalive_requests 1000000000;");
    let directory = Directory::new();
    let log = nginx.access_log();
    let url = nginx.url();
    let target = |row: u64| format!("# a\nGET {url}logged/{row}\nX-Row: {row}\n\n");
    let command = |row: u64| match row % 2 {
        0 => format!("curl -s '{url}logged/{row}' \\\n  -H 'X-Row: {row}'"),
        _ => format!(" ; curl {url}logged/{row}\n"),
    };
    let targets = (0..LONG).map(target).collect::<String>();
    let commands = (0..LONG).map(command).collect::<String>();
    let mut skipped = 0;
    for (name, text) in [("vegeta-http", targets), ("curl", commands)] {
        let list = write(&directory, name, &text);
        let flags = "-c 8 -t 2 --order once -R 20000 --no-preflight";
        let ran = weir::load("auto", flags, &["--from", &list]);
        ran.assert_all_ok();
        let expected = (0..LONG).map(|row| (format!("/logged/{row}"), 1)).collect();
        assert_eq!(logged(&log, skipped), expected, "{name}: {ran}");
        skipped += LONG as usize;
        let plan = ran.document.plan.list.as_ref().expect("the plan has the list");
        assert_eq!((plan.format.as_str(), plan.rows), (name, LONG), "{ran}");
    }
    let entry = format!("{{\"request\": {{\"method\": \"GET\", \"url\": \"{url}\"}}}}");
    let entries = vec![entry; LONG as usize].join(",");
    let har = format!("{{\"log\": {{\"entries\": [{entries}]}}}}");
    let refused = weir::weir("", &["--from", &write(&directory, "page.har", &har)]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    for part in ["page.har: entry 4097: these are more than 4096 requests", "as JSON lines"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
}

#[test]
fn a_bad_row_behind_the_prepared_ones_ends_the_run_and_keeps_its_report() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let row = |row: u64| if row == 4_500 { "http://[/\n".to_owned() } else { format!("/{row}\n") };
    let list = write(&directory, "urls.txt", &(0..LONG).map(row).collect::<String>());
    let flags = "-c 2 -t 1 --order once --no-preflight";
    let ran = weir::load("auto", flags, &["--from", &list, &server.url()]);
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("urls.txt: line 4501: "), "{ran}");
    let results = &ran.document.results;
    assert!(results.outcomes.ok <= 4_500 && !ran.document.run.interrupted, "{ran}");
    assert_eq!(results.outcomes.ok + results.outcomes.never_sent, results.planned, "{ran}");
}

/// Starts a load whose standard input is what `script` prints, a shell's; `$0` is `list` in it.
fn start_piped(engine: &str, script: &str, list: &str, flags: &str, more: &[&str]) -> Running {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{script} | \"$@\""), list, WEIR]);
    weir::start_by(shell, engine, &format!("{flags} --no-preflight --from -"), more)
}

#[test]
fn a_long_standard_input_is_sent_once() {
    let nginx = Nginx::start("keepalive_requests 1000000000;");
    let directory = Directory::new();
    let log = nginx.access_log();
    let rows: String = (0..LONG).map(|row| format!("/logged/{row}\n# no row\n")).collect();
    let list = write(&directory, "urls.txt", &rows);
    let plain = nginx.url();
    let http2 = nginx.http2_url();
    let skipped = Cell::new(0);
    on_an_engine(|engine| {
        for (url, http, flags, requests) in [
            (&plain, "1.1", "--order once", LONG),
            (&http2, "2", "--order once", LONG),
            (&plain, "1.1", "--order once -R 20000", LONG),
            (&http2, "2", "--order once -R 20000 --arrivals poisson", LONG),
            (&plain, "1.1", "-n 4900", 4_900),
            (&plain, "1.1", "-n 4900 -R 20000", 4_900),
        ] {
            let flags = format!("{flags} -c 8 -t 2 --http {http}");
            let ran = start_piped(engine, "cat \"$0\"", &list, &flags, &[url]).finish();
            ran.assert_all_ok();
            assert_eq!(ran.code, 0, "{ran}");
            let expected = (0..requests).map(|row| (format!("/logged/{row}"), 1)).collect();
            assert_eq!(logged(&log, skipped.get()), expected, "{flags}: {ran}");
            skipped.set(skipped.get() + requests as usize);
            let document = &ran.document;
            let plan = document.plan.list.as_ref().expect("the plan has the list");
            assert_eq!(
                (plan.rows, document.plan.load.requests),
                (requests, Some(requests)),
                "{ran}"
            );
            let input = &document.run.inputs[0];
            assert_eq!((&plan.sha256, input.path.as_str()), (&input.sha256, "/dev/stdin"), "{ran}");
            if requests == LONG {
                assert_eq!(input.bytes, rows.len() as u64, "{ran}");
            }
        }
    });
}

#[test]
fn parts_share_a_long_standard_input() {
    let nginx = Nginx::start("keepalive_requests 1000000000;");
    let directory = Directory::new();
    let log = nginx.access_log();
    let url = nginx.url();
    let rows: String = (0..LONG).map(|row| format!("/logged/{row}\n")).collect();
    let list = write(&directory, "urls.txt", &rows);
    for part in ["1/2", "2/2"] {
        let flags = format!("--order once -c 8 -t 4 -R 20000 --part {part}");
        start_piped("auto", "cat \"$0\"", &list, &flags, &[&url]).finish().assert_all_ok();
    }
    let expected = (0..LONG).map(|row| (format!("/logged/{row}"), 1)).collect();
    assert_eq!(logged(&log, 0), expected);
}

/// The first rows are sent before the last are written.
#[test]
fn a_pipe_is_read_while_the_load_runs() {
    on_an_engine(|engine| {
        for flags in ["", "-R 20000"] {
            let server = Raw::answering(OK);
            let directory = Directory::new();
            let pipe = pipe(&directory);
            let flags = format!("{flags} -c 2 -t 1 --order once --no-preflight");
            let running = weir::start(engine, &flags, &["--from", &pipe, &server.url()]);
            let mut pipe = fs::File::create(&pipe).expect("weir reads it");
            let mut add = |rows: u64| {
                let rows: String = (0..rows).map(|row| format!("/{row}\n")).collect();
                pipe.write_all(rows.as_bytes()).expect("weir reads it");
            };
            add(4_200);
            server.await_requests(4_200);
            add(40);
            server.await_requests(4_240);
            drop(pipe);
            let ran = running.finish();
            ran.assert_all_ok();
            assert_eq!((ran.document.results.planned, server.finish()), (4_240, 4_240), "{ran}");
        }
    });
}

/// The pipe stays open, and its reader waits.
#[test]
fn a_signal_ends_a_run_that_waits_for_a_pipe() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let pipe = pipe(&directory);
    let flags = "-c 2 -t 1 --order once --no-preflight";
    let running = weir::start("auto", flags, &["--from", &pipe, &server.url()]);
    let mut pipe = fs::File::create(&pipe).expect("weir reads it");
    let rows: String = (0..4_200).map(|row| format!("/{row}\n")).collect();
    pipe.write_all(rows.as_bytes()).expect("weir reads it");
    server.await_requests(4_200);
    running.process.signal(&["INT"]);
    let ran = running.finish();
    let document = &ran.document;
    assert!(document.run.interrupted, "{ran}");
    assert_eq!(
        (document.results.planned, document.plan.load.requests),
        (4_200, Some(4_200)),
        "{ran}"
    );
    drop(pipe);
    assert_eq!(server.finish(), 4_200);
}

/// Makes a named pipe.
fn pipe(directory: &Directory) -> String {
    let pipe = directory.file("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts");
    assert!(made.success(), "{made}");
    pipe
}

#[test]
fn an_endless_standard_input_takes_bounded_memory() {
    let server = Raw::answering(OK);
    let ran = start_piped("auto", "yes /x", "", "-n 20000 -c 4 -t 2", &[&server.url()]).finish();
    ran.assert_all_ok();
    ran.assert_small();
    assert_eq!(server.finish(), 20_000);
}

#[test]
fn a_long_standard_input_has_one_pass() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let row = |row: u64| format!("/{row}\n");
    let list = write(&directory, "urls.txt", &(0..LONG).map(row).collect::<String>());
    for flags in ["-d 1s", "--order random -n 9", "-n 9 --warmup 1s", "-n 9 -d 1s"] {
        let shell = format!("cat {list} | {WEIR} --from - {flags} {}", server.url());
        let refused = Process::start(Command::new("sh").args(["-c", &shell])).wait();
        assert_eq!(refused.code(), 2, "{flags}: {refused:?}");
        for part in ["--from (standard input) is too long", "--order once", "write it to a file"] {
            assert!(refused.stderr.contains(part), "{flags}: {part}: {refused:?}");
        }
    }
    assert_eq!(server.finish(), 0);
    for load in ["", "-R 20000"] {
        let server = Raw::answering(OK);
        let flags = format!("-n 6000 -c 2 -t 1 {load}");
        let ran = start_piped("auto", "cat \"$0\"", &list, &flags, &[&server.url()]).finish();
        assert_eq!(ran.code, 2, "{ran}");
        let error = "--from (standard input) has 5000 requests and is read once: -n 6000 needs \
                     another pass; write it to a file";
        assert!(ran.stderr.contains(error), "{ran}");
        assert!(ran.document.results.outcomes.ok <= LONG && !ran.document.run.interrupted, "{ran}");
        let rows = ran.document.plan.list.as_ref().map(|list| list.rows);
        assert_eq!(rows, Some(LONG), "{ran}");
    }
}

#[test]
fn a_bad_row_of_standard_input_ends_the_run_and_keeps_its_report() {
    let server = Raw::answering(OK);
    let directory = Directory::new();
    let row = |row: u64| if row == 4_500 { "http://[/\n".to_owned() } else { format!("/{row}\n") };
    let list = write(&directory, "urls.txt", &(0..LONG).map(row).collect::<String>());
    let flags = "-c 2 -t 1 --order once";
    let ran = start_piped("auto", "cat \"$0\"", &list, flags, &[&server.url()]).finish();
    assert_eq!(ran.code, 2, "{ran}");
    assert!(ran.stderr.contains("--from (standard input): line 4501: "), "{ran}");
    let results = &ran.document.results;
    assert!(results.outcomes.ok <= 4_500 && !ran.document.run.interrupted, "{ran}");
    assert_eq!(results.outcomes.ok + results.outcomes.never_sent, results.planned, "{ran}");
}
