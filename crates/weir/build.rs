//! Passes the commit that weir is built from to the program, as `WEIR_COMMIT`. Empty outside a git
//! repository, such as in a packaged crate.

use std::process::Command;

fn main() {
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or_default();
    println!("cargo::rustc-env=WEIR_COMMIT={commit}");
    // A commit and a checkout append to the log of HEAD.
    match git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        Some(log) => println!("cargo::rerun-if-changed={log}"),
        None => println!("cargo::rerun-if-changed=build.rs"),
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(["-c", "safe.directory=*"]).args(arguments).output();
    let output = output.ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
