//! A secret in every text of a specification, and none in what a run shows and keeps. The
//! specification is written out field by field, so that a new field has to be put here.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

use weir_io::{Endpoint, EngineChoice};
use weir_result::{
    Arrivals, ConnectionPlan, DueTimes, Header, ListOrder, Load, Note, Plan, Rate, Speed,
    StampChoice, Wait, Warmup,
};
use weir_runner::{
    BodySpec, CheckSpec, CompatSpec, EngineSpec, ExpectSpec, FormField, FormValue, GrpcSpec,
    HttpChoice, HttpSpec, InputFile, ListSource, ListSpec, LocalRunner, MessageSpec, Observer,
    Phase, RedactionSpec, ReplaySpec, RequestSpec, RowsOrder, RunSpec, Runner, SPEC_VERSION,
    ScriptSpec, TargetSpec, TemplateSpec, TlsSpec, WatchSpec, WebSocketSpec, WitnessChoice,
};
use weir_serve::ServeOptions;

/// The secret: a password of the run, so that it is one wherever it stands.
const SECRET: &str = "Xyzzy-Plugh";

/// A text with the secret.
fn text() -> String {
    format!("a{SECRET}")
}

fn texts() -> Vec<String> {
    vec![text(), text()]
}

/// A file with the secret in its name.
fn file(content: &str) -> InputFile {
    let path = PathBuf::from(format!("{SECRET}/{SECRET}.txt"));
    let content = Some(content.as_bytes().to_vec());
    InputFile { path, bytes: None, sha256: None, content }
}

fn url(scheme: &str, server: SocketAddr) -> String {
    format!("{scheme}://me:{SECRET}@{server}/?a=b&token={SECRET}")
}

/// A specification with the secret in each of its texts. No run has all of this.
fn full(server: SocketAddr) -> RunSpec {
    RunSpec {
        version: SPEC_VERSION,
        target: TargetSpec {
            url: url("http", server),
            unix: Some(PathBuf::from(text())),
            family: None,
            wait_ns: None,
        },
        request: request(),
        grpc: Some(grpc()),
        list: Some(list(server)),
        replay: Some(replay()),
        templates: TemplateSpec {
            seed: 1,
            rows: Some(file(&format!("name,token\n1,{SECRET}\n"))),
            order: RowsOrder::Sequential,
            everywhere: false,
        },
        expect: ExpectSpec {
            all: vec![format!("json:/token={SECRET}"), format!("body~{SECRET}")],
            body_max_bytes: 100,
        },
        messages: messages(),
        http: http(),
        websocket: WebSocketSpec {
            matched_by: Some(format!("json:/{SECRET}")),
            binary: false,
            idle: false,
            first: Some(format!("{{\"token\": \"{SECRET}\", \"x\": \"{SECRET}\"}}")),
            awaits_message: false,
            deflate: false,
        },
        tls: tls(),
        script: Some(ScriptSpec {
            file: file("function init(args) wrk.thread = args[1] end"),
            args: texts(),
            memory_bytes: 1 << 20,
        }),
        load: load(),
        is_seed_drawn: false,
        connection: ConnectionPlan {
            requests: None,
            lifetime_ns: None,
            close: None,
            rate: None,
            sources: Vec::new(),
            destinations: vec![format!("me:{SECRET}@h:80"), format!("127.0.0.1:{SECRET}")],
        },
        engine: engine(),
        checks: CheckSpec {
            preflight: true,
            witness: WitnessChoice::Off,
            selfcheck: false,
            prove_client: false,
        },
        watch: watch(server),
        compat: None::<CompatSpec>,
        redaction: RedactionSpec {
            off: false,
            names: vec!["token".to_owned()],
            users: vec![format!("me:{SECRET}")],
            userinfos: vec![format!("me:{SECRET}")],
        },
        part: None,
        start_at_unix_ns: None,
        command: None,
    }
}

fn request() -> RequestSpec {
    let header = |name: &str, value: String| Header { name: name.to_owned(), value };
    RequestSpec {
        method: Some(SECRET.to_owned()),
        headers: vec![
            header("Authorization", format!("Bearer {SECRET}")),
            header("X-Plain", text()),
            header(SECRET, text()),
        ],
        basic_auth: Some(format!("me:{SECRET}")),
        body: Some(BodySpec::Form(vec![
            FormField { name: "token".to_owned(), value: FormValue::Text(SECRET.to_owned()) },
            FormField { name: text(), value: FormValue::Text(text()) },
            FormField { name: "file".to_owned(), value: FormValue::File(file("x")) },
        ])),
        redirects: 0,
    }
}

fn grpc() -> GrpcSpec {
    GrpcSpec {
        method: format!("{SECRET}.Service/{SECRET}"),
        protos: vec![file("syntax = \"proto3\";")],
        proto_paths: vec![PathBuf::from(text())],
        is_binary: false,
        deadline_ns: None,
    }
}

fn list(server: SocketAddr) -> ListSpec {
    ListSpec {
        source: ListSource::Urls(vec![url("http", server), url("http", server)]),
        format: Some(text()),
        order: ListOrder::Sequential,
        skip_other_origins: false,
        allow_local: false,
        groups: texts(),
    }
}

fn replay() -> ReplaySpec {
    ReplaySpec {
        file: file("nothing"),
        format: Some(text()),
        speed: Speed::default(),
        sends_unsafe: false,
        groups: texts(),
    }
}

fn messages() -> MessageSpec {
    MessageSpec {
        protocol: None,
        tokens: texts(),
        usage: Some(text()),
        goodput: Some(text()),
        only_given: false,
    }
}

fn http() -> HttpSpec {
    HttpSpec {
        version: HttpChoice::Auto,
        streams: None,
        window_bytes: 1 << 30,
        header_table_bytes: 4_096,
    }
}

fn tls() -> TlsSpec {
    TlsSpec {
        insecure: true,
        ca_file: Some(file("no certificate")),
        cert: Some(file(&format!("-----BEGIN PRIVATE KEY-----\n{SECRET}"))),
        key: Some(file(&format!("-----BEGIN PRIVATE KEY-----\n{SECRET}"))),
        server_name: Some(text()),
        min_version: None,
        max_version: None,
        ciphers: texts(),
        resume: false,
    }
}

fn load() -> Load {
    Load {
        due: Some(DueTimes::constant(Rate { numerator: 1_000, denominator: 1 }, Arrivals::Uniform)),
        connections: 1.into(),
        in_flight_max: None,
        pipeline: 1,
        warmup: Warmup::default(),
        duration_ns: Some(20_000_000),
        requests: None,
        abort: texts(),
        timeout_ns: 1_000_000_000,
        connect_timeout_ns: 1_000_000_000,
        drain_ns: None,
    }
}

fn engine() -> EngineSpec {
    EngineSpec {
        threads: None,
        pin: None,
        io: EngineChoice::Auto,
        pacing: None,
        wait: Wait::Auto,
        tick_ns: None,
        stamps: StampChoice::None,
    }
}

fn watch(server: SocketAddr) -> WatchSpec {
    WatchSpec {
        nginx: Some(url("http", server)),
        prometheus: Some(url("http", server)),
        metrics: texts(),
        processes: texts(),
        commands: vec![format!("echo {SECRET} token={SECRET}; echo 1")],
        access_log: Some(PathBuf::from(format!("{SECRET}/access.log"))),
        timeout_ns: None,
        captures: vec![format!("echo {SECRET}; exit 3")],
        notes: BTreeMap::from([
            ("token".to_owned(), SECRET.to_owned()),
            ("fact".to_owned(), text()),
        ]),
    }
}

/// A change that gives a run one part of the full specification.
type Share = fn(&mut RunSpec, RunSpec);

/// Runs that have every text of the full specification between them, each alone if it may fail the
/// run.
const SHARES: &[Share] = &[
    |_, _| {},
    |run, full| run.target.unix = full.target.unix,
    |run, full| run.request = RequestSpec { body: None, method: None, ..full.request },
    |run, full| run.request = full.request,
    |run, full| run.request.body = Some(BodySpec::Text(format!("{:?}", full.websocket.first))),
    |run, full| run.request.body = Some(BodySpec::File(file(&full.target.url))),
    |run, full| run.grpc = full.grpc,
    |run, full| run.grpc = full.grpc.map(|grpc| GrpcSpec { protos: Vec::new(), ..grpc }),
    |run, full| run.list = full.list.map(|it| ListSpec { format: None, groups: Vec::new(), ..it }),
    |run, full| run.list = full.list.map(|it| ListSpec { groups: Vec::new(), ..it }),
    |run, full| run.list = full.list.map(|it| ListSpec { format: None, ..it }),
    |run, full| {
        run.list = full.list.map(|it| ListSpec {
            source: ListSource::File(file(&full.target.url)),
            format: None,
            groups: Vec::new(),
            ..it
        });
    },
    |run, full| run.replay = full.replay,
    |run, full| run.replay = full.replay.map(|it| ReplaySpec { format: None, ..it }),
    |run, full| run.templates = full.templates,
    |run, full| {
        run.templates = full.templates;
        run.target.url += "&x={{csv:token}}";
    },
    |run, full| run.expect = full.expect,
    |run, full| run.messages.tokens = full.messages.tokens,
    |run, full| run.messages = MessageSpec { usage: None, tokens: Vec::new(), ..full.messages },
    |run, full| {
        let tokens = vec![format!("json:/{SECRET}")];
        run.messages = MessageSpec { tokens, goodput: None, ..full.messages };
    },
    |run, full| {
        run.target.url = run.target.url.replace("http:", "ws:");
        run.websocket = full.websocket;
        run.request.body = Some(BodySpec::Text(format!("{{\"{SECRET}\": 1}}")));
    },
    |run, full| run.tls = full.tls,
    |run, full| {
        run.target.url = run.target.url.replace("http:", "https:");
        run.tls = TlsSpec { ca_file: None, cert: None, key: None, ..full.tls };
    },
    |run, full| run.script = full.script,
    |run, full| run.load = full.load,
    |run, full| run.connection = full.connection,
    |run, full| run.connection.destinations = full.connection.destinations[1..].to_vec(),
    |run, full| run.watch = WatchSpec { access_log: None, ..full.watch },
    |run, full| run.watch.processes = full.watch.processes,
    |run, full| run.watch.captures = full.watch.captures,
    |run, full| run.watch.notes = full.watch.notes,
    |run, full| run.watch.access_log = full.watch.access_log,
];

/// Keeps all that an observer of a run sees.
#[derive(Default)]
struct Seen(Vec<String>);

impl Observer for Seen {
    fn waiting(&mut self, failure: &str) {
        self.0.push(failure.to_owned());
    }

    fn phase(&mut self, _phase: Phase, plan: &Plan) {
        self.0.push(serde_json::to_string(plan).expect("UTF-8"));
    }

    fn warning(&mut self, warning: &Note) {
        self.0.push(warning.text.clone());
    }
}

/// Plans and carries out a run, and returns all that it shows and keeps.
fn shown(spec: &RunSpec) -> Vec<String> {
    let mut seen = Seen::default();
    let runner = LocalRunner::default();
    match runner.prepare(spec, &mut seen) {
        Err(error) => seen.0.push(error.to_string()),
        Ok(run) => {
            seen.0.push(serde_json::to_string(run.plan()).expect("UTF-8"));
            seen.0.extend(run.first_requests());
        }
    }
    match runner.run(spec, &mut seen) {
        Err(error) => seen.0.push(error.to_string()),
        Ok(finished) => {
            seen.0.push(serde_json::to_string(&finished.document).expect("UTF-8"));
            seen.0.extend(finished.no_server.map(|note| note.text));
            seen.0.extend(finished.source_failures.into_iter().map(|(text, _)| text));
        }
    }
    match LocalRunner::dry_run(spec) {
        Err(error) => seen.0.push(error.to_string()),
        Ok(plan) => seen.0.push(serde_json::to_string(&plan).expect("UTF-8")),
    }
    seen.0
}

/// The text around a place.
fn around(text: &str, at: usize) -> String {
    let from = text.floor_char_boundary(at.saturating_sub(90));
    let to = text.ceil_char_boundary((at + 40).min(text.len()));
    text[from..to].to_owned()
}

#[test]
fn a_redacted_specification_has_no_secret_in_any_text() {
    let spec = full(([127, 0, 0, 1], 1).into());
    let text = serde_json::to_string(&spec).expect("UTF-8");
    let of_command = spec.request.basic_auth.iter().count();
    assert!(text.matches(SECRET).count() > 60 && of_command == 1, "{text}");
    let stored = spec.stored(&[]).expect("UTF-8").to_string();
    assert!(!stored.contains(SECRET), "{stored}");
    let redacted = spec.redacted();
    let unread = |spec: RunSpec| serde_json::to_string(&spec.redacted()).expect("UTF-8");
    let missing = redacted.missing_secrets();
    for field in ["target.url", "list.source.urls.1", "load.abort.0", "tls.ciphers.1"] {
        assert!(missing.iter().any(|it| it == field), "{field}: {missing:?}");
    }
    let kept = RunSpec { redaction: RedactionSpec { off: true, ..Default::default() }, ..spec };
    assert!(unread(kept).contains(SECRET), "the user wants it");
}

#[test]
fn nothing_that_a_run_shows_or_keeps_has_a_secret() {
    let server = weir_serve::spawn(ServeOptions::default()).expect("a server");
    let Endpoint::Tcp(address) = server.endpoint() else { panic!("a server of TCP") };
    let mut found = Vec::new();
    let mut documents = 0;
    for (index, share) in SHARES.iter().enumerate() {
        let full = full(*address);
        let mut run = RunSpec {
            target: TargetSpec { unix: None, ..full.target.clone() },
            load: Load { abort: Vec::new(), ..full.load.clone() },
            checks: full.checks,
            redaction: full.redaction.clone(),
            ..RunSpec::new("")
        };
        share(&mut run, full);
        let shown = shown(&run);
        documents += usize::from(shown.iter().any(|text| text.contains("\"schema_version\"")));
        for text in shown {
            let places = text.match_indices(SECRET).map(|(at, _)| around(&text, at));
            found.extend(places.map(|place| format!("share {index}: {place}")));
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    // The others have errors.
    assert!(documents > 12, "{documents} of {}", SHARES.len());
}
