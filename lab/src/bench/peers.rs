//! Other load generators: their command lines for the same load, if they support it. This module
//! neither runs nor judges them.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::load::ClosedLoad;
use crate::rig::Peer;

/// Programs in the order of tables. wrk is compared with weir in separate tables.
pub(super) const OTHERS: [Peer; 6] =
    [Peer::Ab, Peer::H2load, Peer::Hey, Peer::Oha, Peer::Bombardier, Peer::Vegeta];

/// Header that closes connections, for programs without a flag for it.
const CLOSE: &str = "Connection: close";

impl Peer {
    /// Returns the arguments for this load, one thread and this many seconds; none if the program
    /// cannot run it. `directory` is for a file that it may need.
    pub(super) fn words(
        self,
        load: &ClosedLoad,
        seconds: u32,
        url: &str,
        directory: &Path,
    ) -> Result<Option<Vec<OsString>>> {
        let ClosedLoad { connections, depth, http2, is_closing: closes, .. } = *load;
        let mut words = match self {
            Peer::Weir | Peer::Wrk2 => return Ok(None),
            Peer::Wrk => format!("-t1 -c{connections} -d{seconds}s"),
            // The flag `-t` alone limits ab to 50,000 requests.
            Peer::Ab => format!("-q -t {seconds} -n 5000000 -s 10 -c {connections}"),
            Peer::H2load => {
                let version = if http2 { "" } else { "--h1 " };
                format!("{version}-t1 -c {connections} -D {seconds} -m {depth}")
            }
            Peer::Hey => format!("-z {seconds}s -c {connections} -disable-compression"),
            Peer::Oha => {
                format!("-z {seconds}s -c {connections} --no-tui --disable-compression")
            }
            Peer::Bombardier => format!("-d {seconds}s -c {connections} -p r --fasthttp"),
            Peer::Vegeta => format!(
                "attack -rate 0 -max-workers {connections} -workers {connections} -connections \
                 {connections} -duration {seconds}s -output /dev/null"
            ),
        };
        if http2 && self != Peer::H2load {
            return Ok(None);
        }
        let can = match (self, depth > 1, closes) {
            (Peer::Wrk, ..) | (Peer::H2load, _, false) | (_, false, false) => true,
            // h2load opens no connection anew.
            (Peer::H2load, _, true) => false,
            (_, is_pipelined, _) => !is_pipelined,
        };
        if !can {
            return Ok(None);
        }
        words.push_str(match (self, closes) {
            (Peer::Ab, false) => " -k",
            (Peer::Hey, true) => " -disable-keepalive",
            (Peer::Oha, true) => " --disable-keepalive",
            (Peer::Bombardier, true) => " --disableKeepAlives",
            (Peer::Vegeta, true) => " -keepalive=false",
            _ => "",
        });
        let mut words: Vec<OsString> = words.split(' ').map(OsString::from).collect();
        if self == Peer::Wrk && closes {
            words.extend(["-H", CLOSE].map(OsString::from));
        }
        if self == Peer::Wrk && depth > 1 {
            words.extend(["-s".into(), pipeline_script(depth, directory)?.into()]);
        }
        if self == Peer::Vegeta {
            words.push(targets_flag(url, directory)?);
        } else {
            words.push(url.into());
        }
        Ok(Some(words))
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

/// Writes vegeta's file of targets and returns the flag that names it.
fn targets_flag(url: &str, directory: &Path) -> Result<OsString> {
    let place = directory.join("targets.txt");
    fs::write(&place, format!("GET {url}\n")).context("failed to write vegeta's targets")?;
    let mut flag = OsString::from("-targets=");
    flag.push(place);
    Ok(flag)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(peer: Peer, load: ClosedLoad, expected: Option<&str>) {
        let words = peer.words(&load, 2, "URL", Path::new("/nonexistent"));
        let words = words.expect("no file is needed").map(|words| {
            words.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
        });
        assert_eq!(words.as_deref(), expected);
    }

    #[test]
    fn every_program_gets_the_same_load() {
        let load = ClosedLoad::of(20);
        check(Peer::Wrk, load, Some("-t1 -c20 -d2s URL"));
        check(Peer::Wrk, load.closing(), Some("-t1 -c20 -d2s -H Connection: close URL"));
        check(Peer::Ab, load, Some("-q -t 2 -n 5000000 -s 10 -c 20 -k URL"));
        check(Peer::H2load, load.pipelined(16), Some("--h1 -t1 -c 20 -D 2 -m 16 URL"));
        check(Peer::H2load, load.streams(10), Some("-t1 -c 20 -D 2 -m 10 URL"));
        check(Peer::Wrk, load.streams(10), None);
    }

    #[test]
    fn what_a_program_cannot_do_is_left_out() {
        let load = ClosedLoad::of(20);
        check(Peer::Hey, load.pipelined(16), None);
        check(Peer::Ab, load.pipelined(16), None);
        check(Peer::H2load, load.closing(), None);
        let closing = "-z 2s -c 20 -disable-compression -disable-keepalive URL";
        check(Peer::Hey, load.closing(), Some(closing));
    }
}
