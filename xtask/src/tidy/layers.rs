//! Allowed imports between crates, and names that a crate must not use: ARCHITECTURE.md, "Crates".

use super::finding::Finding;
use super::manifests::{Use, dependencies};
use crate::source::scanner::{line_of, words};
use crate::source::tree::{File, Tree};

/// Allowed and banned uses of one crate.
struct Layer {
    name: &'static str,
    /// Crates of this workspace that it may import.
    imports: &'static [&'static str],
    /// External crates that it must not import.
    foreign: &'static [&'static str],
    /// Names that its code must not contain.
    banned: &'static [&'static str],
}

/// Crates that access the system, besides weir-sys and weir-io. Constants of libc are harmless
/// without `unsafe`.
const SYSTEM: &[&str] = &["io-uring", "rustix", "nix", "mio", "polling", "socket2", "tokio"];
const SYSTEM_AND_CHANCE: &[&str] =
    &["libc", "io-uring", "rustix", "nix", "mio", "socket2", "tokio", "rand", "fastrand", "jiff"];
const FORMATS: &[&str] =
    &["serde", "serde_json", "hdrhistogram", "httparse", "http", "h2", "base64", "clap", "jiff"];

const CLOCKS: &[&str] = &["Instant::now", "SystemTime"];
const CLOCKS_AND_PRINTING: &[&str] =
    &["Instant::now", "SystemTime", "println!", "print!", "eprintln!", "eprint!"];
/// Names that a function of documents does not need; it may read and write files.
const MACHINE: &[&str] =
    &["Instant::now", "SystemTime", "std::net", "std::thread", "println!", "eprintln!"];
const WORLD: &[&str] =
    &["Instant::now", "SystemTime", "std::net", "std::thread", "std::fs", "println!", "eprintln!"];

/// All crates, from the program down to those that import no other. No crate imports `weir`, and
/// only tests import `weir-sim`.
const LAYERS: [Layer; 22] = [
    Layer {
        name: "weir",
        imports: &[
            "weir-conductor",
            "weir-doctor",
            "weir-history",
            "weir-io",
            "weir-machine",
            "weir-report",
            "weir-result",
            "weir-runner",
            "weir-serve",
            "weir-study",
            "weir-sys",
            "weir-text",
            "weir-verdict",
        ],
        foreign: &[],
        banned: &[],
    },
    // It looks at the machine and changes nothing: it starts no program and writes no file.
    Layer {
        name: "weir-doctor",
        imports: &[
            "weir-io",
            "weir-machine",
            "weir-report",
            "weir-result",
            "weir-sys",
            "weir-text",
        ],
        foreign: &["clap", "libc", "tokio", "mio"],
        banned: &["println!", "eprintln!", "process::Command", "fs::write", "File::create"],
    },
    // It belongs to no program: it neither reads a command line, nor prints, nor ends the process.
    Layer {
        name: "weir-runner",
        imports: &[
            "weir-engine",
            "weir-http",
            "weir-io",
            "weir-machine",
            "weir-report",
            "weir-result",
            "weir-script",
            "weir-serve",
            "weir-sys",
            "weir-text",
            "weir-tls",
            "weir-verdict",
        ],
        foreign: &["clap", "tokio", "mio"],
        banned: &["println!", "eprintln!", "process::exit", "env::args", "env::args_os"],
    },
    // It runs the commands of hooks, and leaves files and the screen to its caller.
    Layer {
        name: "weir-conductor",
        imports: &[
            "weir-machine",
            "weir-result",
            "weir-runner",
            "weir-study",
            "weir-sys",
            "weir-text",
        ],
        foreign: &["clap", "tokio", "mio"],
        banned: &["println!", "eprintln!", "process::exit", "env::args", "env::args_os"],
    },
    Layer {
        name: "weir-study",
        imports: &["weir-result", "weir-stats", "weir-text", "weir-verdict"],
        foreign: SYSTEM_AND_CHANCE,
        banned: WORLD,
    },
    Layer {
        name: "weir-engine",
        imports: &[
            "weir-http",
            "weir-io",
            "weir-result",
            "weir-script",
            "weir-stats",
            "weir-sys",
            "weir-text",
            "weir-tls",
        ],
        foreign: &["clap", "jiff", "tokio", "mio"],
        banned: CLOCKS_AND_PRINTING,
    },
    Layer { name: "weir-http", imports: &[], foreign: SYSTEM_AND_CHANCE, banned: WORLD },
    Layer {
        name: "weir-io",
        imports: &["weir-machine", "weir-sys"],
        foreign: FORMATS,
        banned: &["println!", "eprintln!"],
    },
    // It reads files, makes no system call of its own, and judges nothing.
    Layer {
        name: "weir-machine",
        imports: &[],
        foreign: SYSTEM_AND_CHANCE,
        banned: &[
            "Instant::now",
            "SystemTime",
            "std::thread",
            "fs::write",
            "println!",
            "eprintln!",
        ],
    },
    Layer { name: "weir-sys", imports: &[], foreign: FORMATS, banned: &["println!", "eprintln!"] },
    Layer { name: "weir-sim", imports: &["weir-http", "weir-io"], foreign: SYSTEM, banned: CLOCKS },
    // Scripts may read the time of day; no measurement uses it.
    Layer { name: "weir-script", imports: &[], foreign: SYSTEM, banned: &["Instant::now"] },
    Layer { name: "weir-tls", imports: &["weir-text"], foreign: SYSTEM, banned: CLOCKS },
    Layer { name: "weir-stats", imports: &[], foreign: SYSTEM_AND_CHANCE, banned: WORLD },
    Layer {
        name: "weir-result",
        imports: &["weir-stats", "weir-text"],
        foreign: SYSTEM,
        banned: MACHINE,
    },
    // Words for people: every crate may use them.
    Layer { name: "weir-text", imports: &[], foreign: SYSTEM_AND_CHANCE, banned: WORLD },
    // It judges a document, and changes with METHOD; the schema does not.
    Layer {
        name: "weir-verdict",
        imports: &["weir-result", "weir-stats", "weir-text"],
        foreign: SYSTEM,
        banned: MACHINE,
    },
    Layer {
        name: "weir-history",
        imports: &["weir-report", "weir-result", "weir-stats", "weir-text", "weir-verdict"],
        foreign: SYSTEM,
        banned: MACHINE,
    },
    Layer {
        name: "weir-report",
        imports: &["weir-result", "weir-text", "weir-verdict"],
        foreign: SYSTEM,
        banned: MACHINE,
    },
    Layer {
        name: "weir-serve",
        imports: &["weir-http", "weir-io", "weir-sys"],
        foreign: FORMATS,
        banned: &[],
    },
    // It runs weir as a program, and knows of the crates only the document and the machine.
    Layer {
        name: "lab",
        imports: &["weir-machine", "weir-result", "weir-stats", "weir-verdict", "xtask"],
        foreign: &["clap", "serde", "tokio"],
        banned: &[],
    },
    // Its tasks work when the crates do not.
    Layer { name: "xtask", imports: &[], foreign: &["clap", "serde", "tokio"], banned: &[] },
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        let layer = LAYERS.iter().find(|layer| layer.name == file.crate_name());
        let is_manifest = file.name() == "Cargo.toml";
        match layer {
            Some(layer) if is_manifest => findings.extend(imports(file, layer)),
            Some(layer) if file.path.contains("/src/") => findings.extend(banned(file, layer)),
            None if is_manifest && file.path.starts_with("crates/") => {
                let advice = "say in xtask's layers, and in ARCHITECTURE.md, who may import whom";
                findings.push(Finding::new(&file.path, 1, "layer", advice));
            }
            _ => {}
        }
    }
    findings
}

fn imports(file: &File, layer: &Layer) -> Vec<Finding> {
    let mut findings = Vec::new();
    for dependency in dependencies(&file.text) {
        let name = dependency.name;
        let ours = LAYERS.iter().any(|layer| layer.name == name) || name.starts_with("weir-");
        let advice = match dependency.used {
            _ if name == "weir" => "no crate imports the program",
            Use::Dev => continue,
            _ if name == "weir-sim" => "the simulation is a dev-dependency only",
            _ if ours && !layer.imports.contains(&name) => "ARCHITECTURE.md does not allow it",
            _ if layer.foreign.contains(&name) => "this crate must not know such things",
            _ => continue,
        };
        let advice = format!("{} imports {name}: {advice}", layer.name);
        findings.push(Finding::new(&file.path, dependency.line, "layer", advice));
    }
    findings
}

fn banned(file: &File, layer: &Layer) -> Vec<Finding> {
    let code = &file.masked.code;
    let found = layer.banned.iter().flat_map(|word| words(code, word).map(move |at| (word, at)));
    found
        .map(|(word, at)| {
            let advice = format!("{} must not know of `{word}`", layer.name);
            Finding::new(&file.path, line_of(code, at), "layer", advice)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_file(path: &str, text: &str, lines: &[usize]) {
        let found = check(&Tree::of(&[(path, text)]));
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
        check_file("lab/Cargo.toml", "[dependencies]\nxtask.workspace = true\n", &[]);
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
    }
}
