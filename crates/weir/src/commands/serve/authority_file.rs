//! The file with the certificate of the authority that `weir serve --tls` makes. It exists while
//! the server runs, and never replaces another file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use weir_io::Endpoint;

use crate::terminal::shown;

/// A file of our own, removed when it is dropped.
#[derive(Debug)]
pub(super) struct AuthorityFile {
    path: PathBuf,
    pem: String,
}

impl AuthorityFile {
    /// Writes a certificate to a file that does not exist yet. It appears as a whole.
    ///
    /// # Errors
    /// When the file exists, or cannot be written.
    pub(super) fn create(path: &Path, pem: String) -> Result<AuthorityFile> {
        let temporary = path.with_added_extension(format!("{}.tmp", std::process::id()));
        let opened = OpenOptions::new().write(true).create_new(true).open(&temporary);
        let written = opened.and_then(|mut file| write(&mut file, &pem));
        // A rename would replace another file; a link does not.
        let linked = written.and_then(|()| fs::hard_link(&temporary, path));
        let _gone = fs::remove_file(&temporary);
        match linked {
            Ok(()) => Ok(AuthorityFile { path: path.to_owned(), pem }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => bail!(
                "{} exists already, perhaps of a server that runs: remove it, or choose another \
                 file with --tls-ca",
                shown(path)
            ),
            Err(error) => {
                Err(error).with_context(|| format!("failed to create --tls-ca {}", shown(path)))
            }
        }
    }

    /// Returns the line that says how a client trusts the server at `endpoint`.
    pub(super) fn advice(&self, endpoint: &Endpoint) -> String {
        let path = shown(&self.path);
        let is_local = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
        let target = match endpoint {
            Endpoint::Unix(socket) => format!("--unix {} https://localhost/", shown(socket)),
            Endpoint::Tcp(address) if is_local(address.ip()) => {
                format!("https://localhost:{}/", address.port())
            }
            Endpoint::Tcp(address) => format!("https://{address}/"),
        };
        format!("trust it: weir --cacert {path} {target}")
    }
}

fn write(file: &mut File, pem: &str) -> io::Result<()> {
    file.write_all(pem.as_bytes())?;
    file.sync_all()
}

impl Drop for AuthorityFile {
    fn drop(&mut self) {
        // A file that has been replaced meanwhile is not ours.
        if fs::read(&self.path).is_ok_and(|bytes| bytes == self.pem.as_bytes()) {
            let _gone = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_appears_once_and_leaves_with_its_owner() {
        let place = std::env::temp_dir().join(format!("weir-authority-{}", std::process::id()));
        fs::create_dir(&place).expect("a new name");
        let path = place.join("ca.pem");
        let names = || fs::read_dir(&place).expect("it is there").count();
        let file = AuthorityFile::create(&path, "one".to_owned()).expect("nothing is there");
        assert_eq!((fs::read_to_string(&path).ok().as_deref(), names()), (Some("one"), 1));
        let error = AuthorityFile::create(&path, "two".to_owned()).expect_err("it exists");
        assert!(error.to_string().contains("--tls-ca"), "{error}");
        assert_eq!((fs::read_to_string(&path).ok().as_deref(), names()), (Some("one"), 1));
        fs::write(&path, "other").expect("it can be written");
        drop(file);
        assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("other"), "not ours any more");
        fs::remove_file(&path).expect("it is there");
        drop(AuthorityFile::create(&path, "three".to_owned()).expect("nothing is there"));
        assert_eq!(names(), 0);
        fs::remove_dir(&place).expect("it is empty");
    }
}
