//! The words and flags that name the server: the URL and its address.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::Args;
use weir_runner::{AddressFamily, TargetSpec};

use super::connection::HEADING;
use super::values::positive_duration;

/// URL of a run that has none, such as `--selfcheck` alone.
const NO_URL: &str = "http://localhost/";

/// Maximum bytes of a Unix socket's name: `sun_path` of sockaddr_un(7) without its last NUL.
pub(crate) const UNIX_MAX_BYTES: usize = 107;

/// The URL, the words behind it, and the flags of the server's address.
#[derive(Debug, Args)]
pub(crate) struct TargetArgs {
    /// URL, and words for the script.
    #[arg(help = "Target: http[s]://[USER:PASS@]HOST[:PORT]/PATH; then words for the script",
          value_name = "URL", num_args = 1.., help_heading = None::<&str>)]
    pub(crate) words: Vec<String>,
    /// More words for the script.
    #[arg(last = true, hide = true)]
    more_words: Vec<String>,
    /// Try to resolve and reach the server for up to T before the load [default: once]
    #[arg(long, value_name = "T", value_parser = positive_duration, help_heading = "Request")]
    wait_for_server: Option<u64>,
    /// Connect to IPv4 addresses alone
    #[arg(long, conflicts_with_all = ["ipv6", "unix"], help_heading = HEADING)]
    ipv4: bool,
    /// Connect to IPv6 addresses alone
    #[arg(long, conflicts_with = "unix", help_heading = HEADING)]
    ipv6: bool,
    /// Connect to this Unix socket instead of the URL's host; @NAME: an abstract one
    #[arg(long, value_name = "PATH", help_heading = HEADING)]
    pub(super) unix: Option<PathBuf>,
}

impl TargetArgs {
    /// Returns the server of the specification.
    pub(super) fn spec(&self) -> TargetSpec {
        let ipv4 = self.ipv4.then_some(AddressFamily::Ipv4);
        TargetSpec {
            url: self.url().unwrap_or(NO_URL).to_owned(),
            unix: self.unix.clone(),
            family: ipv4.or(self.ipv6.then_some(AddressFamily::Ipv6)),
            wait_ns: self.wait_for_server,
        }
    }

    /// The URL; `None` with `--selfcheck` alone.
    pub(crate) fn url(&self) -> Option<&str> {
        self.words.first().map(String::as_str)
    }

    /// True if words stand behind `--`.
    pub(super) fn has_words_behind_dashes(&self) -> bool {
        !self.more_words.is_empty()
    }

    /// The words for the script.
    pub(crate) fn script_args(&self) -> impl Iterator<Item = &String> {
        self.words.iter().skip(1).chain(&self.more_words)
    }
}

/// Checks that the kernel accepts the name of a Unix socket.
///
/// # Errors
/// When it is empty or too long; the message contains the limit.
pub(crate) fn check_unix(path: &Path) -> Result<(), String> {
    let bytes = path.as_os_str().as_bytes();
    // An abstract name has a NUL where the path has its @, and needs none behind it.
    let name = bytes.strip_prefix(b"@").unwrap_or(bytes);
    match name.len() {
        0 => Err("--unix names no socket: give its path, or @NAME".to_owned()),
        1..=UNIX_MAX_BYTES => Ok(()),
        long => Err(format!(
            "--unix path has {long} bytes: the limit for a socket is {UNIX_MAX_BYTES}; use a \
             relative path or a symbolic link"
        )),
    }
}
