//! podman with a storage of its own, in which the image is, and nothing is left. It starts
//! containers as a careful administrator would.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::profile::Profile;
use crate::shell::{need_program, output, run};

/// Longest time of a podman command, in seconds, and of a container.
const PATIENCE_S: &str = "120";

/// No privileges. podman asks for a million open files, which not every root may grant.
const CONFINED: [&str; 8] = [
    "--cap-drop=all",
    "--security-opt=no-new-privileges",
    "--read-only",
    "--network=host",
    "--ulimit=nofile=4096:4096",
    "--ulimit=nproc=4096:4096",
    "--env=HOME=/tmp",
    "--workdir=/tmp",
];

/// podman, and the image in its storage.
pub(super) struct Podman<'a> {
    place: &'a Path,
    /// Directory that containers have as `/exchanged`.
    pub(super) exchanged: &'a Path,
    image: String,
    runtime: PathBuf,
}

impl<'a> Podman<'a> {
    /// Loads an image into a new storage.
    pub(super) fn with_image(
        archive: &Path,
        place: &'a Path,
        exchanged: &'a Path,
    ) -> Result<Podman<'a>> {
        need_program("podman", "dist")?;
        // crun does not start where both versions of control groups have controllers.
        let runtime = need_program("runc", "dist")?;
        let mut podman = Podman { place, exchanged, image: String::new(), runtime };
        let loaded = output(podman.command(&["load", "--quiet", "--input"]).arg(archive))?;
        let image = loaded.rsplit_once(": ").context("podman names no image")?.1;
        image.trim().clone_into(&mut podman.image);
        Ok(podman)
    }

    /// Returns the path of the profile that containers have by default.
    pub(super) fn default_profile(&self) -> Result<PathBuf> {
        let format = "{{.Host.Security.SECCOMPProfilePath}}";
        let path = output(&mut self.command(&["info", "--format", format]))?;
        ensure!(!path.is_empty(), "podman has no seccomp profile");
        Ok(path.into())
    }

    /// Returns the versions of podman and the runtime.
    pub(super) fn versions(&self) -> Result<String> {
        let podman = output(&mut self.command(&["version", "--format", "{{.Client.Version}}"]))?;
        let runtime = output(Command::new(&self.runtime).arg("--version"))?;
        let runtime = runtime.lines().next().unwrap_or_default().replace(" version", "");
        Ok(format!("podman {podman}, {}", runtime.split('+').next().unwrap_or_default()))
    }

    /// Runs the image with these words, and returns what it prints.
    pub(super) fn output(&self, profile: &Profile, words: &[&str]) -> Result<String> {
        output(self.confined(profile).args(words))
    }

    /// Returns the command that runs the image without privileges; the words follow.
    pub(super) fn confined(&self, profile: &Profile) -> Command {
        let mut command = self.container(profile);
        command.args(CONFINED).arg(&self.image);
        command
    }

    /// Checks that a container starts that has podman's default capabilities: the runtime gives
    /// up its own under the profile.
    pub(super) fn check_privileged(&self, profile: &Profile) -> Result<()> {
        let ulimits = CONFINED.iter().filter(|word| word.starts_with("--ulimit"));
        let mut command = self.container(profile);
        run(command.arg("--network=host").args(ulimits).args([&*self.image, "--version"]))
    }

    /// Returns the process id of the only running container.
    pub(super) fn pid(&self) -> Result<u32> {
        let id = output(&mut self.command(&["ps", "--quiet", "--no-trunc"]))?;
        let format = "{{.State.Pid}}";
        let pid = output(&mut self.command(&["inspect", "--format", format, &id]))?;
        pid.parse().with_context(|| format!("podman names no process: {pid}"))
    }

    fn container(&self, profile: &Profile) -> Command {
        let mut command = self.command(&["run", "--rm", "--timeout", PATIENCE_S]);
        command.arg(format!("--volume={}:/exchanged", self.exchanged.display()));
        if let Some(file) = &profile.file {
            command.arg(format!("--security-opt=seccomp={}", file.display()));
        }
        command
    }

    /// Returns the command of podman with these words, for a limited time.
    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new("timeout");
        command.args([
            "--foreground",
            PATIENCE_S,
            "podman",
            "--cgroup-manager=cgroupfs",
            "--storage-driver=vfs",
        ]);
        for (option, name) in [("--root", "storage"), ("--runroot", "state")] {
            command.arg(option).arg(self.place.join(name));
        }
        command.arg("--runtime").arg(&self.runtime).args(words);
        command
    }
}

impl Drop for Podman<'_> {
    fn drop(&mut self) {
        for words in [["rm", "--all", "--force"], ["rmi", "--all", "--force"]] {
            if let Err(error) = output(&mut self.command(&words)) {
                eprintln!("dist: {error:#}");
            }
        }
    }
}
