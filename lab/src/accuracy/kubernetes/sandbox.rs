//! The machine as a container sees it: the network of its node, and a root directory that has
//! weir's image, in a mount namespace that ends with the process.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use xtask::shell::need_program;

/// Mounts pairs of paths, and starts what follows.
const MOUNT: &str = r#"
set -e
while [ "$1" != -- ]; do mount --rbind "$1" "$2"; shift 2; done
shift
exec "$@"
"#;

/// User of weir's image.
const USER: u64 = 65532;

/// Directories of libraries, which some systems have as links into `/usr`.
const LIBRARIES: [&str; 4] = ["lib", "lib64", "usr/lib", "usr/lib64"];

/// A root directory, and the mounts into it.
pub(super) struct Sandbox {
    root: PathBuf,
    mounts: Vec<(PathBuf, PathBuf)>,
}

/// A process in a sandbox.
#[derive(Default)]
pub(super) struct SandboxProcess {
    pub(super) words: Vec<String>,
    pub(super) environment: Vec<(String, String)>,
    pub(super) directory: Option<String>,
    pub(super) user: Option<u64>,
    pub(super) group: Option<u64>,
    /// Group of the pod's volumes, which the process is a member of too.
    pub(super) volumes_group: Option<u64>,
}

impl Sandbox {
    /// Makes the root directory with the programs of weir's image.
    pub(super) fn make(root: PathBuf, image: &[PathBuf]) -> Result<Sandbox> {
        fs::create_dir_all(root.join("etc"))?;
        fs::write(root.join("etc/nsswitch.conf"), "hosts: files\n")?;
        let mut sandbox = Sandbox { root, mounts: Vec::new() };
        let helpers = [need_program("env", "fleet")?, need_program("setpriv", "fleet")?];
        for program in image.iter().chain(&helpers) {
            let name = program.file_name().context("a program has no name")?;
            sandbox.mount(program, &Path::new("usr/bin").join(name))?;
        }
        for place in LIBRARIES {
            let on_machine = Path::new("/").join(place);
            match fs::read_link(&on_machine) {
                Ok(link) => symlink(link, sandbox.root.join(place))?,
                Err(_) if on_machine.exists() => sandbox.mount(&on_machine, Path::new(place))?,
                Err(_) => {}
            }
        }
        for place in ["proc", "sys", "dev"] {
            sandbox.mount(&Path::new("/").join(place), Path::new(place))?;
        }
        Ok(sandbox)
    }

    /// Writes the names of hosts.
    pub(super) fn name_hosts(root: &Path, hosts: &str) -> Result<()> {
        fs::write(root.join("etc/hosts"), hosts).context("failed to write the names of hosts")
    }

    /// Mounts a file or directory of this machine at a path.
    pub(super) fn mount(&mut self, source: &Path, at: &Path) -> Result<()> {
        let target = self.root.join(at.strip_prefix("/").unwrap_or(at));
        if source.is_dir() {
            fs::create_dir_all(&target)?;
        } else {
            fs::create_dir_all(target.parent().context("a file has no directory")?)?;
            File::create(&target)?;
        }
        self.mounts.push((source.to_owned(), target));
        Ok(())
    }

    /// Returns the command that starts a process on a node. Each program in between executes the
    /// next, so the process has the id of the command's, and is killed with the thread that starts
    /// it.
    pub(super) fn command(&self, node: &str, process: &SandboxProcess) -> Result<Command> {
        // Here for the time until the change of the user, which ends it, and again behind that.
        let mut command = Command::new(need_program("setpriv", "fleet")?);
        command.args(["--pdeathsig", "KILL", "nsenter", &format!("--net=/run/netns/{node}")]);
        command.args(["unshare", "--mount", "sh", "-c", MOUNT, "sh"]);
        for (source, target) in &self.mounts {
            command.args([source, target]);
        }
        command.args(["--", "chroot"]).arg(&self.root).args(["/usr/bin/env", "-i", "-C"]);
        command.arg(process.directory.as_deref().unwrap_or("/"));
        let environment = process.environment.iter().map(|(name, value)| format!("{name}={value}"));
        command.arg("PATH=/usr/bin").args(environment);
        let user = process.user.unwrap_or(USER);
        let group = process.group.unwrap_or(USER);
        let more = process.volumes_group;
        let groups = more.map_or("--clear-groups".to_owned(), |more| format!("--groups={more}"));
        let ids = [format!("--reuid={user}"), format!("--regid={group}"), groups];
        command.arg("/usr/bin/setpriv").args(ids);
        command.args(["--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"]);
        command.args(["--pdeathsig", "KILL"]).args(&process.words);
        Ok(command)
    }
}
