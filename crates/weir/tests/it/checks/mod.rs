//! Checks that hold for any bytes as weir's input: shared by the fuzz targets and by the replay of
//! their corpora. They use public interfaces alone.

mod certificate;
mod document;
mod expectations;
mod import;
mod schema;
mod script;
mod tls;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

pub(crate) use certificate::certificate;
pub(crate) use document::{BASE, document};
pub(crate) use expectations::expectations;
pub(crate) use import::scenario_import;
pub(crate) use schema::schema;
pub(crate) use script::script_values;
pub(crate) use tls::tls_records;

/// Checks a command line, one word per line, the program's name first: its result is a plan that
/// can be carried out, or an error message.
pub(crate) fn command_line(input: &[u8]) {
    let line = input.split(|&byte| byte == b'\n').map(|word| OsStr::from_bytes(word).to_owned());
    let words: Vec<OsString> = line.filter(|word| !word.as_bytes().contains(&0)).collect();
    match weir::dry_run(&words) {
        Err(error) => assert!(!format!("{error:#}").is_empty()),
        Ok(None) => {}
        Ok(Some(plan)) => {
            assert!((1..=plan.load.connections.count()).contains(&plan.threads), "{plan:?}");
            assert!((1..=128).contains(&plan.load.pipeline), "{plan:?}");
            assert!(plan.load.duration_ns.is_some() || plan.load.requests.is_some(), "{plan:?}");
            assert!(plan.load.timeout_ns > 0 && plan.request.wire_bytes > 0, "{plan:?}");
            let json = serde_json::to_vec(&plan).expect("a plan is JSON");
            let read: weir_result::Plan = serde_json::from_slice(&json).expect("what was written");
            assert_eq!(read, plan);
        }
    }
}
