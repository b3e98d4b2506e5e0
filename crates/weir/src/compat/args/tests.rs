//! Command lines and the results of parsing them, one table per idea.

use super::*;
use weir_text::printable;

use std::os::unix::ffi::OsStrExt;

use crate::compat::Dialect::{Wrk, Wrk2};

const URL: &str = "http://h/";

fn defaults() -> CompatArgs {
    CompatArgs {
        head: Head { threads: 2, connections: 10, duration_s: 10, url: URL.to_owned() },
        blocks: OptionalBlocks::default(),
        timeout_ms: 2000,
        rate: None,
        arrivals: ArrivalsChoice::Uniform,
        script: None,
        headers: Vec::new(),
        batch: false,
        script_args: Vec::new(),
    }
}

/// Words as a shell would split them; `'` quotes.
fn argv(dialect: Dialect, line: &str) -> Vec<OsString> {
    let mut words = vec![OsString::from(dialect.to_string())];
    let mut word: Option<String> = None;
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => {
                is_quoted = !is_quoted;
                word.get_or_insert_default();
            }
            ' ' if !is_quoted => words.extend(word.take().map(OsString::from)),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word.map(OsString::from));
    words
}

/// Checks that `line` runs, with `change` applied to the defaults.
fn check(dialect: Dialect, line: &str, change: impl FnOnce(&mut CompatArgs)) {
    let mut args = defaults();
    change(&mut args);
    let expected = Parsed { args: Ok(args), stdout: String::new() };
    assert_eq!(parse(dialect, &argv(dialect, line)), expected, "{line}");
}

/// Checks that `line` stops with `complaint` on standard error, where `…` may truncate it, and with
/// the usage alone on standard output.
fn check_stop(dialect: Dialect, line: &str, complaint: &str) {
    let Parsed { stdout, args: Err(stderr) } = parse(dialect, &argv(dialect, line)) else {
        panic!("{line} runs");
    };
    assert_eq!(stdout, usage(dialect), "{line}");
    match complaint.strip_suffix('…') {
        Some(start) => assert!(stderr.starts_with(start), "{line}: {stderr}"),
        None => assert_eq!(stderr, complaint, "{line}"),
    }
}

/// Checks that all lines have the same meaning.
fn check_all(lines: &[&str], change: impl Fn(&mut CompatArgs)) {
    for line in lines {
        check(Wrk, line, &change);
    }
}

#[test]
fn defaults_are_those_of_wrk() {
    check(Wrk, URL, |_| ());
    check(Wrk2, "-R1 http://h/", |args| args.rate = Some(1));
}

#[test]
fn every_flag_in_every_form() {
    let lines = ["-t3 http://h/", "-t 3 http://h/", "--threads 3 http://h/"];
    check_all(&lines, |args| args.head.threads = 3);
    check_all(&["--threads=3 http://h/", "--thr 3 http://h/", "--th=3 http://h/"], |args| {
        args.head.threads = 3;
    });
    check_all(&["-c5 http://h/", "-c 5 http://h/", "--conn=5 http://h/", "--c 5 http://h/"], |a| {
        a.head.connections = 5;
    });
    check_all(&["-d2m http://h/", "-d 120 http://h/", "--dur=120s http://h/"], |args| {
        args.head.duration_s = 120;
    });
    check_all(&["-T5 http://h/", "-T 5s http://h/", "--timeout=5 http://h/"], |args| {
        args.timeout_ms = 5000;
    });
    check_all(&["-sa.lua http://h/", "-s a.lua http://h/", "--script=a.lua http://h/"], |args| {
        args.script = Some(PathBuf::from("a.lua"));
    });
    check_all(&["-L http://h/", "--latency http://h/", "--lat http://h/", "--l http://h/"], |a| {
        a.blocks.latency = true;
    });
    check_all(&["-HA:1 http://h/", "-H 'A: 1' http://h/", "--header='A: 1' http://h/"], |args| {
        args.headers = vec![("A".to_owned(), "1".to_owned())];
    });
}

#[test]
fn whole_command_lines() {
    check(Wrk, "-t2 -c100 -d30s http://h/", |args| {
        (args.head.threads, args.head.connections, args.head.duration_s) = (2, 100, 30);
    });
    check(Wrk, "http://h/ -t4 -c 7", |args| (args.head.threads, args.head.connections) = (4, 7));
    check(Wrk, "-Lt4 -c7 http://h/ a b -d2m -- -z --y", |args| {
        (args.blocks.latency, args.head.threads, args.head.connections, args.head.duration_s) =
            (true, 4, 7, 120);
        args.script_args = ["a", "b", "-z", "--y"].map(str::to_owned).to_vec();
    });
    check(Wrk, "-t12 -c400 -d30s --latency --timeout 8s -s p.lua http://h/ 1 '' 'a b'", |args| {
        (args.head.threads, args.head.connections, args.head.duration_s) = (12, 400, 30);
        (args.blocks.latency, args.timeout_ms) = (true, 8000);
        args.script = Some(PathBuf::from("p.lua"));
        args.script_args = ["1", "", "a b"].map(str::to_owned).to_vec();
    });
    check(Wrk2, "-t2 -c100 -d30s -R2000 --latency http://h/", |args| {
        (args.head.threads, args.head.connections, args.head.duration_s) = (2, 100, 30);
        (args.rate, args.blocks.latency) = (Some(2000), true);
    });
}

#[test]
fn words_after_the_url_are_the_scripts() {
    check(Wrk, "-- http://h/ -t9", |args| args.script_args = vec!["-t9".to_owned()]);
    check(Wrk, "http://h/ -", |args| args.script_args = vec!["-".to_owned()]);
    check(Wrk, "http://h/ -- a -- b", |args| {
        args.script_args = ["a", "--", "b"].map(str::to_owned).to_vec();
    });
    check_stop(Wrk, "a http://h/", "invalid URL: a");
    check_stop(Wrk, "-- -t9 http://h/", "invalid URL: -t9");
}

#[test]
fn flags_of_wrk2() {
    for line in ["-R2k", "-R 2000", "--rate 2k", "--rate=2000", "--r '2 k'"] {
        check(Wrk2, &format!("{line} http://h/"), |args| args.rate = Some(2000));
    }
    for line in ["-R1 -U", "-UR1", "-R1 --u_latency", "--u --rate=1", "-R1 -UL"] {
        check(Wrk2, &format!("{line} http://h/"), |args| {
            (args.rate, args.blocks.latency, args.blocks.uncorrected) = (Some(1), true, true);
        });
    }
    for line in ["-R1 -B", "-BR1", "-R1 --batch_latency", "--b --rate=1"] {
        check(Wrk2, &format!("{line} http://h/"), |args| {
            (args.rate, args.batch) = (Some(1), true);
        });
    }
    for (letter, rest) in [('R', "1"), ('U', ""), ('B', ""), ('D', " exp"), ('S', "")] {
        let expected = format!(
            "wrk: invalid option -- '{letter}'\n\
             -{letter} is an option of wrk2; use weir --compat wrk2, or a link named wrk2"
        );
        check_stop(Wrk, &format!("-{letter}{rest} http://h/"), &expected);
    }
    let expected = "wrk: unrecognized option '--rate=1'\n-R is an option of wrk2; …";
    check_stop(Wrk, "--rate=1 http://h/", expected);
    check_stop(Wrk, "--u http://h/", "wrk: unrecognized option '--u'");
}

/// Options of DeathStarBench's wrk2.
#[test]
fn options_of_deathstarbench() {
    for (words, arrivals) in [
        ("-D exp", ArrivalsChoice::Poisson),
        ("--dist=exp", ArrivalsChoice::Poisson),
        ("-Dfixed", ArrivalsChoice::Uniform),
        ("-D exp --dist fixed", ArrivalsChoice::Uniform),
    ] {
        check(Wrk2, &format!("{words} http://h/ -R10"), |args| {
            (args.rate, args.arrivals) = (Some(10), arrivals);
        });
    }
    for law in ["norm", "zipf"] {
        let expected = format!("invalid --dist: {law} is not supported; use fixed or exp");
        check_stop(Wrk2, &format!("-D {law} http://h/ -R10"), &expected);
    }
    let expected = "invalid --dist: poisson (these are valid: fixed, exp)";
    check_stop(Wrk2, "-D poisson http://h/ -R10", expected);
    for words in ["-r", "--requests", "--req"] {
        check(Wrk2, &format!("{words} http://h/ -R10"), |args| {
            (args.rate, args.blocks.sent) = (Some(10), true);
        });
    }
    for words in ["-S", "--separate", "--sep"] {
        check(Wrk2, &format!("{words} http://h/ -R10"), |args| args.rate = Some(10));
    }
    check(Wrk2, "-S http://h/ word -R10", |args| {
        (args.rate, args.script_args) = (Some(10), vec!["word".to_owned()]);
    });
    let expected = "invalid --separate: http://g/ is a second URL; run wrk2 per URL";
    check_stop(Wrk2, "-S http://h/ http://g/ -R10", expected);
}

/// Options of forks do not make abbreviations of wrk2's own options ambiguous.
#[test]
fn shortened_names_are_those_of_wrk2() {
    check(Wrk2, "--r 10 --d 1 --s a.lua http://h/", |args| {
        (args.rate, args.head.duration_s) = (Some(10), 1);
        args.script = Some(PathBuf::from("a.lua"));
    });
}

#[test]
fn flags_of_other_forks_are_known() {
    for (words, expected) in [
        ("-P", "-P is an option of DeathStarBench wrk2; weir -R N --raw FILE …"),
        ("-Lp", "-p is an option of DeathStarBench wrk2; weir -R N -o FILE …"),
        ("-f rates.csv", "-f is an option of wrk3; …"),
        ("--file=rates.csv", "-f is an option of wrk3; …"),
        ("-w 20", "-w is an option of wrk3; use weir --connection-lifetime T"),
        ("-b", "-b is an option of wrk3; …"),
        ("--lua-dont-pass-body", "-N is an option of kinvolk's wrk2; …"),
        ("-a 1,2", "-a is an option of wrkx; …"),
    ] {
        let line = format!("-R10 {words} http://h/");
        let Parsed { args: Err(stderr), .. } = parse(Wrk2, &argv(Wrk2, &line)) else {
            panic!("{line} runs");
        };
        let [complaint, hint] = stderr.lines().collect::<Vec<_>>()[..] else {
            panic!("{line}: {stderr}");
        };
        assert!(complaint.starts_with("wrk2: "), "{line}: {stderr}");
        let start = expected.strip_suffix('…').unwrap_or(expected);
        assert!(hint.starts_with(start), "{line}: {stderr}");
    }
}

#[test]
fn wrk2_wants_a_rate() {
    let complaint = "Throughput MUST be specified with the --rate or -R option";
    check_stop(Wrk2, URL, complaint);
    check_stop(Wrk2, "-R0 http://h/", complaint);
    check_stop(Wrk2, "-R1.5 http://h/", "invalid --rate: 1.5…");
    check_stop(Wrk2, "-R", "wrk2: option requires an argument -- 'R'");
}

#[test]
fn numbers_have_metric_units() {
    for (text, expected) in [
        ("10k", 10_000),
        ("'1 k'", 1_000),
        ("1K", 1_000),
        ("2m", 2_000_000),
        ("2M", 2_000_000),
        ("1G", 1_000_000_000),
        ("'1k z'", 1_000),
    ] {
        check(Wrk, &format!("-c {text} http://h/"), |args| args.head.connections = expected);
    }
    for wrong in ["1.5k", "10kx", "''", "x", "-1", "1e3", "18446744073709551616", "20000p"] {
        for flag in ["-c", "-t"] {
            check_stop(Wrk, &format!("{flag} {wrong} http://h/"), "invalid --…");
        }
    }
    check_stop(Wrk, "-c 10kx u", "invalid --connections: 10kx…");
    check_stop(Wrk, "--thr 3x u", "invalid --threads: 3x…");
}

#[test]
fn times_have_units() {
    for (text, seconds) in [("30", 30), ("30s", 30), ("2m", 120), ("1h", 3600), ("'1 H'", 3600)] {
        check(Wrk, &format!("-d {text} http://h/"), |args| args.head.duration_s = seconds);
        check(Wrk, &format!("-T {text} http://h/"), |args| args.timeout_ms = seconds * 1000);
    }
    for wrong in ["500ms", "1.5s", "1d", "1m30s", "5k", "-1", "''", "99999999999999999h"] {
        for (flag, name) in [("-d", "duration"), ("-T", "timeout")] {
            check_stop(Wrk, &format!("{flag} {wrong} http://h/"), &format!("invalid --{name}…"));
        }
    }
}

#[test]
fn zero_is_too_little() {
    check_stop(Wrk, "-t0 http://h/", "invalid --threads: it must be > 0");
    check_stop(Wrk, "-d0 http://h/", "invalid --duration: it must be > 0");
    check_stop(Wrk, "-T0 http://h/", "invalid --timeout: it must be > 0");
    check_stop(Wrk, "-t0 -c0 u", "invalid --threads: it must be > 0");
}

#[test]
fn connections_go_round_threads() {
    let complaint = "number of connections must be >= threads";
    check_stop(Wrk, "-c0 -t1 http://h/", complaint);
    check_stop(Wrk, "-c1 http://h/", complaint);
    check_stop(Wrk, "-t11 http://h/", complaint);
    check_stop(Wrk2, "-R1 -c1 http://h/", complaint);
    check_stop(Wrk2, "-c1 http://h/", complaint);
    check(Wrk, "-c1 -t1 http://h/", |args| (args.head.connections, args.head.threads) = (1, 1));
    check(Wrk, "-c7 -t4 http://h/", |args| (args.head.connections, args.head.threads) = (7, 4));
}

#[test]
fn the_last_of_a_flag_counts() {
    check(Wrk, "-t0 -t3 -c9 http://h/ -c5 -d1 -d0 -d2", |args| {
        (args.head.threads, args.head.connections, args.head.duration_s) = (3, 5, 2);
    });
    check(Wrk, "-s a -s b -LL http://h/", |args| {
        (args.script, args.blocks.latency) = (Some(PathBuf::from("b")), true);
    });
}

#[test]
fn headers() {
    for (words, expected) in [
        ("-H 'A: b'", vec![("A", "b")]),
        ("-H 'A:b'", vec![("A", "b")]),
        ("-H 'A:  b '", vec![("A", " b ")]),
        ("-H 'A:'", vec![("A", "")]),
        ("-H 'A: '", vec![("A", "")]),
        ("-H 'A: b: c'", vec![("A", "b: c")]),
        ("-H 'A:b: c'", vec![("A", "b: c")]),
        ("-H 'A: 1' -H 'B: 2'", vec![("A", "1"), ("B", "2")]),
        ("-H 'A: 1' -H 'B: 2' -H 'A: 3'", vec![("A", "3"), ("B", "2")]),
        ("-H 'A: 1' -H 'a: 2'", vec![("A", "1"), ("a", "2")]),
        ("-H 'host: a'", vec![("Host", "a")]),
        ("-H 'Host: a' -H 'host: b'", vec![("Host", "b")]),
        ("-H 'Host: a' -H 'HOST: b' --header 'Host: c'", vec![("Host", "c")]),
    ] {
        check(Wrk, &format!("{words} http://h/"), |args| {
            args.headers = expected.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
        });
    }
    for wrong in ["A", "", ": b", ":"] {
        let complaint = format!("invalid header: {wrong} (write \"Name: value\")");
        check_stop(Wrk, &format!("-H '{wrong}' http://h/"), &complaint);
    }
}

#[test]
fn urls_have_a_scheme_and_a_host() {
    for url in [
        "http://h",
        "HTTP://h",
        "https://h:443/x?y#z",
        "http://h?x",
        "http://h#x",
        "http://[::1]:80/",
        "http://me:secret@h/",
        "http://@h/",
        "http://a_b/",
        "http://h/é",
        "ftp://h/",
    ] {
        check(Wrk, url, |args| args.head.url = url.to_owned());
    }
    for wrong in [
        "u",
        "''",
        "-",
        "/x",
        "//h/",
        "localhost:80",
        "http:",
        "http:/h",
        "http://",
        "http:///x",
        "http://:80",
        "http://?x",
        "http://#x",
        "http://@/",
        "http://[]/",
        "http://[::1",
        "://h",
        "h1://h",
        "a+b://h",
        "'http://a b/'",
        "'http://h/a b'",
        "'http://h/ '",
        "'http://h/a?b c'",
        "'http://h/#a b'",
        "http://h/a\tb",
        "http://h/\u{7f}",
        "/x?u=http://h/",
    ] {
        // Control characters reach no terminal.
        let shown = printable(wrong.trim_matches('\''));
        check_stop(Wrk, wrong, &format!("invalid URL: {shown}"));
    }
}

#[test]
fn complaints_of_getopt_name_the_program() {
    check_stop(Wrk, "-x", "wrk: invalid option -- 'x'");
    check_stop(Wrk2, "-x", "wrk2: invalid option -- 'x'");
    check_stop(Wrk, "--foo", "wrk: unrecognized option '--foo'");
    check_stop(Wrk, "-c", "wrk: option requires an argument -- 'c'");
    check_stop(Wrk, "--conn", "wrk: option '--connections' requires an argument");
    check_stop(Wrk, "--lat=3", "wrk: option '--latency' doesn't allow an argument");
    let possible = "wrk: option '--t' is ambiguous; possibilities: '--threads' '--timeout'";
    check_stop(Wrk, "--t", possible);
    let possible = "wrk: option '--h=1' is ambiguous; possibilities: '--header' '--help'";
    check_stop(Wrk, "--h=1", possible);
    let words = ["/opt/weir", "-x"].map(OsString::from);
    let Parsed { args: Err(stderr), .. } = parse(Wrk, &words) else { panic!("-x runs") };
    assert_eq!(stderr, "/opt/weir: invalid option -- 'x'");
}

#[test]
fn without_a_url_there_is_the_usage() {
    for line in ["", "-t2", "-h", "--help", "--hel", "-r", "-?", "-Lh http://h/", "--", "-t0"] {
        check_stop(Wrk, line, "");
        check_stop(Wrk2, line, "");
    }
    let usage = Parsed { stdout: usage(Wrk), args: Err(String::new()) };
    assert_eq!(parse(Wrk, &[]), usage);
}

#[test]
fn the_first_wrong_word_is_the_error() {
    check_stop(Wrk, "-x -c 1.5k", "wrk: invalid option -- 'x'");
    check_stop(Wrk, "-c 1.5k -x", "invalid --connections: 1.5k…");
    check_stop(Wrk, "-h -x", "");
    check_stop(Wrk, "u -x", "wrk: invalid option -- 'x'");
    check_stop(Wrk, "-c1 u", "invalid URL: u");
    check_stop(Wrk2, "u", "invalid URL: u");
}

#[test]
fn the_version_is_printed_and_reading_goes_on() {
    let line = |name| format!("weir {} [{name}] Copy…", env!("CARGO_PKG_VERSION"));
    for (dialect, words, times) in
        [(Wrk, "-v http://h/", 1), (Wrk, "http://h/ -vv --vers", 3), (Wrk2, "-v -R1 http://h/", 1)]
    {
        let Parsed { stdout, args: Ok(_) } = parse(dialect, &argv(dialect, words)) else {
            panic!("{words} does not run");
        };
        let start = line(dialect.to_string()).replace('…', "");
        assert_eq!(stdout.lines().count(), times, "{stdout}");
        assert!(stdout.lines().all(|line| line.starts_with(&start)), "{stdout}");
    }
    for (words, complaint) in [("-v", ""), ("-vx", "wrk: invalid option -- 'x'")] {
        let expected =
            Parsed { stdout: version(Wrk) + &usage(Wrk), args: Err(complaint.to_owned()) };
        assert_eq!(parse(Wrk, &argv(Wrk, words)), expected, "{words}");
    }
}

#[test]
fn what_is_no_utf8_is_passed_on_or_refused() {
    let of_bytes = |words: &[&[u8]]| {
        let words = words.iter().map(|word| OsStr::from_bytes(word).to_owned());
        parse(Wrk, &words.collect::<Vec<_>>())
    };
    let mut args = defaults();
    args.script = Some(PathBuf::from(OsStr::from_bytes(b"\xff.lua")));
    let run = Parsed { args: Ok(args), stdout: String::new() };
    assert_eq!(of_bytes(&[b"wrk", b"-s", b"\xff.lua", b"http://h/"]), run);
    for (words, complaint) in [
        ([b"-c\xff" as &[u8], b"http://h/"], "invalid --connections: \u{fffd}"),
        ([b"-HA: \xff", b"http://h/"], "invalid header: A [redacted]"),
        ([b"http://\xff/", b"a"], "invalid URL: http://\u{fffd}/"),
        ([b"http://h/", b"\xff"], "invalid argument: \u{fffd}"),
    ] {
        let Parsed { args: Err(stderr), .. } = of_bytes(&[b"wrk", words[0], words[1]]) else {
            panic!("runs in spite of {complaint}");
        };
        assert!(stderr.starts_with(complaint), "{stderr}");
    }
}
