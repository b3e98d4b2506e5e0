//! The flags of wrk and of wrk2, and the usage text that lists them. What a flag does with its
//! value is not known here.

use super::Dialect;
use super::getopt::Spec;

/// Every flag with the letter that stands for its value, if it has one, and its help. The order is
/// that in which getopt names candidates for a shortened name.
const FLAGS: [(char, &str, &str, &str); 15] = [
    ('c', "connections", "N", "Connections over all threads (10)"),
    ('d', "duration", "T", "Duration of the test (10s)"),
    ('t', "threads", "N", "Threads (2)"),
    ('s', "script", "S", "Lua script that makes the requests"),
    ('H', "header", "H", "Add a header, \"Name: value\""),
    ('L', "latency", "", "Print latency percentiles"),
    ('U', "u_latency", "", "Also print latency from the send; implies -L"),
    ('B', "batch_latency", "", "One latency per batch of pipelined requests"),
    ('T', "timeout", "T", "Response timeout (2s)"),
    ('h', "help", "", "Print this help"),
    ('v', "version", "", "Print the version"),
    ('R', "rate", "N", "Requests per second over all threads (required)"),
    ('D', "dist", "S", "Arrivals: fixed, or exp for Poisson (fixed)"),
    ('S', "separate", "", "Report per URL (weir loads one)"),
    ('r', "requests", "", "Print the number of requests sent"),
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
    let mut others = FLAGS.iter().filter(|(short, ..)| !knows(dialect, *short));
    if let Some((short, ..)) = others.find(|(short, long, ..)| is_it(*short, long)) {
        return Some(format!(
            "-{short} is an option of wrk2; use weir --compat wrk2, or a link named wrk2"
        ));
    }
    let other = ELSEWHERE.iter().find(|(short, long, ..)| is_it(*short, long));
    other.map(|(short, _, fork, remedy)| format!("-{short} is an option of {fork}; {remedy}"))
}

/// The flags of `dialect` as getopt wants them.
pub(super) fn specs(dialect: Dialect) -> Vec<Spec> {
    let listed = FLAGS.iter().filter(|(short, ..)| knows(dialect, *short));
    let listed = listed.map(|&(short, long, value, _)| {
        let is_addition = matches!(short, 'D' | 'S' | 'r');
        Spec { short, long, takes_value: !value.is_empty(), is_addition }
    });
    let unlisted = |short| Spec { short, long: "", takes_value: false, is_addition: false };
    listed.chain(['r', '?'].map(unlisted)).collect()
}

/// Text printed if the command line cannot be run.
pub(super) fn usage(dialect: Dialect) -> String {
    let mut text = format!("Usage: {dialect} <options> <url>\n  Options:\n");
    for (short, long, value, help) in FLAGS {
        if knows(dialect, short) {
            let value = if value.is_empty() { String::new() } else { format!("<{value}>") };
            text += &format!("    -{short}, --{long:<13} {value:3}  {help}\n");
        }
    }
    text.push_str(
        "\n  <N> is a whole number, in thousands with k, in millions with M, and so on: G, T, P\n  \
         <T> is in whole seconds, minutes with m, hours with h\n\n  \
         This is weir; its own flags are listed by: weir --help\n",
    );
    text
}

/// True if a dialect has the flag of this letter.
fn knows(dialect: Dialect, short: char) -> bool {
    dialect == Dialect::Wrk2 || !matches!(short, 'U' | 'B' | 'R' | 'D' | 'S' | 'r')
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
