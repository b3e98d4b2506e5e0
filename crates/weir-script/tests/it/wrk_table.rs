//! The global `wrk`: its fields and functions.

use std::net::{SocketAddr, TcpListener};
use std::time::{SystemTime, UNIX_EPOCH};

use weir_script::{Mode, Options};

use crate::support::{Script, URL, request_of, returned, worker_of, worker_with};

/// Checks the value of the expression in a worker, in both modes.
fn check(expression: &str, expected: &str) {
    for mode in [Mode::ClosedLoop, Mode::ConstantRate] {
        let body = format!("return tostring({expression})");
        assert_eq!(returned(&body, |options| options.mode = mode), expected, "{expression}");
    }
}

fn check_static(script: &str, change: impl FnOnce(&mut Options), expected: &str) {
    let worker = worker_with(script, change).unwrap();
    assert_eq!(String::from_utf8_lossy(worker.static_request()), expected, "{script}");
}

#[test]
fn fields() {
    check("wrk.scheme", "http");
    check("wrk.host", "example.test");
    check("wrk.port", "8080");
    check("type(wrk.port)", "string");
    check("wrk.method", "GET");
    check("wrk.path", "/a?b=c");
    check("wrk.headers.Host", "example.test:8080");
    check("wrk.body", "nil");
    check("type(wrk.thread)", "userdata");
    check("wrk.addrs", "nil");
    check("wrk.request()", "GET /a?b=c HTTP/1.1\r\nHost: example.test:8080\r\n\r\n");
}

/// DeathStarBench's wrk2 defines it; wrk does not.
#[test]
fn the_url_is_a_global_where_there_is_a_rate() {
    for (mode, expected) in [(Mode::ConstantRate, URL), (Mode::ClosedLoop, "nil")] {
        let change = |options: &mut Options| options.mode = mode;
        let script = "local at_load = tostring(url) function request() return at_load end";
        let mut worker = worker_with(script, change).unwrap();
        assert_eq!(worker.request(None).unwrap(), expected.as_bytes());
        assert_eq!(returned("return tostring(url)", change), expected);
    }
}

/// A request with two Host fields is invalid (RFC 9112 §3.2).
#[test]
fn there_is_one_host() {
    let one = "GET /a?b=c HTTP/1.1\r\nHost: x\r\n\r\n";
    let header = |name: &'static str| {
        move |options: &mut Options| options.headers = vec![(name.into(), "x".into())]
    };
    check_static("", header("host"), one);
    check_static("", header("HOST"), one);
    check_static("", header("Host"), one);
    check_static("wrk.headers.host = 'x'", |_| (), one);
    let one = one.replace("Host", "host");
    check_static("function init() wrk.headers.host = 'x' end", |_| (), &one);
    assert_eq!(returned("return wrk.format(nil, nil, { host = 'x' })", |_| ()), one);
    assert_eq!(returned("return wrk.format(nil, nil, {})", header("host")), one.replace('h', "H"));
}

#[test]
fn the_main_state_has_no_thread_and_no_request() {
    let script = "local at_load = tostring(wrk.request)
                  function done()
                    error(at_load .. ' ' .. tostring(wrk.thread) .. ' ' .. tostring(wrk.request)
                      .. ' ' .. tostring(wrk.addrs[2]) .. ' ' .. tostring(wrk.headers.Host), 0)
                  end";
    let mut script = Script::with_workers(script, 1);
    assert_eq!(script.done_error(), "nil nil nil ::1:80 nil");
}

#[test]
fn arguments_of_init() {
    let script = "function init(args)
                    said = args[0] .. ' ' .. #args .. ' ' .. table.concat(args, ',')
                  end
                  function request() return said end";
    let mut worker =
        worker_with(script, |options| options.args = vec!["a".into(), "-x".into(), "--".into()])
            .unwrap();
    let expected = format!("{URL} 3 a,-x,--");
    assert_eq!(worker.request(None).unwrap(), expected.as_bytes());
}

#[test]
fn header_fields_of_the_command_line() {
    let given = |options: &mut Options| {
        options.headers = vec![
            ("X-A".into(), "1".into()),
            ("Host".into(), "other".into()),
            ("X-A".into(), "2".into()),
        ];
    };
    assert_eq!(returned("return wrk.headers['X-A'] .. wrk.headers.Host", given), "2other");
    check_static("", given, "GET /a?b=c HTTP/1.1\r\nHost: other\r\nX-A: 2\r\n\r\n");
}

#[test]
fn the_host_field() {
    let host = |host: &'static str, port: Option<&'static str>| {
        returned("return wrk.headers.Host", |options| {
            options.host = host.to_owned();
            options.port = port.map(str::to_owned);
        })
    };
    assert_eq!(host("example.test", None), "example.test");
    assert_eq!(host("example.test", Some("80")), "example.test:80");
    assert_eq!(host("::1", None), "[::1]");
    assert_eq!(host("::1", Some("8080")), "[::1]:8080");
}

#[test]
fn static_requests_follow_the_table() {
    // Fields but Host have the order of `pairs`, which differs between states.
    let worker =
        worker_of("wrk.method = 'POST' wrk.body = 'a=b' wrk.path = '/p' wrk.headers['X-A'] = 5");
    let text = String::from_utf8_lossy(worker.static_request()).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<&str> = head.split("\r\n").collect();
    lines[2..].sort_unstable();
    let host = "Host: example.test:8080";
    assert_eq!(lines, ["POST /p HTTP/1.1", host, "Content-Length: 3", "X-A: 5"]);
    assert_eq!(body, "a=b");
    check_static(
        "function init() wrk.path = '/init' wrk.headers.Host = 'h' end",
        |_| (),
        "GET /init HTTP/1.1\r\nHost: h\r\n\r\n",
    );
}

#[test]
fn format_takes_what_is_missing_from_the_table() {
    let check = |arguments: &str, expected: &str| {
        assert_eq!(returned(&format!("return wrk.format({arguments})"), |_| ()), expected);
    };
    let host = "Host: example.test:8080\r\n";
    check("", &format!("GET /a?b=c HTTP/1.1\r\n{host}\r\n"));
    check("'PUT'", &format!("PUT /a?b=c HTTP/1.1\r\n{host}\r\n"));
    check("nil, '/x'", &format!("GET /x HTTP/1.1\r\n{host}\r\n"));
    check("nil, nil, {}", &format!("GET /a?b=c HTTP/1.1\r\n{host}\r\n"));
    check("nil, nil, { Host = 'h' }", "GET /a?b=c HTTP/1.1\r\nHost: h\r\n\r\n");
    check(
        "nil, nil, nil, 'body'",
        &format!("GET /a?b=c HTTP/1.1\r\n{host}Content-Length: 4\r\n\r\nbody"),
    );
    check("nil, nil, nil, ''", &format!("GET /a?b=c HTTP/1.1\r\n{host}Content-Length: 0\r\n\r\n"));
    check(
        "nil, nil, nil, 12",
        &format!("GET /a?b=c HTTP/1.1\r\n{host}Content-Length: 2\r\n\r\n12"),
    );
    check(
        "nil, nil, nil, 'a\\0b'",
        &format!("GET /a?b=c HTTP/1.1\r\n{host}Content-Length: 3\r\n\r\na\0b"),
    );
    check("nil, nil, { A = 1.5 }", &format!("GET /a?b=c HTTP/1.1\r\n{host}A: 1.5\r\n\r\n"));
    check("nil, nil, { A = true }", &format!("GET /a?b=c HTTP/1.1\r\n{host}A: true\r\n\r\n"));
}

/// RFC 9112 §6.2: a message with a transfer coding has no length. wrk sends both.
#[test]
fn a_coded_request_has_a_length_in_the_dialects_alone() {
    let host = "Host: example.test:8080\r\n";
    for (name, both) in
        [("Transfer-Encoding", false), ("transfer-encoding", false), ("Transfer-Encoding", true)]
    {
        let call = format!(
            "return wrk.format('POST', '/te', {{ ['{name}'] = 'chunked' }}, '0\\r\\n\\r\\n')"
        );
        let text = returned(&call, |options| options.sends_both_lengths = both);
        assert!(text.starts_with(&format!("POST /te HTTP/1.1\r\n{host}")), "{text}");
        assert!(text.ends_with("\r\n\r\n0\r\n\r\n"), "{text}");
        assert_eq!(text.contains("Content-Length: 5\r\n"), both, "{text}");
        assert!(text.contains(&format!("{name}: chunked\r\n")), "{text}");
    }
}

#[test]
fn format_changes_the_table_it_is_given() {
    let show = "return tostring(h.Host) .. ' ' .. tostring(h['Content-Length'])";
    let check = |before: &str, expected: &str| {
        assert_eq!(returned(&format!("{before} {show}"), |_| ()), expected, "{before}");
    };
    check("local h = {} wrk.format(nil, nil, h)", "example.test:8080 nil");
    check("local h = {} wrk.format(nil, nil, h, 'abc')", "example.test:8080 3");
    // A user's own length is removed if there is no body.
    check("local h = { ['Content-Length'] = 9 } wrk.format(nil, nil, h)", "example.test:8080 nil");
    check("local h = wrk.headers wrk.format(nil, nil, nil, 'abc')", "example.test:8080 3");
}

#[test]
fn format_with_many_fields_and_many_times() {
    let script = "function request()
                    local headers = {}
                    for n = 1, 200 do headers['H' .. n] = n end
                    local text = ''
                    for round = 1, 200 do text = wrk.format('GET', '/' .. round, headers) end
                    local count = select(2, text:gsub('\\r\\n', ''))
                    return count .. ' ' .. text:match('^GET /200 HTTP/1.1\\r\\nHost: (%S+)')
                      .. ' ' .. text:match('H77: (%d+)')
                  end";
    assert_eq!(request_of(script), "203 example.test:8080 77");
}

#[test]
fn format_without_any_host() {
    let body = "wrk.headers.Host = nil return wrk.format('GET', '/', {})";
    assert_eq!(returned(body, |_| ()), "GET / HTTP/1.1\r\n\r\n");
}

#[test]
fn time_is_wall_clock_microseconds() {
    let reported: f64 =
        returned("return string.format('%.0f', wrk.time_us())", |_| ()).parse().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as f64;
    // Even if the clock was set in between, the two are within a day of each other.
    assert!((now - reported).abs() < 86_400e6, "{reported}");
    check("type(wrk.time_us())", "number");
}

#[test]
fn lookup_and_connect() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    check("#wrk.lookup('127.0.0.1', '80')", "1");
    check("wrk.lookup('127.0.0.1', 'http')[1]", "127.0.0.1:80");
    check("wrk.lookup('::1', 8080)[1]", "::1:8080");
    check(&format!("wrk.connect(wrk.lookup('127.0.0.1', {port})[1])"), "true");
    drop(listener);
    check(&format!("wrk.connect(wrk.lookup('127.0.0.1', {port})[1])"), "false");
    let refused = "select(2, pcall(wrk.connect, 'x'))";
    check(
        &format!("{refused}:match('wrk.connect takes.*')"),
        "wrk.connect takes an address object, not a string",
    );
}

#[test]
fn a_failed_lookup_is_an_error_of_the_script() {
    let script = "function init()\nlocal found = wrk.lookup('127.0.0.1', 'no-such-service') end";
    let error = worker_with(script, |_| ()).err().unwrap();
    assert_eq!(error.callback, "init");
    let expected = "script.lua:2: unable to resolve 127.0.0.1:no-such-service ";
    assert!(error.message.contains(expected), "{error}");
}

fn resolved(script: &str, host: &str, port: &str) -> Result<Vec<SocketAddr>, String> {
    let mut script = Script::load(script, |options| {
        options.host = host.to_owned();
        options.port = Some(port.to_owned());
    })
    .unwrap();
    script.main.resolve().map_err(|error| error.message)
}

#[test]
fn resolve_keeps_who_accepts_or_all() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let port = address.port().to_string();
    assert_eq!(resolved("", "127.0.0.1", &port), Ok(vec![address]));
    drop(listener);
    assert_eq!(resolved("", "127.0.0.1", &port), Ok(vec![address]));
    let error = resolved("", "127.0.0.1", "no-such-service").unwrap_err();
    assert!(error.starts_with("unable to resolve 127.0.0.1:no-such-service "), "{error}");
}

#[test]
fn resolve_may_be_replaced() {
    let script = "function wrk.resolve(host, service)
                    local six, four = wrk.lookup('::1', service), wrk.lookup('127.0.0.2', service)
                    wrk.addrs = { six[1], four[1] }
                  end";
    let expected = vec!["[::1]:81".parse().unwrap(), "127.0.0.2:81".parse().unwrap()];
    assert_eq!(resolved(script, "unused.test", "81"), Ok(expected));
    let error = resolved("function wrk.resolve() wrk.addrs = {} end", "127.0.0.1", "81");
    assert_eq!(error.unwrap_err(), "unable to connect to 127.0.0.1:81");
    let error = resolved("function wrk.resolve() wrk.addrs = { 5 } end", "127.0.0.1", "81");
    assert_eq!(error.unwrap_err(), "wrk.addrs holds a number, not only address objects");
}

/// Scripts for old versions of wrk do so: `wrk.init` was the default of `init`.
#[test]
fn init_may_call_the_init_of_wrk() {
    let script = "local calls = 0
                  function init(args)
                    calls = calls + 1
                    wrk.init(args)
                    static = wrk.request()
                    wrk.path = '/later'
                  end
                  function request() return calls .. static .. wrk.request() end";
    let sent = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: example.test:8080\r\n\r\n");
    assert_eq!(request_of(script), format!("1{}{}", sent("/a?b=c"), sent("/later")));
}

#[test]
fn setup_and_init_may_be_replaced() {
    let script = "function wrk.setup(thread) thread.addr = wrk.addrs[2] thread:set('x', 'set') end
                  function setup() error('never called') end
                  local init = wrk.init
                  function wrk.init(args) init(args) x = x .. ' ' .. args[0] end
                  function request() return x end";
    let mut worker = worker_of(script);
    assert_eq!(worker.address(), Some("[::1]:80".parse().unwrap()));
    assert_eq!(worker.request(None).unwrap(), format!("set {URL}").as_bytes());
}
