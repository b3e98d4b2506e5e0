//! Users of scenarios and redirects against the shop and the routes of `weir serve`, whose counts
//! and broken rules are the truth.

use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use weir_result::Note;
use weir_result::document::SentCounts;

use crate::support::directory::Directory;
use crate::support::on_an_engine;
use crate::support::raw::{OK, Raw};
use crate::support::serve::Serve;
use crate::support::weir::{self, Ran};

/// Buyers who log in, take a token, call with it and order, and visitors.
const SHOP: &str = r#"
[[scenario]]
name = "buyer"

[[scenario.step]]
name = "form"
url = "/login"
capture = { csrf = 'body~name="csrf" value="([^"]+)"' }
think = "1ms..3ms"

[[scenario.step]]
name = "log in"
method = "POST"
url = "/login"
form = { user = "user {{seq}}", password = "secret", csrf = "{{user.csrf}}" }

[[scenario.step]]
name = "token"
method = "POST"
url = "/token"
capture = { token = "json:/access_token" }

[[scenario.step]]
name = "products"
url = "/api/products?page={{rand:1:5}}"
headers = { Authorization = "Bearer {{user.token}}" }
repeat = 2
think = "exp:1ms"

[[scenario.step]]
name = "cart"
url = "/api/cart"
headers = { Authorization = "Bearer {{user.token}}" }
json = { product = 3, quantity = 1 }
capture = { cart = "json:/id" }
chance = 0.5

[[scenario.step]]
name = "order"
url = "/api/orders"
headers = { Authorization = "Bearer {{user.token}}" }
json = { cart = "{{user.cart}}" }
when = "cart"

[[scenario]]
name = "visitor"
weight = 2

[[scenario.step]]
name = "home"
url = "/"
"#;

/// A token for all, which the server takes back after a time.
const TOKEN: &str = r#"
refresh = "200ms"

[[setup]]
name = "token"
method = "POST"
url = "/token"
json = { client = "load", secret = "secret" }
capture = { token = "json:/access_token" }

[[scenario]]
name = "reader"

[[scenario.step]]
name = "products"
url = "/api/products"
headers = { Authorization = "Bearer {{user.token}}" }
think = "10ms"
"#;

fn write(directory: &Directory, name: &str, text: &str) -> String {
    let file = directory.file(name);
    fs::write(&file, text).expect("the directory is the test's own");
    file
}

/// Results by name.
fn names(ran: &Ran) -> BTreeMap<&str, &weir_result::document::Results> {
    ran.document.names.iter().map(|name| (&*name.name, &name.results)).collect()
}

#[test]
fn a_shop_has_seen_each_step_and_no_broken_rule() {
    let directory = Directory::new();
    let scenario = write(&directory, "shop.toml", SHOP);
    on_an_engine(|engine| {
        for flags in ["", "--http 2 --streams 4 -t 2", "-R 300 -t 2"] {
            let shop = Serve::start(&["--shop"]);
            let words = format!(
                "-c 8 -n 300 --warmup 0 --follow 1 {flags} --scenario {scenario} {}",
                shop.url()
            );
            let ran = weir::load(engine, &words, &[]);
            ran.assert_all_ok();
            let stats = &shop.stop_with_stats()["shop"];
            let rules = stats["broken"].as_object().expect("rules");
            assert!(rules.values().all(|count| count == 0), "{flags}: {stats}");
            let scenarios = ran.document.names.iter().flat_map(|name| &name.steps);
            // Of all users: with -n, none arrives after the window.
            let reached: BTreeMap<&str, u64> =
                scenarios.map(|step| (&*step.name, step.counts.reached)).collect();
            let SentCounts { preflight, probe, .. } = ran.document.accounting.sent;
            let expected = [
                ("GET /login", reached["form"] + preflight + probe),
                ("POST /login", reached["log in"]),
                ("GET /account", reached["log in"]),
                ("POST /token", reached["token"]),
                ("GET /api/products", reached["products"]),
                ("POST /api/cart", reached["cart"]),
                ("POST /api/orders", reached["order"]),
                ("GET /", reached["home"]),
            ];
            for (endpoint, count) in expected {
                let found = stats["requests"][endpoint].as_u64();
                assert_eq!(found, Some(count), "{flags}: {endpoint}: {stats}\n{ran}");
            }
            let buyers = names(&ran)["buyer"].outcomes.ok;
            assert!(buyers > 0, "{flags}: {ran}");
            assert_eq!((reached["form"], reached["order"]), (buyers, reached["cart"]), "{ran}");
            assert_eq!(reached["products"], 2 * buyers, "{flags}: {ran}");
        }
    });
}

#[test]
fn a_setup_is_made_again_before_its_token_expires() {
    let directory = Directory::new();
    let scenario = write(&directory, "token.toml", TOKEN);
    let shop = Serve::start(&["--shop", "--shop-token-ttl", "2s"]);
    let words = format!("-c 4 -d 3s --warmup 0 --scenario {scenario} {}", shop.url());
    let ran = weir::load("auto", &words, &[]);
    ran.assert_all_ok();
    let stats = &shop.stop_with_stats()["shop"];
    let sent = ran.document.accounting.sent;
    assert!(sent.setup > 2, "{ran}");
    assert_eq!(stats["tokens"], sent.setup, "{stats}");
    assert_eq!(stats["requests"]["GET /api/products"], sent.total - sent.setup, "{stats}");
    assert!(!ran.text.contains(stats["tokens"].as_str().unwrap_or("Bearer ")), "{ran}");
}

#[test]
fn redirects_are_followed_within_the_origin_and_counted_by_name() {
    let directory = Directory::new();
    let to = |path: &str, status: u16, target: &str| {
        let headers = format!("{{\"Location\":\"{target}\"}}");
        format!("{{\"path\":\"{path}\",\"status\":{status},\"headers\":{headers}}}\n")
    };
    let routes = [
        to("/a", 302, "/b"),
        to("/b", 308, "c?d=1"),
        to("/loop", 307, "/loop"),
        to("/away", 301, "http://elsewhere.example/"),
    ];
    let routes = write(&directory, "routes.jsonl", &routes.concat());
    on_an_engine(|engine| {
        let server = Serve::start(&["--routes", &routes]);
        let url = server.url();
        let words =
            format!("-c 2 -n 30 --warmup 0 --follow 2 {url}a {url}loop {url}away --no-preflight");
        let ran = weir::load(engine, &words, &[]);
        let counts = names(&ran);
        let of = |name: &str| (counts[name].outcomes.ok, counts[name].outcomes.bad_response);
        assert_eq!(of("GET /a"), (10, 0), "{ran}");
        assert_eq!(of("GET /a (redirect)"), (20, 0), "{ran}");
        assert_eq!((of("GET /loop"), of("GET /loop (redirect)")), ((0, 10), (20, 0)), "{ran}");
        assert_eq!((of("GET /away"), of("GET /away (redirect)")), ((0, 10), (0, 0)), "{ran}");
        let missed = &ran.document.results.missed;
        let missed: Vec<_> = missed.iter().map(|(kind, count)| (kind.as_str(), *count)).collect();
        assert_eq!(missed, [("redirect_elsewhere", 10), ("redirect_limit", 10)], "{ran}");
        assert!(ran.text.contains("http://elsewhere.example/"), "{ran}");
        assert_eq!(ran.document.accounting.sent.total, server.stop(), "{ran}");
    });
}

#[test]
fn a_missing_capture_ends_its_user_and_names_no_value() {
    let directory = Directory::new();
    let steps = "[[scenario.step]]\nname = \"one\"\nurl = \"/\"\ncapture = { id = \"json:/id\" }\n\
                 [[scenario.step]]\nname = \"two\"\nurl = \"/{{user.id}}\"\n";
    let scenario = format!("[[scenario]]\nname = \"s\"\n{steps}");
    let scenario = write(&directory, "s.toml", &scenario);
    let server = Serve::start(&[]);
    let words = format!("-c 2 -n 20 --warmup 0 --scenario {scenario} {}", server.url());
    let ran = weir::load("auto", &words, &["--no-preflight"]);
    let counts = names(&ran);
    assert_eq!((counts["one"].planned, counts["two"].planned), (20, 0), "{ran}");
    assert_eq!(counts["s"].outcomes.bad_response, 20, "{ran}");
    assert!(ran.text.contains("capture_missing") || ran.text.contains("capture missing"), "{ran}");
    let mut steps = ran.document.names.iter().map(|name| &name.steps);
    let steps = steps.find(|steps| !steps.is_empty()).expect("a scenario");
    assert_eq!((steps[0].counts.failed, steps[1].counts.not_reached), (20, 20), "{ran}");
}

/// Steps that send what a setup and a step captured to each place of a request.
const PLACES: &str = r#"
[[setup]]
name = "token"
url = "/value"
capture = { shared = "json:/text" }

[[scenario]]
name = "s"

[[scenario.step]]
name = "value"
url = "/value"
capture = { text = "json:/text", number = "json:/number" }

[[scenario.step]]
name = "places"
method = "POST"
url = "/p/{{user.number}}?q={{user.text}}"
headers = { X-Id = "{{uuid}}" }
body = "{{user.text}}"

[[scenario.step]]
name = "chain"
method = "PUT"
url = "/first"
body = "ten bytes!"

[[scenario.step]]
name = "away"
url = "/away"
headers = { X-Id = "{{uuid}}" }
"#;

#[test]
fn captured_values_are_sent_as_they_were_received_and_no_output_has_them() {
    let directory = Directory::new();
    let value = r#"{"text": "a+b&c/\"d\"=", "number": 12345678901234567890.50}"#;
    let location = "Location: http://elsewhere.example/cb/a+b&c/\"d\"=\r\n";
    let value = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{value}", value.len());
    let redirect = |status: u16, to: &str| {
        format!("HTTP/1.1 {status} Moved\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n")
    };
    let first = redirect(303, "/second");
    let second = redirect(307, "/third");
    let away = format!("HTTP/1.1 302 Found\r\n{location}Content-Length: 0\r\n\r\n");
    let received = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&received);
    let server = Raw::start(move |peer| {
        while let Some(mut request) = peer.read_request()? {
            let answer = match request.as_str() {
                of_value if of_value.starts_with("GET /value") => &value,
                of_away if of_away.starts_with("GET /away") => &away,
                of_chain if of_chain.starts_with("PUT /first") => &first,
                of_chain if of_chain.contains(" /second ") => &second,
                _ => OK,
            };
            if request.starts_with('P') {
                request += &String::from_utf8_lossy(&peer.read_body(r#"a+b&c/"d"="#.len())?);
            }
            theirs.lock().expect("no panic").push(request);
            peer.write(answer)?;
        }
        Ok(())
    });
    let scenario = write(&directory, "places.toml", PLACES);
    let words = format!("-c 1 -n 2 --warmup 0 --follow 2 --scenario {scenario} {}", server.url());
    let ran = weir::load("auto", &words, &["--no-preflight", "--witness", "off"]);
    let requests: Vec<String> = received.lock().expect("no panic").clone();
    let sent = |begin: &str| {
        let found = requests.iter().filter(|request| request.starts_with(begin));
        found.cloned().collect::<Vec<String>>()
    };
    let places = sent("POST /p/12345678901234567890.50?q=a%2Bb%26c%2F%22d%22%3D HTTP/1.1");
    assert_eq!(places.len(), 2, "{requests:?}");
    assert!(places.iter().all(|request| request.ends_with("\r\n\r\na+b&c/\"d\"=")), "{places:?}");
    let id = |request: &String| {
        let line = request.lines().find(|line| line.to_lowercase().starts_with("x-id: "));
        line.expect("an id").to_owned()
    };
    let mut ids: Vec<String> = places.iter().chain(&sent("GET /away")).map(id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "{requests:?}");
    // 303 leads to a GET, and 307 behind it too.
    assert_eq!((sent("GET /second").len(), sent("GET /third").len()), (2, 2), "{requests:?}");
    assert_eq!(ran.document.results.missed["redirect_elsewhere"], 2, "{ran}");
    assert!(ran.text.contains("elsewhere.example/cb/[user."), "{ran}");
}

#[test]
fn an_error_that_is_the_only_one_is_named_by_its_status() {
    let server = Serve::start(&["--status", "401"]);
    let words = format!("-c 2 -n 20 --warmup 0 --follow 1 {}", server.url());
    let ran = weir::load("auto", &words, &["--no-preflight"]);
    assert_eq!(ran.document.results.missed["expect_status"], 20, "{ran}");
    ran.assert_says("FAILED: 100% of responses were 401");
}

#[test]
fn wrong_scenarios_are_refused_with_file_line_and_key() {
    let directory = Directory::new();
    let check = |text: &str, expected: &str| {
        let file = write(&directory, "wrong.toml", text);
        let words = format!("--scenario {file} http://127.0.0.1:1/");
        let ran = weir::weir(&words, &[]);
        assert_eq!(ran.code(), 2, "{ran:?}");
        let expected = expected.replace("FILE", &file);
        assert!(ran.stderr.contains(&expected), "{expected}: {ran:?}");
    };
    let step = "[[scenario]]\nname = \"s\"\n[[scenario.step]]\nname = \"a\"\nurl = \"/\"\n";
    check("", "--scenario FILE: line 1: it has no [[scenario]]");
    check(&format!("{step}thnik = \"1s\"\n"), "FILE: line 6: ");
    check(&format!("{step}think = \"soon\"\n"), "FILE: line 6: ");
    check(&format!("{step}headers = {{ a = \"{{{{user.x}}}}\" }}\n"), "FILE: line 3: ");
    check(&format!("{step}url = \"/\"\n"), "FILE: line 6: ");
    check(&format!("{step}headers = {{ a = \"{{{{user.x}}\" }}\n"), "{{user.… has no end");
    let set = "capture = { t = \"header:T\" }\n[[scenario.step]]\nname = \"b\"\nurl = \"/\"\n";
    check(&format!("{step}{set}when = \"t==k\"\n"), "FILE: line 10: ");
    check("[[scenario]\n", "FILE: line 1: ");
    let ran = weir::weir(&format!("--scenario {}/none http://h/", directory.path().display()), &[]);
    assert!(ran.code() == 2 && ran.stderr.contains("cannot be read"), "{ran:?}");
}

#[test]
fn a_step_s_own_cookies_are_sent_in_the_place_of_the_user_s() {
    let directory = Directory::new();
    let step = |name: &str, more: &str| {
        format!("[[scenario.step]]\nname = \"{name}\"\nurl = \"/{name}\"\n{more}")
    };
    let own = step("b", "headers = { Cookie = \"mine=1\" }\n");
    let steps = [step("a", ""), own, step("c", "")].concat();
    let file = format!("[[scenario]]\nname = \"s\"\n{steps}");
    let scenario = write(&directory, "cookies.toml", &file);
    let received = Arc::new(Mutex::new(Vec::new()));
    let theirs = Arc::clone(&received);
    let server = Raw::start(move |peer| {
        while let Some(request) = peer.read_request()? {
            let path = request.split(' ').nth(1).unwrap_or_default();
            let cookies = request.lines().filter_map(|line| line.strip_prefix("Cookie: "));
            let cookies: Vec<&str> = cookies.collect();
            theirs.lock().expect("no panic").push(format!("{path}: {}", cookies.join(" and ")));
            peer.write("HTTP/1.1 200 OK\r\nSet-Cookie: s=1\r\nContent-Length: 0\r\n\r\n")?;
        }
        Ok(())
    });
    let words = format!("-c 1 -n 1 --warmup 0 --scenario {scenario} {}", server.url());
    let ran = weir::load("auto", &words, &["--no-preflight"]);
    ran.assert_all_ok();
    let received = received.lock().expect("no panic").clone();
    assert_eq!(received, ["/a: ", "/b: mine=1", "/c: s=1"]);
}

/// The server ends in mid-run, and so does the run.
#[test]
fn users_of_a_run_that_ends_early_are_as_many_as_planned() {
    let directory = Directory::new();
    let step = |name: &str| format!("[[scenario.step]]\nname = \"{name}\"\nurl = \"/\"\n");
    let scenario = format!("[[scenario]]\nname = \"s\"\n{}{}", step("a"), step("b"));
    let scenario = write(&directory, "two.toml", &scenario);
    let server = Serve::start(&[]);
    let words =
        format!("-c 2 -n 1000000 -T 200ms --warmup 0 --scenario {scenario} {}", server.url());
    let running = weir::start("auto", &words, &["--no-preflight"]);
    server.await_requests(50);
    let requests = server.stop();
    let ran = running.finish();
    let users = &names(&ran)["s"];
    assert_eq!(users.planned, 1_000_000, "{ran}");
    let begun = users.planned - users.outcomes.never_sent;
    let of_b = names(&ran)["b"].planned;
    assert_eq!(ran.document.results.planned, 1_000_000 + of_b, "{ran}");
    // The counter was asked over connections of its own.
    assert!(begun >= of_b && begun + of_b <= requests + 2, "{ran}");
}

/// Five connections leave while their users think.
#[test]
fn users_whose_connection_leaves_are_in_progress() {
    let directory = Directory::new();
    let step = |name: &str, think: &str| {
        format!("[[scenario.step]]\nname = \"{name}\"\nurl = \"/\"\nthink = \"{think}\"\n")
    };
    let steps = format!("{}{}", step("a", "400ms"), step("b", "60s"));
    let scenario = write(&directory, "two.toml", &format!("[[scenario]]\nname = \"s\"\n{steps}"));
    let server = Serve::start(&[]);
    let words = "--stages 300ms@c=6,600ms@c=1 --warmup 0 --no-preflight --scenario";
    let ran = weir::load("auto", words, &[&scenario, &server.url()]);
    let all = &ran.document.results.outcomes;
    assert_eq!((all.never_sent, all.ok), (0, ran.document.results.planned), "{ran}");
    let users = names(&ran)["s"];
    assert_eq!((users.planned, users.in_progress + users.outcomes.ok), (6, 6), "{ran}");
}

#[test]
fn a_scenario_has_one_origin_and_its_own_paths() {
    let directory = Directory::new();
    let step = "[[scenario]]\nname = \"s\"\n[[scenario.step]]\nname = \"a\"\n";
    let here = write(&directory, "here.toml", &format!("{step}url = \"/x\"\n"));
    let with_path = weir::weir(&format!("--scenario {here} http://127.0.0.1:1/shop"), &[]);
    let expected = "--scenario has the paths of its steps: write them with /shop";
    assert!(with_path.code() == 2 && with_path.stderr.contains(expected), "{with_path:?}");
    let there = format!("{step}url = \"http://other.example/x\"\n");
    let there = write(&directory, "there.toml", &there);
    for flags in ["", "--skip-other-origins"] {
        let ran = weir::weir(&format!("{flags} --scenario {there} http://127.0.0.1:1/"), &[]);
        assert!(ran.code() == 2 && ran.stderr.contains("http://other.example"), "{ran:?}");
    }
}

#[test]
fn a_url_may_begin_with_a_captured_location() {
    let directory = Directory::new();
    let scenario = "[[scenario]]\nname = \"s\"\n\
                    [[scenario.step]]\nname = \"a\"\nurl = \"/orders\"\nmethod = \"POST\"\n\
                    capture = { order = \"header:Location\" }\n\
                    [[scenario.step]]\nname = \"b\"\nurl = \"{{user.order}}/lines\"\n";
    let file = write(&directory, "orders.toml", scenario);
    for (origin, reason) in [(None, ""), (Some("http://other"), "found a URL of another origin")] {
        let server = Raw::start(move |peer| {
            while let Some(request) = peer.read_request()? {
                let host = request.lines().find_map(|line| line.strip_prefix("Host: "));
                let own = format!("http://{}", host.unwrap_or_default());
                let order = format!("{}/orders/17", origin.unwrap_or(&own));
                let status = match &request {
                    create if create.starts_with("POST /orders ") => "201 Created",
                    lines if lines.starts_with("GET /orders/17/lines ") => "200 OK",
                    _ => "404 Not Found",
                };
                let head = format!("Location: {order}\r\nContent-Length: 0\r\n\r\n");
                peer.write(format!("HTTP/1.1 {status}\r\n{head}"))?;
            }
            Ok(())
        });
        let words = format!("-c 2 -n 10 --warmup 0 --scenario {file} {}", server.url());
        let ran = weir::load("auto", &words, &["--no-preflight"]);
        let missed = &ran.document.results.missed;
        assert_eq!(missed.get("capture_missing"), origin.map(|_| &10), "{ran}");
        assert!(ran.text.contains(reason), "{ran}");
        assert_eq!(names(&ran)["b"].outcomes.ok, if origin.is_none() { 10 } else { 0 }, "{ran}");
    }
    let body = "body = \"{{user.order}}\"\n";
    let file = write(&directory, "both.toml", &format!("{scenario}{body}"));
    let ran = weir::weir(&format!("--scenario {file} http://127.0.0.1:1/"), &[]);
    let expected = "line 8: {{user.order}} begins a URL, so it is a path";
    assert!(ran.code() == 2 && ran.stderr.contains(expected), "{ran:?}");
}

/// A setup whose request is redirected, and whose server is slow from the second time on.
#[test]
fn a_setup_follows_redirects_and_has_the_timeout_of_the_load() {
    let directory = Directory::new();
    let setup = "refresh = \"100ms\"\n[[setup]]\nname = \"token\"\nurl = \"/old\"\n\
                 capture = { token = \"header:X-Token\" }\n";
    let step = "[[scenario]]\nname = \"s\"\n[[scenario.step]]\nname = \"a\"\nurl = \"/a\"\n\
                headers = { X-Token = \"{{user.token}}\" }\nthink = \"1ms\"\n";
    let scenario = write(&directory, "setup.toml", &format!("{setup}{step}"));
    let is_slow = Arc::new(AtomicBool::new(false));
    let server = Raw::start(move |peer| {
        while let Some(request) = peer.read_request()? {
            let answer = match request.split(' ').nth(1) {
                Some("/old") => "302 Found\r\nLocation: /token",
                Some("/token") if is_slow.swap(true, Ordering::Relaxed) => continue,
                Some("/a") if !request.contains("X-Token: new\r\n") => "401 Unauthorized",
                _ => "200 OK\r\nX-Token: new",
            };
            peer.write(format!("HTTP/1.1 {answer}\r\nContent-Length: 0\r\n\r\n"))?;
        }
        Ok(())
    });
    let words = format!("-c 2 -d 1s --warmup 0 --scenario {scenario} {}", server.url());
    let unfollowed = weir::weir(&words, &["--no-preflight"]);
    let expected = "setup step \"token\": status 302, expected header:X-Token, found nothing there";
    assert!(unfollowed.code() == 1 && unfollowed.stderr.contains(expected), "{unfollowed:?}");
    let ran = weir::load("auto", &words, &["--no-preflight", "--follow", "1", "-T", "100ms"]);
    ran.assert_all_ok();
    let notes = &ran.document.notes;
    let is_late = |note: &Note| note.text.contains("no response within the timeout of 100 ms");
    assert!(notes.iter().any(is_late), "{notes:?}");
}

#[test]
fn debug_takes_a_user_through_its_steps() {
    let directory = Directory::new();
    let scenario = write(&directory, "shop.toml", SHOP);
    let token = write(&directory, "token.toml", TOKEN);
    let shop = Serve::start(&["--shop"]);
    let ran = weir::weir(&format!("--debug --follow 1 --scenario {scenario} {}", shop.url()), &[]);
    let names: Vec<&str> =
        ran.stdout.lines().filter_map(|line| line.strip_prefix("# buyer: ")).collect();
    let (walked, of_cart) = names.split_at(6);
    let expected = ["form", "log in", "log in (redirect)", "token", "products", "products"];
    assert_eq!(
        (ran.code(), walked, of_cart),
        (0, &expected[..], &["cart", "order"][..]),
        "{ran:?}"
    );
    for part in ["value=\"[user.csrf]\"", "# captured token\n", "Welcome, <b>user 0</b>"] {
        assert!(ran.stdout.contains(part), "{part}: {ran:?}");
    }
    // A draw decides if this user takes the step.
    let is_left_out = ran.stdout.contains("# left out: chance 0.5\n");
    assert_eq!(ran.stdout.contains("# left out: the user has no cart\n"), is_left_out, "{ran:?}");
    let second = weir::weir(&format!("--debug=2 --scenario {scenario} {}", shop.url()), &[]);
    assert!(second.code() == 0 && second.stdout.contains("# visitor: home\n"), "{second:?}");
    let ran = weir::weir(&format!("--debug --scenario {token} {}", shop.url()), &[]);
    assert!(ran.code() == 0 && ran.stdout.starts_with("# setup: token\n"), "{ran:?}");
    let stats = &shop.stop_with_stats()["shop"];
    assert!(stats["broken"].as_object().expect("rules").values().all(|count| count == 0));
    let wrong = SHOP.replace("name=\"csrf\"", "name=\"other\"");
    let wrong = write(&directory, "wrong.toml", &wrong);
    let shop = Serve::start(&["--shop"]);
    let ran = weir::weir(&format!("--debug --scenario {wrong} {}", shop.url()), &[]);
    let problem = "error: step \"buyer: form\": status 200, expected body~";
    assert!(ran.code() == 1 && ran.stderr.contains(problem), "{ran:?}");
    assert_eq!(shop.stop(), 1);
    let ran = weir::weir(&format!("--debug --scenario {wrong} http://127.0.0.1:1/"), &[]);
    let problem = "error: step \"buyer: form\": cannot connect to 127.0.0.1:1";
    assert!(ran.code() == 1 && ran.stderr.contains(problem), "{ran:?}");
}

#[test]
fn a_setup_without_its_response_ends_the_run() {
    let directory = Directory::new();
    let scenario = write(&directory, "token.toml", TOKEN);
    let server = Serve::start(&["--status", "503"]);
    let words = format!("-d 1s --no-preflight --scenario {scenario} {}", server.url());
    let ran = weir::weir(&words, &[]);
    let expected = "setup step \"token\": status 503";
    assert!(ran.code() == 1 && ran.stderr.contains(expected), "{ran:?}");
    assert_eq!(server.stop(), 1);
}
