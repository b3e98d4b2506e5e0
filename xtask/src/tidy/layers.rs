//! Allowed imports between crates, as the table of ARCHITECTURE.md, "Crates", has them, and names
//! that a crate must not use.

use std::collections::BTreeMap;

use super::finding::Finding;
use super::manifests::{DependencyKind, dependencies};
use crate::source::{File, Tree, words};

const PAGE: &str = "ARCHITECTURE.md";

/// A crate, or a room of one as a path; external crates that it must not import, and names that its
/// code must not contain. What a room has replaces what its crate has.
type Ban = (&'static str, &'static [&'static str], &'static [&'static str]);

/// Crates that access the system, besides weir-machine and weir-io. Constants of libc are harmless
/// without `unsafe`.
const SYSTEM: &[&str] = &["io-uring", "rustix", "nix", "mio", "polling", "socket2", "tokio"];
const SYSTEM_AND_CHANCE: &[&str] =
    &["libc", "io-uring", "rustix", "nix", "mio", "socket2", "tokio", "rand", "fastrand", "jiff"];
const FORMATS: &[&str] =
    &["serde", "serde_json", "hdrhistogram", "httparse", "http", "h2", "base64", "clap", "jiff"];

/// The asynchronous runtime and what it runs, which one crate alone has.
const RUNTIME: (&str, &[&str]) = ("weir-fleet", &["async-nats", "futures-util", "tokio"]);

const PROCESS: &[&str] = &["println!", "eprintln!", "process::exit", "env::args", "env::args_os"];
const CLOCKS: &[&str] = &["Instant::now", "SystemTime"];
const CLOCKS_AND_PRINTING: &[&str] =
    &["Instant::now", "SystemTime", "println!", "print!", "eprintln!", "eprint!"];
/// Names that a function of documents does not need; it may read and write files.
const MACHINE: &[&str] =
    &["Instant::now", "SystemTime", "std::net", "std::thread", "println!", "eprintln!"];
const WORLD: &[&str] =
    &["Instant::now", "SystemTime", "std::net", "std::thread", "std::fs", "println!", "eprintln!"];

/// Bans by crate and room. Crates without one are the program's and its tools'.
const BANS: [Ban; 23] = [
    // It looks at the machine and changes nothing: it starts no program and writes no file.
    (
        "weir-doctor",
        &["clap", "libc", "tokio", "mio"],
        &["println!", "eprintln!", "process::Command", "fs::write", "File::create"],
    ),
    // It belongs to no program: it neither reads a command line, nor prints, nor ends the process.
    ("weir-runner", &["clap", "tokio", "mio"], PROCESS),
    ("weir-study", SYSTEM_AND_CHANCE, WORLD),
    // It runs the commands of hooks, and leaves files and the screen to its caller.
    ("weir-study/src/conductor", &[], PROCESS),
    ("weir-engine", &["clap", "jiff", "tokio", "mio"], CLOCKS_AND_PRINTING),
    ("weir-http", SYSTEM_AND_CHANCE, WORLD),
    // It alone has an asynchronous runtime, for its bus.
    ("weir-fleet", &["clap", "libc", "mio"], PROCESS),
    ("weir-io", FORMATS, &["println!", "eprintln!"]),
    // It reads files, makes system calls in one room, and judges nothing.
    (
        "weir-machine",
        FORMATS,
        &[
            "libc",
            "Instant::now",
            "SystemTime",
            "std::thread",
            "fs::write",
            "println!",
            "eprintln!",
        ],
    ),
    ("weir-machine/src/sys", &[], &["println!", "eprintln!"]),
    ("weir-sim", SYSTEM, CLOCKS),
    // Scripts may read the time of day; no measurement uses it.
    ("weir-script", SYSTEM, &["Instant::now"]),
    ("weir-tls", SYSTEM, CLOCKS),
    ("weir-stats", SYSTEM_AND_CHANCE, WORLD),
    ("weir-result", SYSTEM, MACHINE),
    // It turns text into requests and checks responses; files and sockets are its callers'.
    ("weir-requests", SYSTEM_AND_CHANCE, WORLD),
    // Words for people: every crate may use them.
    ("weir-text", SYSTEM_AND_CHANCE, WORLD),
    // It judges a document, and changes with METHOD; the schema does not.
    ("weir-verdict", SYSTEM, MACHINE),
    ("weir-history", SYSTEM, MACHINE),
    ("weir-report", SYSTEM, MACHINE),
    ("weir-serve", FORMATS, &[]),
    // It runs weir as a program, and knows of the crates the document, the machine, and the agents
    // of a fleet, which it simulates.
    ("lab", &["clap", "serde", "tokio"], &[]),
    // Its tasks work when the crates do not.
    ("xtask", &["clap", "tokio"], &[]),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let page = tree.file(PAGE).map_or("", |page| &page.text);
    let layers: BTreeMap<&str, Vec<String>> = page.lines().filter_map(layer).collect();
    let mut findings = Vec::new();
    for file in &tree.files {
        let is_manifest = file.name() == "Cargo.toml";
        if is_manifest && layers.contains_key(file.crate_name()) {
            findings.extend(imports(file, &layers));
        } else if is_manifest && file.path.starts_with("crates/") {
            let advice = "say in ARCHITECTURE.md's table of crates who may import whom";
            findings.push(Finding::new(&file.path, 1, "layer", advice));
        } else if file.path.contains("/src/") {
            findings.extend(banned(file));
        }
    }
    findings
}

/// Returns the crate of a row of the table, and those that it may import.
fn layer(row: &str) -> Option<(&str, Vec<String>)> {
    let (name, rest) = row.strip_prefix("| `")?.split_once('`')?;
    let (_, imports) = rest.trim_end_matches(" |").rsplit_once("| ")?;
    let full = |import: &str| match import {
        "lab" | "weir" | "xtask" => import.to_owned(),
        import => format!("weir-{import}"),
    };
    Some((name, imports.split(", ").map(full).collect()))
}

/// Finds imports that the table or a ban forbids. No crate imports `weir`, and only tests import
/// `weir-sim`.
fn imports(file: &File, layers: &BTreeMap<&str, Vec<String>>) -> Vec<Finding> {
    let importer = file.crate_name();
    let foreign = BANS.iter().find(|ban| ban.0 == importer).map_or(&[][..], |ban| ban.1);
    let mut findings = Vec::new();
    for dependency in dependencies(&file.text) {
        let name = dependency.name;
        let ours = layers.contains_key(name) || name.starts_with("weir-");
        let is_allowed = layers[importer].iter().any(|import| import == name);
        let advice = match dependency.used {
            _ if name == "weir" => "no crate imports the program",
            DependencyKind::Dev => continue,
            _ if name == "weir-sim" => "the simulation is a dev-dependency only",
            _ if RUNTIME.1.contains(&name) && importer != RUNTIME.0 => {
                "a fleet's bus alone has an asynchronous runtime"
            }
            _ if ours && !is_allowed => "ARCHITECTURE.md does not allow it",
            _ if foreign.contains(&name) => "this crate must not know such things",
            _ => continue,
        };
        let advice = format!("{importer} imports {name}: {advice}");
        findings.push(Finding::new(&file.path, dependency.line, "layer", advice));
    }
    findings
}

fn banned(file: &File) -> Vec<Finding> {
    let name = file.crate_name();
    let ban = BANS.iter().filter(|ban| file.is_in(ban.0)).max_by_key(|ban| ban.0.len());
    let banned = ban.into_iter().flat_map(|ban| ban.2);
    let found = |word: &&str| {
        let code = &file.masked.code;
        let advice = format!("{name} must not know of `{word}`");
        Finding::at_each(file, code, words(code, word), "layer", &advice)
    };
    banned.flat_map(found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_file(path: &str, text: &str, lines: &[usize]) {
        let page = include_str!("../../../ARCHITECTURE.md");
        let found = check(&Tree::of(&[(PAGE, page), (path, text)]));
        let found: Vec<usize> = found.iter().map(|f| f.line).collect();
        assert_eq!(found, lines, "in {path}: {text}");
    }

    #[test]
    fn imports_follow_the_architecture() {
        let engine = "crates/weir-engine/Cargo.toml";
        check_file(engine, "[dependencies]\nweir-http.workspace = true\n", &[]);
        check_file(engine, "[dependencies]\nweir-report.workspace = true\n", &[2]);
        check_file(engine, "[dependencies]\nweir-sim.workspace = true\n", &[2]);
        check_file(engine, "[dev-dependencies]\nweir-sim.workspace = true\n", &[]);
        check_file(engine, "[dev-dependencies]\nweir.workspace = true\n", &[2]);
        for server in ["crates/weir-serve/Cargo.toml", "crates/weir-sim/Cargo.toml"] {
            check_file(server, "[dependencies]\nweir-http.workspace = true\n", &[]);
            check_file(server, "[dependencies]\nweir-engine.workspace = true\n", &[2]);
        }
        check_file("crates/weir/Cargo.toml", "[dependencies]\nweir-sim.workspace = true\n", &[2]);
    }

    #[test]
    fn tasks_import_nothing_of_ours_and_the_lab_the_document() {
        check_file("lab/Cargo.toml", "[dependencies]\nweir-result.workspace = true\n", &[]);
        check_file("lab/Cargo.toml", "[dependencies]\nxtask = { path = \"x\" }\n", &[]);
        check_file("lab/Cargo.toml", "[dependencies]\nweir-engine.workspace = true\n", &[2]);
        for name in ["weir-result", "lab"] {
            let manifest = format!("[dependencies]\n{name}.workspace = true\n");
            check_file("xtask/Cargo.toml", &manifest, &[2]);
        }
        check_file("crates/weir/Cargo.toml", "[dependencies]\nxtask.workspace = true\n", &[2]);
    }

    #[test]
    fn foreign_crates_are_kept_out() {
        let http = "crates/weir-http/Cargo.toml";
        check_file(http, "[dependencies]\nmemchr.workspace = true\n", &[]);
        check_file(http, "[dependencies]\nlibc.workspace = true\n", &[2]);
        check_file("crates/weir-io/Cargo.toml", "[dependencies]\nserde.workspace = true\n", &[2]);
        let runtime = "[dependencies]\ntokio.workspace = true\n";
        check_file("crates/weir-fleet/Cargo.toml", runtime, &[]);
        check_file("crates/weir/Cargo.toml", runtime, &[2]);
    }

    #[test]
    fn a_new_crate_needs_a_rule() {
        check_file("crates/weir-new/Cargo.toml", "[package]\n", &[1]);
    }

    #[test]
    fn code_does_not_reach_around_its_manifest() {
        let clock = "//! A.\nfn a() {\n    Instant::now();\n}\n";
        check_file("crates/weir-engine/src/worker.rs", clock, &[3]);
        check_file("crates/weir-engine/tests/stalls.rs", clock, &[]);
        check_file("crates/weir/src/main.rs", clock, &[]);
        let end = "//! A.\nfn a() {\n    std::process::exit(1);\n}\n";
        check_file("crates/weir-runner/src/runner.rs", end, &[3]);
        check_file("crates/weir/src/runner.rs", end, &[]);
        check_file("crates/weir-http/src/lib.rs", "//! A.\nuse std::net::IpAddr;\n", &[2]);
        let call = "//! A.\nfn a() {\n    libc::getpid();\n}\n";
        check_file("crates/weir-machine/src/memory.rs", call, &[3]);
        check_file("crates/weir-machine/src/sys.rs", call, &[]);
        check_file("crates/weir-machine/src/sys/cpus.rs", call, &[]);
    }
}
