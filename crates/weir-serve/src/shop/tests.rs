//! The shop in virtual time: requests of HTTP/1 as text in, responses and counters out.

use weir_http::server::{ReadProgress, RequestFault, RequestParser};

use super::*;
use crate::shop::rules::BrokenRule;

/// One second in nanoseconds.
const S: u64 = 1_000_000_000;

fn shop(is_tls: bool) -> Shop {
    Shop::new(&ShopOptions::default(), Draws::new(1, 2), is_tls)
}

/// Returns the response to a request that is read at `at` and answered 1 ns later.
fn send(shop: &Shop, at: u64, line: &str, fields: &[&str], body: &str) -> ShopReply {
    let length = format!("Content-Length: {}", body.len());
    let lines = [&[line, "Host: a", &length], fields, &["", body]].concat();
    let text = lines.join("\r\n");
    let mut parser = RequestParser::default();
    let mut request = ShopRequest::default();
    let mut rest = text.as_bytes();
    loop {
        let read = match parser.is_in_body() {
            true => parser.read_body(&mut rest, |bytes| request.take_body(bytes)),
            false => parser.read(&mut rest, |part| {
                request.take(&part);
                Ok::<_, RequestFault>(())
            }),
        };
        if read.expect("a request") == ReadProgress::End {
            return shop.respond(&request, Nanos(at), Nanos(at + 1));
        }
    }
}

fn get(shop: &Shop, at: u64, path: &str, fields: &[&str]) -> ShopReply {
    send(shop, at, &format!("GET {path} HTTP/1.1"), fields, "")
}

fn post(shop: &Shop, at: u64, path: &str, fields: &[&str], body: &str) -> ShopReply {
    send(shop, at, &format!("POST {path} HTTP/1.1"), fields, body)
}

fn text(reply: &ShopReply) -> &str {
    str::from_utf8(&reply.body).expect("it is text")
}

/// Returns the text between two others.
fn between<'a>(text: &'a str, begin: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(begin).unwrap_or_else(|| panic!("no {begin} in {text}"));
    rest.split_once(end).unwrap_or_else(|| panic!("no {end} in {rest}")).0
}

fn set_cookies(reply: &ShopReply) -> Vec<&str> {
    let fields = reply.fields.iter().filter(|(name, _)| *name == "Set-Cookie");
    fields.map(|(_, value)| &**value).collect()
}

/// Returns the value of the only cookie of this name that a response sets.
fn cookie<'a>(reply: &'a ShopReply, name: &str) -> &'a str {
    let begin = format!("{name}=");
    let mut values = set_cookies(reply).into_iter().filter_map(|set| set.strip_prefix(&begin));
    let value = values.next().unwrap_or_else(|| panic!("no {name} in {reply:?}"));
    value.split(';').next().unwrap_or_default()
}

/// Returns the counts of broken rules that are not zero.
fn broken(shop: &Shop) -> String {
    shop.stats().broken_line().replace("rules broken: ", "")
}

const FORM: &str = "Content-Type: application/x-www-form-urlencoded";

/// Begins a session. Returns its cookie as it is sent, and its CSRF token.
fn begin(shop: &Shop, at: u64) -> (String, String) {
    let page = get(shop, at, "/login", &[]);
    let csrf = between(text(&page), "name=\"csrf\" value=\"", "\"");
    (format!("Cookie: session={}", cookie(&page, "session")), csrf.to_owned())
}

/// Logs a user in. Returns the cookie of the session as it is sent.
fn log_in(shop: &Shop, at: u64) -> String {
    let (session, csrf) = begin(shop, at);
    let form = format!("user=ann&password=secret&csrf={csrf}");
    let reply = post(shop, at, "/login", &[FORM, &session], &form);
    assert_eq!(reply.status, 303, "{reply:?}");
    format!("Cookie: session={}", cookie(&reply, "session"))
}

/// Returns a token as it is sent.
fn token(shop: &Shop, at: u64, fields: &[&str], body: &str) -> String {
    let reply = post(shop, at, "/token", fields, body);
    format!("Authorization: Bearer {}", between(text(&reply), "\"access_token\":\"", "\""))
}

#[test]
fn a_user_walks_through_the_shop() {
    let shop = shop(false);
    let (session, csrf) = begin(&shop, 0);
    let form = format!("user=ann+%3Clee%3E&password=%73ecret&csrf={csrf}&more=1");
    let reply = post(&shop, 1, "/login", &[FORM, &session], &form);
    assert_eq!((reply.status, text(&reply)), (303, ""));
    let id = cookie(&reply, "session");
    let expected = [
        &format!("session={id}; Path=/; HttpOnly"),
        "seen=1; Path=/account",
        "flash=welcome; Path=/account; Max-Age=1",
    ];
    assert_eq!(set_cookies(&reply), expected);
    assert!(reply.fields.contains(&("Location", "/account".into())));
    let session = format!("Cookie: session={id}");
    let account = get(&shop, 2, "/account", &[&session, "Cookie: seen=1; flash=welcome"]);
    assert!(text(&account).contains("<b>ann &lt;lee&gt;</b>"), "{account:?}");
    let reply = post(&shop, 3, "/token", &[&session], "");
    let begin = format!("\"access_token\":\"{}", "0-");
    assert!(text(&reply).contains(&begin), "{reply:?}");
    assert!(text(&reply).ends_with("\",\"token_type\":\"Bearer\",\"expires_in\":900}\n"));
    let bearer = token(&shop, 3, &[&session], "");
    let page = get(&shop, 4, "/api/products?page=10", &[&session, &bearer]);
    let begin = "{\"page\":10,\"pages\":10,\"products\":[{\"id\":91,\"name\":\"Product 91\",";
    assert!(text(&page).starts_with(begin), "{page:?}");
    let product = get(&shop, 4, "/api/products/7", &[&bearer]);
    assert_eq!(text(&product), "{\"id\":7,\"name\":\"Product 7\",\"price\":359}\n");
    let more = "{\"product\":7,\"quantity\":2}";
    let cart = post(&shop, 5, "/api/cart", &[&session], more);
    let id = cookie(&cart, "cart");
    assert_eq!((cart.status, set_cookies(&cart).len()), (201, 1));
    let sent = format!("{session}; cart={id}");
    let again = post(&shop, 6, "/api/cart", &[&sent], more);
    let expected =
        format!("{{\"id\":{id},\"lines\":[{{\"product\":7,\"quantity\":4}}],\"total\":1436}}\n");
    assert_eq!((text(&again), set_cookies(&again).len()), (&*expected, 0));
    assert_eq!(text(&get(&shop, 7, "/api/cart", &[&sent])), expected);
    let order = format!("{{\"cart\":{id}}}");
    let reply = post(&shop, 8, "/api/orders", &[&session], &order);
    assert_eq!((reply.status, text(&reply)), (201, "{\"order\":1}\n"));
    let reply = post(&shop, 9, "/logout", &[&session], "");
    assert_eq!((reply.status, set_cookies(&reply)), (204, vec!["session=; Path=/; Max-Age=0"]));
    let stats = shop.stats();
    let counts = [stats.sessions_made, stats.sessions_live, stats.logins, stats.tokens];
    assert_eq!((counts, stats.orders, broken(&shop)), ([1, 0, 1, 2], 1, "none".to_owned()));
    let requests: Vec<u64> = stats.requests().map(|(_, count)| count).collect();
    assert_eq!(requests, [0, 1, 1, 1, 2, 1, 1, 2, 1, 1, 1, 0, 0]);
}

#[test]
fn every_answer_is_fresh_and_has_its_type() {
    let shop = shop(false);
    let check = |reply: ShopReply, status: u16, media_type: Option<&str>| {
        let value = |name| reply.fields.iter().find(|(own, _)| *own == name).map(|(_, v)| &**v);
        assert_eq!((reply.status, value("Content-Type")), (status, media_type), "{reply:?}");
        assert_eq!(value("Cache-Control"), Some("no-store"), "{reply:?}");
    };
    let html = Some("text/html; charset=utf-8");
    let json = Some("application/json");
    check(get(&shop, 0, "/", &[]), 200, html);
    check(get(&shop, 0, "/login", &[]), 200, html);
    check(get(&shop, 0, "/stats", &[]), 200, json);
    check(get(&shop, 0, "/none", &[]), 404, json);
    check(send(&shop, 0, "HEAD / HTTP/1.1", &[], ""), 200, html);
    let reply = send(&shop, 0, "DELETE /login HTTP/1.1", &[], "");
    assert!(reply.fields.contains(&("Allow", "GET, POST".into())), "{reply:?}");
    check(reply, 405, json);
    let large = "x".repeat(65 * 1024);
    check(post(&shop, 0, "/api/cart", &[], &large), 413, json);
    let (session, _) = begin(&shop, 0);
    check(post(&shop, 0, "/login", &[&session], ""), 415, json);
    for body in ["", "[]", "{\"product\":0,\"quantity\":1}", "{\"product\":1,\"quantity\":1001}"] {
        check(post(&shop, 0, "/api/cart", &[], body), 400, json);
    }
    check(post(&shop, 0, "/api/orders", &[], "{}"), 400, json);
    let bearer = token(&shop, 0, &[], CLIENT);
    for page in ["0", "11", "x", ""] {
        check(get(&shop, 0, &format!("/api/products?page={page}"), &[&bearer]), 400, json);
    }
    for id in ["0", "101", "x"] {
        check(get(&shop, 0, &format!("/api/products/{id}"), &[&bearer]), 404, json);
    }
    assert_eq!(broken(&shop), "none");
}

/// Body with which a client without a session gets a token.
const CLIENT: &str = "{\"client\":\"setup\",\"secret\":\"secret\"}";

/// Checks the status and the rules of one request to a shop. The reason of a refusal is its rule.
fn check(shop: &Shop, reply: &ShopReply, status: u16, rules: &str) {
    assert_eq!((reply.status, &*broken(shop)), (status, rules), "{reply:?}");
    let refused = [401, 403, 404].contains(&status);
    assert_eq!(refused, text(reply).starts_with("{\"error\":\""), "{reply:?}");
    if refused {
        let reason = between(text(reply), ":\"", "\"");
        assert!(BrokenRule::ALL.iter().any(|(_, name)| *name == reason), "{reason}");
    }
}

#[test]
fn sessions_are_needed() {
    for (path, method) in [("/account", "GET"), ("/token", "POST"), ("/logout", "POST")] {
        let line = format!("{method} {path} HTTP/1.1");
        let one = shop(false);
        check(&one, &send(&one, 0, &line, &[], ""), 401, "session_missing 1");
        let one = shop(false);
        let fields = ["Cookie: session=0-0000000000000001"];
        check(&one, &send(&one, 0, &line, &fields, ""), 401, "session_unknown 1");
        if path != "/logout" {
            let one = shop(false);
            let (session, _) = begin(&one, 0);
            check(&one, &send(&one, 0, &line, &[&session], ""), 401, "session_missing 1");
        }
    }
    let one = shop(false);
    check(&one, &post(&one, 0, "/login", &[FORM], "user=ann"), 401, "session_missing 1");
}

#[test]
fn a_log_in_needs_its_form_and_credentials() {
    let check_form = |form: &str, status: u16, rules: &str| {
        let shop = shop(false);
        let (session, csrf) = begin(&shop, 0);
        let reply = post(&shop, 0, "/login", &[FORM, &session], &form.replace('T', &csrf));
        check(&shop, &reply, status, rules);
    };
    check_form("user=ann&password=secret&csrf=T", 303, "none");
    check_form("user=ann&password=secret&csrf=1", 403, "csrf_wrong 1");
    check_form("user=ann&password=secret", 403, "csrf_wrong 1");
    check_form("user=ann&password=wrong&csrf=T", 401, "credentials_wrong 1");
    check_form("user=ann&password=&csrf=T", 401, "credentials_wrong 1");
    check_form("user=&password=secret&csrf=T", 401, "credentials_wrong 1");
    check_form("user=%FF&password=secret&csrf=T", 401, "credentials_wrong 1");
    // The token of another session, and the id and the token before a log-in.
    let shop = shop(false);
    let (first, csrf) = begin(&shop, 0);
    let (_, other) = begin(&shop, 0);
    let form = |csrf: &str| format!("user=ann&password=secret&csrf={csrf}");
    assert_eq!(post(&shop, 0, "/login", &[FORM, &first], &form(&other)).status, 403);
    let reply = post(&shop, 0, "/login", &[FORM, &first], &form(&csrf));
    let renewed = format!("Cookie: session={}", cookie(&reply, "session"));
    assert_eq!(post(&shop, 0, "/login", &[FORM, &renewed], &form(&csrf)).status, 403);
    assert_eq!(broken(&shop), "csrf_wrong 2");
    let reply = post(&shop, 0, "/login", &[FORM, &first], &form(&csrf));
    check(&shop, &reply, 401, "session_unknown 1, csrf_wrong 2");
    // A known session keeps its token, and gets no new id.
    let page = get(&shop, 0, "/login", &[&renewed]);
    assert_eq!(set_cookies(&page), [""; 0]);
    assert_eq!(text(&page), text(&get(&shop, 1, "/login", &[&renewed])));
}

#[test]
fn products_need_a_token_that_holds() {
    let one = shop(false);
    for fields in [&[][..], &["Authorization: Basic YTpi"]] {
        assert_eq!(get(&one, 0, "/api/products", fields).status, 401);
    }
    let reply = get(&one, 0, "/api/products/1", &["Authorization: Bearer 0-0000000000000001"]);
    assert!(reply.fields.contains(&("WWW-Authenticate", "Bearer".into())));
    check(&one, &reply, 401, "token_missing 2, token_unknown 1");
    // The last moment at which it holds, counted from its response at 1 ns.
    let one = shop(false);
    let session = log_in(&one, 0);
    let bearer = token(&one, 0, &[&session], "");
    assert_eq!(get(&one, 900 * S + 1, "/api/products", &[&bearer]).status, 200);
    let reply = get(&one, 900 * S + 2, "/api/products", &[&bearer]);
    check(&one, &reply, 401, "token_expired 1");
    // Of another session, of none, and with no session.
    let one = shop(false);
    let first = log_in(&one, 0);
    let other = log_in(&one, 0);
    let bearer = token(&one, 0, &[&first], "");
    let client = token(&one, 0, &[], CLIENT);
    for fields in [[&*bearer, &*first], [&bearer, "A: b"], [&client, &first]] {
        assert_eq!(get(&one, 0, "/api/products", &fields).status, 200);
    }
    let reply = get(&one, 0, "/api/products", &[&bearer, &other]);
    check(&one, &reply, 403, "token_foreign 1");
}

#[test]
fn a_client_gets_a_token_by_its_secret() {
    let shop = shop(false);
    let send = |body: &str| post(&shop, 0, "/token", &[], body).status;
    assert_eq!(send(CLIENT), 200);
    assert_eq!(broken(&shop), "none");
    assert_eq!(send("{\"client\":\"setup\",\"secret\":\"wrong\"}"), 401);
    assert_eq!(send("{\"client\":\"setup\"}"), 401);
    assert_eq!(send("{\"client\":\"\",\"secret\":\"secret\"}"), 401);
    assert_eq!(broken(&shop), "credentials_wrong 3");
}

#[test]
fn carts_belong_to_their_sessions() {
    const MORE: &str = "{\"product\":1,\"quantity\":1}";
    let one = shop(false);
    check(&one, &get(&one, 0, "/api/cart", &[]), 404, "cart_missing 1");
    check(&one, &post(&one, 0, "/api/orders", &[], "{\"cart\":\"x\"}"), 404, "cart_missing 2");
    let one = shop(false);
    let first = log_in(&one, 0);
    let other = log_in(&one, 0);
    let id = cookie(&post(&one, 0, "/api/cart", &[&first], MORE), "cart").to_owned();
    let order = format!("{{\"cart\":\"{id}\"}}");
    let foreign = format!("{other}; cart={id}");
    assert_eq!(get(&one, 0, "/api/cart", &[&foreign]).status, 403);
    assert_eq!(post(&one, 0, "/api/cart", &[&foreign], MORE).status, 403);
    assert_eq!(post(&one, 0, "/api/orders", &[&other], &order).status, 403);
    check(&one, &post(&one, 0, "/api/orders", &[], &order), 403, "cart_foreign 4");
    // The session's own cart, which is gone then; the next one is new.
    let one = shop(false);
    let first = log_in(&one, 0);
    let id = cookie(&post(&one, 0, "/api/cart", &[&first], MORE), "cart").to_owned();
    let order = format!("{{\"cart\":\"{id}\"}}");
    assert_eq!(post(&one, 0, "/api/orders", &[&first], &order).status, 201);
    assert_eq!(broken(&one), "none");
    let sent = format!("{first}; cart={id}");
    assert_ne!(cookie(&post(&one, 0, "/api/cart", &[&sent], MORE), "cart"), id);
    check(&one, &get(&one, 0, "/api/cart", &[&sent]), 404, "cart_missing 1");
    // One that was made without a session, and one whose session has ended.
    let one = shop(false);
    let free = cookie(&post(&one, 0, "/api/cart", &[], MORE), "cart").to_owned();
    let first = log_in(&one, 0);
    assert_eq!(get(&one, 0, "/api/cart", &[&format!("{first}; cart={free}")]).status, 200);
    let own = cookie(&post(&one, 0, "/api/cart", &[&first], MORE), "cart").to_owned();
    post(&one, 0, "/logout", &[&first], "");
    let next = log_in(&one, 0);
    let reply = post(&one, 0, "/api/cart", &[&format!("{next}; cart={own}")], MORE);
    assert_ne!(cookie(&reply, "cart"), own);
    check(&one, &reply, 201, "none");
}

#[test]
fn cookies_are_sent_in_their_paths_and_times() {
    let one = shop(false);
    let session = log_in(&one, 0);
    assert_eq!(get(&one, 0, "/login", &[&session, "Cookie: seen=1"]).status, 200);
    check(&one, &get(&one, 0, "/", &["Cookie: cart=1; flash=x"]), 200, "cookie_out_of_path 2");
    // Set by a response at 1 ns; 1.5 s later it must be gone.
    let one = shop(false);
    let session = log_in(&one, 0);
    let fields = [&*session, "Cookie: seen=1; flash=welcome"];
    check(&one, &get(&one, 1_500_000_001, "/account", &fields), 200, "none");
    check(&one, &get(&one, 1_500_000_002, "/account", &fields), 200, "cookie_expired 1");
    // Removed by a response at 6 ns, before which a request may have left.
    let one = shop(false);
    let session = log_in(&one, 0);
    post(&one, 5, "/logout", &[&session], "");
    check(&one, &get(&one, 6, "/", &[&session]), 200, "none");
    check(&one, &get(&one, 7, "/", &[&session]), 200, "cookie_expired 1");
    let reply = get(&one, 8, "/account", &[&session]);
    check(&one, &reply, 401, "cookie_expired 2");
    check(&one, &get(&one, 9, "/", &["Cookie: x=1; x=1; X=2"]), 200, "cookie_expired 2");
    let one = shop(false);
    check(&one, &get(&one, 0, "/", &["Cookie: session=a; session=b"]), 200, "cookie_twice 1");
}

#[test]
fn cookies_of_log_ins_are_needed() {
    let one = shop(false);
    let session = log_in(&one, 0);
    check(&one, &get(&one, 0, "/account", &[&session]), 200, "cookie_missing 1");
    check(&one, &get(&one, 0, "/", &[&session]), 200, "cookie_missing 1");
    let fields = [&*session, "Cookie: seen=1; tls=1"];
    check(&one, &get(&one, 0, "/account", &fields), 200, "cookie_missing 1, cookie_insecure 1");
    let one = shop(true);
    let (session, csrf) = begin(&one, 0);
    let form = format!("user=ann&password=secret&csrf={csrf}");
    let reply = post(&one, 0, "/login", &[FORM, &session], &form);
    assert_eq!(set_cookies(&reply).last(), Some(&"tls=1; Path=/; Secure"));
    let session = format!("Cookie: session={}", cookie(&reply, "session"));
    check(&one, &get(&one, 0, "/", &[&session, "Cookie: tls=1"]), 200, "none");
    let fields = [&*session, "Cookie: seen=1; tls=1"];
    check(&one, &get(&one, 0, "/account", &fields), 200, "none");
    check(&one, &get(&one, 0, "/stats", &[&session]), 200, "cookie_missing 1");
}

#[test]
fn a_million_sessions_are_kept() {
    let shop = shop(false);
    let mut state = shop.state();
    let (oldest, _) = state.begin_session();
    let (next, _) = state.begin_session();
    for _ in 2..=1_000_000 {
        state.begin_session();
    }
    let find = |id: String| state.find_session(Some(&id), Nanos::ZERO);
    assert_eq!(find(oldest.to_string()), Err(BrokenRule::SessionUnknown));
    assert_eq!(find(next.to_string()), Ok(1));
    let counts = (state.stats().sessions_made, state.stats().sessions_live);
    assert_eq!(counts, (1_000_001, 1_000_000));
}
