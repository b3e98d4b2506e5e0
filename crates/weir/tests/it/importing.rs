//! `weir scenario from`: files of other programs become scenarios, which weir then runs.

use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};

use crate::support::directory::Directory;
use crate::support::process::Process;
use crate::support::raw::Raw;
use crate::support::weir::{WEIR, weir};

/// A session of a browser at a shop, made by hand: a page to log in with a hidden field, a
/// redirect, a page, a token, and calls with it; beside them an image and another origin.
const SHOP: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../weir-requests/tests/data/shop.har");

/// Returns a response of the shop, whose values all differ from those that were recorded.
fn response(head: &str) -> String {
    let line = head.lines().next().unwrap_or_default();
    let page = "<input type=\"hidden\" name=\"csrf\" value=\"new-csrf&1\">";
    let token = r#"{"token": "new-token", "user": {"id": "new-user"}}"#;
    let (status, fields, body) = match line {
        "GET /login HTTP/1.1" => ("200 OK", "Set-Cookie: session=a\r\n", page),
        "POST /login HTTP/1.1" => ("303 See Other", "Set-Cookie: session=b\r\n", ""),
        "POST /token HTTP/1.1" => ("200 OK", "X-Csrf-Token: new-header\r\n", token),
        _ => ("200 OK", "", "{}"),
    };
    format!("HTTP/1.1 {status}\r\n{fields}Content-Length: {}\r\n\r\n{body}", body.len())
}

#[test]
fn a_session_of_a_browser_becomes_users_who_log_in() {
    let directory = Directory::new();
    let file = directory.file("shop.toml");
    let made = weir("scenario from", &[SHOP, "-o", &file]);
    assert_eq!((made.code(), made.stdout.as_str()), (0, ""), "{}", made.stderr);
    for part in [
        "note: left out 1 request to other origins",
        "note: left out 1 request for images",
        "the cookie lang was sent",
        "set PASSWORD and give --allow-local",
        "json:/best/offer, json:/items/0/offer",
    ] {
        assert!(made.stderr.contains(part), "{part}: {}", made.stderr);
    }
    let text = fs::read_to_string(&file).expect("it was written");
    assert!(!text.contains("horse") && !text.contains("eyJ"), "{text}");

    let received = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&received);
    let server = Raw::start(move |connection| {
        while let Some(head) = connection.read_request()? {
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            let body = connection.read_body(length.and_then(|it| it.parse().ok()).unwrap_or(0))?;
            let body = String::from_utf8(body).expect("the bodies of the shop are text");
            kept.lock().expect("no server of a test panics").push(format!("{head}{body}"));
            connection.write(response(&head))?;
        }
        Ok(())
    });
    let url = format!("http://{}/", server.authority());
    let flags = "--allow-local -n 6 -c 1 -t 1 --no-preflight --witness off --no-verdict --scenario";
    let mut command = Command::new(WEIR);
    command.args(flags.split(' ')).args([&file, &url]).env("PASSWORD", "p&q r");
    let ran = Process::start(&mut command).wait();
    server.finish();
    let received = received.lock().expect("none panics").clone();
    let check = |step: usize, parts: &[&str]| {
        let request = received.get(step).unwrap_or_else(|| panic!("{step}: {}", ran.stderr));
        let lacking = parts.iter().find(|part| !request.contains(**part));
        assert_eq!(lacking, None, "{request}");
    };
    check(0, &["GET /login "]);
    let form = "user=annabel%40shop.example&password=p%26q+r&csrf=new-csrf%261";
    check(1, &["POST /login ", "Cookie: session=a", form]);
    check(2, &["GET /account ", "Cookie: session=b"]);
    check(3, &["POST /token ", r#"{"grant":"session"}"#]);
    check(4, &["GET /api/users/new-user/cart?fields=items,total ", "Bearer new-token\r\n"]);
    let order = r#"{"user":"new-user","offer":"of-77-12","note":"it's"#;
    check(5, &["POST /api/orders ", "x-csrf-token: new-header\r\n", order]);
}

#[test]
fn files_are_not_replaced_unnoticed_and_errors_have_a_place() {
    let directory = Directory::new();
    let file = directory.file("list.http");
    fs::write(&file, "### One\nGET http://h/\nno field\n").expect("the directory is its own");
    let check = |words: &[&str], part: &str| {
        let ran = weir("scenario from", words);
        assert_eq!((ran.code(), ran.stdout.as_str()), (2, ""), "{}", ran.stderr);
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    };
    check(&[&file], "list.http: line 3: \"no field\" is no header field");
    check(&[&file, "--format", "har"], "list.http: line 1: it is no HAR file");
    check(&[&file, "-o", &file], "is the file with the requests");
    let other = directory.file("other.toml");
    fs::write(&other, "").expect("the directory is its own");
    check(&[SHOP, "-o", &other], "exists: name another file, or replace it with --force");
    check(&[SHOP, "--origin", "http://other/"], "it has no request to http://other");
    let made = weir("scenario from", &[SHOP, "-o", &other, "--force", "--with-secrets"]);
    assert_eq!(made.code(), 0, "{}", made.stderr);
    assert!(fs::read_to_string(&other).expect("it was written").contains("correct horse"));
    assert_eq!(directory.names(), ["list.http", "other.toml"]);
}
