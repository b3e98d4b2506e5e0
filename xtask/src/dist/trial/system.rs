//! A root file system, and weir in it: its version, its server, and a load on that.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::Release;
use super::super::files::write;
use crate::guard::Guarded;
use crate::shell::{output, run, show};

/// Longest time of a program in the file system, in seconds.
const PATIENCE_S: &str = "120";

/// Longest time to make a Debian, in seconds: some packages are downloaded.
const DEBIAN_PATIENCE_S: &str = "900";

/// A root file system with weir.
pub(super) struct System<'a> {
    pub(super) root: &'a Path,
    /// Name or path of weir in it.
    pub(super) program: &'static str,
}

impl System<'_> {
    /// Returns the command that runs a program in the file system, for a limited time.
    pub(super) fn enter(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args([PATIENCE_S, "chroot"]).arg(self.root).args(words);
        // This machine's environment is not the other machine's.
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", "/");
        command
    }

    /// Checks the version and the commit, and that a load on weir's own server succeeds.
    pub(super) fn check_runs(&self, release: &Release) -> Result<()> {
        let version = output(&mut self.enter(&[self.program, "--version"]))?;
        ensure!(version == format!("weir {}", release.version), "it is {version}");
        let document = self.load_on_server(&[])?;
        let commit = &document["environment"]["weir_commit"];
        let is_named = commit.as_str().is_some_and(|commit| release.commit.starts_with(commit));
        ensure!(is_named, "it is of commit {commit}, not of {}", release.commit);
        Ok(())
    }

    /// Checks that two agents with a bus of the package's own carry out a load. They need what a
    /// container has: /proc, devices, and a directory for files.
    pub(super) fn check_fleet(&self) -> Result<()> {
        let root = self.root.to_string_lossy();
        let mounted = "mkdir -p \"$0/proc\" \"$0/dev\" && mount -t proc proc \"$0/proc\" && \
                       mount -t tmpfs tmpfs \"$0/dev\" && mkdir \"$0/dev/shm\" && \
                       for name in null random urandom; do : > \"$0/dev/$name\" && \
                       mount --bind \"/dev/$name\" \"$0/dev/$name\" || exit 1; done && \
                       exec chroot \"$0\" \"$@\"";
        let server = ["chroot", &root, self.program, "serve", "--listen", "127.0.0.1:0"];
        let mut server = Guarded::start(&server)?;
        let url = server.listening_url()?;
        let load = ["--agents", "2", "-R", "100", "-c2", "-d1s", "--warmup", "0", "-o", "-", &url];
        let mut command = Command::new("timeout");
        command.args([PATIENCE_S, "unshare", "--mount", "sh", "-c", mounted, &root]);
        command
            .arg(self.program)
            .args(load)
            .env_clear()
            .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin");
        let output = command.output().context("failed to start timeout")?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "two agents ended with {}: {error}", output.status);
        let document: Value = serde_json::from_slice(&output.stdout).context("no document")?;
        let agents = &document["fleet"]["agents"];
        let ok = &document["results"]["outcomes"]["ok"];
        ensure!(agents.as_array().is_some_and(|agents| agents.len() == 2), "it has no agents");
        ensure!(*ok == 100, "of 100 requests {ok} succeeded");
        Ok(())
    }

    /// Checks that a load with this script succeeds.
    pub(super) fn check_script(&self, name: &str, script: &str) -> Result<()> {
        write(&self.root.join(name), script)?;
        let path = format!("/{name}");
        self.load_on_server(&["-s", &path]).map(drop).with_context(|| format!("with {name}"))
    }

    /// Runs a load on a server of the same program, and returns its document. Fails unless every
    /// request succeeded.
    fn load_on_server(&self, words: &[&str]) -> Result<Value> {
        let root = self.root.to_string_lossy();
        let server = ["chroot", &root, self.program, "serve", "--listen", "127.0.0.1:0"];
        let mut server = Guarded::start(&server)?;
        let output = self.load(&server.listening_url()?, words)?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "the load ended with {}: {error}", output.status);
        let document: Value = serde_json::from_slice(&output.stdout).context("no document")?;
        let planned = document["results"]["planned"].as_u64().unwrap_or_default();
        let outcomes = &document["results"]["outcomes"];
        ensure!(planned > 0 && outcomes["ok"] == planned, "requests failed: {outcomes}");
        eprintln!("dist: {planned} requests in {root}");
        Ok(document)
    }

    /// Runs a short load with these words; its document is on standard output.
    pub(super) fn load(&self, url: &str, words: &[&str]) -> Result<Output> {
        let common = [self.program, "-c2", "-t1", "-d1s", "--warmup", "0", "-o", "-"];
        let words = [&common, words, &[url]].concat();
        let mut command = self.enter(&words);
        eprintln!("$ {}", show(&command));
        command.output().context("failed to start timeout")
    }
}

/// Makes a minimal Debian, of the release and from the servers that this machine's apt has.
pub(super) fn debian(root: &Path) -> Result<()> {
    let format = "$(CREATED_BY) $(ORIGIN) $(SITE) $(CODENAME) $(COMPONENT)";
    let targets = output(Command::new("apt-get").args(["indextargets", "--format", format]))?;
    let (release, sources) = sources(&targets)?;
    let mut command = Command::new("timeout");
    command.args([DEBIAN_PATIENCE_S, "mmdebstrap", "--quiet", "--mode=root", "--variant=minbase"]);
    run(command.args(["--format=directory", &release]).arg(root).args(sources))
}

/// Reads the release, and lines for sources.list, from the lists of packages that apt has.
fn sources(targets: &str) -> Result<(String, Vec<String>)> {
    let mut found: Vec<(String, String)> = Vec::new();
    for line in targets.lines() {
        let ["Packages", "Debian", site, release, component] =
            line.split_whitespace().collect::<Vec<_>>()[..]
        else {
            continue;
        };
        found.push((release.to_owned(), format!("deb {site} {release} {component}")));
    }
    // `bookworm-updates` is no release, and begins with the name of one.
    let release = found.iter().map(|(release, _)| release).min_by_key(|release| release.len());
    let release = release.context("apt has no lists of Debian's packages: apt-get update")?.clone();
    Ok((release, found.into_iter().map(|(_, line)| line).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_release_and_the_servers_are_those_of_apt() {
        let targets = "Packages Debian http://a/debian bookworm main\n\
                       DEP-11 Debian http://a/debian bookworm main\n\
                       Packages Debian http://a/debian bookworm-updates main\n\
                       Packages Other http://b/ stable main\n";
        let (release, lines) = sources(targets).expect("a release");
        assert_eq!(release, "bookworm");
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0], "deb http://a/debian bookworm main");
        sources("").expect_err("no list");
    }
}
