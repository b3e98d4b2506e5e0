//! `-h` is one screen, and `--help` has every flag in a group.

use crate::support::weir::weir;

#[test]
fn the_short_help_is_one_screen() {
    let help = weir("-h", &[]);
    assert_eq!((help.code(), help.stderr.as_str()), (0, ""));
    assert!(help.stdout.lines().count() <= 24, "{}", help.stdout);
    let too_wide = help.stdout.lines().find(|line| line.chars().count() > 80);
    assert_eq!(too_wide, None, "{}", help.stdout);
    for part in ["Usage: weir [options] URL", "Common options (--help", "Examples:"] {
        assert!(help.stdout.contains(part), "{part} is missing\n{}", help.stdout);
    }
    let examples = help.stdout.lines().filter(|line| line.starts_with("  weir "));
    assert_eq!(examples.count(), 2, "{}", help.stdout);

    // Each of its flags is in the long help too, with another text.
    let all = weir("--help", &[]).stdout;
    let flags = help.stdout.lines().map(str::trim).filter(|line| line.starts_with('-'));
    let flags: Vec<&str> = flags.filter_map(|line| line.split("  ").next()).collect();
    for flag in flags.iter().flat_map(|flags| flags.split(", ")) {
        assert!(all.contains(&format!(" {flag}")), "{flag} is not in\n{all}");
    }
    for flag in ["--from", "--stages", "--assert", "--expect", "--debug", "--tui"] {
        let is_there = flags.iter().any(|shown| shown.starts_with(flag));
        assert!(is_there, "{flag} is not in\n{}", help.stdout);
    }
}

/// Every flag, as its line begins.
const FLAGS: &[&str] = &[
    "-t, --threads",
    "-c, --connections",
    "-d, --duration",
    "-n, --requests",
    "--abort",
    "-R, --rate",
    "--arrivals",
    "--seed",
    "--warmup",
    "--pipeline",
    "--part",
    "--start-at",
    "-H, --header",
    "-X, --method",
    "-b, --body",
    "-s, --script",
    "-T, --timeout",
    "--connect-timeout",
    "--no-preflight",
    "-u, --user",
    "-k, --insecure",
    "--cacert",
    "--redact",
    "--no-redact",
    "--close",
    "--requests-per-connection",
    "--connection-lifetime",
    "--connect-rate",
    "--source-ip",
    "--connect-to",
    "--unix",
    "--io",
    "--timestamps",
    "--witness",
    "--selfcheck",
    "--prove-client",
    "--watch-nginx",
    "--watch-prometheus",
    "--watch-metric",
    "--watch-pid",
    "--watch-command",
    "--access-log",
    "--capture",
    "--note",
    "--assert",
    "--junit",
    "--github",
    "--rules",
    "--no-verdict",
    "-L, --latency",
    "--format",
    "-o, --output",
    "--save",
    "--tag",
    "--history",
    "--raw",
    "--print-plan",
    "--tui",
    "--listen",
    "-q, --quiet",
    "--compat",
    "-v, --version",
    "-h ",
    "--help",
];

#[test]
fn the_help_names_the_place_of_a_password() {
    let help = weir("--help", &[]).stdout;
    assert!(help.contains("http[s]://[USER:PASS@]HOST[:PORT]/PATH"), "{help}");
}

#[test]
fn the_long_help_fits_its_page_and_has_every_flag_in_a_group() {
    for words in [
        "--help",
        "serve --help",
        "serve -h",
        "report --help",
        "report -h",
        "history --help",
        "history trend -h",
        "doctor --help",
        "repeat --help",
        "ab -h",
        "sweep --help",
        "compare --help",
        "rerun --help",
        "resume --help",
        "completions --help",
        "man -h",
        "help load",
        "help streams",
        "help --assert",
    ] {
        let output = weir(words, &[]);
        assert_eq!((output.code(), output.stderr.as_str()), (0, ""), "{words}");
        let too_wide = output.stdout.lines().find(|line| line.chars().count() > 100);
        assert_eq!(too_wide, None, "{words}");
    }
    let help = weir("--help", &[]).stdout;
    let groups = [
        "Load",
        "Request",
        "Lists",
        "Streams",
        "TLS and credentials",
        "Connections",
        "Send and receive strategy",
        "Engine",
        "Client checks",
        "Server",
        "Verdict",
        "Output",
        "Other",
        "Exit status",
        "Commands",
        "Examples",
    ];
    let places: Vec<_> = groups.iter().map(|group| help.find(&format!("\n{group}:"))).collect();
    assert!(places.is_sorted() && !places.contains(&None), "{places:?}\n{help}");
    for flag in FLAGS {
        let starts = |line: &str| line.trim_start().starts_with(flag);
        assert!(help.lines().any(starts), "{flag} is missing\n{help}");
    }
    // The flags of the send and receive strategy are in one group.
    let strategy = help.split("\nSend and receive strategy:\n").nth(1).expect("it is a group");
    let strategy = strategy.split("\n\n").next().unwrap_or_default();
    for flag in ["--pacing", "--wait", "--tick"] {
        assert!(strategy.contains(flag), "{flag} is not in\n{strategy}");
    }
    assert!(help.contains("ab's -k, keep-alive"), "{help}");
}
