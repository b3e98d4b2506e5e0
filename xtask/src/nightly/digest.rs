//! Digests of files of the repository: of their paths and contents, and of nothing else, so that
//! every clone of a commit has the same.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

/// Returns the digest of the files below `paths`, which are git's path specifications: those that
/// git tracks or would track, as they are on the disk.
///
/// # Errors
/// If git fails, or no file is there.
pub(super) fn digest(root: &Path, paths: &[String]) -> Result<String> {
    let mut list = git(root, &["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = output(list.arg("--").args(paths), "")?;
    // A file may be deleted and the deletion not yet committed.
    let mut files: Vec<&str> = listed.split_terminator('\0').collect();
    files.retain(|file| root.join(file).exists());
    files.sort_unstable();
    files.dedup();
    ensure!(!files.is_empty(), "there is no file in {}", paths.join(", "));
    let contents = ["hash-object", "--no-filters", "--stdin-paths"];
    let contents = output(&mut git(root, &contents), &(files.join("\n") + "\n"))?;
    let mut summary = String::new();
    for (file, content) in files.iter().zip(contents.lines()) {
        writeln!(summary, "{content} {file}")?;
    }
    Ok(output(&mut git(root, &["hash-object", "--stdin"]), &summary)?.trim_end().to_owned())
}

fn git(root: &Path, words: &[&str]) -> Command {
    let mut git = Command::new("git");
    // The repository may belong to another user than the one who builds it (a container).
    git.args(["-c", "safe.directory=*"]).args(words).current_dir(root);
    git
}

/// Returns what git prints when it reads `input`.
fn output(git: &mut Command, input: &str) -> Result<String> {
    let git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child =
        git.spawn().context("failed to start git, which knows the contents of files")?;
    let mut stdin = child.stdin.take().context("git has an input")?;
    let output = std::thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input.as_bytes()));
        child.wait_with_output()
    })?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    ensure!(output.status.success(), "git failed: {stderr}");
    String::from_utf8(output.stdout).context("git printed no text")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    /// A repository that ends with its test.
    struct Repository(PathBuf);

    impl Repository {
        fn new(name: &str, files: &[(&str, &str)]) -> Repository {
            let name = format!("xtask-digest-{}-{name}", std::process::id());
            let repository = Repository(std::env::temp_dir().join(name));
            fs::create_dir_all(repository.0.join("a")).expect("a directory for files");
            output(&mut git(&repository.0, &["init", "--quiet"]), "").expect("a repository");
            files.iter().for_each(|(path, text)| repository.write(path, text));
            repository
        }

        fn write(&self, path: &str, text: &str) {
            fs::write(self.0.join(path), text).expect("a file");
        }

        fn digest(&self) -> String {
            digest(&self.0, &["a".to_owned(), ":(exclude)a/not".to_owned()]).expect("a digest")
        }
    }

    impl Drop for Repository {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    const FILES: [(&str, &str); 3] = [("a/one", "1\n"), ("a/two", "2\n"), ("a/not", "3\n")];

    #[test]
    fn every_byte_of_a_covered_file_counts_and_its_path() {
        let repository = Repository::new("bytes", &FILES);
        let before = repository.digest();
        let changed = |what: &str| assert_ne!(repository.digest(), before, "{what}");
        repository.write("a/two", "3\n");
        changed("a byte");
        repository.write("a/two", "2\n");
        assert_eq!(repository.digest(), before, "as it was, at another time");
        repository.write("a/three", "");
        changed("a new file");
        fs::remove_file(repository.0.join("a/three")).expect("it is there");
        fs::rename(repository.0.join("a/two"), repository.0.join("a/other")).expect("a file");
        changed("a name");
    }

    #[test]
    fn no_other_file_counts_nor_the_place_of_the_clone_nor_a_commit() {
        let repository = Repository::new("place", &FILES);
        let before = repository.digest();
        repository.write("a/not", "4\n");
        repository.write("b", "5\n");
        assert_eq!(repository.digest(), before, "others have changed");
        assert_eq!(Repository::new("elsewhere", &FILES).digest(), before);
        output(&mut git(&repository.0, &["add", "."]), "").expect("git has them");
        assert_eq!(repository.digest(), before, "git has them now");
    }

    #[test]
    fn without_a_file_there_is_no_digest() {
        let repository = Repository::new("empty", &[]);
        assert!(digest(&repository.0, &["a".to_owned()]).is_err());
    }
}
