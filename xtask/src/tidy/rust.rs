//! Rules for one Rust file: shape, length, and banned code.

use std::ops::Range;

use super::finding::Finding;
use crate::source::{File, Tree, functions, line_of, prefixes, tests_module, words};

const COLUMNS_MAX: usize = 100;
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

/// Paths that may contain `unsafe`.
const UNSAFE_PATHS: [&str; 3] =
    ["crates/weir-io/", "crates/weir-machine/src/sys", "crates/weir-script/src/ffi"];

/// Banned code: text, rule, and advice.
const BANNED: [(&str, &str, &str); 10] = [
    ("#[allow", "allow", "write #[expect(…, reason = \"…\")], which tells when it is obsolete"),
    ("#![allow", "allow", "write #![expect(…, reason = \"…\")], which tells when it is obsolete"),
    ("#[ignore", "ignore", "delete the test or let it run"),
    ("todo!", "unfinished", "finish it, or leave out what needs it"),
    ("unimplemented!", "unfinished", "finish it, or leave out what needs it"),
    ("dbg!", "unfinished", "delete it"),
    ("static mut", "global", "pass it as an argument"),
    ("thread_local!", "global", "pass it as an argument"),
    ("lazy_static!", "global", "pass it as an argument"),
    ("fn get_", "name", "a getter is named by its noun alone"),
];

/// Words that mark unfinished work in comments.
const DEBTS: [&str; 4] = ["TODO", "FIXME", "XXX", "HACK"];

/// Rules that look at one file and may find several places.
const RULES: [fn(&File) -> Vec<Finding>; 7] =
    [columns, lengths, banned, unsafe_code, debts, configured_bodies, sleeping_tests];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let findings = tree.rust().flat_map(|file| {
        let once = [header(file), tests_last(file), undeclared(file, tree)];
        RULES.iter().flat_map(|rule| rule(file)).chain(once.into_iter().flatten())
    });
    findings.collect()
}

fn header(file: &File) -> Option<Finding> {
    let advice = "begin with a //! paragraph: what the file is for and what it must not know";
    (!file.text.starts_with("//!")).then(|| Finding::new(&file.path, 1, "header", advice))
}

/// Finds lines that are too long; also used for scripts. A line with a link may be of any length.
pub(super) fn columns(file: &File) -> Vec<Finding> {
    Finding::in_lines(file, "columns", |line| {
        let columns = line.chars().count();
        let is_too_long = columns > COLUMNS_MAX && !line.contains("https://");
        is_too_long.then(|| format!("{columns} columns; break it at {COLUMNS_MAX}"))
    })
}

fn lengths(file: &File) -> Vec<Finding> {
    let mut findings = Vec::new();
    let tests = tests_module(&file.masked.code).unwrap_or(0..0);
    let lines = file.text.lines().count() - tests.len();
    if lines > FILE_LINES_MAX && !file.is_tests() {
        let advice = format!("{lines} lines without tests, {FILE_LINES_MAX} at most; split it");
        findings.push(Finding::new(&file.path, 1, "file-length", advice));
    }
    for function in functions(&file.masked.code) {
        let lines = function.last_line - function.first_line + 1;
        if lines > FUNCTION_LINES_MAX {
            let name = &function.name;
            let advice = format!("`{name}` has {lines} lines, {FUNCTION_LINES_MAX} at most");
            findings.push(Finding::new(&file.path, function.first_line, "function-length", advice));
        }
    }
    findings
}

fn tests_last(file: &File) -> Option<Finding> {
    let tests = tests_module(&file.masked.code)?;
    let follows = file.text.lines().skip(tests.end - 1).any(|line| !line.trim().is_empty());
    let advice = "move what follows `mod tests` above it";
    follows.then(|| Finding::new(&file.path, tests.end, "tests-last", advice))
}

fn banned(file: &File) -> Vec<Finding> {
    let code = &file.masked.code;
    let found = |(banned, rule, advice): (&str, _, &str)| {
        let advice = format!("`{banned}`: {advice}");
        Finding::at_each(file, code, prefixes(code, banned), rule, &advice)
    };
    BANNED.into_iter().flat_map(found).collect()
}

/// Finds `unsafe` outside its permitted places, and crate roots that do not forbid it. Where one
/// room may contain it, the root denies it, and that room's `mod` expects it.
fn unsafe_code(file: &File) -> Vec<Finding> {
    if UNSAFE_PATHS.iter().any(|path| file.path.starts_with(path)) {
        return Vec::new();
    }
    let code = &file.masked.code;
    let advice = "give it a safe function in weir-machine's `sys`, or in weir-io for sockets";
    let mut findings = Finding::at_each(file, code, words(code, "unsafe"), "unsafe", advice);
    let directory = file.path.rsplit_once('/').map_or("", |(directory, _)| directory);
    let has_room = UNSAFE_PATHS.iter().any(|path| path.starts_with(directory));
    let line = if has_room { "#![deny(unsafe_code)]" } else { "#![forbid(unsafe_code)]" };
    if file.is_root() && !code.contains(line) {
        let advice = format!("add {line} to the crate's root");
        findings.push(Finding::new(&file.path, 1, "forbid-unsafe", advice));
    }
    findings
}

fn debts(file: &File) -> Vec<Finding> {
    let comments = &file.masked.comments;
    let found = |debt| {
        let advice = format!("`{debt}`: do it, or open an issue; comments keep no score");
        Finding::at_each(file, comments, words(comments, debt), "debt", &advice)
    };
    DEBTS.into_iter().flat_map(found).collect()
}

/// Finds `cfg` inside function bodies. Conditional compilation chooses modules and items; inside a
/// body it hides half of a function.
fn configured_bodies(file: &File) -> Vec<Finding> {
    let code = &file.masked.code;
    let bodies: Vec<Range<usize>> = functions(code).into_iter().map(|f| f.body).collect();
    let places = ["#[cfg(", "cfg!("].into_iter().flat_map(|cfg| prefixes(code, cfg));
    let inside = places.filter(|at| bodies.iter().any(|body| body.contains(at)));
    let advice = "cfg inside a body: choose between two modules or items instead";
    Finding::at_each(file, code, inside, "cfg-in-body", advice)
}

/// Finds tests that sleep: they are slow at best and fail under load.
fn sleeping_tests(file: &File) -> Vec<Finding> {
    let code = &file.masked.code;
    let tests = tests_module(code).unwrap_or(0..0);
    let sleeps = words(code, "thread::sleep");
    let sleeps = sleeps.filter(|at| file.is_tests() || tests.contains(&line_of(code, *at)));
    let advice = "wait for the event itself, or simulate: tests do not sleep";
    Finding::at_each(file, code, sleeps, "sleep", advice)
}

/// Finds a file that no `mod` names: it is never compiled.
fn undeclared(file: &File, tree: &Tree) -> Option<Finding> {
    let roots = ["src/", "tests/it/"];
    let (_, inside) = roots.into_iter().find_map(|root| file.path.split_once(root))?;
    if ["lib.rs", "main.rs"].contains(&inside) || inside.starts_with("bin/") {
        return None;
    }
    let module = file.path.strip_suffix("/mod.rs").or(file.path.strip_suffix(".rs"))?;
    let (parent, name) = module.rsplit_once('/')?;
    let candidates = ["/lib.rs", "/main.rs", "/mod.rs", ".rs"].map(|end| format!("{parent}{end}"));
    let declaration = format!("mod {name};");
    let declares = |path: &String| {
        tree.file(path).is_some_and(|f| words(&f.masked.code, &declaration).next().is_some())
    };
    let advice = format!("no file declares `{declaration}`: declare it or delete the file");
    (!candidates.iter().any(declares)).then(|| Finding::new(&file.path, 1, "undeclared", advice))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "crates/weir-http/src/lib.rs";
    const START: &str = "//! What it is for.\n#![forbid(unsafe_code)]\n";

    /// Checks the rules that a crate root with this body breaks, with their lines below the start.
    fn check_body(body: &str, expected: &[(&str, usize)]) {
        let tree = Tree::of(&[(PATH, &format!("{START}{body}"))]);
        let found = check(&tree);
        let found: Vec<(&str, usize)> = found.iter().map(|f| (f.rule, f.line - 2)).collect();
        assert_eq!(found, expected, "in {body}");
    }

    #[test]
    fn clean_code_passes() {
        check_body("/// Adds.\nfn add(a: u8) -> u8 {\n    a + 1\n}\n", &[]);
        check_body("const A: &str = \"#[allow todo! unsafe\"; // unsafe, dbg!\n", &[]);
        check_body("#[expect(unused, reason = \"x\")]\nfn budget_x() {}\n", &[]);
    }

    #[test]
    fn bans_are_found() {
        check_body("\n#[allow(dead_code)]\nfn a() {}\n", &[("allow", 2)]);
        check_body("#![allow(dead_code)]\n", &[("allow", 1)]);
        check_body("#[ignore = \"slow\"]\nfn a() {}\n", &[("ignore", 1)]);
        check_body("fn a() {\n    todo!()\n}\n", &[("unfinished", 2)]);
        check_body("fn a() {\n    unimplemented!()\n}\n", &[("unfinished", 2)]);
        check_body("fn a() {\n    dbg!(1);\n}\n", &[("unfinished", 2)]);
        check_body("static mut A: u8 = 1;\n", &[("global", 1)]);
        check_body("pub fn get_rate() {}\n", &[("name", 1)]);
        check_body("// TODO: more\n", &[("debt", 1)]);
    }

    #[test]
    fn unsafe_is_found_and_forbidden() {
        check_body("fn a() {\n    unsafe { b() }\n}\n", &[("unsafe", 2)]);
        let without = |path: &str| {
            let text = "//! A.\n\nfn a() {\n    unsafe { b() }\n}\n";
            check(&Tree::of(&[(path, text)])).iter().map(|f| f.rule).collect::<Vec<_>>()
        };
        assert_eq!(without("crates/weir-http/src/lib.rs"), ["unsafe", "forbid-unsafe"]);
        assert_eq!(without("crates/weir-io/src/lib.rs"), [""; 0]);
        assert!(!without("crates/weir-machine/src/sys/cpus.rs").contains(&"unsafe"));
        assert_eq!(without("crates/weir-machine/src/lib.rs"), ["unsafe", "forbid-unsafe"]);
        assert_eq!(without("crates/weir/tests/nginx.rs"), ["unsafe"]);
    }

    #[test]
    fn long_lines_are_found() {
        check_body(&format!("// {}\n", "é".repeat(97)), &[]);
        check_body(&format!("// {}\n", "é".repeat(98)), &[("columns", 1)]);
        check_body(&format!("// https://{}\n", "a".repeat(98)), &[]);
    }

    #[test]
    fn long_functions_are_found() {
        let function =
            |lines: usize| format!("\nfn a() {{\n{}}}\n", "    b();\n".repeat(lines - 2));
        check_body(&function(70), &[]);
        check_body(&function(71), &[("function-length", 2)]);
    }

    #[test]
    fn long_files_are_found_and_tests_do_not_count() {
        let file = |lines: usize| "use a::b;\n".repeat(lines - 2);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{}}}\n", "    use a::b;\n".repeat(200));
        check_body(&format!("{}{tests}", file(600)), &[]);
        let tree = Tree::of(&[(PATH, &format!("{START}{}{tests}", file(601)))]);
        assert_eq!(check(&tree)[0].rule, "file-length");
        let cases = format!("//! Cases.\n{}", file(600));
        assert_eq!(check(&Tree::of(&[("crates/weir-http/tests/cases.rs", &cases)])), []);
    }

    #[test]
    fn tests_come_last_and_do_not_sleep() {
        check_body("#[cfg(test)]\nmod tests {\n}\n\nfn a() {}\n", &[("tests-last", 4)]);
        check_body("fn a() {\n    std::thread::sleep(b);\n}\n", &[]);
        let sleeping =
            "#[cfg(test)]\nmod tests {\n    fn a() {\n        thread::sleep(b);\n    }\n}\n";
        check_body(sleeping, &[("sleep", 4)]);
    }

    #[test]
    fn cfg_stays_outside_bodies() {
        check_body("#[cfg(target_os = \"linux\")]\nfn a() {}\n", &[]);
        check_body("fn a() {\n    #[cfg(b)]\n    c();\n}\n", &[("cfg-in-body", 2)]);
        check_body("fn a() {\n    if cfg!(b) {}\n}\n", &[("cfg-in-body", 2)]);
    }

    #[test]
    fn every_file_has_a_header() {
        let tree = Tree::of(&[("crates/weir-io/src/lib.rs", "// A comment.\n")]);
        assert_eq!(check(&tree)[0].rule, "header");
    }

    #[test]
    fn every_file_is_declared() {
        let files = |root: &str| {
            let root = format!("{START}{root}");
            let child = "crates/weir-http/src/a.rs";
            let leaf = "crates/weir-http/src/a/b.rs";
            let tree = Tree::of(&[(PATH, &root), (child, "//! A.\nmod b;\n"), (leaf, "//! B.\n")]);
            check(&tree).into_iter().map(|f| (f.path, f.rule)).collect::<Vec<_>>()
        };
        assert_eq!(files("mod a;\n"), []);
        assert_eq!(files("mod ab;\n"), [("crates/weir-http/src/a.rs".to_owned(), "undeclared")]);
    }

    #[test]
    fn every_file_of_integration_tests_is_declared() {
        let undeclared = |root: &str| {
            let main = ("crates/weir-http/tests/it/main.rs", root);
            let child = ("crates/weir-http/tests/it/a/mod.rs", "//! A.\nmod b;\n");
            let leaf = ("crates/weir-http/tests/it/a/b.rs", "//! B.\n");
            let found = check(&Tree::of(&[main, child, leaf]));
            found.into_iter().map(|f| (f.path, f.rule)).collect::<Vec<_>>()
        };
        assert_eq!(undeclared("//! Tests.\nmod a;\n"), []);
        let child = "crates/weir-http/tests/it/a/mod.rs".to_owned();
        assert_eq!(undeclared("//! Tests.\nmod b;\n"), [(child, "undeclared")]);
    }
}
