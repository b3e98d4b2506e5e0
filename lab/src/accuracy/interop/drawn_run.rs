//! One run as it is drawn: a server, and a load on it.

use std::ffi::OsString;
use std::fs;

use anyhow::{Context, Result};
use weir_result::Document;

use super::server::ForeignServer;
use crate::rig::Fixture;

/// A run before its start.
pub(super) struct DrawnRun {
    pub(super) server: ForeignServer,
    /// Flags of weir, without the body.
    pub(super) load: String,
    pub(super) scheme: &'static str,
    /// Path of the URL.
    pub(super) path: &'static str,
    pub(super) body: DrawnBody,
    /// Messages of each request.
    pub(super) sends: u64,
}

/// Bodies of the requests.
pub(super) enum DrawnBody {
    None,
    /// The same in each, but for its fields.
    Text(String),
    /// A file with one on each line.
    Lines(String),
}

/// Runs a command with its first two words appended: flags are split at blanks, which bodies have.
const BODY_LAST: &str = r#"flag="$1" value="$2"; shift 2; exec "$@" "$flag" "$value""#;

impl DrawnRun {
    /// Runs the load on the server at this URL.
    pub(super) fn run(&self, fixture: &Fixture, url: &str) -> Result<Document> {
        let url = url.replace("http", self.scheme) + self.path;
        let body = self.body.flags(fixture)?;
        let mut words: Vec<OsString> = Vec::new();
        if !body.is_empty() {
            words.extend(["sh", "-c", BODY_LAST, "sh"].map(OsString::from));
            words.extend(body);
        }
        let flags = format!("{} --witness off", self.load);
        fixture.start_weir_by(words, &flags, &url)?.finish()
    }
}

impl DrawnBody {
    /// Returns the flag of weir and its value, none without a body.
    fn flags(&self, fixture: &Fixture) -> Result<Vec<OsString>> {
        Ok(match self {
            DrawnBody::None => vec![],
            DrawnBody::Text(text) => vec!["--body".into(), text.into()],
            DrawnBody::Lines(lines) => {
                let path = fixture.directory.join("interop-bodies");
                fs::write(&path, lines).context("failed to write bodies")?;
                vec!["--body-lines".into(), path.into()]
            }
        })
    }
}
