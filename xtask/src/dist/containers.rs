//! The image in containers of podman, under seccomp profiles that allow and deny io_uring. Each
//! runs a load of one process and one of a fleet, on a server in another container, whose own count
//! of requests is compared. The table is for docs/PACKAGES.md.

mod podman;
mod profile;
mod server;

use std::env::consts::ARCH;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::checkout::Release;
use super::files::{renew, write};
use crate::shell::{is_root, output, root};
use podman::Podman;
use profile::{Profile, profiles};
use server::ContainerServer;

/// Requests of each load.
const REQUESTS: u64 = 2_000;

/// Page with the table, from the root of the repository, and the lines around the table.
const PAGE: &str = "docs/PACKAGES.md";
const BEGIN: &str = "<!-- The table is by `cargo xtask dist --only containers --write`. -->\n";
const END: &str = "<!-- The end of the table. -->\n";

/// A script with a request and a response of its own.
const SCRIPT: &str = "function request() return wrk.format('POST', '/', nil, 'x') end\n\
                      function response(status) assert(status == 200) end\n";

/// Runs the image under every profile, and keeps the table.
pub(super) fn containers(release: &Release) -> Result<()> {
    ensure!(is_root()?, "this trial starts podman as root");
    let place = release.work.join("containers");
    renew(&place)?;
    let exchanged = place.join("exchanged");
    renew(&exchanged)?;
    // The image's user is not root.
    fs::set_permissions(&exchanged, fs::Permissions::from_mode(0o777))?;
    write(&exchanged.join("script.lua"), SCRIPT)?;
    let archive = release.packages.join(format!("weir-{}-{ARCH}-oci.tar", release.version));
    let podman = Podman::with_image(&archive, &place, &exchanged)?;
    let profiles = profiles(&podman.default_profile()?, &place)?;
    let mut rows = Vec::new();
    for profile in &profiles {
        let row = trial(&podman, profile).with_context(|| profile.name.to_owned())?;
        eprintln!("dist: {row}");
        rows.push(row);
    }
    let kernel = output(Command::new("uname").arg("-r"))?;
    let kernel: Vec<&str> = kernel.split('.').take(2).collect();
    let table = table(&rows, &format!("{}, Linux {}", podman.versions()?, kernel.join(".")));
    println!("{table}");
    write(&release.work.join("containers.md"), &table)
}

/// Replaces the table on the page by that of the last trial.
pub(super) fn write_table(release: &Release) -> Result<()> {
    let table = fs::read_to_string(release.work.join("containers.md"))
        .context("there is no table: cargo xtask dist --only containers --write")?;
    let page = root()?.join(PAGE);
    let text = fs::read_to_string(&page)?;
    let replaced = replaced(&text, &table).with_context(|| format!("{PAGE} has no table"))?;
    write(&page, &replaced)
}

/// Returns the text with the table between the two lines replaced.
fn replaced(text: &str, table: &str) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}\n{table}\n{END}{after}"))
}

fn table(rows: &[String], versions: &str) -> String {
    format!(
        "| seccomp profile | engine in the report | requests | server's count | of 2 agents | \
         server's count |\n|---|---|---|---|---|---|\n{}\n\n{versions}; user 65532, no capability, \
         no new privileges, a read-only root.\n",
        rows.join("\n")
    )
}

/// Runs the loads under one profile, and returns its row of the table.
fn trial(podman: &Podman<'_>, profile: &Profile) -> Result<String> {
    let server = ContainerServer::start(podman, profile, &[])?;
    server.check_confinement()?;
    let one = counted(podman, profile, &server, &["-t", "1"])?;
    let fleet = counted(podman, profile, &server, &["-t", "2", "--agents", "2"])?;
    drop(server);
    if profile.is_ours {
        check_features(podman, profile)?;
    }
    let Profile { name, engine, .. } = profile;
    let count = |count: u64| format!("{},{:03}", count / 1_000, count % 1_000);
    let [one_here, one_there, fleet_here, fleet_there] =
        [one.0, one.1, fleet.0, fleet.1].map(count);
    Ok(format!("| {name} | {engine} | {one_here} | {one_there} | {fleet_here} | {fleet_there} |"))
}

/// Carries out a load, checks its report, and returns its count of requests and the server's.
fn counted(
    podman: &Podman<'_>,
    profile: &Profile,
    server: &ContainerServer<'_>,
    words: &[&str],
) -> Result<(u64, u64)> {
    let before = server.requests()?;
    let number = REQUESTS.to_string();
    let load = ["-n", &number, "-c", "4", "--warmup", "0", "--no-preflight"];
    let words = [&load, words, &["-o", "/exchanged/run.json", &server.url]].concat();
    let report = podman.output(profile, &words)?;
    let counted = server.requests()? - before;
    let first = report.lines().next().unwrap_or_default();
    ensure!(first.trim_end().ends_with(profile.engine), "the report begins with `{first}`");
    let document = read_document(podman)?;
    check_engine(profile, &document)?;
    let agents = document["fleet"]["agents"].as_array().map_or(0, Vec::len);
    ensure!(agents == if words.contains(&"--agents") { 2 } else { 0 }, "it had {agents} agents");
    let ok = document["results"]["outcomes"]["ok"].as_u64().context("the document has no count")?;
    ensure!(
        ok == REQUESTS && counted == ok,
        "of {REQUESTS} requests {ok} succeeded, the server \
             counted {counted}"
    );
    Ok((ok, counted))
}

/// Checks that the document names the engine, and the reason if it is not io_uring.
fn check_engine(profile: &Profile, document: &Value) -> Result<()> {
    let engine = &document["environment"]["io_engine"];
    ensure!(*engine == profile.engine, "the document names {engine}");
    let notes = document["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let note = notes.iter().find(|note| note["code"] == "epoll_fallback");
    let text = note.and_then(|note| note["text"].as_str());
    let is_noted = text.is_some_and(|text| text.contains("denied by a seccomp filter"));
    ensure!(is_noted == (profile.engine == "epoll"), "a note says {text:?}");
    Ok(())
}

/// Checks what needs further system calls: TLS, HTTP/2, both engines, scripts, rows, the history,
/// and a container that keeps its privileges while the profile is in force.
fn check_features(podman: &Podman<'_>, profile: &Profile) -> Result<()> {
    let load = |server: &ContainerServer<'_>, words: &[&str]| -> Result<()> {
        let common = ["-n", "100", "-c", "2", "--warmup", "0", "-o", "/exchanged/run.json"];
        podman.output(profile, &[&common, words, &[&*server.url]].concat())?;
        let ok = &read_document(podman)?["results"]["outcomes"]["ok"];
        ensure!(*ok == 100, "with {words:?} {ok} of 100 requests succeeded");
        Ok(())
    };
    let server = ContainerServer::start(podman, profile, &["--io", "epoll"])?;
    load(&server, &["--http", "2", "--io", "epoll", "--wait", "spin"])?;
    load(&server, &["-s", "/exchanged/script.lua", "--save", "run"])?;
    load(&server, &["--raw", "/tmp/rows.parquet", "-R", "1k", "--pacing", "hybrid"])?;
    drop(server);
    let server = ContainerServer::start(podman, profile, &["--tls"])?;
    load(&server, &["-k"])?;
    load(&server, &["-k", "--http", "2"])?;
    drop(server);
    podman.output(profile, &["doctor"])?;
    podman.check_privileged(profile)
}

fn read_document(podman: &Podman<'_>) -> Result<Value> {
    let document = fs::read_to_string(podman.exchanged.join("run.json"))?;
    serde_json::from_str(&document).context("no document")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_table_is_replaced() {
        let page = |table: &str| format!("a\n{BEGIN}{table}{END}b\n");
        assert_eq!(replaced(&page("old\n"), "new\n"), Some(page("\nnew\n\n")));
        assert_eq!(replaced("a\n", "new\n"), None);
    }
}
