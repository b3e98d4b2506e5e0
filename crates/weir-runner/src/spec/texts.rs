//! The texts and files of a specification: all places in which a secret may stand. This is the one
//! list of them. Each type is taken apart without `..`, so that a new field has to be put here
//! before it compiles.

use std::path::PathBuf;

use weir_result::document::InputRole;
use weir_result::{ConnectionPlan, DueTimes, Header, Load, ReplayPlan};

use super::{
    BodySpec, CheckSpec, CompatSpec, EngineSpec, ExpectSpec, FormField, FormValue, GrpcSpec,
    HttpSpec, InputFile, ListSource, ListSpec, MessageSpec, RedactionSpec, ReplaySpec, RequestSpec,
    RunSpec, ScriptSpec, TargetSpec, TemplateSpec, TlsSpec, WatchSpec, WebSocketSpec,
};

/// A place in a specification.
#[derive(Debug)]
pub(crate) enum SpecPlace<'a> {
    /// A text of the user.
    Text {
        /// Path of its field: `request.body`; of a header with its name.
        field: String,
        kind: TextKind,
        text: &'a mut String,
    },
    /// The name of a file that is no input, or of a directory.
    Path(&'a mut PathBuf),
    /// A file that the run reads, with its role if it is digested.
    File(Option<InputRole>, &'a mut InputFile),
}

/// The kind of a text, which decides what in it is a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TextKind {
    /// URL of the server. Its host and path stay: the run cannot be repeated without them.
    Url,
    /// URL in a list.
    ListUrl,
    /// URL of a page that is watched.
    Page,
    /// Name of something that is watched.
    Watched,
    /// Value of the header field with this name.
    Header(String),
    /// `USER:PASS`.
    User,
    /// Body of requests.
    Body,
    /// Value of the field with this name in a form.
    FormField(String),
    /// Argument of a script.
    Argument,
    /// Expectation of responses.
    Expectation,
    /// Message of WebSocket.
    Message,
    /// Shell command.
    Command,
    /// Value of the fact with this name, which the run does not need.
    Fact(String),
    /// Destination of connections: `HOST[:PORT]`.
    Host,
    /// None of its own; a secret of another text may stand in it.
    Plain,
}

impl RunSpec {
    /// Returns all places in which a secret may stand.
    pub(crate) fn places(&mut self) -> Vec<SpecPlace<'_>> {
        let RunSpec {
            version: _,
            target,
            request,
            grpc,
            list,
            replay,
            templates,
            expect,
            messages,
            http,
            websocket,
            tls,
            script,
            load,
            is_seed_drawn: _,
            connection,
            engine,
            checks,
            watch,
            compat,
            redaction,
            part: _,
            start_at_unix_ns: _,
            // Its words were redacted one by one.
            command: _,
        } = self;
        let mut places = PlaceList::default();
        places.of_target(target);
        places.of_request(request);
        grpc.iter_mut().for_each(|grpc| places.of_grpc(grpc));
        list.iter_mut().for_each(|list| places.of_list(list));
        replay.iter_mut().for_each(|replay| places.of_replay(replay));
        places.of_templates(templates);
        places.of_responses(expect, messages);
        places.of_websocket(websocket);
        places.of_tls(tls);
        script.iter_mut().for_each(|script| places.of_script(script));
        places.of_load(load);
        places.of_connections(connection);
        places.of_watch(watch);
        places.of_redaction(redaction);
        have_no_texts(http, engine, checks, compat.as_ref());
        places.0
    }

    /// Returns the files, with the roles of those that are digested.
    pub(crate) fn files(&mut self) -> impl Iterator<Item = (Option<InputRole>, &mut InputFile)> {
        self.places().into_iter().filter_map(|place| match place {
            SpecPlace::File(role, file) => Some((role, file)),
            SpecPlace::Text { .. } | SpecPlace::Path(_) => None,
        })
    }
}

/// The places so far.
#[derive(Default)]
struct PlaceList<'a>(Vec<SpecPlace<'a>>);

impl<'a> PlaceList<'a> {
    fn text(&mut self, field: impl Into<String>, kind: TextKind, text: &'a mut String) {
        self.0.push(SpecPlace::Text { field: field.into(), kind, text });
    }

    /// Adds texts of one field, which are named alike.
    fn alike(
        &mut self,
        field: &str,
        kind: TextKind,
        texts: impl IntoIterator<Item = &'a mut String>,
    ) {
        texts.into_iter().for_each(|text| self.text(field, kind.clone(), text));
    }

    /// Adds texts of one field, which are named by their index.
    fn numbered(&mut self, field: &str, kind: TextKind, texts: &'a mut [String]) {
        for (index, text) in texts.iter_mut().enumerate() {
            self.text(format!("{field}.{index}"), kind.clone(), text);
        }
    }

    fn file(&mut self, role: InputRole, file: &'a mut InputFile) {
        self.0.push(SpecPlace::File(Some(role), file));
    }

    fn paths(&mut self, paths: impl IntoIterator<Item = &'a mut PathBuf>) {
        self.0.extend(paths.into_iter().map(SpecPlace::Path));
    }

    fn of_target(&mut self, target: &'a mut TargetSpec) {
        let TargetSpec { url, unix, family: _, wait_ns: _ } = target;
        self.text("target.url", TextKind::Url, url);
        self.paths(unix);
    }

    fn of_request(&mut self, request: &'a mut RequestSpec) {
        let RequestSpec { method, headers, basic_auth, body, redirects: _ } = request;
        self.alike("request.method", TextKind::Plain, method);
        for Header { name, value } in headers {
            let field = format!("request.headers.{name}");
            self.text(field, TextKind::Header(name.clone()), value);
            self.text("request.headers", TextKind::Plain, name);
        }
        self.alike("request.basic_auth", TextKind::User, basic_auth);
        match body {
            Some(BodySpec::Text(text)) => self.text("request.body", TextKind::Body, text),
            Some(BodySpec::File(file)) => self.file(InputRole::Body, file),
            Some(BodySpec::Form(fields)) => fields.iter_mut().for_each(|it| self.of_form(it)),
            Some(BodySpec::Filler(_)) | None => {}
        }
    }

    fn of_form(&mut self, field: &'a mut FormField) {
        let FormField { name, value } = field;
        match value {
            FormValue::Text(text) => {
                let field = format!("request.body.form.{name}");
                self.text(field, TextKind::FormField(name.clone()), text);
            }
            FormValue::File(file) => self.file(InputRole::Body, file),
        }
        self.text("request.body.form", TextKind::Plain, name);
    }

    fn of_grpc(&mut self, grpc: &'a mut GrpcSpec) {
        let GrpcSpec { method, protos, proto_paths, is_binary: _, deadline_ns: _ } = grpc;
        self.text("grpc.method", TextKind::Plain, method);
        protos.iter_mut().for_each(|file| self.file(InputRole::Proto, file));
        self.paths(proto_paths);
    }

    fn of_list(&mut self, list: &'a mut ListSpec) {
        let ListSpec { source, format, order: _, skip_other_origins: _, allow_local: _, groups } =
            list;
        match source {
            ListSource::File(file) | ListSource::Scenario(file) => {
                self.file(InputRole::List, file);
            }
            ListSource::Urls(urls) => self.numbered("list.source.urls", TextKind::ListUrl, urls),
        }
        self.alike("list.format", TextKind::Plain, format);
        self.numbered("list.groups", TextKind::Plain, groups);
    }

    fn of_replay(&mut self, replay: &'a mut ReplaySpec) {
        let ReplaySpec { file, format, speed: _, sends_unsafe: _, groups } = replay;
        self.file(InputRole::Replay, file);
        self.alike("replay.format", TextKind::Plain, format);
        self.numbered("replay.groups", TextKind::Plain, groups);
    }

    fn of_templates(&mut self, templates: &'a mut TemplateSpec) {
        let TemplateSpec { seed: _, rows, order: _, everywhere: _ } = templates;
        rows.iter_mut().for_each(|file| self.file(InputRole::Rows, file));
    }

    fn of_responses(&mut self, expect: &'a mut ExpectSpec, messages: &'a mut MessageSpec) {
        let ExpectSpec { all, body_max_bytes: _ } = expect;
        self.numbered("expect.all", TextKind::Expectation, all);
        let MessageSpec { protocol: _, tokens, usage, goodput, only_given: _ } = messages;
        self.numbered("messages.tokens", TextKind::Plain, tokens);
        self.alike("messages.usage", TextKind::Plain, usage);
        self.alike("messages.goodput", TextKind::Plain, goodput);
    }

    fn of_websocket(&mut self, websocket: &'a mut WebSocketSpec) {
        let WebSocketSpec { matched_by, binary: _, idle: _, first, awaits_message: _, deflate: _ } =
            websocket;
        self.alike("websocket.match", TextKind::Plain, matched_by);
        self.alike("websocket.first", TextKind::Message, first);
    }

    fn of_tls(&mut self, tls: &'a mut TlsSpec) {
        let TlsSpec {
            insecure: _,
            ca_file,
            cert,
            key,
            server_name,
            min_version: _,
            max_version: _,
            ciphers,
            resume: _,
        } = tls;
        ca_file.iter_mut().for_each(|file| self.file(InputRole::CaFile, file));
        cert.iter_mut().for_each(|file| self.file(InputRole::CertFile, file));
        self.0.extend(key.iter_mut().map(|file| SpecPlace::File(None, file)));
        self.alike("tls.server_name", TextKind::Plain, server_name);
        self.numbered("tls.ciphers", TextKind::Plain, ciphers);
    }

    fn of_script(&mut self, script: &'a mut ScriptSpec) {
        let ScriptSpec { file, args, memory_bytes: _ } = script;
        self.file(InputRole::Script, file);
        self.numbered("script.args", TextKind::Argument, args);
    }

    fn of_load(&mut self, load: &'a mut Load) {
        let Load {
            due,
            connections: _,
            in_flight_max: _,
            pipeline: _,
            warmup: _,
            duration_ns: _,
            requests: _,
            abort,
            timeout_ns: _,
            connect_timeout_ns: _,
            drain_ns: _,
        } = load;
        match due {
            // A specification has none; it is refused later.
            Some(DueTimes::Log(log)) => {
                let ReplayPlan { name, format, .. } = log;
                self.alike("load.due.log", TextKind::Plain, [name, format]);
            }
            Some(DueTimes::Curve { parts: _, arrivals: _ }) | None => {}
        }
        self.numbered("load.abort", TextKind::Plain, abort);
    }

    fn of_connections(&mut self, connection: &'a mut ConnectionPlan) {
        let ConnectionPlan {
            requests: _,
            lifetime_ns: _,
            close: _,
            rate: _,
            sources: _,
            destinations,
        } = connection;
        self.numbered("connection.destinations", TextKind::Host, destinations);
    }

    fn of_watch(&mut self, watch: &'a mut WatchSpec) {
        let WatchSpec {
            nginx,
            prometheus,
            metrics,
            processes,
            commands,
            access_log,
            timeout_ns: _,
            captures,
            notes,
        } = watch;
        self.alike("watch.nginx", TextKind::Page, nginx);
        self.alike("watch.prometheus", TextKind::Page, prometheus);
        self.alike("watch.metrics", TextKind::Watched, metrics);
        self.alike("watch.processes", TextKind::Watched, processes);
        self.alike("watch.commands", TextKind::Command, commands);
        self.alike("watch.captures", TextKind::Command, captures);
        self.paths(access_log);
        for (name, value) in notes {
            self.text(format!("watch.notes.{name}"), TextKind::Fact(name.clone()), value);
        }
    }

    fn of_redaction(&mut self, redaction: &'a mut RedactionSpec) {
        // Users and user names of URLs are secrets as a whole, and leave the specification.
        let RedactionSpec { off: _, names, users: _, userinfos: _ } = redaction;
        self.numbered("redaction.names", TextKind::Plain, names);
    }
}

/// Shows that these types have no text: they are numbers, and choices among names.
fn have_no_texts(
    http: &HttpSpec,
    engine: &EngineSpec,
    checks: &CheckSpec,
    compat: Option<&CompatSpec>,
) {
    let HttpSpec { version: _, streams: _, window_bytes: _, header_table_bytes: _ } = http;
    let EngineSpec { threads: _, pin: _, io: _, pacing: _, wait: _, tick_ns: _, stamps: _ } =
        engine;
    let CheckSpec { preflight: _, witness: _, selfcheck: _, prove_client: _ } = checks;
    if let Some(CompatSpec { dialect: _, batch_times: _ }) = compat {}
}
