//! The rest of a script's environment: libraries, modules, moves between threads.

use std::path::PathBuf;
use std::sync::Arc;

use weir_script::{Call, Calling, Main, ScriptError, WorkerState};

use crate::support::{Directory, Script, options, request, returned, worker_of};

fn check(expression: &str, expected: &str) {
    assert_eq!(returned(&format!("return tostring({expression})"), |_| ()), expected);
}

#[test]
fn all_libraries_are_there() {
    check("jit.status()", "true");
    check("bit.bxor(5, 1)", "4");
    check("require('ffi').sizeof('int32_t')", "4");
    check("require('string.buffer').new():put('a', 1):tostring()", "a1");
    check("type(debug.sethook)", "function");
    check("type(package.loadlib)", "function");
    check("type(os.getenv)", "function");
    check("type(io.open)", "function");
    check("type(coroutine.wrap)", "function");
    check("pcall(error)", "false");
    check("require('wrk') == wrk", "true");
    check("package.loaded.wrk == wrk", "true");
}

#[test]
fn modules_beside_the_script_are_found_first() {
    let directory = Directory::new();
    directory.write("helper.lua", "return { name = 'beside' }");
    std::fs::create_dir(directory.0.join("package")).unwrap();
    directory.write("package/init.lua", "return 'within'");
    let file = directory.write(
        "script.lua",
        "local helper = require('helper')
         function request() return helper.name .. ' ' .. require('package.init') end",
    );
    let mut main = Main::load(options(file)).unwrap();
    main.add_worker().unwrap();
    assert_eq!(request(&mut main.take_workers()[0]), "beside within");
}

/// DeathStarBench's workloads begin with these lines.
#[test]
fn socket_is_built_in_where_no_module_is_found() {
    let script = "local socket = require(\"socket\")
                  math.randomseed(socket.gettime()*1000)
                  function request() return require('socket') == socket and 'GET' end";
    assert_eq!(request(&mut worker_of(script)), "GET");
    let script = "require 'socket'
                  math.randomseed(socket.gettime()*1000)
                  function request() return 'GET' end";
    assert_eq!(request(&mut worker_of(script)), "GET", "as LuaSocket 2");
    check("math.abs(require('socket').gettime() - os.time()) < 60", "true");
    let slept = "(function() local socket, before = require('socket'), wrk.time_us()
                 socket.sleep(-1) socket.sleep('0.01') return wrk.time_us() - before >= 1e4 end)()";
    check(slept, "true");
    let says = |body: &str| returned(&format!("return select(2, pcall({body}))"), |_| ());
    let tcp = says("function() return require('socket').tcp() end");
    assert!(
        tcp.ends_with(
            "has only gettime and sleep, not tcp; install LuaSocket for LuaJIT to use it"
        ),
        "{tcp}"
    );
    assert!(says("require('socket').sleep, {}").ends_with("takes seconds, not a table"));
    assert!(says("require, 'socket.http'").starts_with("module 'socket.http' not found"));
}

#[test]
fn a_socket_module_that_loads_takes_precedence() {
    let with = |module: &str| {
        let directory = Directory::new();
        directory.write("socket.lua", module);
        let script = "local socket = require('socket')
                      local found = type(socket) .. ' ' .. tostring(socket.name)
                      function request() return found end";
        let mut main = Main::load(options(directory.write("script.lua", script)))?;
        main.add_worker()?;
        Ok::<_, ScriptError>(request(&mut main.take_workers()[0]))
    };
    assert_eq!(with("return { name = 'mine' }").unwrap(), "table mine");
    // LuaSocket of the system, whose part in C does not load.
    let built_in = with("local core = require('socket.core') return core");
    assert!(built_in.unwrap_err().message.contains("has only gettime and sleep, not name"));
    for (module, says) in
        [("error('boom')", "boom"), ("function (", "error loading module 'socket'")]
    {
        let error = with(module).unwrap_err();
        assert!(error.message.contains(says), "{error}");
    }
}

#[test]
fn a_first_line_for_the_shell_is_skipped() {
    assert_eq!(
        request(&mut worker_of("#!/usr/bin/env lua\nfunction request() return 'GET' end")),
        "GET"
    );
}

/// The content of a pipe runs in every state.
#[test]
fn a_script_may_come_without_a_file() {
    let load = |source: &str| {
        let mut options = options(PathBuf::from("/dev/stdin"));
        options.source = Some(source.as_bytes().into());
        let mut main = Main::load(options)?;
        main.add_worker()?;
        Ok(main.take_workers().remove(0))
    };
    let script = "#!/usr/bin/env lua\nfunction request() return 'GET' end";
    assert_eq!(load(script).map(|mut worker| request(&mut worker)), Ok("GET".to_owned()));
    for (script, says) in [
        ("\nerror('boom')", "/dev/stdin:2: boom"),
        ("\n\nfunction (", "/dev/stdin:3: '<name>' expected near '('"),
    ] {
        let error: ScriptError = load(script).map(|_| ()).unwrap_err();
        assert!(error.message.starts_with(says), "{error}");
    }
}

#[test]
fn the_call_under_way_can_be_seen() {
    let directory = Directory::new();
    let calling = Arc::new(Calling::default());
    let mut options = options(directory.write("script.lua", "function setup() end"));
    options.calling = Arc::clone(&calling);
    let loads = |count| Call { number: count, callback: None };
    let mut main = Main::load(options).unwrap();
    assert_eq!(calling.now(), loads(1));
    main.add_worker().unwrap();
    assert!(calling.now().number >= 4, "load, setup and init of the worker");
    assert_eq!(calling.now().callback, None);
}

#[test]
fn a_missing_file_is_named() {
    let error = Main::load(options(PathBuf::from("no/such/script.lua"))).err().unwrap();
    assert_eq!(error.callback, "load");
    assert!(error.message.contains("no/such/script.lua"), "{error}");
    assert!(error.message.contains("No such file"), "{error}");
}

#[test]
fn random_numbers_differ_between_workers_and_repeat_between_runs() {
    let script = "function request() return tostring(math.random(1e9)) end";
    let draw = || -> Vec<String> {
        Script::with_workers(script, 3).main.take_workers().iter_mut().map(request).collect()
    };
    let first = draw();
    assert_ne!(first[0], first[1]);
    assert_ne!(first[1], first[2]);
    assert_eq!(first, draw());
}

#[test]
fn a_scripts_own_seed_rules() {
    let script = "math.randomseed(7) function request() return tostring(math.random(1e9)) end";
    let mut script = Script::with_workers(script, 2);
    let mut workers = script.main.take_workers();
    let first = request(&mut workers[0]);
    assert_eq!(first, request(&mut workers[1]));
}

#[test]
fn workers_move_between_threads_and_back() {
    let script = "local n = 0
                  total = 0
                  function request(connection)
                    n = n + 1
                    connection.n = (connection.n or 0) + 1
                    wrk.headers['X-Number'] = n
                    return wrk.format('POST', '/' .. n, nil, ('x'):rep(n % 100))
                  end
                  function response(status, headers, body, connection)
                    total = total + tonumber(headers['X-Number'])
                  end
                  local threads = {}
                  function setup(thread) threads[#threads + 1] = thread end
                  function done()
                    local sum = 0
                    for _, thread in ipairs(threads) do sum = sum + thread:get('total') end
                    error('sum ' .. sum, 0)
                  end";
    let mut script = Script::with_workers(script, 4);
    for _ in 0..5 {
        let running = script.main.take_workers().into_iter().map(|mut worker| {
            std::thread::spawn(move || {
                for n in 0..500_u32 {
                    serve(&mut worker, n);
                }
                worker
            })
        });
        let running: Vec<_> = running.collect();
        script.main.return_workers(running.into_iter().map(|run| run.join().unwrap()).collect());
    }
    assert_eq!(script.done_error(), format!("sum {}", 4 * 5 * (0..500).sum::<u32>()));
}

fn serve(worker: &mut WorkerState, n: u32) {
    assert!(worker.request(Some(n % 7)).unwrap().starts_with(b"POST /"));
    let number = n.to_string();
    let fields = [(&b"X-Number"[..], number.as_bytes())];
    worker.response(200, fields.into_iter(), b"", None).unwrap();
}

#[test]
fn workers_may_end_in_another_thread() {
    let mut script = Script::with_workers("function request() return 'GET' end", 4);
    let workers = script.main.take_workers();
    let ends = workers.into_iter().map(|worker| std::thread::spawn(move || drop(worker)));
    ends.collect::<Vec<_>>().into_iter().for_each(|end| end.join().unwrap());
}

#[test]
fn memory_is_counted() {
    let mut worker = worker_of(
        "local held = {} function request() held[#held + 1] = ('x'):rep(1e6 + #held) return '' end",
    );
    let before = worker.memory_bytes();
    for _ in 0..4 {
        worker.request(Some(0)).unwrap();
    }
    assert!(worker.memory_bytes() >= before + 4_000_000);
}
