//! `request`, `delay` and `response`: their arguments and results.

use weir_script::{About, Calls, Wants, WorkerState};

use crate::support::{Script, request, request_of, worker_of};

fn respond(worker: &mut WorkerState, status: u16, fields: &[(&str, &str)], body: &str) {
    let about = About { connection: 6, request: b"GET /6" };
    let fields = fields.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    worker.response(status, fields, body.as_bytes(), Some(about)).unwrap();
}

#[test]
fn without_functions_there_is_one_request() {
    let worker = worker_of("");
    assert_eq!(
        String::from_utf8_lossy(worker.static_request()),
        "GET /a?b=c HTTP/1.1\r\nHost: example.test:8080\r\n\r\n"
    );
    assert_eq!(worker.calls(), Calls::default());
}

#[test]
fn requests_are_requested_one_by_one() {
    let mut worker = worker_of(
        "local n = 0
         function request()
           n = n + 1
           return wrk.format(nil, '/' .. n)
         end",
    );
    assert_eq!(worker.calls(), Calls { request: true, ..Calls::default() });
    for n in 1..=3 {
        let expected = format!("GET /{n} HTTP/1.1\r\nHost: example.test:8080\r\n\r\n");
        assert_eq!(request(&mut worker), expected);
    }
}

#[test]
fn callbacks_may_be_assigned_during_init() {
    let mut worker = worker_of(
        "function init()
           function request() return 'GET' end
           function delay() return 5 end
           function response() end
         end",
    );
    let wants = Wants { fields: false, body: false };
    let expected =
        Calls { request: true, delay: true, response: Some(wants), takes_connections: false };
    assert_eq!(worker.calls(), expected);
    assert_eq!(request(&mut worker), "GET");
}

#[test]
fn each_worker_has_callbacks_of_its_own() {
    let script = "function init(args)
                    if wrk.thread:get('id') == 2 then request = function() return 'two' end end
                  end
                  local id = 0
                  function setup(thread) id = id + 1 thread:set('id', id) end";
    let mut script = Script::with_workers(script, 2);
    let mut workers = script.main.take_workers();
    assert!(!workers[0].calls().request);
    assert!(workers[1].calls().request);
    assert_eq!(request(&mut workers[1]), "two");
}

#[test]
fn no_function_of_lua_is_a_callback() {
    let worker = worker_of("request, delay, response = 1, {}, 'x'");
    assert_eq!(worker.calls(), Calls::default());
}

#[test]
fn calling_what_is_not_there_is_an_error() {
    let mut worker = worker_of("");
    assert!(worker.request(Some(0)).is_err());
    assert!(worker.delay(Some(0)).is_err());
    assert!(worker.response(200, std::iter::empty(), b"", None).is_err());
}

#[test]
fn a_request_may_be_any_bytes_and_numbers_are_text() {
    assert_eq!(request_of("function request() return 'a\\0b' end"), "a\0b");
    assert_eq!(request_of("function request() return '' end"), "");
    assert_eq!(request_of("function request() return 12.5 end"), "12.5");
}

#[test]
fn functions_of_the_library_are_callbacks_too() {
    let mut worker = worker_of("request, delay, response = os.tmpname, os.clock, math.max");
    let wants = Wants { fields: true, body: true };
    assert_eq!(worker.calls().response, Some(wants));
    assert!(!worker.calls().takes_connections);
    assert!(!request(&mut worker).is_empty());
    worker.delay(Some(0)).unwrap();
}

#[test]
fn delays_are_whole_milliseconds() {
    fn check(value: &str, expected: u64) {
        let mut worker = worker_of(&format!("function delay() return {value} end"));
        assert!(worker.calls().delay);
        assert_eq!(worker.delay(Some(0)), Ok(expected), "{value}");
    }
    check("10", 10);
    check("10.9", 10);
    check("'20'", 20);
    check("0", 0);
    check("-1", 0);
    check("0/0", 0);
    check("1/0", u64::MAX);
    check("nil", 0);
    check("{}", 0);
    check("", 0);
}

#[test]
fn responses_are_reported_as_far_as_they_are_declared() {
    fn check(parameters: &str, wants: (bool, bool), takes_connections: bool) {
        let worker = worker_of(&format!("function response({parameters}) end"));
        let wants = Wants { fields: wants.0, body: wants.1 };
        let expected = Calls { response: Some(wants), takes_connections, ..Calls::default() };
        assert_eq!(worker.calls(), expected, "{parameters}");
    }
    check("", (false, false), false);
    check("status", (false, false), false);
    check("status, headers", (true, false), false);
    check("status, headers, body", (true, true), false);
    check("...", (true, true), false);
    check("status, ...", (true, true), false);
    check("status, headers, body, connection", (true, true), true);
    check("status, headers, body, connection, request", (true, true), true);
}

#[test]
fn responses_are_reported() {
    let mut worker = worker_of(
        "local said = {}
         function response(status, headers, body)
           local names = {}
           for name, value in pairs(headers) do names[#names + 1] = name .. '=' .. value end
           table.sort(names)
           said[#said + 1] = status .. ' ' .. table.concat(names, ' ') .. ' ' .. body
         end
         function request() local all = table.concat(said, '|') said = {} return all end",
    );
    // Names are given as received, and the last of one name wins.
    respond(&mut worker, 200, &[("X-A", "1"), ("x-a", "2"), ("X-A", "3")], "body");
    respond(&mut worker, 404, &[("X-B", "1"), ("X-A", "3")], "\0");
    // Fields of the last response must not appear in this one.
    respond(&mut worker, 500, &[], "");
    respond(&mut worker, 200, &[("X-B", "1")], "");
    respond(&mut worker, 200, &[("X-B", "2"), ("", "")], "");
    assert_eq!(
        request(&mut worker),
        "200 X-A=3 x-a=2 body|404 X-A=3 X-B=1 \u{0}|500  |200 X-B=1 |200 = X-B=2 "
    );
}

#[test]
fn header_tables_belong_to_the_script() {
    let mut worker = worker_of(
        "local kept = {}
         function response(status, headers)
           headers['X-Mine'] = tostring(status)
           headers.A = nil
           kept[#kept + 1] = headers
         end
         function request()
           local said = ''
           for _, headers in ipairs(kept) do
             said = said .. headers['X-Mine'] .. tostring(headers.A) .. headers.B .. ' '
           end
           return said
         end",
    );
    for status in [200, 201, 202] {
        respond(&mut worker, status, &[("A", "1"), ("B", "2")], "");
    }
    assert_eq!(request(&mut worker), "200nil2 201nil2 202nil2 ");
}

#[test]
fn fields_may_change_in_every_way() {
    let mut worker = worker_of(
        "local last
         function response(status, headers) last = headers end
         function request()
           local names = {}
           for name, value in pairs(last) do names[#names + 1] = name .. '=' .. value end
           table.sort(names)
           return table.concat(names, ' ')
         end",
    );
    let mut check = |fields: &[(&str, &str)], expected: &str| {
        // Three times, since repeated fields are cached.
        for _ in 0..3 {
            respond(&mut worker, 200, fields, "");
            assert_eq!(request(&mut worker), expected);
        }
    };
    check(&[("A", "1"), ("B", "1"), ("C", "1")], "A=1 B=1 C=1");
    check(&[("A", "1"), ("B", "2"), ("C", "1")], "A=1 B=2 C=1");
    check(&[("A", "1"), ("B", "3"), ("C", "2")], "A=1 B=3 C=2");
    check(&[("C", "1"), ("B", "1"), ("A", "1")], "A=1 B=1 C=1");
    check(&[("A", "1")], "A=1");
    check(&[], "");
    check(&[("A", "1"), ("B", "1"), ("C", "1"), ("D", "1")], "A=1 B=1 C=1 D=1");
    check(&[("A", "1"), ("A", "2"), ("A", "1")], "A=1");
    check(&[("A", "]]\"'\\\n\r%q"), ("end", "\u{ff}")], "A=]]\"'\\\n\r%q end=\u{ff}");
    let many: Vec<(String, String)> =
        (0..300).map(|n| (format!("N{n:03}"), n.to_string())).collect();
    let pairs: Vec<(&str, &str)> = many.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
    let expected: Vec<String> =
        many.iter().map(|(name, value)| format!("{name}={value}")).collect();
    check(&pairs, &expected.join(" "));
    check(&[("A", "1")], "A=1");
}

#[test]
fn functions_with_dots_get_what_wrk_gives() {
    let mut worker = worker_of(
        "local said
         function response(...) said = select('#', ...) end
         function request(...) return said .. ' ' .. select('#', ...) end
         function delay(...) return select('#', ...) end",
    );
    respond(&mut worker, 200, &[("A", "1")], "body");
    assert_eq!(request(&mut worker), "3 0");
    assert_eq!(worker.delay(Some(0)), Ok(0));
}

#[test]
fn connections_are_tables_that_stay() {
    let mut worker = worker_of(
        "local said = ''
         function response(status, headers, body, connection, request)
           connection.responses = (connection.responses or 0) + 1
           said = connection.id .. request
         end
         function request(connection)
           return connection.id .. ' ' .. connection.thread .. ' ' .. connection.opened
             .. ' ' .. tostring(connection.responses) .. ' ' .. said
         end
         function delay(connection) return connection.id end",
    );
    assert!(worker.calls().takes_connections);
    assert_eq!(worker.request(Some(6)).unwrap(), b"7 1 0 nil ");
    worker.opened(6).unwrap();
    worker.opened(6).unwrap();
    worker.opened(9).unwrap();
    respond(&mut worker, 200, &[], "");
    respond(&mut worker, 200, &[], "");
    assert_eq!(worker.request(Some(6)).unwrap(), b"7 1 2 2 7GET /6");
    assert_eq!(worker.request(Some(9)).unwrap(), b"10 1 1 nil 7GET /6");
    assert_eq!(worker.delay(Some(4)), Ok(5));
}

#[test]
fn who_declares_no_connection_gets_none() {
    let mut worker = worker_of("function request() return 'GET' end");
    assert!(!worker.calls().takes_connections);
    worker.opened(0).unwrap();
    assert_eq!(request(&mut worker), "GET");
    let mut worker = worker_of("function request(connection) return type(connection) end");
    assert_eq!(worker.request(None).unwrap(), b"nil");
}
