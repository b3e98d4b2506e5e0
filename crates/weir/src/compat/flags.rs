//! The flags of wrk and of wrk2, and the usage text that lists them. What a flag does with its
//! value is not known here.

use std::fmt::Write;

use super::Dialect;
use super::getopt::Spec;

/// Meaning of a flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flag {
    /// `-c`
    Connections,
    /// `-d`
    Duration,
    /// `-t`
    Threads,
    /// `-s`
    Script,
    /// `-H`
    Header,
    /// `-L`
    Latency,
    /// `-U`, wrk2 alone
    Uncorrected,
    /// `-B`, wrk2 alone
    Batch,
    /// `-T`
    Timeout,
    /// `-h`, `-r` and `-?`
    Help,
    /// `-v`
    Version,
    /// `-R`, wrk2 alone
    Rate,
    /// `-D`, of DeathStarBench's wrk2
    Arrivals,
    /// `-S`, of DeathStarBench's wrk2
    Separate,
    /// `-r`, of DeathStarBench's wrk2
    Sent,
}

/// Every flag with the letter that stands for its value, if it has one, and its help. The order is
/// that in which getopt names candidates for a shortened name.
const FLAGS: [(Flag, char, &str, &str, &str); 15] = [
    (Flag::Connections, 'c', "connections", "N", "Connections over all threads (10)"),
    (Flag::Duration, 'd', "duration", "T", "Duration of the test (10s)"),
    (Flag::Threads, 't', "threads", "N", "Threads (2)"),
    (Flag::Script, 's', "script", "S", "Lua script that makes the requests"),
    (Flag::Header, 'H', "header", "H", "Add a header, \"Name: value\""),
    (Flag::Latency, 'L', "latency", "", "Print latency percentiles"),
    (Flag::Uncorrected, 'U', "u_latency", "", "Also print latency from the send; implies -L"),
    (Flag::Batch, 'B', "batch_latency", "", "One latency per batch of pipelined requests"),
    (Flag::Timeout, 'T', "timeout", "T", "Response timeout (2s)"),
    (Flag::Help, 'h', "help", "", "Print this help"),
    (Flag::Version, 'v', "version", "", "Print the version"),
    (Flag::Rate, 'R', "rate", "N", "Requests per second over all threads (required)"),
    (Flag::Arrivals, 'D', "dist", "S", "Arrivals: fixed, or exp for Poisson (fixed)"),
    (Flag::Separate, 'S', "separate", "", "Report per URL (weir loads one)"),
    (Flag::Sent, 'r', "requests", "", "Print the number of requests sent"),
];

/// Options of forks of wrk2 that weir does not have: letter, name, fork and remedy.
const ELSEWHERE: [(char, &str, &str, &str); 9] = [
    ('P', "", "DeathStarBench wrk2", "weir -R N --raw FILE stores each latency"),
    ('p', "", "DeathStarBench wrk2", "weir -R N -o FILE stores a time series"),
    ('f', "file", "wrk3", "run the rates one by one, each with -R"),
    ('o', "stats-file", "wrk3", "weir -R N -o FILE stores a time series"),
    ('w', "window-cx-reset", "wrk3", "use weir --connection-lifetime T"),
    ('b', "blocking", "wrk3", "omit it: weir always sends one request at a time"),
    ('N', "lua-dont-pass-body", "kinvolk's wrk2", "omit it: weir passes declared arguments"),
    ('a', "affinity", "wrkx", "set the CPUs by taskset -c LIST"),
    ('u', "", "a patched wrk2", "omit it: arrivals are evenly spread"),
];

/// The remedy for an option that `dialect` does not have, as in `-P` or `--file`.
pub(super) fn hint(dialect: Dialect, unknown: &str) -> Option<String> {
    let is_it = |short: char, long: &str| match unknown.strip_prefix("--") {
        Some(name) => !long.is_empty() && name == long,
        None => unknown.strip_prefix('-').is_some_and(|letter| letter.chars().eq([short])),
    };
    let own = FLAGS.iter().find(|(flag, short, long, ..)| {
        dialect == Dialect::Wrk && !knows(dialect, *flag) && is_it(*short, long)
    });
    if let Some((_, short, ..)) = own {
        return Some(format!(
            "-{short} is an option of wrk2; use weir --compat wrk2, or a link named wrk2"
        ));
    }
    let other = ELSEWHERE.iter().find(|(short, long, ..)| is_it(*short, long));
    other.map(|(short, _, fork, remedy)| format!("-{short} is an option of {fork}; {remedy}"))
}

/// The flags of `dialect` as getopt wants them.
pub(super) fn specs(dialect: Dialect) -> Vec<Spec<Flag>> {
    let listed = FLAGS.iter().filter(|(flag, ..)| knows(dialect, *flag)).map(
        |&(flag, short, long, value, _)| {
            let is_addition = matches!(flag, Flag::Arrivals | Flag::Separate | Flag::Sent);
            Spec { flag, short, long, takes_value: !value.is_empty(), is_addition }
        },
    );
    let unlisted = ['r', '?'].map(|short| Spec {
        flag: Flag::Help,
        short,
        long: "",
        takes_value: false,
        is_addition: false,
    });
    listed.chain(unlisted).collect()
}

/// Text printed if the command line cannot be run.
pub(super) fn usage(dialect: Dialect) -> String {
    let mut text = format!("Usage: {dialect} <options> <url>\n  Options:\n");
    for (flag, short, long, value, help) in FLAGS {
        if knows(dialect, flag) {
            let value = if value.is_empty() { String::new() } else { format!("<{value}>") };
            writeln!(text, "    -{short}, --{long:<13} {value:3}  {help}")
                .expect("a string takes all that is written");
        }
    }
    text.push_str(
        "\n  <N> is a whole number, in thousands with k, in millions with M, and so on: G, T, P\n  \
         <T> is in whole seconds, minutes with m, hours with h\n\n  \
         This is weir; its own flags are listed by: weir --help\n",
    );
    text
}

fn knows(dialect: Dialect, flag: Flag) -> bool {
    match flag {
        Flag::Uncorrected
        | Flag::Batch
        | Flag::Rate
        | Flag::Arrivals
        | Flag::Separate
        | Flag::Sent => dialect == Dialect::Wrk2,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_of_wrk() {
        let expected = r#"Usage: wrk <options> <url>
  Options:
    -c, --connections   <N>  Connections over all threads (10)
    -d, --duration      <T>  Duration of the test (10s)
    -t, --threads       <N>  Threads (2)
    -s, --script        <S>  Lua script that makes the requests
    -H, --header        <H>  Add a header, "Name: value"
    -L, --latency            Print latency percentiles
    -T, --timeout       <T>  Response timeout (2s)
    -h, --help               Print this help
    -v, --version            Print the version

  <N> is a whole number, in thousands with k, in millions with M, and so on: G, T, P
  <T> is in whole seconds, minutes with m, hours with h

  This is weir; its own flags are listed by: weir --help
"#;
        assert_eq!(usage(Dialect::Wrk), expected);
    }

    #[test]
    fn usage_of_wrk2_lists_its_own_flags_too() {
        let usage = usage(Dialect::Wrk2);
        assert!(usage.starts_with("Usage: wrk2 <options> <url>\n  Options:\n"), "{usage}");
        for own in ["-R, --rate          <N>", "-U, --u_latency  ", "-B, --batch_latency  "] {
            assert!(usage.contains(&format!("\n    {own}")), "{own} in {usage}");
        }
        for forks in ["-D, --dist          <S>", "-S, --separate  ", "-r, --requests  "] {
            assert!(usage.contains(&format!("\n    {forks}")), "{forks} in {usage}");
        }
        assert!(usage.lines().all(|line| line.chars().count() <= 90), "{usage}");
    }

    #[test]
    fn a_hint_fits_a_terminal() {
        for dialect in [Dialect::Wrk, Dialect::Wrk2] {
            for (short, long, ..) in ELSEWHERE {
                let hint = hint(dialect, &format!("-{short}")).expect("known");
                assert!(hint.chars().count() <= 80, "{hint}");
                assert!(
                    long.is_empty() || self::hint(dialect, &format!("--{long}")) == Some(hint),
                    "{long}"
                );
            }
        }
        assert_eq!(hint(Dialect::Wrk2, "-R"), None);
        assert_eq!(hint(Dialect::Wrk2, "--"), None);
        assert_eq!(hint(Dialect::Wrk2, "--fi"), None);
        assert!(
            hint(Dialect::Wrk, "--rate")
                .is_some_and(|hint| hint.starts_with("-R is an option of wrk2; "))
        );
    }
}
