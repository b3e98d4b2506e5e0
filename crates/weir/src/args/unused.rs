//! Flags without effect, which are errors: those that need another flag, and formats of a standard
//! output that has another one. clap lets a flag pass whose needed flag conflicts with a third one,
//! so its `requires` is not enough.

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};
use weir_report::{Exporter, exporters};

use super::wrong::wrong;
use crate::output::{Output, Outputs};

/// A flag, the flags of which it needs one, and how that is written.
type Need = (&'static str, &'static [&'static str], &'static str);

/// The flags of a run that have an effect beside others alone.
const NEEDS: &[Need] = &[
    ("speed", &["replay"], "--replay FILE"),
    ("replay-unsafe", &["replay"], "--replay FILE"),
    ("replay-format", &["replay"], "--replay FILE"),
    ("from-format", &["from"], "--from FILE"),
    ("allow-local", &["from", "scenario"], "--from FILE or --scenario FILE"),
    ("templates", &["from"], "--from FILE"),
    ("rows-order", &["rows"], "--rows FILE"),
    ("script-memory", &["script"], "-s FILE"),
    ("expect-max-body", &["expect", "from", "scenario"], "--expect EXPECTATION"),
    ("proto", &["grpc"], "--grpc METHOD"),
    ("proto-path", &["proto"], "--proto FILE"),
    ("grpc-binary", &["grpc"], "--grpc METHOD"),
    ("grpc-timeout", &["grpc"], "--grpc METHOD"),
    ("start-at", &["part"], "--part K/N"),
    ("pacing", &["rate", "stages", "replay"], "a rate: -R N, or --stages"),
    (
        "watch-timeout",
        &["watch-nginx", "watch-prometheus", "watch-pid", "watch-command", "access-log"],
        "a watch, such as --watch-pid PID",
    ),
    ("watch-metric", &["watch-prometheus"], "--watch-prometheus URL"),
    ("watch-prometheus", &["watch-metric"], "--watch-metric METRIC"),
    ("assert-confidence", &["assert"], "--assert ASSERTION"),
    ("junit", &["assert"], "--assert ASSERTION"),
    ("tag", &["save"], "--save NAME"),
    ("history", &["save"], "--save NAME"),
    ("run-commands", &["spec"], "--spec FILE"),
    ("bus", &["agents"], "--agents N"),
    ("bus-within", &["bus"], "--bus URL"),
    ("agents-within", &["agents"], "--agents N"),
    ("identity", &["agents"], "--agents N"),
    ("insecure-bus", &["agents"], "--agents N"),
    ("on", &["agents"], "--agents N"),
    ("agent-weight", &["agents"], "--agents N"),
    ("on-loss", &["agents"], "--agents N"),
];

/// Flags of the report, which --quiet leaves out.
const OF_REPORT: [&str; 4] = ["format", "latency", "rules", "verbose"];

/// Checks that each given flag of a run has an effect. `is_study`: a study may choose the rate.
///
/// # Errors
/// When one has none.
pub(super) fn check(
    matches: &ArgMatches,
    command: &Command,
    is_study: bool,
) -> Result<(), clap::Error> {
    let is_given = |long: &str| {
        let arg = command.get_arguments().find(|arg| arg.get_long() == Some(long));
        let id = arg.map(Arg::get_id);
        id.is_some_and(|id| {
            matches.try_contains_id(id.as_str()).unwrap_or(false)
                && matches.value_source(id.as_str()) == Some(ValueSource::CommandLine)
        })
    };
    let is_unused =
        |(flag, needs, _): &&Need| is_given(flag) && !needs.iter().any(|needed| is_given(needed));
    let mut needs = NEEDS.iter().filter(|(_, needs, _)| !is_study || needs[0] != "rate");
    if let Some(need) = needs.find(is_unused) {
        return Err(unused(need));
    }
    // Those are reports too, as is what --selfcheck prints.
    let has_reports = ["output", "export", "selfcheck"].into_iter().any(is_given);
    let mut of_report = OF_REPORT.into_iter().filter(|long| is_given(long));
    match of_report.next().filter(|_| is_given("quiet") && !has_reports) {
        Some(long) => Err(wrong(format!(
            "--{long} has no effect beside --quiet, which prints no report: leave one of them out"
        ))),
        None => Ok(()),
    }
}

/// Returns the error for the words of a run of which clap has said that a flag is missing.
pub(super) fn of_words(words: &[&str]) -> Option<clap::Error> {
    let is_given = |long: &str| {
        words.iter().filter_map(|word| word.strip_prefix("--")).any(|word| {
            word.strip_prefix(long).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        })
    };
    // Those that clap requires; it has no such rule for the others.
    let mut needs = NEEDS.iter().filter(|(_, needs, _)| !matches!(needs[0], "rate" | "script"));
    let found = needs
        .find(|(flag, needs, _)| is_given(flag) && !needs.iter().any(|needed| is_given(needed)));
    found.map(unused)
}

fn unused((flag, _, needed): &Need) -> clap::Error {
    wrong(format!("--{flag} has no effect without {needed}: add it, or leave --{flag} out"))
}

/// Checks that the standard output of a command has one format.
///
/// # Errors
/// When `--format` chooses another one than `-o -`.
pub(super) fn check_stdout(matches: &ArgMatches) -> Result<(), clap::Error> {
    let innermost = std::iter::successors(Some(matches), |it| it.subcommand().map(|(_, it)| it));
    let matches = innermost.last().unwrap_or(matches);
    let format = matches.try_get_one::<Exporter>("format").ok().flatten();
    let files = matches.try_get_many::<Output>("output").ok().flatten();
    let files: Vec<Output> = files.into_iter().flatten().cloned().collect();
    match format {
        Some(format)
            if files.has_stdout() && ![exporters::TEXT, exporters::JSON].contains(format) =>
        {
            let name = format.name;
            Err(wrong(format!(
                "-o - prints the JSON document, and --format {name} another format: leave out -o -"
            )))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::CommandFactory;

    use super::*;
    use crate::args::{Cli, parse_study_run};

    fn message(line: &str) -> String {
        let words = std::iter::once("weir").chain(line.split_whitespace());
        match Cli::of_words(words) {
            Ok(_) => panic!("accepted: {line}"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_table_names_flags() {
        let command = Cli::command();
        let longs: Vec<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        for (flag, needs, needed) in NEEDS {
            assert!(longs.contains(flag), "--{flag}");
            assert!(needs.iter().all(|needed| longs.contains(needed)), "{needs:?}");
            let first = needs[0];
            let is_named = needed.contains(first) || *needed == "-s FILE" || needed.contains("-R");
            assert!(is_named || *flag == "watch-timeout", "--{flag}: {needed}");
        }
    }

    /// Each flag of the table is an error by itself, and beside flags that conflict with the one
    /// that it needs.
    #[test]
    fn a_flag_without_effect_is_an_error() {
        let of = |flag: &str| match flag {
            "speed" => "2x",
            "replay-format" => "har",
            "rows-order" => "random",
            "script-memory" | "expect-max-body" => "5M",
            "grpc-timeout" | "watch-timeout" | "bus-within" | "agents-within" => "5s",
            "start-at" => "4000000000",
            "pacing" => "spin",
            "watch-prometheus" => "http://h/",
            "assert-confidence" => "95",
            "on" => "agents",
            "agent-weight" => "cores",
            "on-loss" => "continue",
            "replay-unsafe" | "allow-local" | "templates" | "grpc-binary" | "run-commands"
            | "insecure-bus" => "",
            _ => "x",
        };
        for (flag, ..) in NEEDS {
            for beside in ["", "-d 5s", "-n 5 --pipeline 2", "-X PUT", "-b x"] {
                let line = format!("--{flag} {} {beside} http://h/", of(flag));
                let found = message(&line);
                let expected = format!("error: --{flag} has no effect without ");
                assert!(found.starts_with(&expected), "{line}: {found}");
            }
        }
        for line in ["--speed 2x -d 5s http://h/", "--script-memory 5M http://h/"] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let found = parse_study_run(&words).expect_err(line).to_string();
            assert!(found.contains("has no effect without"), "{line}: {found}");
        }
    }

    #[test]
    fn quiet_runs_have_no_report() {
        for flags in ["-q --format json", "-L --quiet", "-q --rules", "-q --verbose"] {
            let found = message(&format!("{flags} http://h/"));
            assert!(found.contains("beside --quiet"), "{flags}: {found}");
        }
        for flags in ["-q", "-q --verbose -o a.txt", "-q -L --export text=a.txt"] {
            let line = format!("{flags} http://h/");
            Cli::of_words(std::iter::once("weir").chain(line.split(' '))).expect(flags);
        }
    }

    #[test]
    fn standard_output_has_one_format() {
        for line in [
            "--format csv -o - http://h/",
            "report --format markdown -o - a.json",
            "compare --format html -o - a.json b.json",
            "repeat --format csv -o - http://h/",
            "history show --format csv -o - a",
        ] {
            let found = message(line);
            assert!(found.contains("leave out -o -"), "{line}: {found}");
        }
        let line = "--format json -o - http://h/";
        Cli::of_words(std::iter::once("weir").chain(line.split(' '))).expect(line);
    }
}
