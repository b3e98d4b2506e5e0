//! The files beside the program, which all packages share: man pages, completions, texts. And the
//! archives of them, which depend on nothing but the content and the time of the commit.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::checkout::{Checkout, Release};
use super::licences;
use crate::shell::{output, run};

/// Name of the file with the checksums of all packages.
pub(super) const SUMS: &str = "SHA256SUMS";

/// Texts of the repository that packages contain.
const TEXTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-MIT", "LICENSE-APACHE"];

/// Name of the file with the licences of the dependencies.
pub(super) const LICENCES: &str = "THIRD-PARTY-LICENSES.txt";

/// Completions: the shell, the file's name in an archive, its place below `/usr/share`.
pub(super) const COMPLETIONS: [(&str, &str, &str); 3] = [
    ("bash", "weir.bash", "bash-completion/completions/weir"),
    ("zsh", "_weir", "zsh/vendor-completions/_weir"),
    ("fish", "weir.fish", "fish/vendor_completions.d/weir.fish"),
];

/// Generates the files of a checkout with the program, which was built in it.
pub(super) fn generate(checkout: &Checkout<'_>, program: &Path) -> Result<()> {
    let place = &checkout.files;
    renew(place)?;
    for text in TEXTS {
        install(&checkout.source.join(text), &place.join(text), 0o644)?;
    }
    for page in output(Command::new(program).args(["man", "--list"]))?.lines() {
        let text = output(Command::new(program).args(["man", page]))? + "\n";
        write(&place.join("man").join(format!("{page}.1")), &text)?;
    }
    for (shell, name, _) in COMPLETIONS {
        let script = output(Command::new(program).args(["completions", shell]))? + "\n";
        let path = place.join("completions").join(name);
        write(&path, &script)?;
        check_syntax(shell, &path)?;
    }
    write(&place.join(LICENCES), &licences::of_dependencies(checkout)?)
}

/// Checks the syntax of a script, if the shell is installed.
fn check_syntax(shell: &str, script: &Path) -> Result<()> {
    match crate::shell::find_program(shell) {
        Some(shell) => run(Command::new(shell).arg("-n").arg(script)),
        None => {
            eprintln!("dist: {shell} is not installed; the syntax of its completions is unchecked");
            Ok(())
        }
    }
}

/// Makes an empty directory in the place of another.
pub(super) fn renew(directory: &Path) -> Result<()> {
    if directory.exists() {
        let removed = fs::remove_dir_all(directory);
        removed.with_context(|| format!("failed to remove {}", directory.display()))?;
    }
    fs::create_dir_all(directory).with_context(|| format!("failed to make {}", directory.display()))
}

/// Copies a file with this mode, and makes its directory.
pub(super) fn install(from: &Path, to: &Path, mode: u32) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file is in a directory")?)?;
    fs::copy(from, to).with_context(|| format!("failed to copy {}", from.display()))?;
    Ok(fs::set_permissions(to, fs::Permissions::from_mode(mode))?)
}

/// Writes a text, and makes its directory.
pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    fs::create_dir_all(path.parent().context("a file is in a directory")?)?;
    fs::write(path, text).with_context(|| format!("failed to write {}", path.display()))
}

/// Packs names of a directory into a tar file: sorted, of root, with the time of the commit.
pub(super) fn tar(release: &Release, directory: &Path, names: &[&str], to: &Path) -> Result<()> {
    let time = format!("--mtime=@{}", release.epoch);
    let fixed = ["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"];
    let mut command = Command::new("tar");
    command.args(fixed).args([&*time, "--mode=u+rwX,go=rX", "--create", "--file"]).arg(to);
    run(command.arg("--directory").arg(directory).args(names))
}

/// Unpacks a tar file into a directory, which it makes.
pub(super) fn untar(file: &Path, directory: &Path, options: &[&str]) -> Result<()> {
    fs::create_dir_all(directory)?;
    let mut command = Command::new("tar");
    command.arg("--extract").args(options).arg("--directory").arg(directory);
    run(command.arg("--file").arg(file))
}

/// Compresses a file into `to`, without its name and time.
pub(super) fn gzip(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to.parent().context("a file is in a directory")?)?;
    let input = fs::File::open(from)?;
    let out = fs::File::create(to)?;
    let mut command = Command::new("gzip");
    let status = command.arg("-9n").stdin(input).stdout(Stdio::from(out)).status();
    ensure!(status.context("failed to start gzip")?.success(), "gzip failed");
    Ok(())
}

/// Returns the SHA-256 of a file, in hexadecimal digits.
pub(super) fn sha256(path: &Path) -> Result<String> {
    let line = output(Command::new("sha256sum").arg("--binary").arg(path))?;
    Ok(line.split(' ').next().unwrap_or_default().trim_start_matches('\\').to_owned())
}

/// Returns the paths of the files in a directory, in the order of their names.
pub(super) fn sorted_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let files = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut files = files.collect::<Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}

/// Writes the checksums of all packages in a directory.
pub(super) fn write_sums(packages: &Path) -> Result<()> {
    let line = |file: PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        Ok(format!("{}  {name}\n", sha256(&file)?))
    };
    let sums = sorted_files(packages)?.into_iter().map(line).collect::<Result<String>>()?;
    write(&packages.join(SUMS), &sums)
}
