//! The servers of others under which counts of messages are compared (METHOD 2.1, V41 to V44):
//! packages from PyPI in environments of their own, packages from npm, and a server that Go builds.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};

use super::kubernetes::find_go;
use crate::npm;
use crate::shell::{root, run, tools_dir};

/// Packages from PyPI in an environment of their own.
struct Environment {
    /// Its directory, below that of programs.
    name: &'static str,
    /// Versions of all packages, from the root of the repository.
    requirements: &'static str,
}

const SERVERS: Environment =
    Environment { name: "interop", requirements: "lab/src/accuracy/interop/requirements.txt" };
const CONVERSATIONS: Environment = Environment {
    name: "conversations",
    requirements: "lab/src/accuracy/conversations/requirements.txt",
};

/// The module of the server in Go, whose `go.sum` has the sums of all others.
const GO_MODULE: &str = "lab/src/accuracy/interop/grpc_go";

/// Installs everything that is not there yet.
pub(super) fn install() -> Result<()> {
    python()?;
    CONVERSATIONS.install()?;
    npm::WS.install()?;
    go()
}

/// Installs the packages of the servers of streamed responses.
pub(super) fn python() -> Result<()> {
    SERVERS.install()
}

/// Builds the server of gRPC. Go repeats nothing that it has built.
pub(super) fn go() -> Result<()> {
    let go = find_go().context("failed to find go: cargo xtask setup interop")?;
    let mut build = Command::new(go);
    build.current_dir(root()?.join(GO_MODULE)).args(["build", "-mod=readonly", "-trimpath", "-o"]);
    run(build.arg(tools_dir()?.join("interop/grpc-go")))
        .with_context(|| format!("failed to build {GO_MODULE}"))
}

impl Environment {
    /// Installs the packages, unless exactly these versions are there.
    fn install(&self) -> Result<()> {
        let Environment { name, requirements } = self;
        let directory = tools_dir()?.join(name);
        let environment = directory.join("python");
        let installed = directory.join("requirements.txt");
        let wanted = root()?.join(requirements);
        let text = fs::read(&wanted).with_context(|| format!("failed to read {requirements}"))?;
        if fs::read(&installed).is_ok_and(|installed| installed == text) {
            return Ok(());
        }
        eprintln!("setup: pip installs {requirements} into {}", environment.display());
        fs::create_dir_all(&directory).context("failed to make a directory for packages")?;
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&environment))?;
        let mut pip = Command::new(environment.join("bin/python"));
        pip.args(["-m", "pip", "install", "--quiet", "--no-deps", "--requirement"]).arg(&wanted);
        run(&mut pip).with_context(|| format!("failed to install {requirements} from PyPI"))?;
        fs::write(installed, text).context("failed to mark the installed packages")
    }
}
