//! Studies: every trial is kept, whatever ends the study; hooks, resuming, secrets.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use weir_result::Study;
use weir_result::study::{StudyResult, StudyState, TrialOutcome};

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::serve::Serve;
use crate::support::wait;
use crate::support::weir::WEIR;

/// A short run of one thread that no warm-up and no wait lengthens.
const BRIEF: &str = "-t1 -c2 --warmup 0 --witness off --no-settle";

/// Runs `weir` with the words of a study, then `more`.
fn study(words: &str, more: &[&str]) -> Output {
    start(words, more).wait()
}

fn start(words: &str, more: &[&str]) -> Process {
    Process::start(Command::new(WEIR).args(words.split_whitespace()).args(more))
}

fn loaded(path: &str) -> Study {
    Study::load(path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn measured(study: &Study) -> usize {
    study.measured().count()
}

#[test]
fn repeat_keeps_every_run_and_prints_their_spread() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let words = format!("repeat {BRIEF} -n 3 --requests 50 -o {file} {}", server.url());
    let output = study(&words, &[]);
    assert_eq!(output.code(), 0, "{output:?}");
    for part in ["3 runs", "Requests/s", "p90", "95% interval", "Errors"] {
        assert!(output.stdout.contains(part), "{part}: {output:?}");
    }
    assert!(output.stderr.contains("trial 3 of 3"), "{output:?}");
    let kept = loaded(&file);
    assert_eq!(kept.state, StudyState::Complete);
    assert!(kept.measured().all(|(_, run)| run.results.outcomes.ok == 50), "{kept:?}");
    // All that arrived is in a document: the load and its checks.
    let sent: u64 = kept.measured().map(|(_, run)| run.accounting.sent.total).sum();
    assert_eq!(server.requests(), sent);
}

#[test]
fn trials_wait_until_the_target_is_idle_again() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let words = BRIEF.replace("--no-settle", "");
    let output =
        study(&format!("repeat {words} -n 2 --requests 100 -o {file} {}", server.url()), &[]);
    assert_eq!(output.code(), 0, "{output:?}");
    let kept = loaded(&file);
    let [first, second] = &kept.trials[..] else { panic!("{kept:?}") };
    assert_eq!(first.settling, None, "nothing came before it");
    let settling = second.settling.expect("it waited");
    assert!(settling.idle_ns.is_some_and(|ns| ns > 0), "{settling:?}");
    assert!(settling.waited_ns >= 200_000_000, "{settling:?}");
}

#[test]
fn pairs_are_interleaved_at_random_and_hooks_know_their_variant() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let log = directory.file("log");
    let words = format!(
        "ab {BRIEF} --pairs 8 --study-seed 5 --names old,new --requests 40 -o {file} {}",
        server.url()
    );
    let note = format!("echo $WEIR_TRIAL $WEIR_VARIANT >> {log}");
    let output = study(&words, &["--before", &note, "--after", "echo done"]);
    assert_eq!(output.code(), 0, "{output:?}");
    let kept = loaded(&file);
    assert_eq!(measured(&kept), 16);
    let logged = fs::read_to_string(&log).expect("the hook ran");
    let name = |cell: u32| kept.cells[cell as usize].name.as_str();
    let expected: Vec<String> =
        kept.trials.iter().map(|trial| format!("{} {}", trial.number, name(trial.cell))).collect();
    assert_eq!(logged.lines().collect::<Vec<_>>(), expected);
    let firsts: BTreeSet<u32> = kept.trials.iter().step_by(2).map(|trial| trial.cell).collect();
    assert_eq!(firsts.len(), 2, "either variant is first in some pair: {logged}");
    assert!(kept.trials.chunks(2).all(|pair| pair[0].round == pair[1].round), "{logged}");
    let hook = kept.trials[3].after.as_ref().expect("it ran");
    assert_eq!((hook.status, hook.output.as_str()), (Some(0), "done\n"));
    let Some(StudyResult::Comparison(found)) = &kept.result else { panic!("{:?}", kept.result) };
    let sentence = &found.primary().expect("a metric").sentence;
    let wordings = ["faster", "slower", "no difference", "undecided", "differs"];
    let is_judged = wordings.iter().any(|wording| sentence.contains(wording))
        && sentence.contains("8 interleaved pairs");
    // A busy machine may distort so many trials that nothing is claimed.
    assert!(is_judged || sentence == "not comparable", "{sentence}");
}

#[test]
fn a_hook_that_fails_stops_the_study_and_resuming_goes_on() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let stop = directory.file("stop");
    let words = format!("repeat {BRIEF} -n 4 --requests 20 -o {file} {}", server.url());
    let hook = format!("test $WEIR_TRIAL != 3 || test -e {stop} || {{ echo no disk; exit 9; }}");
    let output = study(&words, &["--before", &hook]);
    assert_eq!(output.code(), 1, "{output:?}");
    for part in ["trial 3", "--before failed", "ended with 9", "no disk", "weir resume"] {
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    }
    let kept = loaded(&file);
    assert!(matches!(kept.state, StudyState::Stopped { .. }), "{:?}", kept.state);
    assert_eq!((kept.trials.len(), measured(&kept)), (3, 2));
    fs::write(stop, "").expect("a file");
    let advice = format!("weir resume {file} --run-commands continues it");
    assert!(output.stderr.contains(&advice), "{output:?}");
    // The file may be a stranger's.
    let refused = study(&format!("resume --no-settle {file}"), &[]);
    assert_eq!(refused.code(), 2, "{refused:?}");
    for part in ["commands that would run", "--run-commands", &format!("--before {hook:?}")] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    let output = study(&format!("resume --no-settle {file} --run-commands"), &[]);
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(output.stderr.contains(&format!("  --before {hook:?}\n")), "{output:?}");
    assert!(output.stderr.contains("trial 5 of 5"), "{output:?}");
    let kept = loaded(&file);
    assert_eq!((&kept.state, kept.trials.len(), measured(&kept)), (&StudyState::Complete, 5, 4));
    let again = study(&format!("resume {file}"), &[]);
    assert!(again.code() == 0 && again.stderr.contains("is complete"), "{again:?}");
}

#[test]
fn an_unfinished_study_is_not_replaced() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let [file, new, page] = ["study.json", "new.json", "page.html"].map(|it| directory.file(it));
    let words = format!("repeat {BRIEF} -n 3 --requests 20 {}", server.url());
    let stopped = study(&words, &["-o", &file, "--before", "test $WEIR_TRIAL != 2"]);
    assert_eq!(stopped.code(), 1, "{stopped:?}");
    let before = fs::read(&file).expect("the study");
    let is_kept = || fs::read(&file).expect("the study") == before;
    let with_export = format!("json={file}");
    let link = directory.file("link.json");
    std::os::unix::fs::symlink(&file, &link).expect("a link");
    for more in [&["-o", &file][..], &["-o", &new, "-o", &link], &["--export", &with_export]] {
        let refused = study(&words, more);
        assert_eq!(refused.code(), 2, "{more:?}: {refused:?}");
        for part in ["unfinished study with 2 trials", "weir resume", "-o", "--force"] {
            assert!(refused.stderr.contains(part), "{part}: {refused:?}");
        }
    }
    assert!(is_kept());
    // It continues in another file; the hook lets every trial pass that is left.
    let resume = format!("resume {file} --no-settle --run-commands -o {new} -o {page}");
    let output = study(&resume, &[]);
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(is_kept() && fs::read_to_string(&page).expect("a page").contains("<html"));
    assert_eq!((loaded(&new).state, measured(&loaded(&new))), (StudyState::Complete, 3));
    // A resumed study replaces no other unfinished one either.
    fs::copy(&file, &new).expect("a copy");
    let refused = study(&format!("resume {file} --run-commands -o {new}"), &[]);
    assert!(refused.code() == 2 && refused.stderr.contains("new.json holds"), "{refused:?}");
    let output = study(&words, &["-o", &file, "--force"]);
    assert_eq!((output.code(), measured(&loaded(&file))), (0, 3), "{output:?}");
    // A complete study is replaced, as any result.
    assert_eq!(study(&words, &["-o", &file]).code(), 0);
    let output = study(&format!("resume {file} -o {file} -o {new}"), &[]);
    assert!(output.code() == 0 && output.stderr.contains("is complete"), "{output:?}");
    assert_eq!(measured(&loaded(&new)), 3);
}

#[test]
fn a_server_that_dies_in_trial_7_of_10_leaves_six_runs() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let url = server.url();
    let words = format!("repeat {BRIEF} --requests 20 --wait-for-server 100ms -o {file} {url}");
    let hook = format!("test $WEIR_TRIAL != 7 || kill -KILL {}", server.process().id());
    let output = study(&words, &["--before", &hook]);
    assert_eq!(output.code(), 1, "{output:?}");
    assert!(output.stderr.contains("stopped at trial 7"), "{output:?}");
    assert!(output.stdout.contains("6 runs of 10"), "{output:?}");
    let kept = loaded(&file);
    assert_eq!((kept.trials.len(), measured(&kept)), (7, 6));
    assert!(matches!(kept.trials[6].outcome, TrialOutcome::Failed { .. }), "{kept:?}");
}

/// Its run is measured as far as it went, and named.
#[test]
fn a_server_that_dies_within_a_trial_is_reported() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let script = directory.file("kills.lua");
    let text = format!(
        "local sent = 0\nfunction request()\n  sent = sent + 1\n  if sent == 20 then \
         os.execute('kill -KILL {}') end\n  return wrk.format()\nend\n",
        server.process().id()
    );
    fs::write(&script, text).expect("a file");
    let url = server.url();
    let words =
        format!("repeat {BRIEF} -n 3 -d1s --wait-for-server 100ms -s {script} -o {file} {url}");
    let output = study(&words, &[]);
    assert_eq!(output.code(), 1, "{output:?}");
    let kept = loaded(&file);
    assert!(matches!(kept.state, StudyState::Stopped { .. }), "{:?}", kept.state);
    assert!(measured(&kept) == 1 && kept.trials.len() == 2, "{output:?}");
    let reported = "requests or connections failed in trial 1; counted like all others";
    let text = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(reported), "{output:?}");
}

/// 50 requests have no p99: the median decides, and the report says so and what to do.
#[test]
fn the_median_decides_where_p99_has_no_value() {
    let a = Serve::start(&["--delay", "1ms"]);
    let b = Serve::start(&["--delay", "40ms"]);
    let words = format!("ab {BRIEF} --pairs 6 -R 100 -d500ms -a {} -b {}", a.url(), b.url());
    let output = study(&words, &[]);
    let text = output.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(output.code(), 0, "{output:?}");
    for part in ["has no value in some run", "p50 decides instead", "use longer runs (-d)"] {
        assert!(text.contains(part), "{part}: {output:?}");
    }
    assert!(text.contains("B is slower: p50 "), "B is slower by a factor: {output:?}");
}

#[test]
fn a_study_that_is_killed_goes_on_where_it_was() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let words = format!("ab {BRIEF} --pairs 6 -d200ms -a -c1 -b -c2 -o {file} {}", server.url());
    let process = start(&words, &[]);
    let trials = || Study::load(&file).map_or(0, |study| study.trials.len());
    wait::until("three trials", || (trials() >= 3).then_some(()));
    process.signal(&["KILL"]);
    drop(process);
    let made = loaded(&file);
    assert_eq!(made.state, StudyState::Running);
    let output = study(&format!("resume --no-settle {file}"), &[]);
    assert_eq!(output.code(), 0, "{output:?}");
    let kept = loaded(&file);
    assert_eq!((&kept.state, measured(&kept)), (&StudyState::Complete, 12));
    let superseded = kept.trials.iter().filter(|trial| trial.is_superseded).count();
    assert_eq!(superseded, made.trials.len() % 2, "half a pair is made again");
}

#[test]
fn ctrl_c_ends_a_study_in_order() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let words = format!("repeat {BRIEF} -n 50 -d300ms -o {file} {}", server.url());
    let process = start(&words, &[]);
    let trials = || Study::load(&file).map_or(0, |study| study.trials.len());
    wait::until("two trials", || (trials() >= 2).then_some(()));
    process.signal(&["INT"]);
    let output = process.wait();
    assert_eq!(output.code(), 130, "{output:?}");
    for part in ["interrupted", "weir resume"] {
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    }
    assert!(output.stdout.contains("Requests/s"), "an interrupted study reports: {output:?}");
    let kept = loaded(&file);
    assert_eq!(kept.state, StudyState::Interrupted);
    assert!(measured(&kept) >= 2 && kept.is_resumable(), "{kept:?}");
}

#[test]
fn a_full_disk_loses_the_file_and_not_the_result() {
    let server = Serve::start(&["--delay", "1ms"]);
    let words = format!("repeat {BRIEF} -n 2 --requests 20 -o /dev/full {}", server.url());
    let output = study(&words, &[]);
    assert_eq!(output.code(), 74, "{output:?}");
    assert!(output.stderr.contains("--output cannot be written"), "{output:?}");
    assert!(output.stdout.contains("Requests/s"), "{output:?}");
}

/// The limit on the size of files stands for a disk that fills after some trials.
#[test]
fn a_disk_that_fills_keeps_the_trials_before() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let load = format!("repeat {BRIEF} --requests 20 -o {file} {}", server.url());
    let once = study(&load, &["-n", "1"]);
    assert_eq!(once.code(), 0, "{once:?}");
    let bytes = fs::metadata(&file).expect("it was written").len();
    fs::remove_file(&file).expect("it is there");
    // Blocks of 512 bytes (POSIX, ulimit): the file of two trials fits, a file of four does not.
    let limit = format!("ulimit -f {}; exec \"$0\" \"$@\"", bytes * 5 / 2 / 512);
    let mut shell = Command::new("sh");
    shell.args(["-c", &limit, WEIR]).args(load.split_whitespace()).args(["-n", "6"]);
    let output = Process::start(&mut shell).wait();
    assert_eq!(output.code(), 74, "{output:?}");
    let kept = loaded(&file);
    let made = measured(&kept);
    assert!((1..4).contains(&made) && kept.is_resumable(), "{made}: {output:?}");
    let stopped = format!("stopped at trial {}: the study cannot be written", made + 1);
    for part in [&stopped, "weir resume", "--output cannot be written: File too large"] {
        assert!(output.stderr.contains(part), "{part}: {output:?}");
    }
    assert!(output.stdout.contains(&format!("{} runs of 6", made + 1)), "{output:?}");
    assert_eq!(directory.names(), ["study.json"], "nothing unfinished is left");
    let output = study(&format!("resume --no-settle {file}"), &[]);
    assert_eq!((output.code(), measured(&loaded(&file))), (0, 6), "{output:?}");
}

#[test]
fn no_secret_reaches_the_study() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let words = format!("repeat {BRIEF} -n 1 --requests 20 -o {file} {}", server.url());
    let secrets = ["-u", "me:TOPSECRET", "-H", "Cookie: id=HIDDEN77"];
    let hook = ["--before", "echo TOPSECRET id=HIDDEN77"];
    let output = study(&words, &[&secrets[..], &hook[..]].concat());
    assert_eq!(output.code(), 0, "{output:?}");
    let text = fs::read_to_string(&file).expect("it was kept");
    assert!(!text.contains("TOPSECRET") && !text.contains("HIDDEN77"), "{text}");
    // The study wants one more run, as if it had been interrupted.
    let text = text.replacen("\"runs\":1", "\"runs\":2", 1);
    let text = text.replacen("\"kind\":\"complete\"", "\"kind\":\"interrupted\"", 1);
    fs::write(&file, text).expect("a file");
    let resume = format!("resume --no-settle {file}");
    let refused = study(&resume, &[&secrets[..], &["--run-commands"]].concat());
    assert!(refused.code() == 2 && refused.stderr.contains("for --before"), "{refused:?}");
    let refused = study(&resume, &hook);
    assert_eq!(refused.code(), 2, "{refused:?}");
    for part in ["the header Cookie", "basic authentication", "--header, --user"] {
        assert!(refused.stderr.contains(part), "{part}: {refused:?}");
    }
    let other = [&secrets[..], &["--before", "echo x"]].concat();
    let refused = study(&resume, &other);
    assert!(refused.code() == 2 && refused.stderr.contains("not the command"), "{refused:?}");
    // A new password, of another length, makes no other run.
    let secrets = ["-u", "me:TOPSECRET-2", "-H", "Cookie: id=HIDDEN77"];
    let hook = ["--before", "echo TOPSECRET-2 id=HIDDEN77"];
    let output = study(&resume, &[&secrets[..], &hook[..]].concat());
    assert_eq!(output.code(), 0, "{output:?}");
    let text = fs::read_to_string(&file).expect("it was kept");
    assert!(!text.contains("TOPSECRET") && !text.contains("HIDDEN77"), "{text}");
    assert_eq!(measured(&loaded(&file)), 2);
}

/// A hook and a failure may print the secrets of either variant.
#[test]
fn no_secret_of_a_variant_reaches_the_study_by_another() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let script = directory.file("fails.lua");
    let text = "function response() error('bad ' .. wrk.headers['Cookie']) end";
    fs::write(&script, text).expect("a file");
    let words = format!("ab {BRIEF} --pairs 6 -d300ms -o {file} {}", server.url());
    let b = format!("-s {script} -H 'Cookie: id=HIDDEN77'");
    let variants = ["-a", "-u me:TOPSECRET", "-b", &b];
    let output = study(&words, &[&variants[..], &["--before", "echo TOPSECRET HIDDEN77"]].concat());
    assert_eq!(output.code(), 1, "{output:?}");
    let text = fs::read_to_string(&file).expect("it was kept");
    for text in [&text, &output.stdout, &output.stderr] {
        assert!(!text.contains("TOPSECRET") && !text.contains("HIDDEN77"), "{text}");
    }
    assert!(text.contains("echo [redacted] [redacted]") && text.contains("bad "), "{text}");
}

#[test]
fn a_sweep_makes_all_combinations_in_random_order() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let words = format!(
        "sweep {BRIEF} -n 2 --study-seed 3 --requests 20 --vary c=1,2 --vary close=none,client \
         --vary path=/a,/b --vary c=3 -o {file} {}",
        server.url()
    );
    let output = study(&words, &[]);
    assert_eq!(output.code(), 0, "{output:?}");
    let kept = loaded(&file);
    assert_eq!((kept.cells.len(), measured(&kept)), (12, 24));
    let cells = |round: u32| -> Vec<u32> {
        let of_round = kept.trials.iter().filter(|trial| trial.round == round);
        of_round.map(|trial| trial.cell).collect()
    };
    let sorted = (0..12).collect::<Vec<_>>();
    assert!(cells(1) != sorted && cells(1) != cells(2), "{:?} {:?}", cells(1), cells(2));
    for (trial, run) in kept.measured() {
        let cell = &kept.cells[trial.cell as usize];
        let value = |at: usize| cell.levels[at].value.as_str();
        assert_eq!(run.plan.load.connections.count().to_string(), value(0));
        assert_eq!(run.plan.connection.close.is_some(), value(1) == "client");
        assert_eq!(run.plan.target.path, value(2));
    }
    assert!(output.stdout.contains("c=2 close=client path=/b"), "{output:?}");
    let Some(StudyResult::Sweep(sweep)) = &kept.result else { panic!("{:?}", kept.result) };
    let others = sweep.curves.iter().map(|curve| curve.levels.len()).collect::<Vec<_>>();
    assert_eq!(others, [2; 4], "a curve over c for each of the others");
    assert!(output.stdout.contains("Knee          close=none path=/a: "), "{output:?}");
}

#[test]
fn a_sweep_divides_two_targets() {
    // Far apart: a busy machine must not reverse them.
    let slow = Serve::start(&["--delay", "12ms"]);
    let fast = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let words = format!(
        "sweep {BRIEF} -n 2 --requests 50 --vary url={},{} --vary c=1,2 --ratio url -o {file}",
        slow.url(),
        fast.url()
    );
    let output = study(&words, &[]);
    assert_eq!(output.code(), 0, "{output:?}");
    assert!(output.stdout.contains("geometric mean"), "{output:?}");
    let Some(StudyResult::Sweep(sweep)) = loaded(&file).result else { panic!("{output:?}") };
    assert_eq!(sweep.ratios.len(), 3);
    assert!(sweep.ratios.iter().all(|row| row.ratio > 1.0), "{:?}", sweep.ratios);
    assert_eq!((slow.requests() > 200, fast.requests() > 200), (true, true));
    let odd = study(&format!("sweep {BRIEF} --vary c=1,2,3 --ratio c {}", fast.url()), &[]);
    assert!(odd.code() == 2 && odd.stderr.contains("with two values"), "{odd:?}");
}

#[test]
fn a_sweep_comes_from_a_file_and_flags_win() {
    let server = Serve::start(&["--delay", "1ms"]);
    let directory = Directory::new();
    let file = directory.file("study.json");
    let plan = directory.file("plan.toml");
    let text = "url = 'http://127.0.0.1:1/'\nargs = ['-c7', '-H', 'A: b']\nrepetitions = 4\n\
                metrics = ['p50']\nbefore = 'echo $WEIR_VARIANT'\n[vary]\nclose = ['none', \
                'client']\npath = ['/x', '/y']\n";
    fs::write(&plan, text).expect("a file");
    let words = format!(
        "sweep {BRIEF} --requests 20 -n 1 --vary path=/a -o {file} --plan {plan} {}",
        server.url()
    );
    let output = study(&words, &[]);
    assert_eq!(output.code(), 0, "{output:?}");
    let kept = loaded(&file);
    let names: Vec<&str> = kept.cells.iter().map(|cell| cell.name.as_str()).collect();
    assert_eq!(names, ["path=/a close=none", "path=/a close=client"]);
    assert_eq!(measured(&kept), 2);
    assert!(kept.measured().all(|(_, run)| run.plan.load.connections.count() == 2), "{words}");
    assert!(kept.cells.iter().all(|cell| cell.words.contains(&"A: b".to_owned())), "{kept:?}");
    let reported =
        kept.trials.iter().map(|trial| trial.before.as_ref().map(|run| run.output.clone()));
    assert!(reported.into_iter().all(|text| text.is_some_and(|text| text.starts_with("path=/a"))));
    assert!(output.stdout.contains("p50") && !output.stdout.contains("p99"), "{output:?}");
}

#[test]
fn what_is_wrong_is_reported_before_the_first_trial() {
    let server = Serve::start(&["--delay", "1ms"]);
    let url = server.url();
    let directory = Directory::new();
    let plan = directory.file("plan.toml");
    fs::write(&plan, "\nrepetition = 3\n").expect("a file");
    let empty = directory.file("empty.toml");
    fs::write(&empty, "").expect("a file");
    for (words, parts) in [
        (format!("sweep --plan none.toml {url}"), ["--plan none.toml", "cannot be read"]),
        (format!("sweep --plan {plan} {url}"), ["line 2: unknown key \"repetition\"", "metrics"]),
        (format!("sweep --plan {empty} {url}"), ["name the options to vary", "[vary]"]),
        ("repeat".to_owned(), ["name the URL", ""]),
        (format!("repeat --frob {url}"), ["--frob", ""]),
        (format!("repeat --raw - {url}"), ["--raw cannot write to standard output", "file name"]),
        (format!("repeat --assert p99<1s {url}"), ["--assert judges one run", "ab --fail-on"]),
        (format!("ab {url}"), ["A and B are the same", "--before"]),
        (format!("sweep {url}"), ["--vary", ""]),
        (format!("sweep --vary c=1,zero {url}"), ["c=zero", "zero"]),
        (format!("sweep --vary c=1,1 {url}"), ["1 is there twice", ""]),
        (format!("sweep --vary c=1 --vary connections=2 {url}"), ["c and --vary connections", ""]),
        (format!("sweep --vary c=1 --vary c=1 {url}"), ["--vary c: 1 is there twice", ""]),
        (format!("sweep --vary u=me:a,me:b {url}"), ["--vary: u=me:a", "u are credentials"]),
        (format!("repeat --metric p98 {url}"), ["p98", "p99"]),
        ("resume none.json".to_owned(), ["none.json cannot be resumed", "failed to read"]),
        ("compare one.json".to_owned(), ["name two documents", "--base"]),
    ] {
        let output = study(&words, &[]);
        assert_eq!(output.code(), 2, "{words}: {output:?}");
        for part in parts {
            assert!(output.stderr.contains(part), "{words}: {part}: {output:?}");
        }
    }
    assert_eq!(server.requests(), 0);
}
