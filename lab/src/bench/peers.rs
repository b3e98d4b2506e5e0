//! The command lines of weir's peers for the same load: wrk's for HTTP/1.1, h2load's for HTTP/2.
//! This module neither runs nor judges them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::load::ClosedLoad;
use crate::rig::Peer;

impl Peer {
    /// Returns the arguments for this load, one thread and this many seconds. `directory` is for a
    /// file that the program may need.
    pub(super) fn words(
        self,
        load: &ClosedLoad,
        seconds: u32,
        url: &str,
        directory: &Path,
    ) -> Result<Vec<OsString>> {
        let ClosedLoad { connections, depth, is_closing, .. } = *load;
        let flags = match self {
            Peer::H2load => format!("-t1 -c {connections} -D {seconds} -m {depth}"),
            _ => format!("-t1 -c{connections} -d{seconds}s"),
        };
        let mut words: Vec<OsString> = flags.split(' ').map(OsString::from).collect();
        if is_closing {
            words.extend(["-H", "Connection: close"].map(OsString::from));
        }
        if self == Peer::Wrk && depth > 1 {
            words.extend(["-s".into(), pipeline_script(depth, directory)?.into()]);
        }
        words.push(url.into());
        Ok(words)
    }
}

/// Writes a script with which wrk sends `depth` requests at once.
fn pipeline_script(depth: u32, directory: &Path) -> Result<PathBuf> {
    let script = format!(
        "-- {depth} requests at once, as one string made ahead.\n\
         function init()\n\
         \x20  batch = string.rep(wrk.format(), {depth})\n\
         end\n\n\
         function request()\n\
         \x20  return batch\n\
         end\n"
    );
    let place = directory.join(format!("pipeline-{depth}.lua"));
    fs::write(&place, script).context("failed to write a script for wrk")?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_gets_the_same_load() {
        let check = |peer: Peer, load: ClosedLoad, expected: &str| {
            let words = peer.words(&load, 2, "URL", Path::new("/nonexistent"));
            let words = words.expect("no file is needed").join(" ".as_ref());
            assert_eq!(words, expected);
        };
        let load = ClosedLoad::of(20);
        check(Peer::Wrk, load, "-t1 -c20 -d2s URL");
        check(Peer::Wrk, load.closing(), "-t1 -c20 -d2s -H Connection: close URL");
        check(Peer::H2load, load.streams(10), "-t1 -c 20 -D 2 -m 10 URL");
    }
}
