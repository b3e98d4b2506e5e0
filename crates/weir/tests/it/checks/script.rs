//! Values of any kind wherever a script can pass one. A fixed script makes them from the input, so
//! that no input can make it do anything else.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use weir_script::{About, Errors, Main, Mode, Options, ScriptError, Statistics, Summary};

/// Memory limit of the script. Some of the values are larger.
const MEMORY_MAX_BYTES: usize = 4 << 20;

/// Checks one input. Its first byte sets the share of the rest that becomes the script's values;
/// the remainder is a response for it.
pub(crate) fn script_values(input: &[u8]) {
    let Some((&share, rest)) = input.split_first() else { return };
    let (values, answer) = rest.split_at(rest.len() * usize::from(share) / 255);
    let mut main = match Main::load(options(values)) {
        Ok(main) => main,
        Err(error) => return expect_sentence(&error),
    };
    let result = run(&mut main, answer);
    result.unwrap_or_else(|error| expect_sentence(&error));
}

fn run(main: &mut Main, answer: &[u8]) -> Result<(), ScriptError> {
    main.set_addresses(&["127.0.0.1:80".parse().expect("an address")])?;
    main.add_worker()?;
    main.add_worker()?;
    let mut workers = main.take_workers();
    let worker = &mut workers[0];
    let calls = worker.calls();
    for turn in 0..3 {
        if calls.request {
            // After any result, the next calls must find the state in order.
            worker.request(Some(turn)).map_or_else(|error| expect_sentence(&error), |_| ());
        }
        if calls.delay {
            worker.delay(None).map_or_else(|error| expect_sentence(&error), |_| ());
        }
        if calls.response.is_some() {
            let status = answer.first().map_or(200, |&byte| u16::from(byte) * 4);
            let lines = answer.split(|&byte| byte == b'\n');
            let fields = lines.map(|line| line.split_at(line.len() / 2));
            let about = (turn > 0).then_some(About { connection: turn, request: answer });
            let result = worker.response(status, fields, answer, about);
            result.unwrap_or_else(|error| expect_sentence(&error));
        }
        worker.opened(turn)?;
    }
    main.return_workers(workers);
    main.teardown()?;
    let values = answer.iter().zip(1..).map(|(&byte, nth)| (u64::from(byte) << (nth % 50), nth));
    let latency = Statistics { values: distinct(values), mean: 1.5, stdev: f64::NAN };
    let errors = Errors { connect: 1, read: 2, write: 3, status: 4, timeout: u64::MAX };
    let summary = Summary { duration_us: 1, requests: u64::MAX, bytes: 3, errors };
    if main.has_done()? {
        main.done(&summary, &latency, &Statistics::default())?;
    }
    Ok(())
}

/// Ascending values with their counts, as in a run.
fn distinct(values: impl Iterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut values: Vec<_> = values.collect();
    values.sort_unstable();
    values.dedup_by_key(|value| value.0);
    values
}

fn expect_sentence(error: &ScriptError) {
    assert!(!error.to_string().is_empty());
}

/// The input reaches the script as the path of the URL.
fn options(values: &[u8]) -> Options {
    static FILE: OnceLock<PathBuf> = OnceLock::new();
    let file = FILE.get_or_init(|| {
        let name = format!("weir-values-{}.lua", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::write(&path, include_str!("values.lua")).expect("a directory for such files");
        path
    });
    Options {
        file: file.clone(),
        url: "http://localhost/".to_owned(),
        scheme: "http".to_owned(),
        host: "localhost".to_owned(),
        port: None,
        is_ipv4: None,
        path: values.iter().map(|byte| format!("{byte:02x}")).collect(),
        headers: vec![("accept".to_owned(), "*/*".to_owned())],
        args: vec!["a".to_owned()],
        mode: if values.len().is_multiple_of(2) { Mode::ClosedLoop } else { Mode::ConstantRate },
        sends_both_lengths: false,
        memory_limit_bytes: MEMORY_MAX_BYTES,
        source: None,
        calling: Arc::default(),
    }
}
