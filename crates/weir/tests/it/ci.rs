//! CI: `--github`, and the commands of the files under `integrations/`, run as they stand there in
//! the environment that GitHub and GitLab give them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use weir_result::study::{Answer, StudyResult};
use weir_result::{Document, Study};

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::serve::Serve;
use crate::support::weir::{WEIR, weir};

/// The repository's root.
const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// A short run of one thread, long enough for a response on a busy machine.
const BRIEF: &str = "-d500ms -t1 -c2 --warmup 0 --witness off";

/// Returns the lines below the first line that is `key`, without their indent: of YAML, as far as
/// the files under `integrations/` use it.
fn below(text: &str, key: &str) -> String {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let mut lines = text.lines().skip_while(|line| line.trim() != key);
    let Some(parent) = lines.next() else { return String::new() };
    let is_inside = |line: &&str| line.trim().is_empty() || indent(line) > indent(parent);
    let inside: Vec<&str> = lines.take_while(is_inside).collect();
    let least = inside.iter().filter(|line| !line.trim().is_empty()).map(|line| indent(line)).min();
    let cut = |line: &&str| line.get(least.unwrap_or(0)..).unwrap_or_default().to_owned() + "\n";
    inside.iter().map(cut).collect()
}

/// Splits a list into its items, without their dashes.
fn items(list: &str) -> Vec<String> {
    let mut items: Vec<String> = Vec::new();
    for line in list.lines() {
        match (line.strip_prefix("- "), items.last_mut()) {
            (Some(first), _) => items.push(format!("{first}\n")),
            (None, Some(item)) => *item += &(line.get(2..).unwrap_or_default().to_owned() + "\n"),
            (None, None) => {}
        }
    }
    items
}

/// The entries `key: value` of a mapping, without quotes; nested ones are left out.
fn entries(mapping: &str) -> Vec<(String, String)> {
    let lines = mapping.lines().filter(|line| !line.starts_with([' ', '#']));
    let entry = |line: &str| {
        let (key, value) = line.split_once(": ")?;
        Some((key.to_owned(), value.trim().trim_matches('"').to_owned()))
    };
    lines.filter_map(entry).collect()
}

fn value(mapping: &str, key: &str) -> Option<String> {
    entries(mapping).into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

fn file(path: &str) -> String {
    fs::read_to_string(Path::new(ROOT).join(path)).expect("it is there")
}

/// A job with a directory, a summary, and weir on its PATH.
struct Job {
    directory: Directory,
    /// Inputs of the action, or variables of the template.
    given: Vec<(&'static str, String)>,
}

impl Job {
    fn new(server: &Serve, names: [&'static str; 2]) -> Job {
        let given = vec![(names[0], server.url()), (names[1], BRIEF.to_owned())];
        Job { directory: Directory::new(), given }
    }

    fn set(&mut self, name: &'static str, value: &str) {
        self.given.retain(|(known, _)| *known != name);
        self.given.push((name, value.to_owned()));
    }

    fn given(&self, name: &str) -> Option<String> {
        let found = self.given.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone())
    }

    /// Runs a script as both services do: in bash, which ends at the first error.
    fn run(&self, script: &str, variables: &[(String, String)], path: &str) -> Output {
        let name = self.directory.file("script.sh");
        fs::write(&name, script).expect("a file");
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc", "-eo", "pipefail", &name]);
        bash.current_dir(self.directory.path()).env("PATH", path);
        bash.env("GITHUB_STEP_SUMMARY", self.directory.file("summary.md"));
        bash.env("GITHUB_ACTION_PATH", Path::new(ROOT).join("integrations/github"));
        bash.envs(variables.iter().map(|(name, value)| (name, value)));
        Process::start(&mut bash).wait()
    }

    /// Runs a step of the action with its environment.
    fn step(&self, name: &str) -> Output {
        self.step_at(name, &path_with_weir())
    }

    fn step_at(&self, name: &str, path: &str) -> Output {
        let action = file("integrations/github/action.yml");
        let inputs = below(&action, "inputs:");
        let steps = items(&below(&action, "steps:"));
        let step = steps.iter().find(|step| value(step, "name").as_deref() == Some(name));
        let step = step.unwrap_or_else(|| panic!("no step {name}: {steps:#?}"));
        let resolved = |(variable, value): (String, String)| {
            let input = value.strip_prefix("${{ inputs.").and_then(|rest| rest.strip_suffix(" }}"));
            let input = input.unwrap_or_else(|| panic!("{value}"));
            let declared = below(&inputs, &format!("{input}:"));
            assert!(!declared.is_empty(), "{input} is no input");
            let value = self.given(input).or_else(|| self::value(&declared, "default"));
            (variable, value.unwrap_or_else(|| panic!("{input} is required")))
        };
        let variables: Vec<_> = entries(&below(step, "env:")).into_iter().map(resolved).collect();
        assert_eq!(value(step, "shell").as_deref(), Some("bash"));
        self.run(&below(step, "run: |"), &variables, path)
    }

    /// Runs the script of GitLab's template with its variables.
    fn gitlab(&self) -> Output {
        let template = below(&file("integrations/gitlab/weir.gitlab-ci.yml"), ".weir:");
        let defaults = entries(&below(&template, "variables:"));
        let variables: Vec<(String, String)> = defaults
            .into_iter()
            .map(|(name, value)| (name.clone(), self.given(&name).unwrap_or(value)))
            .collect();
        assert_eq!(variables.len(), 6, "{variables:?}");
        let commands = items(&below(&template, "script:"));
        let script: String =
            commands.iter().map(|item| item.strip_prefix("|\n").expect("a block")).collect();
        self.run(&script, &variables, &path_with_weir())
    }

    fn read(&self, name: &str) -> String {
        let path = self.directory.file(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

/// A PATH that begins with the program under test.
fn path_with_weir() -> String {
    let directory = Path::new(WEIR).parent().expect("it is in a directory");
    format!("{}:/usr/bin:/bin", directory.display())
}

fn headings(summary: &str) -> usize {
    summary.lines().filter(|line| line.starts_with("### ")).count()
}

#[test]
fn the_action_runs_repeats_and_compares() {
    let server = Serve::start(&[]);
    let mut job = Job::new(&server, ["url", "args"]);
    let found = job.step("Find weir");
    assert!(found.code() == 0 && found.stdout.starts_with("weir "), "{found:?}");

    job.set("assert", "errors == 0\nmax < 1h\n");
    let run = job.step("Run");
    assert_eq!(run.code(), 0, "{run:?}");
    assert!(!run.stdout.contains("::error"), "{run:?}");
    let summary = job.read("summary.md");
    for part in ["### weir ", "#### Verdict", "| p50 |", "| pass | errors == 0 |"] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    assert_eq!(job.read("weir.xml").matches("<testcase ").count(), 2);
    Document::load(job.directory.file("weir.json")).expect("a document");

    job.set("assert", "rate > 100M");
    let failed = job.step("Run");
    assert_eq!(failed.code(), 3, "{failed:?}");
    let error = "\n::error title=weir%3A assertion failed%3A rate > 100M::measured ";
    assert!(failed.stdout.contains(error), "{failed:?}");
    assert!(job.read("weir.xml").contains("<failure "));

    job.set("runs", "6");
    let repeated = job.step("Repeat");
    assert_eq!(repeated.code(), 0, "{repeated:?}");
    let study = Study::load(job.directory.file("weir-runs.json")).expect("a study");
    assert_eq!(study.measured().count(), 6);

    // Equal runs are never slower: not, or that is open.
    fs::copy(job.directory.file("weir-runs.json"), job.directory.file("main.json"))
        .expect("a file");
    job.set("base", "main.json");
    let compared = job.step("Compare");
    assert_eq!(compared.code(), 0, "{compared:?}");
    let notice = compared.stdout.lines().find(|line| line.starts_with("::"));
    assert!(notice.is_some_and(|line| line.contains(" title=weir%3A verdict::")), "{compared:?}");
    assert!(!compared.stdout.contains("::error"), "{compared:?}");
    let all = job.read("summary.md");
    assert!(all.starts_with(&summary) && headings(&all) == 4, "{all}");

    // Too few runs decide nothing, which is a warning unless it fails the job.
    job.set("base", "weir.json");
    let open = job.step("Compare");
    assert_eq!(open.code(), 0, "{open:?}");
    assert!(open.stdout.contains("\n::warning title=weir%3A verdict::"), "{open:?}");
    job.set("fail-on", "undecided");
    let undecided = job.step("Compare");
    assert_eq!(undecided.code(), 3, "{undecided:?}");
    assert!(undecided.stdout.contains("\n::error title=weir%3A verdict::"), "{undecided:?}");
}

#[test]
fn the_action_builds_weir_where_there_is_none() {
    let server = Serve::start(&[]);
    let job = Job::new(&server, ["url", "args"]);
    let bin = job.directory.file("bin");
    let log = job.directory.file("log");
    fs::create_dir(&bin).expect("a directory");
    let cargo = format!("#!/bin/sh\nprintf '%s\\n' $PWD $@ > {log}\nln -s {WEIR} {bin}/weir\n");
    fs::write(format!("{bin}/cargo"), cargo).expect("a file");
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(format!("{bin}/cargo"), executable).expect("permissions");
    let found = job.step_at("Find weir", &format!("{bin}:/usr/bin:/bin"));
    assert!(found.code() == 0 && found.stdout.starts_with("weir "), "{found:?}");
    let words = fs::read_to_string(log).expect("cargo ran");
    let words: Vec<&str> = words.lines().collect();
    assert_eq!(words[1..4], ["install", "--locked", "--path"]);
    let manifest = fs::read_to_string(Path::new(words[0]).join(words[4]).join("Cargo.toml"));
    assert!(manifest.expect("a package").contains("name = \"weir\""), "{words:?}");
}

#[test]
fn the_gitlab_template_runs_and_compares() {
    let server = Serve::start(&[]);
    let mut job = Job::new(&server, ["WEIR_URL", "WEIR_ARGS"]);
    let run = job.gitlab();
    assert_eq!(run.code(), 0, "{run:?}");
    assert_eq!(job.read("weir.xml").matches("<testcase ").count(), 1);
    Document::load(job.directory.file("weir.json")).expect("a document");
    assert!(!job.directory.names().contains(&"weir-runs.json".to_owned()));

    job.set("WEIR_RUNS", "2");
    job.set("WEIR_BASE", "weir.json");
    // Two runs decide nothing, which the template allows with a warning.
    let compared = job.gitlab();
    assert_eq!(compared.code(), 5, "{compared:?}");
    let allowed = below(&file("integrations/gitlab/weir.gitlab-ci.yml"), "allow_failure:");
    assert_eq!(value(&allowed, "exit_codes").as_deref(), Some("5"));
    assert!(job.read("weir-comparison.md").starts_with("### Comparison"));
    job.set("WEIR_FAIL_ON", "undecided");
    assert_eq!(job.gitlab().code(), 3);

    job.set("WEIR_ASSERT", "errors == 0\nrate > 100M");
    let failed = job.gitlab();
    assert_eq!(failed.code(), 3, "{failed:?}");
    assert_eq!(job.read("weir.xml").matches("<failure ").count(), 1);
    let template = file("integrations/gitlab/weir.gitlab-ci.yml");
    assert_eq!(value(&below(&template, "reports:"), "junit").as_deref(), Some("weir.xml"));
    let kept = below(&template, "paths:");
    for name in ["weir.json", "weir-runs.json", "weir-comparison.md"] {
        assert!(kept.contains(name) && job.directory.names().contains(&name.to_owned()), "{kept}");
    }
}

#[test]
fn the_default_options_are_ones_of_a_run() {
    let inputs = below(&file("integrations/github/action.yml"), "inputs:");
    let of_action = value(&below(&inputs, "args:"), "default");
    let template = below(&file("integrations/gitlab/weir.gitlab-ci.yml"), ".weir:");
    let of_template = value(&below(&template, "variables:"), "WEIR_ARGS");
    assert_eq!(of_action, of_template);
    let server = Serve::start(&[]);
    let words = of_action.expect("a default");
    let output = weir(&words, &["--print-plan", &server.url()]);
    assert!(output.code() == 0 && output.stdout.contains("\"duration_ns\": 30000000000"));
}

/// Runs weir with a summary file, or without the variable.
fn with_summary(summary: Option<&str>, words: &[&str]) -> Output {
    let mut command = Command::new(WEIR);
    command.args(words).env_remove("GITHUB_STEP_SUMMARY");
    command.envs(summary.map(|path| ("GITHUB_STEP_SUMMARY", path)));
    Process::start(&mut command).wait()
}

#[test]
fn without_a_summary_nothing_is_sent() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let url = server.url();
    let history = directory.file("history.db");
    let saved = weir(BRIEF, &["--save", "a", "--history", &history, &url]);
    assert_eq!(saved.code(), 0, "{saved:?}");
    let before = server.requests();
    let missing = directory.file("none/summary.md");
    for (summary, part) in
        [(None, "set it to a file"), (Some(""), "set it to a file"), (Some(&*missing), "none")]
    {
        for words in [
            &["--github", &url][..],
            &["repeat", "-n", "2", "--github", &url],
            &["ab", "--before", "true", "--github", &url],
            &["sweep", "--vary", "c=1,2", "--github", &url],
            &["search", "p99 < 1s", "--github", &url],
            &["resume", "--github", "a.json"],
            &["rerun", "--github", "a.json"],
            &["compare", "--github", "a.json", "b.json"],
            &["report", "--github", "a.json"],
            &["history", "--history", &history, "trend", "a", "--github"],
        ] {
            let output = with_summary(summary, words);
            assert_eq!(output.code(), 2, "{words:?}: {output:?}");
            assert!(output.stderr.contains("--github"), "{words:?}: {output:?}");
            assert!(output.stderr.contains(part), "{words:?}: {output:?}");
        }
    }
    assert_eq!(server.requests(), before);
    let alone = with_summary(Some(&directory.file("summary.md")), &["--selfcheck", "--github"]);
    assert!(alone.code() == 2 && alone.stderr.contains("add a URL"), "{alone:?}");
}

#[test]
fn a_document_on_standard_output_stays_one() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let summary = directory.file("summary.md");
    let url = server.url();
    fs::write(&summary, "before\n").expect("a file");
    let run = ["-n100", "-c2", "--warmup", "0", "--assert", "rate > 100M", "--github", &url];
    let output = with_summary(Some(&summary), &[&["-o", "-"], &run[..]].concat());
    assert_eq!(output.code(), 3, "{output:?}");
    let document = Document::from_json(output.stdout.as_bytes()).expect("a document");
    assert!(output.stderr.contains("::error title="), "{output:?}");
    let file = directory.file("run.json");
    fs::write(&file, &output.stdout).expect("a file");

    let report = with_summary(Some(&summary), &["report", "--github", &file]);
    assert_eq!(report.code(), 3, "{report:?}");
    assert!(report.stdout.contains("::error title=") && !report.stderr.contains("::"));
    let written = fs::read_to_string(&summary).expect("a file");
    assert!(written.starts_with("before\n") && headings(&written) == 2, "{written}");

    let markdown = with_summary(None, &["report", "--format", "markdown", &file]);
    assert!(written.ends_with(&format!("{}\n", markdown.stdout)), "{markdown:?}");
    assert!(written.contains(&document.tool.version), "{written}");
}

/// Each command appends its report, and annotates its result.
#[test]
fn searches_resumed_studies_repeated_runs_and_trends_are_published() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let summary = directory.file("summary.md");
    let url = server.url();
    let kept = directory.file("search.json");
    let run = directory.file("run.json");
    let history = directory.file("history.db");
    let brief: Vec<&str> = BRIEF.split_whitespace().collect();
    let search = ["search", "p50 < 2s and errors < 50%", "--max-rate", "100", "--no-settle"];
    let search = [&search[..], &["-o", &kept, "--github", &url], &brief].concat();
    let save = ["-o", &run, "--save", "a", "--history", &history, "--assert", "rate > 100M", &url];
    assert_eq!(weir("", &[&brief[..], &save].concat()).code(), 3);
    let found =
        "\n::notice title=weir%3A highest rate::≥ 100.0/s with p50 < 2s and errors < 50%25\n";
    for (words, code, annotation, heading) in [
        (&search[..], 0, found, "### weir"),
        // It is complete, and its result is published all the same.
        (&["resume", "--github", &kept], 0, found, "Trials"),
        (&["report", "--github", &kept], 0, found, "Trials"),
        (
            &["rerun", "--github", "--assert", "rate > 100M", &run],
            3,
            "\n::error title=weir%3A assertion failed",
            "#### Verdict",
        ),
        (&["history", "--history", &history, "trend", "a", "--github"], 0, "", "### weir history"),
    ] {
        let _absent = fs::remove_file(&summary);
        let output = with_summary(Some(&summary), words);
        assert_eq!(output.code(), code, "{words:?}: {output:?}");
        assert!(output.stdout.contains(annotation), "{words:?}: {output:?}");
        let written = fs::read_to_string(&summary).expect("a file");
        assert!(written.contains(heading), "{words:?}: {written}");
    }
}

#[test]
fn a_full_summary_is_reported_and_not_truncated() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let summary = directory.file("summary.md");
    let url = server.url();
    let full = "x".repeat((1 << 20) - 10);
    fs::write(&summary, &full).expect("a file");
    let words = ["-n100", "-c2", "--warmup", "0", "-q", "--github", &url];
    let output = with_summary(Some(&summary), &words);
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(output.stdout.contains("::warning title=weir%3A summary is full::"), "{output:?}");
    assert_eq!(fs::read_to_string(&summary).expect("a file").len(), full.len());
}

/// A slow variant on a busy machine is slower, or its bounds leave that undecided.
#[test]
fn a_verdict_is_an_error_if_it_fails_the_job() {
    let fast = Serve::start(&[]);
    let slow = Serve::start(&["--delay", "20ms"]);
    let directory = Directory::new();
    let summary = directory.file("summary.md");
    let kept = directory.file("ab.json");
    let a = fast.url();
    let b = slow.url();
    let brief: Vec<&str> = BRIEF.split_whitespace().collect();
    let ab = ["ab", "--pairs", "6", "--no-settle", "-o", &kept, "--github", "-a", &a, "-b", &b];
    let words = [&ab[..], &brief].concat();
    let shown = with_summary(Some(&summary), &words);
    assert_eq!(shown.code(), 0, "{shown:?}");
    let study = Study::load(&kept).expect("a study");
    let Some(StudyResult::Comparison(found)) = &study.result else { panic!("{study:?}") };
    let primary = found.primary().expect("a metric");
    let level = if primary.verdict.answer == Answer::Worse { "warning" } else { "notice" };
    let annotation = format!("\n::{level} title=weir%3A verdict::");
    assert!(shown.stdout.contains(&annotation), "{annotation}: {shown:?}");
    let failed = with_summary(Some(&summary), &[&words[..], &["--fail-on", "undecided"]].concat());
    assert_eq!(failed.code(), 3, "{failed:?}");
    assert!(failed.stdout.contains("\n::error title=weir%3A verdict::"), "{failed:?}");
    let written = fs::read_to_string(&summary).expect("a file");
    assert!(headings(&written) == 2 && written.contains("Requests/s"), "{written}");
}

/// The connections limit the rate of both servers, so that it cannot tell which is slower: the
/// study finds out by a time, or says that it is open. It must not pass.
#[test]
fn a_server_three_times_as_slow_never_passes() {
    let fast = Serve::start(&["--delay", "1ms"]);
    let slow = Serve::start(&["--delay", "3ms"]);
    let directory = Directory::new();
    let a = fast.url();
    let b = slow.url();
    let junit = directory.file("weir.xml");
    let export = format!("junit={junit}");
    let words = ["--fail-on", "slower", "--export", &export, "-a", &a, "-b", &b];
    let output = weir("ab --pairs 6 --no-settle -q -c5 -t1 -d200ms --warmup 0", &words);
    let xml = fs::read_to_string(&junit).expect("a file");
    let element = match output.code() {
        3 => "<failure ",
        // A machine that stood still for a trial makes it void.
        5 if xml.contains("not comparable: ") => "<error ",
        5 => "<skipped ",
        code => panic!("{code}: {output:?}"),
    };
    assert!(xml.contains(element), "{xml}");
    // Without a report the reason is on standard error.
    let errors = output.stderr.lines().filter(|line| line.starts_with("error: ")).count();
    assert_eq!(errors, 1, "{output:?}");
}

/// Runs that decide nothing are neither good nor bad: exit status 5 and a remedy.
#[test]
fn an_open_verdict_has_a_status_of_its_own() {
    let server = Serve::start(&[]);
    let directory = Directory::new();
    let file = directory.file("run.json");
    let url = server.url();
    assert_eq!(weir("-q -n 200 -c2 --warmup 0", &["-o", &file, &url]).code(), 0);
    let open = weir("compare --fail-on slower", &[&file, &file]);
    assert_eq!(open.code(), 5, "{open:?}");
    assert!(open.stderr.starts_with("error: it is open whether "), "{open:?}");
    assert!(open.stderr.contains("at least 6 runs of each, or use weir ab"), "{open:?}");
    assert_eq!(weir("compare", &[&file, &file]).code(), 0);
    assert_eq!(weir("compare --fail-on undecided", &[&file, &file]).code(), 3);
}

/// Six pairs decide two metrics; the others are named before the first trial.
#[test]
fn metrics_that_no_pairs_decide_are_named_before_the_first_trial() {
    let server = Serve::start(&[]);
    let words = "ab --before true --pairs 6 --no-settle --requests 40 -c1 -t1 --warmup 0";
    let output = weir(words, &[&server.url()]);
    let note = output.stderr.find("note: 6 pairs can show a difference in the first metric alone");
    let first = output.stderr.find("trial 1 of 12");
    assert!(note.is_some() && note < first, "{output:?}");
    assert!(output.stderr.contains("take 8 (--pairs 8)"), "{output:?}");
}
