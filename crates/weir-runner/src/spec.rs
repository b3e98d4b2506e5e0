//! The specification of a run: every choice that a run depends on, as plain values. It is made from
//! flags or read from JSON, and nothing later hands a value back to it. Nothing here resolves a
//! name or opens a socket.

mod check;
mod checks;
mod compat;
pub mod credentials;
mod engine;
mod expect;
mod grpc;
mod http;
mod input_file;
pub mod limits;
mod list;
mod messages;
mod redaction;
mod replay;
mod request;
mod script;
mod target;
mod templates;
mod texts;
mod tls;
pub(crate) mod url;
mod watch;
mod websocket;

pub use checks::{CheckSpec, WitnessChoice};
pub use compat::{CompatSpec, Dialect};
pub use engine::{EngineSpec, Pin};
pub use expect::ExpectSpec;
pub use grpc::GrpcSpec;
pub use http::{HttpChoice, HttpSpec};
pub use input_file::InputFile;
pub use list::{ListSource, ListSpec};

pub use messages::MessageSpec;
pub use redaction::RedactionSpec;
pub use replay::ReplaySpec;
pub use request::{BodySpec, FormField, FormValue, RequestSpec};
pub use script::ScriptSpec;
pub use target::{AddressFamily, TargetSpec};
pub use templates::{RowsOrder, TemplateSpec};
pub(crate) use texts::{SpecPlace, TextKind};
pub use tls::TlsSpec;
pub use watch::WatchSpec;
pub use websocket::WebSocketSpec;

use std::path::PathBuf;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use weir_result::document::{Input, InputRole};
use weir_result::{ConnectionPlan, ListOrder, Load, Part};
use weir_text::setting::KEY;

use crate::errors::Error;
use crate::input::WHOLE_MAX_BYTES;

/// Version of the specification that this crate writes and reads.
pub const SPEC_VERSION: u32 = 2;

/// Specification of a run.
///
/// An unknown field is an error on reading, unlike in a document: a choice that is ignored would
/// make another run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSpec {
    /// Version of this form: [`SPEC_VERSION`].
    pub version: u32,
    /// Server of the load.
    pub target: TargetSpec,
    /// Request that is sent, unless a script makes others.
    #[serde(default)]
    pub request: RequestSpec,
    /// Method of gRPC that requests call; null for requests of HTTP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grpc: Option<GrpcSpec>,
    /// List of requests that are sent in its place, with what it leaves out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<ListSpec>,
    /// Log that is replayed, in place of a list and of the load model; null for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplaySpec>,
    /// Templates of requests.
    #[serde(default, skip_serializing_if = "TemplateSpec::is_default")]
    pub templates: TemplateSpec,
    /// Expectations of responses.
    #[serde(default, skip_serializing_if = "ExpectSpec::is_default")]
    pub expect: ExpectSpec,
    /// Messages within responses.
    #[serde(default, skip_serializing_if = "MessageSpec::is_default")]
    pub messages: MessageSpec,
    /// HTTP version.
    #[serde(default)]
    pub http: HttpSpec,
    /// Choices of WebSocket for a URL of ws or wss.
    #[serde(default, skip_serializing_if = "WebSocketSpec::is_default")]
    pub websocket: WebSocketSpec,
    /// Choices of TLS for an https URL.
    #[serde(default)]
    pub tls: TlsSpec,
    /// Script, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptSpec>,
    /// The load.
    #[serde(default)]
    pub load: Load,
    /// True if the seed of random arrivals, of a list's order or of templates was drawn and not
    /// chosen: a study draws another for each of its rounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_seed_drawn: bool,
    /// Opening and renewal of connections. Its destinations are `HOST[:PORT]`, resolved when the
    /// run is planned.
    #[serde(default, skip_serializing_if = "ConnectionPlan::is_plain")]
    pub connection: ConnectionPlan,
    /// Threads, I/O engine, send and receive strategy.
    #[serde(default)]
    pub engine: EngineSpec,
    /// Checks of the target and of the client beside the load.
    #[serde(default)]
    pub checks: CheckSpec,
    /// Sources of data about the server, and facts to keep.
    #[serde(default, skip_serializing_if = "WatchSpec::is_empty")]
    pub watch: WatchSpec,
    /// Rules of wrk or wrk2, if the run follows them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compat: Option<CompatSpec>,
    /// Values that are never written.
    #[serde(default)]
    pub redaction: RedactionSpec,
    /// Part of the load to carry out; null for all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<Part>,
    /// Earliest start of the schedule in nanoseconds since 1970, UTC: one time for all parts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at_unix_ns: Option<u64>,
    /// Command line for the document, word by word, already redacted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
}

impl RunSpec {
    /// Returns the specification of a run against `url` with weir's defaults.
    pub fn new(url: impl Into<String>) -> RunSpec {
        let target = TargetSpec { url: url.into(), ..TargetSpec::default() };
        RunSpec { version: SPEC_VERSION, target, ..RunSpec::default() }
    }

    /// Reads a specification.
    ///
    /// # Errors
    /// When the text is not JSON, has a field that is unknown, missing or wrong, or is of another
    /// version. The message has the path of the field.
    pub fn from_json(text: &[u8]) -> Result<RunSpec, Error> {
        /// The one field that every version has.
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let read = || -> anyhow::Result<RunSpec> {
            let Versioned { version } = serde_json::from_slice(text)?;
            if version != SPEC_VERSION {
                bail!("version: it is {version}, and this weir reads {SPEC_VERSION}");
            }
            let mut json = serde_json::Deserializer::from_slice(text);
            let mut track = serde_path_to_error::Track::new();
            // Documents, which share types with it, ignore what they do not know.
            let mut unknown = None;
            let read = serde_ignored::deserialize(
                serde_path_to_error::Deserializer::new(&mut json, &mut track),
                |path| unknown = Some(path.to_string()),
            );
            let spec = read.map_err(|fault| match track.path().to_string().as_str() {
                "." => anyhow::Error::new(fault),
                path => anyhow::anyhow!("{path}: {fault}"),
            })?;
            json.end()?;
            match unknown {
                Some(path) => bail!("{path}: unknown field"),
                None => Ok(spec),
            }
        };
        Ok(read().context("the run specification cannot be read")?)
    }

    /// Returns the paths of the files that the run names and whose content is not kept.
    pub(crate) fn unread_files(&self) -> Vec<PathBuf> {
        let mut spec = self.clone();
        let unread = spec.files().filter(|(_, file)| file.content.is_none());
        unread.map(|(_, file)| file.path.clone()).collect()
    }

    /// Reads the files that the run names and keeps their content, so that another machine needs
    /// none of them.
    ///
    /// # Errors
    /// When one cannot be read.
    pub fn read_files(&mut self) -> Result<(), Error> {
        self.grpc.as_mut().map_or(Ok(()), GrpcSpec::keep_schema)?;
        for (role, file) in self.files().filter(|(_, file)| file.content.is_none()) {
            let name = role.map_or(KEY, InputRole::setting);
            file.content = Some(file.read(name, WHOLE_MAX_BYTES)?);
        }
        Ok(())
    }

    /// Sets the seed of everything that is random in the run: arrivals, the order of a list, values
    /// of templates.
    pub fn set_seed(&mut self, seed: u64) {
        if let Some(own) = self.load.seed_mut() {
            *own = seed;
        }
        if let Some(ListOrder::Random { seed: own }) = self.list.as_mut().map(|it| &mut it.order) {
            *own = seed;
        }
        if !self.templates.is_default() {
            self.templates.seed = seed;
        }
    }

    /// Returns the form that documents and studies keep: without secrets, without the content of
    /// any file, and without the command line, which stands beside it. `None` if the name of a file
    /// is not UTF-8. It has the lengths and digests of the files that were read, `inputs`.
    pub fn stored(&self, inputs: &[Input]) -> Option<Value> {
        let mut spec = RunSpec { command: None, ..self.redacted() };
        for (role, file) in spec.files() {
            file.content = None;
            let path = file.path.to_string_lossy();
            let is_its = |input: &&Input| Some(input.role) == role && input.path == path;
            let of_role = || inputs.iter().find(|input| Some(input.role) == role);
            if let Some(input) = inputs.iter().find(is_its).or_else(of_role) {
                (file.bytes, file.sha256) = (Some(input.bytes), Some(input.sha256.clone()));
            }
        }
        serde_json::to_value(&spec).ok()
    }
}

#[cfg(test)]
mod tests {
    use weir_result::{Arrivals, DueTimes, Rate, Warmup};

    use super::*;

    fn error_of(text: &str) -> String {
        RunSpec::from_json(text.as_bytes()).expect_err(text).to_string()
    }

    #[test]
    fn one_seed_is_that_of_all_random_parts() {
        let mut spec = RunSpec::new("http://h/");
        let rate = Rate { numerator: 1, denominator: 1 };
        spec.load.due = Some(DueTimes::constant(rate, Arrivals::Poisson { seed: 1 }));
        spec.list = Some(ListSpec { order: ListOrder::Random { seed: 2 }, ..ListSpec::default() });
        spec.templates.seed = 3;
        spec.set_seed(7);
        let arrivals = Arrivals::Poisson { seed: 7 };
        assert_eq!(spec.load.due, Some(DueTimes::constant(rate, arrivals)));
        assert_eq!(spec.list.map(|list| list.order), Some(ListOrder::Random { seed: 7 }));
        assert_eq!(spec.templates.seed, 7);
    }

    #[test]
    fn few_fields_are_enough() {
        let text = r#"{"version": 2, "target": {"url": "http://h/"}}"#;
        assert_eq!(RunSpec::from_json(text.as_bytes()).expect(text), RunSpec::new("http://h/"));
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        let newer = error_of(r#"{"version": 3, "target": {"url": "http://h/"}, "new": 1}"#);
        assert!(newer.contains("version: it is 3, and this weir reads 2"), "{newer}");
        for (text, part) in [
            (
                r#"{"version": 2, "target": {"url": "http://h/", "rate": 5}}"#,
                "target.rate: unknown field `rate`",
            ),
            (
                r#"{"version": 2, "target": {"url": "http://h/"}, "http": {"streams": -1}}"#,
                "http.streams: invalid value",
            ),
            (
                r#"{"version": 2, "target": {"url": "http://h/"}, "connection": {"rates": 1}}"#,
                "connection.rates: unknown field",
            ),
            (r#"{"version": 2, "target": {"url": "http://h/"}} 5"#, "trailing characters"),
            (r#"{"version": 2, "target": {}}"#, "missing field `url`"),
            (r#"{"target": {"url": "http://h/"}}"#, "missing field `version`"),
            ("{", "EOF"),
        ] {
            let error = error_of(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn unknown_fields_of_shared_types_are_refused_too() {
        for (connections, part) in [
            (serde_json::json!({"first": 1, "most": 9, "x": 1}), "load.connections.x: unknown"),
            (
                serde_json::json!([{"duration_ns": 1, "from": 1, "to": 2, "burst": 3}]),
                "load.connections.0.burst: unknown field",
            ),
            (serde_json::json!({"first": 1}), "load.connections: missing field `most`"),
        ] {
            let mut spec = serde_json::to_value(RunSpec::new("http://h/")).expect("JSON");
            spec["load"]["connections"] = connections;
            let error = error_of(&spec.to_string());
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_specification_reads_as_it_was_written() {
        let mut spec = RunSpec::new("https://h/?a=b");
        spec.request.body = Some(BodySpec::Text("a".to_owned()));
        spec.tls.ca_file = Some(InputFile::at("ca.pem"));
        spec.tls.min_version = Some(weir_result::TlsVersion::Tls13);
        spec.tls.ciphers = vec!["TLS_AES_128_GCM_SHA256".to_owned()];
        spec.tls.resume = true;
        spec.script = Some(ScriptSpec {
            file: InputFile { content: Some(vec![0, 255]), ..InputFile::at("s.lua") },
            args: vec!["x".to_owned()],
            ..ScriptSpec::default()
        });
        spec.load.warmup = Warmup { span_ns: 1, is_auto: true };
        spec.engine.pin = Some(Pin::Cpus(vec![0, 2]));
        spec.watch = WatchSpec {
            nginx: Some("http://h/status".to_owned()),
            processes: vec!["nginx".to_owned()],
            notes: [("a".to_owned(), "b".to_owned())].into(),
            ..WatchSpec::default()
        };
        spec.compat = Some(CompatSpec { dialect: Dialect::Wrk2, batch_times: true });
        spec.part = Part::new(2, 3);
        spec.start_at_unix_ns = Some(1_800_000_000_000_000_000);
        let text = serde_json::to_string(&spec).expect("UTF-8");
        assert_eq!(RunSpec::from_json(text.as_bytes()).expect("what was written"), spec);
    }

    #[test]
    fn the_stored_form_has_digests_and_no_secret() {
        let mut spec = RunSpec::new("https://h/");
        spec.request.basic_auth = Some("me:SECRET".to_owned());
        let content = Some(b"SECRET".to_vec());
        spec.request.body = Some(BodySpec::File(InputFile { content, ..InputFile::at("body") }));
        spec.tls.key = Some(InputFile { content: Some(vec![1]), ..InputFile::at("key.pem") });
        spec.command = Some(vec!["weir".to_owned()]);
        spec.redaction.off = true;
        let input = Input {
            role: InputRole::Body,
            path: "body".to_owned(),
            bytes: 6,
            sha256: "abc".to_owned(),
        };
        let kept = |spec: &RunSpec| {
            let stored = spec.stored(std::slice::from_ref(&input)).expect("UTF-8");
            RunSpec::from_json(stored.to_string().as_bytes()).expect("what was stored")
        };
        let file =
            InputFile { bytes: Some(6), sha256: Some("abc".to_owned()), ..InputFile::at("body") };
        let open = kept(&spec);
        assert_eq!(open.request.body, Some(BodySpec::File(file)));
        assert_eq!(open.tls.key, Some(InputFile::at("key.pem")), "no key is ever written");
        assert_eq!((open.command, open.request.basic_auth.as_deref()), (None, Some("me:SECRET")));
        spec.redaction.off = false;
        assert_eq!(kept(&spec).request.basic_auth.as_deref(), Some(crate::REDACTED));
    }
}
