//! The program's words for settings: its flags.

use weir_text::Setting;
use weir_text::setting::*;

/// Every setting and its flag.
const NAMES: &[(Setting, &str)] = &[
    (URL, "the URL"),
    (UNIX, "--unix"),
    (IPV4, "--ipv4"),
    (IPV6, "--ipv6"),
    (WAIT_FOR_SERVER, "--wait-for-server"),
    (METHOD, "--method"),
    (HEADER, "--header"),
    (USER, "-u"),
    (BODY, "--body"),
    (BODY_SIZE, "--body-size"),
    (FORM_FIELD, "--form-field"),
    (GRPC, "--grpc"),
    (GRPC_PROTO, "--proto"),
    (GRPC_BINARY, "--grpc-binary"),
    (DEBUG, "--debug"),
    (LIST, "--from"),
    (SCENARIO, "--scenario"),
    (REDIRECTS, "--follow"),
    (LIST_FORMAT, "--from-format"),
    (LIST_ORDER, "--order"),
    (SKIP_OTHER_ORIGINS, "--skip-other-origins"),
    (ROWS, "--rows"),
    (ROWS_ORDER, "--rows-order"),
    (IMPORT_FORMAT, "--format"),
    (IMPORT_ORIGIN, "--origin"),
    (IMPORT_RESOURCES, "--resources"),
    (ALLOW_LOCAL, "--allow-local"),
    (GROUP, "--group"),
    (REPLAY, "--replay"),
    (REPLAY_FORMAT, "--replay-format"),
    (REPLAY_UNSAFE, "--replay-unsafe"),
    (SPEED, "--speed"),
    (MESSAGES, "--sse"),
    (TOKENS, "--tokens"),
    (USAGE, "--usage"),
    (GOODPUT, "--goodput"),
    (EXPECT, "--expect"),
    (EXPECT_MAX_BODY, "--expect-max-body"),
    (HTTP, "--http"),
    (STREAMS, "--streams"),
    (H2_WINDOW, "--h2-window"),
    (HPACK_TABLE, "--hpack-table"),
    (DATA_MATCH, "--match"),
    (WS_BINARY, "--ws-binary"),
    (WS_IDLE, "--ws-idle"),
    (WS_FIRST, "--ws-first"),
    (WS_ACK, "--ws-ack"),
    (WS_DEFLATE, "--ws-deflate"),
    (INSECURE, "--insecure"),
    (CA_FILE, "--cacert"),
    (CERT, "--cert"),
    (KEY, "--key"),
    (SERVER_NAME, "--sni"),
    (TLS_MIN, "--tls-min"),
    (TLS_MAX, "--tls-max"),
    (CIPHERS, "--ciphers"),
    (TLS_RESUME, "--tls-resume"),
    (SCRIPT, "--script"),
    (SCRIPT_MEMORY, "--script-memory"),
    (RATE, "-R"),
    (CONNECTIONS, "-c"),
    (CONNECTIONS_MAX, "-c"),
    (IN_FLIGHT, "--in-flight"),
    (PIPELINE, "--pipeline"),
    (WARMUP, "--warmup"),
    (STAGES, "--stages"),
    (DURATION, "-d"),
    (REQUESTS, "-n"),
    (ABORT, "--abort"),
    (CLOSE, "--close"),
    (CONNECT_TO, "--connect-to"),
    (SOURCE_IP, "--source-ip"),
    (CONNECTION_LIFETIME, "--connection-lifetime"),
    (THREADS, "-t"),
    (PIN, "--pin"),
    (IO, "--io"),
    (WAIT, "--wait"),
    (SELFCHECK, "--selfcheck"),
    (PROVE_CLIENT, "--prove-client"),
    (WATCH_NGINX, "--watch-nginx"),
    (WATCH_PROMETHEUS, "--watch-prometheus"),
    (WATCH_METRIC, "--watch-metric"),
    (WATCH_PID, "--watch-pid"),
    (WATCH_COMMAND, "--watch-command"),
    (WATCH_TIMEOUT, "--watch-timeout"),
    (ACCESS_LOG, "--access-log"),
    (CAPTURE, "--capture"),
    (AGENTS, "--agents"),
    (PART, "--part"),
    (START_AT, "--start-at"),
    (OUTPUT, "-o"),
    (FORMAT, "--format"),
    (VERBOSE, "--verbose"),
    (ASSERT_CONFIDENCE, "--assert-confidence"),
    (SAVE, "--save"),
    (HISTORY, "--history"),
    (LAST, "-n"),
    (PAIRS, "--pairs"),
    (METRIC, "--metric"),
    (PRECISE, "--precise"),
    (MAX_RATE, "--max-rate"),
    (BEFORE, "--before"),
    (AFTER, "--after"),
    (IDENTITY, "--identity"),
    (AGENT_ALLOW, "--allow"),
    (AGENT_MAX_RATE, "--max-rate"),
    (AGENT_MAX_CONNECTIONS, "--max-connections"),
    (AGENT_MAX_DURATION, "--max-duration"),
    (AGENT_NAME, "--name"),
    (AGENT_PERMIT, "--permit"),
    (HOOK_TIMEOUT, "--hook-timeout"),
];

/// Returns the flag of a setting.
pub(crate) fn flag(setting: Setting) -> Option<&'static str> {
    NAMES.iter().find(|(named, _)| *named == setting).map(|(_, flag)| *flag)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use clap::{Command, CommandFactory};
    use weir_text::setting::ALL;

    use super::*;
    use crate::args::Cli;

    /// Adds the flags of a command and of its subcommands.
    fn add_flags(command: &Command, flags: &mut HashSet<String>) {
        for arg in command.get_arguments() {
            flags.extend(arg.get_short().map(|short| format!("-{short}")));
            flags.extend(arg.get_long().map(|long| format!("--{long}")));
        }
        command.get_subcommands().for_each(|sub| add_flags(sub, flags));
    }

    #[test]
    fn every_setting_has_a_flag_that_exists() {
        let mut flags = HashSet::from(["the URL".to_owned()]);
        add_flags(&Cli::command(), &mut flags);
        for setting in ALL {
            let named = flag(*setting).unwrap_or_default();
            assert!(flags.contains(named), "{}: {named:?}", setting.path());
        }
    }
}
