//! The manifests of `weir fleet manifest`, by the schemas of Kubernetes. No cluster takes part.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::directory::Directory;
use crate::support::process::{Output, Process};
use crate::support::weir::WEIR;

/// Version of Kubernetes whose schemas the manifests follow.
const VERSION: &str = "1.37.0";

/// A load that the manifests have.
const LOAD: &str = "-- -R 100k -c 512 -d 60s https://shop.example/";

/// Returns the place where `cargo xtask setup test` installs the validator.
fn validator() -> PathBuf {
    let program = std::env::current_exe().expect("a path");
    let target = program.ancestors().nth(3).expect("a build directory");
    target.join("tools/kubernetes-validate/bin/kubernetes-validate")
}

fn run(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(WEIR);
    command.args(words).current_dir(directory).env("TMPDIR", directory);
    Process::start(&mut command).wait()
}

/// Makes a manifest of these words.
#[track_caller]
fn manifest(directory: &Directory, words: &str) -> String {
    let all: Vec<&str> = ["fleet", "manifest"].into_iter().chain(words.split(' ')).collect();
    let output = run(directory.path(), &all);
    assert_eq!(output.code(), 0, "{output:?}");
    assert_eq!(output.stderr, "");
    output.stdout
}

/// Returns the output of the validator, and true if it accepts the text.
fn validated(directory: &Directory, text: &str) -> (bool, String) {
    let file = directory.file("manifest.yaml");
    fs::write(&file, text).expect("the directory is the test's own");
    let mut command = Command::new(validator());
    let output = Process::start(command.args(["--strict", "-k", VERSION, &file])).wait();
    (output.status.success(), format!("{}{}", output.stdout, output.stderr))
}

#[track_caller]
fn check(directory: &Directory, words: &str, kinds: &[(&str, usize)]) -> String {
    let text = manifest(directory, words);
    let (is_valid, found) = validated(directory, &text);
    assert!(is_valid, "{found}\n{text}");
    for (kind, expected) in kinds {
        let count = text.lines().filter(|line| *line == format!("kind: {kind}")).count();
        assert_eq!(count, *expected, "{kind}\n{text}");
    }
    text
}

#[test]
fn a_fleet_without_preparation_follows_the_schemas() {
    let directory = Directory::new();
    let kinds =
        [("Secret", 3), ("NetworkPolicy", 2), ("Service", 1), ("Deployment", 1), ("Job", 2)];
    let text = check(&directory, &format!("--agents 8 --allow 10.0.0.0/8:443 {LOAD}"), &kinds);
    for part in [
        "completions: 8",
        "backoffLimitPerIndex: 0",
        "--agents=8",
        "\"7.key.pem\": |",
        "subPathExpr: \"$(JOB_COMPLETION_INDEX).key.pem\"",
        "cidr: \"10.0.0.0/8\"",
        "--allow=10.0.0.0/8:443",
        "--bus=tls://weir-nats:4222",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("ca.key"), "the authority's key stays at home");
    assert_eq!(directory.names(), ["manifest.yaml"], "identities have been left");
}

#[test]
fn further_manifests_follow_the_schemas() {
    let directory = Directory::new();
    let made = run(directory.path(), &["fleet", "init", "f", "--agents", "11", "--host", "a-nats"]);
    assert_eq!(made.code(), 0, "{made:?}");
    let own = format!("--fleet f --name a --namespace lab --allow any {LOAD}");
    let text = check(&directory, &own, &[("Secret", 3), ("Deployment", 1)]);
    assert!(text.contains("completions: 11") && text.contains("namespace: lab"), "{text}");
    let elsewhere = format!(
        "--fleet f --agents 3 --bus tls://lab0.example:5222 --allow [fd00::/8]:443 --max-rate 50k \
         --max-connections 1k --max-duration 5m {LOAD}"
    );
    let text = check(&directory, &elsewhere, &[("Secret", 2), ("Deployment", 0), ("Service", 0)]);
    assert!(text.contains("--max-rate=50k") && text.contains("port: 5222"), "{text}");
    let profiled = format!(
        "--agents 2 --allow any --seccomp-profile profiles/weir.json --results-claim results \
         --spread preferred --cpus 8 --memory 16Gi {LOAD}"
    );
    let text = check(&directory, &profiled, &[("Job", 2)]);
    for part in ["localhostProfile: profiles/weir.json", "--output=weir.json", "cpu: \"8\""] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let cluster = "--agents 2 --allow 10.0.0.0/8:443 --pull-secret registry \
                   --node-selector pool=load \
         --toleration load=yes:NoSchedule --toleration spot --service-account weir --label \
         kueue.x-k8s.io/queue-name=load --env-from tokens --permit env:TOKEN --user-id platform \
         --egress 10.9.0.1:4318 -- --otlp http://collector:4318 --listen 0.0.0.0:9464 -R 1k -d 1s \
         -H X-Api-Key:{{env:TOKEN}} https://shop.example/";
    let text = check(&directory, cluster, &[("NetworkPolicy", 3)]);
    for part in [
        "imagePullSecrets:",
        "pool: load",
        "operator: Exists",
        "serviceAccountName: weir",
        "kueue.x-k8s.io/queue-name: load",
        "secretRef:",
        "containerPort: 9464",
        "cidr: \"10.9.0.1/32\"",
        "linkerd.io/inject: disabled",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains("runAsUser"), "the platform chooses it\n{text}");
    let many = format!("--agents 60 --allow any {LOAD}");
    assert!(check(&directory, &many, &[("Secret", 4)]).contains("projected:"));
}

#[test]
fn a_misspelt_field_is_found() {
    let directory = Directory::new();
    let text = manifest(&directory, &format!("--agents 1 --allow any {LOAD}"));
    let wrong = text.replace("backoffLimitPerIndex", "backoffLimitPerIndices");
    assert_ne!(wrong, text);
    let (is_valid, found) = validated(&directory, &wrong);
    assert!(!is_valid && found.contains("backoffLimitPerIndices"), "{found}");
}

#[test]
fn words_with_credentials_are_in_a_secret() {
    let directory = Directory::new();
    let body = "{\"a\": \"$(HOME) it's\"}\nnull";
    let load = ["-R", "1k", "-d", "1s", "-u", "me:pass word", "-b", body, "https://shop.example/"];
    let head = ["fleet", "manifest", "--agents", "1", "--allow", "any", "--"];
    let words: Vec<&str> = head.into_iter().chain(load).collect();
    let output = run(directory.path(), &words);
    assert_eq!(output.code(), 0, "{output:?}");
    let (is_valid, found) = validated(&directory, &output.stdout);
    assert!(is_valid, "{found}");
    let jobs = output.stdout.split("kind: Secret").last().expect("text");
    let jobs = jobs.split_once("\n---").expect("objects follow").1;
    assert!(!jobs.contains("pass word"), "{jobs}");
    assert!(jobs.contains("secretKeyRef"), "{jobs}");
    assert!(output.stdout.contains("me:pass word"), "{output:?}");
    assert!(output.stdout.contains("$$(HOME) it's\\\"}\\nnull"), "{output:?}");
}

#[test]
fn a_wrong_manifest_is_refused_with_the_flag() {
    let directory = Directory::new();
    let made = run(directory.path(), &["fleet", "init", "f", "--agents", "2"]);
    assert_eq!(made.code(), 0, "{made:?}");
    for (words, named) in [
        ("--agents 1 -- -d 1s http://h/", "--allow is missing"),
        ("--agents 1 --allow host:80 -- -d 1s http://h/", "give addresses, not names"),
        ("--agents 1 --allow any --max-rate x -- -d 1s http://h/", "--max-rate"),
        ("--agents 1 --allow any --permit x -- -d 1s http://h/", "--permit"),
        ("--agents 1 --allow any -- -d 1s -R x http://h/", "--rate"),
        ("--agents 1 --allow any -- -d 0 http://h/", "-d 0 ends by a signal"),
        ("--agents 1 --allow any -- -d 1s", "name the URL"),
        ("--agents 1 --allow any -- --agents 2 -d 1s http://h/", "--agents"),
        ("--agents 1 --allow any -- repeat -n 2 -d 1s http://h/", "repeat"),
        ("--agents 1 --allow any -- -d 1s -o run.json http://h/", "--results-claim"),
        ("--agents 1 --allow any -- -d 1s --raw r.parquet http://h/", "--raw"),
        ("--agents 1 --allow any -- -d 1s -b @body http://h/", "--body"),
        ("--agents 1 --allow any --name A -- -d 1s http://h/", "the name \"A\""),
        ("--agents 1 --allow any --memory much -- -d 1s http://h/", "the memory \"much\""),
        ("--agents 1 --allow any --seccomp-profile x -- -d 1s http://h/", "--seccomp-profile"),
        ("--fleet f --allow any -- -d 1s http://h/", "not valid for weir-nats"),
        ("--fleet f --agents 3 --bus tls://h --allow any -- -d 1s http://h/", "has 2 agents"),
        ("--fleet f --bus tls://a:b@h --allow any -- -d 1s http://h/", "--bus"),
        ("--allow any -- -d 1s http://h/", "--agents"),
        ("--agents 1 --allow 10.0.0.0/8:443 -- -d 1s http://h:81/", "h:81 is not among the"),
        ("--agents 1 --allow 10.0.0.0/8 -- -d 1s http://192.0.2.1/", "192.0.2.1:80 is not among"),
        ("--agents 1 --allow any --max-rate 5 -- -d 1s -R 10 http://h/", "--max-rate"),
        ("--agents 2 --allow any --max-duration 1s -- -d 1m http://h/", "--max-duration"),
        ("--agents 1 --allow any --deadline 1m -- -d 5m http://h/", "a longer --deadline"),
        ("--agents 1 --allow 10.0.0.1:80 -- -d 1s --otlp http://c:4318 http://10.0.0.1/", "--otlp"),
        ("--agents 1 --allow any -- -d 1s --listen 127.0.0.1:9464 http://h/", "--listen 0.0.0.0"),
        ("--agents 1 --allow any -- -d 1s -H A:{{env:T}} http://h/", "--permit env:T"),
        ("--agents 1 --allow any --permit env:T -- -d 1s -H A:{{env:T}} http://h/", "--env-from"),
        ("--agents 1 --allow any --permit all -- -d 1s -H A:{{file:/k}} http://h/", "--env-from"),
        ("--agents 1 --allow any --label app.kubernetes.io/name=a -- -d 1s http://h/", "the label"),
        ("--agents 1 --allow any --toleration a:Never -- -d 1s http://h/", "the toleration"),
        ("--agents 1 --allow any --user-id 0 -- -d 1s http://h/", "--user-id"),
    ] {
        let all: Vec<&str> = ["fleet", "manifest"].into_iter().chain(words.split(' ')).collect();
        let output = run(directory.path(), &all);
        assert_eq!(output.status.code(), Some(2), "{words}: {output:?}");
        assert!(output.stderr.contains(named), "{words}: {output:?}");
    }
}
