//! Errors in each callback: a message with file and line, and the program continues.

use weir_script::{ScriptError, Statistics, WorkerState};

use crate::support::{Script, summary, worker_of, worker_with};

/// Checks the callback and the first line of the message: file name without directory, line, text.
fn check(error: &ScriptError, callback: &str, expected: &str) {
    assert_eq!(error.callback, callback, "{error}");
    let first = error.message.lines().next().unwrap();
    let shown = first.find("script.lua").map_or(first, |at| &first[at..]);
    assert_eq!(shown, expected, "{error}");
    let lines: Vec<&str> = error.message.lines().collect();
    assert!(!error.message.contains("\twrk:2"), "our own callers are shown: {error}");
    let headings = lines.iter().filter(|line| **line == "stack traceback:").count();
    assert!(headings <= 1, "{error}");
}

fn load_error(script: &str) -> ScriptError {
    Script::load(script, |_| ()).err().unwrap()
}

fn worker_error(script: &str) -> ScriptError {
    worker_with(script, |_| ()).err().unwrap()
}

fn respond(worker: &mut WorkerState) -> Result<(), ScriptError> {
    let fields = [(&b"A"[..], &b"1"[..])];
    worker.response(200, fields.into_iter(), b"body", None)
}

#[test]
fn each_callback_may_fail() {
    check(&load_error("\nerror('boom')"), "load", "script.lua:2: boom");
    check(&load_error("function ("), "load", "script.lua:1: '<name>' expected near '('");
    check(&worker_error("\nfunction setup() error('boom') end"), "setup", "script.lua:2: boom");
    check(&worker_error("\nfunction init() error('boom') end"), "init", "script.lua:2: boom");
    let mut worker = worker_of(
        "function request() error('r') end
         function delay() error('d') end
         function response(status, headers, body) error('s') end",
    );
    for _ in 0..100 {
        check(&worker.request(Some(0)).unwrap_err(), "request", "script.lua:1: r");
        check(&worker.delay(Some(0)).unwrap_err(), "delay", "script.lua:2: d");
        check(&respond(&mut worker).unwrap_err(), "response", "script.lua:3: s");
    }
    let mut script = Script::with_workers("function teardown() error('t') end", 2);
    check(&script.main.teardown().unwrap_err(), "teardown", "script.lua:1: t");
    let mut script = Script::load("function done() error('d') end", |_| ()).unwrap();
    let nothing = Statistics::default();
    let error = script.main.done(&summary(), &nothing, &nothing).unwrap_err();
    check(&error, "done", "script.lua:1: d");
    let mut script = Script::load("function wrk.resolve() error('w') end", |_| ()).unwrap();
    check(&script.main.resolve().unwrap_err(), "resolve", "script.lua:1: w");
}

#[test]
fn the_calls_that_led_to_an_error_are_shown_once() {
    let mut worker = worker_of(
        "local function inner() local nothing = nil; return nothing.field end
         local function outer() local value = inner() return value end
         function request() local value = outer() return value end",
    );
    let error = worker.request(Some(0)).unwrap_err();
    check(&error, "request", "script.lua:1: attempt to index local 'nothing' (a nil value)");
    let lines: Vec<&str> = error.message.lines().collect();
    assert_eq!(lines.len(), 5, "{error}");
    assert_eq!(lines[1], "stack traceback:");
    assert!(lines[2].contains("script.lua:1: in function 'inner'"), "{error}");
    assert!(lines[3].contains("script.lua:2: in function 'outer'"), "{error}");
    assert!(lines[4].contains("script.lua:3: in function"), "{error}");
}

#[test]
fn problems_in_our_functions_name_the_scripts_line() {
    let mut worker =
        worker_of("function request()\nlocal s = wrk.format(nil, nil, 5)\nreturn s end");
    let error = worker.request(Some(0)).unwrap_err();
    check(&error, "request", "script.lua:2: attempt to index local 'headers' (a number value)");
}

#[test]
fn any_value_may_be_raised() {
    fn check_raised(value: &str, expected: &str) {
        let error = load_error(&format!("error({value})"));
        assert!(error.message.starts_with(expected), "{error}");
    }
    check_raised("{}", "table: ");
    check_raised("nil", "nil");
    check_raised("12, 0", "12");
    check_raised("setmetatable({}, { __tostring = function() return 'told' end })", "told");
    check_raised("setmetatable({}, { __tostring = function() error('no') end })", "");
}

#[test]
fn requests_must_be_strings() {
    fn check_returned(value: &str, kind: &str) {
        let mut worker = worker_of(&format!("function request() return {value} end"));
        let error = worker.request(Some(0)).unwrap_err();
        let expected = format!("script.lua:1: request() must return a string, not {kind}");
        check(&error, "request", &expected);
    }
    check_returned("nil", "nil");
    check_returned("", "nil");
    check_returned("{}", "table");
    check_returned("true", "boolean");
    check_returned("print", "function");
}

/// The idiom `stop(); return nil` ends the thread without an error.
#[test]
fn a_thread_that_has_stopped_need_not_return_a_string() {
    for (returned, bytes) in [("return nil", ""), ("", ""), ("return ''", ""), ("return 7", "7")] {
        let mut worker = worker_of(&format!("function request() wrk.thread:stop() {returned} end"));
        assert_eq!(worker.request(Some(0)).unwrap(), bytes.as_bytes(), "{returned}");
        assert!(worker.is_stopped());
    }
    let mut worker = worker_of("function request() wrk.thread:stop() return {} end");
    let expected = "script.lua:1: request() must return a string, not table";
    check(&worker.request(Some(0)).unwrap_err(), "request", expected);
}

#[test]
fn what_is_wrong_with_a_string_names_the_function_that_made_it() {
    let worker = worker_of("\nfunction request() return 'x' end");
    check(&worker.refused("no request"), "request", "script.lua:2: no request");
    check(&worker_of("").refused("no request"), "request", "no request");
    let library = worker_of("request = os.tmpname");
    check(&library.refused("no request"), "request", "no request");
}

#[test]
fn errors_of_the_library_and_endless_recursion_are_caught() {
    let mut worker = worker_of(
        "function request() local text = ('x'):rep({}) return text end
         local function deeper() return 1 + deeper() end
         function delay() return deeper() end",
    );
    let error = worker.request(Some(0)).unwrap_err();
    assert!(error.message.contains("bad argument #1 to 'rep'"), "{error}");
    assert!(worker.delay(Some(0)).unwrap_err().message.contains("stack overflow"));
    assert!(worker.delay(Some(0)).unwrap_err().message.contains("stack overflow"));
}

#[test]
fn coroutines_cannot_leave_a_callback() {
    let mut worker = worker_of("function request() coroutine.yield('GET') end");
    let error = worker.request(Some(0)).unwrap_err();
    assert!(error.message.contains("yield"), "{error}");
}

#[test]
fn a_worker_goes_on_after_an_error() {
    let mut worker = worker_of(
        "local n = 0
         function request() n = n + 1 if n % 2 == 1 then error('odd') end return 'GET ' .. n end",
    );
    for n in 1..=200 {
        let result = worker.request(Some(0)).map(<[u8]>::to_vec);
        assert_eq!(result.is_err(), n % 2 == 1);
    }
}

#[test]
fn memory_has_a_limit() {
    let limited =
        |script: &str| worker_with(script, |options| options.memory_limit_bytes = 4 << 20);
    let expected = "not enough memory: a worker's script may hold 4 MiB; is a table only growing?";
    let error = limited("local t = {} while true do t[#t + 1] = {} end").err().unwrap();
    assert_eq!((error.callback, error.message.as_str()), ("load", expected));
    let mut worker =
        limited("local t = {} function request() t[#t + 1] = {} return 'GET' end").unwrap();
    let error = (0..1_000_000).find_map(|_| worker.request(Some(0)).err()).unwrap();
    check(&error, "request", &format!("script.lua:1: {expected}"));
    let script = "local t = {} function response(s, headers, body) t[#t + 1] = headers end";
    let mut worker = limited(script).unwrap();
    let error = (0..1_000_000).find_map(|_| respond(&mut worker).err()).unwrap();
    check(&error, "response", &format!("script.lua:1: {expected}"));
}

#[test]
fn memory_that_is_garbage_is_collected_before_the_limit() {
    let script = "function response(status, headers, body) end";
    let mut worker = worker_with(script, |options| options.memory_limit_bytes = 4 << 20).unwrap();
    for n in 0..200_u32 {
        let body = vec![n as u8; 1_000_000];
        let fields = [(&b"A"[..], &b"1"[..])];
        worker.response(200, fields.into_iter(), &body, None).unwrap();
    }
    let body = vec![0; 5_000_000];
    let error = worker.response(200, std::iter::empty(), &body, None).unwrap_err();
    assert!(error.message.contains("script.lua:1: not enough memory"), "{error}");
}

#[test]
fn our_functions_stop_at_the_limit_too() {
    let check = |script: &str| {
        let limited = Script::load(script, |options| options.memory_limit_bytes = 4 << 20);
        let error = limited.and_then(|mut script| script.main.add_worker()).unwrap_err();
        assert!(error.message.starts_with("not enough memory: "), "{error}");
    };
    check("function setup(t) for n = 1, 1e9 do t:set('a' .. n, ('x'):rep(10000)) end end");
    check("function setup(t) big = {} for n = 1, 1e9 do big[n] = { tostring(t.addr) } end end");
    check("function setup(t) t:set('big', { ('x'):rep(1e6), ('y'):rep(1e6), ('x'):rep(2e6) }) end");
    check(
        "kept = ('x'):rep(1000)
         function init()
           held = {}
           for n = 1, 1e9 do held[n] = wrk.thread:get('kept') .. n end
         end",
    );
    check(
        "function init()
           held = {}
           for n = 1, 1e9 do held[n] = wrk.lookup('127.0.0.1', 80) end
         end",
    );
}

#[test]
fn scripts_may_catch_errors_of_our_functions() {
    let mut script = Script::load(
        "function setup(thread)
           local ok, problem = pcall(function() thread.nothing = 1 end)
           error(tostring(ok) .. ' ' .. problem, 0)
         end",
        |_| (),
    )
    .unwrap();
    let error = script.main.add_worker().unwrap_err();
    assert!(error.message.starts_with("false "), "{error}");
    assert!(error.message.contains("script.lua:2: cannot set 'number' on thread"), "{error}");
}

#[test]
fn a_script_that_replaces_init_must_leave_a_request() {
    let error = worker_error("function wrk.init() end");
    assert_eq!(error.message, "there is no global request(), and wrk.request() gives no string");
    let worker = worker_of("function wrk.init() wrk.request = function() return 'GET' end end");
    assert_eq!(worker.static_request(), b"GET");
    worker_of("function wrk.init() end function request() return '' end");
}

#[test]
fn a_script_that_hides_the_library_still_runs() {
    let script = "for _, name in ipairs({ 'error', 'tostring', 'type', 'next', 'xpcall' }) do
                    _G[name] = nil
                  end
                  table.concat = nil
                  debug.traceback = nil
                  function request() return wrk.format() end";
    let mut worker = worker_of(script);
    assert!(worker.request(Some(0)).unwrap().starts_with(b"GET /a?b=c"));
}
