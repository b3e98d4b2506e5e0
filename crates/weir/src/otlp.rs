//! `--otlp`: pushes the totals of a run to a collector of OpenTelemetry while it goes.
//!
//! A thread of lower priority reads the totals and sends them, one request at a time. Totals only
//! grow, so what a slow collector misses is in the next request, and no queue is needed.

mod payload;

use std::env;
use std::fmt::Display;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use weir_machine::sys;
use weir_result::Plan;
use weir_runner::{Observer, Phase, Post, StudyProgress, TlsSpec};

use crate::live::SharedTotals;
use crate::terminal::warn;

/// Time between two requests.
const EVERY: Duration = Duration::from_secs(5);

/// Longest time that the end of the program waits for the last request.
const LAST: Duration = Duration::from_secs(2);

/// Path of metrics below the collector's address.
const PATH: &str = "/v1/metrics";

/// Variables of further headers, as the specification of the OTLP exporter names them. The first
/// one that is set counts.
const HEADERS: [&str; 2] = ["OTEL_EXPORTER_OTLP_METRICS_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS"];

/// Port of OTLP over gRPC, which has no HTTP/1.1.
const GRPC_PORT: u16 = 4317;

/// Returns the observer that pushes these totals to a collector; they are fed before it is called.
/// `is_screen_taken`: messages wait for the end of the run.
///
/// # Errors
/// When `url` is no URL of a collector, or a variable has no headers.
pub(crate) fn observer(
    url: &str,
    tls: &TlsSpec,
    is_screen_taken: bool,
    totals: SharedTotals,
) -> Result<Box<dyn Observer>> {
    let warning = Warning { is_late: is_screen_taken, given: Arc::default() };
    let mut post = collector(url, tls)?;
    let list = |name: &&str| env::var_os(name).filter(|list| !list.is_empty());
    if let Some((name, list)) = HEADERS.iter().find_map(|name| Some((name, list(name)?))) {
        post.set_headers(&list.to_string_lossy()).with_context(|| format!("--otlp: {name}"))?;
    }
    let pusher = Pusher { post, totals, warning: warning.clone(), instance: payload::instance() };
    Ok(Box::new(Otlp { pusher: Some(pusher), end: None, done: None, warning, is_study: false }))
}

/// Parses the address of a collector. As for OTEL_EXPORTER_OTLP_ENDPOINT, the path of metrics is
/// appended.
fn collector(url: &str, tls: &TlsSpec) -> Result<Post> {
    let mut post = Post::of(url, tls).context("--otlp")?;
    let path = post.path().trim_end_matches('/').to_owned();
    ensure!(!path.contains('?'), "--otlp: the URL has a query: leave it out");
    let is_whole = path.ends_with(PATH);
    post.set_path(if is_whole { path } else { path + PATH });
    Ok(post)
}

/// The observer: it starts the thread with the first load, and ends it with the run or the study.
struct Otlp {
    /// Kept until the load, before which a thread would take the program's signals.
    pusher: Option<Pusher>,
    /// Dropped to end the thread.
    end: Option<SyncSender<()>>,
    /// Disconnected when the thread has ended; `None` if there is no thread.
    done: Option<Receiver<()>>,
    warning: Warning,
    /// True if further loads follow.
    is_study: bool,
}

impl Observer for Otlp {
    fn trial(&mut self, _: &StudyProgress) {
        self.is_study = true;
    }

    fn phase(&mut self, phase: Phase, _: &Plan) {
        let Some(pusher) = self.pusher.take_if(|_| phase == Phase::Load) else { return };
        let (end, ended) = sync_channel(1);
        let (working, done) = sync_channel(1);
        let builder = thread::Builder::new().name("weir-otlp".to_owned());
        match builder.spawn(move || pusher.run(&ended, working)) {
            Ok(_) => (self.end, self.done) = (Some(end), Some(done)),
            Err(error) => warn(format_args!("--otlp: no metrics are pushed: no thread: {error}")),
        }
    }

    fn is_live(&self) -> bool {
        true
    }

    fn load_ended(&mut self) {
        if !self.is_study {
            self.end = None;
        }
    }
}

/// The last request of a run leaves when the load ends, so that it is usually over by now.
impl Drop for Otlp {
    fn drop(&mut self) {
        self.end = None;
        let Some(done) = &self.done else { return };
        if done.recv_timeout(LAST) == Err(RecvTimeoutError::Timeout) {
            self.warning.give(&format!("--otlp: the last metrics were not taken within {LAST:?}"));
        }
        self.warning.finish();
    }
}

/// The only warning of a run, which threads share.
#[derive(Clone)]
struct Warning {
    /// True if it waits for the end.
    is_late: bool,
    /// The first one that was given.
    given: Arc<OnceLock<String>>,
}

impl Warning {
    /// Gives a warning, unless there was one.
    fn give(&self, text: &str) {
        if self.given.set(text.to_owned()).is_ok() && !self.is_late {
            warn(text);
        }
    }

    /// Prints the warning if it has waited for the end.
    fn finish(&self) {
        if let Some(text) = self.given.get().filter(|_| self.is_late) {
            warn(text);
        }
    }
}

/// The thread that sends.
struct Pusher {
    post: Post,
    totals: SharedTotals,
    warning: Warning,
    /// Identity of this process.
    instance: String,
}

impl Pusher {
    /// Pushes until the observer ends it, and then once more. `working` is dropped at the end.
    fn run(mut self, ended: &Receiver<()>, working: SyncSender<()>) {
        // Without the right to a lower priority the thread has the usual one.
        let _usual = sys::lower_priority();
        while matches!(ended.recv_timeout(EVERY), Err(RecvTimeoutError::Timeout)) {
            self.push();
        }
        self.push();
        drop(working);
    }

    /// Sends the totals, unless the load has not begun.
    fn push(&mut self) {
        // A copy, so that the observer does not wait for the collector.
        let totals = self.totals.read(Clone::clone);
        let Some(body) = payload::request(&totals, &self.instance, SystemTime::now()) else {
            return;
        };
        let sent = self.post.send("application/json", &body.to_string());
        let refusal = match sent {
            Ok((200..300, response)) => partial(&response),
            Ok((status, _)) => Some(format!("status {status}")),
            Err(error) => Some(error.to_string()),
        };
        if let Some(reason) = refusal {
            self.warning.give(&complaint(&self.post.url(), self.post.port(), reason));
        }
    }
}

fn complaint(url: &str, port: u16, reason: impl Display) -> String {
    let advice = match port {
        GRPC_PORT => "; OTLP over HTTP usually has port 4318",
        _ => "",
    };
    format!("--otlp: {url} does not take metrics: {reason}{advice}")
}

/// Reason why a collector has taken only a part of the metrics, if it has.
fn partial(response: &[u8]) -> Option<String> {
    let response: Value = serde_json::from_slice(response).ok()?;
    let partial = response.get("partialSuccess")?;
    // A 64-bit number is a string in JSON; some collectors write a number.
    let rejected = match &partial["rejectedDataPoints"] {
        Value::String(text) => text.parse().ok()?,
        number => number.as_u64().unwrap_or(0),
    };
    let why = partial["errorMessage"].as_str().unwrap_or_default();
    let separator = if why.is_empty() { "" } else { ": " };
    (rejected > 0 || !why.is_empty()).then(|| format!("{rejected} points refused{separator}{why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_is_appended_to_the_address() {
        for (given, url) in [
            ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
            ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/metrics"),
            ("http://me:secret@h/otlp", "http://h/otlp/v1/metrics"),
            ("h:4318/v1/metrics", "http://h:4318/v1/metrics"),
        ] {
            let post = collector(given, &TlsSpec::default()).expect(given);
            assert_eq!(post.url(), url, "{given}");
        }
        for wrong in ["grpc://h:4317", "http://h/?a=b", "http://"] {
            let error = collector(wrong, &TlsSpec::default()).expect_err(wrong);
            assert!(format!("{error:#}").starts_with("--otlp: "), "{error:#}");
        }
    }

    #[test]
    fn a_refusal_in_a_response_is_found() {
        let of = |text: &str| partial(text.as_bytes());
        assert_eq!(of("{}"), None);
        assert_eq!(of(r#"{"partialSuccess":{}}"#), None);
        assert_eq!(of("no JSON"), None);
        let refused = r#"{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"too old"}}"#;
        assert_eq!(of(refused).as_deref(), Some("3 points refused: too old"));
        assert_eq!(
            of(r#"{"partialSuccess":{"rejectedDataPoints":1}}"#).as_deref(),
            Some("1 points refused")
        );
    }

    #[test]
    fn the_port_of_grpc_has_advice() {
        let text = complaint("http://h:4317/v1/metrics", GRPC_PORT, "no complete response");
        assert_eq!(
            text,
            "--otlp: http://h:4317/v1/metrics does not take metrics: no complete response; OTLP \
             over HTTP usually has port 4318"
        );
    }

    #[test]
    fn one_warning_is_given() {
        let warning = Warning { is_late: true, given: Arc::default() };
        warning.give("first");
        warning.clone().give("second");
        assert_eq!(warning.given.get().map(String::as_str), Some("first"));
    }
}
