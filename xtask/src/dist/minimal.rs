//! The build without default features: it calls the C compiler for the TLS library alone, and its
//! program names the remedy where a part is missing.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::checkout::{Checkout, PACKAGE};
use super::files::{install, renew, write};
use crate::shell::{find_program, path_with, run};

/// The package that may compile C: the cryptography of TLS.
const TLS_LIBRARY: &str = "aws-lc-sys";

/// Names by which build scripts call a C compiler.
const COMPILERS: [&str; 7] = ["cc", "gcc", "c++", "g++", "clang", "clang++", "c99"];

/// Builds the program, with compilers that write down for which package they compile.
pub(super) fn minimal(checkout: &Checkout<'_>) -> Result<()> {
    let place = checkout.work.join("minimal");
    let log = checkout.work.join("compilers.log");
    let bin = checkout.work.join("compilers");
    renew(&bin)?;
    // A build that is up to date would call no compiler.
    renew(&place)?;
    write(&log, "")?;
    for compiler in COMPILERS {
        if let Some(real) = find_program(compiler) {
            let script = wrapper(&real, &log);
            write(&checkout.work.join("wrapper"), &script)?;
            install(&checkout.work.join("wrapper"), &bin.join(compiler), 0o755)?;
        }
    }
    let words = ["build", "--locked", "--package", PACKAGE, "--no-default-features"];
    run(checkout.cargo(&words, "minimal", &[])?.env("PATH", path_with([bin])?))?;
    let callers = fs::read_to_string(&log)?;
    let callers: BTreeSet<&str> = callers.lines().collect();
    ensure!(
        callers == BTreeSet::from([TLS_LIBRARY]),
        "C is compiled for {callers:?}, and not for {TLS_LIBRARY} alone"
    );
    let program = place.join("debug/weir");
    let refuses = |words: &[&str], flag, feature| refuses(&program, words, flag, feature);
    refuses(&["-s", "/dev/null", "http://127.0.0.1:1/"], "--script", "script")?;
    refuses(&["--save", "a", "http://127.0.0.1:1/"], "--save", "history")?;
    refuses(&["--otlp", "http://127.0.0.1:1", "http://127.0.0.1:1/"], "--otlp", "otlp")?;
    let proto = ["--grpc", "a.B/C", "--proto", "/dev/null", "http://127.0.0.1:1/"];
    refuses(&proto, "--proto", "grpc")?;
    refuses(&["--tui", "http://127.0.0.1:1/"], "--tui", "tui")?;
    refuses(&["history", "trend", "a"], "weir history", "history")
}

/// A compiler that writes down the package if it compiles; the linker is called by the same name.
fn wrapper(real: &Path, log: &Path) -> String {
    format!(
        "#!/bin/sh\nfor word; do\n  case $word in\n    -c|-E|-S) echo \
         \"${{CARGO_PKG_NAME-unknown}}\" >> '{}'; break;;\n  esac\ndone\nexec '{}' \"$@\"\n",
        log.display(),
        real.display()
    )
}

/// Checks that the program ends with 2, names the flag and, as the remedy, the feature.
fn refuses(program: &Path, words: &[&str], flag: &str, feature: &str) -> Result<()> {
    let output = Command::new(program).args(words).env("WEIR_HISTORY", "/nowhere").output();
    let output = output.with_context(|| format!("failed to start {}", program.display()))?;
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let remedies =
        ["--features", "its feature"].map(|it| format!("build weir with {it} {feature}"));
    let has_remedy = remedies.iter().any(|remedy| error.contains(remedy));
    let is_refused = output.status.code() == Some(2) && error.contains(flag) && has_remedy;
    ensure!(is_refused, "weir {} gives {}: {error}", words.join(" "), output.status);
    eprintln!("dist: {}", error.trim());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{cargo, output};

    /// The packages whose build scripts use another one.
    fn users(of: &str) -> BTreeSet<String> {
        let words =
            ["tree", "--locked", "--offline", "--no-default-features", "--edges=normal,build"];
        let mut tree = cargo(&words).expect("cargo");
        tree.args([
            "--package",
            PACKAGE,
            "--prefix=none",
            "--depth=1",
            "--format={p}",
            "--invert",
            of,
        ]);
        let tree = output(&mut tree).expect("a tree");
        let names = tree.lines().skip(1).filter_map(|line| line.split(' ').next());
        names.map(str::to_owned).collect()
    }

    #[test]
    fn without_features_the_tls_library_alone_compiles_c() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(users("cc"), names(&[TLS_LIBRARY, "cmake"]));
        assert_eq!(users("cmake"), names(&[TLS_LIBRARY]));
    }

    #[test]
    fn a_compiler_that_compiles_is_written_down() {
        let script = wrapper(Path::new("/bin/true"), Path::new("/tmp/log"));
        assert!(script.contains("-c|-E|-S) echo \"${CARGO_PKG_NAME-unknown}\" >> '/tmp/log'"));
        assert!(script.ends_with("exec '/bin/true' \"$@\"\n"), "{script}");
    }
}
