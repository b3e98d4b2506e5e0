//! Thread and address objects, transfers between states, and the order of events.

use crate::support::{Script, request, request_of, worker_of};

/// Checks the value that `done` shows after the expression's value went through a worker and back.
fn check_transfer(expression: &str, show: &str, expected: &str) {
    let script = format!(
        "local thread
         function setup(t) thread = t thread:set('value', {expression}) end
         function done() local value = thread:get('value') error(tostring({show}), 0) end"
    );
    let mut script = Script::with_workers(&script, 1);
    assert_eq!(script.done_error(), expected, "{expression}");
}

/// Checks the error that setting or getting such a value raises.
fn check_refused(value: &str, expected: &str) {
    let script = format!(
        "{value}
         function setup(t)
           local _, problem = pcall(t.set, t, 'value', value)
           local _, other = pcall(t.get, t, 'value')
           error(problem .. '|' .. tostring(other), 0)
         end"
    );
    let mut script = Script::load(&script, |_| ()).unwrap();
    let message = script.main.add_worker().unwrap_err().message;
    assert!(message.starts_with(&format!("{expected}|{expected}")), "{message}");
}

#[test]
fn values_are_copied_deep() {
    check_transfer("nil", "value", "nil");
    check_transfer("true", "value", "true");
    check_transfer("false", "value", "false");
    check_transfer("1.5", "value", "1.5");
    check_transfer("2 ^ 53", "string.format('%d', value)", "9007199254740992");
    check_transfer("-0.25", "value", "-0.25");
    check_transfer("'text'", "value", "text");
    check_transfer("'a\\0b'", "#value .. value:byte(3)", "398");
    check_transfer("{ 1, 2, 3 }", "#value .. value[3]", "33");
    check_transfer("{ a = { b = { c = { 'deep' } } } }", "value.a.b.c[1]", "deep");
    check_transfer("{ [1.5] = 'x', [true] = 'y' }", "value[1.5] .. value[true]", "xy");
    check_transfer("{ a = {}, b = {} }", "value.a ~= value.b", "true");
    check_transfer("setmetatable({ 1 }, { __index = error })", "getmetatable(value)", "nil");
}

#[test]
fn what_cannot_pass_is_refused() {
    let refused = |kind: &str| format!("cannot transfer '{kind}' to thread");
    check_refused("value = print", &refused("function"));
    check_refused("value = io.stdout", &refused("userdata"));
    check_refused("value = coroutine.create(print)", &refused("thread"));
    check_refused("value = require('ffi').new('int')", &refused("cdata"));
    check_refused("value = { a = { print } }", &refused("function"));
    check_refused("value = { [print] = 1 }", &refused("function"));
    let itself = "cannot transfer a table that contains itself to thread";
    check_refused("value = {} value.a = { value }", itself);
    let deep = "cannot transfer tables nested deeper than 100 to thread";
    check_refused("value = {} for _ = 1, 101 do value = { value } end", deep);
}

#[test]
fn the_same_table_twice_is_no_cycle() {
    check_transfer("(function() local t = { 7 } return { t, t } end)()", "value[2][1]", "7");
}

#[test]
fn a_transfer_beyond_the_memory_limit_is_refused() {
    let script = "function setup(t)
                    local _, problem = pcall(t.set, t, 'value', ('x'):rep(5e6))
                    error(problem, 0)
                  end";
    let limited = Script::load(script, |options| options.memory_limit_bytes = 8 << 20);
    let message = limited.unwrap().main.add_worker().unwrap_err().message;
    assert!(message.contains("not enough memory"), "{message}");
}

#[test]
fn fields_of_a_thread() {
    let script = "local first
                  function setup(thread)
                    first = first or thread
                    local said = {
                      thread.anything, type(thread), thread.addr, thread.addr == thread.addr,
                      first == thread, wrk.thread,
                    }
                    for i = 1, 6 do said[i] = tostring(said[i]) end
                    thread:set('said', table.concat(said, ' '))
                  end
                  function request()
                    return said .. ' ' .. type(wrk.thread) .. ' ' .. wrk.thread.x
                  end";
    let mut script = Script::with_workers(script, 2);
    let mut workers = script.main.take_workers();
    let common = "anything userdata 127.0.0.1:80 false";
    assert_eq!(request(&mut workers[0]), format!("{common} true nil userdata x"));
    assert_eq!(request(&mut workers[1]), format!("{common} false nil userdata x"));
}

#[test]
fn only_addr_can_be_set() {
    fn check(assignment: &str, expected: &str) {
        let script = format!("function setup(thread)\n{assignment} end");
        let mut script = Script::load(&script, |_| ()).unwrap();
        let message = script.main.add_worker().unwrap_err().message;
        assert!(message.contains(&format!("script.lua:2: {expected}")), "{message}");
    }
    check("thread.id = 5", "cannot set 'number' on thread");
    check("thread.id = {}", "cannot set 'table' on thread");
    check("thread.addr = '127.0.0.1:80'", "thread.addr takes an address object, not a string");
    check("thread.addr = nil", "thread.addr takes an address object, not a nil");
    check("thread.addr = thread", "thread.addr takes an address object, not a userdata");
}

#[test]
fn addresses_are_set_before_and_during_the_run() {
    let script = "function setup(thread) thread.addr = wrk.addrs[2] end
                  local others
                  function init() others = wrk.lookup('127.0.0.1', '8081') end
                  function request()
                    wrk.thread.addr = others[1]
                    return tostring(wrk.thread.addr)
                  end";
    let mut script = Script::with_workers(script, 1);
    let mut workers = script.main.take_workers();
    let worker = &mut workers[0];
    assert_eq!(worker.address(), Some("[::1]:80".parse().unwrap()));
    assert_eq!(request(worker), "127.0.0.1:8081");
    assert_eq!(worker.address(), Some("127.0.0.1:8081".parse().unwrap()));
}

#[test]
fn without_addresses_there_is_none() {
    let mut script =
        Script::load("function request() return tostring(wrk.thread.addr) end", |_| ());
    let main = &mut script.as_mut().ok().unwrap().main;
    main.set_addresses(&[]).unwrap();
    main.add_worker().unwrap();
    let mut workers = main.take_workers();
    assert_eq!(workers[0].address(), None);
    assert_eq!(request(&mut workers[0]), "nil");
}

#[test]
fn a_thread_is_stopped_by_itself_during_the_run() {
    let script = "local n = 0
                  function init() wrk.thread:stop() end
                  function setup(thread) thread:stop() end
                  function response() n = n + 1 if n == 3 then wrk.thread:stop() end end";
    let mut script = Script::with_workers(script, 1);
    let mut workers = script.main.take_workers();
    // A stop before the run has no effect.
    for n in 1..=3 {
        assert!(!workers[0].is_stopped());
        workers[0].response(200, std::iter::empty(), b"", None).unwrap();
        assert_eq!(workers[0].is_stopped(), n == 3);
    }
}

#[test]
fn a_thread_has_its_own_globals() {
    let script = "n = 5
                  function request()
                    wrk.thread:set('m', { wrk.thread:get('n') + 1 })
                    return m[1] .. tostring(wrk.thread:get('nothing'))
                  end";
    assert_eq!(request_of(script), "6nil");
}

#[test]
fn globals_with_a_strict_table_are_reached_raw() {
    let script = "setmetatable(_G, { __index = function(_, name) error('no ' .. name) end })
                  function setup(thread) thread:set('id', 7) end
                  function request() return id .. tostring(wrk.thread:get('nothing')) end";
    assert_eq!(request_of(script), "7nil");
}

#[test]
fn running_threads_cannot_be_reached() {
    let script = "local thread
                  function setup(t) thread = thread or t end
                  function done()
                    local said = {}
                    for _, reach in ipairs({
                      function() return thread:get('n') end,
                      function() thread:set('n', 1) end,
                      function() thread:stop() end,
                      function() return thread.addr end,
                      function() thread.addr = wrk.addrs[1] end,
                    }) do
                      said[#said + 1] = select(2, pcall(reach)):match('thread 1 is running')
                    end
                    error(#said, 0)
                  end";
    let mut script = Script::with_workers(script, 2);
    let workers = script.main.take_workers();
    assert_eq!(script.done_error(), "5");
    // Returned in any order, each worker keeps its number.
    script.main.return_workers(workers.into_iter().rev().collect());
    let workers = script.main.take_workers();
    assert_eq!(workers.len(), 2);
}

#[test]
fn events_have_wrks_order() {
    let script = "loads = (loads or '') .. 'load '
                  local count = 0
                  function setup(thread)
                    count = count + 1
                    thread:set('number', count)
                    thread:set('seen', thread:get('loads') .. 'setup' .. count .. ' ')
                  end
                  function init(args) seen = seen .. 'init' .. number .. ' ' end
                  function request() return seen .. tostring(count) end
                  function teardown() seen = seen .. 'teardown ' end";
    let mut script = Script::with_workers(script, 2);
    script.main.teardown().unwrap();
    let mut workers = script.main.take_workers();
    assert_eq!(request(&mut workers[0]), "load setup1 init1 teardown 0");
    assert_eq!(request(&mut workers[1]), "load setup2 init2 teardown 0");
}

#[test]
fn wrk_thread_is_absent_while_the_file_runs() {
    assert_eq!(
        request_of("local at_load = wrk.thread function request() return tostring(at_load) end"),
        "nil"
    );
    assert!(worker_of("wrk.thread = 5").memory_bytes() > 0);
}
