//! The supply chain: what weir may depend on, and what it depends on.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::bus;
use super::checkout::Checkout;
use super::files::write;
use crate::shell::{find_program, find_tool, path_with, root, run, target_dir, tools_dir};

/// The lock file of the plot library's packages, from the root of a checkout.
const PLOT_LOCK: &str = "crates/weir-report/plots/package-lock.json";

/// Names the directory of copies of the RustSec database, as `cargo deny fetch db` fills it.
const DATABASE: &str = "WEIR_ADVISORY_DB";

/// Checks licences, sources and duplicates as deny.toml has them, and advisories if there is a copy
/// of the database.
pub(super) fn deny() -> Result<()> {
    let check = |config: &Path, what: &[&str]| {
        let mut command = Command::new(tool("cargo-deny")?);
        command.args(["--offline", "--locked", "--config"]).arg(config);
        command.args(["check", "--hide-inclusion-graph"]).args(what);
        run(command.current_dir(root()?))
    };
    check(Path::new("deny.toml"), &["licenses", "bans", "sources"])?;
    match env::var_os(DATABASE) {
        Some(database) => check(&with_database(Path::new(&database))?, &["advisories"]),
        None => {
            eprintln!("dist: advisories are unchecked: {DATABASE} names no copy of the database");
            Ok(())
        }
    }
}

/// deny.toml with the directory of the database.
fn with_database(database: &Path) -> Result<PathBuf> {
    let config = fs::read_to_string(root()?.join("deny.toml"))?;
    let line = format!("[advisories]\ndb-path = {:?}", database.display().to_string());
    let path = target_dir()?.join("dist-work/deny.toml");
    write(&path, &config.replace("[advisories]", &line))?;
    Ok(path)
}

/// Writes the bill of materials: every package of the lock file that is built for the program, and
/// every package of the plot library, each with its licence and its digest.
pub(super) fn sbom(checkout: &Checkout<'_>) -> Result<()> {
    tool("cargo-cyclonedx")?;
    let words = ["cyclonedx", "--format=json", "--spec-version=1.5", "--override-filename=sbom"];
    let mut command = checkout.cargo(&words, "metadata", &[])?;
    let path = path_with([tools_dir()?.join("bin")])?;
    command.args(["--target", &checkout.triple, "--quiet", "--manifest-path"]);
    run(command.arg("crates/weir/Cargo.toml").env("PATH", path))?;
    let text = fs::read_to_string(checkout.source.join("crates/weir/sbom.json"))?;
    let text = with_npm(&text, &fs::read_to_string(checkout.source.join(PLOT_LOCK))?)?;
    let text = with_component(&text, bus::component()?)?;
    // Packages of the workspace are named by the directory they are in.
    let text = text.replace(&checkout.source.display().to_string(), "/weir");
    check_sbom(&text)?;
    let name = format!("weir-{}.cdx.json", checkout.release.version);
    write(&checkout.packages.join(name), &text)
}

/// Adds the packages of an npm lock file to a bill, without those that only build the bundle.
fn with_npm(bill: &str, lock: &str) -> Result<String> {
    let mut bill: Value = serde_json::from_str(bill).context("the bill of materials is no JSON")?;
    let lock: Value = serde_json::from_str(lock).context("the lock file of npm is no JSON")?;
    let packages = lock["packages"].as_object().context("the lock file of npm has no packages")?;
    let components = bill["components"].as_array_mut().context("the bill has no components")?;
    for (path, package) in packages {
        let name = path.rsplit_once("node_modules/").map(|(_, name)| name);
        if let Some(name) = name.filter(|_| package["dev"] != true) {
            components.push(npm_component(name, package)?);
        }
    }
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// Adds a component to a bill.
fn with_component(bill: &str, component: Value) -> Result<String> {
    let mut bill: Value = serde_json::from_str(bill).context("the bill of materials is no JSON")?;
    let components = bill["components"].as_array_mut().context("the bill has no components")?;
    components.push(component);
    Ok(serde_json::to_string_pretty(&bill)? + "\n")
}

/// Returns the entry of a package of npm.
fn npm_component(name: &str, package: &Value) -> Result<Value> {
    let text = |key: &str| package[key].as_str().with_context(|| format!("{name} has no {key}"));
    let version = text("version")?;
    let integrity = text("integrity")?;
    let digest = integrity.strip_prefix("sha512-").and_then(|text| STANDARD.decode(text).ok());
    let digest = digest.with_context(|| format!("the digest of {name} is no SHA-512"))?;
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let purl = format!("pkg:npm/{}@{version}", name.replace('@', "%40"));
    Ok(json!({
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "scope": "required",
        "hashes": [{ "alg": "SHA-512", "content": digest }],
        "licenses": [{ "expression": text("license")? }],
        "purl": purl,
    }))
}

/// Checks that the bill has what is linked in, and digests of all that comes from a registry.
fn check_sbom(text: &str) -> Result<()> {
    let bill: Value = serde_json::from_str(text).context("the bill of materials is no JSON")?;
    let components = bill["components"].as_array().context("the bill has no components")?;
    for name in ["rustls", "aws-lc-sys", "mlua", "rusqlite", "@observablehq/plot", "nats-server"] {
        ensure!(components.iter().any(|part| part["name"] == name), "the bill lacks {name}");
    }
    for part in components {
        let is_ours = part["purl"].as_str().is_some_and(|purl| purl.contains("download_url=file:"));
        ensure!(is_ours || part["hashes"].is_array(), "{} has no digest", part["name"]);
    }
    Ok(())
}

/// The path of a tool that `cargo xtask setup dist` builds.
fn tool(name: &str) -> Result<PathBuf> {
    let found = find_tool(name).or_else(|| find_program(name));
    found.with_context(|| format!("{name} is missing: cargo xtask setup dist"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_npm_are_in_the_bill() {
        let locked = |version: &str, digest: &str| {
            json!({
                "version": version,
                "license": "ISC",
                "integrity": digest,
            })
        };
        let lock = json!({ "packages": {
            "": { "name": "plots" },
            "node_modules/@a/b": locked("1.2.0", "sha512-AP8="),
            "node_modules/c/node_modules/d": locked("2.0.0", "sha512-AQ=="),
            "node_modules/esbuild": { "version": "0.28.2", "dev": true },
        }});
        let bill = with_npm(r#"{"components":[{"name":"rustls"}]}"#, &lock.to_string());
        let bill: Value = serde_json::from_str(&bill.expect("a bill")).expect("JSON");
        let parts = bill["components"].as_array().expect("a list");
        let names: Vec<&Value> = parts.iter().map(|part| &part["name"]).collect();
        assert_eq!(names, ["rustls", "@a/b", "d"]);
        assert_eq!(parts[1]["purl"], "pkg:npm/%40a/b@1.2.0");
        assert_eq!(parts[1]["hashes"][0]["content"], "00ff");
        let unlocked =
            json!({ "packages": { "node_modules/c": { "version": "1", "license": "MIT" } } });
        let error = with_npm(r#"{"components":[]}"#, &unlocked.to_string());
        assert_eq!(error.expect_err("no digest").to_string(), "c has no integrity");
    }

    #[test]
    fn a_bill_without_a_digest_is_refused() {
        let bill = |extra: &str| {
            let part = |name: &str| format!(r#"{{"name":"{name}","purl":"p","hashes":[]}}"#);
            let parts =
                ["rustls", "aws-lc-sys", "mlua", "rusqlite", "@observablehq/plot", "nats-server"];
            let parts = parts.map(part).join(",");
            format!(r#"{{"components":[{parts}{extra}]}}"#)
        };
        check_sbom(&bill("")).expect("all is there");
        check_sbom(&bill(r#",{"name":"x","purl":"pkg:cargo/x"}"#)).expect_err("no digest");
        check_sbom(r#"{"components":[]}"#).expect_err("nothing is there");
    }
}
