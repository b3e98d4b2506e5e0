//! Execution of other programs from the root of the repository; prints every command.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};

/// Runs the task that the command line names, and prints its error after the name of `program`.
pub fn run_task(program: &str, run: impl FnOnce(&[&str]) -> Result<()>) -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the root of the repository. Fails if cargo has not started this program.
pub fn root() -> Result<PathBuf> {
    let manifest_dir =
        env::var_os("CARGO_MANIFEST_DIR").context("run this by cargo: `cargo xtask`")?;
    let root = Path::new(&manifest_dir).parent().context("failed to find the repository")?;
    Ok(root.to_owned())
}

/// Returns cargo's build directory. Fails as [`root`] does.
pub fn target_dir() -> Result<PathBuf> {
    // A relative path is relative to the root, where this module starts cargo.
    let named = env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    Ok(root()?.join(named.unwrap_or_else(|| PathBuf::from("target"))))
}

/// Builds the program as users have it, and returns its path. Fails as [`run`] does.
pub fn build_weir() -> Result<PathBuf> {
    run(&mut cargo(&["build", "--locked", "--release", "--package", "weir-load"])?)?;
    Ok(target_dir()?.join("release").join("weir"))
}

/// Builds the program for a demonstration, within a few minutes: without optional features and
/// without optimising across crates. Returns its path. Fails as [`run`] does.
pub fn build_demo() -> Result<PathBuf> {
    let build = ["build", "--locked", "--profile", "demo", "--package", "weir-load"];
    run(cargo(&build)?.args(["--no-default-features", "--bin", "weir"]))?;
    Ok(target_dir()?.join("demo").join("weir"))
}

/// Returns the directory in which `cargo xtask setup` puts programs without a system package; `bin`
/// is below it. Fails as [`root`] does.
pub fn tools_dir() -> Result<PathBuf> {
    Ok(target_dir()?.join("tools"))
}

/// Returns `PATH` with these directories before all others.
pub fn path_with(directories: impl IntoIterator<Item = PathBuf>) -> Result<OsString> {
    let others = env::var_os("PATH").unwrap_or_default();
    Ok(env::join_paths(directories.into_iter().chain(env::split_paths(&others)))?)
}

/// Returns the path of a program in that directory.
pub fn find_tool(name: &str) -> Option<PathBuf> {
    let place = tools_dir().ok()?.join("bin").join(name);
    place.is_file().then_some(place)
}

/// Returns the cargo that started this program, at the root of the repository. Fails as [`root`]
/// does.
pub fn cargo(arguments: &[&str]) -> Result<Command> {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(arguments).current_dir(root()?);
    Ok(command)
}

/// Prints and runs a command; any exit code but 0 is an error, and so is a failure to start it.
pub fn run(command: &mut Command) -> Result<()> {
    let shown = show(command);
    eprintln!("$ {shown}");
    let status = command.status().with_context(|| format!("failed to start `{shown}`"))?;
    ensure!(status.success(), "`{shown}` ended with {status}");
    Ok(())
}

/// Runs a command and returns its standard output without the line end; fails as [`run`] does.
pub fn output(command: &mut Command) -> Result<String> {
    let shown = show(command);
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("failed to start `{shown}`"))?;
    ensure!(output.status.success(), "`{shown}` ended with {}", output.status);
    let text = String::from_utf8(output.stdout);
    Ok(text.with_context(|| format!("`{shown}` printed no text"))?.trim_end().to_owned())
}

/// Returns the target triple of this machine, as the pinned rustc names it.
pub fn host() -> Result<String> {
    let rustc = output(Command::new("rustc").arg("-vV").current_dir(root()?))?;
    let host = rustc.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names no host")?.to_owned())
}

/// Formats a command as typed, without the directory of its program.
pub fn show(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = [program].into_iter().chain(command.get_args());
    words.map(OsStr::to_string_lossy).collect::<Vec<_>>().join(" ")
}

/// True if the current user is root. Fails if id(1) does not start.
pub fn is_root() -> Result<bool> {
    Ok(output(Command::new("id").arg("-u"))? == "0")
}

/// Searches a program in `PATH` and in the directories for administrators, which the `PATH` of an
/// ordinary user may lack.
pub fn find_program(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let administrators = ["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut places = env::split_paths(&path).chain(administrators);
    places.find_map(|place| Some(place.join(name)).filter(|file| file.is_file()))
}

/// Does the same for a program that the task `purpose` cannot do without.
pub fn need_program(name: &str, purpose: &str) -> Result<PathBuf> {
    let found = find_program(name);
    found.with_context(|| format!("failed to find {name}: cargo xtask setup {purpose}"))
}
