//! The second build, in another directory: every package has the digest of the first.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::checkout::{Checkout, Release};
use super::files::SUMS;

/// Makes all packages again and compares the checksums.
pub(super) fn reproduce(release: &Release) -> Result<()> {
    let made = fs::read_to_string(release.checkout()?.made()).unwrap_or_default();
    ensure!(made == release.commit, "target/dist is not of this commit: make the packages first");
    let first = sums(&release.packages)?;
    let name = "another-directory";
    let checkout = Checkout::of(release, name, &release.work.join(name).join("packages"))?;
    checkout.make()?;
    let second = sums(&checkout.packages)?;
    let different = different(&first, &second);
    ensure!(different.is_empty(), "two builds differ: {}", different.join(", "));
    eprintln!("dist: {} packages of two builds are equal", first.lines().count());
    Ok(())
}

fn sums(packages: &Path) -> Result<String> {
    let path = packages.join(SUMS);
    fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
}

/// The lines that only one of them has.
fn different<'a>(first: &'a str, second: &'a str) -> Vec<&'a str> {
    let lacks = |text: &str, line: &&str| !text.lines().any(|other| other == *line);
    let of_first = first.lines().filter(|line| lacks(second, line));
    of_first.chain(second.lines().filter(|line| lacks(first, line))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_or_missing_package_differs() {
        assert!(different("1  a\n2  b\n", "2  b\n1  a\n").is_empty());
        assert_eq!(different("1  a\n2  b\n", "1  a\n3  b\n"), ["2  b", "3  b"]);
        assert_eq!(different("1  a\n", ""), ["1  a"]);
    }
}
