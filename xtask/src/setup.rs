//! `cargo xtask setup`: installs the programs that the tests need besides Rust, with the system's
//! package manager.
//!
//! As root it installs the missing programs. Otherwise it prints the commands to type, and fails if
//! a required program is missing. It installs from no other source, with three exceptions, all into
//! the build directory: programs that are crates, which cargo builds; the Python packages of
//! HdrHistogram and SciPy, of which few systems have the version that is needed; and packages from
//! npm, by lock files of the repository.

use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use anyhow::{Context, Result, bail, ensure};

use crate::npm;
use crate::shell::{cargo, find_program, find_tool, is_root, run, tools_dir};

/// Purpose of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Test,
    Bench,
    Accuracy,
    Dist,
}

impl FromStr for Purpose {
    type Err = anyhow::Error;
    fn from_str(text: &str) -> Result<Purpose> {
        match text {
            "test" => Ok(Purpose::Test),
            "bench" => Ok(Purpose::Bench),
            "accuracy" => Ok(Purpose::Accuracy),
            "dist" => Ok(Purpose::Dist),
            _ => bail!("failed to read `{text}` as a purpose: use test, bench, accuracy or dist"),
        }
    }
}

/// Installs the missing programs, or lists them.
pub(crate) fn setup(purpose: Purpose) -> Result<()> {
    match purpose {
        // Few systems have a package of it. Without it the bench has one peer less.
        Purpose::Bench => build("oha", None).or_else(|error| {
            eprintln!("setup: oha is missing, but not required: {error:#}");
            Ok::<(), anyhow::Error>(())
        })?,
        Purpose::Dist => {
            build("cargo-deny", Some("0.20.2"))?;
            build("cargo-cyclonedx", Some("0.5.9"))?;
        }
        Purpose::Test | Purpose::Accuracy => {}
    }
    let missing = missing(purpose);
    if missing.is_empty() {
        install_packages(purpose)?;
        eprintln!("setup: everything is there");
        return Ok(());
    }
    let manager = Manager::of_this_system();
    if is_root()?
        && let Some(manager) = manager
    {
        manager.install(&missing);
        let is_new = |program| missing.iter().any(|(need, _)| need.program == program);
        SERVICES.iter().filter(|service| is_new(service.program)).try_for_each(Service::stop)?;
    }
    report(&self::missing(purpose), manager)?;
    install_packages(purpose)
}

/// A required program, and the reason.
#[derive(Debug)]
struct Need {
    /// Name of the program; [`Manager::package`] maps it to its package.
    program: &'static str,
    reason: &'static str,
    required_by: &'static [Purpose],
    /// Purposes for which the program is optional: used if found, marked absent if not.
    wanted_by: &'static [Purpose],
}

const NEEDS: [Need; 30] = [
    Need {
        program: "nginx",
        reason: "its own count of requests is compared with weir's",
        required_by: &[Purpose::Test, Purpose::Bench, Purpose::Accuracy],
        wanted_by: &[],
    },
    Need {
        program: "wrk",
        reason: "its reports, and what it calls in scripts, are compared with weir's",
        required_by: &[Purpose::Test],
        wanted_by: &[Purpose::Bench, Purpose::Accuracy],
    },
    Need {
        program: "curl",
        reason: "a client of HTTP/2 and TLS of another origin for the reference server",
        required_by: &[Purpose::Test],
        wanted_by: &[],
    },
    Need {
        program: "valgrind",
        reason: "instructions per request are counted with it",
        required_by: &[Purpose::Test],
        wanted_by: &[],
    },
    Need {
        program: "chromium-headless-shell",
        reason: "the HTML report is loaded and painted by a browser",
        required_by: &[Purpose::Test],
        wanted_by: &[],
    },
    Need {
        program: "javac",
        reason: "a program of HdrHistogram's Java package reads the exports of histograms",
        required_by: &[Purpose::Test],
        wanted_by: &[],
    },
    Need {
        program: HDRHISTOGRAM_JAR,
        reason: "HdrHistogram's Java package reads the exports of histograms",
        required_by: &[Purpose::Test],
        wanted_by: &[],
    },
    Need {
        program: "tmux",
        reason: "the screen of --tui is shown by a terminal of a known size",
        required_by: &[Purpose::Test],
        wanted_by: &[],
    },
    Need {
        program: "prometheus",
        reason: "it scrapes a run, and answers the queries of the Grafana dashboard",
        required_by: &[Purpose::Test],
        wanted_by: &[],
    },
    Need {
        program: "npm",
        reason: "it installs axe-core and the packages of which the plot library is built",
        required_by: &[Purpose::Test],
        wanted_by: &[],
    },
    Need {
        program: "node",
        reason: "its HTTP server is one of those under load",
        required_by: &[Purpose::Bench],
        wanted_by: &[],
    },
    Need {
        program: "python3",
        reason: "HdrHistogram's Python package reads exports of histograms; servers under load, \
                 spinners and the forwarder of a slow link are scripts for it",
        required_by: &[Purpose::Test, Purpose::Bench, Purpose::Accuracy],
        wanted_by: &[],
    },
    Need {
        program: "ab",
        reason: "one of the peers that are compared",
        required_by: &[],
        wanted_by: &[Purpose::Bench, Purpose::Accuracy],
    },
    Need {
        program: "h2load",
        reason: "one of the peers that are compared",
        required_by: &[],
        wanted_by: &[Purpose::Bench, Purpose::Accuracy],
    },
    Need {
        program: "hey",
        reason: "one of the peers that are compared",
        required_by: &[],
        wanted_by: &[Purpose::Bench, Purpose::Accuracy],
    },
    Need {
        program: "tcpdump",
        reason: "its times of packets are compared with the kernel's stamps",
        required_by: &[],
        wanted_by: &[Purpose::Accuracy],
    },
    Need {
        program: "openssl",
        reason: "it makes the certificate of the https case",
        required_by: &[Purpose::Accuracy],
        wanted_by: &[],
    },
    Need {
        program: "ip",
        reason: "it makes the network namespaces of a slow link",
        required_by: &[Purpose::Accuracy],
        wanted_by: &[],
    },
    Need {
        program: "tc",
        reason: "it limits the bandwidth of a slow link",
        required_by: &[Purpose::Accuracy],
        wanted_by: &[],
    },
    Need {
        program: "h2o",
        reason: "a server of HTTP/2 under load, whose own count is compared with weir's",
        required_by: &[Purpose::Bench],
        wanted_by: &[Purpose::Accuracy],
    },
    Need {
        program: "nghttpd",
        reason: "its own count of requests is compared with weir's",
        required_by: &[],
        wanted_by: &[Purpose::Accuracy],
    },
    Need {
        program: "haproxy",
        reason: "its own count of requests is compared with weir's",
        required_by: &[],
        wanted_by: &[Purpose::Accuracy],
    },
    Need {
        program: "lighttpd",
        reason: "its own count of requests is compared with weir's",
        required_by: &[],
        wanted_by: &[Purpose::Accuracy],
    },
    Need {
        program: "caddy",
        reason: "its own count of requests is compared with weir's",
        required_by: &[],
        wanted_by: &[Purpose::Accuracy],
    },
    Need {
        program: "mmdebstrap",
        reason: "it makes the Debian in which the .deb is installed",
        required_by: &[Purpose::Dist],
        wanted_by: &[],
    },
    Need {
        program: "dpkg-deb",
        reason: "it builds the .deb",
        required_by: &[Purpose::Dist],
        wanted_by: &[],
    },
    Need {
        program: "dpkg-shlibdeps",
        reason: "it finds the libraries that the .deb depends on",
        required_by: &[Purpose::Dist],
        wanted_by: &[],
    },
    Need {
        program: "skopeo",
        reason: "it reads the container image",
        required_by: &[Purpose::Dist],
        wanted_by: &[],
    },
    Need {
        program: "zsh",
        reason: "it checks the syntax of its completions",
        required_by: &[],
        wanted_by: &[Purpose::Dist],
    },
    Need {
        program: "fish",
        reason: "it checks the syntax of its completions",
        required_by: &[],
        wanted_by: &[Purpose::Dist],
    },
];

fn missing(purpose: Purpose) -> Vec<(&'static Need, bool)> {
    let missing = NEEDS
        .iter()
        .filter(|need| need.required_by.contains(&purpose) || need.wanted_by.contains(&purpose));
    let missing = missing.filter(|need| !is_there(need.program));
    missing.map(|need| (need, need.required_by.contains(&purpose))).collect()
}

/// HdrHistogram's Java package.
const HDRHISTOGRAM_JAR: &str = "hdrhistogram.jar";

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
    let others: &[&str] = match program {
        "chromium-headless-shell" => &["chromium", "chromium-browser", "google-chrome"],
        _ => &[],
    };
    others.iter().chain([&program]).any(|name| find_program(name).is_some())
}

/// A package from PyPI, in an environment of its own in the build directory.
struct PythonPackage {
    /// Name of the environment.
    name: &'static str,
    /// Package and version.
    package: &'static str,
    /// Module by which it is found.
    module: &'static str,
}

/// Its log reader reads exports; the version is that for which the tests are written.
const HDRHISTOGRAM: PythonPackage =
    PythonPackage { name: "hdrhistogram", package: "hdrhistogram==0.10.8", module: "hdrh.log" };

/// It reads rows of `--raw`.
const DUCKDB: PythonPackage =
    PythonPackage { name: "duckdb", package: "duckdb==2.0.1", module: "duckdb" };

/// The second opinion on intervals; another version may draw other random numbers.
const SCIPY: PythonPackage =
    PythonPackage { name: "scipy", package: "scipy==1.17.1", module: "scipy" };

impl PythonPackage {
    /// Installs it unless it is there.
    fn install(&self) -> Result<()> {
        let environment = tools_dir()?.join(self.name);
        let python = environment.join("bin/python");
        let mut probe = Command::new(&python);
        probe.args(["-c", &format!("import {}", self.module)]).stderr(Stdio::null());
        if probe.status().is_ok_and(|status| status.success()) {
            return Ok(());
        }
        eprintln!("setup: pip installs {} into {}", self.package, environment.display());
        run(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
        run(Command::new(&python).args(["-m", "pip", "install", "--quiet", self.package]))
            .with_context(|| format!("failed to install {} from PyPI", self.package))
    }
}

/// Installs the packages from PyPI and npm of a purpose. SciPy needs a newer Python than some
/// systems have, and only writing its figures anew takes it.
fn install_packages(purpose: Purpose) -> Result<()> {
    match purpose {
        Purpose::Test => {
            HDRHISTOGRAM.install()?;
            DUCKDB.install()?;
            npm::AXE.install()?;
            npm::PLOTS.install()
        }
        Purpose::Accuracy => SCIPY.install().or_else(|error| {
            eprintln!("setup: SciPy is missing, but not required: {error:#}");
            Ok(())
        }),
        Purpose::Bench | Purpose::Dist => Ok(()),
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

/// Prints the programs that are still missing; an error if one is required.
fn report(missing: &[(&Need, bool)], manager: Option<Manager>) -> Result<()> {
    for (need, required) in missing {
        let kind = if *required { "missing" } else { "missing, but not required" };
        eprintln!("setup: {} is {kind}: {}", need.program, need.reason);
        match manager {
            Some(manager) => {
                let advice = manager.advice(manager.package(need.program));
                eprintln!("setup:   as root: {advice}");
            }
            None => eprintln!("setup:   install it so that it is found in PATH"),
        }
    }
    let required: Vec<&str> =
        missing.iter().filter(|(_, required)| *required).map(|(need, _)| need.program).collect();
    ensure!(required.is_empty(), "install {} first", required.join(" and "));
    Ok(())
}

/// Package managers of common systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manager {
    Apt,
    Dnf,
    Apk,
    Pacman,
}

impl Manager {
    fn of_this_system() -> Option<Manager> {
        let all = [Manager::Apt, Manager::Dnf, Manager::Apk, Manager::Pacman];
        all.into_iter().find(|manager| find_program(manager.words()[0]).is_some())
    }

    /// Returns the command that installs the package appended to it.
    fn words(self) -> &'static [&'static str] {
        match self {
            Manager::Apt => &["apt-get", "install", "--yes", "--no-install-recommends"],
            Manager::Dnf => &["dnf", "install", "--assumeyes"],
            Manager::Apk => &["apk", "add"],
            Manager::Pacman => &["pacman", "--sync", "--noconfirm", "--needed"],
        }
    }

    fn advice(self, package: &str) -> String {
        format!("{} {package}", self.words().join(" "))
    }

    /// Returns the package that contains a program.
    fn package(self, program: &'static str) -> &'static str {
        match (program, self) {
            ("ab", Manager::Apt | Manager::Apk) => "apache2-utils",
            ("ab", Manager::Dnf) => "httpd-tools",
            ("ab", Manager::Pacman) => "apache",
            ("h2load", Manager::Apt) => "nghttp2-client",
            ("nghttpd", Manager::Apt) => "nghttp2-server",
            ("h2load" | "nghttpd", _) => "nghttp2",
            // Its module for TLS, which brings the program.
            ("lighttpd", Manager::Apt) => "lighttpd-mod-openssl",
            ("chromium-headless-shell", Manager::Dnf | Manager::Apk | Manager::Pacman) => {
                "chromium"
            }
            ("javac", Manager::Apt) => "default-jdk-headless",
            ("javac", Manager::Dnf) => "java-latest-openjdk-devel",
            ("javac", Manager::Apk) => "openjdk17-jdk",
            ("javac", Manager::Pacman) => "jdk-openjdk",
            (HDRHISTOGRAM_JAR, Manager::Apt) => "libhdrhistogram-java",
            (HDRHISTOGRAM_JAR, _) => "HdrHistogram",
            ("node", _) => "nodejs",
            ("npm", Manager::Dnf) => "nodejs-npm",
            ("prometheus", Manager::Dnf) => "golang-github-prometheus",
            ("python3", Manager::Apt) => "python3-venv",
            ("python3", Manager::Pacman) => "python",
            ("dpkg-deb", _) => "dpkg",
            ("dpkg-shlibdeps", Manager::Apt | Manager::Dnf) => "dpkg-dev",
            ("dpkg-shlibdeps", _) => "dpkg",
            ("ip" | "tc", Manager::Dnf) => "iproute",
            ("ip" | "tc", _) => "iproute2",
            _ => program,
        }
    }

    /// Installs one package at a time, so that one unavailable package does not block the rest.
    /// Failures show up later as missing programs.
    fn install(self, needs: &[(&Need, bool)]) {
        for (need, _) in needs {
            let package = self.package(need.program);
            let first = run(&mut self.command(package));
            // A fresh container has no package lists, and old lists name versions that are gone.
            if first.is_err() && self == Manager::Apt {
                let refreshed = run(Command::new("apt-get").arg("update"));
                let second = refreshed.and_then(|()| run(&mut self.command(package)));
                complain(need, second);
            } else {
                complain(need, first);
            }
        }
    }

    fn command(self, package: &str) -> Command {
        let mut command = Command::new(self.words()[0]);
        command.args(&self.words()[1..]).arg(package);
        // Debian's packages ask no questions, and start no service in runlevel 1: the tests must
        // not leave a web server on port 80.
        command.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
        command
    }
}

fn complain(need: &Need, outcome: Result<()>) {
    if let Err(error) = outcome {
        eprintln!("setup: failed to install {}: {error:#}", need.program);
    }
}

/// A program whose package installs it as a service.
struct Service {
    program: &'static str,
    /// File that exists while it runs.
    pid_file: &'static str,
}

const SERVICES: [Service; 2] = [
    Service { program: "nginx", pid_file: "/run/nginx.pid" },
    Service { program: "prometheus", pid_file: "/run/prometheus/prometheus.pid" },
];

impl Service {
    /// Stops the service if the installation has started it despite that. The program was not there
    /// before, so no other service can be hit.
    fn stop(&self) -> Result<()> {
        let program = self.program;
        if find_program(program).is_none() {
            return Ok(());
        }
        if Path::new("/run/systemd/system").is_dir() {
            return run(Command::new("systemctl").args(["disable", "--now", program]));
        }
        if !Path::new(self.pid_file).exists() {
            return Ok(());
        }
        eprintln!("setup: the installation started {program} as a service; stopping it");
        run(Command::new("service").args([program, "stop"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUIRED: Need =
        Need { program: "a", reason: "of b", required_by: &[Purpose::Test], wanted_by: &[] };

    #[test]
    fn only_what_is_required_fails() {
        assert!(report(&[], None).is_ok());
        assert!(report(&[(&REQUIRED, false)], Some(Manager::Apt)).is_ok());
        let error = report(&[(&REQUIRED, true)], Some(Manager::Apt)).expect_err("a is missing");
        assert_eq!(error.to_string(), "install a first");
    }

    #[test]
    fn the_advice_can_be_typed() {
        assert_eq!(Manager::Apk.advice("nginx"), "apk add nginx");
        assert_eq!(Manager::Apk.package("nginx"), "nginx");
        assert_eq!(Manager::Dnf.package("ab"), "httpd-tools");
        assert_eq!(Manager::Apt.package("node"), "nodejs");
    }

    #[test]
    fn purposes_are_read() {
        assert_eq!("test".parse::<Purpose>().expect("a purpose"), Purpose::Test);
        assert!("demo".parse::<Purpose>().is_err());
    }
}
