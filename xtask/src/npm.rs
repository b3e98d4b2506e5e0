//! Packages from npm, as lock files of the repository name them. `cargo xtask setup test` installs
//! them into the build directory; no build of weir needs them. npm checks the digests in a lock
//! file. The file names no registry, so that any mirror serves.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};

use crate::shell::{root, run, tools_dir};

const LOCK: &str = "package-lock.json";

/// A lock file and the packages that it names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Packages {
    /// Name of their directory below the tools' directory.
    name: &'static str,
    /// Directory of the lock file, from the root of the repository.
    source: &'static str,
}

/// The accessibility checker of the HTML report's tests.
pub(crate) const AXE: Packages = Packages { name: "axe", source: "crates/weir-report/tests/axe" };

/// The WebSocket server of Node, under which counts of messages are compared.
pub(crate) const WS: Packages = Packages { name: "ws", source: "lab/src/accuracy/interop/ws" };

/// The plot library of the HTML report, and its bundler.
pub(crate) const PLOTS: Packages = Packages { name: "plots", source: "crates/weir-report/plots" };

impl Packages {
    /// Returns the directory in which they are installed.
    pub(crate) fn place(self) -> Result<PathBuf> {
        Ok(tools_dir()?.join(self.name))
    }

    /// Returns the path of a file beside the lock file.
    pub(crate) fn source(self, file: &str) -> Result<PathBuf> {
        Ok(root()?.join(self.source).join(file))
    }

    /// True if exactly these packages are installed.
    pub(crate) fn are_installed(self) -> Result<bool> {
        let place = self.place()?;
        let installed = fs::read(place.join(LOCK)).unwrap_or_default();
        // npm writes the inner file when all packages are there.
        let are_whole = place.join("node_modules/.package-lock.json").is_file();
        let lock = fs::read(self.source(LOCK)?);
        let lock = lock.with_context(|| format!("failed to read {}", self.source))?;
        Ok(are_whole && installed == lock)
    }

    /// Installs them unless they are there.
    pub(crate) fn install(self) -> Result<()> {
        if self.are_installed()? {
            return Ok(());
        }
        let place = self.place()?;
        eprintln!("setup: npm installs {}/{LOCK} into {}", self.source, place.display());
        if place.exists() {
            fs::remove_dir_all(&place).context("failed to remove older packages")?;
        }
        fs::create_dir_all(&place).context("failed to make a directory for packages")?;
        for file in ["package.json", LOCK] {
            fs::copy(self.source(file)?, place.join(file))
                .with_context(|| format!("failed to copy {file}"))?;
        }
        let options = ["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];
        run(Command::new("npm").args(options).current_dir(&place))
            .with_context(|| format!("failed to install {}/{LOCK} from npm", self.source))
    }
}
