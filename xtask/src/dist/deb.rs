//! The package of Debian and its relatives, built by dpkg-deb. Its C library is the machine's, so
//! scripts have all of LuaJIT.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::checkout::{Checkout, Release};
use super::files::{COMPLETIONS, LICENCES, gzip, install, renew, sorted_files, write};
use crate::shell::{output, run};

/// Debian Policy 5.6.2 requires an address. The project has none, so this one is below a domain
/// that is reserved never to exist (RFC 6761 §6.4): mail to it fails at once.
const MAINTAINER: &str = "weir contributors <contributors@weir.invalid>";

const COPYRIGHT: &str = "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/

Files: *
Copyright: 2026 The weir authors
License: MIT or Apache-2.0
Comment: The program contains other software, whose licences are in
 /usr/share/doc/weir/THIRD-PARTY-LICENSES.txt.gz.

License: MIT
";

const DESCRIPTION: &str = "\
HTTP load generator with accurate latency
 weir measures throughput and latency of HTTP servers, at a constant rate from
 the time when each request was due. It is a drop-in replacement for wrk and
 wrk2, runs their scripts, and reports whether the client was the limit.
";

/// Makes `weir_VERSION_ARCH.deb`.
pub(super) fn make(checkout: &Checkout<'_>, program: &Path) -> Result<()> {
    let release = checkout.release;
    let root = checkout.work.join("deb");
    renew(&root)?;
    let binary = root.join("usr/bin/weir");
    install(program, &binary, 0o755)?;
    install_documents(checkout, &root)?;
    let architecture = output(Command::new("dpkg").arg("--print-architecture"))?;
    let control = control(release, &architecture, &depends(checkout, &binary)?, &root)?;
    write(&root.join("DEBIAN/control"), &control)?;
    write(&root.join("DEBIAN/md5sums"), &md5sums(&root)?)?;
    run(Command::new("chmod").args(["--recursive", "u+rwX,go=rX"]).arg(&root))?;
    let package = checkout.packages.join(format!("weir_{}_{architecture}.deb", release.version));
    // One thread, as the number of threads is visible in what xz writes.
    let fixed = ["--root-owner-group", "-Zxz", "--threads-max=1", "--build"];
    let mut build = Command::new("dpkg-deb");
    run(build.args(fixed).args([&root, &package]).env("SOURCE_DATE_EPOCH", &release.epoch))
}

fn install_documents(checkout: &Checkout<'_>, root: &Path) -> Result<()> {
    let files = &checkout.files;
    let share = root.join("usr/share");
    let documents = share.join("doc/weir");
    let pages = sorted_files(&files.join("man"))?;
    ensure!(!pages.is_empty(), "weir man --list names no page");
    for page in pages {
        let name = page.file_name().context("a page has a name")?.to_string_lossy().into_owned();
        gzip(&page, &share.join("man/man1").join(format!("{name}.gz")))?;
    }
    for (_, name, place) in COMPLETIONS {
        install(&files.join("completions").join(name), &share.join(place), 0o644)?;
    }
    install(&files.join("README.md"), &documents.join("README.md"), 0o644)?;
    for text in ["CHANGELOG.md", LICENCES] {
        gzip(&files.join(text), &documents.join(format!("{text}.gz")))?;
    }
    let log = checkout.work.join("changelog");
    write(&log, &changelog(checkout.release)?)?;
    gzip(&log, &documents.join("changelog.gz"))?;
    let mit = fs::read_to_string(files.join("LICENSE-MIT"))?;
    let apache = "License: Apache-2.0\n On Debian systems the text is in \
                  /usr/share/common-licenses/Apache-2.0.\n";
    write(&documents.join("copyright"), &format!("{COPYRIGHT}{}\n{apache}", indented(&mit)))
}

/// The log of versions in Debian's form, which refers to the whole one.
fn changelog(release: &Release) -> Result<String> {
    let time = format!("--date=@{}", release.epoch);
    let date = output(Command::new("date").args(["--utc", "--rfc-email", &time]))?;
    Ok(format!(
        "weir ({}) unstable; urgency=medium\n\n  * Changes are in CHANGELOG.md.gz.\n\n -- \
         {MAINTAINER}  {date}\n",
        release.version
    ))
}

/// A text as a field of a control file, in which an empty line is a dot.
fn indented(text: &str) -> String {
    let line =
        |line: &str| if line.trim().is_empty() { " .\n".into() } else { format!(" {line}\n") };
    text.trim().lines().map(line).collect()
}

/// The libraries that the program needs, with their least versions, by dpkg-shlibdeps.
fn depends(checkout: &Checkout<'_>, binary: &Path) -> Result<String> {
    // It expects the source package of Debian around it.
    let place = checkout.work.join("shlibdeps");
    renew(&place)?;
    write(&place.join("debian/control"), "Source: weir\n\nPackage: weir\nArchitecture: any\n")?;
    let mut command = Command::new("dpkg-shlibdeps");
    let found = output(command.args(["-O", "-e"]).arg(binary).current_dir(&place))?;
    let depends = found.strip_prefix("shlibs:Depends=").map(str::to_owned);
    let depends = depends.with_context(|| format!("failed to read dpkg-shlibdeps: {found}"))?;
    ensure!(depends.contains("libc6"), "the program is not linked with the C library: {depends}");
    Ok(depends)
}

fn control(release: &Release, architecture: &str, depends: &str, root: &Path) -> Result<String> {
    let size = output(Command::new("du").args(["--summarize", "--apparent-size", "-k"]).arg(root))?;
    let size = size.split_whitespace().next().unwrap_or_default();
    Ok(format!(
        "Package: weir\nVersion: {}\nArchitecture: {architecture}\nMaintainer: \
         {MAINTAINER}\nInstalled-Size: {size}\nDepends: {depends}\nRecommends: ca-certificates, \
         nats-server\nSection: web\nPriority: optional\nDescription: {DESCRIPTION}",
        release.version
    ))
}

fn md5sums(root: &Path) -> Result<String> {
    let command = "find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum";
    Ok(output(Command::new("sh").args(["-c", command]).current_dir(root))? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_of_a_field_are_dots() {
        assert_eq!(indented("\na\n\nb\n"), " a\n .\n b\n");
    }
}
