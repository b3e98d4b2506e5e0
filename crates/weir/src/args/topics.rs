//! `weir help TOPIC` and `weir help --flag`: parts of `--help`, chosen by its headings. The texts
//! of flags stay with the flags.

use std::ffi::OsString;

use clap::{Arg, Command};
use weir_text::similar;

use super::wrong::wrong;

/// A part of the help: what a user wants to do, with the flags for it.
struct Topic {
    name: &'static str,
    /// One or two sentences before the flags.
    about: &'static str,
    /// Headings of `--help` whose flags are listed.
    headings: &'static [&'static str],
    /// Commands, without indentation, each with a remark.
    examples: &'static str,
}

const TOPICS: [Topic; 9] = [
    Topic {
        name: "load",
        about: "How much is sent, when, and for how long. Without --rate each connection sends its \
                next request once the last response is complete (closed loop). With --rate or \
                --stages requests are due at planned times, and latency counts from there.",
        headings: &["Load", "Send and receive strategy", "Engine", "Client checks"],
        examples: "\
weir -c 50 -d 30s http://localhost:8080/                     # as fast as the server responds
weir -R 2k -d 30s http://localhost:8080/                     # 2,000 requests per second
weir --stages 30s@1k,1m@1k..5k http://localhost:8080/        # a step, then a ramp
weir --replay access.log --speed 2x http://localhost:8080/   # a log, twice as fast",
    },
    Topic {
        name: "requests",
        about: "The request that is sent, and which responses are good. --debug sends one and \
                prints it with its response.",
        headings: &["Request"],
        examples: "\
weir --debug http://localhost:8080/                          # one request, one response, no load
weir -X PUT -b @item.json -H 'Content-Type: application/json' http://localhost:8080/item
weir --expect status=200 --expect 'body~welcome' http://localhost:8080/",
    },
    Topic {
        name: "lists",
        about: "Several requests: from a file of URLs, JSON lines, vegeta's targets, curl commands \
                or a HAR file of a browser, with results for each name; and fields in texts, as \
                {{seq}} or {{csv:user}}.",
        headings: &["Lists"],
        examples: "\
weir --from urls.txt http://localhost:8080/                  # one path or URL on each line
weir --from copied-as-curl.txt                               # commands from a browser
weir --from session.har --skip-other-origins https://shop.example/
weir -b '{\"user\":\"{{csv:user}}\"}' --rows users.csv http://localhost:8080/login",
    },
    Topic {
        name: "streams",
        about: "Responses in pieces: server-sent events (--sse, found by itself if the first \
                response is one), tokens of language models (TTFT, TPOT, ITL, \
                goodput: docs/guides/llm.md), gRPC, and WebSocket.",
        headings: &["Streams", "gRPC", "WebSocket (ws:// and wss://)"],
        examples: "\
weir -R 5 --sse http://localhost:8080/events                 # time to the first event, gaps
weir -R 5 --tokens json:/choices/0/delta/content -b @chat.json http://localhost:8000/
weir search 'ttft.p99 < 1s and tpot.p99 < 50ms' --tokens json:/c -b @chat.json http://llm/
weir --grpc helloworld.Greeter/SayHello -b '{\"name\":\"weir\"}' http://localhost:50051/
weir -b '{\"id\":1}' ws://localhost:8080/chat                  # messages and their echoes",
    },
    Topic {
        name: "connections",
        about: "How connections are opened, to which address, and when they are renewed. Their \
                number, -c, is in weir help load.",
        headings: &["Connections"],
        examples: "\
weir --http 2 -c 4 --streams 10 http://localhost:8080/       # HTTP/2 without TLS
weir --close client http://localhost:8080/                   # a new connection per request
weir --connect-to 127.0.0.1:8080 http://shop.example/        # another address, the same Host",
    },
    Topic {
        name: "tls",
        about: "Certificates, versions and ciphers of https:// and wss://, and credentials, which \
                are sent and never written to a result.",
        headings: &["TLS and credentials"],
        examples: "\
weir --cacert ca.pem https://localhost:8443/                 # trust this authority alone
weir -k https://localhost:8443/                              # accept any certificate
weir -u me:secret https://localhost:8443/                    # basic authentication",
    },
    Topic {
        name: "output",
        about: "What is printed and written, and what makes the exit status 3: claims about the \
                result (--assert) for a pipeline.",
        headings: &["Verdict", "Output"],
        examples: "\
weir -o report.html -o run.json http://localhost:8080/       # a page with plots; the document
weir --assert 'p99 < 50ms' --assert 'errors == 0' http://localhost:8080/
weir --tui http://localhost:8080/                            # figures while the load runs",
    },
    Topic {
        name: "server",
        about: "Figures of the server beside weir's: its counters, log, processes and metrics.",
        headings: &["Server"],
        examples: "\
weir --watch-nginx http://localhost:8080/nginx_status http://localhost:8080/
weir --watch-pid 4711 http://localhost:8080/                 # CPU and memory of a process",
    },
    Topic {
        name: "fleet",
        about: "One load from several machines: agents that a bus joins, one start, one report. \
                weir agent --help, weir fleet --help.",
        headings: &["Fleet"],
        examples: "\
weir --agents 2 http://localhost:8080/                       # two agents on this machine
weir --agents 8 --bus tls://lab0 --identity fleet/coordinator http://shop.example/",
    },
];

/// Names of the topics for a usage line and for errors.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|topic| topic.name)
}

/// Returns the text of `weir help TOPIC` or `weir help --flag` as clap's "error" that prints it, or
/// an error about a flag that there is not. None if the command line asks for neither.
pub(super) fn explain(argv: &[OsString], command: &Command) -> Option<clap::Error> {
    let words: Vec<&str> = argv.iter().skip(1).map(|word| word.to_str().unwrap_or("")).collect();
    let ["help", word] = words[..] else { return None };
    if let Some(topic) = TOPICS.iter().find(|topic| topic.name == word) {
        let is_listed =
            |arg: &Arg| arg.get_help_heading().is_some_and(|it| topic.headings.contains(&it));
        let command = only(command, is_listed).about(topic.about);
        let usage = match topic.name {
            "lists" => "weir --from FILE [options] [URL]",
            "streams" => "weir [options] http[s]|ws[s]://…",
            _ => "weir [options] URL",
        };
        return printed(command.override_usage(usage).after_help(examples(topic)));
    }
    if !word.starts_with('-') {
        return None;
    }
    let long = word.strip_prefix("--");
    let is_it = |arg: &Arg| match long {
        Some(long) => arg.get_long() == Some(long),
        None => word.len() == 2 && arg.get_short() == word.chars().nth(1),
    };
    let Some(flag) = command.get_arguments().find(|arg| is_it(arg)) else {
        let longs = command.get_arguments().filter_map(Arg::get_long);
        let hint = match similar(long.unwrap_or_default(), longs) {
            Some(similar) => format!("did you mean --{similar}?"),
            None => "weir --help lists all flags".to_owned(),
        };
        return Some(wrong(format!("unknown flag {word}: {hint}")));
    };
    let heading = flag.get_help_heading();
    let topic = TOPICS.iter().find(|topic| heading.is_some_and(|it| topic.headings.contains(&it)));
    let more = match topic {
        Some(topic) => format!("weir help {} lists the flags beside it.", topic.name),
        None => "weir --help lists all flags.".to_owned(),
    };
    printed(
        only(command, is_it)
            .about(None::<&str>)
            .override_usage("weir [options] URL")
            .after_help(more),
    )
}

/// Hides all flags but some, and the words that are no flag.
fn only(command: &Command, is_listed: impl Fn(&Arg) -> bool) -> Command {
    command.clone().mut_args(|arg| {
        let is_hidden = !is_listed(&arg);
        arg.hide(is_hidden)
    })
}

/// Returns clap's form of the help of a command.
fn printed(command: Command) -> Option<clap::Error> {
    command.try_get_matches_from(["weir", "--help"]).err()
}

fn examples(topic: &Topic) -> String {
    let lines = topic.examples.lines().map(|line| format!("\n  {line}"));
    format!("Examples:{}", lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use clap::error::ErrorKind;

    use super::super::Cli;
    use super::*;

    fn help(word: &str) -> (ErrorKind, String) {
        let argv = ["weir", "help", word].map(OsString::from);
        let error = Cli::of_words(argv).expect_err("help ends the program");
        (error.kind(), error.to_string())
    }

    #[test]
    fn every_heading_of_runs_is_in_one_topic() {
        let command = Cli::command();
        let headings = command.get_arguments().filter_map(Arg::get_help_heading);
        for heading in headings.filter(|heading| *heading != "Other") {
            let topics = TOPICS.iter().filter(|topic| topic.headings.contains(&heading));
            assert_eq!(topics.count(), 1, "{heading}");
        }
    }

    #[test]
    fn a_topic_lists_its_flags_and_no_other() {
        let (kind, text) = help("lists");
        assert_eq!(kind, ErrorKind::DisplayHelp);
        assert!(text.contains("--from ") && text.contains("weir --from urls.txt"), "{text}");
        assert!(!text.contains("--rate"), "{text}");
        for name in names() {
            assert_eq!(help(name).0, ErrorKind::DisplayHelp, "{name}");
        }
    }

    #[test]
    fn the_commands_of_topics_have_flags_that_exist() {
        for line in TOPICS.iter().flat_map(|topic| topic.examples.lines()) {
            let command = line.split(" #").next().unwrap_or(line);
            let words = shlex::split(command).expect("quotes are closed");
            if let Err(error) = Cli::of_words(words) {
                panic!("{command}: {error}");
            }
        }
    }

    #[test]
    fn help_of_one_flag_names_its_topic() {
        let (kind, text) = help("--stages");
        assert_eq!(kind, ErrorKind::DisplayHelp);
        assert!(text.contains("Rates one after the other"), "{text}");
        assert!(text.contains("weir help load") && !text.contains("--rows"), "{text}");
        assert_eq!(help("-R"), help("--rate"));
        let (kind, text) = help("--stage");
        assert_eq!(kind, ErrorKind::InvalidValue);
        assert!(text.contains("did you mean --stages?"), "{text}");
        assert!(help("serach").1.contains("a topic: load"), "{}", help("serach").1);
    }
}
