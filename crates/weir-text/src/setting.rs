//! Settings of a run by their path in its specification, for messages of the libraries.
//!
//! A library says `` `request.body` ``; a program installs its own words once, as it would a
//! language, and the same message says `--body`. A message names a setting by a constant:
//! `format!("{BODY} cannot be read")`.

use std::fmt;
use std::sync::OnceLock;

/// Words of the program for settings, once it has installed them.
static WORDS: OnceLock<fn(Setting) -> Option<&'static str>> = OnceLock::new();

/// A setting of a run, of its output, or of a study. Its text is the program's word for it,
/// otherwise its path between backquotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Setting(&'static str);

impl Setting {
    /// Returns the path of the field in a specification, such as `request.body`. A value follows
    /// an equals sign where the setting is one value of a field.
    pub fn path(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match WORDS.get().and_then(|words| words(*self)) {
            Some(word) => f.write_str(word),
            None => write!(f, "`{}`", self.0),
        }
    }
}

/// Installs the words of this process for settings, such as the flags of a command line. Only the
/// first call has an effect. A setting without a word keeps its path.
pub fn name_settings(words: fn(Setting) -> Option<&'static str>) {
    // Messages of one process must agree.
    let _kept = WORDS.set(words);
}

/// Declares a constant for each setting, and the list of all.
macro_rules! settings {
    ($($name:ident $path:literal $doc:literal,)*) => {
        $(
            #[doc = concat!($doc, ": `", $path, "`.")]
            pub const $name: Setting = Setting($path);
        )*

        /// All settings.
        pub const ALL: &[Setting] = &[$($name),*];
    };
}

settings! {
    URL "target.url" "URL of the server",
    UNIX "target.unix" "Unix socket of the server",
    IPV4 "target.family=ipv4" "Connecting over IPv4 alone",
    IPV6 "target.family=ipv6" "Connecting over IPv6 alone",
    WAIT_FOR_SERVER "target.wait_ns" "Longest wait for the server",
    METHOD "request.method" "Method of the request",
    HEADER "request.headers" "A header of the request",
    USER "request.basic_auth" "User name and password",
    BODY "request.body" "Body of the request",
    BODY_SIZE "request.body.size" "Size of a generated body",
    FORM_FIELD "request.body.form" "Field of a form",
    GRPC "grpc.method" "Method of gRPC",
    GRPC_PROTO "grpc.protos" "File with the schema of a method",
    GRPC_BINARY "grpc.is_binary" "Bodies that are protobuf",
    DEBUG "debug" "Sending one request and showing it",
    LIST "list.source" "List of requests",
    REDIRECTS "request.redirects" "Redirects to follow",
    SCENARIO "list.source.scenario" "File of scenarios",
    LIST_FORMAT "list.format" "Format of the list",
    LIST_ORDER "list.order" "Order of the requests of the list",
    SKIP_OTHER_ORIGINS "list.skip_other_origins" "Leaving out requests of other origins",
    ROWS "templates.rows" "Rows with values of templates",
    ROWS_ORDER "templates.order" "Order of the rows with values",
    IMPORT_FORMAT "import.format" "Format of a file that a scenario is made from",
    IMPORT_ORIGIN "import.origin" "Origin of the requests of a scenario",
    IMPORT_RESOURCES "import.resources" "Keeping the resources of pages in a scenario",
    ALLOW_LOCAL "list.allow_local" "Reading files that the list names",
    GROUP "list.groups" "Requests that share a name",
    REPLAY "replay.file" "Log that is replayed",
    REPLAY_FORMAT "replay.format" "Format of the log",
    REPLAY_UNSAFE "replay.sends_unsafe" "Sending requests with unsafe methods",
    SPEED "replay.speed" "Speed of the replay",
    MESSAGES "messages.protocol" "Protocol of messages within responses",
    TOKENS "messages.tokens" "Value of messages that count",
    USAGE "messages.usage" "Place of the server's count of tokens",
    GOODPUT "messages.goodput" "Conditions of a good response",
    EXPECT "expect.all" "Expectation of responses",
    EXPECT_MAX_BODY "expect.body_max_bytes" "Limit of a decoded body",
    HTTP "http.version" "HTTP version",
    STREAMS "http.streams" "Streams of a connection in use at a time",
    H2_WINDOW "http.window_bytes" "Flow-control window of HTTP/2",
    HPACK_TABLE "http.header_table_bytes" "Tables of header compression",
    DATA_MATCH "websocket.match" "Field that a message and its echo have in common",
    WS_BINARY "websocket.binary" "Sending messages as binary ones",
    WS_IDLE "websocket.idle" "Sending no message",
    WS_FIRST "websocket.first" "First message of a connection",
    WS_ACK "websocket.await" "Awaiting a message of the server",
    WS_DEFLATE "websocket.deflate" "Offering permessage-deflate",
    INSECURE "tls.insecure" "Accepting any certificate",
    CA_FILE "tls.ca_file" "File of trusted certificates",
    CERT "tls.cert" "File with the certificate of the client",
    KEY "tls.key" "File with the private key of the client",
    SERVER_NAME "tls.server_name" "Server name of the handshake",
    TLS_MIN "tls.min_version" "Lowest version of TLS",
    TLS_MAX "tls.max_version" "Highest version of TLS",
    CIPHERS "tls.ciphers" "Cipher suites",
    TLS_RESUME "tls.resume" "Resuming of sessions",
    SCRIPT "script.file" "File of the script",
    SCRIPT_MEMORY "script.memory_bytes" "Memory of the script",
    RATE "load.due" "Rate of the load",
    CONNECTIONS "load.connections" "Number of connections",
    CONNECTIONS_MAX "load.connections.most" "Greatest number of connections of an open loop",
    IN_FLIGHT "load.in_flight_max" "Greatest number of requests in flight of an open loop",
    PIPELINE "load.pipeline" "Requests in flight on a connection of HTTP/1.1",
    WARMUP "load.warmup" "Length of the warm-up",
    STAGES "load.due.curve" "Stages of the load",
    DURATION "load.duration_ns" "Length of the window",
    REQUESTS "load.requests" "Number of requests",
    ABORT "load.abort" "Condition that ends the load early",
    CLOSE "connection.close" "The side that closes a connection after a response",
    CONNECT_TO "connection.destinations" "Destinations of the connections",
    SOURCE_IP "connection.sources" "Source addresses",
    CONNECTION_LIFETIME "connection.lifetime_ns" "Age at which a connection is replaced",
    THREADS "engine.threads" "Number of threads",
    PIN "engine.pin" "CPUs of the threads",
    IO "engine.io" "I/O engine",
    WAIT "engine.wait" "Receive strategy",
    SELFCHECK "checks.selfcheck" "Measuring the client's noise floor",
    PROVE_CLIENT "checks.prove_client" "Repeating the load with one more thread",
    WATCH_NGINX "watch.nginx" "Page of nginx with stub_status",
    WATCH_PROMETHEUS "watch.prometheus" "Page with metrics",
    WATCH_METRIC "watch.metrics" "A metric of that page",
    WATCH_PID "watch.processes" "Process of the server",
    WATCH_COMMAND "watch.commands" "Command that prints a number",
    WATCH_TIMEOUT "watch.timeout_ns" "Timeout of a reading",
    ACCESS_LOG "watch.access_log" "Access log of the server",
    CAPTURE "watch.captures" "Command whose output is kept",
    AGENTS "agents" "Number of agents of a fleet",
    PART "part" "Part of a run on several machines",
    START_AT "start_at_unix_ns" "Start of the load",
    OUTPUT "output" "File of the result",
    FORMAT "output.format" "Format of the result",
    VERBOSE "output.verbose" "Showing all of a report",
    ASSERT_CONFIDENCE "verdict.confidence" "Confidence of assertions",
    SAVE "history.save" "Name under which a run is saved",
    HISTORY "history.file" "File of saved runs",
    LAST "history.last" "Number of runs that are shown",
    PAIRS "study.pairs" "Number of pairs",
    METRIC "study.metrics" "A compared metric",
    PRECISE "study.precise" "Longer trials",
    MAX_RATE "study.max_rate" "Highest rate of a search",
    BEFORE "study.before" "Command before a trial",
    AFTER "study.after" "Command after a trial",
    IDENTITY "fleet.identity" "Identity on the bus of a fleet",
    AGENT_ALLOW "agent.targets" "Target that an agent allows",
    AGENT_MAX_RATE "agent.rate_max" "Highest rate that an agent allows",
    AGENT_MAX_CONNECTIONS "agent.connections_max" "Most connections that an agent allows",
    AGENT_MAX_DURATION "agent.duration_max_ns" "Longest load that an agent allows",
    AGENT_NAME "agent.name" "The name of an agent",
    AGENT_PERMIT "agent.permits" "A thing that an agent permits",
    HOOK_TIMEOUT "study.hook_timeout_ns" "Timeout of such a command",
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_setting_is_named_by_its_path_until_there_are_words() {
        assert_eq!(format!("{BODY} cannot be read"), "`request.body` cannot be read");
        name_settings(|setting| (setting == BODY).then_some("--body"));
        name_settings(|_| Some("the first words stay"));
        assert_eq!(format!("{BODY} and {KEY}"), "--body and `tls.key`");
    }

    #[test]
    fn paths_are_unique() {
        let paths: HashSet<&str> = ALL.iter().map(|setting| setting.path()).collect();
        assert_eq!(paths.len(), ALL.len());
    }
}
