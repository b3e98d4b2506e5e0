//! Cost of one call into a script, in nanoseconds: the minimum over many short batches, which
//! excludes interruptions by other processes. Build it with `--release`: other profiles enable
//! LuaJIT's assertions.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use weir_script::{About, Main, Mode, Options, ScriptError, WorkerState};

const BATCHES: usize = 200;
const CALLS_PER_BATCH: u32 = 5_000;

const FIELDS: [(&str, &str); 8] = [
    ("Server", "nginx/1.28.0"),
    ("Date", "Sat, 01 Nov 2025 12:00:00 GMT"),
    ("Content-Type", "application/json; charset=utf-8"),
    ("Content-Length", "100"),
    ("Connection", "keep-alive"),
    ("ETag", "\"68f0a5c1-64\""),
    ("Cache-Control", "max-age=60, public"),
    ("Vary", "Accept-Encoding"),
];

const REQUESTS: [(&str, &str); 5] = [
    (
        "request() returns a constant of 100 bytes",
        "local fixed = 'GET / HTTP/1.1\\r\\nHost: x\\r\\nX-Filler: '
           .. ('a'):rep(59) .. '\\r\\n\\r\\n'
         function request() return fixed end",
    ),
    (
        "request() concatenates around a counter",
        "local n = 0
         function request()
           n = n + 1
           return 'GET /' .. n .. ' HTTP/1.1\\r\\nHost: example.test\\r\\n\\r\\n'
         end",
    ),
    (
        "request() with a connection's own counter",
        "function request(connection)
           connection.n = (connection.n or 0) + 1
           return 'GET /' .. connection.n .. ' HTTP/1.1\\r\\nHost: example.test\\r\\n\\r\\n'
         end",
    ),
    (
        "request() by wrk.format, counter in path and field",
        "local n = 0
         function request()
           n = n + 1
           wrk.headers['X-Counter'] = n
           return wrk.format(nil, '/' .. n)
         end",
    ),
    (
        "request() by wrk.format, POST with a body",
        "local n = 0
         local headers = { ['Content-Type'] = 'application/json', Accept = '*/*' }
         function request()
           n = n + 1
           return wrk.format('POST', '/', headers, '{\"n\": ' .. n .. '}')
         end",
    ),
];

const RESPONSES: [(&str, &str); 6] = [
    ("response()", "function response() end"),
    ("response(status)", "function response(status) end"),
    ("response(status, headers)", "function response(status, headers) end"),
    ("response(status, headers, body)", "function response(status, headers, body) end"),
    (
        "response(status, headers, body), reading one field",
        "local n = 0
         function response(status, headers, body)
           if headers['X-Id'] then n = n + #body end
         end",
    ),
    (
        "response(status, headers, body, connection, request)",
        "function response(status, headers, body, connection, request) end",
    ),
];

fn main() -> Result<(), ScriptError> {
    let file = std::env::temp_dir().join(format!("weir-script-cost-{}.lua", std::process::id()));
    for (name, script) in REQUESTS {
        let mut worker = worker(&file, script)?;
        report(
            name,
            least_ns(|_| worker.request(Some(3)).map(|bytes| assert!(!bytes.is_empty())))?,
        );
    }
    let mut delaying = worker(&file, "function delay() return 10 end")?;
    report("delay()", least_ns(|_| delaying.delay(Some(3)).map(|ms| assert_eq!(ms, 10)))?);
    for (name, script) in RESPONSES {
        let mut worker = worker(&file, script)?;
        report(name, least_ns(|call| respond(&mut worker, call, false))?);
        if script.contains("headers") {
            report(
                "  with one field that always differs",
                least_ns(|call| respond(&mut worker, call, true))?,
            );
        }
    }
    std::fs::remove_file(&file).expect("it was written above");
    Ok(())
}

fn worker(file: &Path, script: &str) -> Result<WorkerState, ScriptError> {
    std::fs::write(file, script).expect("the temporary directory can be written");
    let mut main = Main::load(options(file.to_owned()))?;
    main.set_addresses(&[])?;
    main.add_worker()?;
    Ok(main.take_workers().remove(0))
}

fn options(file: PathBuf) -> Options {
    Options {
        file,
        url: "http://example.test/".to_owned(),
        scheme: "http".to_owned(),
        host: "example.test".to_owned(),
        port: None,
        is_ipv4: None,
        path: "/".to_owned(),
        headers: Vec::new(),
        args: Vec::new(),
        sends_both_lengths: false,
        mode: Mode::ClosedLoop,
        memory_limit_bytes: 256 << 20,
        source: None,
        calling: Arc::default(),
    }
}

fn respond(worker: &mut WorkerState, call: u32, is_varied: bool) -> Result<(), ScriptError> {
    let id = call.to_be_bytes();
    let varied = is_varied.then_some(("X-Request-Id".as_bytes(), &id[..]));
    let fields = FIELDS.iter().map(|(name, value)| (name.as_bytes(), value.as_bytes()));
    let about = About { connection: 3, request: b"GET / HTTP/1.1\r\nHost: example.test\r\n\r\n" };
    worker.response(200, fields.chain(varied), &[b'x'; 100], Some(about))
}

/// Returns the time of one call in the fastest batch, in nanoseconds.
fn least_ns(mut call: impl FnMut(u32) -> Result<(), ScriptError>) -> Result<f64, ScriptError> {
    let mut least = f64::INFINITY;
    for _ in 0..BATCHES {
        let begun = Instant::now();
        for number in 0..CALLS_PER_BATCH {
            call(number)?;
        }
        least = least.min(begun.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS_PER_BATCH));
    }
    Ok(least)
}

fn report(name: &str, ns: f64) {
    println!("{ns:7.1} ns  {name}");
}
