//! Exports the program's symbols, so that scripts' `ffi.C` and Lua modules written in C find
//! LuaJIT's functions in it. Passes the commit that was checked out to the program, as
//! `WEIR_COMMIT`. It is empty outside weir's own git repository, such as in a packaged crate, and
//! in builds for development, so that a commit does not cause a rebuild.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rustc-link-arg-bins=-rdynamic");
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize();
    let root = git(&["rev-parse", "--show-toplevel"]).map(|root| Path::new(&root).canonicalize());
    let is_release = env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let is_own =
        is_release && matches!((repository, root), (Ok(own), Some(Ok(root))) if own == root);
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| is_own);
    println!("cargo::rustc-env=WEIR_COMMIT={}", commit.unwrap_or_default());
    // A commit and a checkout append to the log of HEAD.
    match git(&["rev-parse", "--git-path", "logs/HEAD"]).filter(|_| is_own) {
        Some(log) => println!("cargo::rerun-if-changed={log}"),
        None => println!("cargo::rerun-if-changed=build.rs"),
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(["-c", "safe.directory=*"]).args(arguments).output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
